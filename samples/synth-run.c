/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-run.c: a made-up job, record by record, as a recorder on each rank would write it.
 *
 * Each rank has a main thread (marks, submissions; thread = pid) and a loop (pid + 1). Records come
 * in the order in which they would end. What lies behind the cut is not written; what straddles it
 * is left open.
 */
#include "samples/synth-run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "samples/synth-file.h"
#include "samples/synth-truth.h"

#define PID_BASE 10000u
#define CLOCK_NS 1000000000
#define CODE     (LS_OPERATION_ALLREDUCE | 0 << 8 | 1 << 16) /* float32, average */

typedef struct Rank {
    LsSynthFile *file;
    int64_t next_clock_ns, last_ns;
    uint32_t lost;
    int64_t lost_start_ns, lost_end_ns;
    uint64_t records;
} Rank;

typedef struct Writer {
    LsSynthJob *job;
    Rank *ranks;
    int64_t cut_ns;
} Writer;

void
ls_synth_run_get_path(const char *folder, uint32_t rank, uint32_t ranks_per_host, char *ret_path,
                      size_t size)
{
    snprintf(ret_path, size, "%s/rank-%05u.node%u.%u.lks", folder, rank, rank / ranks_per_host,
             PID_BASE + rank);
}

static bool
is_lost(Writer *writer, uint32_t rank, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
    const LsSynthOptions *options = &writer->job->options;
    Rank *own = &writer->ranks[rank];
    if ((int32_t)rank != options->lost_rank || thread != PID_BASE + rank + 1 ||
        writer->job->step < options->steps / 2 || own->lost == options->lost_records)
        return false;
    if (own->lost++ == 0)
        own->lost_start_ns = start_ns;
    own->lost_end_ns = end_ns;
    ls_synth_file_add_lost(own->file, thread, 1);
    return true;
}

/* Times are the true clock's. */
static void
emit(Writer *writer, uint32_t rank, uint32_t thread, LsRecordKind kind, const char *name,
     int64_t start_ns, int64_t end_ns, const int64_t args[LS_RECORD_ARGS_MAX])
{
    Rank *own = &writer->ranks[rank];
    LsRecord record = {.kind = (uint16_t)kind};

    if (start_ns >= writer->cut_ns || is_lost(writer, rank, thread, start_ns, end_ns))
        return;
    if (end_ns > writer->cut_ns) {
        record.flags = LS_RECORD_OPEN;
        end_ns = start_ns;
    }
    record.name = ls_synth_file_name(own->file, name);
    record.start_ns = ls_synth_job_get_local(writer->job, rank, start_ns);
    record.end_ns = ls_synth_job_get_local(writer->job, rank, end_ns);
    memcpy(record.args, args, sizeof record.args);
    ls_synth_file_add(own->file, thread, &record);
    if (end_ns > own->last_ns)
        own->last_ns = end_ns;
}

#define ARGS(...) ((const int64_t[LS_RECORD_ARGS_MAX]){__VA_ARGS__})

static void
emit_clock(Writer *writer, uint32_t rank, int64_t now_ns)
{
    int64_t wall = ls_synth_job_get_wall(writer->job, rank, now_ns);
    emit(writer, rank, 0, LS_RECORD_CLOCK, "", now_ns, now_ns, ARGS(wall, 40 + rank % 20));
}

static void
emit_tensor(Writer *writer, uint32_t rank, uint32_t tensor)
{
    const LsSynthJob *job = writer->job;
    const LsSynthUse *use = &job->uses[(size_t)rank * job->options.tensors + tensor];
    uint32_t main_thread = PID_BASE + rank;
    char group[32];
    int64_t id = 0;

    if (job->options.groups > 0) {
        snprintf(group, sizeof group, "group%u", job->tensors[tensor].group);
        id = ls_synth_file_name(writer->ranks[rank].file, group);
    }
    emit(writer, rank, main_thread, LS_RECORD_SUBMIT, job->tensors[tensor].name, use->submit_ns,
         use->submit_ns, ARGS(job->step, job->tensors[tensor].bytes, id, CODE, 0));
    if (job->options.groups > 0)
        emit(writer, rank, main_thread, LS_RECORD_GATE, job->tensors[tensor].name, use->gate_ns,
             use->gate_ns, ARGS(job->step, id, 0));
}

