/* SPDX-License-Identifier: Apache-2.0
 * layout/inspect-private.h: what the inspectors of the several things share. */
#pragma once

#include "layout/inspect.h"
#include "layout/model-private.h"

void ls_inspect_add_pair(LsInspect *inspect, const char *key, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* A part of its time; nothing where it is not known or none. */
void ls_inspect_add_part(LsInspect *inspect, int64_t time_ns, LsRole role, LsForm form,
                         const char *format, ...) G_GNUC_PRINTF(5, 6);
void ls_inspect_add_link(LsInspect *inspect, LsInspectAction action, const char *label,
                         size_t target);
/* Where it lies: within its step, or the recording. */
void ls_inspect_add_place(LsInspect *inspect, const LsModel *model, int64_t start_ns,
                          int64_t end_ns);
/* What the rank's compute and communication did meanwhile. */
void ls_inspect_add_overlap(LsInspect *inspect, const LsModel *model, uint32_t rank,
                            int64_t start_ns, int64_t end_ns);

void ls_inspect_call(LsInspect *inspect, const LsModel *model, size_t call);
void ls_inspect_use(LsInspect *inspect, const LsModel *model, size_t use);
