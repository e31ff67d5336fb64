/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/clock.c: the child of a pair asks, its parent answers with the times of receipt and of
 * answer (the four timestamps of NTP, RFC 5905); the child records them all.
 */
#include "reduce/clock.h"

/* Few: 20 in a row to a peer under load were measured to take 28-148 ms (facts/cuda.md 8.5). */
#define TRIPS 3

typedef struct Answer {
    int64_t received_ns, sent_ns;
} Answer;

int
ls_clock_pairs(const LsWorld *world)
{
    return world->hosts - 1;
}

static lockstep_status
ask(LsWorld *world, LsInstrument *instrument, int peer, int64_t cycle)
{
    lockstep_status status = LOCKSTEP_OK;
    for (int i = 0; i < TRIPS && status == LOCKSTEP_OK; i++) {
        Answer answer;
        int64_t sent = ls_instrument_now();
        status = world->class->send(world, peer, &sent, sizeof sent);
        if (status == LOCKSTEP_OK)
            status = world->class->receive(world, peer, &answer, sizeof answer);
        if (status == LOCKSTEP_OK)
            ls_instrument_roundtrip(instrument, sent, ls_instrument_now(),
                                    world->infos[peer].job_rank, answer.received_ns, answer.sent_ns,
                                    cycle);
    }
    return status;
}

static lockstep_status
answer(LsWorld *world, int peer)
{
    lockstep_status status = LOCKSTEP_OK;
    for (int i = 0; i < TRIPS && status == LOCKSTEP_OK; i++) {
        int64_t question;
        Answer reply;
        status = world->class->receive(world, peer, &question, sizeof question);
        reply.received_ns = ls_instrument_now();
        reply.sent_ns = ls_instrument_now();
        if (status == LOCKSTEP_OK)
            status = world->class->send(world, peer, &reply, sizeof reply);
    }
    return status;
}

lockstep_status
ls_clock_measure(LsWorld *world, LsInstrument *instrument, int pair, int64_t cycle)
{
    if (pair < 0 || pair >= ls_clock_pairs(world))
        return LOCKSTEP_OK;
    int child = ls_world_leader(world, pair + 1), parent = ls_world_leader(world, pair / 2);
    if (world->rank == child)
        return ask(world, instrument, parent, cycle);
    if (world->rank == parent)
        return answer(world, child);
    return LOCKSTEP_OK;
}
