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

typedef struct LsFormat {
    const char *name; /* in sentences: "... was expected" */
    bool (*probe)(const uint8_t *data, size_t length);
    bool (*load)(LsInput *input, const char *source, GPtrArray *ret_processes, LsProgress *progress,
                 GError **error);
} LsFormat;

/* In the order of probing: the surest sign first. */
static const LsFormat formats[] = {
    {"a Lockstep trace (.lks)", ls_native_probe, ls_native_load},
    {"a Horovod timeline", ls_horovod_probe, ls_horovod_load},
};

static char *
list_names(void)
{
    GString *text = g_string_new(formats[0].name);
    for (size_t i = 1; i < G_N_ELEMENTS(formats); i++)
        g_string_append_printf(text, " or %s", formats[i].name);
    return g_string_free(text, FALSE);
}

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
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (formats[i].probe(head, have))
            return &formats[i];
    g_autofree char *names = list_names();
    g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE,
                "%s is of no format that Lockstep reads: %s was expected.", path, names);
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

bool
ls_format_probe(const char *path, GError **error)
{
    g_autoptr(LsInput) input = ls_input_open(path, error);
    return input && probe_input(input, path, error);
}
