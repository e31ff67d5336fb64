/* SPDX-License-Identifier: Apache-2.0
 *
 * The maker of truth itself: the made-up job obeys the order of things, and clocks can be undone.
 */
#include <glib.h>

#include "samples/synth-file.h"
#include "samples/synth-job.h"

static void
check_crc(void)
{
    /* RFC 3720 B.4: 32 zeros, and the check value of the digits. */
    const uint8_t zeros[32] = {0};
    g_assert_cmphex(ls_synth_crc32c(0, zeros, sizeof zeros), ==, 0x8a9136aa);
    g_assert_cmphex(ls_synth_crc32c(0, "123456789", 9), ==, 0xe3069283);
    g_assert_cmphex(ls_synth_crc32c(ls_synth_crc32c(0, "1234", 4), "56789", 5), ==, 0xe3069283);
}

static void
check_rank(const LsSynthJob *job, uint32_t rank)
{
    const LsSynthStep *step = &job->steps[rank];
    g_assert_cmpint(step->start_ns, <, step->input_end_ns);
    g_assert_cmpint(step->backward_end_ns, <, step->optimizer_start_ns);
    for (uint32_t i = 0; i < job->options.tensors; i++) {
        const LsSynthUse *use = &job->uses[rank * job->options.tensors + i];
        const LsSynthCall *call = &job->calls[job->buffer_of[i] * job->options.ranks + rank];
        g_assert_cmpint(use->submit_ns, >, step->forward_end_ns);
        g_assert_cmpint(use->submit_ns, <=, step->backward_end_ns);
        g_assert_cmpint(use->submit_ns, <=, use->gate_ns);
        g_assert_cmpint(use->gate_ns, <=, job->agreed_ns[i]);
        g_assert_cmpint(job->agreed_ns[i], <=, call->pack_start_ns);
        g_assert_cmpint(call->start_ns, <, call->end_ns);
        g_assert_cmpint(call->unpack_end_ns, <, use->done_ns);
        g_assert_cmpint(use->done_ns, <=, step->optimizer_start_ns);
    }
}

static void
check_order(void)
{
    LsSynthOptions options = ls_synth_options();
    options.ranks = 6;
    options.groups = 3;
    options.late_rank = 2;
    options.late_ns = 5000000;
    LsSynthJob *job = ls_synth_job_new(&options);
    uint32_t steps = 0;

    for (; ls_synth_job_advance(job); steps++) {
        for (uint32_t r = 0; r < options.ranks; r++)
            check_rank(job, r);
        for (uint32_t b = 0; b < job->n_buffers; b++)
            g_assert_true(job->buffers[b].tensors == 1 ||
                          job->buffers[b].bytes <= options.fusion_bytes);
    }
    g_assert_cmpint(steps, ==, options.steps);
    ls_synth_job_free(job);
}

static void
check_clocks(void)
{
    LsSynthOptions options = ls_synth_options();
    LsSynthJob *job = ls_synth_job_new(&options);
    int64_t hour = 3600000000000;
    int64_t begin = ls_synth_job_get_local(job, 2, job->origin_ns);
    int64_t end = ls_synth_job_get_local(job, 2, job->origin_ns + hour);

    g_assert_cmpint(ls_synth_job_get_local(job, 0, 5), ==, 5);
    g_assert_cmpint(ls_synth_job_get_local(job, 3, 77), ==, ls_synth_job_get_local(job, 2, 77));
    g_assert_cmpint(begin - job->origin_ns, ==, job->hosts[1].offset_ns);
    g_assert_cmpint(ABS(end - begin - hour - (int64_t)(3.6e12 * job->hosts[1].drift)), <=, 1);
    g_assert_cmpfloat(ABS(job->hosts[1].drift), <=, options.drift_max_ppm * 1e-6);
    ls_synth_job_free(job);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/samples/synth-file/crc-is-castagnoli", check_crc);
    g_test_add_func("/samples/synth-job/times-are-in-order", check_order);
    g_test_add_func("/samples/synth-job/clocks-are-as-told", check_clocks);
    return g_test_run();
}
