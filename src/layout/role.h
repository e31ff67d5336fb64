/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/role.h: what an item is (its colour) and how it is to be read (its form). The theme turns
 * roles into colours; form comes first: it must read in grey.
 */
#pragma once

#include <stdint.h>

typedef enum LsRole {
    LS_ROLE_OTHER,
    LS_ROLE_FORWARD,
    LS_ROLE_BACKWARD,
    LS_ROLE_OPTIMIZER,
    LS_ROLE_INPUT,  /* data read, checkpoint written */
    LS_ROLE_KERNEL, /* compute that is none of the phases above */
    LS_ROLE_COMMUNICATION,
    LS_ROLE_WAIT,        /* for the last rank */
    LS_ROLE_NEGOTIATION, /* not yet agreed on, queue, protocol */
    LS_ROLE_COPY,        /* copies and fusion: pack, unpack */
    LS_ROLE_CONTROL,     /* cycles and their stages */
    LS_ROLE_STEP,
    LS_ROLE_BAND_COMPUTE, /* overlap band: compute alone, both, communication alone */
    LS_ROLE_BAND_HIDDEN,
    LS_ROLE_BAND_EXPOSED,
    LS_ROLE_AGREED, /* cycles that agreed on something, lines of agreement */
    LS_N_ROLES,
} LsRole;

typedef enum LsForm {
    LS_FORM_PLAIN,
    LS_FORM_STRONG,  /* exposed: strong colour, outlined */
    LS_FORM_HATCHED, /* waiting: never filled */
    LS_N_FORMS,
} LsForm;

typedef enum LsItemFlags {
    LS_ITEM_THIN = 1,     /* a band at mid height: compute goes on meanwhile, it costs nothing */
    LS_ITEM_OPEN = 2,     /* not ended when the recording did: ragged right edge */
    LS_ITEM_SELECTED = 4, /* it, or a part of what is selected */
    LS_ITEM_FOLDED = 8,   /* several spans in one column of pixels; `share` says how full it is */
    LS_ITEM_TOP = 16, /* overlap band: its share stands at the top of the column, not at its foot */
} LsItemFlags;
