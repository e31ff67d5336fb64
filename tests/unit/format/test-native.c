/* SPDX-License-Identifier: Apache-2.0
 * The records of a trace file: each kind is read back as what it says, and what is missing, unknown
 * or impossible costs no more than itself. */
#include "native-fixture.h"

static int64_t
time_of(const LsProcess *process, const char *text)
{
    for (guint i = 0; i < process->findings->len; i++) {
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, i);
        if (strstr(finding->text, text))
            return finding->time_ns;
    }
    return 0;
}

static size_t
count_spans(const LsProcess *process, LsTrackKind kind)
{
    size_t n = 0;
    for (guint i = 0; i < process->tracks->len; i++) {
        const LsTrackBuilder *track = g_ptr_array_index(process->tracks, i);
        if (ls_track_builder_get_kind(track) == kind)
            n += ls_track_builder_get_n(track);
    }
    return n;
}

/* What reduce knows of its tensors; what its cache was asked; what compression made of a buffer. */
static void
test_graph_cache_and_wire_are_read(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 2, TENSOR, "b", 100, 100, 0, 64, ls_synth_file_name(file, "group 0"), 1);
    ADD(file, 2, TENSOR, "a", 101, 101, 0, 32, ls_synth_file_name(file, "group 0"), 0);
    ADD(file, 2, TENSOR, "beside", 102, 102, 0, -1, ls_synth_file_name(file, "group 1"), -1);
    ADD(file, 2, NEEDS, "b", 103, 103, 0, ls_synth_file_name(file, "a"),
        ls_synth_file_name(file, "x"));
    ADD(file, 2, CYCLE, "bitvector", 200, 300, 9, LS_PATH_MIXED, 3, 1);
    ADD(file, 2, CACHE, "", 290, 290, 9, 0, 5, 2, (int64_t)(UINT64_C(7) << 32 | 1));
    ADD(file, 2, CYCLE, "bitvector", 300, 400, 10, LS_PATH_IDLE, 0, 0);
    ADD(file, 2, OPERATION, "ONEBIT_ALLREDUCE", 400, 500, 3, 0, 4096, 1);
    ADD(file, 2, WIRE, "", 500, 500, 3, 0, 140);
    g_assert_true(ls_synth_file_close(file));

    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->findings->len, ==, 0);
    g_assert_cmpuint(process->graph_tensors->len, ==, 3);
    const LsGraphTensor *tensors = (const LsGraphTensor *)(void *)process->graph_tensors->data;
    g_assert_cmpstr(ls_strings_get(process->strings, tensors[0].tensor), ==, "b");
    g_assert_cmpstr(ls_strings_get(process->strings, tensors[0].group), ==, "group 0");
    g_assert_cmpint(tensors[0].bytes, ==, 64);
    g_assert_cmpint(tensors[0].place, ==, 1);
    g_assert_cmpint(tensors[2].bytes, ==, -1);
    g_assert_cmpint(tensors[2].place, ==, -1);
    g_assert_cmpuint(process->graph_needs->len, ==, 2);
    const LsGraphNeed *needs = (const LsGraphNeed *)(void *)process->graph_needs->data;
    g_assert_cmpuint(needs[0].tensor, ==, tensors[0].tensor);
    g_assert_cmpuint(needs[0].needed, ==, tensors[1].tensor);
    g_assert_cmpstr(ls_strings_get(process->strings, needs[1].needed), ==, "x");
    g_assert_cmpuint(process->cycles->len, ==, 2);
    const LsCycle *cycles = (const LsCycle *)(void *)process->cycles->data;
    g_assert_true(cycles[0].cache_known);
    g_assert_cmpuint(cycles[0].hits, ==, 5);
    g_assert_cmpuint(cycles[0].misses, ==, 2);
    g_assert_cmpuint(cycles[0].invalid, ==, 1);
    g_assert_cmpuint(cycles[0].evicted, ==, 7);
    g_assert_cmpint(cycles[0].start_ns, ==, 200);
    g_assert_false(cycles[1].cache_known);
    g_assert_cmpuint(process->calls->len, ==, 1);
    const LsCall *call = (const LsCall *)(void *)process->calls->data;
    g_assert_cmpint(call->bytes, ==, 4096);
    g_assert_cmpint(call->wire_bytes, ==, 140);
    g_assert_cmpint(call->start_ns, ==, 400);
}

