/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-truth.c: measures the job while it is being made.
 *
 * By sets of intervals. A step that the recording cuts has no figures; buffers and tensors of it
 * count as far as every rank had agreed on (executed) them before the cut.
 */
#include "samples/synth-truth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "samples/synth-set.h"

typedef struct TensorSum {
    int64_t agreements; /* on all ranks, counted once */
    int64_t uses;       /* agreements * ranks */
    int64_t negotiation, gate, slowest_rank, behind, sleep, protocol;
    int64_t queue, pack, operation, unpack, spread;
} TensorSum;

struct LsSynthTruth {
    char *steps_text, *collectives_text;
    size_t steps_length, collectives_length;
    FILE *steps, *collectives;
    TensorSum *tensors;
    bool failed; /* out of memory: no truth is printed */
    /* Scratch, by what it holds. */
    LsSynthSet compute, communication, io, wait, negotiation, fusion, execution, sleep, a, b;
};

static const LsSynthUse *
get_use(const LsSynthJob *job, uint32_t rank, uint32_t tensor)
{
    return &job->uses[(size_t)rank * job->options.tensors + tensor];
}

/* The rank's submission of the buffer's last tensor. */
static int64_t
get_arrival(const LsSynthJob *job, const LsSynthBuffer *buffer, uint32_t rank)
{
    int64_t arrival = INT64_MIN;
    for (uint32_t i = 0; i < buffer->tensors; i++) {
        int64_t submit = get_use(job, rank, job->order[buffer->first + i])->submit_ns;
        if (submit > arrival)
            arrival = submit;
    }
    return arrival;
}

static uint32_t
get_last_rank(const LsSynthJob *job, const LsSynthBuffer *buffer)
{
    uint32_t last = 0;
    for (uint32_t r = 1; r < job->options.ranks; r++)
        if (get_arrival(job, buffer, r) > get_arrival(job, buffer, last))
            last = r;
    return last;
}

/* When every rank has handed in something that is not agreed yet. */
static void
find_negotiation(LsSynthTruth *truth, const LsSynthJob *job)
{
    for (uint32_t r = 0; r < job->options.ranks; r++) {
        LsSynthSet *own = r == 0 ? &truth->negotiation : &truth->a;
        own->n = 0;
        for (uint32_t i = 0; i < job->options.tensors; i++)
            ls_synth_set_add(own, get_use(job, r, i)->submit_ns, job->agreed_ns[i]);
        ls_synth_set_unite(own);
        if (r == 0)
            continue;
        ls_synth_set_cut(&truth->negotiation, own, false, &truth->b);
        LsSynthSet swap = truth->negotiation;
        truth->negotiation = truth->b;
        truth->b = swap;
    }
}

static void
collect(LsSynthTruth *truth, const LsSynthJob *job, uint32_t rank)
{
    const LsSynthStep *step = &job->steps[rank];
    truth->compute.n = truth->communication.n = truth->io.n = truth->wait.n = 0;
    truth->fusion.n = truth->execution.n = 0;
    ls_synth_set_add(&truth->compute, step->input_end_ns, step->backward_end_ns);
    ls_synth_set_add(&truth->compute, step->optimizer_start_ns, step->optimizer_end_ns);
    ls_synth_set_add(&truth->io, step->start_ns, step->input_end_ns);
    ls_synth_set_add(&truth->io, step->optimizer_end_ns, step->end_ns);
    for (uint32_t b = 0; b < job->n_buffers; b++) {
        const LsSynthBuffer *buffer = &job->buffers[b];
        const LsSynthCall *call = &job->calls[(size_t)b * job->options.ranks + rank];
        uint32_t last = get_last_rank(job, buffer);
        ls_synth_set_add(&truth->communication, call->start_ns, call->end_ns);
        ls_synth_set_add(&truth->fusion, call->pack_start_ns, call->start_ns);
        ls_synth_set_add(&truth->fusion, call->end_ns, call->unpack_end_ns);
        ls_synth_set_add(&truth->execution, call->pack_start_ns, call->unpack_end_ns);
        ls_synth_set_add(&truth->wait, get_arrival(job, buffer, rank),
                         get_arrival(job, buffer, last));
    }
    ls_synth_set_unite(&truth->compute);
    ls_synth_set_unite(&truth->communication);
    ls_synth_set_unite(&truth->io);
    ls_synth_set_unite(&truth->wait);
    ls_synth_set_unite(&truth->fusion);
    ls_synth_set_unite(&truth->execution);
}

