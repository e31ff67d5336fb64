/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass: note how far each ring is, then the texts (so that every name a record uses is among
 * them), then the rings, then the losses; all into a staging buffer that goes to the sink in
 * pieces. Each piece is committed as area.h describes.
 */
#include "capture/pump-private.h"

#include <string.h>

#define DICTIONARY_EVERY (4u << 20)

void
ls_pump_open(LsPump *pump, LsAreaHeader *header, LsArea *area, const LsSink *sink, uint8_t *staging)
{
    memset(pump, 0, sizeof *pump);
    pump->header = header;
    pump->area = area;
    pump->sink = *sink;
    pump->encoder.data = staging;
    pump->encoder.capacity = LS_PUMP_STAGING;
    pump->turned_at = UINT64_MAX;
}

/* -- The process's own words -- */

static LsStatus
put_word(LsPump *pump, const LsRecord *record)
{
    LsEncoder *encoder = &pump->encoder;
    if (encoder->is_open && ls_encoder_add(encoder, record))
        return LS_OK;
    ls_pump_end(pump);
    LsStatus status = ls_pump_begin(pump, 0, 0);
    if (status == LS_OK)
        ls_encoder_add(encoder, record);
    return status;
}

/* The entries of the text log in [from, to). */
static LsStatus
put_texts(LsPump *pump, uint64_t from, uint64_t to)
{
    const char *log = (const char *)pump->header + pump->header->text_offset;
    LsEncoder *encoder = &pump->encoder;
    while (from < to) {
        LsAreaText entry;
        memcpy(&entry, log + from, sizeof entry);
        const char *text = log + from + sizeof entry;
        if (!encoder->is_open ||
            !ls_encoder_add_text(encoder, entry.kind, entry.id, text, entry.length)) {
            ls_pump_end(pump);
            LsStatus status = ls_pump_begin(pump, 0, 0);
            if (status != LS_OK)
                return status;
            continue;
        }
        from += (sizeof entry + entry.length + 3) & ~UINT64_C(3);
        if (from > pump->header->progress_next.text)
            pump->header->progress_next.text = from;
    }
    ls_pump_end(pump);
    return LS_OK;
}

static LsStatus
put_thread_names(LsPump *pump, bool again)
{
    int64_t now = atomic_load_explicit(&pump->header->alive_ns, memory_order_relaxed);
    for (uint32_t i = 0; i < pump->n_rings; i++) {
        LsRing *ring = pump->rings[i];
        uint32_t name = atomic_load_explicit(&ring->name, memory_order_acquire);
        if (name == 0 || (name == ring->name_told_next && !again))
            continue;
        LsRecord record = {.kind = LS_RECORD_THREAD, .name = name, .start_ns = now, .end_ns = now};
        record.args[0] = ring->thread;
        LsStatus status = put_word(pump, &record);
        if (status != LS_OK)
            return status;
        ring->name_told_next = name;
    }
    ls_pump_end(pump);
    return LS_OK;
}

/* -- Losses -- */

/* What no LOST record speaks of yet. */
static LsAreaBlock
find_loss(const LsRing *ring, uint64_t dropped)
{
    LsAreaBlock loss = {0, 0, 0};
    ls_block_widen(&loss, dropped - ring->dropped_told_next,
                   atomic_load_explicit(&ring->dropped_first_ns, memory_order_relaxed),
                   atomic_load_explicit(&ring->dropped_last_ns, memory_order_relaxed));
    ls_block_widen(&loss, ring->discarded_next - ring->discarded_told_next,
                   ring->discarded_first_ns, ring->discarded_last_ns);
    return loss;
}

/* Of threads that got no ring: only their number is known. */
static LsAreaBlock
find_ringless_loss(const LsAreaHeader *header)
{
    LsAreaBlock loss = {0, 0, 0};
    int64_t now = atomic_load_explicit(&header->alive_ns, memory_order_relaxed);
    ls_block_widen(&loss, atomic_load(&header->ringless_lost) - header->ringless_told_next, now,
                   now);
    return loss;
}

