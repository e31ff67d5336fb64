/* SPDX-License-Identifier: Apache-2.0
 *
 * A scene of the pair whose every moment is known (tests/unit/index/test-activity.c), a nanosecond
 * a pixel: where things stand, in which form, and that a hit leads back.
 */
#include "index/warmup.h"
#include "layout/hit.h"
#include "layout/inspect.h"
#include "layout/scene.h"
#include "layout/tensors.h"
#include "tests/unit/sample-trace.h"

typedef struct Pair {
    LsTrace *trace;
    LsActivity *activity;
    LsModel *model;
    LsView view;
    LsScene *scene;
} Pair;

static void
make_pair(Pair *pair, LsViewMode mode)
{
    pair->trace = sample_late_pair();
    pair->activity = ls_activity_new(pair->trace);
    pair->model = ls_model_new(pair->trace, pair->activity);
    ls_view_init(&pair->view, pair->model, 1000, 600, 1);
    ls_view_set_mode(&pair->view, pair->model, mode);
    pair->view.fold = LS_FOLD_OPEN;
    ls_view_show(&pair->view, 0, 1000, 0);
    pair->scene = ls_scene_new(pair->model);
    ls_scene_update(pair->scene, &pair->view);
}

static void
clear_pair(Pair *pair)
{
    ls_scene_free(pair->scene);
    ls_view_clear(&pair->view);
    ls_model_free(pair->model);
    ls_activity_free(pair->activity);
    ls_trace_unref(pair->trace);
}

static const LsRow *
find_row(const LsScene *scene, uint32_t rank, LsRowKind kind)
{
    for (size_t i = 0; i < ls_scene_get_n_rows(scene); i++) {
        const LsRow *row = ls_scene_get_row(scene, i);
        if (row->rank == rank && row->kind == kind)
            return row;
    }
    g_assert_not_reached();
}

/* Whether the row has an item of this role, form and place. */
static bool
has_item(const LsScene *scene, const LsRow *row, LsRole role, LsForm form, uint16_t x0, uint16_t x1)
{
    for (size_t i = 0; i < row->n_items; i++) {
        const LsItem *item = &g_array_index(scene->items, LsItem, row->first_item + i);
        if (item->role == role && item->form == form && item->x0 == x0 && item->x1 == x1)
            return true;
    }
    return false;
}

static void
test_form(void)
{
    Pair pair;
    make_pair(&pair, LS_VIEW_RANKS);
    const LsRow *row = find_row(pair.scene, 0, LS_ROW_COMMUNICATION);
    /* Rank 0 arrives at 400 and 500, rank 1 at 600 and 700; compute ends at 500. */
    g_assert_true(has_item(pair.scene, row, LS_ROLE_WAIT, LS_FORM_HATCHED, 400, 700));
    g_assert_true(has_item(pair.scene, row, LS_ROLE_WAIT, LS_FORM_HATCHED, 500, 700));
    g_assert_true(has_item(pair.scene, row, LS_ROLE_COMMUNICATION, LS_FORM_STRONG, 620, 680));
    g_assert_true(has_item(pair.scene, row, LS_ROLE_COMMUNICATION, LS_FORM_STRONG, 740, 840));
    /* Rank 1 computes until 700: the first call is hidden, the second exposed; it waits for nobody.
     */
    row = find_row(pair.scene, 1, LS_ROW_COMMUNICATION);
    g_assert_true(has_item(pair.scene, row, LS_ROLE_COMMUNICATION, LS_FORM_PLAIN, 620, 684));
    g_assert_true(has_item(pair.scene, row, LS_ROLE_COMMUNICATION, LS_FORM_STRONG, 740, 840));
    for (size_t i = 0; i < row->n_items; i++)
        g_assert_cmpint(g_array_index(pair.scene->items, LsItem, row->first_item + i).role, !=,
                        LS_ROLE_WAIT);
    clear_pair(&pair);
}

