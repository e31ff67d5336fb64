/* SPDX-License-Identifier: Apache-2.0
 *
 * Options become variables; three variables that NVIDIA's libraries look at lead to the tracer, by
 * the same absolute path, so that it is one library whichever of them loads it. A variable that is
 * set already belongs to another tool and is left to it.
 */
#include "tracer/record-environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/node-power.h"
#include "tracer/record-library.h"
#include "tracer/settings.h"

static bool
set(const char *variable, const char *value)
{
    return setenv(variable, value, 1) == 0;
}

/* What is recorded: with no choice all that needs no preload, else what was chosen. */
static bool
set_choice(const LsRecordOptions *options)
{
    bool is_horovod = options->horovod != NULL;
    bool has_choice = options->kernels != NULL || options->nccl != NULL || options->nvtx != NULL ||
                      options->power != NULL || options->mpi != NULL || is_horovod;
    bool has_gpu = options->kernels != NULL || options->nccl != NULL;
    if (!has_choice)
        return set("LOCKSTEP_MPI", "0");
    return set("LOCKSTEP_KERNELS", options->kernels != NULL ? "1" : "0") &&
           set("LOCKSTEP_NCCL", options->nccl != NULL ? "1" : "0") &&
           set("LOCKSTEP_NVTX", has_gpu || is_horovod || options->nvtx != NULL ? "1" : "0") &&
           set("LOCKSTEP_POWER", options->power != NULL ? options->power : "0") &&
           set("LOCKSTEP_MPI", is_horovod || options->mpi != NULL ? "1" : "0");
}

bool
ls_record_set_options(const LsRecordOptions *options)
{
    const char *variable, *value;
    bool is_set = true;
    for (int i = 0; ls_record_options_next(options, i, &variable, &value); i++) {
        if (variable[0] != '\0' && value != NULL)
            is_set = is_set && set(variable, value);
    }
    /* The newest SIZE bytes are what a bounded file keeps anyway. */
    if (options->flight != NULL)
        is_set = is_set && set("LOCKSTEP_MAX_SIZE", options->flight);
    if (options->no_cupti != NULL)
        is_set = is_set && set("LOCKSTEP_CUPTI", "0");
    return is_set && set_choice(options);
}

/* -- Libraries -- */

__attribute__((format(printf, 2, 3))) static void
note(LsRecordPlan *plan, const char *format, ...)
{
    size_t used = strlen(plan->notes);
    va_list arguments;
    if (used > 0 && used + 1 < sizeof plan->notes)
        plan->notes[used++] = '\n';
    va_start(arguments, format);
    vsnprintf(plan->notes + used, sizeof plan->notes - used, format, arguments);
    va_end(arguments);
}

/* The library's path, "" with a note where it is not to be had. */
static void
find_tried(LsRecordPlan *plan, char ret_path[LS_AREA_PATH_MAX], const char *name, const char *what)
{
    char why[160];
    if (!ls_record_find_library(ret_path, name)) {
        ret_path[0] = '\0';
        note(plan, "lib%s.so is not beside lockstep-record; not recorded: %s", name, what);
    } else if (!ls_record_try_library(ret_path, why, sizeof why)) {
        note(plan, "lib%s.so does not load here (%s); not recorded: %s", name, why, what);
        ret_path[0] = '\0';
    }
}

static void
plan_preload(LsRecordPlan *plan)
{
    char path[LS_AREA_PATH_MAX];
    const char *before = getenv("LD_PRELOAD");
    find_tried(plan, path, "lockstep-mpi", "MPI calls");
    if (path[0] == '\0')
        return;
    bool has_before = before != NULL && before[0] != '\0';
    if (snprintf(plan->preload, sizeof plan->preload, "%s%s%s", path, has_before ? ":" : "",
                 has_before ? before : "") >= (int)sizeof plan->preload) {
        plan->preload[0] = '\0';
        note(plan, "LD_PRELOAD is too long; not recorded: MPI calls");
    }
}

