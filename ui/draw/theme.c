/* SPDX-License-Identifier: Apache-2.0
 *
 * Two themes. The hues are blue for compute, orange for communication, green for what overlaps,
 * purple for copies: apart for the common kinds of colour blindness, and apart in lightness, so
 * that grey print keeps hidden (pale) and exposed (strong, outlined) communication distinct.
 */
#include "ui/draw/theme.h"

#include <stddef.h>
#include <string.h>

static const LsTheme LIGHT = {
    .name = "light",
    .dark = false,
    .surface = 0xFFFFFF,
    .panel = 0xF6F6F7,
    .header = 0xFAFAFA,
    .line = 0xDCDCE0,
    .grid = 0xE6E6EA,
    .text = 0x1F2328,
    .text_soft = 0x62666E,
    .text_faint = 0x9A9EA6,
    .accent = 0x1A5FB4,
    .alarm = 0xC01C28,
    .selection = 0xC79A00,
    .hatch = 0xA4A8B2,
    .bar = 0xB9BEC7,
    .bar_cap = 0xCE996B,
    .bar_muted = 0xDFE1E6,
    .role =
        {
            [LS_ROLE_OTHER] = 0xC9CDD4,
            [LS_ROLE_FORWARD] = 0x9ECAE9,
            [LS_ROLE_BACKWARD] = 0x3D85C6,
            [LS_ROLE_OPTIMIZER] = 0x7FB7A6,
            [LS_ROLE_INPUT] = 0xD9C6A5,
            [LS_ROLE_KERNEL] = 0x6FA5D6,
            [LS_ROLE_COMMUNICATION] = 0xF6C177,
            [LS_ROLE_WAIT] = 0xA4A8B2,
            [LS_ROLE_NEGOTIATION] = 0xB9BEC7,
            [LS_ROLE_COPY] = 0xB48EAD,
            [LS_ROLE_CONTROL] = 0xB9BEC7,
            [LS_ROLE_STEP] = 0xD0D4DB,
            [LS_ROLE_BAND_COMPUTE] = 0xBBD4EB,
            [LS_ROLE_BAND_HIDDEN] = 0x4C9F70,
            [LS_ROLE_BAND_EXPOSED] = 0xE07A1F,
            [LS_ROLE_AGREED] = 0x1A5FB4,
        },
    .strong = 0xE07A1F,
    .strong_edge = 0x8F3D00,
    .ink =
        {
            [LS_ROLE_OTHER] = 0x1F2328,
            [LS_ROLE_FORWARD] = 0x1F2328,
            [LS_ROLE_BACKWARD] = 0xFFFFFF,
            [LS_ROLE_OPTIMIZER] = 0x1F2328,
            [LS_ROLE_INPUT] = 0x1F2328,
            [LS_ROLE_KERNEL] = 0x14202C,
            [LS_ROLE_COMMUNICATION] = 0x1F2328,
            [LS_ROLE_WAIT] = 0x1F2328,
            [LS_ROLE_NEGOTIATION] = 0x1F2328,
            [LS_ROLE_COPY] = 0x1F2328,
            [LS_ROLE_CONTROL] = 0x1F2328,
            [LS_ROLE_STEP] = 0x62666E,
        },
    .text_on_strong = 0x1F1200,
    .heat_low = 0xECE7E4,
    .heat_high = 0xE07A1F,
    .heat_cause = 0x1A5FB4,
    .heat_unknown = 0xF6F6F7,
    .rank = {0x3D85C6, 0xD98E2B, 0x4C9F70, 0xB48EAD, 0x8C6D31, 0x5AB4C5, 0xC7666B, 0x7A7F87},
};

static const LsTheme DARK = {
    .name = "dark",
    .dark = true,
    .surface = 0x1B1D21,
    .panel = 0x232529,
    .header = 0x202226,
    .line = 0x3A3D44,
    .grid = 0x2E3137,
    .text = 0xECEDEF,
    .text_soft = 0xA3A7AF,
    .text_faint = 0x757A83,
    .accent = 0x78AEED,
    .alarm = 0xFF7B72,
    .selection = 0xE6B800,
    .hatch = 0x6B7079,
    .bar = 0x4B5058,
    .bar_cap = 0xA67448,
    .bar_muted = 0x33363C,
    .role =
        {
            [LS_ROLE_OTHER] = 0x565B64,
            [LS_ROLE_FORWARD] = 0x5B8DB8,
            [LS_ROLE_BACKWARD] = 0x2F6EA8,
            [LS_ROLE_OPTIMIZER] = 0x4F8F7F,
            [LS_ROLE_INPUT] = 0x8C7A58,
            [LS_ROLE_KERNEL] = 0x427AAB,
            [LS_ROLE_COMMUNICATION] = 0xB5853F,
            [LS_ROLE_WAIT] = 0x6B7079,
            [LS_ROLE_NEGOTIATION] = 0x5A5F68,
            [LS_ROLE_COPY] = 0x8F6C8A,
            [LS_ROLE_CONTROL] = 0x565B64,
            [LS_ROLE_STEP] = 0x3F434A,
            [LS_ROLE_BAND_COMPUTE] = 0x2B4C6C,
            [LS_ROLE_BAND_HIDDEN] = 0x4C9F70,
            [LS_ROLE_BAND_EXPOSED] = 0xF0913A,
            [LS_ROLE_AGREED] = 0x78AEED,
        },
    .strong = 0xF0913A,
    .strong_edge = 0xFFD0A3,
    .ink =
        {
            [LS_ROLE_OTHER] = 0xECEDEF,
            [LS_ROLE_FORWARD] = 0xFFFFFF,
            [LS_ROLE_BACKWARD] = 0xFFFFFF,
            [LS_ROLE_OPTIMIZER] = 0xFFFFFF,
            [LS_ROLE_INPUT] = 0xFFFFFF,
            [LS_ROLE_KERNEL] = 0xFFFFFF,
            [LS_ROLE_COMMUNICATION] = 0xFFFFFF,
            [LS_ROLE_WAIT] = 0xECEDEF,
            [LS_ROLE_NEGOTIATION] = 0xECEDEF,
            [LS_ROLE_COPY] = 0xFFFFFF,
            [LS_ROLE_CONTROL] = 0xECEDEF,
            [LS_ROLE_STEP] = 0xA3A7AF,
        },
    .text_on_strong = 0x1F1200,
    .heat_low = 0x2A2C31,
    .heat_high = 0xF0913A,
    .heat_cause = 0x78AEED,
    .heat_unknown = 0x202226,
    .rank = {0x2F6EA8, 0xB5853F, 0x4C9F70, 0x8F6C8A, 0x8C7A58, 0x3E8C9C, 0xA8545A, 0x6B7079},
};

const LsTheme *
ls_theme_find(const char *name)
{
    static const LsTheme *const ALL[] = {&LIGHT, &DARK};
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++)
        if (strcmp(ALL[i]->name, name) == 0)
            return ALL[i];
    return NULL;
}