static void
test_note(void)
{
    Pair pair;
    make_pair(&pair, LS_VIEW_RANKS);
    const LsRow *waits = find_row(pair.scene, 0, LS_ROW_RANK);
    const LsRow *last = find_row(pair.scene, 1, LS_ROW_RANK);
    g_assert_cmpstr(waits->note, ==, "waits 200 ns");
    g_assert_false(waits->alarm);
    g_assert_cmpstr(last->note, ==, "last in 2 of 2");
    g_assert_true(last->alarm);
    clear_pair(&pair);
}

/* Every pixel of every item that stands for a row of a table leads back to a span there at that
 * time. */
static void
check_hits(const Pair *pair)
{
    size_t checked = 0;
    for (size_t r = 0; r < ls_scene_get_n_rows(pair->scene); r++) {
        const LsRow *row = ls_scene_get_row(pair->scene, r);
        double y = row->y - pair->scene->view.scroll_y + row->height / 2;
        for (size_t i = 0; i < row->n_items; i++) {
            const LsItem *item = &g_array_index(pair->scene->items, LsItem, row->first_item + i);
            LsPick pick = ls_hit_find(pair->scene, (item->x0 + item->x1) / 2.0, y);
            g_assert_cmpuint(pick.rank, ==, row->rank);
            if (item->ref_kind == LS_PICK_NONE || pick.kind == LS_PICK_NONE)
                continue;
            g_autoptr(LsInspect) inspect = ls_inspect_new(pair->model, &pick);
            g_assert_cmpint(inspect->start_ns, <=, pick.time_ns);
            g_assert_cmpint(inspect->end_ns, >=, pick.time_ns);
            checked++;
        }
    }
    g_assert_cmpuint(checked, >, 6);
}

static void
test_hits(void)
{
    for (int mode = LS_VIEW_RANKS; mode <= LS_VIEW_TENSORS; mode++) {
        Pair pair;
        make_pair(&pair, (LsViewMode)mode);
        check_hits(&pair);
        clear_pair(&pair);
    }
}

static void
test_hit_call(void)
{
    Pair pair;
    make_pair(&pair, LS_VIEW_RANKS);
    size_t n;
    const LsCall *calls = ls_trace_get_calls(pair.trace, &n);
    const LsRow *row = find_row(pair.scene, 0, LS_ROW_COMMUNICATION);
    LsPick pick = ls_hit_find(pair.scene, 650, row->y + 10);
    g_assert_cmpint(pick.kind, ==, LS_PICK_CALL);
    g_assert_cmpint(calls[pick.index].start_ns, ==, 620);
    /* A wait leads to the call that was waited for. */
    pick = ls_hit_find(pair.scene, 450, row->y + 10);
    g_assert_cmpint(pick.kind, ==, LS_PICK_CALL);
    g_assert_cmpint(calls[pick.index].start_ns, ==, 620);
    LsPick next = ls_hit_step(pair.model, &pick, 1);
    g_assert_cmpint(calls[next.index].start_ns, ==, 740);
    g_assert_cmpint(ls_hit_step(pair.model, &next, 1).kind, ==, LS_PICK_NONE);
    clear_pair(&pair);
}

static void
test_inspect(void)
{
    Pair pair;
    LsPick pick;
    make_pair(&pair, LS_VIEW_RANKS);
    g_assert_true(ls_inspect_find(pair.model, "buffer:0", 0, &pick, NULL));
    g_autoptr(LsInspect) inspect = ls_inspect_new(pair.model, &pick);
    g_assert_cmpuint(inspect->arrivals->len, ==, 2);
    g_assert_cmpint(g_array_index(inspect->arrivals, LsInspectArrival, 1).late_ns, ==, 200);
    g_assert_true(g_array_index(inspect->arrivals, LsInspectArrival, 1).last);
    const LsInspectPart *part = &g_array_index(inspect->parts, LsInspectPart, 0);
    g_assert_cmpstr(part->label, ==, "wait for rank 1");
    g_assert_cmpint(part->time_ns, ==, 200);
    g_autoptr(GError) error = NULL;
    g_assert_false(ls_inspect_find(pair.model, "buffer:99", 0, &pick, &error));
    g_assert_cmpstr(error->message, ==, "There is no buffer 99 in this recording.");
    clear_pair(&pair);
}

