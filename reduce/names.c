/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/names.c: a hash table with chains (FNV-1a), doubled when it has a name per bucket.
 */
#include "reduce/names.h"

#include <stdlib.h>
#include <string.h>

static uint32_t
hash_of(const char *text)
{
    uint32_t hash = 0x811c9dc5u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x01000193u;
    return hash;
}

static LsName *
find(const LsNames *names, const char *text, uint32_t hash)
{
    if (names->n_buckets == 0)
        return NULL;
    LsName *name = names->buckets[hash & (names->n_buckets - 1)];
    while (name != NULL && (name->hash != hash || strcmp(name->text, text) != 0))
        name = name->next;
    return name;
}

/* Without memory the chains just grow longer. */
static void
grow(LsNames *names)
{
    size_t n_buckets = names->n_buckets > 0 ? names->n_buckets * 2 : 64;
    LsName **buckets = calloc(n_buckets, sizeof *buckets);
    if (buckets == NULL)
        return;
    for (size_t i = 0; i < names->n_buckets; i++) {
        for (LsName *name = names->buckets[i], *next; name != NULL; name = next) {
            next = name->next;
            name->next = buckets[name->hash & (n_buckets - 1)];
            buckets[name->hash & (n_buckets - 1)] = name;
        }
    }
    free(names->buckets);
    names->buckets = buckets;
    names->n_buckets = n_buckets;
}

LsName *
ls_names_find(const LsNames *names, const char *text)
{
    return find(names, text, hash_of(text));
}

LsName *
ls_names_add(LsNames *names, const char *text)
{
    uint32_t hash = hash_of(text);
    LsName *name = find(names, text, hash);
    if (name != NULL)
        return name;
    if (names->n >= names->n_buckets)
        grow(names);
    size_t size = strlen(text) + 1;
    name = names->n_buckets > 0 ? calloc(1, sizeof *name + size) : NULL;
    if (name == NULL)
        return NULL;
    name->hash = hash;
    memcpy(name->text, text, size);
    name->next = names->buckets[hash & (names->n_buckets - 1)];
    names->buckets[hash & (names->n_buckets - 1)] = name;
    names->n++;
    return name;
}

void
ls_names_clear(LsNames *names)
{
    for (size_t i = 0; i < names->n_buckets; i++) {
        for (LsName *name = names->buckets[i], *next; name != NULL; name = next) {
            next = name->next;
            free(name->residuals[0]);
            free(name->residuals[1]);
            free(name);
        }
    }
    free(names->buckets);
    *names = (LsNames){0};
}
