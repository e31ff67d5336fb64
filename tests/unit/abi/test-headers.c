/* SPDX-License-Identifier: Apache-2.0
 *
 * src/abi against the real headers, by the compiler; and against the real libraries where they are
 * installed: every function of the lists is there, the size of a call's arguments agrees.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <glib.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>

#include "abi/cuda.h"
#include "abi/cupti.h"
#include "abi/nccl.h"
#include "abi/nvtx.h"

#define SAME(ours, theirs)    _Static_assert((long long)(ours) == (long long)(theirs), #ours)
#define AT(ours, type, field) _Static_assert((size_t)(ours) == offsetof(type, field), #ours)

/* -- The driver -- */
SAME(LS_CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(LS_CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(LS_CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(LS_CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(LS_CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(LS_CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(LS_CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(LS_CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(LS_CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME(LS_CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(LS_CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(LS_CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(LS_CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(LS_CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(LS_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(LS_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(LS_CU_DEVICE_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(LS_CU_DEVICE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(LS_CU_DEVICE_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(LS_CU_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(LS_CU_POINTER_DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(LS_CU_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(LS_CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME(sizeof(LsCuDevice), sizeof(CUdevice));
SAME(sizeof(LsCuPointer), sizeof(CUdeviceptr));
SAME(sizeof(LsCuUuid), sizeof(CUuuid));

/* -- NCCL -- */
SAME(sizeof(LsNcclId), sizeof(ncclUniqueId));
SAME(LS_NCCL_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError);
SAME(LS_NCCL_SYSTEM_ERROR, ncclSystemError);
SAME(LS_NCCL_INTERNAL_ERROR, ncclInternalError);
SAME(LS_NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(LS_NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(LS_NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(LS_NCCL_IN_PROGRESS, ncclInProgress);
SAME(LS_NCCL_INT8, ncclInt8);
SAME(LS_NCCL_UINT8, ncclUint8);
SAME(LS_NCCL_INT32, ncclInt32);
SAME(LS_NCCL_UINT32, ncclUint32);
SAME(LS_NCCL_INT64, ncclInt64);
SAME(LS_NCCL_UINT64, ncclUint64);
SAME(LS_NCCL_FLOAT16, ncclFloat16);
SAME(LS_NCCL_FLOAT32, ncclFloat32);
SAME(LS_NCCL_FLOAT64, ncclFloat64);
SAME(LS_NCCL_BFLOAT16, ncclBfloat16);
SAME(LS_NCCL_SUM, ncclSum);
SAME(LS_NCCL_PROD, ncclProd);
SAME(LS_NCCL_MAX, ncclMax);
SAME(LS_NCCL_MIN, ncclMin);
SAME(LS_NCCL_AVG, ncclAvg);
AT(offsetof(LsNcclConfig, size), ncclConfig_t, size);
AT(offsetof(LsNcclConfig, magic), ncclConfig_t, magic);
AT(offsetof(LsNcclConfig, version), ncclConfig_t, version);
AT(offsetof(LsNcclConfig, blocking), ncclConfig_t, blocking);
SAME(LS_NCCL_CONFIG_VERSION, NCCL_VERSION(2, 14, 0));
SAME(LS_NCCL_VERSION_AVG, NCCL_VERSION(2, 10, 0));
static const ncclConfig_t initial_config = NCCL_CONFIG_INITIALIZER;

/* -- CUPTI: constants -- */
SAME(LS_CUPTI_ERROR_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME(LS_CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(LS_CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(LS_CUPTI_ERROR_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME(LS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(LS_CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME(LS_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(LS_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(LS_CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(LS_CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(LS_CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(LS_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(LS_CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME(LS_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(LS_CUPTI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME(LS_CUPTI_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
SAME(LS_CUPTI_EXTERNAL_CUSTOM2, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2);
SAME(LS_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(LS_CUPTI_ATTRIBUTE_ZEROED_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(LS_CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
SAME(LS_CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(LS_CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(LS_CUPTI_OVERHEAD_COMPILER, CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER);
SAME(LS_CUPTI_OVERHEAD_BUFFER_FLUSH, CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
SAME(LS_CUPTI_OVERHEAD_INSTRUMENTATION, CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION);
SAME(LS_CUPTI_OVERHEAD_RESOURCE, CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE);
SAME(LS_CUPTI_OVERHEAD_MODULE_LOAD, CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING);
SAME(LS_CUPTI_OVERHEAD_LAZY_LOAD, CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
SAME(LS_CUPTI_OVERHEAD_COMMAND_FULL, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
SAME(LS_CUPTI_OVERHEAD_BUFFER_REQUEST, CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST);
SAME(LS_CUPTI_OVERHEAD_UVM_INIT, CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT);
SAME(LS_CUPTI_SYNC_EVENT_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
SAME(LS_CUPTI_SYNC_STREAM_WAIT_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
SAME(LS_CUPTI_SYNC_STREAM_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
SAME(LS_CUPTI_SYNC_CONTEXT_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
SAME(sizeof(LsCuptiSubscriber), sizeof(CUpti_SubscriberParams));
#define CALL(ours, theirs) SAME(LS_CUPTI_CALL_##ours, CUPTI_DRIVER_TRACE_CBID_##theirs)
CALL(DEVICE_GET_ATTRIBUTE, cuDeviceGetAttribute);
CALL(CTX_SYNCHRONIZE, cuCtxSynchronize);
CALL(FUNC_GET_ATTRIBUTE, cuFuncGetAttribute);
CALL(EVENT_RECORD, cuEventRecord);
CALL(EVENT_QUERY, cuEventQuery);
CALL(EVENT_SYNCHRONIZE, cuEventSynchronize);
CALL(STREAM_QUERY, cuStreamQuery);
CALL(STREAM_SYNCHRONIZE, cuStreamSynchronize);
CALL(MEMSET_D8_ASYNC, cuMemsetD8Async);
CALL(MEMSET_D32_ASYNC, cuMemsetD32Async);
CALL(MEM_ALLOC, cuMemAlloc_v2);
CALL(MEM_FREE, cuMemFree_v2);
CALL(MEMCPY_HTOD, cuMemcpyHtoD_v2);
CALL(MEMCPY_HTOD_ASYNC, cuMemcpyHtoDAsync_v2);
CALL(MEMCPY_DTOH, cuMemcpyDtoH_v2);
CALL(MEMCPY_DTOH_ASYNC, cuMemcpyDtoHAsync_v2);
CALL(MEMCPY_DTOD_ASYNC, cuMemcpyDtoDAsync_v2);
CALL(STREAM_WAIT_EVENT, cuStreamWaitEvent);
CALL(CTX_SET_CURRENT, cuCtxSetCurrent);
CALL(CTX_GET_CURRENT, cuCtxGetCurrent);
CALL(LAUNCH_KERNEL, cuLaunchKernel);
CALL(LAUNCH_KERNEL_EX, cuLaunchKernelEx);
CALL(LAUNCH_HOST_FUNC, cuLaunchHostFunc);
CALL(POINTER_GET_ATTRIBUTE, cuPointerGetAttribute);
CALL(KERNEL_GET_ATTRIBUTE, cuKernelGetAttribute);

/* -- CUPTI: where fields lie, in the oldest and the newest struct that this header has -- */
#define KERNEL_AT(type)                                                                            \
    AT(LS_CUPTI_AT_KIND, type, kind);                                                              \
    AT(LS_CUPTI_KERNEL_START, type, start);                                                        \
    AT(LS_CUPTI_KERNEL_END, type, end);                                                            \
    AT(LS_CUPTI_KERNEL_COMPLETED, type, completed);                                                \
    AT(LS_CUPTI_KERNEL_DEVICE, type, deviceId);                                                    \
    AT(LS_CUPTI_KERNEL_CONTEXT, type, contextId);                                                  \
    AT(LS_CUPTI_KERNEL_STREAM, type, streamId);                                                    \
    AT(LS_CUPTI_KERNEL_GRID, type, gridX);                                                         \
    AT(LS_CUPTI_KERNEL_BLOCK, type, blockX);                                                       \
    AT(LS_CUPTI_KERNEL_CORRELATION, type, correlationId);                                          \
    AT(LS_CUPTI_KERNEL_GRID_ID, type, gridId);                                                     \
    AT(LS_CUPTI_KERNEL_NAME, type, name)
KERNEL_AT(CUpti_ActivityKernel4);
KERNEL_AT(CUpti_ActivityKernel9);
KERNEL_AT(CUpti_ActivityKernel10);
SAME(LS_CUPTI_KERNEL_LEAST, sizeof(CUpti_ActivityKernel4));
SAME(LS_CUPTI_KERNEL_BYTES_13_0, sizeof(CUpti_ActivityKernel10));
#define COPY_AT(type)                                                                              \
    AT(LS_CUPTI_MEMCPY_COPY_KIND, type, copyKind);                                                 \
    AT(LS_CUPTI_MEMCPY_SOURCE, type, srcKind);                                                     \
    AT(LS_CUPTI_MEMCPY_TARGET, type, dstKind);                                                     \
    AT(LS_CUPTI_MEMCPY_BYTES, type, bytes);                                                        \
    AT(LS_CUPTI_MEMCPY_START, type, start);                                                        \
    AT(LS_CUPTI_MEMCPY_END, type, end);                                                            \
    AT(LS_CUPTI_MEMCPY_DEVICE, type, deviceId);                                                    \
    AT(LS_CUPTI_MEMCPY_CONTEXT, type, contextId);                                                  \
    AT(LS_CUPTI_MEMCPY_STREAM, type, streamId)
COPY_AT(CUpti_ActivityMemcpy);
COPY_AT(CUpti_ActivityMemcpy6);
COPY_AT(CUpti_ActivityMemcpyPtoP4);
AT(LS_CUPTI_MEMCPY_CORRELATION, CUpti_ActivityMemcpy, correlationId);
AT(LS_CUPTI_MEMCPY_CORRELATION, CUpti_ActivityMemcpy6, correlationId);
AT(LS_CUPTI_PEER_CORRELATION, CUpti_ActivityMemcpyPtoP4, correlationId);
AT(LS_CUPTI_PEER_SOURCE_DEVICE, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(LS_CUPTI_MEMCPY_BYTES_13_0, sizeof(CUpti_ActivityMemcpy6));
AT(LS_CUPTI_MEMSET_VALUE, CUpti_ActivityMemset4, value);
AT(LS_CUPTI_MEMSET_BYTES, CUpti_ActivityMemset4, bytes);
AT(LS_CUPTI_MEMSET_START, CUpti_ActivityMemset4, start);
AT(LS_CUPTI_MEMSET_END, CUpti_ActivityMemset4, end);
AT(LS_CUPTI_MEMSET_DEVICE, CUpti_ActivityMemset4, deviceId);
AT(LS_CUPTI_MEMSET_CONTEXT, CUpti_ActivityMemset4, contextId);
AT(LS_CUPTI_MEMSET_STREAM, CUpti_ActivityMemset4, streamId);
AT(LS_CUPTI_MEMSET_CORRELATION, CUpti_ActivityMemset4, correlationId);
SAME(LS_CUPTI_MEMSET_BYTES_13_0, sizeof(CUpti_ActivityMemset4));
AT(LS_CUPTI_SYNC_TYPE, CUpti_ActivitySynchronization2, type);
AT(LS_CUPTI_SYNC_START, CUpti_ActivitySynchronization2, start);
AT(LS_CUPTI_SYNC_END, CUpti_ActivitySynchronization2, end);
AT(LS_CUPTI_SYNC_CORRELATION, CUpti_ActivitySynchronization2, correlationId);
AT(LS_CUPTI_SYNC_CONTEXT, CUpti_ActivitySynchronization2, contextId);
AT(LS_CUPTI_SYNC_STREAM, CUpti_ActivitySynchronization2, streamId);
AT(LS_CUPTI_SYNC_EVENT, CUpti_ActivitySynchronization2, cudaEventId);
SAME(LS_CUPTI_SYNC_BYTES_13_0, sizeof(CUpti_ActivitySynchronization2));
AT(LS_CUPTI_API_CALL, CUpti_ActivityAPI, cbid);
AT(LS_CUPTI_API_START, CUpti_ActivityAPI, start);
AT(LS_CUPTI_API_END, CUpti_ActivityAPI, end);
AT(LS_CUPTI_API_PROCESS, CUpti_ActivityAPI, processId);
AT(LS_CUPTI_API_THREAD, CUpti_ActivityAPI, threadId);
AT(LS_CUPTI_API_CORRELATION, CUpti_ActivityAPI, correlationId);
AT(LS_CUPTI_API_STATUS, CUpti_ActivityAPI, returnValue);
SAME(LS_CUPTI_API_BYTES, sizeof(CUpti_ActivityAPI));
AT(LS_CUPTI_OVERHEAD_KIND, CUpti_ActivityOverhead3, overheadKind);
AT(LS_CUPTI_OVERHEAD_START, CUpti_ActivityOverhead3, start);
AT(LS_CUPTI_OVERHEAD_END, CUpti_ActivityOverhead3, end);
AT(LS_CUPTI_OVERHEAD_CORRELATION, CUpti_ActivityOverhead3, correlationId);
AT(LS_CUPTI_OVERHEAD_DATA, CUpti_ActivityOverhead3, overheadData);
SAME(LS_CUPTI_OVERHEAD_BYTES_13_0, sizeof(CUpti_ActivityOverhead3));
AT(LS_CUPTI_EXTERNAL_KIND, CUpti_ActivityExternalCorrelation, externalKind);
AT(LS_CUPTI_EXTERNAL_ID, CUpti_ActivityExternalCorrelation, externalId);
AT(LS_CUPTI_EXTERNAL_CORRELATION_ID, CUpti_ActivityExternalCorrelation, correlationId);
SAME(LS_CUPTI_EXTERNAL_BYTES, sizeof(CUpti_ActivityExternalCorrelation));

/* -- NVTX -- */
AT(offsetof(LsNvtxEvent, size), nvtxEventAttributes_t, size);
AT(offsetof(LsNvtxEvent, payload_type), nvtxEventAttributes_t, payloadType);
AT(offsetof(LsNvtxEvent, payload), nvtxEventAttributes_t, payload);
AT(offsetof(LsNvtxEvent, message_type), nvtxEventAttributes_t, messageType);
AT(offsetof(LsNvtxEvent, message), nvtxEventAttributes_t, message);
SAME(sizeof(LsNvtxEvent), sizeof(nvtxEventAttributes_t));
SAME(LS_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(LS_NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(LS_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(LS_NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(LS_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(LS_NVTX_CORE_SIZE, NVTX_CBID_CORE_SIZE);
SAME(LS_NVTX_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME(LS_NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(LS_NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(LS_NVTX_NAME_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
SAME(LS_NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(LS_NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(LS_NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
AT(offsetof(LsNvtxCallbacks, get_functions), NvtxExportTableCallbacks, GetModuleFunctionTable);

/* Functions of the lists that a real library lacks, but for what is optional. */
static void
check_library(const char *library_name, const char *const *functions, size_t n)
{
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        g_test_skip(library_name);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        g_test_message("%s", functions[i]);
        g_assert_nonnull(dlsym(library, functions[i]));
    }
}

static void
test_cupti(void)
{
    static const char *const functions[] = {
#define LS_ABI_FUNCTION(name, arguments, is_optional) #name,
        LS_CUPTI_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
    };
    check_library("libcupti.so.13", functions, G_N_ELEMENTS(functions));
}

static void
test_nccl(void)
{
    static const char *const functions[] = {
#define LS_ABI_FUNCTION(name, arguments) #name,
        LS_NCCL_FUNCTIONS(LS_ABI_FUNCTION) LS_NCCL_NEWER(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
            "ncclGetErrorString",
        "ncclGetLastError",
    };
    g_assert_cmphex(initial_config.magic, ==, LS_NCCL_CONFIG_MAGIC);
    check_library("libnccl.so.2", functions, G_N_ELEMENTS(functions));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/abi/cupti/library-has-every-function", test_cupti);
    g_test_add_func("/abi/nccl/library-has-every-function", test_nccl);
    return g_test_run();
}
