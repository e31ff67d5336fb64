/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML's double: power is a known function of time, energy its integral, so that what a sampler
 * recorded can be checked: P(t) = 300 W + 100 W * triangle of 2 s.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "abi/nvml.h"
#include "double.h"

#define PERIOD_NS INT64_C(2000000000)

#define LS_ABI_FUNCTION(name, arguments) LsNvmlReturn name arguments;
LS_NVML_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION

static _Atomic int n_calls, n_fields, n_opens;

/* 200000 .. 400000 mW */
static int64_t
get_power(int64_t now)
{
    int64_t phase = now % PERIOD_NS;
    int64_t rise = phase < PERIOD_NS / 2 ? phase : PERIOD_NS - phase;
    return 200000 + rise * 200000 / (PERIOD_NS / 2);
}

/* Whole periods are 300 W; within one the trapezoid. */
static int64_t
get_energy(int64_t now)
{
    int64_t phase = now % PERIOD_NS, whole = now / PERIOD_NS * (PERIOD_NS / 1000000) * 300;
    return whole +
           (int64_t)((__int128)phase * (get_power(now - phase) + get_power(now)) / 2 / 1000000000);
}

static int
device_of(LsNvmlDevice device)
{
    return (int)(uintptr_t)device - 1;
}

DOUBLE_API LsNvmlReturn
nvmlInit_v2(void)
{
    atomic_fetch_add(&n_opens, 1);
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlShutdown(void)
{
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    snprintf(version, size, "580.00 %s", DOUBLE_NAME);
    return LS_NVML_SUCCESS;
}

/* "GPU-" and 8-4-4-4-12 hex digits; the last byte is the device. */
DOUBLE_API LsNvmlReturn
nvmlDeviceGetHandleByUUID(const char *uuid, LsNvmlDevice *device)
{
    unsigned last = 0;
    size_t length = strlen(uuid);
    if (length != 40 || strncmp(uuid, "GPU-", 4) != 0 ||
        sscanf(uuid + length - 2, "%2x", &last) != 1)
        return LS_NVML_NOT_FOUND;
    *device = (LsNvmlDevice)(uintptr_t)(last + 1);
    return last < DOUBLE_DEVICES ? LS_NVML_SUCCESS : LS_NVML_NOT_FOUND;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetHandleByPciBusId_v2(const char *bus, LsNvmlDevice *device)
{
    unsigned number = 0;
    if (sscanf(bus, "0000:%x", &number) != 1 || number < 1 || number > DOUBLE_DEVICES)
        return LS_NVML_NOT_FOUND;
    *device = (LsNvmlDevice)(uintptr_t)number;
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetName(LsNvmlDevice device, char *name, unsigned size)
{
    snprintf(name, size, "%s", DOUBLE_NAME);
    return device_of(device) >= 0 ? LS_NVML_SUCCESS : LS_NVML_INVALID_ARGUMENT;
}

static void
read_field(LsNvmlField *field, int64_t now)
{
    int64_t fail = double_settings()->nvml_fail;
    field->time_us = double_now(CLOCK_REALTIME) / 1000;
    field->latency_us = 5;
    field->status = LS_NVML_SUCCESS;
    field->value_type = LS_NVML_UINT32;
    if (field->field == LS_NVML_FIELD_POWER_INSTANT)
        field->value.uint32 = (uint32_t)get_power(now);
    else if (field->field == LS_NVML_FIELD_POWER_AVERAGE)
        field->value.uint32 = 300000;
    else if (field->field == LS_NVML_FIELD_ENERGY) {
        field->value_type = LS_NVML_UINT64;
        field->value.uint64 = (uint64_t)get_energy(now);
    } else {
        field->status = LS_NVML_NOT_SUPPORTED;
    }
    if (fail > 0 && (atomic_fetch_add(&n_fields, 1) + 1) % fail == 0) {
        field->status = LS_NVML_NOT_SUPPORTED;
        field->value.uint64 = UINT64_MAX; /* whoever forgets to look at the status will see it */
        double_count(1, "field.failed");
    }
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetFieldValues(LsNvmlDevice device, int n, LsNvmlField *fields)
{
    int64_t now = double_now(CLOCK_MONOTONIC);
    if (n_opens == 0 || atomic_fetch_add(&n_calls, 1) < double_settings()->nvml_late)
        return LS_NVML_UNINITIALIZED;
    for (int i = 0; i < n; i++)
        read_field(&fields[i], now);
    double_count(1, "fields.%d", device_of(device));
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetPowerUsage(LsNvmlDevice device, unsigned *milliwatt)
{
    *milliwatt = (unsigned)get_power(double_now(CLOCK_MONOTONIC));
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetTotalEnergyConsumption(LsNvmlDevice device, unsigned long long *millijoule)
{
    *millijoule = (unsigned long long)get_energy(double_now(CLOCK_MONOTONIC));
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetClockInfo(LsNvmlDevice device, int clock, unsigned *megahertz)
{
    *megahertz = clock == LS_NVML_CLOCK_SM ? 1980 : 3201;
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetUtilizationRates(LsNvmlDevice device, LsNvmlUtilization *utilization)
{
    *utilization = (LsNvmlUtilization){97, 41};
    return LS_NVML_SUCCESS;
}

DOUBLE_API LsNvmlReturn
nvmlDeviceGetTemperature(LsNvmlDevice device, int sensor, unsigned *celsius)
{
    *celsius = 0; /* a machine in a virtual one: not supported */
    return LS_NVML_NOT_SUPPORTED;
}