static void
emit_main(Writer *writer, uint32_t rank)
{
    const LsSynthJob *job = writer->job;
    const LsSynthOptions *options = &job->options;
    const LsSynthStep *step = &job->steps[rank];
    uint32_t thread = PID_BASE + rank;
    double loss = 2.3 / (1 + 0.05 * job->step);
    int64_t bits;

    memcpy(&bits, &loss, sizeof bits);
    emit(writer, rank, thread, LS_RECORD_PHASE, "input", step->start_ns, step->input_end_ns,
         ARGS(0));
    emit(writer, rank, thread, LS_RECORD_PHASE, "forward", step->input_end_ns, step->forward_end_ns,
         ARGS(options->operations / 3));
    for (uint32_t i = 0; i < options->tensors; i++)
        emit_tensor(writer, rank, i);
    emit(writer, rank, thread, LS_RECORD_PHASE, "backward", step->forward_end_ns,
         step->backward_end_ns, ARGS(options->operations - options->operations / 3));
    emit(writer, rank, thread, LS_RECORD_PHASE, "optimizer", step->optimizer_start_ns,
         step->optimizer_end_ns, ARGS(0));
    emit(writer, rank, thread, LS_RECORD_COUNTER, "loss", step->optimizer_end_ns,
         step->optimizer_end_ns, ARGS(bits));
    if (step->end_ns > step->optimizer_end_ns)
        emit(writer, rank, thread, LS_RECORD_PHASE, "checkpoint", step->optimizer_end_ns,
             step->end_ns, ARGS(0));
    emit(writer, rank, thread, LS_RECORD_STEP, "step", step->start_ns, step->end_ns,
         ARGS(job->step, options->samples, options->operations));
}

/* The coordinator's four collectives (gather of lengths, gatherv, broadcast of the length,
 * broadcast) in the four quarters of the exchange. */
static void
emit_messages(Writer *writer, uint32_t rank, const LsSynthCycle *cycle, int64_t requests)
{
    const char *const names[] = {"gather", "gatherv", "bcast", "bcast"};
    const int64_t others = writer->job->options.ranks - 1;
    const int64_t bytes[] = {4, 8 + 48 * requests, 4, 8 + 40 * (int64_t)cycle->responses};
    int64_t quarter = (cycle->exchanged_ns - cycle->drained_ns) / 4;

    for (int i = 0; i < 4; i++) {
        int64_t start = cycle->drained_ns + quarter * i;
        int64_t in = i < 2 ? (rank == 0 ? others : 0) : (rank == 0 ? 0 : 1);
        int64_t out = i < 2 ? (rank == 0 ? 0 : 1) : (rank == 0 ? others : 0);
        emit(writer, rank, PID_BASE + rank + 1, LS_RECORD_MESSAGE, names[i], start, start + quarter,
             ARGS((int64_t)cycle->number, in, out, in * bytes[i], out * bytes[i]));
    }
}

/* With the leader of the host above in a binary tree of hosts. */
static void
emit_roundtrip(Writer *writer, uint32_t rank, const LsSynthCycle *cycle)
{
    LsSynthJob *job = writer->job;
    const LsSynthOptions *options = &job->options;
    uint32_t peer = (rank / options->ranks_per_host - 1) / 2 * options->ranks_per_host;
    double latency = (double)options->latency_ns;
    int64_t sent = cycle->start_ns + 500;
    int64_t out = (int64_t)(latency * (1 + options->asymmetry) +
                            latency * 0.3 * ls_synth_random_unit(&job->random));
    int64_t back = (int64_t)(latency * (1 - options->asymmetry) +
                             latency * 0.3 * ls_synth_random_unit(&job->random));
    int64_t peer_received = sent + out, peer_sent = peer_received + 1500;

    emit(writer, rank, PID_BASE + rank + 1, LS_RECORD_ROUNDTRIP, "", sent, peer_sent + back,
         ARGS(peer, ls_synth_job_get_local(job, peer, peer_received),
              ls_synth_job_get_local(job, peer, peer_sent), (int64_t)cycle->number));
}

static void
emit_buffer(Writer *writer, uint32_t rank, uint32_t index)
{
    const LsSynthJob *job = writer->job;
    const LsSynthBuffer *buffer = &job->buffers[index];
    const LsSynthCall *call = &job->calls[(size_t)index * job->options.ranks + rank];
    uint32_t thread = PID_BASE + rank + 1;
    int64_t number = (int64_t)buffer->number;

    if (buffer->tensors > 1)
        emit(writer, rank, thread, LS_RECORD_PACK, "MEMCPY_IN_FUSION_BUFFER", call->pack_start_ns,
             call->start_ns, ARGS(number, 0, buffer->bytes));
    emit(writer, rank, thread, LS_RECORD_OPERATION, "MPI_ALLREDUCE", call->start_ns, call->end_ns,
         ARGS(number, 0, buffer->bytes, buffer->tensors, CODE));
    if (buffer->tensors > 1)
        emit(writer, rank, thread, LS_RECORD_UNPACK, "MEMCPY_OUT_FUSION_BUFFER", call->end_ns,
             call->unpack_end_ns, ARGS(number, 0, buffer->bytes));
    for (uint32_t i = 0; i < buffer->tensors; i++) {
        uint32_t tensor = job->order[buffer->first + i];
        int64_t done = job->uses[(size_t)rank * job->options.tensors + tensor].done_ns;
        emit(writer, rank, thread, LS_RECORD_DONE, job->tensors[tensor].name, done, done,
             ARGS(job->step, number, 0, 0));
    }
}

