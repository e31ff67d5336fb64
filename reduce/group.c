/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/group.c: groups by number, members by name.
 */
#include "reduce/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/roster.h"

#define ERROR_BYTES 256
#define NAMES_MAX   4096 /* of one line at a time, grows */

typedef struct Member {
    LsRosterItem item; /* its name is owned */
    int group;
} Member;

typedef struct Group {
    char *name;
    Member **members;
    size_t n;
} Group;

struct LsGroups {
    LsRoster roster; /* of members */
    Group *items;
    int n, capacity;
};

LsGroups *
ls_groups_new(void)
{
    return calloc(1, sizeof(LsGroups));
}

static void
free_group(LsGroups *groups, Group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        ls_roster_remove(&groups->roster, &group->members[i]->item);
        free(group->members[i]->item.name);
        free(group->members[i]);
    }
    free(group->members);
    free(group->name);
}

void
ls_groups_free(LsGroups *groups)
{
    if (groups == NULL)
        return;
    for (int i = 0; i < groups->n; i++)
        free_group(groups, &groups->items[i]);
    free(groups->items);
    free(groups);
}

/* NULL, or what is wrong with the name as the next member. */
static const char *
add_member(LsGroups *groups, Group *group, int number, const char *name, char error[ERROR_BYTES])
{
    const Member *known = (const Member *)ls_roster_find(&groups->roster, name);
    if (known != NULL) {
        snprintf(error, ERROR_BYTES, "tensor '%.150s' is in two groups, or twice in one", name);
        return error;
    }
    Member *member = calloc(1, sizeof *member);
    char *copy = strdup(name);
    if (member != NULL && copy != NULL) {
        *member = (Member){{.name = copy}, number};
        if (ls_roster_add(&groups->roster, &member->item)) {
            group->members[group->n++] = member;
            return NULL;
        }
    }
    free(member);
    free(copy);
    return "out of memory";
}

static bool
reserve_group(LsGroups *groups)
{
    if (groups->n < groups->capacity)
        return true;
    int wanted = groups->capacity == 0 ? 8 : groups->capacity * 2;
    Group *grown = reallocarray(groups->items, (size_t)wanted, sizeof *grown);
    if (grown == NULL)
        return false;
    groups->items = grown;
    groups->capacity = wanted;
    return true;
}

static bool
ends_part(char c)
{
    return c == '\0' || c == '.' || c == '/';
}

/* How much of all names is the same, up to where a part of each ends. */
static size_t
get_common(const char *const *members, size_t n)
{
    size_t length = strlen(members[0]);
    for (size_t i = 1; i < n; i++) {
        size_t same = 0;
        while (same < length && members[i][same] == members[0][same])
            same++;
        while (same > 0 && !(ends_part(members[0][same]) && ends_part(members[i][same])))
            same--;
        length = same;
    }
    return length;
}

/* malloc'd; NULL: out of memory. */
static char *
make_name(const LsGroups *groups, const char *const *members, size_t n)
{
    char *name;
    bool taken = false;
    size_t length = get_common(members, n);
    if (length == 0)
        return asprintf(&name, "group %d", groups->n) < 0 ? NULL : name;
    for (int i = 0; i < groups->n && !taken; i++)
        taken = strncmp(groups->items[i].name, members[0], length) == 0 &&
                groups->items[i].name[length] == '\0';
    if (!taken)
        return strndup(members[0], length);
    return asprintf(&name, "%.*s · group %d", (int)length, members[0], groups->n) < 0 ? NULL : name;
}

const char *
ls_groups_add(LsGroups *groups, const char *const *members, size_t n, char error[ERROR_BYTES])
{
    Group group = {0};
    const char *fault = n == 0 ? "a group has no member" : NULL;
    if (fault == NULL)
        group.name = make_name(groups, members, n);
    group.members = calloc(n + 1, sizeof *group.members);
    if (fault == NULL && (group.name == NULL || group.members == NULL || !reserve_group(groups)))
        fault = "out of memory";
    for (size_t i = 0; i < n && fault == NULL; i++)
        fault = add_member(groups, &group, groups->n, members[i], error);
    if (fault != NULL)
        free_group(groups, &group);
    else
        groups->items[groups->n++] = group;
    return fault;
}

