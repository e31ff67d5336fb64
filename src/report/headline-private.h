/* SPDX-License-Identifier: Apache-2.0
 * report/headline-private.h: what the two files of the headline share. */
#pragma once

#include "report/evidence.h"

/* A time with its unit, between two texts. */
void ls_headline_append_ns(GString *text, const char *before, int64_t ns, const char *after);
bool ls_headline_has_steps(const LsEvidence *evidence);
/* The first sentence: of steady steps; of compute without them; of neither. */
void ls_headline_append_waited_for(GString *text, const LsEvidence *evidence);
void ls_headline_append_overlap(GString *text, const LsEvidence *evidence);
void ls_headline_append_buffers(GString *text, const LsEvidence *evidence);
