/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/device-run.c: a buffer through a plane on a device, piece by piece of the fused buffer.
 *
 * All of a piece is handed to the stream at once: the wait for the inputs, the copies in, the
 * collective, the copies out. Only a copy to the host waits for what comes before it, since the
 * driver would hold the thread in it while NCCL waits for a rank that is gone. Where it is
 * recorded, the host also waits between the copies in and the collective, so that the collective's
 * record begins with it and not with a gradient that is still being computed; that costs one
 * launch. The other times are the device's own (Horovod's are the host's, facts C3).
 */
#include "reduce/device-run.h"

#include "capture/format.h"
#include "reduce/device.h"
#include "reduce/failure.h"
#include "reduce/message.h"

#include <stdlib.h>

#define PART_BYTES 256 /* parts of several ranks in the fused buffer begin at multiples of it */

bool
ls_device_does(const LsPlane *plane, uint8_t operation, lockstep_dtype dtype, lockstep_op op)
{
    const LsDeviceClass *class = plane->class->device;
    bool averages =
        op != LOCKSTEP_AVERAGE || (dtype <= LOCKSTEP_BFLOAT16 && class->averages(plane));
    switch (operation) {
    case LS_OPERATION_ALLREDUCE:
        return averages;
    case LS_OPERATION_REDUCESCATTER:
        return averages && class->reduce_scatter != NULL;
    case LS_OPERATION_BROADCAST:
        return class->broadcast != NULL;
    case LS_OPERATION_ALLGATHER:
        return class->allgather != NULL;
    default:
        return false;
    }
}

static lockstep_status
poll_plane(void *user)
{
    LsPlane *plane = user;
    return plane->class->device->poll(plane);
}

static lockstep_status
await(const LsDeviceRun *run)
{
    return ls_device_await(run->plane->device, poll_plane, run->plane);
}

static lockstep_status
mark(const LsDeviceRun *run, LsDeviceKind kind)
{
    return ls_device_mark(run->plane->device, (int)kind, NULL, 0);
}

/* An event of an entry that was admitted; NULL: nothing to wait for. */
static lockstep_status
follow(LsDeviceRun *run, LsEntry *const *entries, size_t n)
{
    lockstep_status status = LOCKSTEP_OK;
    bool waits = false;
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++) {
        status = ls_device_follow(run->plane->device, entries[i]->use.ready);
        waits |= entries[i]->use.ready != NULL;
    }
    return status == LOCKSTEP_OK ? mark(run, waits ? LS_DEVICE_WAIT : LS_DEVICE_NOTHING) : status;
}

static lockstep_status
copy(LsDeviceRun *run, LsSpot to, LsSpot from, size_t bytes)
{
    return ls_device_copy(run->plane->device, to.at, to.on_device, from.at, from.on_device, bytes);
}

static LsSpot
at(LsSpot spot, int64_t bytes)
{
    return (LsSpot){(char *)spot.at + bytes, spot.on_device};
}

static LsSpot
fused(const LsDeviceRun *run, size_t bytes)
{
    return (LsSpot){(char *)(uintptr_t)run->plane->device->fusion + bytes, true};
}

static LsSpot
input_of(const LsEntry *entry)
{
    return (LsSpot){(void *)(uintptr_t)entry->input, entry->use.on_device};
}

static LsSpot
output_of(const LsEntry *entry)
{
    return (LsSpot){entry->output, entry->use.on_device};
}

/* -- Records -- */

/* The collective is next. copied: what precedes it in the stream is copies in. */
static lockstep_status
open_operation(LsDeviceRun *run, bool copied)
{
    lockstep_status status = mark(run, copied ? LS_DEVICE_IN : LS_DEVICE_NOTHING);
    if (status != LOCKSTEP_OK || run->instrument == NULL || !ls_instrument_active())
        return status;
    status = await(run);
    if (status != LOCKSTEP_OK)
        return status;
    run->opened_ns = ls_instrument_operation_begin(run->instrument, run->name, run->mark);
    return ls_device_mark(run->plane->device, LS_DEVICE_NOTHING, NULL, 0);
}

