/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/instrument.c: fills records of capture/records.def from what the library does.
 */
#include "reduce/instrument.h"

#include "capture/recorder.h"

#include <stdio.h>

static const char *const stage_texts[LS_N_STAGES] = {"DRAIN", "EXCHANGE", "PARSE", "BUILD"};

static void
write_instant(LsRecordKind kind, uint32_t name, int64_t time_ns, int64_t a0, int64_t a1, int64_t a2,
              int64_t a3, int64_t a4)
{
    LsRecord record = {.kind = (uint16_t)kind,
                       .name = name,
                       .start_ns = time_ns,
                       .end_ns = time_ns,
                       .args = {a0, a1, a2, a3, a4}};
    ls_recorder_write(&record);
}

static void
write_span(LsRecordKind kind, uint32_t name, int64_t start_ns, int64_t end_ns, int64_t a0,
           int64_t a1, int64_t a2, int64_t a3, int64_t a4)
{
    LsRecord record = {.kind = (uint16_t)kind,
                       .name = name,
                       .start_ns = start_ns,
                       .end_ns = end_ns,
                       .args = {a0, a1, a2, a3, a4}};
    ls_recorder_write(&record);
}

static uint32_t
keep_name(uint32_t *name_id, const char *text)
{
    if (*name_id == 0)
        *name_id = ls_recorder_name(text);
    return *name_id;
}

void
ls_instrument_open(LsInstrument *instrument, const char *folder)
{
    instrument->open = ls_recorder_open(folder) == LS_OK;
}

void
ls_instrument_close(LsInstrument *instrument)
{
    if (instrument->open)
        ls_recorder_close();
    instrument->open = false;
}

void
ls_instrument_rank(const LsInstrument *instrument, int rank, int world, int local_rank)
{
    if (instrument->open)
        ls_recorder_set_rank(rank, world, local_rank);
}

void
ls_instrument_info(const LsInstrument *instrument, const char *key, const char *value)
{
    if (instrument->open)
        ls_recorder_set_info(key, value);
}

void
ls_instrument_thread(const LsInstrument *instrument, const char *name)
{
    if (!instrument->open)
        return;
    ls_recorder_expect_bursts(); /* cycles follow one another without a pause while tensors pend */
    ls_recorder_set_thread_name(name);
}

int64_t
ls_instrument_now(void)
{
    return ls_recorder_now();
}

bool
ls_instrument_active(void)
{
    return ls_recorder_active();
}

int64_t
ls_instrument_code(int operation, int dtype, int reduction)
{
    return operation | dtype << 8 | reduction << 16;
}

void
ls_instrument_name(const LsInstrument *instrument, const char *text, uint32_t *name_id)
{
    if (ls_recorder_active())
        keep_name(name_id, text);
}

void
ls_instrument_submit(const LsInstrument *instrument, uint32_t name, int64_t time_ns,
                     int64_t occurrence, int64_t bytes, uint32_t group, int64_t code)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_SUBMIT, name, time_ns, occurrence, bytes, group, code,
                      instrument->communicator);
}

void
ls_instrument_gate(const LsInstrument *instrument, uint32_t name, int64_t time_ns,
                   int64_t occurrence, const char *group, uint32_t *group_id)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_GATE, name, time_ns, occurrence, keep_name(group_id, group),
                      instrument->communicator, 0, 0);
}

void
ls_instrument_agreed(const LsInstrument *instrument, uint32_t name, int64_t time_ns,
                     int64_t occurrence, int64_t cycle, int64_t buffer, int64_t position)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_AGREED, name, time_ns, occurrence, cycle, buffer, position,
                      instrument->communicator);
}

void
ls_instrument_done(const LsInstrument *instrument, uint32_t name, int64_t occurrence,
                   int64_t buffer, lockstep_status status)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_DONE, name, ls_recorder_now(), occurrence, buffer, status,
                      instrument->communicator, 0);
}

void
ls_instrument_cycle(LsInstrument *instrument, const char *control, int64_t start_ns, int64_t number,
                    int path, size_t requests, size_t responses)
{
    if (ls_recorder_active())
        write_span(LS_RECORD_CYCLE, keep_name(&instrument->control, control), start_ns,
                   ls_recorder_now(), number, path, (int64_t)requests, (int64_t)responses,
                   instrument->communicator);
}

void
ls_instrument_cache(const LsInstrument *instrument, int64_t cycle, const LsCacheCount *count)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_CACHE, 0, ls_recorder_now(), cycle, instrument->communicator,
                      count->hits, count->misses,
                      (int64_t)((uint64_t)count->evicted << 32 | count->invalid));
}

void
ls_instrument_wire(const LsInstrument *instrument, int64_t buffer, int64_t bytes)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_WIRE, 0, ls_recorder_now(), buffer, instrument->communicator, bytes,
                      0, 0);
}

int64_t
ls_instrument_stage(LsInstrument *instrument, LsStage stage, int64_t start_ns, int64_t cycle)
{
    int64_t now = ls_recorder_now();
    if (ls_recorder_active())
        write_span(LS_RECORD_STAGE, keep_name(&instrument->stages[stage], stage_texts[stage]),
                   start_ns, now, cycle, instrument->communicator, 0, 0, 0);
    return now;
}

