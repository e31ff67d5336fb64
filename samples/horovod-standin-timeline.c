/* SPDX-License-Identifier: Apache-2.0
 *
 * Rank 0's timeline as Horovod writes it since 0.20.1 (facts: Horovod A), and its mirror in NVTX.
 * One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "abi/nvtx-client.h"
#include "samples/horovod-standin.h"

typedef struct Row {
    bool named, negotiating;
    uint64_t negotiation, operation; /* mirrored ranges */
    LsNvtxString words[2];
} Row;

static FILE *file;
static int64_t start_ns;
static bool in_groups, has_event;
static Row rows[N_TENSORS];
static LsNvtxDomain mirror;

static int64_t
get_us(void)
{
    return (standin_now() - start_ns) / 1000;
}

static void
begin_event(void)
{
    fputs(has_event ? "," : "", file);
    has_event = true;
}

bool
timeline_open(bool grouped)
{
    const char *path = getenv("HOROVOD_TIMELINE");
    struct timespec wall;

    if (path == NULL || path[0] == '\0')
        return true;
    file = fopen(path, "w");
    if (file == NULL)
        return false;
    in_groups = grouped;
    clock_gettime(CLOCK_REALTIME, &wall);
    start_ns = standin_now();
    mirror = ls_nvtx_domain("HorovodTimeline");
    fprintf(file,
            "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "
            "{\"start_time_since_epoch_in_micros\":%lld}}",
            (long long)wall.tv_sec * 1000000 + wall.tv_nsec / 1000);
    has_event = true;
    return true;
}

bool
timeline_is_open(void)
{
    return file != NULL;
}

void
timeline_cycle(void)
{
    if (file == NULL)
        return;
    begin_event();
    fprintf(file, "{\"ph\": \"i\", \"name\": \"CYCLE_START\", \"ts\": %lld, \"s\": \"g\"}",
            (long long)get_us());
}

static Row *
get_row(int tensor)
{
    Row *row = &rows[tensor];
    char text[128];

    if (row->named)
        return row;
    row->named = true;
    begin_event();
    fprintf(
        file,
        "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, \"args\": {\"name\": \"%s\"}}",
        tensor + 1, standin_name(tensor, in_groups));
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s %s", i == 0 ? "NEGOTIATE_ALLREDUCE" : "ALLREDUCE",
                 standin_name(tensor, in_groups));
        row->words[i] = ls_nvtx_register(mirror, text);
    }
    return row;
}

static void
write_begin(int tensor, const char *name)
{
    begin_event();
    fprintf(file, "{\"ph\": \"B\", \"name\": \"%s\", \"ts\": %lld, \"pid\": %d}", name,
            (long long)get_us(), tensor + 1);
}

static void
write_end(int tensor, bool with_shape)
{
    begin_event();
    fprintf(file, "{\"ph\": \"E\", \"ts\": %lld, \"pid\": %d", (long long)get_us(), tensor + 1);
    if (with_shape)
        fprintf(file, ", \"args\": {\"dtype\": \"float32\", \"shape\": \"[%d]\"}",
                standin_tensors[tensor].elements);
    fputs("}", file);
}

void
timeline_negotiate(int tensor)
{
    Row *row;

    if (file == NULL || rows[tensor].negotiating)
        return;
    row = get_row(tensor);
    row->negotiating = true;
    row->negotiation = ls_nvtx_start(mirror, row->words[0], 0);
    write_begin(tensor, "NEGOTIATE_ALLREDUCE");
}

void
timeline_tick(int tensor, int rank)
{
    if (file == NULL)
        return;
    timeline_negotiate(tensor);
    begin_event();
    fprintf(file, "{\"ph\": \"X\", \"name\": \"%d\", \"ts\": %lld, \"pid\": %d, \"dur\": 0}", rank,
            (long long)get_us(), tensor + 1);
}

void
timeline_agree(int tensor)
{
    if (file == NULL)
        return;
    timeline_negotiate(tensor);
    rows[tensor].negotiating = false;
    ls_nvtx_end(mirror, rows[tensor].negotiation);
    write_end(tensor, false);
}

/* All members begin, then all begin the activity; they end in the same order. */
void
timeline_execute(const int *tensors, int n, bool begin)
{
    for (int i = 0; file != NULL && begin && i < n; i++) {
        Row *row = get_row(tensors[i]);

        row->operation =
            ls_nvtx_start(mirror, row->words[1], (int64_t)standin_tensors[tensors[i]].elements * 4);
        write_begin(tensors[i], "ALLREDUCE");
    }
    for (int i = 0; file != NULL && i < n; i++) {
        if (begin)
            write_begin(tensors[i], "MPI_ALLREDUCE");
        else
            write_end(tensors[i], false);
    }
    for (int i = 0; file != NULL && !begin && i < n; i++) {
        ls_nvtx_end(mirror, rows[tensors[i]].operation);
        write_end(tensors[i], true);
    }
}

void
timeline_close(void)
{
    if (file == NULL)
        return;
    fputs("]", file);
    fclose(file);
    file = NULL;
}
