/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/process.h: which process is it, and does it still live.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* When the process was started, in clock ticks since boot; 0: no such process, or it cannot be
 * read. */
uint64_t ls_process_start_ticks(uint32_t pid);
/* Number of this process's pid namespace; 0: cannot be read. */
uint64_t ls_process_namespace(void);

/* Whether that process (and not a later one of the same number) has ended with all its threads. In
 * doubt (another pid namespace, no /proc) false: a live owner is never touched. */
bool ls_process_has_ended(uint32_t pid, uint64_t start_ticks, uint64_t pid_namespace);

/* Whether the main thread of this process has gone and at most `ours` other threads are left. */
bool ls_process_is_abandoned(int ours);
/* Whether the main thread has ended (by pthread_exit) and others have not. */
bool ls_process_has_left_main(void);