/* One tensor's life: the loop's half (thread 2) is written before the program's (thread 1). */
static void
test_life_of_a_tensor_is_joined(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 3);
    ls_synth_file_info(file, "host", "gpu05");
    ls_synth_file_info(file, "world", "4");
    ls_synth_file_info(file, "local_rank", "1");
    ls_synth_file_info(file, "boot_id", "b-1");
    ls_synth_file_info(file, "command", "train");
    ADD(file, 2, AGREED, "layer1", 2000, 2000, 7, 40, 11, 2);
    ADD(file, 2, STAGE, "DRAIN", 1800, 1850, 40);
    ADD(file, 2, STAGE, "EXCHANGE", 1850, 1950, 40);
    ADD(file, 2, CYCLE, "coordinator", 1790, 2010, 40, LS_PATH_SLOW, 3, 1);
    ADD(file, 2, PACK, "MEMCPY_IN_FUSION_BUFFER", 2100, 2200, 11, 0, 4096);
    ADD(file, 2, OPERATION, "MPI_ALLREDUCE", 2200, 2900, 11, 0, 4096, 3, 0 | 1 << 8 | 1 << 16);
    ADD(file, 2, UNPACK, "MEMCPY_OUT_FUSION_BUFFER", 2900, 2950, 11, 0, 4096);
    ADD(file, 2, DONE, "layer1", 2960, 2960, 7, 11, 0);
    ADD(file, 2, SLEEP, "", 2960, 3960, 40);
    ADD(file, 2, MESSAGE, "gather", 1860, 1900, 40, 3, 0, 300, 0);
    ls_synth_file_flush(file, 2);
    ADD(file, 1, SUBMIT, "layer1", 1000, 1000, 7, 1024, ls_synth_file_name(file, "group0"), 1 << 8);
    ADD(file, 1, GATE, "layer1", 1200, 1200, 7, ls_synth_file_name(file, "group0"));
    g_assert_true(ls_synth_file_close(file));

    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpint(process->rank.rank, ==, 3);
    g_assert_cmpint(process->rank.pid, ==, 1003);
    g_assert_cmpint(process->rank.world, ==, 4);
    g_assert_cmpint(process->rank.local_rank, ==, 1);
    g_assert_cmpstr(process->rank.host, ==, "gpu05");
    g_assert_cmpstr(process->rank.boot_id, ==, "b-1");
    g_assert_cmpstr(g_hash_table_lookup(process->facts, "command"), ==, "train");
    g_assert_cmpuint(process->rank.records, ==, 12);
    g_assert_cmpint(process->rank.first_ns, ==, 1000);
    g_assert_cmpint(process->rank.last_ns, ==, 3960);
    g_assert_cmpuint(process->findings->len, ==, 0);

    g_assert_cmpuint(process->uses->len, ==, 1);
    const LsUse *use = &g_array_index(process->uses, LsUse, 0);
    g_assert_cmpstr(ls_strings_get(process->strings, use->tensor), ==, "layer1");
    g_assert_cmpstr(ls_strings_get(process->strings, use->group), ==, "group0");
    g_assert_cmpuint(use->occurrence, ==, 7);
    g_assert_cmpint(use->bytes, ==, 1024);
    g_assert_cmpuint(use->dtype, ==, 1);
    g_assert_cmpuint(use->position, ==, 2);
    g_assert_cmpint(use->submit_ns, ==, 1000);
    g_assert_cmpint(use->gate_ns, ==, 1200);
    g_assert_cmpint(use->agreed_ns, ==, 2000);
    g_assert_cmpint(use->done_ns, ==, 2960);

    g_assert_cmpuint(process->calls->len, ==, 1);
    const LsCall *call = &g_array_index(process->calls, LsCall, use->call);
    g_assert_cmpint(call->sequence, ==, 11);
    g_assert_cmpuint(call->tensors, ==, 3);
    g_assert_cmpint(call->bytes, ==, 4096);
    g_assert_cmpuint(call->reduction, ==, 1);
    g_assert_cmpint(call->start_ns, ==, 2200);
    g_assert_cmpint(call->end_ns, ==, 2900);
    g_assert_cmpint(call->pack_start_ns, ==, 2100);
    g_assert_cmpint(call->unpack_end_ns, ==, 2950);
    g_assert_true(call->device_timed);
    g_assert_false(call->open);

    g_assert_cmpuint(process->cycles->len, ==, 1);
    const LsCycle *cycle = &g_array_index(process->cycles, LsCycle, 0);
    g_assert_cmpint(cycle->number, ==, 40);
    g_assert_cmpint(cycle->start_ns, ==, 1790);
    g_assert_cmpint(cycle->end_ns, ==, 2010);
    g_assert_cmpint(cycle->drain_ns, ==, 50);
    g_assert_cmpint(cycle->exchange_ns, ==, 100);
    g_assert_cmpuint(cycle->path, ==, LS_PATH_SLOW);
    g_assert_cmpuint(process->sleeps->len, ==, 1);
    g_assert_cmpint(g_array_index(process->messages, LsMessage, 0).bytes_in, ==, 300);
    g_assert_cmpuint(count_spans(process, LS_TRACK_COMMUNICATION), ==, 3);
    g_assert_cmpuint(count_spans(process, LS_TRACK_CYCLES), ==, 3);
    /* NEGOTIATE_ALLREDUCE, ALLREDUCE, QUEUE, in, MPI_ALLREDUCE, out. */
    g_assert_cmpuint(count_spans(process, LS_TRACK_TENSOR), ==, 6);
}