void
ls_instrument_sleep(const LsInstrument *instrument, int64_t start_ns, int64_t cycle)
{
    if (ls_recorder_active())
        write_span(LS_RECORD_SLEEP, 0, start_ns, ls_recorder_now(), cycle, instrument->communicator,
                   0, 0, 0);
}

void
ls_instrument_message(LsInstrument *instrument, LsTransportCall call, int64_t start_ns,
                      int64_t end_ns, int64_t cycle, const LsMessageCount *count)
{
    if (ls_recorder_active())
        write_span(LS_RECORD_MESSAGE,
                   keep_name(&instrument->calls[call], ls_transport_call_text(call)), start_ns,
                   end_ns, cycle, count->messages_in, count->messages_out, count->bytes_in,
                   count->bytes_out);
}

int64_t
ls_instrument_operation_begin(const LsInstrument *instrument, uint32_t name,
                              const LsBufferMark *mark)
{
    int64_t now = ls_recorder_now();
    LsRecord record = {
        .kind = LS_RECORD_OPERATION,
        .flags = LS_RECORD_OPEN,
        .name = name,
        .start_ns = now,
        .end_ns = now,
        .args = {mark->number, instrument->communicator, mark->bytes, mark->tensors, mark->code}};
    if (ls_recorder_active())
        ls_recorder_write(&record);
    return now;
}

void
ls_instrument_operation_ended(const LsInstrument *instrument, uint32_t name, int64_t start_ns,
                              int64_t end_ns, const LsBufferMark *mark)
{
    if (ls_recorder_active())
        write_span(LS_RECORD_OPERATION, name, start_ns, end_ns, mark->number,
                   instrument->communicator, mark->bytes, mark->tensors, mark->code);
}

void
ls_instrument_operation_end(const LsInstrument *instrument, uint32_t name, int64_t start_ns,
                            const LsBufferMark *mark)
{
    ls_instrument_operation_ended(instrument, name, start_ns, ls_recorder_now(), mark);
}

void
ls_instrument_copied(LsInstrument *instrument, bool in, int64_t start_ns, int64_t end_ns,
                     const LsBufferMark *mark)
{
    if (!ls_recorder_active())
        return;
    uint32_t name = in ? keep_name(&instrument->pack, "MEMCPY_IN_FUSION_BUFFER")
                       : keep_name(&instrument->unpack, "MEMCPY_OUT_FUSION_BUFFER");
    write_span(in ? LS_RECORD_PACK : LS_RECORD_UNPACK, name, start_ns, end_ns, mark->number,
               instrument->communicator, mark->bytes, 0, 0);
}

void
ls_instrument_pack(LsInstrument *instrument, int64_t start_ns, const LsBufferMark *mark)
{
    ls_instrument_copied(instrument, true, start_ns, ls_recorder_now(), mark);
}

void
ls_instrument_unpack(LsInstrument *instrument, int64_t start_ns, const LsBufferMark *mark)
{
    ls_instrument_copied(instrument, false, start_ns, ls_recorder_now(), mark);
}

void
ls_instrument_roundtrip(LsInstrument *instrument, int64_t sent_ns, int64_t received_ns, int peer,
                        int64_t peer_receive_ns, int64_t peer_send_ns, int64_t cycle)
{
    if (ls_recorder_active())
        write_span(LS_RECORD_ROUNDTRIP, keep_name(&instrument->roundtrip, "clock"), sent_ns,
                   received_ns, peer, peer_receive_ns, peer_send_ns, cycle, 0);
}

void
ls_instrument_stall(const LsInstrument *instrument, const char *tensor, const char *group,
                    int missing_rank, int64_t waited_ns)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_STALL, ls_recorder_name(tensor), ls_recorder_now(), missing_rank,
                      waited_ns, instrument->communicator,
                      group != NULL ? ls_recorder_name(group) : 0, 0);
}

void
ls_instrument_error(const LsInstrument *instrument, lockstep_status status, const char *text)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_ERROR, ls_recorder_name(text), ls_recorder_now(), status,
                      instrument->communicator, 0, 0, 0);
}

void
ls_instrument_peer_lost(const LsInstrument *instrument, int rank, int64_t pid, const char *text)
{
    if (ls_recorder_active())
        write_instant(LS_RECORD_PEER_LOST, ls_recorder_name(text), ls_recorder_now(), rank, pid,
                      instrument->communicator, 0, 0);
}

void
ls_instrument_say(const char *text)
{
    if (ls_recorder_active())
        ls_recorder_notice(1, text);
    else
        fprintf(stderr, "lockstep: %s\n", text);
}

void
ls_instrument_tell(const char *text)
{
    if (ls_recorder_active())
        ls_recorder_say(text);
    else
        fprintf(stderr, "lockstep: %s\n", text);
}

void
ls_instrument_recover(const LsInstrument *instrument)
{
    if (instrument->open)
        ls_recorder_recover(NULL);
}
