/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's double: bytes between processes of one machine, chunk by chunk through shared memory,
 * summed in the order of the ranks: the result is the same on all ranks and in every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nccl-private.h"

static unsigned char *
chunk_of(const Comm *comm, int rank)
{
    return (unsigned char *)&comm->shared->mail[comm->n * comm->n] + (size_t)rank * CHUNK;
}

static unsigned char *
letter_of(const Comm *comm, int from, int to)
{
    return chunk_of(comm, comm->n) + ((size_t)from * (size_t)comm->n + (size_t)to) * CHUNK;
}

LsNcclResult
shared_open(Comm *comm, const char *name)
{
    size_t n = (size_t)comm->n;
    comm->shared_bytes =
        sizeof(Shared) + n * n * sizeof comm->shared->mail[0] + n * CHUNK + n * n * CHUNK;
    int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)comm->shared_bytes) != 0)
        return LS_NCCL_SYSTEM_ERROR;
    comm->shared = mmap(NULL, comm->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (comm->shared == MAP_FAILED)
        return LS_NCCL_SYSTEM_ERROR;
    atomic_fetch_add(&comm->shared->n_attached, 1);
    for (int i = 0; atomic_load(&comm->shared->n_attached) < n; i++) {
        if (i > 60000 || atomic_load(&comm->is_aborted) != 0)
            return LS_NCCL_REMOTE_ERROR;
        double_sleep(1000000);
    }
    if (!shared_barrier(comm))
        return LS_NCCL_REMOTE_ERROR;
    if (comm->rank == 0)
        shm_unlink(name);
    return LS_NCCL_SUCCESS;
}

void
shared_close(Comm *comm)
{
    munmap(comm->shared, comm->shared_bytes);
}

bool
shared_barrier(Comm *comm)
{
    Shared *shared = comm->shared;
    uint32_t generation = atomic_load(&shared->generation);
    struct timespec timeout = {0, 20000000};
    if (atomic_fetch_add(&shared->n_arrived, 1) + 1 == (uint32_t)comm->n) {
        atomic_store(&shared->n_arrived, 0);
        atomic_fetch_add(&shared->generation, 1);
        syscall(SYS_futex, &shared->generation, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
        return atomic_load(&comm->is_aborted) == 0;
    }
    while (atomic_load(&shared->generation) == generation) {
        if (atomic_load(&comm->is_aborted) != 0)
            return false;
        syscall(SYS_futex, &shared->generation, FUTEX_WAIT, generation, &timeout, NULL, 0);
    }
    return true;
}

/* -- Arithmetic: every type through double or int64, which hold them exactly enough for a double --
 */

static float
half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u,
             mantissa = half & 0x3ffu, bits;
    float value;
    if (exponent == 31)
        bits = sign | 0x7f800000u | mantissa << 13;
    else if (exponent == 0)
        return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
    else
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t
float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    int exponent = (int)(bits >> 23 & 255u) - 112;
    if (exponent >= 31)
        return (uint16_t)(sign | 0x7c00u | ((bits & 0x7fffffffu) > 0x7f800000u ? 0x200u : 0));
    if (exponent < -10)
        return sign;
    if (exponent <= 0)
        return (uint16_t)(sign | ((bits & 0x7fffffu) | 0x800000u) >> (14 - exponent));
    uint32_t rounded = (bits & 0x7fffffu) + 0xfffu + (bits >> 13 & 1u);
    return (uint16_t)(sign | (((uint32_t)exponent << 10) + (rounded >> 13)));
}

static double
get(const unsigned char *at, int type)
{
    float real32;
    uint16_t half;
    uint32_t bits;
    switch (type) {
    case LS_NCCL_FLOAT32:
        memcpy(&real32, at, 4);
        return (double)real32;
    case LS_NCCL_FLOAT16:
        memcpy(&half, at, 2);
        return (double)half_to_float(half);
    case LS_NCCL_BFLOAT16:
        memcpy(&half, at, 2);
        bits = (uint32_t)half << 16;
        memcpy(&real32, &bits, 4);
        return (double)real32;
    default: {
        double value;
        memcpy(&value, at, 8);
        return value;
    }
    }
}