static void
emit_cycle(Writer *writer, uint32_t rank, uint32_t index)
{
    const LsSynthJob *job = writer->job;
    const LsSynthCycle *cycle = &job->cycles[index];
    uint32_t thread = PID_BASE + rank + 1;
    int64_t number = (int64_t)cycle->number;
    int64_t requests = job->requests[(size_t)index * job->options.ranks + rank];
    const int64_t ends[] = {cycle->start_ns, cycle->drained_ns, cycle->exchanged_ns,
                            cycle->parsed_ns, cycle->built_ns};
    const char *const stages[] = {"DRAIN", "EXCHANGE", "PARSE", "BUILD"};
    int path = requests > 0 || cycle->responses > 0 ? LS_PATH_SLOW : LS_PATH_IDLE;

    emit_messages(writer, rank, cycle, requests);
    for (int i = 0; i < 4; i++)
        emit(writer, rank, thread, LS_RECORD_STAGE, stages[i], ends[i], ends[i + 1], ARGS(number));
    for (uint32_t b = 0; b < job->n_buffers; b++) {
        const LsSynthBuffer *buffer = &job->buffers[b];
        for (uint32_t i = 0; buffer->cycle == index && i < buffer->tensors; i++)
            emit(writer, rank, thread, LS_RECORD_AGREED,
                 job->tensors[job->order[buffer->first + i]].name, cycle->built_ns, cycle->built_ns,
                 ARGS(job->step, number, (int64_t)buffer->number, i, 0));
    }
    for (uint32_t b = 0; b < job->n_buffers; b++)
        if (job->buffers[b].cycle == index)
            emit_buffer(writer, rank, b);
    emit(writer, rank, thread, LS_RECORD_CYCLE, "coordinator", cycle->start_ns, cycle->built_ns,
         ARGS(number, path, requests, cycle->responses, 0));
    emit(writer, rank, thread, LS_RECORD_SLEEP, "", cycle->end_ns, cycle->wake_ns, ARGS(number));
}

static void
emit_step(Writer *writer, uint32_t rank)
{
    const LsSynthJob *job = writer->job;
    const LsSynthOptions *options = &job->options;
    Rank *own = &writer->ranks[rank];
    bool leads = rank >= options->ranks_per_host && rank % options->ranks_per_host == 0;
    uint32_t roundtrips = 0;

    for (; own->next_clock_ns < job->steps[rank].end_ns; own->next_clock_ns += CLOCK_NS)
        emit_clock(writer, rank, own->next_clock_ns);
    emit_main(writer, rank);
    for (uint32_t c = 0; c < job->n_cycles; c++) {
        if (job->cycles[c].written)
            continue;
        if (leads && roundtrips++ < options->roundtrips)
            emit_roundtrip(writer, rank, &job->cycles[c]);
        emit_cycle(writer, rank, c);
    }
}

static void
emit_head(Writer *writer, uint32_t rank)
{
    const LsSynthJob *job = writer->job;
    const LsSynthOptions *options = &job->options;
    LsSynthFile *file = writer->ranks[rank].file;
    uint32_t host = rank / options->ranks_per_host;
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"rank", rank},
                   {"world", options->ranks},
                   {"local_rank", rank % options->ranks_per_host},
                   {"pid", PID_BASE + rank},
                   {"incarnation", 0}};
    char text[32];

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "%u", numbers[i].value);
        ls_synth_file_info(file, numbers[i].key, text);
    }
    snprintf(text, sizeof text, "node%u", host);
    ls_synth_file_info(file, "host", text);
    ls_synth_file_info(file, "boot_id", job->hosts[host].boot_id);
    ls_synth_file_info(file, "program", "samples/synth");
    emit(writer, rank, 0, LS_RECORD_THREAD, "main", job->origin_ns, job->origin_ns,
         ARGS(PID_BASE + rank));
    emit(writer, rank, 0, LS_RECORD_THREAD, "loop", job->origin_ns, job->origin_ns,
         ARGS(PID_BASE + rank + 1));
}

