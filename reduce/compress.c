/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/compress.c: a buffer in batches whose memory was reserved at the start: pieces of tensors
 * ("slices"), each cut into a part for every rank. On the wire lie, for each rank, the codes of its
 * parts of all slices of the batch.
 *
 * A tensor for whose residual there is no memory goes on without: the sum is then as coarse as the
 * code, on this rank's account, but no rank waits for another.
 */
#include "reduce/compress.h"

#include "reduce/instrument.h"
#include "reduce/names.h"

#include <stdlib.h>
#include <string.h>

#define BATCH      (INT64_C(1) << 20) /* elements, each slice rounded up to a multiple of the ranks */
#define SLICES_MAX 4096

typedef struct Slice {
    LsEntry *entry;
    int64_t first, count;
} Slice;

struct LsCompressor {
    LsPlane *plane; /* borrowed */
    LsSqueeze squeeze;
    int rank, ranks;
    Slice *slices; /* owned, as what follows */
    size_t n_slices;
    int64_t cost; /* of the slices so far */
    int64_t wire; /* bytes of codes of the buffer at hand, so far */
    int64_t
        *offsets; /* where each rank's codes begin, in `codes` and in what the ranks send back */
    int64_t *sources; /* where what came from each rank begins, in `received` */
    uint8_t *codes, *received;
    float *spare; /* stands in for a residual: BATCH */
};

void
ls_compressor_free(LsCompressor *compressor)
{
    free(compressor->slices);
    free(compressor->offsets);
    free(compressor->sources);
    free(compressor->codes);
    free(compressor->received);
    free(compressor->spare);
    free(compressor);
}

LsCompressor *
ls_compressor_new(LsPlane *plane, int rank, int ranks, const LsSqueeze *squeeze)
{
    LsCompressor *compressor = calloc(1, sizeof *compressor);
    if (compressor == NULL)
        return NULL;
    size_t bytes = (size_t)(BATCH + ranks) * LS_SQUEEZE_BYTES_MAX;
    *compressor = (LsCompressor){.plane = plane,
                                 .squeeze = *squeeze,
                                 .rank = rank,
                                 .ranks = ranks,
                                 .slices = calloc(SLICES_MAX, sizeof(Slice)),
                                 .offsets = calloc((size_t)ranks + 1, sizeof(int64_t)),
                                 .sources = calloc((size_t)ranks + 1, sizeof(int64_t)),
                                 .codes = malloc(bytes),
                                 .received = malloc(bytes),
                                 .spare = malloc((size_t)BATCH * sizeof(float))};
    if (compressor->slices != NULL && compressor->offsets != NULL && compressor->sources != NULL &&
        compressor->codes != NULL && compressor->received != NULL && compressor->spare != NULL)
        return compressor;
    ls_compressor_free(compressor);
    return NULL;
}

/* Where a rank's part of a slice begins. */
static int64_t
part_start(const LsCompressor *compressor, const Slice *slice, int rank)
{
    int64_t more = slice->count % compressor->ranks;
    return slice->count / compressor->ranks * rank + (rank < more ? rank : more);
}

static int64_t
part_count(const LsCompressor *compressor, const Slice *slice, int rank)
{
    return part_start(compressor, slice, rank + 1) - part_start(compressor, slice, rank);
}

static size_t
part_bytes(const LsCompressor *compressor, const Slice *slice, int rank)
{
    return ls_squeeze_bytes(&compressor->squeeze, part_count(compressor, slice, rank));
}

/* Side 0: what this rank gave; 1: what it sums, in which only its own parts are used. Begins with
 * zeros, also where the tensor has another size than the last time. NULL: out of memory. */
static float *
residual_of(LsEntry *entry, int side)
{
    struct LsName *name = entry->name;
    if (name->residual_counts[side] != entry->count) {
        free(name->residuals[side]);
        name->residuals[side] = calloc((size_t)entry->count, sizeof(float));
        name->residual_counts[side] = name->residuals[side] != NULL ? entry->count : 0;
    }
    return name->residuals[side];
}

/* The residual of `count` values from `first` on, or zeros that are forgotten. */
static float *
place_of(LsCompressor *compressor, LsEntry *entry, int side, int64_t first, int64_t count)
{
    float *residual = residual_of(entry, side);
    if (residual != NULL)
        return residual + first;
    memset(compressor->spare, 0, (size_t)count * sizeof *compressor->spare);
    return compressor->spare;
}

static void
plan(LsCompressor *compressor)
{
    compressor->offsets[0] = 0;
    for (int rank = 0; rank < compressor->ranks; rank++) {
        int64_t bytes = 0;
        for (size_t i = 0; i < compressor->n_slices; i++)
            bytes += (int64_t)part_bytes(compressor, &compressor->slices[i], rank);
        compressor->offsets[rank + 1] = compressor->offsets[rank] + bytes;
    }
    int64_t own = compressor->offsets[compressor->rank + 1] - compressor->offsets[compressor->rank];
    for (int rank = 0; rank <= compressor->ranks; rank++)
        compressor->sources[rank] = own * rank;
}

