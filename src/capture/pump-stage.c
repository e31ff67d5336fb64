/* SPDX-License-Identifier: Apache-2.0
 *
 * From staged chunks to the file: where the next chunk may go, and the commit that makes a death at
 * any instant harmless (area.h).
 *
 * A bounded file consists of 64 blocks. No chunk crosses a block; when the last is full the oldest
 * but the first is made zero and written anew, and the loss is told. The first block stays: how the
 * run began.
 */
#include "capture/pump-private.h"

#include <string.h>

#define CHUNK_MAX (32u << 10)

static void
settle_ring(LsRing *ring)
{
    ring->discarded = ring->discarded_next;
    ring->discarded_told = ring->discarded_told_next;
    atomic_store_explicit(&ring->dropped_told, ring->dropped_told_next, memory_order_relaxed);
    ring->name_told = ring->name_told_next;
    atomic_store_explicit(&ring->read, ring->read_next, memory_order_release);
}

static void
settle_header(LsAreaHeader *header)
{
    header->progress = header->progress_next;
    if (header->progress.emptied != 0)
        memset(&header->blocks[(header->progress.emptied - 1) % LS_AREA_BLOCKS], 0,
               sizeof header->blocks[0]);
    header->ringless_told = header->ringless_told_next;
    header->overwritten = header->overwritten_next;
}

void
ls_pump_settle(LsAreaHeader *header)
{
    if (atomic_load(&header->commit) == 0)
        return;
    uint32_t top = atomic_load(&header->units_top);
    for (uint32_t i = 0; i < top; i++) {
        LsRing *ring = ls_area_ring(header, i);
        uint32_t state = atomic_load(&ring->state);
        if (state == LS_RING_LIVE || state == LS_RING_ENDED)
            settle_ring(ring);
    }
    settle_header(header);
    atomic_store(&header->commit, 0);
}

void
ls_pump_publish(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    atomic_store_explicit(&header->commit, 1, memory_order_seq_cst);
    for (uint32_t i = 0; i < pump->n_rings; i++)
        settle_ring(pump->rings[i]);
    settle_header(header);
    atomic_store_explicit(&header->commit, 0, memory_order_seq_cst);
}

static void
roll_back(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    for (uint32_t i = 0; i < pump->n_rings; i++) {
        LsRing *ring = pump->rings[i];
        ring->read_next = atomic_load_explicit(&ring->read, memory_order_relaxed);
        ring->discarded_next = ring->discarded;
        ring->discarded_told_next = ring->discarded_told;
        ring->dropped_told_next = atomic_load_explicit(&ring->dropped_told, memory_order_relaxed);
        ring->name_told_next = ring->name_told;
    }
    header->progress_next = header->progress;
    header->ringless_told_next = header->ringless_told;
    header->overwritten_next = header->overwritten;
    pump->encoder.used = 0;
    pump->encoder.is_open = false;
    memset(&pump->batch, 0, sizeof pump->batch);
}

void
ls_block_widen(LsAreaBlock *block, uint64_t records, int64_t first_ns, int64_t last_ns)
{
    if (records == 0)
        return;
    if (block->records == 0 || first_ns < block->first_ns)
        block->first_ns = first_ns;
    if (block->records == 0 || last_ns > block->last_ns)
        block->last_ns = last_ns;
    block->records += records;
}

static LsAreaBlock *
block_at(LsAreaHeader *header, uint64_t position)
{
    return &header->blocks[position / header->block_bytes % LS_AREA_BLOCKS];
}

LsStatus
ls_pump_commit(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    LsEncoder *encoder = &pump->encoder;
    uint64_t position = header->progress.position;
    if (encoder->used == 0)
        return LS_OK;
    LsStatus status = pump->sink.write(pump->sink.user, position, encoder->data, encoder->used);
    if (status != LS_OK) {
        roll_back(pump);
        return status;
    }
    if (header->block_bytes != 0)
        ls_block_widen(block_at(header, position), pump->batch.records, pump->batch.first_ns,
                       pump->batch.last_ns);
    header->progress_next.position = position + encoder->used;
    header->progress_next.dictionary += encoder->used;
    ls_pump_publish(pump);
    encoder->used = 0;
    memset(&pump->batch, 0, sizeof pump->batch);
    return LS_OK;
}

/* -- Room -- */

/* At the beginning of a block: round to the oldest if it was the last, and make it empty. */
static LsStatus
turn(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    LsAreaProgress *next = &header->progress_next;
    if (next->position >= header->max_bytes) {
        next->position = header->block_bytes;
        next->wrapped = 1;
    }
    if (next->wrapped != 0) {
        LsAreaBlock *block = block_at(header, next->position);
        LsStatus status = pump->sink.clear(pump->sink.user, next->position, header->block_bytes);
        if (status != LS_OK) {
            roll_back(pump);
            return status;
        }
        ls_block_widen(&header->overwritten_next, block->records, block->first_ns, block->last_ns);
        next->emptied = (uint64_t)(block - header->blocks) + 1;
    }
    ls_pump_publish(pump);
    next->emptied = 0;
    pump->turned_at = next->position;
    return LS_OK;
}

/* How many bytes the next chunk may take; 0: the sink failed, and all is rolled back. */
size_t
ls_pump_find_room(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    LsEncoder *encoder = &pump->encoder;
    uint64_t block = header->block_bytes;
    for (;;) {
        uint64_t position = header->progress.position + encoder->used;
        uint64_t in_block = block == 0 ? UINT64_MAX : block - position % block;
        LsStatus status = LS_OK;
        if (encoder->used > 0 && in_block == block)
            status = ls_pump_commit(pump);
        else if (encoder->capacity - encoder->used < CHUNK_MAX)
            status = ls_pump_commit(pump);
        else if (in_block == block && position != pump->turned_at)
            status = turn(pump);
        else if (in_block < LS_CHUNK_ROOM_MIN)
            ls_encoder_pad(encoder, in_block);
        else
            return in_block < CHUNK_MAX ? (size_t)in_block : CHUNK_MAX;
        if (status != LS_OK)
            return 0;
    }
}

LsStatus
ls_pump_begin(LsPump *pump, uint32_t thread, uint64_t lost)
{
    LsAreaHeader *header = pump->header;
    size_t room = ls_pump_find_room(pump);
    if (room == 0)
        return LS_ERR_FULL;
    LsChunkHeader head = {
        .rank = atomic_load_explicit(&header->rank, memory_order_relaxed),
        .pid = header->pid,
        .thread = thread,
        .sequence = header->progress_next.sequence,
        .lost = lost,
        .incarnation = header->incarnation,
    };
    ls_encoder_begin(&pump->encoder, &head, room);
    return LS_OK;
}

void
ls_pump_end(LsPump *pump)
{
    LsEncoder *encoder = &pump->encoder;
    if (encoder->is_open && ls_encoder_end(encoder, atomic_load_explicit(&pump->header->alive_ns,
                                                                         memory_order_relaxed)))
        pump->header->progress_next.sequence++;
}
