/* SPDX-License-Identifier: Apache-2.0
 * capture/status.h: what a function inside another program's process returns. */
#pragma once

typedef enum LsStatus {
    LS_OK = 0,
    LS_ERR_SYSTEM = -1,    /* errno tells */
    LS_ERR_NO_MEMORY = -2,
    LS_ERR_ARGUMENT = -3,
    LS_ERR_FULL = -4,      /* no room on disk or in shared memory */
    LS_ERR_OFF = -5,       /* not recording */
} LsStatus;
