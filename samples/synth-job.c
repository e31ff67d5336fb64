/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-job.c: simulates the job, step by step.
 *
 * Ranks compute on their own and hand in tensors during backward; a loop that is common to all
 * wakes every cycle, agrees on what every rank has handed in (its whole group, with groups), fuses
 * it greedily in the order of backward up to the threshold, and executes buffer after buffer. Ranks
 * differ only in when they submit and, by some microseconds, in when they enter and leave a call.
 */
#include "samples/synth-job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_NS    4000
#define EXCHANGE_NS 60000
#define PARSE_NS    6000
#define BUILD_NS    8000
#define CALL_NS     40000 /* of a buffer without bytes */
#define SKEW_NS     15000 /* ranks enter a call within this */
#define PACK_RATE   4.0   /* bytes per ns */

uint64_t
ls_synth_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double
ls_synth_random_unit(uint64_t *state)
{
    return (double)(ls_synth_random(state) >> 11) * 0x1p-53;
}

double
ls_synth_random_sign(uint64_t *state)
{
    return 2 * ls_synth_random_unit(state) - 1;
}

LsSynthOptions
ls_synth_options(void)
{
    return (LsSynthOptions){
        .ranks = 4,
        .ranks_per_host = 2,
        .steps = 20,
        .tensors = 12,
        .seed = 1,
        .offset_max_ns = 500000000,
        .drift_max_ppm = 20,
        .wall_error_max_ns = 2000000,
        .roundtrips = 4,
        .latency_ns = 20000,
        .input_ns = 2000000,
        .forward_ns = 10000000,
        .backward_ns = 20000000,
        .optimizer_ns = 3000000,
        .jitter_ns = 200000,
        .checkpoint_ns = 5000000,
        .samples = 32,
        .operations = 1000000000,
        .late_rank = -1,
        .fusion_bytes = 1 << 21,
        .cycle_ns = 3000000,
        .bytes_per_ns = 0.25,
        .lost_rank = -1,
    };
}

static void
make_hosts(LsSynthJob *job)
{
    const LsSynthOptions *options = &job->options;
    for (uint32_t h = 0; h < job->n_hosts; h++) {
        LsSynthHost *host = &job->hosts[h];
        uint64_t a = ls_synth_random(&job->random), b = ls_synth_random(&job->random);
        if (h > 0) {
            host->offset_ns =
                (int64_t)((double)options->offset_max_ns * ls_synth_random_sign(&job->random));
            host->drift = options->drift_max_ppm * 1e-6 * ls_synth_random_sign(&job->random);
            host->wall_error_ns =
                (int64_t)((double)options->wall_error_max_ns * ls_synth_random_sign(&job->random));
        }
        snprintf(host->boot_id, sizeof host->boot_id, "%08x-%04x-4%03x-a%03x-%012llx",
                 (unsigned)(a >> 32), (unsigned)(a >> 16) & 0xffffu, (unsigned)a & 0xfffu,
                 (unsigned)(b >> 48) & 0xfffu, (unsigned long long)(b & 0xffffffffffffu));
    }
}

static void
make_tensors(LsSynthJob *job)
{
    uint32_t n = job->options.tensors;
    for (uint32_t i = 0; i < n; i++) {
        LsSynthTensor *tensor = &job->tensors[i];
        uint32_t layer = (n - 1 - i) / 2; /* backward begins at the last layer */
        bool bias = (n - 1 - i) % 2 == 1;
        int64_t elements = bias ? 16 << (ls_synth_random(&job->random) % 5)
                                : 1024 << (ls_synth_random(&job->random) % 10);
        snprintf(tensor->name, sizeof tensor->name, "layer%02u.%s", layer,
                 bias ? "bias" : "weight");
        tensor->bytes = 4 * elements;
        tensor->group = job->options.groups > 0 ? i * job->options.groups / n : 0;
    }
}

