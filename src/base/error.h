/* SPDX-License-Identifier: Apache-2.0
 * base/error.h: the few error codes that somebody acts on. The message is a whole sentence: what,
 * where, what was expected. */
#pragma once

#include <glib.h>

#define LS_ERROR (ls_error_quark())
GQuark ls_error_quark(void);

typedef enum LsErrorCode {
    LS_ERROR_BAD_FILE,  /* not a format we know, or not readable: exit status 3 */
    LS_ERROR_USAGE,     /* the caller asked for what cannot be: exit status 2 */
    LS_ERROR_NO_MATCH,
    LS_ERROR_UNALIGNED,
    LS_ERROR_WRITE,     /* output could not be written */
    LS_ERROR_CANCELLED,
} LsErrorCode;
