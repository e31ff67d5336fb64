/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/gate.h: the one word that says whether records are kept.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Lies in a page that the kernel wipes in any forked child, also in one whose fork no handler saw:
 * 0 there means off, so that no child ever stores into its parent's rings. */
typedef struct LsGate {
    _Atomic uint32_t life; /* 0: no records are kept; else which opening of the recorder this is */
    _Atomic uint32_t opening; /* the same, also while nothing is kept (window.h); 0: closed */
} LsGate;
extern LsGate *ls_gate;

/* Makes the page, once. */
void ls_gate_open(void);
