/* SPDX-License-Identifier: Apache-2.0
 *
 * Three element-wise kernels, written down in PTX so that neither a CUDA compiler nor its runtime
 * is needed to build; no fused multiply-add, so that twin and device agree to the bit.
 */
#include "samples/gpu-train-kernels.h"

/* Declares a kernel and sets %r1 = index, %p1 = beyond the end; %rd8 its offset in bytes. */
#define ENTRY(name, last)                                                                          \
    ".visible .entry " name "(\n"                                                                  \
    "    .param .u64 p0,\n    .param .u64 p1,\n    .param " last ",\n    .param .u32 p3\n)\n"      \
    "{\n"                                                                                          \
    "    .reg .pred %p<2>;\n    .reg .f32 %f<8>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<16>;\n"  \
    "    ld.param.u64 %rd1, [p0];\n    ld.param.u64 %rd2, [p1];\n    ld.param.u32 %r2, [p3];\n"    \
    "    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n    mov.u32 %r5, %tid.x;\n"            \
    "    mad.lo.s32 %r1, %r3, %r4, %r5;\n    setp.ge.u32 %p1, %r1, %r2;\n    @%p1 bra DONE;\n"     \
    "    cvta.to.global.u64 %rd4, %rd1;\n    cvta.to.global.u64 %rd5, %rd2;\n"                     \
    "    mul.wide.u32 %rd8, %r1, 4;\n    add.s64 %rd4, %rd4, %rd8;\n    add.s64 %rd5, %rd5, "      \
    "%rd8;\n"
#define THIRD                                                                                      \
    "    ld.param.u64 %rd3, [p2];\n    cvta.to.global.u64 %rd6, %rd3;\n"                           \
    "    add.s64 %rd6, %rd6, %rd8;\n    ld.global.f32 %f1, [%rd5];\n    ld.global.f32 %f2, "       \
    "[%rd6];\n"
#define LEAVE "DONE:\n    ret;\n}\n"

const char gpu_train_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n" ENTRY("forward", ".u64 p2") THIRD
    "    mul.rn.f32 %f3, %f1, %f2;\n    st.global.f32 [%rd4], %f3;\n" LEAVE ENTRY("backward",
                                                                                  ".u64 p2") THIRD
    "    sub.rn.f32 %f3, %f1, %f2;\n    st.global.f32 [%rd4], %f3;\n" LEAVE ENTRY(
        "update", ".f32 p2") "    ld.param.f32 %f4, [p2];\n    ld.global.f32 %f1, [%rd4];\n    "
                             "ld.global.f32 %f2, [%rd5];\n"
                             "    mul.rn.f32 %f3, %f4, %f2;\n    sub.rn.f32 %f3, %f1, %f3;\n    "
                             "st.global.f32 [%rd4], %f3;\n" LEAVE;

static float *
floats(void *const *params, int i)
{
    return (float *)(uintptr_t) * (const uint64_t *)params[i];
}

void
lockstep_twin_forward(const unsigned grid[3], const unsigned block[3], void *const *params)
{
    float *y = floats(params, 0), *x = floats(params, 1), *w = floats(params, 2);
    unsigned n = *(const unsigned *)params[3];
    for (unsigned i = 0; i < n && i < grid[0] * block[0]; i++)
        y[i] = x[i] * w[i];
}

void
lockstep_twin_backward(const unsigned grid[3], const unsigned block[3], void *const *params)
{
    float *g = floats(params, 0), *y = floats(params, 1), *w = floats(params, 2);
    unsigned n = *(const unsigned *)params[3];
    for (unsigned i = 0; i < n && i < grid[0] * block[0]; i++)
        g[i] = y[i] - w[i];
}

void
lockstep_twin_update(const unsigned grid[3], const unsigned block[3], void *const *params)
{
    float *w = floats(params, 0), *g = floats(params, 1), rate = *(const float *)params[2];
    unsigned n = *(const unsigned *)params[3];
    for (unsigned i = 0; i < n && i < grid[0] * block[0]; i++) {
        volatile float change = rate * g[i];
        w[i] = w[i] - change;
    }
}
