/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/power.c: table `power`: watts and joules by component, over the whole recording and over
 * windows of it.
 *
 * A component's power is a counter in watts, its energy one in joules that counts up. Mean power is
 * the integral over valid samples, each pair joined by a line, divided by the time they cover; a
 * pair that is further apart than a sensor's pause is a gap and not covered. Energy is the
 * counter's difference where there is one, else that integral, and only in windows of 5 s or more:
 * a sensor that sees a quarter of the time is right on average only (metrics.md, "Energy"). The
 * rows without a rank are the run: sums over ranks, a device that several ranks share counted once.
 */
#include "analysis/scope.h"
#include "analysis/table-private.h"

#include <math.h>
#include <string.h>

#define SECOND    INT64_C(1000000000)
#define WINDOW_NS (5 * SECOND)
#define GAP       10 /* typical pauses */

enum { RANK, COMPONENT, START, WINDOW, MEAN, MOST, ENERGY, SAMPLES, INVALID };

static const LsColumn columns[] = {
    [RANK] = {"rank", LS_COLUMN_INT},        [COMPONENT] = {"component", LS_COLUMN_TEXT},
    [START] = {"start_ns", LS_COLUMN_INT},   [WINDOW] = {"window_ns", LS_COLUMN_INT},
    [MEAN] = {"watts_mean", LS_COLUMN_REAL}, [MOST] = {"watts_max", LS_COLUMN_REAL},
    [ENERGY] = {"energy_j", LS_COLUMN_REAL}, [SAMPLES] = {"samples", LS_COLUMN_INT},
    [INVALID] = {"invalid", LS_COLUMN_INT},
};

/* What a window of one sensor comes to. */
typedef struct Sum {
    double joules, watts_max, energy; /* energy: NAN where it is not known */
    int64_t covered_ns;
    int64_t samples, invalid;
} Sum;

/* One sensor of power and the counter of energy beside it, if there is one. */
typedef struct Sensor {
    const LsTrack *power, *energy;
    const char *component;
    int64_t pause_ns;
} Sensor;

/* "gpu power", "cpu energy package-0": what stands before the quantity; "gpu power average" is not
 * a component of its own. */
static const char *
get_component(const LsTrace *trace, const LsTrack *track, const char *quantity)
{
    static const char *const components[] = {"gpu", "cpu", "memory", "node", "hwmon"};
    const char *name = ls_trace_get_string(trace, track->name);

    for (size_t i = 0; i < G_N_ELEMENTS(components); i++) {
        size_t length = strlen(components[i]);

        if (strncmp(name, components[i], length) == 0 && name[length] == ' ' &&
            g_str_has_prefix(name + length + 1, quantity) && strstr(name, "average") == NULL)
            return components[i];
    }
    return NULL;
}

static int
compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t
find_pause(const LsTrack *track)
{
    g_autofree int64_t *pauses = g_new(int64_t, track->n_samples + 1);
    size_t n = 0;

    for (size_t i = 1; i < track->n_samples; i++)
        pauses[n++] = track->samples[i].time_ns - track->samples[i - 1].time_ns;
    if (n == 0)
        return 0;
    qsort(pauses, n, sizeof *pauses, compare_ns);
    return pauses[n / 2];
}

/* The counter at a time, on the line between its neighbours; NAN outside. */
static double
read_at(const LsTrack *track, int64_t time_ns)
{
    const LsSample *before = NULL;

    for (size_t i = 0; i < track->n_samples; i++) {
        const LsSample *sample = &track->samples[i];

        if (!sample->valid)
            continue;
        if (sample->time_ns >= time_ns) {
            if (before == NULL)
                return sample->time_ns == time_ns ? sample->value : (double)NAN;
            return before->value + (sample->value - before->value) *
                                       (double)(time_ns - before->time_ns) /
                                       (double)(sample->time_ns - before->time_ns);
        }
        before = sample;
    }
    return (double)NAN;
}

