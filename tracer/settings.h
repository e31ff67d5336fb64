/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/settings.h: the tracer's settings, one field per line of settings.def.
 */
#pragma once

#include <stddef.h>

#include "capture/settings.h"

typedef struct LsTracerSettings {
#define LS_FIELD_TEXT(field)                              char field[LS_SETTING_TEXT_MAX];
#define LS_FIELD_BYTES(field)                             int64_t field;
#define LS_FIELD_NUMBER(field)                            int64_t field;
#define LS_SETTING(field, variable, type, standard, help) LS_FIELD_##type(field)
#include "tracer/settings.def"
#undef LS_SETTING
#undef LS_FIELD_TEXT
#undef LS_FIELD_BYTES
#undef LS_FIELD_NUMBER
} LsTracerSettings;

/* From the environment; what is not set or makes no sense takes its default. ret_bad names the
 * first variable that made no sense, or is NULL. Allocates nothing. */
void ls_tracer_settings_load(LsTracerSettings *ret_settings, const char **ret_bad);
