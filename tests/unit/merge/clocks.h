/* SPDX-License-Identifier: Apache-2.0
 * Hosts whose clocks are known: made-up processes on them, and what they would have recorded. */
#pragma once

#include "trace/process.h"

#include <math.h>
#include <stdlib.h>

/* The clock of one host; truth is a third clock that nobody reads. */
typedef struct Clock {
    int64_t offset_ns;
    double ppm;
    double wander_ppb; /* amplitude of a slow swing of the rate, 60 s long */
    int64_t wall_error_ns;
} Clock;

static inline int64_t
read_clock(const Clock *clock, int64_t true_ns)
{
    double period_ns = 60e9, swing_ns = clock->wander_ppb * 1e-9 * period_ns / (2 * G_PI);

    return true_ns + clock->offset_ns + (int64_t)llround((double)true_ns * clock->ppm * 1e-6) +
           (int64_t)llround(swing_ns * sin(2 * G_PI * (double)true_ns / period_ns));
}

static inline double
exponential(GRand *rand, double mean)
{
    return -mean * log(1 - g_rand_double(rand));
}

/* A process that lived from first to last (true time). boot: NULL or a boot id. */
static inline LsProcess *
make_process(int rank, int world, const Clock *clock, const char *boot, int64_t first_ns,
             int64_t last_ns)
{
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);

    process->rank.rank = rank;
    process->rank.world = world;
    process->rank.pid = 1000 + rank;
    process->rank.recorded = true;
    process->rank.host = g_strdup_printf("host%d", rank);
    process->rank.boot_id = g_strdup(boot);
    process->rank.source = g_strdup_printf("rank-%05d.lks", rank);
    process->rank.first_ns = read_clock(clock, first_ns);
    process->rank.last_ns = read_clock(clock, last_ns);
    return process;
}

/* One round trip to the peer, begun at true_ns; delays in ns each way. */
static inline void
add_roundtrip(LsProcess *process, const Clock *clock, int peer, const Clock *peer_clock,
              int64_t true_ns, int64_t out_ns, int64_t hold_ns, int64_t back_ns)
{
    LsRoundtrip trip = {
        .peer = peer,
        .send_ns = read_clock(clock, true_ns),
        .peer_receive_ns = read_clock(peer_clock, true_ns + out_ns),
        .peer_send_ns = read_clock(peer_clock, true_ns + out_ns + hold_ns),
        .receive_ns = read_clock(clock, true_ns + out_ns + hold_ns + back_ns),
    };

    g_array_append_val(process->roundtrips, trip);
}

static inline void
add_clock_pair(LsProcess *process, const Clock *clock, int64_t true_ns, int64_t uncertainty_ns)
{
    LsClockPair pair = {read_clock(clock, true_ns),
                        INT64_C(1800000000000000000) + true_ns + clock->wall_error_ns,
                        uncertainty_ns};

    g_array_append_val(process->clock_pairs, pair);
}

static inline bool
has_finding(const GArray *findings, const char *part)
{
    for (guint i = 0; i < findings->len; i++)
        if (g_strstr_len(g_array_index(findings, LsFinding, i).text, -1, part) != NULL)
            return true;
    return false;
}
