/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/nvtx-text.h: what the texts of NVTX ranges mean, and the handles that NVTX has of some.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/nvtx.h"

#define LS_NVTX_TEXTS     256 /* of a thread's table */
#define LS_NVTX_MARK_STEP 100
#define LS_NVTX_WIDE_MAX  256

typedef struct LsNvtxText {
    uint64_t hash;
    uint32_t name;  /* its id in the recorder */
    uint8_t mark;   /* 0: none; 1 + lockstep_phase; LS_NVTX_MARK_STEP */
    bool is_bound;  /* the range that bounds the recording */
    int64_t number; /* of a step; -1: it says none */
} LsNvtxText;

extern const LsNvtxText ls_nvtx_no_text;

/* A thread's own; zeroed at first and when the recorder's life changes. */
typedef struct LsNvtxTexts {
    LsNvtxText table[LS_NVTX_TEXTS];
} LsNvtxTexts;

/* The range of this name bounds the recording. */
void ls_nvtx_text_bound(const char *name);
/* Of NULL no text; good until the same table is asked for another. */
const LsNvtxText *ls_nvtx_text_find(LsNvtxTexts *texts, const char *ascii, bool is_default_domain);
/* The message of an event, NULL or without one: no text. */
const LsNvtxText *ls_nvtx_text_message(LsNvtxTexts *texts, const LsNvtxEvent *event,
                                       bool is_default_domain);
/* wchar_t as ASCII, what is not as "?". */
void ls_nvtx_text_narrow(const void *wide, char ret_ascii[LS_NVTX_WIDE_MAX]);

/* Handles are numbers from 1, the same for the same text; NULL: too many. Any thread; whatever else
 * is given as a handle means no text, no domain. */
void *ls_nvtx_text_register(const char *ascii, bool is_default_domain);
void *ls_nvtx_domain_create(const char *ascii);
uint32_t ls_nvtx_domain_name(const void *domain);
