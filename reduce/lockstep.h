/* SPDX-License-Identifier: Apache-2.0
 *
 * lockstep.h: gradient reduction for data-parallel training, by tensor name.
 *
 * What Horovod's core does, in C: each rank submits its tensors in whatever order they become
 * ready; the ranks agree on what is ready everywhere, fuse small tensors into buffers, reduce them,
 * and record every phase of it (Sergeev & Del Balso, arXiv 1802.05799; Laanait et al., arXiv
 * 1909.11150; behaviour after Horovod 0.28.1). One background thread per context owns
 * all communication. Every function may be called from any thread unless it says otherwise.
 *
 * Structs that the caller fills begin with their size, so that they can grow: set `size` to sizeof.
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef LOCKSTEP_API
#define LOCKSTEP_API __attribute__((visibility("default")))
#endif

typedef enum lockstep_status {
    LOCKSTEP_OK = 0,
    LOCKSTEP_IN_PROGRESS = 1,   /* wait: the time given has passed */
    LOCKSTEP_ERR_ARGUMENT = -1, /* a pointer, count or type that cannot be */
    LOCKSTEP_ERR_NO_MEMORY = -2,
    LOCKSTEP_ERR_MPI = -3,          /* MPI not there, not initialised, or it reported an error */
    LOCKSTEP_ERR_THREAD_LEVEL = -4, /* MPI_THREAD_SERIALIZED at least is needed */
    LOCKSTEP_ERR_SETTINGS = -5,     /* a setting differs between ranks, or is no valid value */
    LOCKSTEP_ERR_DUPLICATE = -6,    /* this name is already on its way on this rank */
    LOCKSTEP_ERR_MISMATCH = -7,     /* ranks submitted different type, shape, operation or root */
    LOCKSTEP_ERR_SHUT_DOWN = -8,    /* some rank has shut down */
    LOCKSTEP_ERR_PEER_LOST = -9, /* a rank died or cannot go on; the context is of no further use */
    LOCKSTEP_ERR_STALLED = -10,  /* over the stall limit: some rank never submitted it */
    LOCKSTEP_ERR_INTERNAL = -11,
    LOCKSTEP_ERR_DEVICE = -12, /* CUDA or NCCL is not there, or reported an error */
} lockstep_status;

typedef enum lockstep_dtype {
    LOCKSTEP_FLOAT32 = 0,
    LOCKSTEP_FLOAT64 = 1,
    LOCKSTEP_FLOAT16 = 2,
    LOCKSTEP_BFLOAT16 = 3,
    LOCKSTEP_INT8 = 4,
    LOCKSTEP_UINT8 = 5,
    LOCKSTEP_INT32 = 6,
    LOCKSTEP_INT64 = 7,
} lockstep_dtype;

typedef enum lockstep_op {
    LOCKSTEP_SUM = 0,     /* integers wrap */
    LOCKSTEP_AVERAGE = 1, /* sum / ranks, never overflows; of integers truncated toward zero */
    LOCKSTEP_MIN = 2,     /* NaN if any is */
    LOCKSTEP_MAX = 3,
    LOCKSTEP_PRODUCT = 4,
} lockstep_op;

typedef struct lockstep_context lockstep_context;

/* One submitted tensor. Numbers, never reused within a context; 0 is no handle. */
typedef uint64_t lockstep_handle;

/* Called once when the tensor is done, from the background thread (after a rank's death from the
 * thread that noticed it); must not block and must not call lockstep_wait or lockstep_shutdown, but
 * may submit, the same name too. The handle is done after it returns. `text` explains a status
 * below 0 and lives until the return. */
typedef void (*lockstep_callback)(lockstep_status status, const char *text, void *user);

typedef struct lockstep_options {
    size_t size; /* sizeof(lockstep_options) */
    /* An MPI_Comm *, duplicated at init; NULL: MPI_COMM_WORLD where MPI is initialised, else this
     * process is alone. The library must be built with MPI for anything but alone. */
    void *mpi_comm;
    int alone;       /* 1: one rank, no MPI, whatever the environment says */
    const char *run; /* folder to record into; NULL: $LOCKSTEP_RUN, or no recording */
    /* Settings by name, over the environment: "cycle_time_ms=1;plane=mpi". NULL: none. The table of
     * all names is reduce/settings.def; the environment's are LOCKSTEP_CYCLE_TIME_MS and so on. */
    const char *settings;
    /* What is known of the tensors, from which groups are made; read by lockstep_init(), which does
     * not keep it. The same on every rank. NULL: nothing. */
    const struct lockstep_graph *graph;
} lockstep_options;