static void
plan_tracer(LsRecordPlan *plan, const LsTracerSettings *settings)
{
    bool wants_gpu = settings->kernels != 0 || settings->nccl != 0 || settings->power != 0;
    bool has_driver;
    find_tried(plan, plan->tracer, "lockstep-tracer", "NVTX ranges, NCCL, CUDA and power");
    if (!wants_gpu)
        return;
    has_driver = ls_record_can_load("libcuda.so.1");
    if (!has_driver)
        note(plan,
             "no CUDA driver (libcuda.so.1) on this host; not recorded: kernels, copies, NCCL on "
             "GPUs");
    if (settings->power != 0 && !ls_record_can_load("libnvidia-ml.so.1"))
        note(plan, "no libnvidia-ml.so.1 on this host; not recorded: power of GPUs");
    plan->takes_cupti = has_driver && plan->tracer[0] != '\0' && settings->kernels != 0 &&
                        settings->cupti != 0 && getenv("CUDA_INJECTION64_PATH") == NULL;
}

/* Asked for by name: it is said what there is to read, also where nothing in the command comes to
 * read it. */
static void
note_node_power(LsRecordPlan *plan)
{
    LsNodePower power;
    ls_node_power_find(&power, "");
    if (power.n > 0)
        note(plan,
             "%d sensors of " LS_NODE_POWER
             "; they are read in processes that use CUDA, NVTX or NCCL",
             power.n);
    else
        note(plan, "%s; not recorded: " LS_NODE_POWER,
             power.forbidden > 0 ? "its sensors need root" : "no sensor on this host");
}

void
ls_record_plan_make(LsRecordPlan *ret_plan, const LsRecordOptions *options)
{
    LsTracerSettings settings;
    const char *bad;
    memset(ret_plan, 0, sizeof *ret_plan);
    ls_tracer_settings_load(&settings, &bad);
    if (settings.kernels != 0 || settings.nccl != 0 || settings.nvtx != 0 || settings.power != 0)
        plan_tracer(ret_plan, &settings);
    if (options->power != NULL && settings.power != 0)
        note_node_power(ret_plan);
    if (settings.mpi != 0)
        plan_preload(ret_plan);
    /* Of a kit or a prefix: what must be seen inside a container. */
    if (ls_record_find_own_folder(ret_plan->kit)) {
        char *slash = strrchr(ret_plan->kit, '/');
        if (slash != NULL && slash != ret_plan->kit)
            *slash = '\0';
    }
}

/* -- Variables of other people's libraries -- */

static void
lead(LsRecordPlan *plan, const char *variable, const char *path, const char *what)
{
    const char *before = getenv(variable);
    if (before == NULL || before[0] == '\0')
        set(variable, path);
    else if (strcmp(before, path) != 0)
        note(plan, "%s names %.200s, another tool's; not recorded: %s", variable, before, what);
}

void
ls_record_plan_apply(LsRecordPlan *plan, const LsIdentity *identity, const char *folder)
{
    LsTracerSettings settings;
    const char *bad;
    ls_tracer_settings_load(&settings, &bad);
    set("LOCKSTEP_RUN", folder);
    set("LOCKSTEP_RUN_ID", identity->run_id);
    if (plan->tracer[0] != '\0') {
        if (settings.kernels != 0 || settings.power != 0)
            lead(plan, "CUDA_INJECTION64_PATH", plan->tracer, "kernels and copies");
        if (settings.nvtx != 0)
            lead(plan, "NVTX_INJECTION64_PATH", plan->tracer, "NVTX ranges");
        if (settings.nccl != 0)
            lead(plan, "NCCL_PROFILER_PLUGIN", plan->tracer, "NCCL");
    }
    /* Once a host is enough. */
    if (plan->notes[0] != '\0' && identity->local_rank <= 0)
        set("LOCKSTEP_NOTES", plan->notes);
}