LsSynthJob *
ls_synth_job_new(const LsSynthOptions *options)
{
    LsSynthJob *job = calloc(1, sizeof *job);
    size_t ranks = options->ranks, tensors = options->tensors;
    if (job == NULL)
        return NULL;
    job->options = *options;
    job->random = options->seed;
    job->origin_ns = 1000000000000;
    job->wall_origin_ns = 1790000000000000000;
    job->loop_ns = job->origin_ns;
    job->step = UINT32_MAX;
    job->n_hosts = (options->ranks + options->ranks_per_host - 1) / options->ranks_per_host;
    job->hosts = calloc(job->n_hosts, sizeof *job->hosts);
    job->tensors = calloc(tensors, sizeof *job->tensors);
    job->steps = calloc(ranks, sizeof *job->steps);
    job->uses = calloc(ranks * tensors, sizeof *job->uses);
    job->order = calloc(tensors, sizeof *job->order);
    job->agreed_ns = calloc(tensors, sizeof *job->agreed_ns);
    job->buffer_of = calloc(tensors, sizeof *job->buffer_of);
    job->buffers = calloc(tensors, sizeof *job->buffers);
    job->calls = calloc(tensors * ranks, sizeof *job->calls);
    if (job->hosts == NULL || job->tensors == NULL || job->steps == NULL || job->uses == NULL ||
        job->order == NULL || job->agreed_ns == NULL || job->buffer_of == NULL ||
        job->buffers == NULL || job->calls == NULL) {
        ls_synth_job_free(job);
        return NULL;
    }
    make_hosts(job);
    make_tensors(job);
    for (uint32_t r = 0; r < options->ranks; r++)
        job->steps[r].end_ns = job->origin_ns + 20000000;
    return job;
}

void
ls_synth_job_free(LsSynthJob *job)
{
    if (job == NULL)
        return;
    free(job->hosts);
    free(job->tensors);
    free(job->steps);
    free(job->uses);
    free(job->requests);
    free(job->order);
    free(job->agreed_ns);
    free(job->buffer_of);
    free(job->buffers);
    free(job->calls);
    free(job->cycles);
    free(job);
}

/* The rank's phases up to the end of backward, and its submissions. */
static void
compute(LsSynthJob *job, uint32_t rank)
{
    const LsSynthOptions *options = &job->options;
    LsSynthStep *step = &job->steps[rank];
    LsSynthUse *uses = &job->uses[(size_t)rank * options->tensors];
    uint32_t n = options->tensors;
    bool late = (int32_t)rank == options->late_rank && job->step >= options->late_from;

    step->start_ns = step->end_ns + 20000;
    step->input_end_ns = step->start_ns + options->input_ns + (late ? options->late_ns : 0);
    step->forward_end_ns = step->input_end_ns + options->forward_ns;
    step->backward_end_ns = step->forward_end_ns + options->backward_ns;
    for (uint32_t i = 0; i < n; i++) {
        int64_t slot = options->backward_ns / n;
        int64_t jitter = options->jitter_ns < slot ? options->jitter_ns : slot;
        jitter = (int64_t)((double)jitter * ls_synth_random_unit(&job->random));
        uses[i].submit_ns = step->forward_end_ns + slot * (i + 1) - jitter;
    }
    for (uint32_t i = n; i-- > 0;) {
        bool last = i == n - 1 || job->tensors[i].group != job->tensors[i + 1].group;
        uses[i].gate_ns = options->groups == 0 || last ? uses[i].submit_ns : uses[i + 1].gate_ns;
    }
}

static bool
ready_everywhere(const LsSynthJob *job, uint32_t tensor, int64_t now_ns)
{
    for (uint32_t r = 0; r < job->options.ranks; r++)
        if (job->uses[(size_t)r * job->options.tensors + tensor].gate_ns > now_ns)
            return false;
    return true;
}

