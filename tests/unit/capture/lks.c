/* SPDX-License-Identifier: Apache-2.0
 *
 * A slow, plain reader of FORMAT.md: bit by bit checksum, every length checked.
 */
#include "lks.h"

#include <string.h>

#include "capture/format.h"

static uint32_t
crc_bytes(uint32_t crc, const uint8_t *data, size_t length)
{
    static uint32_t table[256];
    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++)
                value = value >> 1 ^ ((value & 1) != 0 ? 0x82f63b78u : 0);
            table[i] = value;
        }
    }
    for (size_t i = 0; i < length; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
    return crc;
}

static uint64_t
number_at(const uint8_t *data, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | data[i];
    return value;
}

static bool
get_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static int64_t
unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static int
shape_of(int kind)
{
    switch (kind) {
#define LS_RECORD(id, SYMBOL, text, shape, since, ...)                                             \
    case id:                                                                                       \
        return shape;
#include "capture/records.def"
#undef LS_RECORD
    default:
        return -1;
    }
}

/* One record's body; false: it makes no sense. */
static bool
read_record(LksFile *file, LksRecord *record, const uint8_t *at, const uint8_t *end,
            int64_t *previous)
{
    uint64_t kind, name, value;
    if (!get_varint(&at, end, &kind) || !get_varint(&at, end, &name))
        return false;
    record->kind = (int)(kind >> 1);
    record->is_open = (kind & 1) != 0;
    record->name = (uint32_t)name;
    record->n_args = 0;
    memset(record->args, 0, sizeof record->args);
    int shape = shape_of(record->kind);
    if (shape == LS_SHAPE_TEXT) {
        record->text = (const char *)at;
        record->text_length = (size_t)(end - at);
    } else if (shape >= 0) {
        if (!get_varint(&at, end, &value))
            return false;
        record->start_ns = *previous = (int64_t)((uint64_t)*previous + (uint64_t)unzigzag(value));
        record->duration_ns = 0;
        if (shape == LS_SHAPE_SPAN) {
            if (!get_varint(&at, end, &value))
                return false;
            record->duration_ns = (int64_t)value;
        }
        while (at < end && record->n_args < 8) {
            if (!get_varint(&at, end, &value))
                return false;
            record->args[record->n_args++] = unzigzag(value);
        }
    }
    g_array_append_val(file->records, *record);
    return true;
}

static void
note_texts(LksFile *file)
{
    for (int pass = 0; pass < 2; pass++) {
        for (guint i = 0; i < file->records->len; i++) {
            const LksRecord *record = &g_array_index(file->records, LksRecord, i);
            if (record->kind == LS_RECORD_NAME && pass == 0)
                g_hash_table_insert(file->names, GUINT_TO_POINTER(record->name),
                                    g_strndup(record->text, record->text_length));
            if (record->kind == LS_RECORD_INFO && pass == 1)
                g_hash_table_insert(file->facts, g_strdup(lks_name(file, record->name)),
                                    g_strndup(record->text, record->text_length));
        }
    }
}

/* The chunk at `at`: its length, 0 if there is none. */
static size_t
read_chunk(LksFile *file, size_t offset, uint32_t min_sequence)
{
    const uint8_t *at = file->data + offset;
    static const uint8_t zeros[4];
    size_t left = file->length - offset;
    if (left < 64 || memcmp(at, "LSK1", 4) != 0 || number_at(at + 4, 2) != 1)
        return 0;
    size_t header = number_at(at + 6, 2), payload = number_at(at + 8, 4);
    if (header < 64 || header > left || payload > left - header)
        return 0;
    uint32_t crc = crc_bytes(~0u, at, 12);
    crc = crc_bytes(crc, zeros, 4);
    crc = ~crc_bytes(crc, at + 16, header + payload - 16);
    if (crc != number_at(at + 12, 4))
        return 0;
    file->n_chunks++;
    LksRecord record = {.rank = (uint32_t)number_at(at + 16, 4),
                        .pid = (uint32_t)number_at(at + 20, 4),
                        .thread = (uint32_t)number_at(at + 24, 4),
                        .sequence = (uint32_t)number_at(at + 28, 4),
                        .lost = number_at(at + 32, 8),
                        .incarnation = (uint32_t)number_at(at + 56, 4),
                        .offset = offset};
    int64_t previous = (int64_t)number_at(at + 40, 8);
    const uint8_t *body = at + header, *end = body + payload;
    while (body < end && record.sequence < min_sequence) {
        uint64_t length = 0;
        bool is_sound = get_varint(&body, end, &length) && length <= (uint64_t)(end - body) &&
                        read_record(file, &record, body, body + length, &previous);
        g_assert_true(is_sound); /* the checksum was right */
        body += length;
    }
    return header + payload;
}

LksFile *
lks_read_bytes(const uint8_t *data, size_t length, uint32_t min_sequence)
{
    LksFile *file = g_new0(LksFile, 1);
    file->records = g_array_new(FALSE, FALSE, sizeof(LksRecord));
    file->names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    file->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    file->data = g_memdup2(data, length);
    file->length = length;
    for (size_t at = 0; at < length;) {
        size_t chunk = read_chunk(file, at, min_sequence);
        if (chunk == 0 && file->data[at] != 0)
            file->damaged_bytes++;
        at += chunk == 0 ? 1 : chunk;
    }
    note_texts(file);
    return file;
}

LksFile *
lks_read(const char *path)
{
    g_autofree char *data = NULL;
    gsize length;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &data, &length, &error);
    g_assert_no_error(error);
    return lks_read_bytes((const uint8_t *)data, length, UINT32_MAX);
}

void
lks_free(LksFile *file)
{
    g_array_unref(file->records);
    g_hash_table_unref(file->names);
    g_hash_table_unref(file->facts);
    g_free(file->data);
    g_free(file);
}

uint64_t
lks_count(const LksFile *file, int kind)
{
    uint64_t n = 0;
    for (guint i = 0; i < file->records->len; i++)
        n += g_array_index(file->records, LksRecord, i).kind == kind;
    return n;
}

uint64_t
lks_sum_lost(const LksFile *file)
{
    uint64_t sum = 0;
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        sum += record->kind == LS_RECORD_LOST ? (uint64_t)record->args[1] : 0;
    }
    return sum;
}

const char *
lks_fact(const LksFile *file, const char *key)
{
    return g_hash_table_lookup(file->facts, key);
}

const char *
lks_name(const LksFile *file, uint32_t id)
{
    const char *name = g_hash_table_lookup(file->names, GUINT_TO_POINTER(id));
    return name == NULL ? "" : name;
}

bool
lks_has_notice(const LksFile *file, const char *part)
{
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind == LS_RECORD_NOTICE && strstr(lks_name(file, record->name), part) != NULL)
            return true;
    }
    return false;
}

static int
compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *
lks_list(const char *folder)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        if (g_str_has_suffix(name, ".lks"))
            g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
    }
    if (dir != NULL)
        g_dir_close(dir);
    g_ptr_array_sort(paths, compare_paths);
    return paths;
}