static void
record(const LsDeviceRun *run, const LsDeviceMark *mark, int64_t start, int64_t end)
{
    uint32_t name = 0;
    switch ((LsDeviceKind)mark->kind) {
    case LS_DEVICE_WAIT:
        ls_instrument_name(run->instrument, "WAIT_FOR_DATA", &name);
        ls_instrument_operation_ended(run->instrument, name, start, end, run->mark);
        break;
    case LS_DEVICE_IN:
    case LS_DEVICE_OUT:
        ls_instrument_copied(run->instrument, mark->kind == LS_DEVICE_IN, start, end, run->mark);
        break;
    case LS_DEVICE_STAGE:
        if (run->plane->stage != NULL)
            run->plane->stage(run->plane->user, mark->text, start, end, mark->bytes);
        break;
    case LS_DEVICE_OPERATION:
        ls_instrument_operation_ended(run->instrument, run->name, run->opened_ns, end, run->mark);
        break;
    case LS_DEVICE_NOTHING:
        break;
    }
}

/* The piece's end: waits for it, then writes down when all of it was. */
static lockstep_status
finish(LsDeviceRun *run)
{
    const LsDevice *device = run->plane->device;
    lockstep_status status = await(run);
    if (status != LOCKSTEP_OK || run->instrument == NULL || !ls_instrument_active())
        return status;
    int64_t start = ls_device_time(device, 0);
    for (int i = 1; i < device->n_marks; i++) {
        int64_t end = ls_device_time(device, i);
        if (end < start)
            end = start;
        /* The open record's start is the host's: a device that was quicker ends it there. */
        if (device->marks[i].kind == LS_DEVICE_OPERATION && end < run->opened_ns)
            end = run->opened_ns;
        record(run, &device->marks[i], start, end);
        start = end;
    }
    return LOCKSTEP_OK;
}

/* What follows the collective: to: where it is copied out to (nothing where bytes is 0). */
static lockstep_status
close_operation(LsDeviceRun *run, bool to_host)
{
    lockstep_status status = mark(run, LS_DEVICE_OPERATION);
    return status == LOCKSTEP_OK && to_host ? await(run) : status;
}

/* -- Allreduce -- */

static lockstep_status
pack(LsDeviceRun *run, LsEntry *const *entries, size_t n, bool in, bool *ret_host)
{
    lockstep_status status = LOCKSTEP_OK;
    size_t place = 0;
    *ret_host = false;
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++) {
        const LsEntry *entry = entries[i];
        size_t bytes = (size_t)entry->count * ls_dtype_bytes((uint8_t)entry->dtype);
        if (in)
            status = copy(run, fused(run, place), input_of(entry), bytes);
        else
            status = copy(run, output_of(entry), fused(run, place), bytes);
        *ret_host |= !entry->use.on_device;
        place += bytes;
    }
    return status;
}

static lockstep_status
allreduce_fused(LsDeviceRun *run, LsEntry *const *entries, size_t n, lockstep_op op)
{
    bool host = false;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += entries[i]->count;
    LsSpot buffer = fused(run, 0);
    lockstep_status status = ls_device_begin(run->plane->device);
    if (status == LOCKSTEP_OK)
        status = follow(run, entries, n);
    if (status == LOCKSTEP_OK)
        status = pack(run, entries, n, true, &host);
    if (status == LOCKSTEP_OK)
        status = open_operation(run, true);
    if (status == LOCKSTEP_OK && count > 0)
        status = run->plane->class->device->allreduce(run->plane, buffer.at, buffer.at, count,
                                                      entries[0]->dtype, op);
    if (status == LOCKSTEP_OK)
        status = close_operation(run, host);
    if (status == LOCKSTEP_OK)
        status = pack(run, entries, n, false, &host);
    if (status == LOCKSTEP_OK)
        status = mark(run, LS_DEVICE_OUT);
    return status == LOCKSTEP_OK ? finish(run) : status;
}

/* One tensor where it lies, or by way of the fused buffer from the host. */
static lockstep_status
allreduce_piece(LsDeviceRun *run, LsSpot input, LsSpot output, int64_t count, lockstep_dtype dtype,
                lockstep_op op)
{
    size_t bytes = (size_t)count * ls_dtype_bytes((uint8_t)dtype);
    bool host = !input.on_device;
    LsSpot from = host ? fused(run, 0) : input, to = host ? from : output;
    lockstep_status status = host ? copy(run, from, input, bytes) : LOCKSTEP_OK;
    if (status == LOCKSTEP_OK)
        status = open_operation(run, host);
    if (status == LOCKSTEP_OK && count > 0)
        status = run->plane->class->device->allreduce(run->plane, from.at, to.at, count, dtype, op);
    if (status == LOCKSTEP_OK)
        status = close_operation(run, host);
    if (status == LOCKSTEP_OK && host)
        status = copy(run, output, to, bytes);
    if (status == LOCKSTEP_OK)
        status = mark(run, host ? LS_DEVICE_OUT : LS_DEVICE_NOTHING);
    return status == LOCKSTEP_OK ? finish(run) : status;
}

