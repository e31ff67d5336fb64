/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/nccl-profiler.h: the tables by which NCCL (2.27 to 2.30) calls a profiler plugin: v4, v5, v6.
 *
 * NCCL's own headers of it are not installed anywhere; the layouts were taken from them and are
 * asserted here. v6 differs from v5 in further events only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Event types: each is a bit of the mask. */
enum {
    LS_NCCL_EVENT_GROUP = 1 << 0,
    LS_NCCL_EVENT_COLL = 1 << 1,
    LS_NCCL_EVENT_P2P = 1 << 2,
    LS_NCCL_EVENT_PROXY_OP = 1 << 3,
    LS_NCCL_EVENT_PROXY_STEP = 1 << 4,
    LS_NCCL_EVENT_PROXY_CTRL = 1 << 5,
    LS_NCCL_EVENT_KERNEL_CHANNEL = 1 << 6,
    LS_NCCL_EVENT_NET_PLUGIN = 1 << 7,
    LS_NCCL_EVENT_GROUP_API = 1 << 8,
    LS_NCCL_EVENT_COLL_API = 1 << 9,
    LS_NCCL_EVENT_P2P_API = 1 << 10,
    LS_NCCL_EVENT_KERNEL_LAUNCH = 1 << 11,
    LS_NCCL_EVENT_CE_COLL = 1 << 12,
    LS_NCCL_EVENT_CE_SYNC = 1 << 13,
    LS_NCCL_EVENT_CE_BATCH = 1 << 14,
};

/* States that recordEventState tells of. */
enum {
    LS_NCCL_STATE_PROXY_OP_IN_PROGRESS = 19,
    LS_NCCL_STATE_KERNEL_CHANNEL_STOP = 22,
    LS_NCCL_STATE_GROUP_START_API_END = 23,
    LS_NCCL_STATE_GROUP_END_API_START = 24,
};

typedef struct LsNcclEventV4 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            uint64_t sequence;
            const char *func;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *type;
            uint8_t n_channels, n_warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char *func;
            void *buffer;
            const char *type;
            size_t count;
            int peer;
            uint8_t n_channels;
        } p2p;
        struct {
            int32_t pid; /* pid_t */
            uint8_t channel;
            int peer, n_steps, chunk_bytes, is_send;
        } proxy_op;
        struct {
            int step;
        } proxy_step;
        struct {
            uint8_t channel;
            uint64_t device_ns;
        } kernel_channel;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
    };
} LsNcclEventV4;

typedef struct LsNcclEventV5 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            bool is_captured;
            int depth;
        } group_api;
        struct {
            const char *func;
            size_t count;
            const char *type;
            int root;
            void *stream;
            bool is_captured;
        } coll_api;
        struct {
            const char *func;
            size_t count;
            const char *type;
            void *stream;
            bool is_captured;
        } p2p_api;
        struct {
            void *stream;
        } kernel_launch;
        struct {
            uint64_t sequence;
            const char *func;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *type;
            uint8_t n_channels, n_warps;
            const char *algorithm, *protocol;
            void *group;
        } coll;
        struct {
            const char *func;
            void *buffer;
            const char *type;
            size_t count;
            int peer;
            uint8_t n_channels;
            void *group;
        } p2p;
        struct {
            int32_t pid;
            uint8_t channel;
            int peer, n_steps, chunk_bytes, is_send;
        } proxy_op;
        struct {
            int step;
        } proxy_step;
        struct {
            uint8_t channel;
            uint64_t device_ns;
        } kernel_channel;
        struct {
            int64_t id;
            void *data;
        } net_plugin;
    };
} LsNcclEventV5;

#if defined(__LP64__)
#define LS_AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #field)
LS_AT(LsNcclEventV4, parent, 8);
LS_AT(LsNcclEventV4, rank, 16);
LS_AT(LsNcclEventV4, coll.sequence, 24);
LS_AT(LsNcclEventV4, coll.protocol, 96);
_Static_assert(sizeof(LsNcclEventV4) == 104, "v4 descriptor");
LS_AT(LsNcclEventV5, coll.sequence, 24);
LS_AT(LsNcclEventV5, coll.func, 32);
LS_AT(LsNcclEventV5, coll.count, 56);
LS_AT(LsNcclEventV5, coll.root, 64);
LS_AT(LsNcclEventV5, coll.type, 72);
LS_AT(LsNcclEventV5, coll.n_channels, 80);
LS_AT(LsNcclEventV5, coll.algorithm, 88);
LS_AT(LsNcclEventV5, coll.group, 104);
LS_AT(LsNcclEventV5, coll_api.count, 32);
LS_AT(LsNcclEventV5, coll_api.root, 48);
LS_AT(LsNcclEventV5, coll_api.stream, 56);
LS_AT(LsNcclEventV5, coll_api.is_captured, 64);
LS_AT(LsNcclEventV5, p2p_api.stream, 48);
LS_AT(LsNcclEventV5, group_api.depth, 28);
LS_AT(LsNcclEventV5, p2p.buffer, 32);
LS_AT(LsNcclEventV5, p2p.peer, 56);
LS_AT(LsNcclEventV5, p2p.n_channels, 60);
LS_AT(LsNcclEventV5, p2p.group, 64);
LS_AT(LsNcclEventV5, proxy_op.channel, 28);
LS_AT(LsNcclEventV5, proxy_op.peer, 32);
LS_AT(LsNcclEventV5, proxy_op.n_steps, 36);
LS_AT(LsNcclEventV5, proxy_op.chunk_bytes, 40);
LS_AT(LsNcclEventV5, proxy_op.is_send, 44);
LS_AT(LsNcclEventV5, kernel_channel.device_ns, 32);
LS_AT(LsNcclEventV5, net_plugin.data, 32);
_Static_assert(sizeof(LsNcclEventV5) == 112, "v5 descriptor");
#undef LS_AT
#endif

/* Of recordEventState, v4 and later. */
typedef union LsNcclState {
    struct {
        size_t bytes;
    } proxy_step;
    struct {
        int pending;
    } proxy_ctrl;
    struct {
        void *data;
    } net_plugin;
    struct {
        uint64_t device_ns;
    } kernel_channel;
} LsNcclState;
_Static_assert(sizeof(LsNcclState) == 8, "state arguments");

typedef void (*LsNcclLogger)(int level, unsigned long flags, const char *file, int line,
                             const char *format, ...);

typedef struct LsNcclProfilerV4 {
    const char *name;
    int (*init)(void **ret_context, int *mask, const char *comm_name, uint64_t comm_hash,
                int n_nodes, int n_ranks, int rank, LsNcclLogger logger);
    int (*startEvent)(void *context, void **ret_handle, LsNcclEventV4 *event);
    int (*stopEvent)(void *handle);
    int (*recordEventState)(void *handle, int state, LsNcclState *arguments);
    int (*finalize)(void *context);
} LsNcclProfilerV4;

typedef struct LsNcclProfilerV5 {
    const char *name;
    int (*init)(void **ret_context, uint64_t comm_id, int *mask, const char *comm_name, int n_nodes,
                int n_ranks, int rank, LsNcclLogger logger);
    int (*startEvent)(void *context, void **ret_handle, LsNcclEventV5 *event);
    int (*stopEvent)(void *handle);
    int (*recordEventState)(void *handle, int state, LsNcclState *arguments);
    int (*finalize)(void *context);
} LsNcclProfilerV5;
_Static_assert(sizeof(LsNcclProfilerV4) == 6 * sizeof(void *), "v4 table");
_Static_assert(sizeof(LsNcclProfilerV5) == 6 * sizeof(void *), "v5 table");