/* As the library writes it: the loop's thread says the group, the program's does not know it. */
static void
test_group_is_the_gates_whoever_is_read_first(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 1, SUBMIT, "before", 1000, 1000, 0, 1024, 0, 1 << 8);
    ls_synth_file_flush(file, 1);
    ADD(file, 2, GATE, "before", 1100, 1100, 0, ls_synth_file_name(file, "group0"));
    ADD(file, 2, GATE, "after", 1200, 1200, 0, ls_synth_file_name(file, "group1"));
    ls_synth_file_flush(file, 2);
    ADD(file, 1, SUBMIT, "after", 1010, 1010, 0, 1024, 0, 1 << 8);
    g_assert_true(ls_synth_file_close(file));

    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->uses->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const LsUse *use = &g_array_index(process->uses, LsUse, i);
        g_assert_cmpint(use->submit_ns, ==, 1000 + 10 * (int64_t)i);
        g_assert_cmpint(use->gate_ns, ==, 1100 + 100 * (int64_t)i);
        g_assert_cmpstr(ls_strings_get(process->strings, use->group), ==,
                        i == 0 ? "group0" : "group1");
    }
}

static void
test_marks_and_counters(Fixture *fixture, gconstpointer data)
{
    int64_t half;
    memcpy(&half, &(double){0.5}, sizeof half);
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 0, THREAD, "loader", 1, 1, 6);
    ADD(file, 5, STEP, "step", 100, 900, 17, 32, 1000000);
    ADD(file, 5, PHASE, "forward", 100, 300, 5000);
    ADD(file, 6, PHASE, "input", 50, 90);
    ADD(file, 5, COUNTER, "loss", 850, 850, half);
    ADD(file, 5, INSTANT, "epoch", 860, 860, 0);
    ADD(file, 0, CLOCK, "", 70, 70, 1700000000000000000, 25);
    ADD(file, 5, ROUNDTRIP, "", 500, 540, 2, 9000, 9010, 3);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const LsStep *step = &g_array_index(process->steps, LsStep, 0);
    g_assert_cmpint(step->number, ==, 17);
    g_assert_cmpint(step->samples, ==, 32);
    g_assert_cmpint(step->operations, ==, 1000000);
    g_assert_false(step->cut);
    g_assert_cmpuint(process->phases->len, ==, 1); /* the other says no operations */
    g_assert_cmpint(g_array_index(process->phases, LsPhase, 0).operations, ==, 5000);
    g_assert_cmpuint(count_spans(process, LS_TRACK_PHASES), ==, 2);
    g_assert_cmpuint(count_spans(process, LS_TRACK_COUNTER), ==, 1);
    g_assert_cmpuint(g_array_index(process->instants, LsInstant, 0).kind, ==, LS_INSTANT_MARK);
    const LsClockPair *pair = &g_array_index(process->clock_pairs, LsClockPair, 0);
    g_assert_cmpint(pair->wall_ns, ==, 1700000000000000000);
    g_assert_cmpint(pair->uncertainty_ns, ==, 25);
    const LsRoundtrip *trip = &g_array_index(process->roundtrips, LsRoundtrip, 0);
    g_assert_cmpint(trip->peer, ==, 2);
    g_assert_cmpint(trip->peer_send_ns, ==, 9010);
    g_assert_cmpint(trip->receive_ns, ==, 540);
}