lockstep_status
ls_device_allreduce(LsDeviceRun *run, LsEntry *const *entries, size_t n, lockstep_op op)
{
    if (n > 1)
        return allreduce_fused(run, entries, n, op);
    const LsEntry *entry = entries[0];
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)entry->dtype), place = 0;
    int64_t room = (int64_t)run->plane->device->fusion_bytes / width;
    lockstep_status status = LOCKSTEP_OK;
    do {
        int64_t count = entry->count - place < room ? entry->count - place : room;
        status = ls_device_begin(run->plane->device);
        if (status == LOCKSTEP_OK)
            status = follow(run, entries, place == 0 ? 1 : 0);
        if (status == LOCKSTEP_OK)
            status = allreduce_piece(run, at(input_of(entry), place * width),
                                     at(output_of(entry), place * width), count, entry->dtype, op);
        place += count;
    } while (status == LOCKSTEP_OK && place < entry->count);
    return status;
}

/* -- Broadcast -- */

static lockstep_status
broadcast_piece(LsDeviceRun *run, LsSpot input, LsSpot output, size_t bytes, int root)
{
    LsSpot buffer = output.on_device ? output : fused(run, 0);
    bool moved = run->rank == root && input.at != buffer.at;
    lockstep_status status = moved ? copy(run, buffer, input, bytes) : LOCKSTEP_OK;
    if (status == LOCKSTEP_OK)
        status = open_operation(run, moved);
    if (status == LOCKSTEP_OK && bytes > 0)
        status = run->plane->class->device->broadcast(run->plane, buffer.at, bytes, root);
    if (status == LOCKSTEP_OK)
        status = close_operation(run, !output.on_device);
    if (status == LOCKSTEP_OK && !output.on_device)
        status = copy(run, output, buffer, bytes);
    if (status == LOCKSTEP_OK)
        status = mark(run, output.on_device ? LS_DEVICE_NOTHING : LS_DEVICE_OUT);
    return status == LOCKSTEP_OK ? finish(run) : status;
}

lockstep_status
ls_device_broadcast(LsDeviceRun *run, const LsEntry *entry, size_t bytes, int root)
{
    LsEntry *const entries[] = {(LsEntry *)(uintptr_t)entry};
    size_t room = run->plane->device->fusion_bytes, place = 0;
    lockstep_status status = LOCKSTEP_OK;
    do {
        size_t piece = bytes - place < room ? bytes - place : room;
        status = ls_device_begin(run->plane->device);
        if (status == LOCKSTEP_OK)
            status = follow(run, entries, place == 0 ? 1 : 0);
        if (status == LOCKSTEP_OK)
            status = broadcast_piece(run, at(input_of(entry), (int64_t)place),
                                     at(output_of(entry), (int64_t)place), piece, root);
        place += piece;
    } while (status == LOCKSTEP_OK && place < bytes);
    return status;
}

/* -- Allgather and reduce-scatter: a piece of every rank's part at a time -- */

typedef struct Parts {
    void **at;      /* owned, one for each rank */
    int64_t *bytes; /* owned */
    int64_t room;   /* bytes of a part that go at once */
    int64_t longest;
    bool together; /* all go at once, are as long, and lie one behind another */
} Parts;

/* offsets: ranks + 1, in bytes. width: pieces are a multiple of it. false: out of memory. */
static bool
open_parts(const LsDeviceRun *run, const int64_t *offsets, int64_t width, Parts *ret_parts)
{
    int64_t each = (int64_t)run->plane->device->fusion_bytes / run->ranks;
    Parts parts = {.at = calloc((size_t)run->ranks, sizeof *parts.at),
                   .bytes = calloc((size_t)run->ranks, sizeof *parts.bytes),
                   .room =
                       each >= PART_BYTES ? each / PART_BYTES * PART_BYTES : each / width * width};
    int64_t least = INT64_MAX;
    for (int rank = 0; rank < run->ranks; rank++) {
        int64_t bytes = offsets[rank + 1] - offsets[rank];
        parts.longest = bytes > parts.longest ? bytes : parts.longest;
        least = bytes < least ? bytes : least;
    }
    parts.together = least == parts.longest && parts.longest <= parts.room;
    *ret_parts = parts;
    return parts.at != NULL && parts.bytes != NULL;
}

