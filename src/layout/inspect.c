/* SPDX-License-Identifier: Apache-2.0
 *
 * What the inspector says of anything else than buffers and tensors, and the names of places
 * ("buffer:12") by which a command line selects what a pointer does in the window.
 */
#include "layout/inspect.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "layout/inspect-private.h"
#include "layout/tensors.h"

static void
clear_pair(void *data)
{
    LsInspectPair *pair = data;
    g_free(pair->key);
    g_free(pair->value);
}

static void
clear_arrival(void *data)
{
    g_free(((LsInspectArrival *)data)->label);
}

static void
clear_part(void *data)
{
    g_free(((LsInspectPart *)data)->label);
}

static void
clear_link(void *data)
{
    g_free(((LsInspectLink *)data)->label);
}

static GArray *
new_array(size_t size, GDestroyNotify clear)
{
    GArray *array = g_array_new(FALSE, FALSE, (guint)size);
    g_array_set_clear_func(array, clear);
    return array;
}

void
ls_inspect_free(LsInspect *inspect)
{
    if (!inspect)
        return;
    g_free(inspect->title);
    g_free(inspect->sentence);
    g_array_unref(inspect->pairs);
    g_array_unref(inspect->arrivals);
    g_array_unref(inspect->parts);
    g_array_unref(inspect->links);
    g_free(inspect);
}

void
ls_inspect_add_pair(LsInspect *inspect, const char *key, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    LsInspectPair pair = {g_strdup(key), g_strdup_vprintf(format, arguments)};
    va_end(arguments);
    g_array_append_val(inspect->pairs, pair);
}

static void
add_time(LsInspect *inspect, const char *key, int64_t ns)
{
    g_autofree char *text = ls_format_ns(ns);
    ls_inspect_add_pair(inspect, key, "%s", text);
}