static void
test_what_never_ended_is_kept_open(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord step = {.kind = LS_RECORD_STEP,
                     .flags = LS_RECORD_OPEN,
                     .start_ns = 100,
                     .end_ns = 100,
                     .args = {1}};
    LsRecord call = {.kind = LS_RECORD_OPERATION,
                     .flags = LS_RECORD_OPEN,
                     .start_ns = 150,
                     .end_ns = 150,
                     .args = {9}};
    step.name = ls_synth_file_name(file, "step");
    call.name = ls_synth_file_name(file, "MPI_ALLREDUCE");
    ls_synth_file_add(file, 5, &step);
    ls_synth_file_add(file, 5, &call);
    step.flags = 0;
    step.end_ns = 500;
    ls_synth_file_add(file, 5, &step); /* supersedes */
    step = (LsRecord){.kind = LS_RECORD_STEP,
                      .flags = LS_RECORD_OPEN,
                      .name = step.name,
                      .start_ns = 600,
                      .end_ns = 600,
                      .args = {2}};
    ls_synth_file_add(file, 5, &step);
    ADD(file, 5, PHASE, "forward", 600, 700, 0);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->steps->len, ==, 2);
    const LsStep *steps = &g_array_index(process->steps, LsStep, 0);
    g_assert_false(steps[0].cut);
    g_assert_cmpint(steps[0].end_ns, ==, 500);
    g_assert_true(steps[1].cut);
    g_assert_cmpint(steps[1].start_ns, ==, 600);
    g_assert_cmpint(steps[1].end_ns, ==, 700);
    const LsCall *open = &g_array_index(process->calls, LsCall, 0);
    g_assert_true(open->open);
    g_assert_cmpint(open->end_ns, ==, 700);
}

static void
begin_span(LsSynthFile *file, uint32_t thread, LsRecordKind kind, const char *name, int64_t start,
           int64_t number)
{
    LsRecord record = {.kind = (uint16_t)kind,
                       .flags = LS_RECORD_OPEN,
                       .name = ls_synth_file_name(file, name),
                       .start_ns = start,
                       .end_ns = start,
                       .args = {number}};
    ls_synth_file_add(file, thread, &record);
}

/* Of step 1, of step 2's forward and of buffer 8 the end is not there (lost, or damaged), and of
 * step 1's forward, which step 1 encloses; all goes on to 900. Thread 7 does not step: its input
 * may well last. */