static LsStatus
put_loss(LsPump *pump, const LsAreaBlock *loss, uint32_t thread)
{
    if (loss->records == 0)
        return LS_OK;
    LsRecord record = {.kind = LS_RECORD_LOST, .start_ns = loss->first_ns, .end_ns = loss->last_ns};
    record.args[0] = thread;
    record.args[1] = (int64_t)loss->records;
    LsStatus status = put_word(pump, &record);
    if (status == LS_OK)
        ls_block_widen(&pump->batch, loss->records, loss->first_ns, loss->last_ns);
    return status;
}

static LsStatus
put_losses(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    LsStatus status = LS_OK;
    for (uint32_t i = 0; i < pump->n_rings && status == LS_OK; i++) {
        LsRing *ring = pump->rings[i];
        uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_acquire);
        LsAreaBlock loss = find_loss(ring, dropped);
        status = put_loss(pump, &loss, ring->thread);
        if (status == LS_OK) {
            ring->dropped_told_next = dropped;
            ring->discarded_told_next = ring->discarded_next;
        }
    }
    if (status == LS_OK) {
        LsAreaBlock loss = find_ringless_loss(header);
        status = put_loss(pump, &loss, 0);
        if (status == LS_OK)
            header->ringless_told_next += loss.records;
    }
    if (status == LS_OK) {
        /* Making room for this very record may overwrite another block. */
        LsAreaBlock loss = header->overwritten_next;
        status = put_loss(pump, &loss, 0);
        if (status == LS_OK)
            header->overwritten_next.records -= loss.records;
    }
    ls_pump_end(pump);
    return status;
}

/* -- The pass -- */

static void
take_snapshot(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    uint32_t top = atomic_load_explicit(&header->units_top, memory_order_acquire);
    pump->n_rings = 0;
    for (uint32_t i = 0; i < top; i++) {
        LsRing *ring = ls_area_ring(header, i);
        uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
        if (state != LS_RING_LIVE && state != LS_RING_ENDED)
            continue;
        pump->rings[pump->n_rings] = ring;
        pump->ended[pump->n_rings] = state == LS_RING_ENDED;
        pump->limits[pump->n_rings] = atomic_load_explicit(&ring->write, memory_order_acquire);
        pump->n_rings++;
    }
}

static LsStatus
put_ring(LsPump *pump, LsRing *ring, uint64_t limit)
{
    const LsRecord *records = ls_area_records(pump->header, ring);
    LsEncoder *encoder = &pump->encoder;
    while (ring->read_next < limit) {
        uint64_t lost =
            atomic_load_explicit(&ring->dropped, memory_order_relaxed) + ring->discarded_next;
        LsStatus status = ls_pump_begin(pump, ring->thread, lost);
        if (status != LS_OK)
            return status;
        uint64_t at = ring->read_next;
        while (at < limit && ls_encoder_add(encoder, &records[at & ring->mask]))
            at++;
        ls_block_widen(&pump->batch, at - ring->read_next, encoder->head.first_ns,
                       encoder->head.last_ns);
        ls_pump_end(pump);
        ring->read_next = at;
    }
    return LS_OK;
}

static void
free_ended(LsPump *pump)
{
    for (uint32_t i = 0; i < pump->n_rings && pump->area != NULL; i++) {
        LsRing *ring = pump->rings[i];
        if (pump->ended[i] && find_loss(ring, atomic_load(&ring->dropped)).records == 0)
            ls_area_free_ring(pump->area, ring);
    }
    pump->n_rings = 0; /* they may be another thread's by now */
}

/* The dictionary: all texts and thread names; and what its own room has overwritten. */
static LsStatus
repeat(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    LsStatus status = put_texts(pump, 0, header->progress_next.text);
    if (status == LS_OK)
        status = put_thread_names(pump, true);
    if (status == LS_OK)
        status = put_losses(pump);
    if (status == LS_OK)
        status = ls_pump_commit(pump);
    if (status == LS_OK)
        header->progress.dictionary = header->progress_next.dictionary = 0;
    return status;
}