/* Adds the part of the line from a to b that lies in [start, end). */
static void
add_line(Sum *sum, const LsSample *a, const LsSample *b, int64_t start_ns, int64_t end_ns)
{
    int64_t from = MAX(a->time_ns, start_ns), to = MIN(b->time_ns, end_ns);
    double length = (double)(b->time_ns - a->time_ns), slope;

    if (to <= from)
        return;
    slope = (b->value - a->value) / length;
    /* A window's ends lie between samples: the line has its greatest value at one of its own. */
    sum->watts_max = MAX(sum->watts_max, a->value + slope * (double)(from - a->time_ns));
    sum->watts_max = MAX(sum->watts_max, a->value + slope * (double)(to - a->time_ns));
    sum->joules +=
        (a->value + slope * ((double)(from - a->time_ns) + (double)(to - a->time_ns)) / 2) *
        (double)(to - from) / (double)SECOND;
    sum->covered_ns += to - from;
}

static Sum
sum_window(const Sensor *sensor, int64_t start_ns, int64_t end_ns)
{
    Sum sum = {.watts_max = (double)-INFINITY, .energy = (double)NAN};
    const LsSample *before = NULL;

    for (size_t i = 0; i < sensor->power->n_samples; i++) {
        const LsSample *sample = &sensor->power->samples[i];
        bool is_inside = sample->time_ns >= start_ns && sample->time_ns <= end_ns;

        sum.samples += is_inside && sample->valid;
        sum.invalid += is_inside && !sample->valid;
        if (!sample->valid)
            continue;
        if (is_inside)
            sum.watts_max = MAX(sum.watts_max, sample->value);
        if (before != NULL && sample->time_ns - before->time_ns <= GAP * sensor->pause_ns)
            add_line(&sum, before, sample, start_ns, end_ns);
        before = sample;
    }
    if (end_ns - start_ns >= WINDOW_NS) {
        if (sensor->energy != NULL)
            sum.energy = read_at(sensor->energy, end_ns) - read_at(sensor->energy, start_ns);
        if (isnan(sum.energy) && sum.covered_ns * 10 >= (end_ns - start_ns) * 9)
            sum.energy = sum.joules;
    }
    return sum;
}

static void
add_row(LsTable *table, int64_t rank, const char *component, int64_t start_ns, int64_t end_ns,
        const Sum *sum)
{
    ls_table_add_row(table);
    set_count(table, RANK, rank, 0);
    ls_table_set_text(table, COMPONENT, component);
    ls_table_set_int(table, START, start_ns);
    ls_table_set_int(table, WINDOW, end_ns - start_ns);
    ls_table_set_int(table, SAMPLES, sum->samples);
    ls_table_set_int(table, INVALID, sum->invalid);
    if (sum->covered_ns > 0)
        ls_table_set_real(table, MEAN, sum->joules * (double)SECOND / (double)sum->covered_ns);
    if (sum->samples > 0 || sum->covered_ns > 0)
        ls_table_set_real(table, MOST, sum->watts_max);
    if (!isnan(sum->energy))
        ls_table_set_real(table, ENERGY, sum->energy);
}

/* The energy counter of the same rank and component. */
static const LsTrack *
find_energy(const LsTrace *trace, const LsTrack *power, const char *component)
{
    size_t n;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n);

    for (size_t i = 0; i < n; i++) {
        const char *other;

        if (tracks[i].kind != LS_TRACK_COUNTER || tracks[i].rank != power->rank ||
            tracks[i].id != power->id)
            continue;
        other = get_component(trace, &tracks[i], "energy");
        if (other != NULL && strcmp(other, component) == 0)
            return &tracks[i];
    }
    return NULL;
}

/* Sensors of power in watts, of the ranks shown, each device of a host once. */
static GArray *
find_sensors(const LsAnalysisInput *input)
{
    GArray *sensors = g_array_new(FALSE, FALSE, sizeof(Sensor));
    size_t n, n_ranks;
    const LsTrack *tracks = ls_trace_get_tracks(input->trace, &n);

    ls_trace_get_ranks(input->trace, &n_ranks);
    for (size_t i = 0; i < n; i++) {
        const LsTrack *track = &tracks[i];
        Sensor sensor = {.power = track};

        if (track->kind != LS_TRACK_COUNTER || track->n_samples < 2 || track->rank >= n_ranks ||
            (input->rank_shown != NULL && !input->rank_shown[track->rank]))
            continue;
        sensor.component = get_component(input->trace, track, "power");
        if (sensor.component == NULL)
            continue;
        sensor.energy = find_energy(input->trace, track, sensor.component);
        sensor.pause_ns = find_pause(track);
        g_array_append_val(sensors, sensor);
    }
    return sensors;
}