static void
test_an_end_that_is_missing_is_not_the_last(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    begin_span(file, 5, LS_RECORD_STEP, "step", 100, 1);
    begin_span(file, 5, LS_RECORD_PHASE, "forward", 110, 1);
    begin_span(file, 7, LS_RECORD_PHASE, "input", 120, 1);
    begin_span(file, 6, LS_RECORD_OPERATION, "MPI_ALLREDUCE", 150, 8);
    ADD(file, 8, OPERATION, "MPI_BCAST", 180, 190, 0, 1); /* another communicator's */
    begin_span(file, 5, LS_RECORD_STEP, "step", 200, 2);
    begin_span(file, 5, LS_RECORD_PHASE, "forward", 210, 1);
    ADD(file, 6, OPERATION, "MPI_ALLREDUCE", 250, 260, 9);
    ADD(file, 5, STEP, "step", 200, 290, 2);
    ADD(file, 5, PHASE, "forward", 310, 350, 0);
    ADD(file, 5, STEP, "step", 300, 400, 3);
    ADD(file, 5, INSTANT, "end", 900, 900, 0);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const int64_t ends[] = {0, 200, 290, 400};
    g_assert_cmpuint(process->steps->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const LsStep *step = &g_array_index(process->steps, LsStep, i);
        g_assert_cmpint(step->end_ns, ==, ends[step->number]);
        g_assert_cmpint(step->cut, ==, step->number != 3);
    }
    for (guint i = 0; i < process->calls->len; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        if (call->communicator == 1)
            continue;
        g_assert_cmpint(call->open, ==, call->sequence == 8);
        g_assert_cmpint(call->end_ns, ==, call->sequence == 8 ? 250 : 260);
    }
    g_assert_cmpuint(process->calls->len, ==, 3);
    g_assert_cmpint(severity_of(process, "Of 4 steps, phases or operations"), ==, LS_WARNING);

    g_assert_cmpuint(process->phases->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const LsPhase *phase = &g_array_index(process->phases, LsPhase, i);
        int64_t start_ns = phase->start_ns;
        g_assert_cmpint(phase->end_ns, ==, start_ns == 110 ? 200 : start_ns == 120 ? 900 : 300);
    }
}

/* What was begun and not ended when records ceased to be kept, by request, ends there, not with the
 * process, whose clock goes on. What began in the last window, which lasted, ends with it. */
static void
test_a_window_ends_what_is_open_in_it(Fixture *fixture, gconstpointer data)
{
    static const int64_t starts[] = {120, 450, 720}, ends[] = {200, 500, 900};
    for (int last_is_cut = 0; last_is_cut < 2; last_is_cut++) {
        LsSynthFile *file = begin(fixture, last_is_cut ? "b.lks" : "a.lks", 0);
        for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
            LsRecord step = {.kind = LS_RECORD_STEP,
                             .flags = LS_RECORD_OPEN,
                             .start_ns = starts[i],
                             .end_ns = starts[i],
                             .args = {(int64_t)i}};
            ls_synth_file_add(file, 2, &step);
        }
        ADD(file, 0, WINDOW, "", 100, 200);
        ADD(file, 0, WINDOW, "", 400, 500);
        if (last_is_cut)
            ADD(file, 0, WINDOW, "", 700, 750);
        ADD(file, 0, CLOCK, "", 900, 900, 5000, 1);
        g_assert_true(ls_synth_file_close(file));
        const LsProcess *process = load(fixture, last_is_cut ? "b.lks" : "a.lks", 1);
        g_assert_cmpuint(process->steps->len, ==, 3);
        for (guint i = 0; i < 3; i++) {
            const LsStep *step = &g_array_index(process->steps, LsStep, i);
            int64_t end_ns = i == 2 && last_is_cut ? 750 : ends[i];
            g_assert_cmpint(step->start_ns, ==, starts[i]);
            g_assert_cmpint(step->end_ns, ==, end_ns);
            g_assert_true(step->cut);
        }
        if (last_is_cut)
            g_assert_cmpint(process->rank.last_ns, ==, 750);
    }
}

/* A rank that died between a buffer's preparation and its execution; what a record of the wire
 * alone tells. */
static void
test_a_call_has_times_whatever_told_of_it(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord wait = {.kind = LS_RECORD_OPERATION,
                     .flags = LS_RECORD_OPEN,
                     .name = ls_synth_file_name(file, "WAIT_FOR_DATA"),
                     .start_ns = 150,
                     .end_ns = 150,
                     .args = {10}};
    ADD(file, 2, OPERATION, "INIT_NCCL", 100, 140, 9);
    ADD(file, 2, WIRE, "", 145, 145, 8, 0, 12);
    ls_synth_file_add(file, 2, &wait);
    ADD(file, 5, PHASE, "forward", 120, 700, 0);
    ADD(file, 2, WIRE, "", 300, 300, 11, 0, 12);
    ADD(file, 2, OPERATION, "MPI_ALLREDUCE", 200, 290, 11);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpuint(process->calls->len, ==, 4);
    const int64_t starts[] = {140, 145, 200, 200}, ends[] = {140, 145, 290, 200};
    const int64_t buffers[] = {9, 8, 11, 10};
    for (guint i = 0; i < 4; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        g_assert_cmpint(call->sequence, ==, buffers[i]);
        g_assert_cmpint(call->start_ns, ==, starts[i]);
        g_assert_cmpint(call->end_ns, ==, ends[i]);
        g_assert_cmpint(call->open, ==, buffers[i] != 11);
    }
}