static void
put(unsigned char *at, int type, double value)
{
    float real32 = (float)value;
    uint16_t half = 0;
    uint32_t bits;
    switch (type) {
    case LS_NCCL_FLOAT32:
        memcpy(at, &real32, 4);
        break;
    case LS_NCCL_FLOAT16:
        half = float_to_half(real32);
        memcpy(at, &half, 2);
        break;
    case LS_NCCL_BFLOAT16:
        memcpy(&bits, &real32, 4);
        half = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
        memcpy(at, &half, 2);
        break;
    default:
        memcpy(at, &value, 8);
    }
}

static double
combine(double a, double b, int op)
{
    return op == LS_NCCL_PROD  ? a * b
           : op == LS_NCCL_MAX ? (a > b ? a : b)
           : op == LS_NCCL_MIN ? (a < b ? a : b)
                               : a + b;
}

static int64_t
get_integer(const unsigned char *at, int type)
{
    int64_t value = 0;
    memcpy(&value, at, ls_nccl_type_bytes(type));
    return type == LS_NCCL_INT8 ? (int8_t)value : type == LS_NCCL_INT32 ? (int32_t)value : value;
}

static int64_t
combine_integer(int64_t a, int64_t b, int type, int op)
{
    bool is_less = type == LS_NCCL_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
    return op == LS_NCCL_PROD  ? (int64_t)((uint64_t)a * (uint64_t)b)
           : op == LS_NCCL_MAX ? (is_less ? b : a)
           : op == LS_NCCL_MIN ? (is_less ? a : b)
                               : (int64_t)((uint64_t)a + (uint64_t)b);
}

/* What a rank gives to the sum. Averages of floats are multiplied before, as the real one does: no
 * overflow on the way, and one more rounding. */
static double
get_part(const Comm *comm, int rank, size_t at, int type, int op)
{
    unsigned char rounded[8];
    double value = get(chunk_of(comm, rank) + at, type);
    if (op != LS_NCCL_AVG)
        return value;
    put(rounded, type, 1.0 / comm->n);
    put(rounded, type, value * get(rounded, type));
    return get(rounded, type);
}

/* One element over all ranks' chunks. */
static void
reduce_element(const Comm *comm, size_t at, unsigned char *target, int type, int op)
{
    if (type >= LS_NCCL_FLOAT16) {
        double value = get_part(comm, 0, at, type, op);
        for (int rank = 1; rank < comm->n; rank++)
            value = combine(value, get_part(comm, rank, at, type, op), op);
        put(target, type, value);
        return;
    }
    int64_t value = get_integer(chunk_of(comm, 0) + at, type);
    for (int rank = 1; rank < comm->n; rank++)
        value = combine_integer(value, get_integer(chunk_of(comm, rank) + at, type), type, op);
    if (op == LS_NCCL_AVG) { /* the sum has no more bits than the type, as the real one's */
        memcpy(target, &value, ls_nccl_type_bytes(type));
        value = get_integer(target, type) / comm->n;
    }
    memcpy(target, &value, ls_nccl_type_bytes(type));
}

static void
fail(Comm *comm)
{
    atomic_store(&comm->error, LS_NCCL_REMOTE_ERROR);
}

/* [from, from + bytes) of what this rank gives goes into its chunk; all do so; `use` takes what it
 * needs of the chunks; all have. */
static bool
run_reduction(Task *task, size_t from, size_t bytes, size_t keep_from, size_t keep_bytes)
{
    Comm *comm = task->comm;
    size_t width = ls_nccl_type_bytes(task->type);
    memcpy(chunk_of(comm, comm->rank), (const char *)task->send + from, bytes);
    if (!shared_barrier(comm))
        return false;
    unsigned char *target = task->receive;
    for (size_t at = 0; at < bytes; at += width) {
        if (from + at >= keep_from && from + at < keep_from + keep_bytes)
            reduce_element(comm, at, target + (from + at - keep_from), task->type, task->op);
    }
    return shared_barrier(comm);
}

