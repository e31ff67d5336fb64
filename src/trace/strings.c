/* SPDX-License-Identifier: Apache-2.0
 * trace/strings.c: interned names: an open hash over ids (linear probing, at most half full), texts
 * in a string chunk. Every text is valid UTF-8 once it is in here, since all of it may be drawn. */
#include "trace/strings.h"

#include <string.h>

struct LsStrings {
    GStringChunk *chunk;
    GPtrArray *texts; /* const char *, by id */
    GArray *hashes;   /* uint32_t, by id */
    uint32_t *slots;  /* id + 1; 0 = empty */
    uint32_t mask;
};

static uint32_t
hash_text(const char *text, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

LsStrings *
ls_strings_new(void)
{
    LsStrings *strings = g_new0(LsStrings, 1);
    strings->chunk = g_string_chunk_new(4096);
    strings->texts = g_ptr_array_new();
    strings->hashes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    strings->mask = 255;
    strings->slots = g_new0(uint32_t, strings->mask + 1);
    ls_strings_add_n(strings, "", 0);
    return strings;
}

void
ls_strings_free(LsStrings *strings)
{
    if (!strings)
        return;
    g_string_chunk_free(strings->chunk);
    g_ptr_array_unref(strings->texts);
    g_array_unref(strings->hashes);
    g_free(strings->slots);
    g_free(strings);
}

/* The slot that holds the text, or the empty one where it belongs. */
static uint32_t
find_slot(const LsStrings *strings, const char *text, size_t length, uint32_t hash)
{
    uint32_t at = hash & strings->mask;
    for (; strings->slots[at] != 0; at = (at + 1) & strings->mask) {
        uint32_t id = strings->slots[at] - 1;
        if (g_array_index(strings->hashes, uint32_t, id) != hash)
            continue;
        const char *known = g_ptr_array_index(strings->texts, id);
        if (strncmp(known, text, length) == 0 && known[length] == 0)
            break;
    }
    return at;
}

static void
grow(LsStrings *strings)
{
    strings->mask = strings->mask * 2 + 1;
    g_free(strings->slots);
    strings->slots = g_new0(uint32_t, (size_t)strings->mask + 1);
    for (uint32_t id = 0; id < strings->texts->len; id++) {
        uint32_t at = g_array_index(strings->hashes, uint32_t, id) & strings->mask;
        while (strings->slots[at] != 0)
            at = (at + 1) & strings->mask;
        strings->slots[at] = id + 1;
    }
}

static uint32_t
add_valid(LsStrings *strings, const char *text, size_t length)
{
    uint32_t hash = hash_text(text, length);
    uint32_t at = find_slot(strings, text, length, hash);
    if (strings->slots[at] != 0)
        return strings->slots[at] - 1;
    uint32_t id = strings->texts->len;
    g_ptr_array_add(strings->texts,
                    g_string_chunk_insert_len(strings->chunk, text, (gssize)length));
    g_array_append_val(strings->hashes, hash);
    strings->slots[at] = id + 1;
    if (strings->texts->len > strings->mask / 2)
        grow(strings);
    return id;
}

uint32_t
ls_strings_add_n(LsStrings *strings, const char *text, size_t length)
{
    length = strnlen(text, length);
    uint32_t slot = find_slot(strings, text, length, hash_text(text, length));
    if (strings->slots[slot] != 0)
        return strings->slots[slot] - 1;
    if (g_utf8_validate(text, (gssize)length, NULL))
        return add_valid(strings, text, length);
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)length);
    return add_valid(strings, valid, strlen(valid));
}

uint32_t
ls_strings_add(LsStrings *strings, const char *text)
{
    return ls_strings_add_n(strings, text, strlen(text));
}

uint32_t
ls_strings_find(const LsStrings *strings, const char *text)
{
    size_t length = strlen(text);
    uint32_t slot = find_slot(strings, text, length, hash_text(text, length));
    return strings->slots[slot] != 0 ? strings->slots[slot] - 1 : UINT32_MAX;
}

const char *
ls_strings_get(const LsStrings *strings, uint32_t id)
{
    return id < strings->texts->len ? g_ptr_array_index(strings->texts, id) : "";
}

uint32_t
ls_strings_get_n(const LsStrings *strings)
{
    return strings->texts->len;
}