static void
close_parts(Parts *parts)
{
    free(parts->at);
    free(parts->bytes);
}

/* Where the piece that begins at `place` of every part is for the plane. */
static void
fill_parts(const LsDeviceRun *run, Parts *parts, LsSpot data, const int64_t *offsets, int64_t place)
{
    for (int rank = 0; rank < run->ranks; rank++) {
        int64_t left = offsets[rank + 1] - offsets[rank] - place;
        int64_t slot = rank * (parts->together ? parts->longest : parts->room);
        parts->bytes[rank] = left <= 0 ? 0 : left < parts->room ? left : parts->room;
        parts->at[rank] =
            data.on_device ? at(data, offsets[rank] + place).at : fused(run, (size_t)slot).at;
    }
}

static lockstep_status
allgather_piece(LsDeviceRun *run, const Parts *parts, LsSpot data, const int64_t *offsets,
                int64_t place)
{
    bool host = !data.on_device;
    LsSpot own = {parts->at[run->rank], true};
    lockstep_status status = LOCKSTEP_OK;
    if (host)
        status =
            copy(run, own, at(data, offsets[run->rank] + place), (size_t)parts->bytes[run->rank]);
    if (status == LOCKSTEP_OK)
        status = open_operation(run, host);
    if (status == LOCKSTEP_OK)
        status = run->plane->class->device->allgather(run->plane, parts->at, parts->bytes,
                                                      parts->together);
    if (status == LOCKSTEP_OK)
        status = close_operation(run, host);
    for (int rank = 0; rank < run->ranks && host && status == LOCKSTEP_OK; rank++)
        status = copy(run, at(data, offsets[rank] + place), (LsSpot){parts->at[rank], true},
                      (size_t)parts->bytes[rank]);
    if (status == LOCKSTEP_OK)
        status = mark(run, host ? LS_DEVICE_OUT : LS_DEVICE_NOTHING);
    return status == LOCKSTEP_OK ? finish(run) : status;
}

/* The input to its place in the output, which it may overlap: through the fused buffer, then from
 * the end that is not read any more. */
static lockstep_status
place_own(LsDeviceRun *run, LsSpot to, LsSpot from, int64_t bytes)
{
    uintptr_t target = (uintptr_t)to.at, source = (uintptr_t)from.at;
    int64_t room = (int64_t)run->plane->device->fusion_bytes, done = 0;
    bool overlaps = (target > source ? target - source : source - target) < (uintptr_t)bytes;
    lockstep_status status = LOCKSTEP_OK;
    if (!overlaps || target == source)
        return copy(run, to, from, (size_t)bytes);
    while (done < bytes && status == LOCKSTEP_OK) {
        int64_t piece = bytes - done < room ? bytes - done : room;
        int64_t place = target > source ? bytes - done - piece : done;
        status = copy(run, fused(run, 0), at(from, place), (size_t)piece);
        if (status == LOCKSTEP_OK)
            status = copy(run, at(to, place), fused(run, 0), (size_t)piece);
        done += piece;
    }
    return status;
}

lockstep_status
ls_device_allgather(LsDeviceRun *run, const LsEntry *entry, LsSpot data, const int64_t *offsets)
{
    LsEntry *const entries[] = {(LsEntry *)(uintptr_t)entry};
    int64_t place = 0;
    Parts parts;
    bool good = open_parts(run, offsets, 1, &parts);
    lockstep_status status = good ? LOCKSTEP_OK : ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    while (status == LOCKSTEP_OK && place < parts.longest) {
        status = ls_device_begin(run->plane->device);
        if (status == LOCKSTEP_OK && entry != NULL)
            status = follow(run, entries, place == 0 ? 1 : 0);
        if (status == LOCKSTEP_OK && entry != NULL && place == 0 && data.on_device)
            status = place_own(run, at(data, offsets[run->rank]), input_of(entry),
                               offsets[run->rank + 1] - offsets[run->rank]);
        fill_parts(run, &parts, data, offsets, place);
        if (status == LOCKSTEP_OK)
            status = allgather_piece(run, &parts, data, offsets, place);
        place += parts.room;
    }
    close_parts(&parts);
    return status;
}

