/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-device.c: what a device did (kernels, copies, fills), the calls that asked for it,
 * what the measurement cost, and readings of sensors. Kernels of NCCL are remembered for
 * native-nccl.c.
 */
#include "format/native-private.h"

#include <string.h>

/* What a track is of, beside its device and stream or its thread. */
enum { STREAM, CALLS, SYNC, OVERHEAD, FILLS, COPIES };

/* Where the track is kept; empty until it was looked up by its name, and again when another has
 * taken the place. */
static LsTrackBuilder **
keep_track(Native *native, uint32_t what, int64_t device, int64_t id)
{
    uint64_t mixed = ((uint64_t)id * 31 + (uint64_t)device) * 31 + what;
    DeviceTrack *kept = &native->device_tracks[mixed % DEVICE_TRACKS];
    if (kept->what != what || kept->device != device || kept->id != id)
        *kept = (DeviceTrack){.what = what, .device = device, .id = id};
    return &kept->track;
}

/* "stream 7", and "device 2 stream 7" where it is not the first: a rank has one device, as a rule.
 */
static LsTrackBuilder *
stream_track(Native *native, const LsRecord *record)
{
    int64_t device = record->args[2] & 255, stream = record->args[0];
    LsTrackBuilder **kept = keep_track(native, STREAM, device, stream);
    g_autofree char *name = NULL;
    if (*kept != NULL)
        return *kept;
    if (native->first_device < 0)
        native->first_device = device;
    name = device == native->first_device
               ? g_strdup_printf("stream %" G_GINT64_FORMAT, stream)
               : g_strdup_printf("device %" G_GINT64_FORMAT " stream %" G_GINT64_FORMAT, device,
                                 stream);
    return *kept = ls_process_get_track(native->process, LS_TRACK_STREAM, name, "kernel", stream);
}

static bool
is_nccl(const char *name)
{
    return strstr(name, "nccl") != NULL && strstr(name, "Kernel") != NULL;
}

void
ls_native_add_kernel(Native *native, const LsRecord *record)
{
    uint32_t name = ls_native_name(native, record->name);
    ls_track_builder_add(stream_track(native, record), record->start_ns, record->end_ns, name,
                         LS_NONE);
    /* Asked of the text when all names are known. */
    ls_native_note_kernel(native, record);
}

static void
add_copy_span(Native *native, const LsRecord *record, uint32_t what, const char *track,
              const char *category)
{
    LsTrackBuilder **kept = keep_track(native, what, 0, 0);
    if (*kept == NULL)
        *kept = ls_process_get_track(native->process, LS_TRACK_COPIES, track, category, -1);
    ls_track_builder_add(*kept, record->start_ns, record->end_ns,
                         ls_native_name(native, record->name), LS_NONE);
}

void
ls_native_add_copy(Native *native, const LsRecord *record)
{
    static const char *const tracks[] = {"copies",
                                         "copies to device",
                                         "copies to host",
                                         "copies",
                                         "copies",
                                         "copies",
                                         "copies",
                                         "copies",
                                         "copies on device",
                                         "copies on host",
                                         "copies to device of another"};
    uint32_t kind = (uint32_t)(record->args[4] & 255);
    if (kind >= G_N_ELEMENTS(tracks))
        kind = 0;
    add_copy_span(native, record, COPIES + kind, tracks[kind], "memcpy");
}

void
ls_native_add_memset(Native *native, const LsRecord *record)
{
    add_copy_span(native, record, FILLS, "fills", "memset");
}

static void
add_host_span(Native *native, const LsRecord *record, LsTrackBuilder *track)
{
    ls_track_builder_add(track, record->start_ns, record->end_ns,
                         ls_native_name(native, record->name), LS_NONE);
}

static LsTrackBuilder *
host_track(Native *native, uint32_t what, const char *name, const char *category)
{
    LsTrackBuilder **kept = keep_track(native, what, 0, 0);
    if (*kept == NULL)
        *kept = ls_process_get_track(native->process, LS_TRACK_THREAD, name, category, -1);
    return *kept;
}

