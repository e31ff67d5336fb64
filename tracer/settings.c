/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's table of settings; how a row is read is capture/settings.c's.
 */
#include "tracer/settings.h"

static const LsSettingRow rows[] = {
#define LS_SETTING(field, variable, type, standard, help)                                          \
    {variable, LS_SETTING_##type, offsetof(LsTracerSettings, field), standard, help},
#include "tracer/settings.def"
#undef LS_SETTING
};

void
ls_tracer_settings_load(LsTracerSettings *ret_settings, const char **ret_bad)
{
    ls_settings_load_rows(rows, sizeof rows / sizeof rows[0], ret_settings, ret_bad);
}