static void
test_tensors(void)
{
    Pair pair;
    make_pair(&pair, LS_VIEW_TENSORS);
    const LsRow *row = find_row(pair.scene, 0, LS_ROW_TENSOR);
    g_assert_cmpstr(row->label, ==, "a");
    g_assert_true(has_item(pair.scene, row, LS_ROLE_WAIT, LS_FORM_HATCHED, 400, 600));
    g_assert_cmpuint(pair.scene->pills->len, ==, 4);
    const LsPill *last = &g_array_index(pair.scene->pills, LsPill, 1);
    g_assert_cmpstr(ls_scene_get_text(pair.scene, last->text), ==, "1");
    g_assert_true(last->last);
    g_assert_cmpfloat(last->x, ==, 600);
    clear_pair(&pair);
}

static void
test_zoom(void)
{
    Pair pair;
    make_pair(&pair, LS_VIEW_RANKS);
    int64_t under = ls_view_time_at(&pair.view, 300);
    ls_view_zoom(&pair.view, pair.model, 0.5, 300);
    g_assert_cmpint(ABS(ls_view_time_at(&pair.view, 300) - under), <=, 1);
    g_assert_cmpint(pair.view.end_ns - pair.view.start_ns, ==, 500);
    for (int i = 0; i < 100; i++)
        ls_view_zoom(&pair.view, pair.model, 0.5, 300);
    g_assert_cmpint(pair.view.end_ns - pair.view.start_ns, ==, 100);
    for (int i = 0; i < 100; i++)
        ls_view_pan(&pair.view, pair.model, 1000);
    g_assert_cmpint(pair.view.start_ns, <, ls_trace_get_last_ns(pair.trace));
    clear_pair(&pair);
}

/* Steps of 100 but one of 150, a slower first one that is warm-up, and a slower last one that is
 * cut. */
static void
test_start_view(void)
{
    static const int64_t LENGTHS[] = {900, 100, 101, 150, 99, 100, 102, 100, 100, 400};
    LsProcess *process = sample_process(0, 1, "host");
    int64_t at = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(LENGTHS); i++) {
        sample_step(process, (int64_t)i, at, at + LENGTHS[i]);
        sample_phase(process, "forward", at, at + LENGTHS[i] / 2, 0);
        at += LENGTHS[i];
    }
    g_array_index(process->steps, LsStep, 9).cut = true;
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    LsView view;
    ls_view_init(&view, model, 1000, 600, 1);
    g_assert_cmpint(ls_model_find_slowest_step(model), ==, 3);
    g_assert_cmpint(view.step, ==, 3);
    g_assert_cmpint(view.start_ns, <=, 1101);
    g_assert_cmpint(view.end_ns, >=, 1251);
    ls_view_clear(&view);
    ls_model_free(model);
    ls_activity_free(activity);
}

/* A second step that makes its communicator: usual in its time, but the report's rule takes it as
 * warm-up, and so does the picture. */
static void
test_same_warmup(void)
{
    static const int64_t LENGTHS[] = {900, 105, 100, 104, 101, 103, 102, 104, 100, 102};
    LsProcess *process = sample_process(0, 1, "host");
    int64_t at = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(LENGTHS); i++) {
        sample_step(process, (int64_t)i, at, at + LENGTHS[i]);
        if (i == 1)
            sample_call(process, 0, 8, at + 10, at + 20);
        at += LENGTHS[i];
    }
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    size_t n, n_states;
    g_autofree LsStepState *states = ls_warmup_find(trace, &n_states);
    const LsStepColumn *steps = ls_model_get_steps(model, &n);
    g_assert_cmpuint(n, ==, n_states);
    for (size_t i = 0; i < n; i++) {
        g_assert_cmpint(states[i].warmup, ==, i < 2);
        g_assert_cmpint(steps[i].warmup, ==, i < 2);
    }
    g_assert_cmpint(steps[ls_model_find_slowest_step(model)].step_ns, ==, 104);
    ls_model_free(model);
    ls_activity_free(activity);
}