/* What a flight recorder gave up by request is no loss; what a full ring lost is one there too. */
static void
test_a_flight_recorder_gives_up(Fixture *fixture, gconstpointer data)
{
    for (int is_flight = 0; is_flight < 2; is_flight++) {
        const char *name = is_flight ? "flight.lks" : "bounded.lks";
        LsSynthFile *file = begin(fixture, name, 0);
        if (is_flight)
            ls_synth_file_info(file, "recorder.flight", "8000000");
        ADD(file, 5, PHASE, "forward", 100, 200, 0);
        ADD(file, 0, LOST, "", 300, 800, 0, 7000);
        ADD(file, 0, LOST, "", 850, 860, 5, 30);
        ADD(file, 5, PHASE, "forward", 900, 950, 0);
        g_assert_true(ls_synth_file_close(file));
        const LsProcess *process = load(fixture, name, 1);
        g_assert_cmpuint(process->rank.lost, ==, is_flight ? 30 : 7030);
        g_assert_cmpuint(process->rank.given_up, ==, is_flight ? 7000 : 0);
        g_assert_cmpint(severity_of(process, "7000 records of 500 ns"), ==,
                        is_flight ? LS_NOTE : LS_WARNING);
        g_assert_cmpint(severity_of(process, "30 records of thread 5"), ==, LS_WARNING);
        g_assert_cmpint(severity_of(process, "in all"), ==, -1);
    }
}

/* What can be no time, no number of bytes and no place in an order is not passed on, so that nobody
 * who adds up or subtracts need fear it. */
static void
test_what_cannot_be_is_unknown(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 0, CLOCK, "", 10, 10, INT64_MIN, 5);
    ADD(file, 0, CLOCK, "", 11, 11, 5, INT64_MAX);
    ADD(file, 0, CLOCK, "", 12, 12, 1790000000000000000, 5);
    ADD(file, 2, ROUNDTRIP, "", 20, 21, 1, INT64_MAX, 5);
    ADD(file, 2, ROUNDTRIP, "", 20, 21, 1, 5, INT64_MIN);
    ADD(file, 2, SUBMIT, "a", 30, 30, 0, INT64_MAX);
    ADD(file, 2, OPERATION, "MPI_ALLREDUCE", 31, 32, 0, 0, INT64_MAX);
    ADD(file, 2, WIRE, "", 32, 32, 0, 0, INT64_MAX);
    ADD(file, 2, MESSAGE, "gather", 33, 34, 0, -1, INT64_MAX, INT64_MIN, 7);
    ADD(file, 2, STEP, "", 1, 35, 1, INT64_MAX, INT64_MAX);
    ADD(file, 2, NCCL_COLL, "AllReduce", 36, 37, 1, INT64_MAX, INT64_MAX);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpint(severity_of(process, "4 records make no sense"), ==, LS_FAULT);
    g_assert_cmpuint(process->clock_pairs->len, ==, 1);
    g_assert_cmpuint(process->roundtrips->len, ==, 0);
    g_assert_cmpint(g_array_index(process->uses, LsUse, 0).bytes, ==, -1);
    g_assert_cmpuint(process->calls->len, ==, 2);
    for (guint i = 0; i < 2; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        g_assert_cmpint(call->bytes, ==, -1);
        g_assert_cmpint(call->wire_bytes, ==, 0);
        g_assert_cmpint(call->sequence, ==, call->by_nccl ? -1 : 0);
    }
    const LsMessage *message = &g_array_index(process->messages, LsMessage, 0);
    g_assert_cmpint(message->messages_in, ==, 0);
    g_assert_cmpint(message->messages_out, ==, 0);
    g_assert_cmpint(message->bytes_in, ==, 0);
    g_assert_cmpint(message->bytes_out, ==, 7);
    const LsStep *step = &g_array_index(process->steps, LsStep, 0);
    g_assert_cmpint(step->samples, ==, 0);
    g_assert_cmpint(step->operations, ==, 0);
}

