/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/instrument.h: what the library records of itself; the only file here that knows the
 * recorder (src/capture).
 *
 * One function per record kind of the block 32-47 of capture/records.def. Every call is one load
 * where nothing is recorded. Times are ls_instrument_now(). Ranks in records are those of the job
 * (MPI_COMM_WORLD), since the trace knows no communicators. Any thread, but one context's cycle
 * functions only from its communication thread.
 */
#pragma once

#include "reduce/control.h"
#include "reduce/graph.h"
#include "reduce/lockstep.h"
#include "reduce/transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LsStage {
    LS_STAGE_DRAIN,    /* taking what was submitted */
    LS_STAGE_EXCHANGE, /* inside the transport */
    LS_STAGE_PARSE,
    LS_STAGE_BUILD,
    LS_N_STAGES
} LsStage;

typedef struct LsInstrument {
    bool open; /* holds the recorder open */
    int64_t communicator;
    uint32_t stages[LS_N_STAGES], calls[LS_N_CALLS], control; /* name ids, 0: not yet */
    uint32_t pack, unpack, roundtrip;
} LsInstrument;

/* One buffer on its way: what its records share. */
typedef struct LsBufferMark {
    int64_t number, bytes, tensors;
    int64_t wire; /* bytes as they travel; 0: as they are */
    int64_t code;
} LsBufferMark;

/* folder: as lockstep_options.run. Recording that cannot be had is no failure. */
void ls_instrument_open(LsInstrument *instrument, const char *folder);
void ls_instrument_close(LsInstrument *instrument);
void ls_instrument_rank(const LsInstrument *instrument, int rank, int world, int local_rank);
void ls_instrument_info(const LsInstrument *instrument, const char *key, const char *value);
void ls_instrument_thread(const LsInstrument *instrument, const char *name);

int64_t ls_instrument_now(void);
/* Whether records are written now. */
bool ls_instrument_active(void);
/* operation | dtype << 8 | reduction << 16 */
int64_t ls_instrument_code(int operation, int dtype, int reduction);
/* Fills *name_id on first use. */
void ls_instrument_name(const LsInstrument *instrument, const char *text, uint32_t *name_id);

void ls_instrument_submit(const LsInstrument *instrument, uint32_t name, int64_t time_ns,
                          int64_t occurrence, int64_t bytes, uint32_t group, int64_t code);
/* group: its name; fills *group_id on first use. time_ns: when the last of it was submitted here.
 */
void ls_instrument_gate(const LsInstrument *instrument, uint32_t name, int64_t time_ns,
                        int64_t occurrence, const char *group, uint32_t *group_id);
void ls_instrument_agreed(const LsInstrument *instrument, uint32_t name, int64_t time_ns,
                          int64_t occurrence, int64_t cycle, int64_t buffer, int64_t position);
/* buffer: -1 where the tensor was never in one. */
void ls_instrument_done(const LsInstrument *instrument, uint32_t name, int64_t occurrence,
                        int64_t buffer, lockstep_status status);

void ls_instrument_cycle(LsInstrument *instrument, const char *control, int64_t start_ns,
                         int64_t number, int path, size_t requests, size_t responses);
/* From start to now; returns now. */
int64_t ls_instrument_stage(LsInstrument *instrument, LsStage stage, int64_t start_ns,
                            int64_t cycle);
void ls_instrument_cache(const LsInstrument *instrument, int64_t cycle, const LsCacheCount *count);
/* The buffer's bytes as they travelled. */
void ls_instrument_wire(const LsInstrument *instrument, int64_t buffer, int64_t bytes);
/* The graph's tensors and edges and the groups' members, `most` records from *at on, which moves
 * on. May be NULL. Returns whether all is written. */
bool ls_instrument_graph(const LsInstrument *instrument, const LsGraph *graph,
                         const LsGroups *groups, int most, size_t *at);
void ls_instrument_sleep(const LsInstrument *instrument, int64_t start_ns, int64_t cycle);
void ls_instrument_message(LsInstrument *instrument, LsTransportCall call, int64_t start_ns,
                           int64_t end_ns, int64_t cycle, const LsMessageCount *count);

/* Begin writes the open record and returns the start, which end needs. */
int64_t ls_instrument_operation_begin(const LsInstrument *instrument, uint32_t name,
                                      const LsBufferMark *mark);
void ls_instrument_operation_end(const LsInstrument *instrument, uint32_t name, int64_t start_ns,
                                 const LsBufferMark *mark);
/* As end, but at a time of the past: a device's. */
void ls_instrument_operation_ended(const LsInstrument *instrument, uint32_t name, int64_t start_ns,
                                   int64_t end_ns, const LsBufferMark *mark);
void ls_instrument_pack(LsInstrument *instrument, int64_t start_ns, const LsBufferMark *mark);
void ls_instrument_unpack(LsInstrument *instrument, int64_t start_ns, const LsBufferMark *mark);
/* The same on a device: packed, or unpacked, between two times. */
void ls_instrument_copied(LsInstrument *instrument, bool in, int64_t start_ns, int64_t end_ns,
                          const LsBufferMark *mark);

void ls_instrument_roundtrip(LsInstrument *instrument, int64_t sent_ns, int64_t received_ns,
                             int peer, int64_t peer_receive_ns, int64_t peer_send_ns,
                             int64_t cycle);
/* group: NULL: none. */
void ls_instrument_stall(const LsInstrument *instrument, const char *tensor, const char *group,
                         int missing_rank, int64_t waited_ns);
void ls_instrument_error(const LsInstrument *instrument, lockstep_status status, const char *text);
void ls_instrument_peer_lost(const LsInstrument *instrument, int rank, int64_t pid,
                             const char *text);
/* A sentence into the trace and onto standard error: there once per process, and also where
 * nothing is recorded. */
void ls_instrument_say(const char *text);
/* Onto standard error alone: what has a record of its own (stall, error, peer lost). */
void ls_instrument_tell(const char *text);
/* Has the recorder save what dead processes of this host left in shared memory. */
void ls_instrument_recover(const LsInstrument *instrument);
