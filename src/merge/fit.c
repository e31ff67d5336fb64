/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/fit.c: all straight lines that pass a row of gates, and from them a map with its bound.
 *
 * Two even clocks differ by a straight line, offset(t) = a + b (t - t0). A gate at t is two
 * half-planes of (a, b); what all gates leave is a convex polygon, and the offset at any time lies
 * between the least and the greatest of its corners (Duda, Harrus, Haddad, Bernard: Estimating
 * Global Time in Distributed Systems, ICDCS 1987). So the bound is no guess: it holds as long as
 * the clocks are even. They are not for ever, hence windows: a few seconds each, gates widened by
 * what a clock's rate may wander meanwhile, halved where no line passes. Where two windows meet,
 * both tell the offset.
 *
 * Corners are doubles: they are differences from a nearby first guess, not times.
 */
#include "merge/fit.h"

#include "base/error.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CORNERS_MAX    64     /* of the polygon; more only makes it coarser, never smaller */
#define DRIFT_MAX      500e-6 /* |b| */
#define OFFSET_MAX_NS  1e12   /* |a| around the first guess */
#define WANDER         1e-6   /* change of rate within a window */
#define WINDOW_NS      INT64_C(2000000000)
#define WINDOW_GATES   16  /* a window holds at least so many gates */
#define WINDOW_NARROW  4   /* and so many of the narrowest twentieth of all */
#define RESERVE        1.5 /* of a bound, for what two windows cannot see of a change of rate */
#define NARROW_PART    20
#define SMALL_GATES    8 /* and is not halved below these */
#define SMALL_NS       INT64_C(200000000)
#define KNOTS_APART_NS INT64_C(20000000) /* nearer ones would turn a bound into a slope */

typedef struct Corner {
    double a, b;
} Corner;

typedef struct Polygon {
    size_t n;
    Corner corners[CORNERS_MAX];
} Polygon;

/* A window: its gates, and the lines that pass them. */
typedef struct Window {
    size_t first, n; /* gates */
    Polygon lines;
    double widen; /* how much the gates were widened */
    double floor; /* the bound is not said to be less */
    double lift;  /* of the guesses above the middle of the band, median */
    bool has_lift;
} Window;

typedef struct Fit {
    LsGate *gates;
    size_t n;
    int64_t origin_ns, guess_ns; /* t0, and what corners are relative to */
    GArray *windows;
    size_t contradictions;
} Fit;

/* Keeps the part where sign * (a + b dt) <= sign * limit. False, and nothing changed, if there is
 * none. */
static bool
clip(Polygon *polygon, double dt, double limit, double sign)
{
    Polygon result = {0};

    for (size_t i = 0; i < polygon->n; i++) {
        Corner p = polygon->corners[i], q = polygon->corners[(i + 1) % polygon->n];
        double over_p = sign * (p.a + p.b * dt - limit), over_q = sign * (q.a + q.b * dt - limit);

        if (result.n + 2 > CORNERS_MAX)
            return true;
        if (over_p <= 0)
            result.corners[result.n++] = p;
        if ((over_p < 0 && over_q > 0) || (over_p > 0 && over_q < 0)) {
            double part = over_p / (over_p - over_q);

            result.corners[result.n++] =
                (Corner){p.a + part * (q.a - p.a), p.b + part * (q.b - p.b)};
        }
    }
    if (result.n == 0)
        return false;
    *polygon = result;
    return true;
}

static bool
pass_gate(const Fit *fit, Polygon *polygon, const LsGate *gate, double widen)
{
    Polygon narrowed = *polygon;
    double dt = (double)(gate->at_ns - fit->origin_ns);

    if (gate->low_ns > LS_GATE_OPEN_LOW &&
        !clip(&narrowed, dt, (double)(gate->low_ns - fit->guess_ns) - widen, -1))
        return false;
    if (gate->high_ns < LS_GATE_OPEN_HIGH &&
        !clip(&narrowed, dt, (double)(gate->high_ns - fit->guess_ns) + widen, 1))
        return false;
    *polygon = narrowed;
    return true;
}

static void
get_range(const Fit *fit, const Polygon *polygon, int64_t at_ns, double *ret_low, double *ret_high)
{
    double dt = (double)(at_ns - fit->origin_ns), low = INFINITY, high = -INFINITY;

    for (size_t i = 0; i < polygon->n; i++) {
        double offset = polygon->corners[i].a + polygon->corners[i].b * dt;

        low = MIN(low, offset);
        high = MAX(high, offset);
    }
    *ret_low = low;
    *ret_high = high;
}

static int
compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int
compare_width(const void *a, const void *b, void *user)
{
    const LsGate *gates = ((const Fit *)user)->gates;
    const LsGate *x = &gates[*(const size_t *)a], *y = &gates[*(const size_t *)b];
    int64_t wide_x = x->high_ns - x->low_ns, wide_y = y->high_ns - y->low_ns;

    return wide_x < wide_y ? -1 : wide_x > wide_y;
}

