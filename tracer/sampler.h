/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/sampler.h: a thread that reads sensors: NVML's of the process's device, and the node's.
 */
#pragma once

/* Once; does nothing where LOCKSTEP_POWER is 0. Only in a process that uses CUDA: NVML before a
 * fork breaks the child. */
void ls_sampler_start(void);
void ls_sampler_stop(void);
