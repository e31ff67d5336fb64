/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/failure.c: one buffer per thread for the latest sentence, and a word for each status.
 */
#include "reduce/failure.h"

#include <stdio.h>

static _Thread_local char latest[LS_FAILURE_TEXT_MAX];

lockstep_status
ls_fail(lockstep_status status, const char *format, ...)
{
    char text[LS_FAILURE_TEXT_MAX]; /* the arguments may point into `latest` */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(latest, sizeof latest, "%s", text);
    return status;
}

const char *
ls_failure_text(void)
{
    return latest;
}

LOCKSTEP_API const char *
lockstep_last_error(void)
{
    return latest;
}

LOCKSTEP_API const char *
lockstep_status_text(lockstep_status status)
{
    switch (status) {
    case LOCKSTEP_OK:
        return "done";
    case LOCKSTEP_IN_PROGRESS:
        return "in progress";
    case LOCKSTEP_ERR_ARGUMENT:
        return "an argument that cannot be";
    case LOCKSTEP_ERR_NO_MEMORY:
        return "out of memory";
    case LOCKSTEP_ERR_MPI:
        return "MPI is not there or failed";
    case LOCKSTEP_ERR_THREAD_LEVEL:
        return "MPI's thread level is too low";
    case LOCKSTEP_ERR_SETTINGS:
        return "a setting is wrong or differs between ranks";
    case LOCKSTEP_ERR_DUPLICATE:
        return "the name is already on its way";
    case LOCKSTEP_ERR_MISMATCH:
        return "ranks submitted different tensors under one name";
    case LOCKSTEP_ERR_SHUT_DOWN:
        return "a rank has shut down";
    case LOCKSTEP_ERR_PEER_LOST:
        return "a rank died";
    case LOCKSTEP_ERR_STALLED:
        return "a rank never submitted the tensor";
    case LOCKSTEP_ERR_INTERNAL:
        return "a fault inside the library";
    case LOCKSTEP_ERR_DEVICE:
        return "CUDA or NCCL is not there or failed";
    }
    return "unknown status";
}
