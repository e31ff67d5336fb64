/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/tracer.h: the tracer of this process: on or off, its settings, its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracer/settings.h"

#define LS_TRACER_API __attribute__((visibility("default")))

/* Any of the three doors (CUDA, NVTX, NCCL) comes first, and any of them again: the recorder is
 * opened once. false: nothing is to be recorded. */
bool ls_tracer_start(void);
const LsTracerSettings *ls_tracer_settings(void);
/* The doors that a process has come through, as bits; some things start behind one of them only. */
bool ls_tracer_is_ours(void); /* false in a forked child that came through no door of its own */

/* At the end of the process, before CUDA takes its driver down: call it again when CUDA is known to
 * be up, since the handler that was registered last runs first. */
void ls_tracer_register_end(void);

/* A thread of ours: no signal of the host's is delivered there. */
bool ls_tracer_start_thread(void *(*run)(void *));

/* A sentence into the trace, and on standard error too where it is a warning. printf-like. */
void ls_tracer_note(int severity, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A fact; printf-like. */
void ls_tracer_fact(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