LsStatus
ls_pump_pass(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    take_snapshot(pump);
    uint64_t text = atomic_load_explicit(&header->text_used, memory_order_acquire);
    LsStatus status = put_texts(pump, header->progress_next.text, text);
    if (status == LS_OK)
        status = put_thread_names(pump, false);
    for (uint32_t i = 0; i < pump->n_rings && status == LS_OK; i++)
        status = put_ring(pump, pump->rings[i], pump->limits[i]);
    if (status == LS_OK)
        status = put_losses(pump);
    if (status == LS_OK)
        status = ls_pump_commit(pump);
    if (status != LS_OK)
        return status;
    uint64_t every = DICTIONARY_EVERY;
    if (header->max_bytes != 0 && header->max_bytes / 4 < every)
        every = header->max_bytes / 4;
    if (header->progress.dictionary >= every)
        status = repeat(pump);
    free_ended(pump);
    return status;
}

LsStatus
ls_pump_repeat(LsPump *pump)
{
    take_snapshot(pump);
    LsStatus status = repeat(pump);
    pump->n_rings = 0;
    return status;
}

LsStatus
ls_pump_word(LsPump *pump, const LsRecord *record)
{
    LsStatus status = put_word(pump, record);
    ls_pump_end(pump);
    return status == LS_OK ? ls_pump_commit(pump) : status;
}

void
ls_pump_discard(LsPump *pump)
{
    take_snapshot(pump);
    for (uint32_t i = 0; i < pump->n_rings; i++) {
        LsRing *ring = pump->rings[i];
        const LsRecord *records = ls_area_records(pump->header, ring);
        LsAreaBlock loss = {0, ring->discarded_first_ns, ring->discarded_last_ns};
        loss.records = ring->discarded_next - ring->discarded_told_next;
        for (; ring->read_next < pump->limits[i]; ring->read_next++) {
            const LsRecord *record = &records[ring->read_next & ring->mask];
            ls_block_widen(&loss, 1, record->start_ns, record->end_ns);
        }
        ring->discarded_first_ns = loss.first_ns;
        ring->discarded_last_ns = loss.last_ns;
        ring->discarded_next = ring->discarded_told_next + loss.records;
    }
    ls_pump_publish(pump);
}

/* -- The word of loss on a full disk -- */

LsStatus
ls_pump_reserve(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    if (ls_pump_find_room(pump) == 0)
        return LS_ERR_FULL;
    uint64_t position = header->progress.position + pump->encoder.used;
    ls_encoder_pad(&pump->encoder, LS_RESERVE_BYTES);
    LsStatus status = ls_pump_commit(pump);
    if (status == LS_OK)
        header->reserve_position = position;
    return status;
}

void
ls_pump_tell_reserve(LsPump *pump)
{
    LsAreaHeader *header = pump->header;
    uint8_t bytes[LS_CHUNK_ROOM_MIN] = {0};
    LsEncoder encoder = {.data = bytes, .capacity = sizeof bytes};
    LsAreaBlock sum = find_ringless_loss(header);
    for (uint32_t i = 0; i < pump->n_rings; i++) {
        LsAreaBlock loss = find_loss(pump->rings[i], atomic_load(&pump->rings[i]->dropped));
        ls_block_widen(&sum, loss.records, loss.first_ns, loss.last_ns);
    }
    if (header->reserve_position == 0 || (sum.records == 0 && !pump->has_reserve_text))
        return;
    if (sum.records > 0) {
        LsChunkHeader head = {.rank = atomic_load(&header->rank),
                              .pid = header->pid,
                              .sequence = header->progress.sequence,
                              .incarnation = header->incarnation};
        LsRecord record = {.kind = LS_RECORD_LOST, .start_ns = sum.first_ns, .end_ns = sum.last_ns};
        record.args[1] = (int64_t)sum.records;
        ls_encoder_begin(&encoder, &head, sizeof bytes);
        ls_encoder_add(&encoder, &record);
        ls_encoder_end(&encoder, sum.last_ns);
    }
    if (pump->sink.write(pump->sink.user, header->reserve_position, bytes, LS_RESERVE_BYTES) ==
        LS_OK)
        pump->has_reserve_text = sum.records > 0;
}
