/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/cuda.h: the part of the CUDA driver API that we call or stand in for.
 *
 * Our own declarations of a public binary interface; tests/unit/abi compares them with the real
 * header where one is installed. Names are those of the library's symbols, with the version that
 * the driver has kept since CUDA 11.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int LsCuResult;
typedef int LsCuDevice;
typedef uint64_t LsCuPointer; /* CUdeviceptr */
typedef void *LsCuContext, *LsCuStream, *LsCuEvent, *LsCuModule, *LsCuFunction;
typedef struct LsCuUuid {
    unsigned char bytes[16];
} LsCuUuid;

enum {
    LS_CUDA_SUCCESS = 0,
    LS_CUDA_ERROR_INVALID_VALUE = 1,
    LS_CUDA_ERROR_OUT_OF_MEMORY = 2,
    LS_CUDA_ERROR_NOT_INITIALIZED = 3,
    LS_CUDA_ERROR_DEINITIALIZED = 4,
    LS_CUDA_ERROR_NO_DEVICE = 100,
    LS_CUDA_ERROR_INVALID_DEVICE = 101,
    LS_CUDA_ERROR_INVALID_IMAGE = 200,
    LS_CUDA_ERROR_INVALID_CONTEXT = 201,
    LS_CUDA_ERROR_INVALID_PTX = 218,
    LS_CUDA_ERROR_INVALID_HANDLE = 400,
    LS_CUDA_ERROR_NOT_FOUND = 500,
    LS_CUDA_ERROR_NOT_READY = 600,
    LS_CUDA_ERROR_LAUNCH_FAILED = 719,
    LS_CUDA_ERROR_NOT_SUPPORTED = 801,
};

enum {
    LS_CU_STREAM_NON_BLOCKING = 1,
    LS_CU_EVENT_DISABLE_TIMING = 2,
    LS_CU_DEVICE_MULTIPROCESSORS = 16, /* CUdevice_attribute */
    LS_CU_DEVICE_CAPABILITY_MAJOR = 75,
    LS_CU_DEVICE_CAPABILITY_MINOR = 76,
    LS_CU_POINTER_MEMORY_TYPE = 2, /* CUpointer_attribute */
    LS_CU_POINTER_DEVICE = 9,      /* the device's number */
    LS_CU_MEMORY_HOST = 1,         /* CUmemorytype */
    LS_CU_MEMORY_DEVICE = 2,
};