static void
print_step(LsSynthTruth *truth, const LsSynthJob *job, uint32_t rank)
{
    const LsSynthStep *step = &job->steps[rank];
    int64_t hidden, exposed, exposed_wait, negotiation, waited_for, busy;
    LsSynthSet all = {0};

    collect(truth, job, rank);
    ls_synth_set_cut(&truth->communication, &truth->compute, false, &truth->a);
    hidden = ls_synth_set_get_length(&truth->a);
    ls_synth_set_cut(&truth->communication, &truth->compute, true, &truth->a);
    exposed = ls_synth_set_get_length(&truth->a);
    ls_synth_set_copy(&truth->a, &all);
    ls_synth_set_cut(&truth->wait, &truth->compute, true, &truth->a);
    exposed_wait = ls_synth_set_get_length(&truth->a);
    ls_synth_set_copy(&truth->a, &all);
    ls_synth_set_cut(&truth->negotiation, &truth->compute, true, &truth->a);
    ls_synth_set_cut(&truth->a, &truth->communication, true, &truth->b);
    negotiation = ls_synth_set_get_length(&truth->b);
    ls_synth_set_copy(&truth->b, &all);
    ls_synth_set_unite(&all);
    waited_for = ls_synth_set_get_length(&all);
    all.n = 0;
    ls_synth_set_copy(&truth->compute, &all);
    ls_synth_set_copy(&truth->communication, &all);
    ls_synth_set_copy(&truth->io, &all);
    ls_synth_set_unite(&all);
    busy = ls_synth_set_get_length(&all);
    truth->failed = truth->failed || all.failed;
    free(all.items);

    fprintf(truth->steps,
            "%s\n  {\"step\": %u, \"rank\": %u, \"cut\": false, \"start_ns\": %" PRId64
            ", \"step_ns\": %" PRId64 ", \"compute_ns\": %" PRId64
            ", \"communication_ns\": %" PRId64 ", \"hidden_ns\": %" PRId64
            ", \"exposed_ns\": %" PRId64 ", \"exposed_wait_ns\": %" PRId64
            ", \"exposed_transfer_ns\": %" PRId64 ", \"negotiation_exposure_ns\": %" PRId64
            ", \"waited_for_ns\": %" PRId64 ", \"idle_ns\": %" PRId64 ", \"io_ns\": %" PRId64
            ", \"fusion_ns\": %" PRId64 ", \"samples\": %" PRId64 ", \"operations\": %" PRId64 "}",
            job->step == 0 && rank == 0 ? "" : ",", job->step, rank, step->start_ns,
            step->end_ns - step->start_ns, ls_synth_set_get_length(&truth->compute),
            ls_synth_set_get_length(&truth->communication), hidden, exposed, exposed_wait, exposed,
            negotiation, waited_for, step->end_ns - step->start_ns - busy,
            ls_synth_set_get_length(&truth->io), ls_synth_set_get_length(&truth->fusion),
            job->options.samples, job->options.operations);
}

static void
print_row(FILE *out, const char *name, const LsSynthJob *job, const LsSynthBuffer *buffer,
          int64_t (*get)(const LsSynthJob *, const LsSynthBuffer *, uint32_t))
{
    fprintf(out, ", \"%s\": [", name);
    for (uint32_t r = 0; r < job->options.ranks; r++)
        fprintf(out, "%s%" PRId64, r > 0 ? ", " : "", get(job, buffer, r));
    fputc(']', out);
}

static const LsSynthCall *
get_call(const LsSynthJob *job, const LsSynthBuffer *buffer, uint32_t rank)
{
    return &job->calls[(size_t)(buffer - job->buffers) * job->options.ranks + rank];
}

static int64_t
get_call_start(const LsSynthJob *job, const LsSynthBuffer *buffer, uint32_t rank)
{
    return get_call(job, buffer, rank)->start_ns;
}

static int64_t
get_call_end(const LsSynthJob *job, const LsSynthBuffer *buffer, uint32_t rank)
{
    return get_call(job, buffer, rank)->end_ns;
}

