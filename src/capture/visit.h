/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/visit.h: a slow path of ours in a thread of the host.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "capture/own.h"

/* Where the calling thread is. A signal handler that finds it in a visit, or in a mark, has
 * interrupted that, and must not wait for a lock: its own thread may hold it. */
typedef struct LsWhereabouts {
    volatile int visits;
    volatile bool is_marking;
} LsWhereabouts;
extern __thread LsWhereabouts ls_whereabouts;

typedef struct LsVisit {
    LsWhereabouts *own;
    int error, cancel_state;
} LsVisit;

/* Where a lock of ours is held over calls of the system: a thread cancelled in open() would never
 * give it back, and each thread that records thereafter would wait for good. */
static inline LsVisit
ls_visit_begin(void)
{
    LsVisit visit = {.own = ls_own(&ls_whereabouts), .error = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit.cancel_state);
    visit.own->visits++;
    atomic_signal_fence(memory_order_seq_cst);
    return visit;
}

/* The thread may be cancelled as before, and finds errno as it was. */
static inline void
ls_visit_end(LsVisit visit)
{
    int now;
    atomic_signal_fence(memory_order_seq_cst);
    visit.own->visits--;
    pthread_setcancelstate(visit.cancel_state, &now);
    errno = visit.error;
}
