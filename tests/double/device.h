/* SPDX-License-Identifier: Apache-2.0
 * tests/double/device.h: memory and streams of a device, for tests of reduce; the double or a real
 * one. */
#pragma once

#include <stdbool.h>

#include "abi/cuda.h"
#include "support.h"

/* Loads the driver and makes the device of this rank's number current. false: there is none. */
bool device_open(void);
const LsCuda *device_cuda(void);

/* Asserts that the call is well. */
#define CUDA(call) g_assert_cmpint(device_cuda()->call, ==, LS_CUDA_SUCCESS)

/* At least one byte of device memory, and the host's copy of it. */
void *device_new(size_t bytes);
void device_free(void *memory);
void device_put(void *memory, const void *from, size_t bytes);
void device_get(void *to, const void *memory, size_t bytes);

/* A tensor there, its stream the default one. */
lockstep_tensor device_tensor(const char *name, const void *input, void *output, int64_t count,
                              lockstep_dtype dtype);

/* How far from support_expect() the result may be: 0 but for averages that are no power of two. */
double device_slack(lockstep_dtype dtype, lockstep_op op, int ranks);