static void
add_sensor(LsTable *table, const Sensor *sensor, int64_t rank)
{
    const LsTrack *power = sensor->power;
    int64_t first = power->samples[0].time_ns, last = power->samples[power->n_samples - 1].time_ns;
    Sum sum = sum_window(sensor, first, last);

    add_row(table, rank, sensor->component, first, last, &sum);
    if (last - first < 2 * WINDOW_NS)
        return;
    for (int64_t start = first; start + WINDOW_NS <= last; start += WINDOW_NS) {
        sum = sum_window(sensor, start, start + WINDOW_NS);
        add_row(table, rank, sensor->component, start, start + WINDOW_NS, &sum);
    }
}

/* Whether an earlier sensor is the same device: same host, component, number. */
static bool
is_again(const GArray *sensors, guint index, const LsRank *ranks)
{
    const Sensor *sensor = &g_array_index(sensors, Sensor, index);

    for (guint i = 0; i < index; i++) {
        const Sensor *other = &g_array_index(sensors, Sensor, i);

        if (strcmp(sensor->component, other->component) == 0 &&
            sensor->power->id == other->power->id && sensor->power->name == other->power->name &&
            g_strcmp0(ranks[sensor->power->rank].host, ranks[other->power->rank].host) == 0)
            return true;
    }
    return false;
}

/* One row for each component: the time that all its sensors cover. */
static void
add_run(LsTable *table, const GArray *sensors, const LsRank *ranks)
{
    static const char *const components[] = {"gpu", "cpu", "memory", "node"};

    for (size_t c = 0; c < G_N_ELEMENTS(components); c++) {
        int64_t first = INT64_MIN, last = INT64_MAX;
        Sum all = {0};
        double watts = 0;
        bool is_any = false;

        for (guint i = 0; i < sensors->len; i++) {
            const LsTrack *power = g_array_index(sensors, Sensor, i).power;

            if (strcmp(g_array_index(sensors, Sensor, i).component, components[c]) != 0)
                continue;
            is_any = true;
            first = MAX(first, power->samples[0].time_ns);
            last = MIN(last, power->samples[power->n_samples - 1].time_ns);
        }
        if (!is_any || last <= first)
            continue;
        for (guint i = 0; i < sensors->len; i++) {
            const Sensor *sensor = &g_array_index(sensors, Sensor, i);
            Sum sum;

            if (strcmp(sensor->component, components[c]) != 0 || is_again(sensors, i, ranks))
                continue;
            sum = sum_window(sensor, first, last);
            watts += sum.covered_ns > 0 ? sum.joules * (double)SECOND / (double)sum.covered_ns : 0;
            all.watts_max +=
                isinf(sum.watts_max) ? 0 : sum.watts_max; /* a bound: peaks need not meet */
            all.energy += sum.energy;
            all.samples += sum.samples;
            all.invalid += sum.invalid;
        }
        all.covered_ns = last - first;
        all.joules = watts * (double)(last - first) / (double)SECOND;
        add_row(table, -1, components[c], first, last, &all);
    }
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("power", columns, G_N_ELEMENTS(columns));
    g_autoptr(GArray) sensors = find_sensors(input);
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(input->trace, &n_ranks);

    add_run(table, sensors, ranks);
    for (guint i = 0; i < sensors->len; i++) {
        const Sensor *sensor = &g_array_index(sensors, Sensor, i);

        add_sensor(table, sensor, ranks[sensor->power->rank].rank);
    }
    return table;
}

const LsAnalysis ls_analysis_power = {
    "power", "watts and joules by component: of the run, of each rank, in windows of 5 s", run};