static void
test_findings_of_the_recorder_come_through(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    ADD(file, 5, PEER_LOST, "", 100, 100, 2, 4711);
    ADD(file, 5, STALL, "layer1", 90, 90, 2, 60000000000);
    ADD(file, 5, STALL, "layer2/w", 91, 91, 2, 61000000000, 0, ls_synth_file_name(file, "layer2"));
    ADD(file, 5, ERROR, "shapes differ", 95, 95, -7);
    ADD(file, 0, NOTICE, "disk is nearly full", 97, 97, 1);
    ADD(file, 0, LOST, "", 10, 20, 5, 321);
    ls_synth_file_add_lost(file, 5, 321);
    ADD(file, 5, INSTANT, "x", 110, 110, 0);
    ls_synth_file_add_unknown(file, 5, 1234);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    g_assert_cmpint(severity_of(process, "Rank 2 (pid 4711) was lost"), ==, LS_FAULT);
    g_assert_cmpint(severity_of(process, "layer1 waited 60000 ms for rank 2"), ==, LS_WARNING);
    g_assert_cmpint(severity_of(process, "layer2/w of group layer2 waited 61000 ms"), ==,
                    LS_WARNING);
    g_assert_cmpint(severity_of(process, "shapes differ"), ==, LS_FAULT);
    g_assert_cmpint(severity_of(process, "disk is nearly full"), ==, LS_WARNING);
    g_assert_cmpint(severity_of(process, "321 records of thread 5 were lost"), ==, LS_WARNING);
    g_assert_cmpint(severity_of(process, "kinds that this version does not know"), ==, LS_NOTE);
    g_assert_cmpint(time_of(process, "Rank 2 (pid 4711) was lost"), ==, 100);
    g_assert_cmpint(time_of(process, "layer1 waited"), ==, 90);
    g_assert_cmpint(time_of(process, "shapes differ"), ==, 95);
    g_assert_cmpint(time_of(process, "disk is nearly full"), ==, 97);
    g_assert_cmpint(time_of(process, "321 records of thread 5 were lost within 10 ns"), ==, 10);
    g_assert_cmpint(time_of(process, "kinds that this version"), ==, LS_TIME_NONE);
    g_assert_cmpuint(process->rank.lost, ==, 321);
    g_assert_cmpuint(process->findings->len, ==, 7);
    g_assert_cmpuint(process->instants->len, ==, 5);
}

static size_t
count_track(LsProcess *process, LsTrackKind kind, const char *name, const char *category,
            int64_t id)
{
    guint n = process->tracks->len;
    size_t spans = ls_track_builder_get_n(ls_process_get_track(process, kind, name, category, id));
    g_assert_cmpuint(process->tracks->len, ==, n); /* it was there */
    return spans;
}

/* More threads and streams, by turns, than the reader keeps at hand, and numbers that share a place
 * there. */
static void
test_tracks_of_a_device_are_told_apart(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    const int64_t many = 150, turns = 3;
    for (int64_t i = 0; i < turns * many; i++) {
        int64_t of = i % many, at = i * 100;
        ADD(file, 7, API, "cuLaunchKernel", at, at + 9, i, of * 64);
        ADD(file, 7, KERNEL, "gemm", at, at + 9, of / 2, i, of % 2);
        ADD(file, 7, COPY, "copy", at, at + 9, 0, 0, 0, 0, of % 3);
        ADD(file, 7, MEMSET, "fill", at, at + 9);
        ADD(file, 7, SYNC, "wait", at, at + 9);
    }
    g_assert_true(ls_synth_file_close(file));
    LsProcess *process = load(fixture, "a.lks", 1);
    for (int64_t of = 0; of < many; of++) {
        g_autofree char *calls = g_strdup_printf("calls of thread %" G_GINT64_FORMAT, of * 64);
        g_autofree char *stream =
            g_strdup_printf(of % 2 ? "device 1 stream %d" : "stream %d", (int)of / 2);
        g_assert_cmpuint(count_track(process, LS_TRACK_THREAD, calls, "driver call", of * 64), ==,
                         turns);
        g_assert_cmpuint(count_track(process, LS_TRACK_STREAM, stream, "kernel", of / 2), ==,
                         turns);
    }
    static const char *const copies[] = {"copies", "copies to device", "copies to host"};
    for (size_t i = 0; i < G_N_ELEMENTS(copies); i++)
        g_assert_cmpuint(count_track(process, LS_TRACK_COPIES, copies[i], "memcpy", -1), ==,
                         turns * many / 3);
    g_assert_cmpuint(count_track(process, LS_TRACK_COPIES, "fills", "memset", -1), ==,
                     turns * many);
    g_assert_cmpuint(count_track(process, LS_TRACK_THREAD, "waits for the device", "sync", -1), ==,
                     turns * many);
}

