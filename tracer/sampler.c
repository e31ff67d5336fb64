/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread of its own, so many times a second. Each metric has its own way to fail, and says so in
 * each sample that it has no value; one that never had one is left out after some tries. Until the
 * first value of power it asks more often: what takes its time to begin to answer must not cost a
 * short run its first tenths of a second. Power of
 * GA100 and newer is an average over 1 s unless it is the instant field; the energy counter over 5
 * s or more is the number to quote.
 */
#include "tracer/sampler.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/cuda.h"
#include "abi/nvml.h"
#include "capture/compat.h"
#include "capture/futex.h"
#include "capture/recorder.h"
#include "tracer/cupti.h"
#include "tracer/node-power.h"
#include "tracer/tracer.h"

LS_BIND_OLD(dlopen);
LS_BIND_OLD(dlclose);

#define SECOND       INT64_C(1000000000)
#define TRIES_MAX    20 /* of a metric that never had a value */
#define STOP_WAIT_NS (SECOND / 2)
#define EAGER_NS     (SECOND / 100)
#define EAGER_TRIES  5 /* so few that all the later ones are at the rate asked for */

typedef enum Metric {
    POWER,
    POWER_AVERAGE,
    ENERGY,
    SM_CLOCK,
    MEMORY_CLOCK,
    USE,
    MEMORY_USE,
    HEAT,
    N_METRICS
} Metric;

static const struct {
    const char *name;
    LsSampleUnit unit;
} metrics[N_METRICS] = {
    [POWER] = {"gpu power", LS_UNIT_MILLIWATT},
    [POWER_AVERAGE] = {"gpu power average", LS_UNIT_MILLIWATT},
    [ENERGY] = {"gpu energy", LS_UNIT_MILLIJOULE},
    [SM_CLOCK] = {"gpu sm clock", LS_UNIT_MEGAHERTZ},
    [MEMORY_CLOCK] = {"gpu memory clock", LS_UNIT_MEGAHERTZ},
    [USE] = {"gpu use", LS_UNIT_PERCENT},
    [MEMORY_USE] = {"gpu memory use", LS_UNIT_PERCENT},
    [HEAT] = {"gpu temperature", LS_UNIT_CELSIUS},
};

typedef struct Reading {
    int64_t value, age_ns;
    bool is_valid;
} Reading;

static struct {
    LsNvml nvml;
    LsCuda cuda;
    LsNvmlDevice device;
    int number; /* of the device; -1: not known yet */
    bool has_nvml, has_tried_nvml, is_guessed;
    uint32_t names[N_METRICS];
    int tries[N_METRICS];
    bool has_value[N_METRICS];
    LsNodePower node;
    _Atomic int pid;                   /* whose thread there is; 0: none */
    _Atomic uint32_t stop, is_running; /* futexes */
} sampler = {.number = -1};

/* -- NVML -- */

static int64_t
get_field_value(const LsNvmlField *field)
{
    switch (field->value_type) {
    case LS_NVML_DOUBLE:
        return (int64_t)field->value.real;
    case LS_NVML_UINT32:
        return field->value.uint32;
    default:
        return field->value.int64;
    }
}

static void
read_fields(Reading readings[N_METRICS])
{
    static const struct {
        uint32_t field;
        Metric metric;
    } wanted[] = {{LS_NVML_FIELD_POWER_INSTANT, POWER},
                  {LS_NVML_FIELD_POWER_AVERAGE, POWER_AVERAGE},
                  {LS_NVML_FIELD_ENERGY, ENERGY}};
    enum { N = sizeof wanted / sizeof wanted[0] };
    LsNvmlField fields[N];
    struct timespec now;
    memset(fields, 0, sizeof fields);
    for (int i = 0; i < N; i++)
        fields[i].field = wanted[i].field;
    if (sampler.nvml.nvmlDeviceGetFieldValues == NULL ||
        sampler.nvml.nvmlDeviceGetFieldValues(sampler.device, N, fields) != LS_NVML_SUCCESS)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < N; i++) {
        int64_t age = now.tv_sec * 1000000 + now.tv_nsec / 1000 - fields[i].time_us;
        Reading *reading = &readings[wanted[i].metric];
        reading->is_valid = fields[i].status == LS_NVML_SUCCESS;
        reading->value = reading->is_valid ? get_field_value(&fields[i]) : 0;
        /* Older than a minute: not a time since 1970. */
        reading->age_ns = age > 0 && age < 60000000 ? age * 1000 : 0;
    }
}

static void
set_reading(Reading *reading, LsNvmlReturn status, unsigned value)
{
    reading->is_valid = status == LS_NVML_SUCCESS;
    reading->value = reading->is_valid ? value : 0;
}