static void
emit_tail(Writer *writer, uint32_t rank)
{
    Rank *own = &writer->ranks[rank];
    if (own->lost > 0)
        emit(writer, rank, 0, LS_RECORD_LOST, "", own->lost_start_ns, own->lost_end_ns,
             ARGS(PID_BASE + rank + 1, own->lost));
    if (writer->cut_ns == INT64_MAX)
        emit_clock(writer, rank, own->last_ns);
    own->records = ls_synth_file_get_records(own->file);
}

static void
print_ranks(const Writer *writer, FILE *out)
{
    const LsSynthJob *job = writer->job;
    fprintf(out, "{\"seed\": %" PRIu64 ",\n\"ranks\": [", job->options.seed);
    for (uint32_t r = 0; r < job->options.ranks; r++) {
        const Rank *own = &writer->ranks[r];
        uint32_t host = r / job->options.ranks_per_host;
        int64_t first = job->origin_ns, last = own->last_ns, middle = first + (last - first) / 2;
        fprintf(out,
                "%s\n  {\"rank\": %u, \"host\": \"node%u\", \"local_rank\": %u, \"pid\": %u, "
                "\"boot_id\": \"%s\", \"drift_ppm\": %.6f, \"clock_offset_first_ns\": %" PRId64
                ", \"clock_offset_ns\": %" PRId64 ", \"clock_offset_last_ns\": %" PRId64
                ", \"wall_error_ns\": %" PRId64 ", \"records\": %" PRIu64 ", \"lost\": %u}",
                r > 0 ? "," : "", r, host, r % job->options.ranks_per_host, PID_BASE + r,
                job->hosts[host].boot_id, job->hosts[host].drift * 1e6,
                first - ls_synth_job_get_local(job, r, first),
                middle - ls_synth_job_get_local(job, r, middle),
                last - ls_synth_job_get_local(job, r, last), job->hosts[host].wall_error_ns,
                own->records, own->lost);
    }
    fputs("],\n", out);
}

static bool
open_files(Writer *writer, const char *folder, char *ret_error, size_t error_size)
{
    char path[4096];
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        snprintf(ret_error, error_size, "%s: %s", folder, strerror(errno));
        return false;
    }
    for (uint32_t r = 0; r < writer->job->options.ranks; r++) {
        Rank *own = &writer->ranks[r];
        ls_synth_run_get_path(folder, r, writer->job->options.ranks_per_host, path, sizeof path);
        own->file = ls_synth_file_open(path, r, PID_BASE + r);
        if (own->file == NULL) {
            snprintf(ret_error, error_size, "%s: %s", path, strerror(errno));
            return false;
        }
        own->next_clock_ns = writer->job->origin_ns;
        own->last_ns = writer->job->origin_ns;
        emit_head(writer, r);
    }
    return true;
}

bool
ls_synth_run_write(const LsSynthOptions *options, const char *folder, FILE *truth_out,
                   char *ret_error, size_t error_size)
{
    Writer writer = {.job = ls_synth_job_new(options), .cut_ns = INT64_MAX};
    LsSynthTruth *truth = NULL;
    bool done = false;

    writer.ranks = calloc(options->ranks, sizeof *writer.ranks);
    snprintf(ret_error, error_size, "out of memory");
    if (writer.job == NULL || writer.ranks == NULL)
        goto free_job;
    truth = ls_synth_truth_new(writer.job);
    if (truth == NULL)
        goto free_job;
    if (!open_files(&writer, folder, ret_error, error_size))
        goto close_files;
    while (ls_synth_job_advance(writer.job)) {
        writer.cut_ns = ls_synth_job_get_cut(writer.job);
        ls_synth_truth_add_step(truth, writer.job);
        for (uint32_t r = 0; r < options->ranks; r++)
            emit_step(&writer, r);
    }
    for (uint32_t r = 0; r < options->ranks; r++)
        emit_tail(&writer, r);
    done = true;
    if (truth_out != NULL) {
        print_ranks(&writer, truth_out);
        done = ls_synth_truth_print(truth, writer.job, truth_out) && fputs("}\n", truth_out) >= 0;
    }

close_files:
    for (uint32_t r = 0; r < options->ranks; r++)
        if (writer.ranks[r].file != NULL && !ls_synth_file_close(writer.ranks[r].file) && done) {
            snprintf(ret_error, error_size, "rank %u: %s", r, strerror(errno));
            done = false;
        }
    ls_synth_truth_free(truth);
free_job:
    free(writer.ranks);
    ls_synth_job_free(writer.job);
    return done;
}