/* The next name of the line, unquoted into `room`; NULL: none is left, or the sentence is there. */
static const char *
next_name(const char **at, const char *end, char *room, const char **ret_fault)
{
    const char *text = *at;
    size_t length = 0;
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r'))
        text++;
    if (text == end || *text == '#')
        return NULL;
    bool quoted = *text == '"';
    for (text += quoted; text < end; text++) {
        if (quoted ? *text == '"' && !(text + 1 < end && text[1] == '"')
                   : *text == ' ' || *text == '\t' || *text == '\r')
            break;
        text += quoted && *text == '"';
        room[length++] = *text;
    }
    if (quoted && text == end) {
        *ret_fault = "a quote is not closed";
        return NULL;
    }
    room[length] = '\0';
    *at = text + quoted;
    return room;
}

/* names and room hold what a line of that length can. */
static const char *
parse_line(LsGroups *groups, const char *line, const char *end, const char **names, char *room,
           char error[ERROR_BYTES])
{
    const char *fault = NULL, *name;
    size_t n = 0;
    if (memchr(line, 0, (size_t)(end - line)) != NULL)
        return "a byte 0";
    while ((name = next_name(&line, end, room, &fault)) != NULL) {
        names[n++] = name;
        room += strlen(room) + 1;
    }
    if (fault == NULL && n > 0)
        fault = ls_groups_add(groups, names, n, error);
    return fault;
}

const char *
ls_groups_parse(LsGroups *groups, const char *text, size_t length, char error[ERROR_BYTES])
{
    const char *end = text + length, *fault = NULL;
    char *room = malloc(2 * length + 1), inner[ERROR_BYTES] = "";
    const char **names = calloc(length / 2 + 1, sizeof *names);
    if (room == NULL || names == NULL)
        fault = strcpy(error, "out of memory");
    for (int line = 1; text < end && fault == NULL; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (stop == NULL)
            stop = end;
        fault = parse_line(groups, text, stop, names, room, inner);
        if (fault != NULL) {
            snprintf(error, ERROR_BYTES, "line %d: %.220s", line, fault);
            fault = error;
        }
        text = stop + 1;
    }
    free(names);
    free(room);
    return fault;
}

/* malloc'd; NULL: it cannot be read. */
static char *
read_all(FILE *file, size_t *ret_length)
{
    char *text = NULL;
    size_t capacity = 0, length = 0;
    do {
        if (length == capacity) {
            char *grown = realloc(text, capacity = capacity * 2 + NAMES_MAX);
            if (grown == NULL)
                break;
            text = grown;
        }
        length += fread(text + length, 1, capacity - length, file);
    } while (length == capacity && !ferror(file));
    if (length < capacity && !ferror(file)) {
        *ret_length = length;
        return text;
    }
    free(text);
    return NULL;
}

const char *
ls_groups_read(LsGroups *groups, const char *path, char error[ERROR_BYTES])
{
    char inner[ERROR_BYTES];
    const char *fault = "it cannot be read";
    size_t length = 0;
    FILE *file = fopen(path, "re");
    char *text = file != NULL ? read_all(file, &length) : NULL;
    if (text != NULL)
        fault = ls_groups_parse(groups, text, length, inner);
    free(text);
    if (file != NULL)
        fclose(file);
    if (fault == NULL)
        return NULL;
    snprintf(error, ERROR_BYTES, "groups of '%.100s': %.130s", path, fault);
    return error;
}

int
ls_groups_count(const LsGroups *groups)
{
    return groups == NULL ? 0 : groups->n;
}