static void
read_device(Reading readings[N_METRICS])
{
    const LsNvml *nvml = &sampler.nvml;
    LsNvmlUtilization use = {0, 0};
    unsigned value = 0;
    read_fields(readings);
    /* An older driver has only this. */
    if (!readings[POWER].is_valid && !sampler.has_value[POWER] &&
        nvml->nvmlDeviceGetPowerUsage != NULL)
        set_reading(&readings[POWER_AVERAGE], nvml->nvmlDeviceGetPowerUsage(sampler.device, &value),
                    value);
    if (nvml->nvmlDeviceGetClockInfo != NULL) {
        set_reading(&readings[SM_CLOCK],
                    nvml->nvmlDeviceGetClockInfo(sampler.device, LS_NVML_CLOCK_SM, &value), value);
        set_reading(&readings[MEMORY_CLOCK],
                    nvml->nvmlDeviceGetClockInfo(sampler.device, LS_NVML_CLOCK_MEMORY, &value),
                    value);
    }
    if (nvml->nvmlDeviceGetUtilizationRates != NULL) {
        int status = nvml->nvmlDeviceGetUtilizationRates(sampler.device, &use);
        set_reading(&readings[USE], status, use.gpu);
        set_reading(&readings[MEMORY_USE], status, use.memory);
    }
    if (nvml->nvmlDeviceGetTemperature != NULL)
        set_reading(&readings[HEAT], nvml->nvmlDeviceGetTemperature(sampler.device, 0, &value),
                    value);
}

static void
write_sample(uint32_t name, LsSampleUnit unit, int device, const Reading *reading, int64_t now)
{
    LsRecord record = {.kind = LS_RECORD_SAMPLE,
                       .name = name,
                       .start_ns = now,
                       .end_ns = now,
                       .args = {reading->value, unit, device, !reading->is_valid, reading->age_ns}};
    ls_recorder_write(&record);
}

static void
sample_device(int64_t now)
{
    Reading readings[N_METRICS];
    memset(readings, 0, sizeof readings);
    read_device(readings);
    for (int i = 0; i < N_METRICS; i++) {
        sampler.has_value[i] |= readings[i].is_valid;
        if (!sampler.has_value[i] && ++sampler.tries[i] > TRIES_MAX)
            continue;
        if (sampler.has_value[i])
            write_sample(sampler.names[i], metrics[i].unit, sampler.number, &readings[i], now);
    }
}

/* -- Which device: the one of this rank's place on the node, until kernels are seen on another --
 */

static bool
open_device(int number)
{
    char bus[32] = "";
    LsCuDevice handle;
    if (sampler.cuda.cuDeviceGet == NULL || sampler.cuda.cuDeviceGet(&handle, number) != 0 ||
        sampler.cuda.cuDeviceGetPCIBusId(bus, sizeof bus, handle) != 0 ||
        sampler.nvml.nvmlDeviceGetHandleByPciBusId_v2 == NULL ||
        sampler.nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, &sampler.device) != LS_NVML_SUCCESS)
        return false;
    sampler.number = number;
    ls_tracer_fact("power.device", "%s", bus);
    return true;
}

static int
guess_device(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK",
                                            "SLURM_LOCALID", "MPI_LOCALRANKID"};
    int count = 0;
    int64_t number = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *text = getenv(variables[i]);
        if (text != NULL && ls_parse_number(text, &number))
            break;
    }
    if (sampler.cuda.cuDeviceGetCount == NULL || sampler.cuda.cuDeviceGetCount(&count) != 0 ||
        count < 1)
        return -1;
    return (int)(number % count);
}

static void
find_device(void)
{
    int seen = ls_cupti_device(), number = seen >= 0 ? seen : sampler.number;
    if (seen >= 0 ? !sampler.is_guessed && sampler.number >= 0 : sampler.number >= 0)
        return;
    if (number < 0)
        number = guess_device();
    if (number < 0)
        return; /* CUDA is not up yet */
    sampler.is_guessed = seen < 0;
    ls_tracer_fact("power.device.guessed", "%d", sampler.is_guessed);
    if (number != sampler.number && !open_device(number)) {
        ls_tracer_note(1,
                       "NVML does not know the device of this process; its power is not recorded");
        sampler.has_nvml = false;
    }
}

/* Not before the program has it: a process without CUDA is left without. */
static bool
is_cuda_there(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL)
        dlclose(library);
    return library != NULL;
}

