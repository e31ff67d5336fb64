/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/sample-trace.c: traces made by hand and by chance for tests of what is computed on
 * them. */
#include "tests/unit/sample-trace.h"

#include <string.h>

LsProcess *
sample_process(int rank, int world, const char *host)
{
    LsProcess *process = ls_process_new(LS_SOURCE_LOCKSTEP);

    process->rank.rank = rank;
    process->rank.world = world;
    process->rank.local_rank = rank;
    process->rank.pid = 1000 + rank;
    process->rank.host = g_strdup(host);
    process->rank.recorded = true;
    process->rank.clock_method = rank == 0 ? LS_CLOCK_REFERENCE : LS_CLOCK_SAME_BOOT;
    process->rank.format = "test";
    return process;
}

static void
add_span(LsProcess *process, LsTrackKind kind, const char *name, int64_t start_ns, int64_t end_ns,
         uint32_t ref)
{
    LsTrackBuilder *track = ls_process_get_track(process, kind, "track", "category", -1);

    ls_track_builder_add(track, start_ns, end_ns, ls_strings_add(process->strings, name), ref);
}

void
sample_step(LsProcess *process, int64_t number, int64_t start_ns, int64_t end_ns)
{
    LsStep step = {.number = number,
                   .start_ns = start_ns,
                   .end_ns = end_ns,
                   .samples = 32,
                   .operations = 1000};

    g_array_append_val(process->steps, step);
    add_span(process, LS_TRACK_STEPS, "step", start_ns, end_ns, process->steps->len - 1);
}

void
sample_phase(LsProcess *process, const char *name, int64_t start_ns, int64_t end_ns,
             int64_t operations)
{
    LsPhase phase = {.name = ls_strings_add(process->strings, name),
                     .start_ns = start_ns,
                     .end_ns = end_ns,
                     .operations = operations};
    uint32_t row = operations > 0 ? process->phases->len : LS_NONE;

    if (operations > 0)
        g_array_append_val(process->phases, phase);
    add_span(process, LS_TRACK_PHASES, name, start_ns, end_ns, row);
}

uint32_t
sample_call(LsProcess *process, int64_t sequence, int64_t bytes, int64_t start_ns, int64_t end_ns)
{
    LsCall call = {.name = ls_strings_add(process->strings, "MPI_ALLREDUCE"),
                   .sequence = sequence,
                   .device_timed = true,
                   .tensors = 1,
                   .bytes = bytes,
                   .start_ns = start_ns,
                   .end_ns = end_ns,
                   .pack_start_ns = LS_TIME_NONE,
                   .pack_end_ns = LS_TIME_NONE,
                   .unpack_start_ns = LS_TIME_NONE,
                   .unpack_end_ns = LS_TIME_NONE,
                   .buffer = LS_NONE};

    g_array_append_val(process->calls, call);
    add_span(process, LS_TRACK_COMMUNICATION, "MPI_ALLREDUCE", start_ns, end_ns,
             process->calls->len - 1);
    return process->calls->len - 1;
}

void
sample_pack(LsProcess *process, uint32_t call, int64_t pack_ns, int64_t unpack_ns)
{
    LsCall *row = &g_array_index(process->calls, LsCall, call);

    row->pack_start_ns = row->start_ns - pack_ns;
    row->pack_end_ns = row->start_ns;
    row->unpack_start_ns = row->end_ns;
    row->unpack_end_ns = row->end_ns + unpack_ns;
    add_span(process, LS_TRACK_COMMUNICATION, "pack", row->pack_start_ns, row->pack_end_ns, call);
    add_span(process, LS_TRACK_COMMUNICATION, "unpack", row->unpack_start_ns, row->unpack_end_ns,
             call);
}

void
sample_use(LsProcess *process, const char *tensor, uint32_t occurrence, uint32_t call,
           int64_t submit_ns, int64_t agreed_ns)
{
    LsUse use = {.tensor = ls_strings_add(process->strings, tensor),
                 .group = LS_NONE,
                 .occurrence = occurrence,
                 .call = call,
                 .bytes = 6000,
                 .submit_ns = submit_ns,
                 .gate_ns = submit_ns,
                 .agreed_ns = agreed_ns,
                 .done_ns = LS_TIME_NONE};

    g_array_append_val(process->uses, use);
}

LsUse *
sample_last_use(LsProcess *process)
{
    return &g_array_index(process->uses, LsUse, process->uses->len - 1);
}

void
sample_sleep(LsProcess *process, int64_t start_ns, int64_t end_ns)
{
    LsSleep sleep = {.start_ns = start_ns, .end_ns = end_ns};

    g_array_append_val(process->sleeps, sleep);
}

static LsClass
classify(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    static const struct {
        const char *name;
        LsClass klass;
    } rules[] = {
        {"forward", LS_CLASS_COMPUTE},
        {"backward", LS_CLASS_COMPUTE},
        {"optimizer", LS_CLASS_COMPUTE},
        {"input", LS_CLASS_IO},
        {"checkpoint", LS_CLASS_IO},
        {"pack", LS_CLASS_FUSION},
        {"unpack", LS_CLASS_FUSION},
        {"copy", LS_CLASS_COPY},
        {"MPI_ALLREDUCE", LS_CLASS_COMMUNICATION},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++)
        if (strcmp(rules[i].name, name) == 0)
            return rules[i].klass;
    return LS_CLASS_NONE;
}

