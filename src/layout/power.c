/* SPDX-License-Identifier: Apache-2.0
 *
 * Power of the whole run: for each kind of sensor ("gpu power") the sum over its devices at every
 * time at which one of them was read, each at its latest reading, while all of them have one. Ranks
 * that share a device count it once.
 */
#include "layout/model-private.h"

#include <stdlib.h>
#include <string.h>

typedef struct Reading {
    int64_t time_ns;
    double watts;
    uint32_t device;
    bool valid, last;
} Reading;

bool
ls_model_is_power(const LsModel *model, size_t track)
{
    const LsTrack *t = &model->tracks[track];
    return t->kind == LS_TRACK_COUNTER && t->n_samples > 0 &&
           strcmp(ls_trace_get_string(model->trace, t->category), "W") == 0 &&
           g_str_has_suffix(ls_trace_get_string(model->trace, t->name), " power");
}

/* Whether a track before this one reads the same device. */
static bool
is_again(const LsModel *model, const GArray *tracks, const LsTrack *track)
{
    for (guint i = 0; i < tracks->len; i++) {
        const LsTrack *other = g_array_index(tracks, const LsTrack *, i);
        if (other->id == track->id &&
            g_strcmp0(model->ranks[other->rank].host, model->ranks[track->rank].host) == 0)
            return true;
    }
    return false;
}

static int
compare_readings(const void *a, const void *b)
{
    const Reading *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static GArray *
gather_readings(const GArray *tracks)
{
    GArray *readings = g_array_new(FALSE, FALSE, sizeof(Reading));
    for (guint d = 0; d < tracks->len; d++) {
        const LsTrack *track = g_array_index(tracks, const LsTrack *, d);
        for (size_t i = 0; i < track->n_samples; i++) {
            const LsSample *sample = &track->samples[i];
            Reading reading = {sample->time_ns, sample->value, d, sample->valid,
                               i + 1 == track->n_samples};
            g_array_append_val(readings, reading);
        }
    }
    g_array_sort(readings, compare_readings);
    return readings;
}

/* Readings one after another; readings of one time make one sample. */
static GArray *
sum_readings(const GArray *readings, guint n_devices)
{
    GArray *samples = g_array_new(FALSE, FALSE, sizeof(LsSample));
    g_autofree double *watts = g_new0(double, n_devices);
    g_autofree bool *known = g_new0(bool, n_devices), *valid = g_new0(bool, n_devices);
    guint n_known = 0, n_valid = 0;
    double sum = 0;
    for (guint i = 0; i < readings->len; i++) {
        const Reading *r = &g_array_index(readings, Reading, i);
        n_known += !known[r->device];
        n_valid += r->valid - valid[r->device];
        known[r->device] = true;
        valid[r->device] = r->valid;
        sum += (r->valid ? r->watts : 0) - watts[r->device];
        watts[r->device] = r->valid ? r->watts : 0;
        if (n_known < n_devices)
            continue;
        LsSample sample = {r->time_ns, sum, n_valid == n_devices};
        if (samples->len > 0 &&
            g_array_index(samples, LsSample, samples->len - 1).time_ns == r->time_ns)
            g_array_index(samples, LsSample, samples->len - 1) = sample;
        else
            g_array_append_val(samples, sample);
        if (r->last)
            break;
    }
    return samples;
}

static void
add_power(LsModel *model, uint32_t name)
{
    g_autoptr(GArray) tracks = g_array_new(FALSE, FALSE, sizeof(LsTrack *));
    for (size_t t = 0; t < model->n_tracks; t++) {
        const LsTrack *track = &model->tracks[t];
        if (track->name == name && ls_model_is_power(model, t) && !is_again(model, tracks, track))
            g_array_append_val(tracks, track);
    }
    if (tracks->len < 2)
        return;
    g_autoptr(GArray) readings = gather_readings(tracks);
    LsPowerModel power = {.name = name, .samples = sum_readings(readings, tracks->len)};
    power.series = ls_series_new((const LsSample *)(void *)power.samples->data, power.samples->len);
    g_array_append_val(model->power, power);
}

static void
clear_power(void *data)
{
    LsPowerModel *power = data;
    ls_series_free(power->series);
    g_array_unref(power->samples);
}

void
ls_model_make_power(LsModel *model)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    model->power = g_array_new(FALSE, FALSE, sizeof(LsPowerModel));
    g_array_set_clear_func(model->power, clear_power);
    for (size_t t = 0; t < model->n_tracks; t++)
        if (ls_model_is_power(model, t) &&
            g_hash_table_add(seen, GUINT_TO_POINTER(model->tracks[t].name)))
            add_power(model, model->tracks[t].name);
}