/* NCCL that tells of no launch: the last kernel that the collective's thread had launched. */
static void
test_a_collective_has_the_kernel_launched_before_it(Fixture *fixture, gconstpointer data)
{
    static const char kernel[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    for (int64_t i = 0; i < 3; i++) { /* thread 5 launches 1, 2, 3; thread 6 launches 11, 12, 13 */
        ADD(file, 5, API, "cudaLaunchKernel", 100 * i, 100 * i + 5, 1 + i, 5);
        ADD(file, 6, API, "cudaLaunchKernel", 100 * i + 20, 100 * i + 25, 11 + i, 6);
        ADD(file, 9, KERNEL, kernel, 1000 + 100 * i, 1050 + 100 * i, 7, 1 + i, 256);
        ADD(file, 9, KERNEL, kernel, 2000 + 100 * i, 2050 + 100 * i, 8, 11 + i, 256);
    }
    ADD(file, 9, KERNEL, kernel, 500, 510, 7, 77, 256); /* nobody launched it */
    ADD(file, 6, NCCL_COLL, "AllReduce", 10, 11, 1, 0, 64);
    ADD(file, 5, NCCL_COLL, "AllReduce", 100, 101, 1, 1, 64);
    ADD(file, 6, NCCL_COLL, "AllReduce", 219, 220, 1, 2, 64);
    ADD(file, 5, NCCL_COLL, "AllReduce", 900, 901, 1, 3, 64);
    ADD(file, 7, NCCL_COLL, "AllReduce", 950, 951, 1, 4, 64);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const int64_t starts[] = {1100, 2100, 1200};
    g_assert_cmpuint(process->calls->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        g_assert_cmpint(call->sequence, ==, 16 * (i + 1));
        g_assert_cmpint(call->start_ns, ==, starts[i]);
        g_assert_true(call->device_timed);
    }
    g_assert_cmpint(severity_of(process, "2 of 5 NCCL operations are left out"), ==, LS_NOTE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST("life-of-a-tensor-is-joined", test_life_of_a_tensor_is_joined);
    TEST("group-is-the-gates-whoever-is-read-first", test_group_is_the_gates_whoever_is_read_first);
    TEST("graph-cache-and-wire-are-read", test_graph_cache_and_wire_are_read);
    TEST("marks-and-counters", test_marks_and_counters);
    TEST("what-never-ended-is-kept-open", test_what_never_ended_is_kept_open);
    TEST("a-call-has-times-whatever-told-of-it", test_a_call_has_times_whatever_told_of_it);
    TEST("what-cannot-be-is-unknown", test_what_cannot_be_is_unknown);
    TEST("an-end-that-is-missing-is-not-the-last", test_an_end_that_is_missing_is_not_the_last);
    TEST("a-flight-recorder-gives-up", test_a_flight_recorder_gives_up);
    TEST("a-window-ends-what-is-open-in-it", test_a_window_ends_what_is_open_in_it);
    TEST("findings-of-the-recorder-come-through", test_findings_of_the_recorder_come_through);
    TEST("tracks-of-a-device-are-told-apart", test_tracks_of_a_device_are_told_apart);
    TEST("a-collective-has-the-kernel-launched-before-it",
         test_a_collective_has_the_kernel_launched_before_it);
    return g_test_run();
}