/* The graph of the tensors that are reduced: tensors of one group are reduced only together, once
 * all of it is ready on every rank. Which group a tensor is in, the setting `grouping` says: lists
 * as they are given here, layers by the parts of the names, slices, bytes, or depth: what becomes
 * ready together, since what it needs is (arXiv 1909.11150). Not for several threads at once. */
typedef struct lockstep_graph lockstep_graph;

/* NULL: out of memory. */
LOCKSTEP_API lockstep_graph *lockstep_graph_new(void);
LOCKSTEP_API void lockstep_graph_free(lockstep_graph *graph);
/* Adds a tensor, in the order in which tensors become ready. Its name is copied.
 * LOCKSTEP_ERR_ARGUMENT: the name is empty or there already, or bytes are below 0. */
LOCKSTEP_API lockstep_status lockstep_graph_tensor(lockstep_graph *graph, const char *name,
                                                   int64_t bytes);
/* `tensor` becomes ready only after `needed`. Both were added. */
LOCKSTEP_API lockstep_status lockstep_graph_needs(lockstep_graph *graph, const char *tensor,
                                                  const char *needed);
/* These belong together; names need not be tensors of the graph. A tensor is in one group at most.
 */
LOCKSTEP_API lockstep_status lockstep_graph_group(lockstep_graph *graph, const char *const *tensors,
                                                  size_t n);

/* Fills with defaults and the size. */
LOCKSTEP_API void lockstep_options_init(lockstep_options *options);

/* Collective over the communicator. Settings that must agree are compared; where they do not, every
 * rank returns LOCKSTEP_ERR_SETTINGS and lockstep_last_error() names the setting and both values.
 * What fails on one rank fails on all, but for what is wrong before the ranks meet, a size of
 * options or MPI's thread level, say: that rank is told at once, the others after the setting
 * init_limit_s. options may be NULL. On failure *ret_context is NULL.
 *
 * MPI must have been started with MPI_THREAD_SERIALIZED, and then the program leaves MPI alone
 * until shutdown, or with MPI_THREAD_MULTIPLE, which a second context at the same time needs too.
 */
LOCKSTEP_API lockstep_status lockstep_init(const lockstep_options *options,
                                           lockstep_context **ret_context);

/* Waits until the tensors on their way are done or failed (those that other ranks never submit fail
 * after the setting linger_ms), ends the background thread and frees the context, once those that
 * are in lockstep_wait() have their answer; no thread may begin a call with it then. Collective,
 * but a rank may come early: what the others submit after that, or have not agreed on by then,
 * fails with LOCKSTEP_ERR_SHUT_DOWN. After a rank's death it returns LOCKSTEP_ERR_PEER_LOST within
 * a second and neither joins the blocked thread nor touches MPI; buffers handed in stay in use
 * until the process exits, which it should do without MPI_Finalize. */
LOCKSTEP_API lockstep_status lockstep_shutdown(lockstep_context *context);

/* -1: context is NULL. */
LOCKSTEP_API int lockstep_rank(const lockstep_context *context);
LOCKSTEP_API int lockstep_size(const lockstep_context *context);
LOCKSTEP_API int lockstep_local_rank(const lockstep_context *context);
LOCKSTEP_API int lockstep_local_size(const lockstep_context *context);

/* Where a tensor lies. */
typedef enum lockstep_memory {
    LOCKSTEP_HOST = 0,
    /* In the memory of a CUDA device: of the context that was current in the thread that called
     * lockstep_init, else of the device that the setting `device` names, else of that whose number
     * is the local rank (modulo their number), in its primary context, which is the runtime's. The
     * setting `memory` says that tensors are there: plane nccl, or plane hierarchical or hybrid
     * with memory=device. All of a rank's tensors may then lie here or on the host, as each one
     * says. */
    LOCKSTEP_DEVICE = 1,
} lockstep_memory;

