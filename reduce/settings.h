/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/settings.h: the values of settings.def that hold in one context.
 *
 * A value is its default, over that Horovod's variable, over that LOCKSTEP_<NAME>, over that the
 * text in lockstep_options. Values that must be equal on all ranks are compared through their
 * digest first, and as text where that differs.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LsSettingId {
#define LS_SETTING(SYMBOL, ...) LS_SETTING_##SYMBOL,
#include "reduce/settings.def"
#undef LS_SETTING
    LS_N_SETTINGS
} LsSettingId;

typedef struct LsSettings {
    int64_t numbers[LS_N_SETTINGS];                 /* ns, bytes, index of the choice; TEXT: 0 */
    char texts[LS_N_SETTINGS][LS_SETTING_TEXT_MAX]; /* as it was given */
} LsSettings;

typedef enum LsCycleStart { LS_CYCLE_EVENT, LS_CYCLE_CLOCK } LsCycleStart;
typedef enum LsCompression {
    LS_COMPRESSION_NONE,
    LS_COMPRESSION_FLOAT16,
    LS_COMPRESSION_BFLOAT16,
    LS_COMPRESSION_ONEBIT,
    LS_COMPRESSION_TOPK,
} LsCompression;
typedef enum LsMemory { LS_MEMORY_AUTO, LS_MEMORY_HOST, LS_MEMORY_DEVICE } LsMemory;
typedef enum LsWatcherMethod { LS_WATCHER_AUTO, LS_WATCHER_POLL, LS_WATCHER_OFF } LsWatcherMethod;

const char *ls_setting_name(LsSettingId id);

/* Reads defaults, environment and the text ("name=value;name=value", NULL: none). On failure the
 * sentence says which setting, which value, and what was expected. */
lockstep_status ls_settings_load(const char *text, LsSettings *ret_settings);

/* Of all settings that must agree; equal values give equal digests on every machine. */
uint64_t ls_settings_digest(const LsSettings *settings);

/* The first setting that must agree and does not; LS_N_SETTINGS if all do. */
LsSettingId ls_settings_differ(const LsSettings *a, const LsSettings *b);