/* As many tensors as do not fit with more than a line each: the lines share the room that there is,
 * and grow until all are named. */
static void
test_tensor_lines_grow(void)
{
    LsProcess *process = sample_process(0, 1, "host");
    sample_step(process, 0, 0, 1000);
    for (int i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf("tensor %d", i);
        sample_use(process, name, 0, LS_NONE, 10 * i, 900);
    }
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    static const double ROOM[] = {300, 450, 560};
    for (size_t i = 0; i < G_N_ELEMENTS(ROOM); i++) {
        LsScene *scene = ls_scene_new(model);
        LsView view;
        ls_view_init(&view, model, 1000, ROOM[i], 1);
        ls_view_set_mode(&view, model, LS_VIEW_TENSORS);
        ls_scene_update(scene, &view);
        double height = find_row(scene, 0, LS_ROW_TENSOR)->height;
        g_assert_cmpint(view.fold, ==, LS_FOLD_BAND);
        g_assert_cmpfloat(height, >=, i == 0 ? 8 : i == 1 ? 10 : 13);
        g_assert_true(i == 0 || scene->content_height <= ROOM[i]);
        ls_view_clear(&view);
        ls_scene_free(scene);
    }
    ls_model_free(model);
    ls_activity_free(activity);
}

/* Two runs in one folder use the same names and numbers: nothing is paired between them. */
static void
test_two_runs(void)
{
    LsProcess *processes[4];
    for (int i = 0; i < 4; i++) {
        int run = i / 2, rank = i % 2;
        int64_t at = 10000 * run;
        LsProcess *process = processes[i] = sample_process(rank, 2, "host");
        process->rank.run = (uint32_t)run;
        process->rank.incarnation = run;
        sample_step(process, 3, at, at + 1000 - 100 * run);
        uint32_t call = sample_call(process, run, 8, at + 700, at + 740);
        sample_use(process, "a", 0, call, at + 100 * (rank + 1), at + 690);
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 4, 2);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    size_t n, n_ranks, n_uses;
    const LsStepColumn *steps = ls_model_get_steps(model, &n);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpint(steps[0].step_ns, ==, 1000);
    g_assert_cmpint(steps[1].step_ns, ==, 900);
    g_assert_cmpint(ls_model_find_step(model, 3), ==, 0);
    g_assert_cmpint(ls_model_find_column(model, steps[1].column), ==, 1);
    for (size_t i = 0; i < n_uses; i++) {
        const uint32_t *same = ls_model_get_occurrence(model, &uses[i], &n);
        g_assert_cmpuint(n, ==, 2);
        for (size_t k = 0; k < n; k++)
            g_assert_cmpuint(ranks[uses[same[k]].rank].run, ==, ranks[uses[i].rank].run);
    }
    ls_model_free(model);
    ls_activity_free(activity);
}

/* Two ranks read their power in turns, and a third has the device of the first: the row above all
 * ranks is the sum of two, from when both are known to when the first of them ends, with a gap
 * where a reading failed. */