void
ls_native_add_sync(Native *native, const LsRecord *record)
{
    add_host_span(native, record, host_track(native, SYNC, "waits for the device", "sync"));
}

void
ls_native_add_overhead(Native *native, const LsRecord *record)
{
    add_host_span(native, record, host_track(native, OVERHEAD, "cost of CUPTI", "overhead"));
}

void
ls_native_add_api(Native *native, const LsRecord *record)
{
    int64_t thread = record->args[1];
    LsTrackBuilder **kept = keep_track(native, CALLS, 0, thread);
    if (*kept == NULL) {
        g_autofree char *name = g_strdup_printf("calls of thread %" G_GINT64_FORMAT, thread);
        *kept = ls_process_get_track(native->process, LS_TRACK_THREAD, name, "driver call", thread);
    }
    add_host_span(native, record, *kept);
    ls_native_note_launch_call(native, record);
}

void
ls_native_add_untimed(Native *native, const LsRecord *record)
{
    native->untimed++;
}

void
ls_native_add_dropped(Native *native, const LsRecord *record)
{
    const char *who =
        ls_strings_get(native->process->strings, ls_native_name(native, record->name));
    g_autofree char *text =
        g_strdup_printf("%" G_GINT64_FORMAT " record%s dropped by %s.", record->args[0],
                        record->args[0] == 1 ? " was" : "s were", who);
    native->dropped += (uint64_t)ls_native_amount(record->args[0], 0);
    ls_native_add_finding(native, record, LS_WARNING, text);
}

/* Watts, joules, MHz, %, °C: the unit is the track's category. */
static const struct {
    const char *unit;
    double factor;
} units[] = {
    [LS_UNIT_NONE] = {"", 1},           [LS_UNIT_MILLIWATT] = {"W", 1e-3},
    [LS_UNIT_MILLIJOULE] = {"J", 1e-3}, [LS_UNIT_MEGAHERTZ] = {"MHz", 1},
    [LS_UNIT_PERCENT] = {"%", 1},       [LS_UNIT_CELSIUS] = {"°C", 1},
    [LS_UNIT_MICROJOULE] = {"J", 1e-6},
};

/* Kept until all names are known: a track has one. */
void
ls_native_add_sample(Native *native, const LsRecord *record)
{
    g_array_append_vals(native->samples, record, 1);
}

static void
add_sample(Native *native, const LsRecord *record)
{
    const char *name =
        ls_strings_get(native->process->strings, ls_native_name(native, record->name));
    size_t unit = record->args[1] >= 0 && record->args[1] < (int64_t)G_N_ELEMENTS(units)
                      ? (size_t)record->args[1]
                      : 0;
    int64_t time_ns = record->start_ns - CLAMP(record->args[4], 0, 60 * INT64_C(1000000000));
    ls_track_builder_add_sample(ls_process_get_track(native->process, LS_TRACK_COUNTER, name,
                                                     units[unit].unit, record->args[2]),
                                time_ns, (double)record->args[0] * units[unit].factor,
                                record->args[3] == 0);
}

void
ls_native_settle_device(Native *native)
{
    LsProcess *process = native->process;
    for (guint i = 0; i < native->samples->len; i++)
        add_sample(native, &g_array_index(native->samples, LsRecord, i));
    for (guint i = 0; i < native->kernels->len;) {
        const NcclKernel *kernel = &g_array_index(native->kernels, NcclKernel, i);
        const char *name = ls_strings_get(process->strings, ls_native_name(native, kernel->name));
        if (is_nccl(name))
            i++;
        else
            g_array_remove_index_fast(native->kernels, i);
    }
    if (native->untimed > 0)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "%" G_GUINT64_FORMAT
                               " kernels or copies have no times: the device did not tell them.",
                               native->untimed);
}