static void
print_buffer(LsSynthTruth *truth, const LsSynthJob *job, const LsSynthBuffer *buffer)
{
    FILE *out = truth->collectives;
    uint32_t last = get_last_rank(job, buffer);
    int64_t least = INT64_MAX, most = 0, transfer = INT64_MAX, first = INT64_MAX;

    for (uint32_t r = 0; r < job->options.ranks; r++) {
        int64_t arrival = get_arrival(job, buffer, r);
        int64_t whole = get_call_end(job, buffer, r) - arrival;
        int64_t call = get_call_end(job, buffer, r) - get_call_start(job, buffer, r);
        least = whole < least ? whole : least;
        most = whole > most ? whole : most;
        transfer = call < transfer ? call : transfer;
        first = arrival < first ? arrival : first;
    }
    fprintf(out,
            "%s\n  {\"buffer\": %" PRIu64 ", \"step\": %u, \"bytes\": %" PRId64
            ", \"tensors\": %u, \"last_rank\": %u, \"wait_max_ns\": %" PRId64
            ", \"wait_max_aligned_ns\": %" PRId64 ", \"transfer_ns\": %" PRId64,
            buffer->number == 0 ? "" : ",", buffer->number, job->step, buffer->bytes,
            buffer->tensors, last, most - least, get_arrival(job, buffer, last) - first, transfer);
    print_row(out, "arrival_ns", job, buffer, get_arrival);
    print_row(out, "call_start_ns", job, buffer, get_call_start);
    print_row(out, "call_end_ns", job, buffer, get_call_end);
    fputs(", \"names\": [", out);
    for (uint32_t i = 0; i < buffer->tensors; i++)
        fprintf(out, "%s\"%s\"", i > 0 ? ", " : "",
                job->tensors[job->order[buffer->first + i]].name);
    fputs("]}", out);
}

/* From submission to agreement, cut into its causes. */
static void
add_use(LsSynthTruth *truth, const LsSynthJob *job, uint32_t rank, uint32_t tensor, int64_t last)
{
    const LsSynthUse *use = get_use(job, rank, tensor);
    const LsSynthCall *call = get_call(job, &job->buffers[job->buffer_of[tensor]], rank);
    TensorSum *sum = &truth->tensors[tensor];
    LsSynthSet rest = {0};
    int64_t behind, sleep;

    ls_synth_set_add(&rest, last, job->agreed_ns[tensor]);
    ls_synth_set_cut(&rest, &truth->execution, false, &truth->a);
    behind = ls_synth_set_get_length(&truth->a);
    ls_synth_set_cut(&rest, &truth->execution, true, &truth->a);
    ls_synth_set_cut(&truth->a, &truth->sleep, false, &truth->b);
    sleep = ls_synth_set_get_length(&truth->b);
    sum->uses++;
    sum->negotiation += job->agreed_ns[tensor] - use->submit_ns;
    sum->gate += use->gate_ns - use->submit_ns;
    sum->slowest_rank += last - use->gate_ns;
    sum->behind += behind;
    sum->sleep += sleep;
    sum->protocol += ls_synth_set_get_length(&rest) - behind - sleep;
    sum->queue += call->pack_start_ns - job->agreed_ns[tensor];
    sum->pack += call->start_ns - call->pack_start_ns;
    sum->operation += call->end_ns - call->start_ns;
    sum->unpack += call->unpack_end_ns - call->end_ns;
    truth->failed = truth->failed || rest.failed;
    free(rest.items);
}

static void
add_tensors(LsSynthTruth *truth, const LsSynthJob *job, uint32_t rank)
{
    int64_t limit = ls_synth_job_get_cut(job);
    for (uint32_t i = 0; i < job->options.tensors; i++) {
        int64_t last_gate = INT64_MIN, first = INT64_MAX, last = INT64_MIN;
        for (uint32_t r = 0; r < job->options.ranks; r++) {
            const LsSynthUse *use = get_use(job, r, i);
            last_gate = use->gate_ns > last_gate ? use->gate_ns : last_gate;
            first = use->submit_ns < first ? use->submit_ns : first;
            last = use->submit_ns > last ? use->submit_ns : last;
        }
        if (job->agreed_ns[i] >= limit)
            continue;
        add_use(truth, job, rank, i, last_gate);
        if (rank == 0) {
            truth->tensors[i].agreements++;
            truth->tensors[i].spread += last - first;
        }
    }
}

void
ls_synth_truth_add_step(LsSynthTruth *truth, const LsSynthJob *job)
{
    int64_t limit = ls_synth_job_get_cut(job);

    truth->sleep.n = 0;
    for (uint32_t c = 0; c < job->n_cycles; c++)
        ls_synth_set_add(&truth->sleep, job->cycles[c].end_ns, job->cycles[c].wake_ns);
    ls_synth_set_unite(&truth->sleep);
    find_negotiation(truth, job);
    for (uint32_t r = 0; r < job->options.ranks; r++) {
        if (limit == INT64_MAX)
            print_step(truth, job, r);
        else
            fprintf(truth->steps,
                    "%s\n  {\"step\": %u, \"rank\": %u, \"cut\": true, \"start_ns\": %" PRId64 "}",
                    job->step == 0 && r == 0 ? "" : ",", job->step, r, job->steps[r].start_ns);
        collect(truth, job, r);
        add_tensors(truth, job, r);
    }
    for (uint32_t b = 0; b < job->n_buffers; b++) {
        bool whole = true;
        for (uint32_t r = 0; r < job->options.ranks; r++)
            whole = whole && get_call(job, &job->buffers[b], r)->unpack_end_ns < limit;
        if (whole)
            print_buffer(truth, job, &job->buffers[b]);
    }
}

