/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/group.h: which tensors are reduced only together (arXiv 1909.11150; facts: seeds 1.4).
 *
 * A list of groups of tensor names, the same on every rank, that does not change once it is in use:
 * any thread may look names up. Where the groups come from is graph.h's matter, what they hold back
 * gate.h's. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reduce/fusion.h"
#include "reduce/message.h"

typedef struct LsGroups LsGroups;

#define LS_GROUP_NONE (-1)

/* Empty. NULL: out of memory. */
LsGroups *ls_groups_new(void);
void ls_groups_free(LsGroups *groups);
/* Adds a group of these names, all copied. It is called what its members' names have in common
 * ("layer4.2" of layer4.2.conv1 and layer4.2.bn1), with " · group N" where an earlier group has
 * that name, "group N" where they have nothing in common. A sentence in `error` and no change: a
 * tensor that is in a group already, no member at all, out of memory. */
const char *ls_groups_add(LsGroups *groups, const char *const *members, size_t n, char error[256]);
/* Adds what the text holds: one group a line, names apart by blanks; a name with blanks, or that
 * begins with # or ", stands in quotes ("" for one quote); from # on a line says nothing. The
 * sentence names the line. */
const char *ls_groups_parse(LsGroups *groups, const char *text, size_t length, char error[256]);
/* The same of a file. */
const char *ls_groups_read(LsGroups *groups, const char *path, char error[256]);

int ls_groups_count(const LsGroups *groups); /* NULL: 0 */
int ls_groups_find(const LsGroups *groups, const char *tensor);
const char *ls_group_name(const LsGroups *groups, int group);
/* Of the tensor's group; NULL: it is in none. */
const char *ls_groups_name_of(const LsGroups *groups, const char *tensor);
size_t ls_group_size(const LsGroups *groups, int group);
const char *ls_group_member(const LsGroups *groups, int group, size_t member);
/* Equal groups in equal order give equal digests on every machine. */
uint64_t ls_groups_digest(const LsGroups *groups);

/* Joins the list's responses into buffers under the rule. alone: buffers do not mix groups: the
 * groups come first, each in the place of its first response, then what is in none (facts B10).
 * groups may be NULL. false: out of memory; the list holds the same tensors. */
bool ls_groups_fuse(const LsGroups *groups, bool alone, LsResponseList *list,
                    const LsFusionRule *rule);
