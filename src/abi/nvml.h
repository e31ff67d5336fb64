/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/nvml.h: the few calls of libnvidia-ml.so.1 that a power sampler needs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int LsNvmlReturn;
typedef void *LsNvmlDevice;

enum {
    LS_NVML_SUCCESS = 0,
    LS_NVML_UNINITIALIZED = 1,
    LS_NVML_INVALID_ARGUMENT = 2,
    LS_NVML_NOT_SUPPORTED = 3,
    LS_NVML_NOT_FOUND = 6,
};

enum {                                    /* nvmlFieldValue_t.field */
       LS_NVML_FIELD_ENERGY = 83,         /* mJ since the driver was loaded */
       LS_NVML_FIELD_POWER_AVERAGE = 185, /* mW over 1 s */
       LS_NVML_FIELD_POWER_INSTANT = 186, /* mW */
};

enum { LS_NVML_CLOCK_SM = 1, LS_NVML_CLOCK_MEMORY = 2 };

/* How to read the value. */
enum {
    LS_NVML_DOUBLE = 0,
    LS_NVML_UINT32 = 1,
    LS_NVML_ULONG = 2,
    LS_NVML_UINT64 = 3,
    LS_NVML_INT64 = 4
};

typedef struct LsNvmlField {
    uint32_t field, scope;
    int64_t time_us; /* since 1970 */
    int64_t latency_us;
    uint32_t value_type;
    int32_t status; /* of this field alone */
    union {
        double real;
        uint32_t uint32;
        uint64_t uint64;
        int64_t int64;
    } value;
} LsNvmlField;
_Static_assert(sizeof(LsNvmlField) == 40, "nvmlFieldValue_t");

typedef struct LsNvmlUtilization {
    unsigned gpu, memory; /* % */
} LsNvmlUtilization;

#define LS_NVML_FUNCTIONS(LS_ABI_FUNCTION)                                                         \
    LS_ABI_FUNCTION(nvmlInit_v2, (void))                                                           \
    LS_ABI_FUNCTION(nvmlShutdown, (void))                                                          \
    LS_ABI_FUNCTION(nvmlDeviceGetHandleByUUID, (const char *uuid, LsNvmlDevice *device))           \
    LS_ABI_FUNCTION(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, LsNvmlDevice *device))     \
    LS_ABI_FUNCTION(nvmlDeviceGetName, (LsNvmlDevice device, char *name, unsigned size))           \
    LS_ABI_FUNCTION(nvmlDeviceGetFieldValues, (LsNvmlDevice device, int n, LsNvmlField *fields))   \
    LS_ABI_FUNCTION(nvmlDeviceGetPowerUsage, (LsNvmlDevice device, unsigned *milliwatt))           \
    LS_ABI_FUNCTION(nvmlDeviceGetTotalEnergyConsumption,                                           \
                    (LsNvmlDevice device, unsigned long long *millijoule))                         \
    LS_ABI_FUNCTION(nvmlDeviceGetClockInfo, (LsNvmlDevice device, int clock, unsigned *megahertz)) \
    LS_ABI_FUNCTION(nvmlDeviceGetUtilizationRates,                                                 \
                    (LsNvmlDevice device, LsNvmlUtilization * utilization))                        \
    LS_ABI_FUNCTION(nvmlDeviceGetTemperature,                                                      \
                    (LsNvmlDevice device, int sensor, unsigned *celsius))                          \
    LS_ABI_FUNCTION(nvmlSystemGetDriverVersion, (char *version, unsigned size))

typedef struct LsNvml {
#define LS_ABI_FUNCTION(name, arguments) LsNvmlReturn(*name) arguments;
    LS_NVML_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
} LsNvml;

/* Loads libnvidia-ml.so.1; what is missing is NULL. Returns NULL, or a word on what failed. */
const char *ls_nvml_load(LsNvml *ret_nvml);