int
ls_groups_find(const LsGroups *groups, const char *tensor)
{
    const Member *member =
        groups == NULL ? NULL : (const Member *)ls_roster_find(&groups->roster, tensor);
    return member == NULL ? LS_GROUP_NONE : member->group;
}

const char *
ls_group_name(const LsGroups *groups, int group)
{
    return groups->items[group].name;
}

const char *
ls_groups_name_of(const LsGroups *groups, const char *tensor)
{
    int group = ls_groups_find(groups, tensor);
    return group == LS_GROUP_NONE ? NULL : ls_group_name(groups, group);
}

size_t
ls_group_size(const LsGroups *groups, int group)
{
    return groups->items[group].n;
}

const char *
ls_group_member(const LsGroups *groups, int group, size_t member)
{
    return groups->items[group].members[member]->item.name;
}

/* FNV-1a, 64 bits, of the text and the 0 that ends it. */
static uint64_t
digest(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++ != '\0');
    return hash;
}

uint64_t
ls_groups_digest(const LsGroups *groups)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < ls_groups_count(groups); i++) {
        for (size_t k = 0; k < ls_group_size(groups, i); k++)
            hash = digest(hash, ls_group_member(groups, i, k));
        hash = digest(hash, "");
    }
    return hash;
}

/* The response's group: that of all its tensors, which are one before fusion. */
static int
group_of(const LsGroups *groups, const LsResponse *response)
{
    return response->n == 0 ? LS_GROUP_NONE : ls_groups_find(groups, response->names[0]);
}

/* The responses in the order of their groups' first ones, those in no group last: a chain through
 * them per group. ret_starts gets where each group begins, and the end. Returns how many there are.
 */
static size_t
sort(const LsGroups *groups, const LsResponseList *list, size_t *chain, LsResponse *ret_items,
     size_t *ret_starts)
{
    size_t n = list->n, groups_n = (size_t)groups->n + 1, made = 0, parts = 0;
    size_t *next = chain, *first = chain + n, *last = first + groups_n;
    for (size_t i = 0; i < groups_n; i++)
        first[i] = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t group = (size_t)(group_of(groups, &list->items[i]) + 1); /* 0: none */
        if (first[group] == SIZE_MAX)
            first[group] = i;
        else
            next[last[group]] = i;
        last[group] = i;
        next[i] = SIZE_MAX;
    }
    for (size_t i = 0; i <= n; i++) {
        size_t group = i < n ? (size_t)(group_of(groups, &list->items[i]) + 1) : 0;
        if ((i < n && group == 0) || (i < n && first[group] != i) || first[group] == SIZE_MAX)
            continue;
        ret_starts[parts++] = made;
        for (size_t k = first[group]; k != SIZE_MAX; k = next[k])
            ret_items[made++] = list->items[k];
    }
    ret_starts[parts] = made;
    return parts;
}

bool
ls_groups_fuse(const LsGroups *groups, bool alone, LsResponseList *list, const LsFusionRule *rule)
{
    if (!alone || ls_groups_count(groups) == 0 || list->n < 2)
        return ls_fuse(list, rule);
    size_t n = list->n, made = 0;
    size_t *chain = calloc(n + 2 * ((size_t)groups->n + 1), sizeof *chain);
    size_t *starts = calloc(n + 1, sizeof *starts);
    LsResponse *items = calloc(n, sizeof *items);
    bool done = chain != NULL && starts != NULL && items != NULL;
    size_t parts = done ? sort(groups, list, chain, items, starts) : 0;
    for (size_t i = 0; i < parts; i++) {
        LsResponseList part = {.items = items + starts[i], .n = starts[i + 1] - starts[i]};
        done = ls_fuse(&part, rule) && done;
        memcpy(list->items + made, part.items, part.n * sizeof *part.items);
        made += part.n;
    }
    if (parts > 0)
        list->n = made;
    free(chain);
    free(starts);
    free(items);
    return done;
}