/* Buffers of calls with one sequence, in order of sequence. */
static void
set_buffers(LsBuilder *builder, uint32_t n_expected)
{
    size_t n_calls;
    LsCall *calls = ls_builder_get_calls(builder, &n_calls);
    g_autoptr(GArray) buffers = g_array_new(false, true, sizeof(LsBuffer));
    g_autoptr(GArray) refs = g_array_new(false, false, sizeof(uint32_t));
    int64_t last = -1;

    for (size_t i = 0; i < n_calls; i++)
        last = MAX(last, calls[i].sequence);
    for (int64_t sequence = 0; sequence <= last; sequence++) {
        LsBuffer buffer = {
            .first_call_ref = refs->len, .ranks_expected = n_expected, .pairing_exact = true};

        for (uint32_t i = 0; i < n_calls; i++) {
            if (calls[i].sequence != sequence)
                continue;
            calls[i].buffer = buffers->len;
            buffer.n_calls++;
            g_array_append_val(refs, i);
        }
        g_array_append_val(buffers, buffer);
    }
    ls_builder_set_buffers(builder, (const LsBuffer *)(void *)buffers->data, buffers->len,
                           (const uint32_t *)(void *)refs->data, refs->len);
}

LsTrace *
sample_freeze(LsProcess **processes, size_t n, uint32_t n_expected)
{
    LsBuilder *builder = ls_builder_new(classify, NULL);

    for (size_t i = 0; i < n; i++)
        ls_builder_take(builder, processes[i]);
    set_buffers(builder, n_expected);
    return ls_builder_freeze(builder);
}

LsTrace *
sample_late_pair(void)
{
    LsProcess *processes[2];

    for (int rank = 0; rank < 2; rank++) {
        LsProcess *process = processes[rank] = sample_process(rank, 2, rank ? "gpu02" : "gpu01");
        int64_t late_ns = rank * 200;
        uint32_t call;

        sample_step(process, 0, 0, 1000);
        sample_phase(process, "input", 0, 100 + late_ns, 0);
        sample_phase(process, "forward", 100 + late_ns, 300 + late_ns, 400);
        sample_phase(process, "backward", 300 + late_ns, 500 + late_ns, 500);
        sample_phase(process, "optimizer", 900, 1000, 100);
        call = sample_call(process, 0, 6000, 620, rank ? 684 : 680);
        sample_use(process, "a", 0, call, 400 + late_ns, 610);
        call = sample_call(process, 1, 6000, 740, 840);
        sample_pack(process, call, 10, 10);
        sample_use(process, "b", 0, call, 500 + late_ns, 720);
        sample_sleep(process, 550, 605);
    }
    return sample_freeze(processes, 2, 2);
}

static void
add_random_step(LsProcess *process, GRand *random, int64_t number, int64_t start_ns)
{
    static const char *const names[] = {"forward", "backward",   "optimizer",
                                        "input",   "checkpoint", "copy"};
    int64_t end_ns = start_ns + g_rand_int_range(random, 800, 1000);

    sample_step(process, number, start_ns, end_ns);
    for (int i = 0; i < 12; i++) {
        int64_t from_ns = start_ns + g_rand_int_range(random, 0, 950);

        add_span(process, i % 2 ? LS_TRACK_STREAM : LS_TRACK_PHASES,
                 names[g_rand_int_range(random, 0, G_N_ELEMENTS(names))], from_ns,
                 from_ns + g_rand_int_range(random, 1, 120), LS_NONE);
    }
    for (uint32_t t = 0; t < 4; t++) {
        g_autofree char *name = g_strdup_printf("tensor %u", t);
        int64_t submit_ns = start_ns + 100 * t + g_rand_int_range(random, 0, 200);
        int64_t agreed_ns = start_ns + 300 + 100 * t + g_rand_int_range(random, 0, 20);
        int64_t call_ns = agreed_ns + g_rand_int_range(random, 10, 30);
        uint32_t call = sample_call(process, 4 * number + t, 1 << (8 + t), call_ns,
                                    call_ns + g_rand_int_range(random, 10, 60));

        sample_pack(process, call, g_rand_int_range(random, 1, 9), 5);
        sample_use(process, name, (uint32_t)number, call, submit_ns, agreed_ns);
        sample_last_use(process)->gate_ns = submit_ns + g_rand_int_range(random, 0, 150);
        sample_sleep(process, submit_ns, submit_ns + g_rand_int_range(random, 0, 250));
    }
}

LsTrace *
sample_random(uint32_t seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    LsProcess *processes[4];
    int n = g_rand_int_range(random, 1, 5), steps = g_rand_int_range(random, 1, 9);

    for (int rank = 0; rank < n; rank++) {
        g_autofree char *host = g_strdup_printf("host%d", rank / 2);

        processes[rank] = sample_process(rank, n, host);
        processes[rank]->rank.clock_uncertainty_ns = rank * g_rand_int_range(random, 0, 10);
        for (int step = 0; step < steps; step++)
            add_random_step(processes[rank], random, step, 1000 * step);
    }
    return sample_freeze(processes, (size_t)n, (uint32_t)n);
}