/* One buffer on all ranks, beginning when every rank has finished the one before. */
static int64_t
execute(LsSynthJob *job, const LsSynthBuffer *buffer, int64_t now_ns)
{
    uint32_t ranks = job->options.ranks;
    size_t index = (size_t)(buffer - job->buffers);
    int64_t copy_ns = buffer->tensors > 1 ? (int64_t)((double)buffer->bytes / PACK_RATE) : 0;
    int64_t call_ns = CALL_NS + (int64_t)((double)buffer->bytes / job->options.bytes_per_ns);
    int64_t last_end = now_ns;

    for (uint32_t r = 0; r < ranks; r++) {
        LsSynthCall *call = &job->calls[index * ranks + r];
        int64_t skew = (int64_t)(SKEW_NS * ls_synth_random_unit(&job->random));
        int64_t leave = (int64_t)(SKEW_NS / 3 * ls_synth_random_unit(&job->random));
        call->pack_start_ns = now_ns + skew;
        call->start_ns = call->pack_start_ns + copy_ns;
        call->end_ns = now_ns + SKEW_NS + copy_ns + call_ns + leave;
        call->unpack_end_ns = call->end_ns + copy_ns;
        if (call->unpack_end_ns > last_end)
            last_end = call->unpack_end_ns;
        for (uint32_t i = 0; i < buffer->tensors; i++) {
            uint32_t tensor = job->order[buffer->first + i];
            job->uses[(size_t)r * job->options.tensors + tensor].done_ns =
                call->unpack_end_ns + 1000 * (i + 1);
        }
    }
    return last_end + 1000 * (buffer->tensors + 1);
}

/* What is ready everywhere and not done yet goes into buffers. Returns how many tensors are done.
 */
static uint32_t
agree(LsSynthJob *job, LsSynthCycle *cycle, uint32_t done)
{
    for (uint32_t i = 0; i < job->options.tensors; i++) {
        LsSynthBuffer *buffer = job->n_buffers > 0 ? &job->buffers[job->n_buffers - 1] : NULL;
        int64_t bytes = job->tensors[i].bytes;
        if (job->agreed_ns[i] != 0 || !ready_everywhere(job, i, cycle->start_ns))
            continue;
        if (cycle->buffers == 0 || buffer->bytes + bytes > job->options.fusion_bytes) {
            buffer = &job->buffers[job->n_buffers++];
            *buffer = (LsSynthBuffer){
                .number = job->next_buffer++, .cycle = job->n_cycles - 1, .first = done};
            cycle->buffers++;
        }
        job->agreed_ns[i] = cycle->built_ns;
        job->buffer_of[i] = job->n_buffers - 1;
        job->order[done++] = i;
        buffer->tensors++;
        buffer->bytes += bytes;
        cycle->responses++;
    }
    return done;
}

static bool
add_cycle(LsSynthJob *job)
{
    if (job->n_cycles == job->room_cycles) {
        uint32_t room = job->room_cycles == 0 ? 64 : job->room_cycles * 2;
        LsSynthCycle *cycles = realloc(job->cycles, room * sizeof *cycles);
        if (cycles == NULL)
            return false;
        job->cycles = cycles;
        uint32_t *requests =
            realloc(job->requests, (size_t)room * job->options.ranks * sizeof *requests);
        if (requests == NULL)
            return false;
        job->requests = requests;
        job->room_cycles = room;
    }
    LsSynthCycle *cycle = &job->cycles[job->n_cycles];
    int64_t exchange = EXCHANGE_NS + (int64_t)(20000 * ls_synth_random_unit(&job->random));
    *cycle = (LsSynthCycle){.number = job->next_cycle++, .start_ns = job->loop_ns};
    cycle->drained_ns = cycle->start_ns + DRAIN_NS;
    cycle->exchanged_ns = cycle->drained_ns + exchange;
    cycle->parsed_ns = cycle->exchanged_ns + PARSE_NS;
    cycle->built_ns = cycle->parsed_ns + BUILD_NS;
    memset(&job->requests[(size_t)job->n_cycles * job->options.ranks], 0,
           job->options.ranks * sizeof(uint32_t));
    job->n_cycles++;
    return true;
}

