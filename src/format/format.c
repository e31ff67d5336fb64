/* SPDX-License-Identifier: Apache-2.0
 *
 * format/format.c: the table of formats. A new one is a row here and a file of its own: a probe
 * that looks at the first (unpacked) bytes, and a load.
 */
#include "format/format.h"

#include "base/error.h"
#include "format/horovod.h"
#include "format/input.h"
#include "format/native.h"

#define PROBE_BYTES (64u * 1024u)

struct LsFormat {
    const char *name;
    const char *description;
    bool (*probe)(const uint8_t *data, size_t length);
    bool (*load)(LsInput *input, const char *source, GPtrArray *ret_processes, LsProgress *progress,
                 GError **error);
};

static const LsFormat native = {"lockstep", "trace file of Lockstep's own recorder",
                                ls_native_probe, ls_native_load};
static const LsFormat horovod = {"horovod",
                                 "timeline of Horovod and its descendants (HOROVOD_TIMELINE)",
                                 ls_horovod_probe, ls_horovod_load};

/* In the order of probing: the surest sign first. */
static const LsFormat *const formats[] = {&native, &horovod, NULL};

static const LsFormat *
probe_input(LsInput *input, const char *path, GError **error)
{
    size_t have;
    const uint8_t *head = ls_input_peek(input, PROBE_BYTES, &have);
    /* Of a file that gave nothing no probe can tell that nothing was written. */
    if (have == 0 && ls_input_get_damage(input)) {
        g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "%s cannot be read: %s.", path,
                    ls_input_get_damage(input));
        return NULL;
    }
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->probe(head, have))
            return formats[i];
    g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE,
                "%s is of no format that Lockstep reads: a Lockstep trace (.lks) or a Horovod "
                "timeline was expected.",
                path);
    return NULL;
}

bool
ls_format_load(const char *path, GPtrArray *ret_processes, LsProgress *progress, GError **error)
{
    g_autoptr(LsInput) input = ls_input_open(path, error);
    const LsFormat *format = input ? probe_input(input, path, error) : NULL;
    return format && format->load(input, path, ret_processes, progress, error);
}

bool
ls_format_load_bytes(const void *data, size_t length, const char *source, GPtrArray *ret_processes,
                     LsProgress *progress, GError **error)
{
    g_autoptr(LsInput) input = ls_input_open_memory(data, length);
    const LsFormat *format = probe_input(input, source, error);
    return format && format->load(input, source, ret_processes, progress, error);
}

const LsFormat *
ls_format_probe(const char *path, GError **error)
{
    g_autoptr(LsInput) input = ls_input_open(path, error);
    return input ? probe_input(input, path, error) : NULL;
}

const char *
ls_format_get_name(const LsFormat *format)
{
    return format->name;
}

const char *
ls_format_get_description(const LsFormat *format)
{
    return format->description;
}

const LsFormat *const *
ls_format_get_all(void)
{
    return formats;
}