static bool
run_copying(Task *task, size_t from, size_t bytes)
{
    Comm *comm = task->comm;
    size_t total = task->count * ls_nccl_type_bytes(task->type);
    bool is_gather = task->func == FUNC_ALLGATHER;
    if (is_gather || comm->rank == task->root)
        memcpy(chunk_of(comm, comm->rank), (const char *)task->send + from, bytes);
    if (!shared_barrier(comm))
        return false;
    if (!is_gather)
        memcpy((char *)task->receive + from, chunk_of(comm, task->root), bytes);
    for (int rank = 0; is_gather && rank < comm->n; rank++)
        memcpy((char *)task->receive + (size_t)rank * total + from, chunk_of(comm, rank), bytes);
    return shared_barrier(comm);
}

static bool
run_collective(Task *task)
{
    Comm *comm = task->comm;
    size_t own = task->count * ls_nccl_type_bytes(task->type);
    size_t total = task->func == FUNC_REDUCESCATTER ? own * (size_t)comm->n : own;
    size_t keep_from = task->func == FUNC_REDUCESCATTER ? own * (size_t)comm->rank : 0;
    size_t keep = task->func == FUNC_REDUCE && comm->rank != task->root ? 0 : own;
    for (size_t from = 0; from < total; from += CHUNK) {
        size_t bytes = total - from < CHUNK ? total - from : CHUNK;
        bool is_good = task->func == FUNC_ALLGATHER || task->func == FUNC_BROADCAST
                           ? run_copying(task, from, bytes)
                           : run_reduction(task, from, bytes, keep_from, keep);
        if (!is_good)
            return false;
    }
    return true;
}

/* One step of a send or receive; whether it got on. */
static bool
step_p2p(Task *task, size_t *done)
{
    Comm *comm = task->comm;
    bool is_send = task->func == FUNC_SEND;
    int from = is_send ? comm->rank : task->root, to = is_send ? task->root : comm->rank;
    size_t left = task->count * ls_nccl_type_bytes(task->type) - *done;
    _Atomic uint32_t *mail = &comm->shared->mail[from * comm->n + to].bytes;
    uint32_t bytes = is_send ? (uint32_t)(left < CHUNK ? left : CHUNK) : atomic_load(mail);
    if (left == 0 || bytes == 0 || (is_send && atomic_load(mail) != 0))
        return false;
    if (is_send)
        memcpy(letter_of(comm, from, to), (const char *)task->send + *done, bytes);
    else
        memcpy((char *)task->receive + *done, letter_of(comm, from, to), bytes);
    *done += bytes;
    atomic_store(mail, is_send ? bytes : 0);
    return true;
}

static bool
run_p2p(Plan *plan)
{
    size_t done[TASKS_MAX] = {0};
    for (bool is_left = true; is_left;) {
        bool has_moved = false;
        is_left = false;
        for (int i = 0; i < plan->n; i++) {
            Task *task = &plan->tasks[i];
            if (task->func < FUNC_SEND)
                continue;
            has_moved |= step_p2p(task, &done[i]);
            is_left |= done[i] < task->count * ls_nccl_type_bytes(task->type);
        }
        if (atomic_load(&plan->comm->is_aborted) != 0)
            return false;
        if (is_left && !has_moved)
            double_sleep(50000);
    }
    return true;
}

void
plan_run(Plan *plan)
{
    bool is_good = true;
    if (plan->hangs) {
        atomic_store(&plan->comm->error, LS_NCCL_SYSTEM_ERROR);
        while (atomic_load(&plan->comm->is_aborted) == 0)
            double_sleep(1000000);
        return;
    }
    for (int i = 0; i < plan->n && is_good; i++) {
        if (plan->tasks[i].func < FUNC_SEND)
            is_good = run_collective(&plan->tasks[i]);
    }
    if (is_good)
        is_good = run_p2p(plan);
    if (!is_good)
        fail(plan->comm);
}