static void
count_requests(LsSynthJob *job, int64_t since_ns)
{
    const LsSynthCycle *cycle = &job->cycles[job->n_cycles - 1];
    uint32_t *requests = &job->requests[(size_t)(job->n_cycles - 1) * job->options.ranks];
    for (uint32_t r = 0; r < job->options.ranks; r++)
        for (uint32_t i = 0; i < job->options.tensors; i++) {
            int64_t gate = job->uses[(size_t)r * job->options.tensors + i].gate_ns;
            if (gate > since_ns && gate <= cycle->start_ns)
                requests[r]++;
        }
}

/* Cycles until every tensor is done; the last cycle of the step before stays as the first. */
static bool
communicate(LsSynthJob *job)
{
    uint32_t done = 0;
    int64_t since_ns = job->origin_ns;

    if (job->n_cycles > 0) {
        job->cycles[0] = job->cycles[job->n_cycles - 1];
        job->cycles[0].written = true;
        job->n_cycles = 1;
        since_ns = job->cycles[0].start_ns;
    }
    job->n_buffers = 0;
    memset(job->agreed_ns, 0, job->options.tensors * sizeof *job->agreed_ns);
    while (done < job->options.tensors) {
        if (!add_cycle(job))
            return false;
        LsSynthCycle *cycle = &job->cycles[job->n_cycles - 1];
        uint32_t first_buffer = job->n_buffers;
        count_requests(job, since_ns);
        since_ns = cycle->start_ns;
        done = agree(job, cycle, done);
        cycle->end_ns = cycle->built_ns;
        for (uint32_t b = first_buffer; b < job->n_buffers; b++)
            cycle->end_ns = execute(job, &job->buffers[b], cycle->end_ns);
        cycle->wake_ns = cycle->start_ns + job->options.cycle_ns;
        if (cycle->wake_ns < cycle->end_ns)
            cycle->wake_ns = cycle->end_ns;
        job->loop_ns = cycle->wake_ns + 500;
    }
    return true;
}

static void
finish(LsSynthJob *job, uint32_t rank)
{
    const LsSynthOptions *options = &job->options;
    LsSynthStep *step = &job->steps[rank];
    bool checkpoint = options->checkpoint_every > 0 && rank == 0 &&
                      (job->step + 1) % options->checkpoint_every == 0;

    step->optimizer_start_ns = step->backward_end_ns;
    for (uint32_t i = 0; i < options->tensors; i++) {
        int64_t done = job->uses[(size_t)rank * options->tensors + i].done_ns;
        if (done > step->optimizer_start_ns)
            step->optimizer_start_ns = done;
    }
    step->optimizer_start_ns += 10000;
    step->optimizer_end_ns = step->optimizer_start_ns + options->optimizer_ns;
    step->end_ns = step->optimizer_end_ns + (checkpoint ? options->checkpoint_ns : 0);
}

bool
ls_synth_job_advance(LsSynthJob *job)
{
    if (job->step + 1 >= job->options.steps)
        return false;
    job->step++; /* from UINT32_MAX to 0 at first */
    for (uint32_t r = 0; r < job->options.ranks; r++)
        compute(job, r);
    if (!communicate(job))
        return false;
    for (uint32_t r = 0; r < job->options.ranks; r++)
        finish(job, r);
    return true;
}

int64_t
ls_synth_job_get_local(const LsSynthJob *job, uint32_t rank, int64_t true_ns)
{
    const LsSynthHost *host = &job->hosts[rank / job->options.ranks_per_host];
    int64_t since = true_ns - job->origin_ns;
    return true_ns + host->offset_ns + (int64_t)((double)since * host->drift);
}

int64_t
ls_synth_job_get_wall(const LsSynthJob *job, uint32_t rank, int64_t true_ns)
{
    const LsSynthHost *host = &job->hosts[rank / job->options.ranks_per_host];
    return job->wall_origin_ns + (true_ns - job->origin_ns) + host->wall_error_ns;
}

int64_t
ls_synth_job_get_cut(const LsSynthJob *job)
{
    const LsSynthStep *step = &job->steps[0];
    if (!job->options.cut || job->step != job->options.steps - 1)
        return INT64_MAX;
    return step->forward_end_ns + job->options.backward_ns / 2;
}