static void
open_nvml(void)
{
    const char *missing = ls_nvml_load(&sampler.nvml);
    char version[80] = "";
    if (missing == NULL && sampler.nvml.nvmlInit_v2() != LS_NVML_SUCCESS)
        missing = "it does not start";
    if (missing == NULL)
        missing = ls_cuda_load(&sampler.cuda);
    if (missing != NULL) {
        ls_tracer_note(0, "power of GPUs is not recorded: %s", missing);
        return;
    }
    sampler.has_nvml = true;
    if (sampler.nvml.nvmlSystemGetDriverVersion != NULL &&
        sampler.nvml.nvmlSystemGetDriverVersion(version, sizeof version) == LS_NVML_SUCCESS)
        ls_tracer_fact("gpu.driver", "%s", version);
    for (int i = 0; i < N_METRICS; i++)
        sampler.names[i] = ls_recorder_name(metrics[i].name);
}

/* -- The node: one process of it reads -- */

static bool
is_first_of_node(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    int64_t number = 0;
    if (text == NULL)
        text = getenv("LOCAL_RANK");
    if (text == NULL)
        text = getenv("SLURM_LOCALID");
    return text == NULL || !ls_parse_number(text, &number) || number == 0;
}

static void
open_node(void)
{
    if (!is_first_of_node())
        return;
    ls_node_power_find(&sampler.node, "");
    const char *told = getenv("LOCKSTEP_NOTES"); /* by lockstep record, if it was asked for */
    if (sampler.node.n == 0 && (told == NULL || strstr(told, LS_NODE_POWER) == NULL))
        ls_tracer_note(0, "%s; not recorded: " LS_NODE_POWER,
                       sampler.node.forbidden > 0 ? "its sensors need root"
                                                  : "no sensor on this host");
}

static void
sample_node(int64_t now)
{
    for (int i = 0; i < sampler.node.n; i++) {
        const LsNodeSensor *sensor = &sampler.node.sensors[i];
        Reading reading = {0};
        reading.is_valid = ls_node_power_read(sensor, &reading.value);
        write_sample(ls_recorder_name(sensor->name), sensor->unit, -1, &reading, now);
    }
}

/* -- The thread -- */

/* The device is there and has not told its power yet. */
static bool
is_eager(void)
{
    return sampler.has_nvml && sampler.number >= 0 && !sampler.has_value[POWER] &&
           sampler.tries[POWER] < EAGER_TRIES;
}

/* At times that are multiples of the period, so that a late round does not make the next ones late.
 */
static void *
run(void *user)
{
    int64_t period = SECOND / ls_tracer_settings()->power, next;
    ls_recorder_count_thread(1);
    ls_recorder_set_thread_name("lockstep power");
    open_node();
    next = ls_recorder_now();
    while (atomic_load(&sampler.stop) == 0 && ls_tracer_is_ours() && !ls_recorder_is_abandoned()) {
        int64_t now = ls_recorder_now();
        if (now < next) {
            ls_futex_wait(&sampler.stop, 0, next - now);
            continue;
        }
        if (!sampler.has_tried_nvml && is_cuda_there()) {
            sampler.has_tried_nvml = true;
            open_nvml();
        }
        if (sampler.has_nvml)
            find_device();
        if (ls_recorder_active()) {
            if (sampler.has_nvml && sampler.number >= 0)
                sample_device(now);
            sample_node(now);
        }
        next += is_eager() && period > EAGER_NS ? EAGER_NS : period;
        if (next < now)
            next = now - (now - next) % period + period;
    }
    if (!sampler.has_tried_nvml && ls_tracer_is_ours())
        ls_tracer_note(0, "power of GPUs is not recorded: this process has no CUDA");
    atomic_store(&sampler.is_running, 0);
    ls_futex_wake(&sampler.is_running);
    ls_recorder_count_thread(-1);
    return NULL;
}

void
ls_sampler_start(void)
{
    int64_t rate = ls_tracer_settings()->power;
    if (rate < 1 || atomic_exchange(&sampler.pid, getpid()) == getpid())
        return;
    /* In a forked child all but the sensors' libraries is its parent's. */
    sampler.number = -1;
    sampler.has_nvml = sampler.has_tried_nvml = false;
    memset(sampler.has_value, 0, sizeof sampler.has_value);
    memset(sampler.tries, 0, sizeof sampler.tries);
    atomic_store(&sampler.stop, 0);
    atomic_store(&sampler.is_running, 1);
    if (!ls_tracer_start_thread(run))
        atomic_store(&sampler.is_running, 0);
}

void
ls_sampler_stop(void)
{
    int64_t end = ls_recorder_now() + STOP_WAIT_NS;
    atomic_store(&sampler.stop, 1);
    ls_futex_wake(&sampler.stop);
    while (atomic_load(&sampler.is_running) != 0 && ls_recorder_now() < end)
        ls_futex_wait(&sampler.is_running, 1, 10000000);
}