/* How far the guesses lie from the middle of the band; a median, since some are bad. */
static void
lift_window(const Fit *fit, Window *window)
{
    g_autofree double *lifts = g_new(double, window->n);
    size_t n = 0;

    for (size_t i = 0; i < window->n; i++) {
        const LsGate *gate = &fit->gates[window->first + i];
        double low, high;

        if (gate->guess_ns == LS_GATE_NO_GUESS)
            continue;
        get_range(fit, &window->lines, gate->at_ns, &low, &high);
        lifts[n++] = (double)(gate->guess_ns - fit->guess_ns) - (low + high) / 2;
    }
    window->has_lift = n >= 3;
    if (!window->has_lift)
        return;
    qsort(lifts, n, sizeof *lifts, compare_double);
    window->lift = lifts[n / 2];
}

/* Many gates can leave a hair of a band. That is then a claim about how even the clocks are, no
 * more about readings: a bound is not less than the half-width of the best reading. */
static double
get_floor(const LsGate *narrowest)
{
    if (narrowest->low_ns <= LS_GATE_OPEN_LOW || narrowest->high_ns >= LS_GATE_OPEN_HIGH)
        return 0;
    return (double)(narrowest->high_ns - narrowest->low_ns) / 2;
}

/* Adds the window, or its halves where no line passes it: there the rate changes, and each half
 * allows for four times the change that was not enough. */
static void
add_window(Fit *fit, size_t first, size_t n, double wander)
{
    int64_t length_ns = fit->gates[first + n - 1].at_ns - fit->gates[first].at_ns;
    double widen = wander * (double)length_ns / 2;
    bool small = n <= SMALL_GATES || length_ns <= SMALL_NS;
    g_autofree size_t *order = g_new(size_t, n);
    Window window = {.first = first, .n = n, .widen = widen};
    Corner box[] = {{-OFFSET_MAX_NS, -DRIFT_MAX},
                    {OFFSET_MAX_NS, -DRIFT_MAX},
                    {OFFSET_MAX_NS, DRIFT_MAX},
                    {-OFFSET_MAX_NS, DRIFT_MAX}};

    window.lines.n = G_N_ELEMENTS(box);
    memcpy(window.lines.corners, box, sizeof box);
    for (size_t i = 0; i < n; i++)
        order[i] = first + i;
    g_qsort_with_data(order, (gint)n, sizeof *order, compare_width, fit);
    for (size_t i = 0; i < n; i++) {
        if (pass_gate(fit, &window.lines, &fit->gates[order[i]], widen))
            continue;
        if (!small) {
            add_window(fit, first, n / 2, wander * 4);
            add_window(fit, first + n / 2, n - n / 2, wander * 4);
            return;
        }
        fit->contradictions++;
    }
    window.floor = get_floor(&fit->gates[order[0]]);
    lift_window(fit, &window);
    g_array_append_val(fit->windows, window);
}

/* Width of the narrowest twentieth: on a busy machine only few trips are fast, and a window without
 * any would tell little. */
static int64_t
find_narrow(Fit *fit)
{
    g_autofree size_t *order = g_new(size_t, fit->n);
    const LsGate *gate;

    for (size_t i = 0; i < fit->n; i++)
        order[i] = i;
    g_qsort_with_data(order, (gint)fit->n, sizeof *order, compare_width, fit);
    gate = &fit->gates[order[fit->n / NARROW_PART]];
    return gate->high_ns - gate->low_ns;
}

static void
cut_windows(Fit *fit)
{
    int64_t narrow_ns = find_narrow(fit);
    size_t first = 0, rest = 0; /* rest: narrow ones in all of what is left */

    for (size_t i = 0; i < fit->n; i++)
        rest += fit->gates[i].high_ns - fit->gates[i].low_ns <= narrow_ns;
    while (first < fit->n) {
        size_t end = first, narrow = 0;

        while (end < fit->n && (end - first < WINDOW_GATES || narrow < WINDOW_NARROW ||
                                fit->gates[end].at_ns - fit->gates[first].at_ns < WINDOW_NS)) {
            narrow += fit->gates[end].high_ns - fit->gates[end].low_ns <= narrow_ns;
            end++;
        }
        rest -= narrow;
        /* A rest too small for a window of its own belongs to this one. */
        if (fit->n - end < WINDOW_GATES || rest < WINDOW_NARROW)
            end = fit->n;
        add_window(fit, first, end - first, WANDER);
        first = end;
    }
}

static double
get_centre(const Fit *fit, const Window *window, int64_t at_ns)
{
    double low, high;

    get_range(fit, &window->lines, at_ns, &low, &high);
    return (low + high) / 2 + (window->has_lift ? window->lift : 0);
}

/* How far the truth may have left a window's lines when its rate changed in it, so late or so early
 * that all gates were still passed: the windows' slopes then contradict each other. */