void
ls_inspect_add_part(LsInspect *inspect, int64_t time_ns, LsRole role, LsForm form,
                    const char *format, ...)
{
    if (time_ns <= 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    LsInspectPart part = {g_strdup_vprintf(format, arguments), time_ns, 0, role, form};
    va_end(arguments);
    g_array_append_val(inspect->parts, part);
}

void
ls_inspect_add_link(LsInspect *inspect, LsInspectAction action, const char *label, size_t target)
{
    LsInspectLink link = {action, g_strdup(label), target};
    g_array_append_val(inspect->links, link);
}

void
ls_inspect_add_place(LsInspect *inspect, const LsModel *model, int64_t start_ns, int64_t end_ns)
{
    int step = ls_model_find_step_at(model, start_ns);
    int64_t zero = step >= 0 ? model->steps[step].start_ns : ls_trace_get_first_ns(model->trace);
    g_autofree char *at = ls_format_ns(start_ns - zero);
    if (step >= 0)
        ls_inspect_add_pair(inspect, "Start", "%s into step %" G_GINT64_FORMAT, at,
                            model->steps[step].number);
    else
        ls_inspect_add_pair(inspect, "Start", "%s", at);
    add_time(inspect, "Duration", end_ns - start_ns);
}

void
ls_inspect_add_overlap(LsInspect *inspect, const LsModel *model, uint32_t rank, int64_t start_ns,
                       int64_t end_ns)
{
    const LsRankModel *r = &model->rank[rank];
    int64_t length = end_ns - start_ns;
    if (!r->has_compute || length <= 0)
        return;
    int64_t compute = ls_busy_get_within(r->sets[LS_SET_COMPUTE], start_ns, end_ns);
    int64_t moving = ls_busy_get_within(r->sets[LS_SET_COMMUNICATION], start_ns, end_ns);
    ls_inspect_add_pair(inspect, "Meanwhile", "compute %.0f %%, communication %.0f %%",
                        100.0 * (double)compute / (double)length,
                        100.0 * (double)moving / (double)length);
}

static void
inspect_span(LsInspect *inspect, const LsModel *model, const LsPick *pick)
{
    static const char *const CLASSES[LS_N_CLASSES] = {
        [LS_CLASS_NONE] = "neither",
        [LS_CLASS_COMPUTE] = "compute",
        [LS_CLASS_COMMUNICATION] = "communication",
        [LS_CLASS_COPY] = "copy",
        [LS_CLASS_FUSION] = "packing",
        [LS_CLASS_IO] = "input or output",
        [LS_CLASS_NEGOTIATION] = "negotiation",
        [LS_CLASS_CONTROL] = "control",
    };
    const LsTrack *track = &model->tracks[pick->track];
    const LsSpans *lane = &track->lanes[pick->lane];
    size_t i = pick->index;
    inspect->title = g_strdup(ls_trace_get_string(model->trace, lane->name[i]));
    inspect->start_ns = lane->start_ns[i];
    inspect->end_ns = lane->end_ns[i];
    ls_inspect_add_pair(inspect, "Rank", "%s", ls_trace_get_rank_label(model->trace, track->rank));
    ls_inspect_add_pair(inspect, "Track", "%s", ls_trace_get_string(model->trace, track->name));
    if (lane->klass[i] < LS_N_CLASSES)
        ls_inspect_add_pair(inspect, "Counts as", "%s", CLASSES[lane->klass[i]]);
    ls_inspect_add_place(inspect, model, inspect->start_ns, inspect->end_ns);
    ls_inspect_add_overlap(inspect, model, track->rank, inspect->start_ns, inspect->end_ns);
}

static void
inspect_cycle(LsInspect *inspect, const LsModel *model, size_t index)
{
    const LsCycle *cycle = &model->cycles[index];
    inspect->title = g_strdup_printf("Cycle %" G_GINT64_FORMAT, cycle->number);
    inspect->start_ns = cycle->start_ns;
    inspect->end_ns = cycle->end_ns;
    ls_inspect_add_pair(inspect, "Rank", "%s", ls_trace_get_rank_label(model->trace, cycle->rank));
    ls_inspect_add_pair(inspect, "Control", "%s",
                        ls_trace_get_string(model->trace, cycle->control));
    ls_inspect_add_pair(inspect, "Requests", "%u", cycle->requests);
    ls_inspect_add_pair(inspect, "Responses", "%u", cycle->responses);
    ls_inspect_add_place(inspect, model, cycle->start_ns, cycle->end_ns);
    ls_inspect_add_part(inspect, cycle->drain_ns, LS_ROLE_CONTROL, LS_FORM_PLAIN, "drain");
    ls_inspect_add_part(inspect, cycle->exchange_ns, LS_ROLE_NEGOTIATION, LS_FORM_PLAIN,
                        "exchange");
    ls_inspect_add_part(inspect, cycle->parse_ns, LS_ROLE_CONTROL, LS_FORM_PLAIN, "parse");
    ls_inspect_add_part(inspect, cycle->build_ns, LS_ROLE_CONTROL, LS_FORM_PLAIN, "build");
}

static void
inspect_step(LsInspect *inspect, const LsModel *model, size_t index)
{
    const LsStepColumn *step = &model->steps[index];
    inspect->title = g_strdup_printf("Step %" G_GINT64_FORMAT, step->number);
    inspect->start_ns = step->start_ns;
    inspect->end_ns = step->end_ns;
    add_time(inspect, "Step time", step->step_ns);
    if (step->waited_for_ns == LS_TIME_NONE)
        ls_inspect_add_pair(inspect, "Waited for", "unknown: no compute and no arrivals recorded");
    else
        add_time(inspect, "Waited for", step->waited_for_ns);
    if (step->warmup || step->cut)
        ls_inspect_add_pair(inspect, "Left out", "%s",
                            step->cut ? "cut by the recording" : "warm-up");
    ls_inspect_add_place(inspect, model, step->start_ns, step->end_ns);
    ls_inspect_add_link(inspect, LS_ACT_GO_TO_STEP, "Go to it", index);
}

/* The sums of a rank over a range, as bars. */
static void
add_rank_parts(LsInspect *inspect, const LsModel *model, uint32_t rank)
{
    const LsRankModel *r = &model->rank[rank];
    int64_t a = inspect->start_ns, b = inspect->end_ns;
    if (!r->has_compute) {
        ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_COMMUNICATION], a, b),
                            LS_ROLE_COMMUNICATION, LS_FORM_PLAIN, "communication");
        ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_WAIT], a, b), LS_ROLE_WAIT,
                            LS_FORM_HATCHED, "waiting");
        inspect->sentence = g_strdup("No compute was recorded: what is exposed cannot be known.");
        return;
    }
    ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_COMPUTE], a, b), LS_ROLE_FORWARD,
                        LS_FORM_PLAIN, "compute");
    ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_HIDDEN], a, b),
                        LS_ROLE_BAND_HIDDEN, LS_FORM_PLAIN, "overlapped");
    ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_EXPOSED_WAIT], a, b),
                        LS_ROLE_WAIT, LS_FORM_HATCHED, "exposed wait");
    ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_TRANSFER], a, b),
                        LS_ROLE_COMMUNICATION, LS_FORM_STRONG, "transfer");
    ls_inspect_add_part(inspect, ls_busy_get_within(r->sets[LS_SET_NEGOTIATION], a, b),
                        LS_ROLE_NEGOTIATION, LS_FORM_PLAIN, "negotiation");
}

