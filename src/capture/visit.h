/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/visit.h: a slow path of ours in a thread of the host.
 */
#pragma once

#include <errno.h>
#include <pthread.h>

typedef struct LsVisit {
    int error, cancel_state;
} LsVisit;

/* Where a lock of ours is held over calls of the system: a thread cancelled in open() would never
 * give it back, and each thread that records thereafter would wait for good. */
static inline LsVisit
ls_visit_begin(void)
{
    LsVisit visit = {.error = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit.cancel_state);
    return visit;
}

/* The thread may be cancelled as before, and finds errno as it was. */
static inline void
ls_visit_end(LsVisit visit)
{
    int now;
    pthread_setcancelstate(visit.cancel_state, &now);
    errno = visit.error;
}