/* LS_ABI_FUNCTION(name, arguments) of libcuda.so.1; each returns an LsCuResult. */
#define LS_CUDA_FUNCTIONS(LS_ABI_FUNCTION)                                                         \
    LS_ABI_FUNCTION(cuInit, (unsigned flags))                                                      \
    LS_ABI_FUNCTION(cuDriverGetVersion, (int *version))                                            \
    LS_ABI_FUNCTION(cuGetErrorString, (LsCuResult error, const char **text))                       \
    LS_ABI_FUNCTION(cuDeviceGetCount, (int *count))                                                \
    LS_ABI_FUNCTION(cuDeviceGet, (LsCuDevice * device, int ordinal))                               \
    LS_ABI_FUNCTION(cuDeviceGetName, (char *name, int size, LsCuDevice device))                    \
    LS_ABI_FUNCTION(cuDeviceGetUuid_v2, (LsCuUuid * uuid, LsCuDevice device))                      \
    LS_ABI_FUNCTION(cuDeviceGetPCIBusId, (char *text, int size, LsCuDevice device))                \
    LS_ABI_FUNCTION(cuDeviceGetAttribute, (int *value, int attribute, LsCuDevice device))          \
    LS_ABI_FUNCTION(cuDeviceTotalMem_v2, (size_t * bytes, LsCuDevice device))                      \
    LS_ABI_FUNCTION(cuCtxGetCurrent, (LsCuContext * context))                                      \
    LS_ABI_FUNCTION(cuCtxSetCurrent, (LsCuContext context))                                        \
    LS_ABI_FUNCTION(cuCtxGetDevice, (LsCuDevice * device))                                         \
    LS_ABI_FUNCTION(cuCtxSynchronize, (void))                                                      \
    LS_ABI_FUNCTION(cuDevicePrimaryCtxRetain, (LsCuContext * context, LsCuDevice device))          \
    LS_ABI_FUNCTION(cuDevicePrimaryCtxRelease_v2, (LsCuDevice device))                             \
    LS_ABI_FUNCTION(cuModuleLoadData, (LsCuModule * module, const void *image))                    \
    LS_ABI_FUNCTION(cuModuleUnload, (LsCuModule module))                                           \
    LS_ABI_FUNCTION(cuModuleGetFunction,                                                           \
                    (LsCuFunction * function, LsCuModule module, const char *name))                \
    LS_ABI_FUNCTION(cuLaunchKernel,                                                                \
                    (LsCuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,  \
                     LsCuStream stream, void **parameters, void **extra))                          \
    LS_ABI_FUNCTION(cuLaunchHostFunc, (LsCuStream stream, void (*function)(void *), void *user))   \
    LS_ABI_FUNCTION(cuMemAlloc_v2, (LsCuPointer * pointer, size_t bytes))                          \
    LS_ABI_FUNCTION(cuMemFree_v2, (LsCuPointer pointer))                                           \
    LS_ABI_FUNCTION(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                \
    LS_ABI_FUNCTION(cuMemFreeHost, (void *pointer))                                                \
    LS_ABI_FUNCTION(cuMemcpyHtoD_v2, (LsCuPointer target, const void *source, size_t bytes))       \
    LS_ABI_FUNCTION(cuMemcpyDtoH_v2, (void *target, LsCuPointer source, size_t bytes))             \
    LS_ABI_FUNCTION(cuMemcpyHtoDAsync_v2,                                                          \
                    (LsCuPointer target, const void *source, size_t bytes, LsCuStream stream))     \
    LS_ABI_FUNCTION(cuMemcpyDtoHAsync_v2,                                                          \
                    (void *target, LsCuPointer source, size_t bytes, LsCuStream stream))           \
    LS_ABI_FUNCTION(cuMemcpyDtoDAsync_v2,                                                          \
                    (LsCuPointer target, LsCuPointer source, size_t bytes, LsCuStream stream))     \
    LS_ABI_FUNCTION(cuMemsetD8Async,                                                               \
                    (LsCuPointer target, unsigned char value, size_t n, LsCuStream stream))        \
    LS_ABI_FUNCTION(cuMemsetD32Async,                                                              \
                    (LsCuPointer target, unsigned value, size_t n, LsCuStream stream))             \
    LS_ABI_FUNCTION(cuPointerGetAttribute, (void *value, int attribute, LsCuPointer pointer))      \
    LS_ABI_FUNCTION(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                      \
    LS_ABI_FUNCTION(cuStreamCreate, (LsCuStream * stream, unsigned flags))                         \
    LS_ABI_FUNCTION(cuStreamCreateWithPriority,                                                    \
                    (LsCuStream * stream, unsigned flags, int priority))                           \
    LS_ABI_FUNCTION(cuStreamGetPriority, (LsCuStream stream, int *priority))                       \
    LS_ABI_FUNCTION(cuStreamDestroy_v2, (LsCuStream stream))                                       \
    LS_ABI_FUNCTION(cuStreamSynchronize, (LsCuStream stream))                                      \
    LS_ABI_FUNCTION(cuStreamQuery, (LsCuStream stream))                                            \
    LS_ABI_FUNCTION(cuStreamWaitEvent, (LsCuStream stream, LsCuEvent event, unsigned flags))       \
    LS_ABI_FUNCTION(cuEventCreate, (LsCuEvent * event, unsigned flags))                            \
    LS_ABI_FUNCTION(cuEventDestroy_v2, (LsCuEvent event))                                          \
    LS_ABI_FUNCTION(cuEventRecord, (LsCuEvent event, LsCuStream stream))                           \
    LS_ABI_FUNCTION(cuEventSynchronize, (LsCuEvent event))                                         \
    LS_ABI_FUNCTION(cuEventQuery, (LsCuEvent event))                                               \
    LS_ABI_FUNCTION(cuEventElapsedTime, (float *ms, LsCuEvent start, LsCuEvent end))               \
    LS_ABI_FUNCTION(cuGetProcAddress_v2, (const char *symbol, void **function, int version,        \
                                          uint64_t flags, int *status))                            \
    LS_ABI_FUNCTION(cuGetExportTable, (const void **table, const LsCuUuid *id))

typedef struct LsCuda {
#define LS_ABI_FUNCTION(name, arguments) LsCuResult(*name) arguments;
    LS_CUDA_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
} LsCuda;

/* Loads libcuda.so.1; what is missing is NULL. Returns NULL, or a word on what failed (static
 * text). */
const char *ls_cuda_load(LsCuda *ret_cuda);