static void
inspect_rank(LsInspect *inspect, const LsModel *model, uint32_t rank, int step)
{
    static const char *const METHODS[] = {
        "the common clock", "same machine and boot", "round trips", "matched collectives",
        "wall clock",       "none: not placed",
    };
    const LsRank *r = &model->ranks[rank];
    inspect->start_ns = step >= 0 ? model->steps[step].start_ns : r->first_ns;
    inspect->end_ns = step >= 0 ? model->steps[step].end_ns : r->last_ns;
    inspect->title = g_strdup_printf("Rank %s", ls_trace_get_rank_label(model->trace, rank));
    if (step >= 0)
        ls_inspect_add_pair(inspect, "Step", "%" G_GINT64_FORMAT, model->steps[step].number);
    if (r->host)
        ls_inspect_add_pair(inspect, "Host", "%s", r->host);
    if (r->device)
        ls_inspect_add_pair(inspect, "Device", "%s", r->device);
    if ((size_t)r->clock_method < G_N_ELEMENTS(METHODS)) {
        g_autofree char *bound = ls_format_ns(r->clock_uncertainty_ns);
        ls_inspect_add_pair(inspect, "Clock", "%s, ± %s", METHODS[r->clock_method], bound);
    }
    ls_inspect_add_pair(inspect, "Records", "%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT " lost",
                        r->records, r->lost);
    LsRankNote note = ls_model_get_note(model, rank, inspect->start_ns, inspect->end_ns);
    if (note.buffers > 0)
        ls_inspect_add_pair(inspect, "Last", "in %u of %u buffers", note.last, note.buffers);
    add_rank_parts(inspect, model, rank);
    ls_inspect_add_link(inspect, LS_ACT_GO_TO_RANK, "Show its rows", rank);
    if (step >= 0)
        ls_inspect_add_link(inspect, LS_ACT_GO_TO_STEP, "Go to the step", (size_t)step);
}

static char *
format_sample(const LsCounter *counter, size_t index)
{
    const LsSample *sample = &counter->samples[index];
    return sample->valid ? ls_counter_format(counter, sample->value) : g_strdup("unknown");
}