static void
test_run_power(void)
{
    static const LsSample FIRST[] = {
        {0, 100, true}, {20, 200, true}, {40, 0, false}, {60, 100, true}};
    static const LsSample SECOND[] = {{10, 300, true}, {30, 100, true}, {50, 300, true}};
    LsProcess *processes[3];
    for (int r = 0; r < 3; r++) {
        processes[r] = sample_process(r, 3, r == 1 ? "other" : "host");
        sample_phase(processes[r], "forward", 0, 100, 0);
        LsTrackBuilder *track =
            ls_process_get_track(processes[r], LS_TRACK_COUNTER, "gpu power", "W", 0);
        for (size_t i = 0; i < (r == 1 ? G_N_ELEMENTS(SECOND) : G_N_ELEMENTS(FIRST)); i++) {
            const LsSample *s = r == 1 ? &SECOND[i] : &FIRST[i];
            ls_track_builder_add_sample(track, s->time_ns, s->value, s->valid);
        }
    }
    g_autoptr(LsTrace) trace = sample_freeze(processes, 3, 3);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    LsScene *scene = ls_scene_new(model);
    LsView view;
    ls_view_init(&view, model, 100, 600, 1);
    ls_view_set_mode(&view, model, LS_VIEW_RANKS);
    ls_view_show(&view, 0, 100, 0);
    ls_scene_update(scene, &view);
    const LsRow *row = find_row(scene, LS_NONE, LS_ROW_COUNTER);
    g_assert_true(row == ls_scene_get_row(scene, 0));
    g_assert_cmpstr(row->label, ==, "gpu power, whole run");
    static const struct {
        float x, level; /* of 500 W */
        bool gap;
    } TRUTH[] = {{10, 0.8f, true}, {20, 1, false}, {30, 0.6f, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(TRUTH); i++) {
        const LsPoint *point = &g_array_index(scene->points, LsPoint, i);
        g_assert_cmpuint(point->row, ==, 0);
        g_assert_cmpfloat_with_epsilon(point->x, TRUTH[i].x, 1e-3);
        g_assert_cmpfloat_with_epsilon(point->high, TRUTH[i].level, 1e-3);
        g_assert_cmpint(point->gap, ==, TRUTH[i].gap);
    }
    g_assert_cmpuint(g_array_index(scene->points, LsPoint, 3).row, !=, 0);
    LsPick pick = ls_hit_find(scene, 20, row->y + 5);
    g_autofree char *line = ls_inspect_format_line(model, &pick);
    g_assert_cmpstr(line, ==, "gpu power, whole run: 500 W");
    pick = ls_hit_step(model, &pick, 1);
    g_autofree char *next = ls_inspect_format_line(model, &pick);
    g_assert_cmpstr(next, ==, "gpu power, whole run: 300 W");
    /* What the height of the line means stands beside each. */
    g_assert_cmpstr(row->note, ==, "0 to 500 W");
    g_assert_cmpstr(find_row(scene, 1, LS_ROW_COUNTER)->note, ==, "0 to 300 W");
    pick = ls_hit_find(scene, 49, find_row(scene, 1, LS_ROW_COUNTER)->y + 5);
    g_autofree char *own = ls_inspect_format_line(model, &pick);
    g_assert_cmpstr(own, ==, "gpu power 300 W");
    ls_view_clear(&view);
    ls_scene_free(scene);
    ls_model_free(model);
    ls_activity_free(activity);
}

/* Groups of one layer bear its name before their own; of several layers what these have in common,
 * and nothing where that is nothing. */
static void
test_group_labels(void)
{
    static const struct {
        const char *tensor, *group;
    } USES[] = {{"layer1.0.bn1.weight", "group 7"},  {"layer1.0.bn1.bias", "group 7"},
                {"layer2.0.conv.weight", "group 8"}, {"layer2.1.conv.weight", "group 8"},
                {"layer3.conv", "group 9"},          {"fc.bias", "group 9"}};
    static const char *const LABELS[] = {"layer1.0.bn1 · group 7", "layer2 · group 8", "group 9"};
    LsProcess *process = sample_process(0, 1, "host");
    sample_step(process, 0, 0, 1000);
    for (size_t i = 0; i < G_N_ELEMENTS(USES); i++) {
        sample_use(process, USES[i].tensor, 0, LS_NONE, 100 + (int64_t)i, 300);
        sample_last_use(process)->group = ls_strings_add(process->strings, USES[i].group);
    }
    g_autoptr(LsTrace) trace = sample_freeze(&process, 1, 1);
    LsActivity *activity = ls_activity_new(trace);
    LsModel *model = ls_model_new(trace, activity);
    LsScene *scene = ls_scene_new(model);
    LsView view;
    size_t found = 0;
    ls_view_init(&view, model, 600, 600, 1);
    ls_view_set_mode(&view, model, LS_VIEW_TENSORS);
    ls_scene_update(scene, &view);
    for (size_t i = 0; i < ls_scene_get_n_rows(scene); i++)
        if (ls_scene_get_row(scene, i)->kind == LS_ROW_GROUP) {
            g_assert_cmpuint(found, <, G_N_ELEMENTS(LABELS));
            g_assert_cmpstr(ls_scene_get_row(scene, i)->label, ==, LABELS[found++]);
        }
    g_assert_cmpuint(found, ==, G_N_ELEMENTS(LABELS));
    ls_view_clear(&view);
    ls_scene_free(scene);
    ls_model_free(model);
    ls_activity_free(activity);
}

/* Nothing at all, at random zooms of random traces: no crash, and items in their rows. */
static void
test_random(void)
{
    for (uint32_t seed = 0; seed < 20; seed++) {
        g_autoptr(LsTrace) trace = sample_random(seed);
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        LsActivity *activity = ls_activity_new(trace);
        LsModel *model = ls_model_new(trace, activity);
        LsScene *scene = ls_scene_new(model);
        LsView view;
        ls_view_init(&view, model, 300, 200, 1 + (int)seed % 3);
        for (int round = 0; round < 40; round++) {
            ls_view_set_mode(&view, model, (LsViewMode)g_rand_int_range(random, 0, 3));
            ls_view_zoom(&view, model, g_rand_double_range(random, 0.2, 3), 150);
            ls_view_pan(&view, model, g_rand_double_range(random, -300, 300));
            ls_scene_update(scene, &view);
            for (int k = 0; k < 20; k++) {
                LsPick pick = ls_hit_find(scene, g_rand_double_range(random, 0, 300),
                                          g_rand_double_range(random, 0, 200));
                g_autofree char *line = ls_inspect_format_line(model, &pick);
                g_assert_cmpint(line == NULL, ==, pick.kind == LS_PICK_NONE);
            }
        }
        ls_view_clear(&view);
        ls_scene_free(scene);
        ls_model_free(model);
        ls_activity_free(activity);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/layout/items/form-says-what-costs", test_form);
    g_test_add_func("/layout/rows/note-names-wait-or-last", test_note);
    g_test_add_func("/layout/hit/leads-back-to-what-is-drawn", test_hits);
    g_test_add_func("/layout/hit/a-wait-leads-to-its-call", test_hit_call);
    g_test_add_func("/layout/inspect/buffer-says-who-came-when", test_inspect);
    g_test_add_func("/layout/tensors/readiness-of-every-rank", test_tensors);
    g_test_add_func("/layout/view/zoom-keeps-what-is-under-the-pointer", test_zoom);
    g_test_add_func("/layout/view/starts-at-the-slowest-steady-step", test_start_view);
    g_test_add_func("/layout/steps/warm-up-is-that-of-the-report", test_same_warmup);
    g_test_add_func("/layout/view/lines-of-tensors-grow-into-the-room", test_tensor_lines_grow);
    g_test_add_func("/layout/model/two-runs-are-not-paired", test_two_runs);
    g_test_add_func("/layout/rows/a-group-bears-its-layer's-name", test_group_labels);
    g_test_add_func("/layout/power/the-run's-is-the-sum-of-its-devices", test_run_power);
    g_test_add_func("/layout/scene/random-traces-and-views", test_random);
    return g_test_run();
}