/* One tensor to work on. The buffers belong to the library until the handle is done. */
typedef struct lockstep_tensor {
    size_t size;       /* sizeof(lockstep_tensor) */
    const char *name;  /* the same on every rank; copied */
    const void *input; /* count elements; may equal output */
    void *output;      /* count elements */
    int64_t count;     /* elements; 0 is allowed */
    lockstep_dtype dtype;
    const int64_t *shape; /* ndim extents whose product is count; NULL: one extent, count */
    int ndim;
    lockstep_callback callback; /* NULL: none */
    void *user;
    lockstep_memory memory; /* of input and output both */
    /* LOCKSTEP_DEVICE: a CUstream (the runtime's cudaStream_t is the same) whose present work makes
     * the input and uses the output last: submit when that was launched, not when it is over. The
     * library's own stream, which has the highest priority, waits for it on the device. NULL: the
     * default stream. When the handle is done the output is there, whatever stream reads it. */
    void *stream;
} lockstep_tensor;

/* Element-wise reduction over all ranks into output, on every rank. Returns at once. With a status
 * below 0 nothing was submitted, *ret_handle is 0 and no callback comes. ret_handle may be NULL
 * where a callback is given. input and output are one or do not overlap. */
LOCKSTEP_API lockstep_status lockstep_allreduce(lockstep_context *context,
                                                const lockstep_tensor *tensor, lockstep_op op,
                                                lockstep_handle *ret_handle);

/* The root's input arrives in every rank's output. The root may be any rank; on other ranks input
 * is not read and may be NULL. */
LOCKSTEP_API lockstep_status lockstep_broadcast(lockstep_context *context,
                                                const lockstep_tensor *tensor, int root,
                                                lockstep_handle *ret_handle);

/* Several tensors in one call: all of them are submitted, or, with a status below 0, none and all
 * handles are 0. They begin together, so they are agreed in one cycle where the other ranks submit
 * them together too. ret_handles: n of them; NULL where each tensor has a callback. */
LOCKSTEP_API lockstep_status lockstep_allreduce_group(lockstep_context *context,
                                                      const lockstep_tensor *const *tensors,
                                                      size_t n, lockstep_op op,
                                                      lockstep_handle *ret_handles);

/* What an allgather needs beside the tensor. */
typedef struct lockstep_gather {
    size_t size;         /* sizeof(lockstep_gather) */
    int64_t capacity;    /* elements that the tensor's output has room for */
    int64_t *ret_counts; /* one for each rank: the elements that came from it, when done; or NULL */
} lockstep_gather;

/* Every rank's input, one behind another in rank order, arrives in every rank's output. Shapes may
 * differ in their first extent. input may lie in output. Where the output of some rank is too
 * small, all fail with LOCKSTEP_ERR_ARGUMENT. */
LOCKSTEP_API lockstep_status lockstep_allgather(lockstep_context *context,
                                                const lockstep_tensor *tensor,
                                                const lockstep_gather *gather,
                                                lockstep_handle *ret_handle);

/* Element-wise reduction of which each rank gets its share of the first dimension (of d rows and N
 * ranks the first d mod N get one row more). count and shape are the whole input's; output has room
 * for the rank's rows, lockstep_share() of them (-1: no such rank, or context is NULL), and does
 * not overlap the input. */
LOCKSTEP_API lockstep_status lockstep_reduce_scatter(lockstep_context *context,
                                                     const lockstep_tensor *tensor, lockstep_op op,
                                                     lockstep_handle *ret_handle);
LOCKSTEP_API int64_t lockstep_share(const lockstep_context *context, int64_t rows, int rank);

/* Done when every rank has called it under this name. */
LOCKSTEP_API lockstep_status lockstep_barrier(lockstep_context *context, const char *name,
                                              lockstep_handle *ret_handle);

/* Waits until the handle is done. timeout_ms < 0: without limit; 0: only asks. LOCKSTEP_IN_PROGRESS
 * when the time is over, else the tensor's status; the handle is then gone, and asking again gives
 * LOCKSTEP_ERR_ARGUMENT, as do all but one of several threads that wait for it. A handle that is
 * never waited for is freed at shutdown. */
LOCKSTEP_API lockstep_status lockstep_wait(lockstep_context *context, lockstep_handle handle,
                                           int timeout_ms);

/* The sentence of the calling thread's latest status below 0; "" before any. Valid until its next
 * call. */
LOCKSTEP_API const char *lockstep_last_error(void);
/* A few words for a status, any number; constant, never NULL. */
LOCKSTEP_API const char *lockstep_status_text(lockstep_status status);

#ifdef __cplusplus
}
#endif
#endif