static void
inspect_sample(LsInspect *inspect, const LsModel *model, const LsPick *pick)
{
    const LsCounter counter = ls_model_get_counter(model, pick->track, pick->lane);
    const LsSample *sample = &counter.samples[pick->index];
    g_autofree char *value = format_sample(&counter, pick->index);
    inspect->title = g_strdup(counter.name);
    inspect->start_ns = inspect->end_ns = sample->time_ns;
    if (pick->track == LS_NONE)
        ls_inspect_add_pair(inspect, "Of", "the whole run: the sum of its devices");
    else
        ls_inspect_add_pair(inspect, "Rank", "%s",
                            ls_trace_get_rank_label(model->trace, model->tracks[pick->track].rank));
    ls_inspect_add_pair(inspect, "Value", "%s", value);
    ls_inspect_add_place(inspect, model, sample->time_ns, sample->time_ns);
}

static void
scale_parts(LsInspect *inspect)
{
    int64_t most = 1;
    for (guint i = 0; i < inspect->parts->len; i++)
        most = MAX(most, g_array_index(inspect->parts, LsInspectPart, i).time_ns);
    for (guint i = 0; i < inspect->parts->len; i++) {
        LsInspectPart *part = &g_array_index(inspect->parts, LsInspectPart, i);
        part->length = (double)part->time_ns / (double)most;
    }
}

LsInspect *
ls_inspect_new(const LsModel *model, const LsPick *pick)
{
    if (pick->kind == LS_PICK_NONE)
        return NULL;
    LsInspect *inspect = g_new0(LsInspect, 1);
    inspect->pairs = new_array(sizeof(LsInspectPair), clear_pair);
    inspect->arrivals = new_array(sizeof(LsInspectArrival), clear_arrival);
    inspect->parts = new_array(sizeof(LsInspectPart), clear_part);
    inspect->links = new_array(sizeof(LsInspectLink), clear_link);
    switch (pick->kind) {
    case LS_PICK_NONE:
        break;
    case LS_PICK_RANK:
        inspect_rank(inspect, model, pick->rank, -1);
        break;
    case LS_PICK_SPAN:
        inspect_span(inspect, model, pick);
        break;
    case LS_PICK_CALL:
        ls_inspect_call(inspect, model, pick->index);
        break;
    case LS_PICK_USE:
        ls_inspect_use(inspect, model, pick->index);
        break;
    case LS_PICK_CYCLE:
        inspect_cycle(inspect, model, pick->index);
        break;
    case LS_PICK_STEP:
        inspect_step(inspect, model, pick->index);
        break;
    case LS_PICK_SAMPLE:
        inspect_sample(inspect, model, pick);
        break;
    case LS_PICK_CELL:
        inspect_rank(inspect, model, pick->rank, (int)pick->index);
        break;
    }
    scale_parts(inspect);
    ls_inspect_add_link(inspect, LS_ACT_SHOW, "Zoom to it", 0);
    ls_inspect_add_link(inspect, LS_ACT_COPY_PLACE, "Copy place", 0);
    return inspect;
}

char *
ls_inspect_format_line(const LsModel *model, const LsPick *pick)
{
    g_autoptr(LsInspect) inspect = ls_inspect_new(model, pick);
    if (!inspect)
        return NULL;
    if (pick->kind == LS_PICK_SAMPLE) {
        const LsCounter counter = ls_model_get_counter(model, pick->track, pick->lane);
        g_autofree char *value = format_sample(&counter, pick->index);
        return g_strdup_printf("%s%s %s", inspect->title,
                               pick->track == LS_NONE ? ", whole run:" : "", value);
    }
    g_autofree char *time = ls_format_ns(inspect->end_ns - inspect->start_ns);
    if (pick->kind == LS_PICK_CALL && model->calls[pick->index].bytes >= 0) {
        const LsCall *call = &model->calls[pick->index];
        g_autofree char *bytes = ls_format_bytes(call->bytes);
        g_autofree char *own = ls_format_ns(call->end_ns - call->start_ns);
        return g_strdup_printf("%s %s, %s", ls_trace_get_string(model->trace, call->name), own,
                               bytes);
    }
    return g_strdup_printf("%s %s", inspect->title, time);
}