/* One reduce-scatter: the input's parts, one behind another, and where this rank's goes. */
typedef struct Scatter {
    LsSpot input, output;
    const int64_t *offsets; /* ranks + 1, bytes */
    lockstep_dtype dtype;
    lockstep_op op;
} Scatter;

static lockstep_status
reduce_scatter_piece(LsDeviceRun *run, const Parts *parts, const Scatter *scatter, int64_t place)
{
    bool host = !scatter->input.on_device;
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)scatter->dtype), *counts = parts->bytes;
    LsSpot own = {parts->at[run->rank], true}, output = at(scatter->output, place);
    lockstep_status status = LOCKSTEP_OK;
    for (int rank = 0; rank < run->ranks && host && status == LOCKSTEP_OK; rank++)
        status =
            copy(run, (LsSpot){parts->at[rank], true},
                 at(scatter->input, scatter->offsets[rank] + place), (size_t)parts->bytes[rank]);
    size_t bytes = (size_t)parts->bytes[run->rank];
    for (int rank = 0; rank < run->ranks; rank++)
        counts[rank] /= width;
    if (status == LOCKSTEP_OK)
        status = open_operation(run, host);
    if (status == LOCKSTEP_OK)
        status = run->plane->class->device->reduce_scatter(
            run->plane, parts->at, counts, parts->together, host ? own.at : output.at,
            scatter->dtype, scatter->op);
    if (status == LOCKSTEP_OK)
        status = close_operation(run, host);
    if (status == LOCKSTEP_OK && host)
        status = copy(run, output, own, bytes);
    if (status == LOCKSTEP_OK)
        status = mark(run, host ? LS_DEVICE_OUT : LS_DEVICE_NOTHING);
    return status == LOCKSTEP_OK ? finish(run) : status;
}

/* entries: one or none whose input is waited for. */
static lockstep_status
reduce_scatter(LsDeviceRun *run, const Scatter *scatter, LsEntry *const *entries, size_t n)
{
    Parts parts;
    int64_t place = 0;
    bool good =
        open_parts(run, scatter->offsets, (int64_t)ls_dtype_bytes((uint8_t)scatter->dtype), &parts);
    lockstep_status status = good ? LOCKSTEP_OK : ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    while (status == LOCKSTEP_OK && place < parts.longest) {
        status = ls_device_begin(run->plane->device);
        if (status == LOCKSTEP_OK)
            status = follow(run, entries, place == 0 ? n : 0);
        fill_parts(run, &parts, scatter->input, scatter->offsets, place);
        if (status == LOCKSTEP_OK)
            status = reduce_scatter_piece(run, &parts, scatter, place);
        place += parts.room;
    }
    close_parts(&parts);
    return status;
}

lockstep_status
ls_device_reduce_scatter(LsDeviceRun *run, const LsEntry *entry, lockstep_op op)
{
    LsEntry *const entries[] = {(LsEntry *)(uintptr_t)entry};
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)entry->dtype);
    int64_t row = entry->rows > 0 ? entry->count / entry->rows * width : 0;
    int64_t *offsets = calloc((size_t)run->ranks + 1, sizeof *offsets);
    if (offsets == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    for (int rank = 0; rank < run->ranks; rank++)
        offsets[rank + 1] =
            offsets[rank] + (entry->rows / run->ranks + (rank < entry->rows % run->ranks)) * row;
    Scatter scatter = {input_of(entry), output_of(entry), offsets, entry->dtype, op};
    lockstep_status status = reduce_scatter(run, &scatter, entries, 1);
    free(offsets);
    return status;
}

lockstep_status
ls_device_reduce_parts(LsDeviceRun *run, LsSpot data, const int64_t *offsets, lockstep_dtype dtype,
                       lockstep_op op)
{
    int64_t width = (int64_t)ls_dtype_bytes((uint8_t)dtype);
    int64_t *places = calloc((size_t)run->ranks + 1, sizeof *places);
    if (places == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    for (int rank = 0; rank <= run->ranks; rank++)
        places[rank] = offsets[rank] * width;
    Scatter scatter = {data, at(data, places[run->rank]), places, dtype, op};
    lockstep_status status = reduce_scatter(run, &scatter, NULL, 0);
    free(places);
    return status;
}
