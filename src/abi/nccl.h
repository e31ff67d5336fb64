/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/nccl.h: the part of NCCL that we call or stand in for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

typedef int LsNcclResult;
typedef void *LsNcclComm;
typedef struct LsNcclId {
    char bytes[128];
} LsNcclId;

enum {
    LS_NCCL_SUCCESS = 0,
    LS_NCCL_UNHANDLED_CUDA_ERROR = 1,
    LS_NCCL_SYSTEM_ERROR = 2,
    LS_NCCL_INTERNAL_ERROR = 3,
    LS_NCCL_INVALID_ARGUMENT = 4,
    LS_NCCL_INVALID_USAGE = 5,
    LS_NCCL_REMOTE_ERROR = 6,
    LS_NCCL_IN_PROGRESS = 7,
};

typedef enum LsNcclType {
    LS_NCCL_INT8 = 0,
    LS_NCCL_UINT8 = 1,
    LS_NCCL_INT32 = 2,
    LS_NCCL_UINT32 = 3,
    LS_NCCL_INT64 = 4,
    LS_NCCL_UINT64 = 5,
    LS_NCCL_FLOAT16 = 6,
    LS_NCCL_FLOAT32 = 7,
    LS_NCCL_FLOAT64 = 8,
    LS_NCCL_BFLOAT16 = 9,
    LS_NCCL_N_TYPES = 10,
} LsNcclType;

typedef enum LsNcclOp {
    LS_NCCL_SUM = 0,
    LS_NCCL_PROD = 1,
    LS_NCCL_MAX = 2,
    LS_NCCL_MIN = 3,
    LS_NCCL_AVG = 4,
} LsNcclOp;

/* As of 2.14: a library takes of later fields, which a struct of this version and size does not
 * have, its own defaults. */
typedef struct LsNcclConfig {
    size_t size;
    unsigned magic, version;
    int blocking; /* 0: calls return LS_NCCL_IN_PROGRESS, ncclCommGetAsyncError tells when they are
                     done */
} LsNcclConfig;
#define LS_NCCL_CONFIG_MAGIC   0xcafebeefu
#define LS_NCCL_CONFIG_VERSION 21400u
#define LS_NCCL_VERSION_AVG    21000 /* the first with LS_NCCL_AVG */

/* LS_ABI_FUNCTION(name, arguments) of libnccl.so.2; each returns an LsNcclResult. */
#define LS_NCCL_FUNCTIONS(LS_ABI_FUNCTION)                                                         \
    LS_ABI_FUNCTION(ncclGetVersion, (int *version))                                                \
    LS_ABI_FUNCTION(ncclGetUniqueId, (LsNcclId * id))                                              \
    LS_ABI_FUNCTION(ncclCommInitRank, (LsNcclComm * comm, int n_ranks, LsNcclId id, int rank))     \
    LS_ABI_FUNCTION(ncclCommDestroy, (LsNcclComm comm))                                            \
    LS_ABI_FUNCTION(ncclCommAbort, (LsNcclComm comm))                                              \
    LS_ABI_FUNCTION(ncclCommGetAsyncError, (LsNcclComm comm, LsNcclResult * error))                \
    LS_ABI_FUNCTION(ncclCommCount, (LsNcclComm comm, int *count))                                  \
    LS_ABI_FUNCTION(ncclCommUserRank, (LsNcclComm comm, int *rank))                                \
    LS_ABI_FUNCTION(ncclGroupStart, (void))                                                        \
    LS_ABI_FUNCTION(ncclGroupEnd, (void))                                                          \
    LS_ABI_FUNCTION(ncclAllReduce, (const void *send, void *receive, size_t count, int type,       \
                                    int op, LsNcclComm comm, LsCuStream stream))                   \
    LS_ABI_FUNCTION(ncclReduce, (const void *send, void *receive, size_t count, int type, int op,  \
                                 int root, LsNcclComm comm, LsCuStream stream))                    \
    LS_ABI_FUNCTION(ncclBroadcast, (const void *send, void *receive, size_t count, int type,       \
                                    int root, LsNcclComm comm, LsCuStream stream))                 \
    LS_ABI_FUNCTION(ncclAllGather, (const void *send, void *receive, size_t count, int type,       \
                                    LsNcclComm comm, LsCuStream stream))                           \
    LS_ABI_FUNCTION(ncclReduceScatter, (const void *send, void *receive, size_t count, int type,   \
                                        int op, LsNcclComm comm, LsCuStream stream))               \
    LS_ABI_FUNCTION(ncclSend, (const void *send, size_t count, int type, int peer,                 \
                               LsNcclComm comm, LsCuStream stream))                                \
    LS_ABI_FUNCTION(ncclRecv, (void *receive, size_t count, int type, int peer, LsNcclComm comm,   \
                               LsCuStream stream))

/* Those that came later: NULL in an older library. Finalize and InitRankConfig since 2.14, Split
 * since 2.18. */
#define LS_NCCL_NEWER(LS_ABI_FUNCTION)                                                             \
    LS_ABI_FUNCTION(ncclCommInitRankConfig,                                                        \
                    (LsNcclComm * comm, int n_ranks, LsNcclId id, int rank, LsNcclConfig *config)) \
    LS_ABI_FUNCTION(ncclCommSplit,                                                                 \
                    (LsNcclComm comm, int color, int key, LsNcclComm *ret_comm, void *config))     \
    LS_ABI_FUNCTION(ncclCommFinalize, (LsNcclComm comm))

typedef struct LsNccl {
#define LS_ABI_FUNCTION(name, arguments) LsNcclResult(*name) arguments;
    LS_NCCL_FUNCTIONS(LS_ABI_FUNCTION)
    LS_NCCL_NEWER(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
    const char *(*ncclGetErrorString)(LsNcclResult result);
    const char *(*ncclGetLastError)(LsNcclComm comm); /* since 2.13, or NULL */
} LsNccl;

/* Loads libnccl.so.2; what is missing is NULL. Returns NULL, or a word on what failed (static
 * text). */
const char *ls_nccl_load(LsNccl *ret_nccl);
/* Bytes of one element; 0: no such type. */
size_t ls_nccl_type_bytes(int type);