static void
print_tensor(FILE *out, const LsSynthTensor *tensor, const TensorSum *sum, uint32_t groups)
{
    int64_t n = sum->uses > 0 ? sum->uses : 1;
    int64_t agreements = sum->agreements > 0 ? sum->agreements : 1;
    fprintf(out,
            "{\"tensor\": \"%s\", \"bytes\": %" PRId64 ", \"count\": %" PRId64
            ", \"negotiation_ns\": %" PRId64 ", \"gate_ns\": %" PRId64
            ", \"slowest_rank_ns\": %" PRId64 ", \"behind_ns\": %" PRId64 ", \"sleep_ns\": %" PRId64
            ", \"protocol_ns\": %" PRId64 ", \"queue_ns\": %" PRId64 ", \"pack_ns\": %" PRId64
            ", \"operation_ns\": %" PRId64 ", \"unpack_ns\": %" PRId64 ", \"spread_ns\": %" PRId64,
            tensor->name, tensor->bytes, sum->agreements, sum->negotiation / n, sum->gate / n,
            sum->slowest_rank / n, sum->behind / n, sum->sleep / n, sum->protocol / n,
            sum->queue / n, sum->pack / n, sum->operation / n, sum->unpack / n,
            sum->spread / agreements);
    if (groups > 0)
        fprintf(out, ", \"group\": \"group%u\"}", tensor->group);
    else
        fputs(", \"group\": null}", out);
}

#define N_SETS 10

static void
get_sets(LsSynthTruth *truth, LsSynthSet *ret_sets[N_SETS])
{
    LsSynthSet *sets[N_SETS] = {
        &truth->compute, &truth->communication, &truth->io,    &truth->wait, &truth->negotiation,
        &truth->fusion,  &truth->execution,     &truth->sleep, &truth->a,    &truth->b,
    };
    memcpy(ret_sets, sets, sizeof sets);
}

LsSynthTruth *
ls_synth_truth_new(const LsSynthJob *job)
{
    LsSynthTruth *truth = calloc(1, sizeof *truth);
    if (truth == NULL)
        return NULL;
    truth->tensors = calloc(job->options.tensors, sizeof *truth->tensors);
    truth->steps = open_memstream(&truth->steps_text, &truth->steps_length);
    truth->collectives = open_memstream(&truth->collectives_text, &truth->collectives_length);
    if (truth->tensors != NULL && truth->steps != NULL && truth->collectives != NULL)
        return truth;
    ls_synth_truth_free(truth);
    return NULL;
}

bool
ls_synth_truth_print(LsSynthTruth *truth, const LsSynthJob *job, FILE *out)
{
    LsSynthSet *sets[N_SETS];

    get_sets(truth, sets);
    for (int i = 0; i < N_SETS; i++)
        truth->failed = truth->failed || sets[i]->failed;
    if (fflush(truth->steps) != 0 || fflush(truth->collectives) != 0 || truth->failed)
        return false;
    fprintf(out, "\"steps\": [%s],\n\"collectives\": [%s],\n\"tensors\": [", truth->steps_text,
            truth->collectives_text);
    for (uint32_t i = 0; i < job->options.tensors; i++) {
        fputs(i > 0 ? ",\n  " : "\n  ", out);
        print_tensor(out, &job->tensors[i], &truth->tensors[i], job->options.groups);
    }
    fputc(']', out);
    return true;
}

void
ls_synth_truth_free(LsSynthTruth *truth)
{
    LsSynthSet *sets[N_SETS];

    if (truth == NULL)
        return;
    get_sets(truth, sets);
    for (int i = 0; i < N_SETS; i++)
        free(sets[i]->items);
    if (truth->steps != NULL)
        fclose(truth->steps);
    if (truth->collectives != NULL)
        fclose(truth->collectives);
    free(truth->steps_text);
    free(truth->collectives_text);
    free(truth->tensors);
    free(truth);
}
