/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane.h: how bytes move between the ranks.
 *
 * One file and one row of the table per plane; plane-self.c is the smallest one, to start a new one
 * from. Calls block; every rank makes the same calls in the same order, from its communication
 * thread. Counts are elements and may be 0 or exceed what one call of the library below can take.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsDevice LsDevice;
typedef struct LsWorld LsWorld;
typedef struct LsPlane LsPlane;
typedef struct LsTransport LsTransport;

typedef struct LsPlaneConfig {
    const LsWorld *world;
    int servers; /* server: the first so many ranks hold shards; 0: all */
    LsTransport
        *transport;   /* borrowed; for the communication thread, between the control's actions */
    LsDevice *device; /* borrowed; NULL: tensors lie on the host */
} LsPlaneConfig;

/* What a plane does with the memory of a device: the same calls on every rank, wherever each one's
 * tensor lies. A call returns when the work is handed to the device's stream. Pointers are the
 * device's; what goes in one call fits into the device's fused buffer. */
typedef struct LsDeviceClass {
    /* Makes the connection on first use; collective. */
    lockstep_status (*ready)(LsPlane *plane);
    /* While the device works: a failure, here or on another rank, or a death. */
    lockstep_status (*poll)(LsPlane *plane);
    /* What should have come next cannot: the other ranks are told, if they were not. */
    void (*fail)(LsPlane *plane);
    /* Whether it averages floats. Integers go through the host, which has wider ones. */
    bool (*averages)(const LsPlane *plane);
    lockstep_status (*allreduce)(LsPlane *plane, const void *input, void *output, int64_t count,
                                 lockstep_dtype dtype, lockstep_op op);
    /* The others may be NULL: then the tensor goes through the host. */
    lockstep_status (*broadcast)(LsPlane *plane, void *data, size_t size_bytes, int root);
    /* parts[r]: where rank r's bytes[r] bytes lie, on rank r before, on all after. together: all
     * are as long and lie one behind another, on every rank. */
    lockstep_status (*allgather)(LsPlane *plane, void *const *parts, const int64_t *bytes,
                                 bool together);
    /* parts[r]: what rank r is to get of this rank, counts[r] elements. output: this rank's, may be
     * its part. */
    lockstep_status (*reduce_scatter)(LsPlane *plane, void *const *parts, const int64_t *counts,
                                      bool together, void *output, lockstep_dtype dtype,
                                      lockstep_op op);
} LsDeviceClass;

/* Where a list of offsets is asked for: ranks + 1 numbers that say where each rank's part begins
 * and the last one ends. Parts may be empty. op is not AVERAGE (reduce/average.h). */
typedef struct LsPlaneClass {
    const char *name;           /* of the setting `plane` */
    const char *allreduce_text; /* names of OPERATION records */
    const char *lent_text;      /* of an allreduce in memory that was lent */
    const char *broadcast_text;
    const char *allgather_text;
    const char *reduce_scatter_text;
    bool averages; /* allreduce takes AVERAGE of float32 and float64 nevertheless */
    bool (*fits)(const LsWorld *world);
    /* What can fail on this rank alone, memory for one: it calls no other rank. */
    lockstep_status (*open)(const LsPlaneConfig *config, LsPlane **ret_plane);
    /* What takes all ranks: collective, once open() has succeeded on every one, and before the
     * plane's first call. It may put another plane in the place of this one. NULL: nothing does. */
    lockstep_status (*connect)(LsPlane **plane);
    void (*close)(LsPlane *plane);
    /* input may equal output, not overlap it otherwise; or they are what was lent. */
    lockstep_status (*allreduce)(LsPlane *plane, const void *input, void *output, int64_t count,
                                 lockstep_dtype dtype, lockstep_op op);
    lockstep_status (*broadcast)(LsPlane *plane, void *data, size_t size_bytes, int root);
    /* Each rank's own part is in place before, every part after. Offsets in bytes. */
    lockstep_status (*allgather)(LsPlane *plane, void *data, const int64_t *offsets);
    /* In place: after it the rank's own part is reduced, the others are undefined. Offsets in
     * elements. */
    lockstep_status (*reduce_scatter)(LsPlane *plane, void *data, const int64_t *offsets,
                                      lockstep_dtype dtype, lockstep_op op);
    /* Part r of `send` goes to rank r, whose piece arrives as part r of `receive`. In bytes. */
    lockstep_status (*alltoall)(LsPlane *plane, const void *send, const int64_t *send_offsets,
                                void *receive, const int64_t *receive_offsets);
    /* Memory of the plane's for an allreduce of so many bytes: the caller lays them into the input
     * and finds the result in the output, which it only reads, until its next call. Every rank is
     * answered alike; false: it has none for that many. May be NULL. */
    bool (*lend)(LsPlane *plane, size_t bytes, void **ret_input, void **ret_output);
    const LsDeviceClass *device; /* NULL: of tensors on the host */
    /* A rank has died: what the communication thread waits for on the device ends. Any thread.
     * NULL: cannot be. */
    void (*abandon)(LsPlane *plane);
} LsPlaneClass;

/* First member of every plane's own struct. open() leaves the last two alone. */
struct LsPlane {
    const LsPlaneClass *class;
    LsDevice *device; /* borrowed; NULL where the class has none */
    /* Told of each stage that ended of the call under way, where it has several; NULL: nobody
     * wants to know. bytes: of data that this rank handled in it. */
    void (*stage)(void *user, const char *text, int64_t start_ns, int64_t end_ns, int64_t bytes);
    void *user;
};

extern const LsPlaneClass ls_plane_self;
extern const LsPlaneClass ls_plane_nccl;
/* Only where the library is built with MPI: */
extern const LsPlaneClass ls_plane_shared;
extern const LsPlaneClass ls_plane_mpi;
extern const LsPlaneClass ls_plane_ring;
extern const LsPlaneClass ls_plane_halving;
extern const LsPlaneClass ls_plane_hierarchical;
extern const LsPlaneClass ls_plane_hybrid;
extern const LsPlaneClass ls_plane_server;
/* NCCL inside the host, MPI between hosts: */
extern const LsPlaneClass ls_plane_hierarchical_device;
extern const LsPlaneClass ls_plane_hybrid_device;

/* The row for this world and for tensors there; name "auto" takes the one that fits. NULL: there is
 * none, and the thread's sentence says which there are. */
const LsPlaneClass *ls_plane_find(const char *name, const LsWorld *world, bool on_device);
/* A stage ends now. Returns now: the start of the next. */
int64_t ls_plane_stage(const LsPlane *plane, const char *text, int64_t start_ns, int64_t bytes);
