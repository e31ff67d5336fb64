/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/theme.h: colours of roles and surfaces, light and dark. Colours differ in lightness as
 * well as in hue, and never alone carry a meaning that form does not (layout/role.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "layout/role.h"

/* 0xRRGGBB */
typedef uint32_t LsColour;

typedef struct LsTheme {
    const char *name; /* "light", "dark" */
    bool dark;
    LsColour surface;    /* behind the timeline */
    LsColour panel;      /* behind headers, inspector, headline */
    LsColour header;     /* behind the rows' labels */
    LsColour line, grid; /* between ranks; of the ruler */
    LsColour text, text_soft, text_faint, text_on_strong;
    LsColour accent, alarm, selection;
    LsColour hatch;
    LsColour bar, bar_cap, bar_muted; /* step bars */
    LsColour role[LS_N_ROLES];        /* plain */
    LsColour strong, strong_edge;     /* exposed communication */
    LsColour ink[LS_N_ROLES];         /* label on it */
    LsColour heat_low, heat_high, heat_cause, heat_unknown;
    LsColour rank[8]; /* colour by rank or group */
} LsTheme;

/* NULL for a name that is none; ls_theme_find("light") always exists. */
const LsTheme *ls_theme_find(const char *name);
