/* SPDX-License-Identifier: Apache-2.0
 *
 * The doors: what CUDA, NVTX and NCCL look for in this library, and nothing else.
 * CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and NCCL_PROFILER_PLUGIN name it by the same path,
 * so that it is one library.
 */
#include "abi/nccl-profiler.h"
#include "abi/nvtx.h"
#include "tracer/cupti.h"
#include "tracer/nccl-tables.h"
#include "tracer/nvtx.h"
#include "tracer/sampler.h"
#include "tracer/tracer.h"

LS_TRACER_API int InitializeInjection(void);
LS_TRACER_API int InitializeInjectionNvtx2(LsNvtxGetTable get_table);

/* In cuInit, before there is any context. */
int
InitializeInjection(void)
{
    if (!ls_tracer_start())
        return 1;
    ls_tracer_register_end();
    ls_cupti_start();
    ls_sampler_start();
    return 1;
}

/* Once for each library that uses NVTX. 0 would have this library unloaded. */
int
InitializeInjectionNvtx2(LsNvtxGetTable get_table)
{
    if (!ls_tracer_start() || ls_tracer_settings()->nvtx == 0)
        return 1;
    ls_tracer_register_end();
    ls_sampler_start();
    ls_nvtx_fill(get_table);
    return 1;
}

/* NCCL takes the newest table that it knows. */
LS_TRACER_API const LsNcclProfilerV4 ncclProfiler_v4 = {
    "Lockstep", ls_nccl_v4_init, ls_nccl_v4_start, ls_nccl_stop, ls_nccl_state, ls_nccl_finalize};
LS_TRACER_API const LsNcclProfilerV5 ncclProfiler_v5 = {
    "Lockstep", ls_nccl_v5_init, ls_nccl_v5_start, ls_nccl_stop, ls_nccl_state, ls_nccl_finalize};
LS_TRACER_API const LsNcclProfilerV5 ncclProfiler_v6 = {
    "Lockstep", ls_nccl_v5_init, ls_nccl_v5_start, ls_nccl_stop, ls_nccl_state, ls_nccl_finalize};
