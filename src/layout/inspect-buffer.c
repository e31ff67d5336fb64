/* SPDX-License-Identifier: Apache-2.0
 *
 * The inspector of a buffer (one collective on all ranks) and of a tensor (one use on all ranks):
 * what it is, who arrived when, where its time went, and the sentence that follows from these.
 */
#include <stdlib.h>

#include "base/units.h"
#include "layout/inspect-private.h"
#include "layout/tensors.h"

enum { MAX_ARRIVALS = 64, FEW_RANKS = 16, ALLREDUCE = 0 };

/* When one rank was there. */
typedef struct Arrived {
    uint32_t rank;
    int64_t time_ns;
} Arrived;

static int
compare_times(const void *a, const void *b)
{
    const Arrived *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int
compare_ranks(const void *a, const void *b)
{
    const Arrived *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The strip per rank; of very many ranks the earliest and the latest. `last`: index of the last in
 * order of time, or -1: no one rank was. */
static void
add_arrivals(LsInspect *inspect, const LsModel *model, Arrived *arrived, size_t n, int last)
{
    qsort(arrived, n, sizeof *arrived, compare_times);
    int64_t first_ns = arrived[0].time_ns, spread = MAX(arrived[n - 1].time_ns - first_ns, 1);
    uint32_t last_rank = last >= 0 ? arrived[last].rank : LS_NONE;
    size_t kept = n;
    if (n > MAX_ARRIVALS) {
        for (size_t i = 0; i < MAX_ARRIVALS / 2; i++)
            arrived[MAX_ARRIVALS / 2 + i] = arrived[n - MAX_ARRIVALS / 2 + i];
        kept = MAX_ARRIVALS;
    }
    if (n <= FEW_RANKS)
        qsort(arrived, n, sizeof *arrived, compare_ranks);
    for (size_t i = 0; i < kept; i++) {
        LsInspectArrival row = {
            .label = g_strdup(ls_trace_get_rank_label(model->trace, arrived[i].rank)),
            .late_ns = arrived[i].time_ns - first_ns,
            .at = (double)(arrived[i].time_ns - first_ns) / (double)spread,
            .last = arrived[i].rank == last_rank,
        };
        g_array_append_val(inspect->arrivals, row);
    }
}

/* The last in order of time, -1 where the second came within the uncertainty of both clocks, or a
 * clock is not placed. */
static int
find_last(const LsModel *model, Arrived *arrived, size_t n)
{
    if (n < 2)
        return -1;
    qsort(arrived, n, sizeof *arrived, compare_times);
    for (size_t i = 0; i < n; i++)
        if (model->ranks[arrived[i].rank].clock_method == LS_CLOCK_NONE)
            return -1;
    const Arrived *a = &arrived[n - 1], *b = &arrived[n - 2];
    int64_t doubt =
        model->ranks[a->rank].clock_uncertainty_ns + model->ranks[b->rank].clock_uncertainty_ns;
    return a->time_ns - b->time_ns > doubt ? (int)n - 1 : -1;
}

/* "layer3.0.down and 2 more" */
static void
add_tensors(LsInspect *inspect, const LsModel *model, size_t call)
{
    size_t n;
    const uint32_t *uses = ls_model_get_call_uses(model, call, &n);
    if (n == 0) {
        if (model->calls[call].tensors > 0)
            ls_inspect_add_pair(inspect, "Tensors", "%u", model->calls[call].tensors);
        return;
    }
    const char *first = ls_trace_get_string(model->trace, model->uses[uses[0]].tensor);
    if (n == 1)
        ls_inspect_add_pair(inspect, "Tensor", "%s", first);
    else
        ls_inspect_add_pair(inspect, "Tensors", "%zu: %s and %zu more", n, first, n - 1);
    if (model->uses[uses[0]].group != LS_NONE)
        ls_inspect_add_pair(inspect, "Group", "%s",
                            ls_trace_get_string(model->trace, model->uses[uses[0]].group));
}

static void
add_bytes(LsInspect *inspect, int64_t bytes)
{
    g_autofree char *text = bytes < 0 ? NULL : ls_format_bytes(bytes);
    if (text)
        ls_inspect_add_pair(inspect, "Bytes", "%s", text);
}

/* The rank's own tensor that was submitted last: the one the others waited for. */
static const char *
find_last_tensor(const LsModel *model, size_t call)
{
    size_t n;
    const uint32_t *uses = ls_model_get_call_uses(model, call, &n);
    const LsUse *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const LsUse *use = &model->uses[uses[i]];
        if (use->submit_ns != LS_TIME_NONE && (!last || use->submit_ns > last->submit_ns))
            last = use;
    }
    return last ? ls_trace_get_string(model->trace, last->tensor) : NULL;
}

/* All of a buffer that its sentence and its bars need. */
typedef struct Buffer {
    const LsArrival *arrivals;
    size_t n;
    int last;
    int64_t first_ns, last_ns, agreed_ns, start_ns, end_ns;
} Buffer;

static Buffer
read_buffer(const LsModel *model, size_t call)
{
    const LsCall *own = &model->calls[call];
    Buffer b = {.last = -1,
                .first_ns = INT64_MAX,
                .last_ns = LS_TIME_NONE,
                .agreed_ns = LS_TIME_NONE,
                .start_ns = own->start_ns,
                .end_ns = own->end_ns};
    size_t n_uses;
    const uint32_t *uses = ls_model_get_call_uses(model, call, &n_uses);
    for (size_t i = 0; i < n_uses; i++)
        b.agreed_ns = MAX(b.agreed_ns, model->uses[uses[i]].agreed_ns);
    if (own->buffer < model->n_buffers) {
        b.arrivals = ls_activity_get_arrivals(model->activity, own->buffer, &b.n);
        b.last = ls_activity_get_last(model->activity, own->buffer);
    }
    bool aligned = b.n > 0;
    for (size_t i = 0; i < b.n; i++) {
        b.first_ns = MIN(b.first_ns, b.arrivals[i].arrival_ns);
        b.last_ns = MAX(b.last_ns, b.arrivals[i].arrival_ns);
        aligned &= !model->rank[b.arrivals[i].rank].greyed;
    }
    if (!aligned) {
        b.first_ns = model->call[call].arrival_ns;
        b.last_ns = model->call[call].wait_end_ns;
    }
    return b;
}

static int64_t
get_transfer(const Buffer *b)
{
    return b->end_ns - CLAMP(b->last_ns, b->start_ns, b->end_ns);
}

static void
add_buffer_parts(LsInspect *inspect, const LsModel *model, size_t call, const Buffer *b)
{
    const LsCall *own = &model->calls[call];
    if (b->last_ns != LS_TIME_NONE && b->last_ns > b->first_ns) {
        if (b->last >= 0 && b->n > 1)
            ls_inspect_add_part(inspect, b->last_ns - b->first_ns, LS_ROLE_WAIT, LS_FORM_HATCHED,
                                "wait for %s",
                                ls_trace_get_rank_name(model->trace, b->arrivals[b->last].rank));
        else
            ls_inspect_add_part(inspect, b->last_ns - b->first_ns, LS_ROLE_WAIT, LS_FORM_HATCHED,
                                "wait");
    }
    int64_t ready = own->pack_start_ns != LS_TIME_NONE ? own->pack_start_ns : own->start_ns;
    if (b->agreed_ns != LS_TIME_NONE && b->last_ns != LS_TIME_NONE) {
        ls_inspect_add_part(inspect, b->agreed_ns - b->last_ns, LS_ROLE_NEGOTIATION, LS_FORM_PLAIN,
                            "negotiation");
        ls_inspect_add_part(inspect, ready - b->agreed_ns, LS_ROLE_CONTROL, LS_FORM_PLAIN, "queue");
    }
    if (own->pack_start_ns != LS_TIME_NONE)
        ls_inspect_add_part(inspect, own->pack_end_ns - own->pack_start_ns, LS_ROLE_COPY,
                            LS_FORM_PLAIN, "pack");
    ls_inspect_add_part(inspect, get_transfer(b), LS_ROLE_COMMUNICATION, LS_FORM_STRONG,
                        "transfer");
    if (own->unpack_start_ns != LS_TIME_NONE)
        ls_inspect_add_part(inspect, own->unpack_end_ns - own->unpack_start_ns, LS_ROLE_COPY,
                            LS_FORM_PLAIN, "unpack");
}

static void
add_rate(GString *sentence, const LsModel *model, size_t call, const Buffer *b)
{
    const LsCall *own = &model->calls[call];
    int64_t transfer = get_transfer(b);
    g_autofree char *time = ls_format_ns(transfer);
    if (own->open) {
        g_string_append(sentence, "It had not ended when the recording did.");
        return;
    }
    if (transfer <= 0)
        return;
    g_string_append_printf(sentence, "Moving the bytes took %s", time);
    if (own->operation == ALLREDUCE && own->device_timed && own->bytes > 0 && b->n > 1) {
        double factor = 2.0 * (double)(b->n - 1) / (double)b->n;
        g_autofree char *rate =
            ls_format_rate((double)own->bytes * factor / ((double)transfer / 1e9));
        g_string_append_printf(sentence, ": %s on the bus", rate);
    }
    g_string_append(sentence, ".");
}

static void
say_buffer(LsInspect *inspect, const LsModel *model, size_t call, const Buffer *b)
{
    g_autoptr(GString) sentence = g_string_new(NULL);
    if (b->n > 1 && b->last >= 0) {
        const LsArrival *last = &b->arrivals[b->last];
        g_autofree char *wait = ls_format_ns(b->last_ns - b->first_ns);
        const char *tensor = last->from_submission ? find_last_tensor(model, last->call) : NULL;
        g_string_append_printf(sentence, "The other ranks waited up to %s for rank %s, which ",
                               wait, ls_trace_get_rank_label(model->trace, last->rank));
        if (tensor)
            g_string_append_printf(sentence, "submitted %s %s after the first. ", tensor, wait);
        else
            g_string_append_printf(sentence, "came %s after the first. ", wait);
    } else if (b->n > 1) {
        g_string_append(sentence,
                        "No one rank was last: the two latest came within what the clocks "
                        "can tell. ");
    }
    add_rate(sentence, model, call, b);
    if (sentence->len > 0)
        inspect->sentence = g_string_free(g_steal_pointer(&sentence), FALSE);
}

void
ls_inspect_call(LsInspect *inspect, const LsModel *model, size_t call)
{
    const LsCall *own = &model->calls[call];
    Buffer b = read_buffer(model, call);
    int step = ls_model_find_step_at(model, own->start_ns);
    g_autoptr(GString) title = g_string_new(NULL);
    if (own->buffer != LS_NONE)
        g_string_append_printf(title, "Buffer %u", own->buffer);
    else
        g_string_append(title, ls_trace_get_string(model->trace, own->name));
    if (step >= 0)
        g_string_append_printf(title, " of step %" G_GINT64_FORMAT, model->steps[step].number);
    inspect->title = g_string_free(g_steal_pointer(&title), FALSE);
    inspect->start_ns = MIN(own->start_ns, b.n > 0 ? b.first_ns : own->start_ns);
    inspect->end_ns = own->end_ns;
    ls_inspect_add_pair(inspect, "Operation", "%s", ls_trace_get_string(model->trace, own->name));
    add_tensors(inspect, model, call);
    add_bytes(inspect, own->bytes);
    ls_inspect_add_pair(inspect, "Rank", "%s", ls_trace_get_rank_label(model->trace, own->rank));
    if (own->buffer < model->n_buffers)
        ls_inspect_add_pair(inspect, "Ranks", "%zu of %u%s", b.n,
                            model->buffers[own->buffer].ranks_expected,
                            model->buffers[own->buffer].pairing_exact ? "" : ", paired by time");
    ls_inspect_add_place(inspect, model, own->start_ns, own->end_ns);
    ls_inspect_add_overlap(inspect, model, own->rank, own->start_ns, own->end_ns);
    if (b.n > 1) {
        g_autofree Arrived *arrived = g_new(Arrived, b.n);
        for (size_t i = 0; i < b.n; i++)
            arrived[i] = (Arrived){b.arrivals[i].rank, b.arrivals[i].arrival_ns};
        add_arrivals(inspect, model, arrived, b.n, b.last >= 0 ? (int)b.n - 1 : -1);
    }
    add_buffer_parts(inspect, model, call, &b);
    say_buffer(inspect, model, call, &b);
    if (b.last >= 0 && b.n > 1) {
        uint32_t rank = b.arrivals[b.last].rank;
        g_autofree char *label =
            g_strdup_printf("Go to %s", ls_trace_get_rank_name(model->trace, rank));
        ls_inspect_add_link(inspect, LS_ACT_GO_TO_RANK, label, rank);
    }
}

static void
add_use_parts(LsInspect *inspect, const LsModel *model, const LsUse *use, int64_t last_ns,
              int last_rank)
{
    const LsCall *call = use->call < model->n_calls ? &model->calls[use->call] : NULL;
    int64_t submit = use->submit_ns, gate = use->gate_ns, agreed = use->agreed_ns;
    int64_t from = submit;
    if (submit != LS_TIME_NONE && gate != LS_TIME_NONE && gate > submit) {
        ls_inspect_add_part(inspect, gate - submit, LS_ROLE_CONTROL, LS_FORM_PLAIN, "gate");
        from = gate;
    }
    if (from != LS_TIME_NONE && agreed != LS_TIME_NONE) {
        int64_t waited = last_ns == LS_TIME_NONE ? from : CLAMP(last_ns, from, agreed);
        if (last_rank >= 0)
            ls_inspect_add_part(inspect, waited - from, LS_ROLE_WAIT, LS_FORM_HATCHED,
                                "wait for rank %d", last_rank);
        else
            ls_inspect_add_part(inspect, waited - from, LS_ROLE_WAIT, LS_FORM_HATCHED, "wait");
        ls_inspect_add_part(inspect, agreed - waited, LS_ROLE_NEGOTIATION, LS_FORM_PLAIN,
                            "negotiation");
    }
    if (!call)
        return;
    if (agreed != LS_TIME_NONE)
        ls_inspect_add_part(inspect, call->start_ns - agreed, LS_ROLE_COPY, LS_FORM_PLAIN,
                            "queue, pack");
    ls_inspect_add_part(inspect, call->end_ns - call->start_ns, LS_ROLE_COMMUNICATION,
                        LS_FORM_STRONG, "operation");
    if (use->done_ns != LS_TIME_NONE)
        ls_inspect_add_part(inspect, use->done_ns - call->end_ns, LS_ROLE_COPY, LS_FORM_PLAIN,
                            "unpack, done");
}

/* Submissions of all ranks; returns how many are known. */
static size_t
read_submissions(const LsModel *model, const LsUse *use, Arrived **ret_arrived)
{
    size_t n, known = 0;
    const uint32_t *same = ls_model_get_occurrence(model, use, &n);
    Arrived *arrived = g_new(Arrived, MAX(n, 1));
    for (size_t i = 0; i < n; i++)
        if (model->uses[same[i]].submit_ns != LS_TIME_NONE)
            arrived[known++] = (Arrived){model->uses[same[i]].rank, model->uses[same[i]].submit_ns};
    *ret_arrived = arrived;
    return known;
}

void
ls_inspect_use(LsInspect *inspect, const LsModel *model, size_t index)
{
    const LsUse *use = &model->uses[index];
    g_autofree Arrived *arrived = NULL;
    size_t n = read_submissions(model, use, &arrived);
    int last = find_last(model, arrived, n);
    int last_rank = last < 0 ? -1 : model->ranks[arrived[last].rank].rank;
    int64_t last_ns = n > 1 ? arrived[n - 1].time_ns : LS_TIME_NONE;
    int64_t spread = n > 1 ? last_ns - arrived[0].time_ns : 0;
    inspect->title = g_strdup(ls_trace_get_string(model->trace, use->tensor));
    inspect->start_ns = ls_use_get_first_ns(model, use);
    inspect->end_ns = ls_use_get_last_ns(model, use);
    ls_inspect_add_pair(inspect, "Use", "%u on rank %s", use->occurrence,
                        ls_trace_get_rank_label(model->trace, use->rank));
    add_bytes(inspect, use->bytes);
    if (use->group != LS_NONE)
        ls_inspect_add_pair(inspect, "Group", "%s", ls_trace_get_string(model->trace, use->group));
    if (use->call < model->n_calls) {
        const LsCall *call = &model->calls[use->call];
        ls_inspect_add_pair(inspect, "Operation", "%s",
                            ls_trace_get_string(model->trace, call->name));
        if (call->buffer != LS_NONE)
            ls_inspect_add_pair(inspect, "Buffer", "%u, %u tensor%s", call->buffer, call->tensors,
                                call->tensors == 1 ? "" : "s");
    }
    ls_inspect_add_place(inspect, model, inspect->start_ns, inspect->end_ns);
    if (n > 1)
        add_arrivals(inspect, model, arrived, n, last);
    add_use_parts(inspect, model, use, last_ns, last_rank);
    g_autofree char *late = ls_format_ns(spread);
    if (last_rank >= 0)
        inspect->sentence =
            g_strdup_printf("Rank %d submitted it last, %s after the first.", last_rank, late);
    else if (n <= 1)
        inspect->sentence = g_strdup("When the other ranks submitted it was not recorded.");
    ls_inspect_add_link(inspect, LS_ACT_LIFE_LINE, "Next use", index);
}