/* All that this rank gives, as codes. */
static void
encode(LsCompressor *compressor)
{
    uint8_t *code = compressor->codes;
    for (int rank = 0; rank < compressor->ranks; rank++) {
        for (size_t i = 0; i < compressor->n_slices; i++) {
            const Slice *slice = &compressor->slices[i];
            int64_t first = slice->first + part_start(compressor, slice, rank);
            int64_t count = part_count(compressor, slice, rank);
            const float *input = (const float *)slice->entry->input + first;
            float *values = place_of(compressor, slice->entry, 0, first, count);
            for (int64_t k = 0; k < count; k++)
                values[k] += input[k];
            ls_squeeze(&compressor->squeeze, values, count, code);
            code += part_bytes(compressor, slice, rank);
        }
    }
}

/* What all gave of this rank's parts is summed and encoded, to its place among the codes. */
static void
sum(LsCompressor *compressor, float factor)
{
    uint8_t *code = compressor->codes + compressor->offsets[compressor->rank];
    int64_t at = 0;
    for (size_t i = 0; i < compressor->n_slices; i++) {
        const Slice *slice = &compressor->slices[i];
        int64_t first = slice->first + part_start(compressor, slice, compressor->rank);
        int64_t count = part_count(compressor, slice, compressor->rank);
        float *sums = place_of(compressor, slice->entry, 1, first, count);
        for (int rank = 0; rank < compressor->ranks; rank++)
            ls_unsqueeze(&compressor->squeeze,
                         compressor->received + compressor->sources[rank] + at, count, factor,
                         sums);
        ls_squeeze(&compressor->squeeze, sums, count, code + at);
        at += (int64_t)part_bytes(compressor, slice, compressor->rank);
    }
}

static void
decode(LsCompressor *compressor)
{
    const uint8_t *code = compressor->codes;
    for (int rank = 0; rank < compressor->ranks; rank++) {
        for (size_t i = 0; i < compressor->n_slices; i++) {
            const Slice *slice = &compressor->slices[i];
            int64_t first = slice->first + part_start(compressor, slice, rank);
            int64_t count = part_count(compressor, slice, rank);
            float *output = (float *)slice->entry->output + first;
            if (count > 0)
                memset(output, 0, (size_t)count * sizeof *output);
            ls_unsqueeze(&compressor->squeeze, code, count, 1, output);
            code += part_bytes(compressor, slice, rank);
        }
    }
}

static lockstep_status
run_batch(LsCompressor *compressor, bool average)
{
    LsPlane *plane = compressor->plane;
    bool onebit = compressor->squeeze.kind == LS_SQUEEZE_ONEBIT;
    plan(compressor);
    compressor->wire += compressor->offsets[compressor->ranks];
    encode(compressor);
    int64_t start = ls_instrument_now();
    lockstep_status status = plane->class->alltoall(plane, compressor->codes, compressor->offsets,
                                                    compressor->received, compressor->sources);
    ls_plane_stage(plane, onebit ? "ONEBIT_PUSH" : "TOPK_PUSH", start,
                   compressor->offsets[compressor->ranks]);
    if (status == LOCKSTEP_OK) {
        sum(compressor, average ? 1.0f / (float)compressor->ranks : 1);
        start = ls_instrument_now();
        status = plane->class->allgather(plane, compressor->codes, compressor->offsets);
        ls_plane_stage(plane, onebit ? "ONEBIT_PULL" : "TOPK_PULL", start,
                       compressor->offsets[compressor->ranks]);
    }
    if (status == LOCKSTEP_OK)
        decode(compressor);
    compressor->n_slices = 0;
    compressor->cost = 0;
    return status;
}

/* What is left of a tensor from `first` on, as far as the batch has room. */
static int64_t
take_slice(LsCompressor *compressor, LsEntry *entry, int64_t first)
{
    int64_t ranks = compressor->ranks, left = entry->count - first;
    int64_t room = (BATCH - compressor->cost) / ranks * ranks;
    int64_t count = left < room ? left : room;
    if (count <= 0 || compressor->n_slices == SLICES_MAX)
        return 0;
    compressor->slices[compressor->n_slices++] = (Slice){entry, first, count};
    compressor->cost += (count + ranks - 1) / ranks * ranks;
    return count;
}

lockstep_status
ls_compressor_allreduce(LsCompressor *compressor, LsEntry *const *entries, size_t n, bool average,
                        int64_t *ret_wire)
{
    lockstep_status status = LOCKSTEP_OK;
    compressor->wire = 0;
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++) {
        for (int64_t at = 0; at < entries[i]->count && status == LOCKSTEP_OK;) {
            int64_t taken = take_slice(compressor, entries[i], at);
            at += taken;
            if (taken == 0)
                status = run_batch(compressor, average);
        }
    }
    if (status == LOCKSTEP_OK && compressor->n_slices > 0)
        status = run_batch(compressor, average);
    *ret_wire = compressor->wire;
    return status;
}