static double
get_bend(const Fit *fit, const Window *left, const Window *right)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, length_ns = 0;
    const Window *windows[] = {left, right};

    for (int i = 0; i < 2; i++) {
        const LsGate *gates = fit->gates + windows[i]->first;

        length_ns = MAX(length_ns, (double)(gates[windows[i]->n - 1].at_ns - gates[0].at_ns));
        for (size_t k = 0; k < windows[i]->lines.n; k++) {
            low[i] = MIN(low[i], windows[i]->lines.corners[k].b);
            high[i] = MAX(high[i], windows[i]->lines.corners[k].b);
        }
    }
    return MAX(0, MAX(low[0] - high[1], low[1] - high[0])) * length_ns / 2;
}

/* The knot at a time that one or two windows know of. Where they do not agree the truth may be with
 * either. Between knots the map is straight; a clock whose rate changes meanwhile leaves the line
 * by half of what the gates were widened for. */
static LsKnot
make_knot(const Fit *fit, int64_t at_ns, const Window *left, const Window *right)
{
    double low, high, low_right, high_right;
    double centre = (get_centre(fit, left, at_ns) + get_centre(fit, right, at_ns)) / 2;
    double off;
    int64_t offset_ns;

    get_range(fit, &left->lines, at_ns, &low, &high);
    get_range(fit, &right->lines, at_ns, &low_right, &high_right);
    if (MAX(low, low_right) <= MIN(high, high_right)) {
        low = MAX(low, low_right);
        high = MIN(high, high_right);
    } else {
        low = MIN(low, low_right);
        high = MAX(high, high_right);
    }
    if (!left->has_lift && !right->has_lift)
        centre = (low + high) / 2;
    centre = CLAMP(centre, low, high);
    offset_ns = fit->guess_ns + llround(centre);
    off = MAX(MAX(high - centre, centre - low), MAX(left->floor, right->floor)) +
          MAX(left->widen, right->widen) / 2 + get_bend(fit, left, right);
    return (LsKnot){at_ns, at_ns + offset_ns, (int64_t)ceil(MIN(off * RESERVE, OFFSET_MAX_NS)) + 1};
}

static LsClockmap *
make_map(const Fit *fit, int64_t first_ns, int64_t last_ns, GError **error)
{
    const Window *windows = (const Window *)(void *)fit->windows->data;
    size_t n = fit->windows->len;
    g_autofree LsKnot *knots = g_new(LsKnot, n + 1);
    size_t kept = 0;

    for (size_t i = 0; i <= n; i++) {
        const Window *left = &windows[i > 0 ? i - 1 : 0], *right = &windows[i < n ? i : n - 1];
        int64_t at_ns = first_ns;

        if (i == n)
            at_ns = last_ns;
        else if (i > 0)
            at_ns = fit->gates[right->first].at_ns;
        if (kept > 0 && at_ns - knots[kept - 1].local_ns < KNOTS_APART_NS) {
            if (i < n)
                continue;
            kept -= kept > 1;
        }
        knots[kept] = make_knot(fit, at_ns, left, right);
        if ((double)knots[kept].bound_ns > OFFSET_MAX_NS / 4) {
            g_set_error_literal(error, LS_ERROR, LS_ERROR_UNALIGNED,
                                "What is known bounds the difference of the clocks from one side "
                                "only.");
            return NULL;
        }
        kept++;
    }
    return ls_clockmap_new(knots, kept, error);
}

static int
compare_gates(const void *a, const void *b)
{
    int64_t x = ((const LsGate *)a)->at_ns, y = ((const LsGate *)b)->at_ns;

    return x < y ? -1 : x > y;
}

/* Near the truth, so that corners are small numbers: from the narrowest of what is known. */
static int64_t
guess_offset(const LsGate *gates, size_t n)
{
    int64_t low_ns = LS_GATE_OPEN_LOW, high_ns = LS_GATE_OPEN_HIGH;

    for (size_t i = 0; i < n; i++)
        if (gates[i].high_ns - gates[i].low_ns < high_ns - low_ns) {
            low_ns = gates[i].low_ns;
            high_ns = gates[i].high_ns;
        }
    if (low_ns > LS_GATE_OPEN_LOW && high_ns < LS_GATE_OPEN_HIGH)
        return low_ns + (high_ns - low_ns) / 2;
    return low_ns > LS_GATE_OPEN_LOW ? low_ns : high_ns;
}

LsClockmap *
ls_fit_gates(LsGate *gates, size_t n_gates, int64_t first_ns, int64_t last_ns,
             size_t *ret_contradictions, GError **error)
{
    Fit fit = {.gates = gates, .n = n_gates};
    LsClockmap *map;

    if (n_gates == 0)
        return ls_clockmap_new(NULL, 0, error);
    qsort(gates, n_gates, sizeof *gates, compare_gates);
    fit.origin_ns = gates[n_gates / 2].at_ns;
    fit.guess_ns = guess_offset(gates, n_gates);
    fit.windows = g_array_new(FALSE, FALSE, sizeof(Window));
    cut_windows(&fit);
    map = make_map(&fit, MIN(first_ns, gates[0].at_ns), MAX(last_ns, gates[n_gates - 1].at_ns + 1),
                   error);
    if (map != NULL)
        *ret_contradictions = fit.contradictions;
    g_array_unref(fit.windows);
    return map;
}
