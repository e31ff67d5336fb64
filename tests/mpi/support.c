/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/support.c: see support.h. The 16-bit floats are made here from doubles, by rounding to
 * a number of bits, not by the library's code. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Leaks are looked for, but not what MPI's start leaves, nor what Open MPI's PMIx loses whenever it
 * looks something up; and before MPI's end, which unloads the files that the stacks are in. Open
 * MPI is not instrumented: of its threads' order only the locks are seen, and those of its TCP part
 * are taken in one order at its start and in another when it closes what is not needed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SEEN __attribute__((visibility("default")))
SEEN const char *__lsan_default_suppressions(void);
SEEN const char *__tsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
    return "leak:libpmix\n";
}

const char *
__tsan_default_suppressions(void)
{
    return "deadlock:mca_btl_tcp\n";
}
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define IGNORE_LEAKS() __lsan_disable()
#define HEED_LEAKS()   __lsan_enable()
#define CHECK_LEAKS()  __lsan_do_leak_check()
#else
#define IGNORE_LEAKS()
#define HEED_LEAKS()
#define CHECK_LEAKS()
#endif

int
support_rank(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int
support_ranks(void)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

void
support_init(int *argc, char ***argv, int level)
{
    int provided;
    IGNORE_LEAKS();
    MPI_Init_thread(argc, argv, level, &provided);
    HEED_LEAKS();
    if (support_rank() != 0 && freopen("/dev/null", "w", stdout) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    g_test_init(argc, argv, NULL);
}

int
support_run(void)
{
    int status = g_test_run();
    CHECK_LEAKS();
    MPI_Finalize();
    return status;
}

lockstep_context *
support_open(const char *settings)
{
    lockstep_context *context;
    lockstep_options options;
    lockstep_options_init(&options);
    options.settings = settings;
    assert_status(lockstep_init(&options, &context), LOCKSTEP_OK);
    return context;
}

void
support_close(lockstep_context *context)
{
    assert_status(lockstep_shutdown(context), LOCKSTEP_OK);
}

lockstep_tensor
support_tensor(const char *name, const void *input, void *output, int64_t count,
               lockstep_dtype dtype)
{
    return (lockstep_tensor){.size = sizeof(lockstep_tensor),
                             .name = name,
                             .input = input,
                             .output = output,
                             .count = count,
                             .dtype = dtype};
}

#define TOLD 77 /* the tag */

void
support_tell(int rank)
{
    MPI_Send(NULL, 0, MPI_BYTE, rank, TOLD, MPI_COMM_WORLD);
}

void
support_await(int rank)
{
    int is_there = 0;
    while (MPI_Iprobe(rank, TOLD, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           !is_there)
        g_usleep(1000);
    MPI_Recv(NULL, 0, MPI_BYTE, rank, TOLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

bool
support_is_on_all(bool own)
{
    int mine = own, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all != 0;
}

lockstep_status
support_reduce(lockstep_context *context, const lockstep_tensor *tensor, lockstep_op op)
{
    lockstep_handle handle;
    lockstep_status status = lockstep_allreduce(context, tensor, op, &handle);
    return status == LOCKSTEP_OK ? lockstep_wait(context, handle, -1) : status;
}

void
support_check_sum(lockstep_context *context)
{
    float one = 1;
    lockstep_tensor tensor = support_tensor("sum", &one, &one, 1, LOCKSTEP_FLOAT32);
    assert_status(support_reduce(context, &tensor, LOCKSTEP_SUM), LOCKSTEP_OK);
    g_assert_cmpfloat(one, ==, (float)support_ranks());
}

static const struct {
    size_t bytes;
    int digits, exponent_min; /* of 16-bit floats */
} types[] = {{4, 0, 0}, {8, 0, 0}, {2, 11, -14}, {2, 8, -126},
             {1, 0, 0}, {1, 0, 0}, {4, 0, 0},    {8, 0, 0}};

size_t
support_bytes(lockstep_dtype dtype)
{
    return types[dtype].bytes;
}

/* To nearest, ties to even, at the number of binary digits. */
static double
round_digits(double value, int digits, int exponent_min)
{
    int exponent;
    if (value == 0 || !isfinite(value))
        return value;
    frexp(value, &exponent);
    exponent = MAX(exponent - 1, exponent_min);
    double unit = ldexp(1, exponent - digits + 1);
    return rint(value / unit) * unit;
}

double
support_round(lockstep_dtype dtype, double value)
{
    switch (dtype) {
    case LOCKSTEP_FLOAT32:
        return (float)value;
    case LOCKSTEP_FLOAT64:
        return value;
    case LOCKSTEP_FLOAT16:
    case LOCKSTEP_BFLOAT16:
        return round_digits(value, types[dtype].digits, types[dtype].exponent_min);
    case LOCKSTEP_INT8:
        return (int8_t)(int64_t)value;
    case LOCKSTEP_UINT8:
        return (uint8_t)(int64_t)value;
    case LOCKSTEP_INT32:
        return (int32_t)(int64_t)value;
    case LOCKSTEP_INT64:
        return (double)(int64_t)value;
    }
    return NAN;
}

/* Values that 16-bit floats hold exactly. */
static uint16_t
encode16(lockstep_dtype dtype, double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    if (dtype == LOCKSTEP_BFLOAT16)
        return (uint16_t)(bits >> 16);
    if (value == 0)
        return 0;
    if (isnan(value))
        return 0x7e00;
    return (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) |
                      (bits >> 13 & 0x3ff));
}

static double
decode16(lockstep_dtype dtype, uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float single;
    if (dtype == LOCKSTEP_BFLOAT16) {
        memcpy(&single, &bits, 4);
        return single;
    }
    int exponent = half >> 10 & 31;
    double mantissa = half & 0x3ff, sign = half & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return mantissa > 0 ? NAN : sign * INFINITY;
    return sign * (exponent > 0 ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

void
support_put(void *data, lockstep_dtype dtype, int64_t i, double value)
{
    switch (dtype) {
    case LOCKSTEP_FLOAT32:
        ((float *)data)[i] = (float)value;
        break;
    case LOCKSTEP_FLOAT64:
        ((double *)data)[i] = value;
        break;
    case LOCKSTEP_FLOAT16:
    case LOCKSTEP_BFLOAT16:
        ((uint16_t *)data)[i] = encode16(dtype, value);
        break;
    case LOCKSTEP_INT8:
        ((int8_t *)data)[i] = (int8_t)(int64_t)value;
        break;
    case LOCKSTEP_UINT8:
        ((uint8_t *)data)[i] = (uint8_t)(int64_t)value;
        break;
    case LOCKSTEP_INT32:
        ((int32_t *)data)[i] = (int32_t)(int64_t)value;
        break;
    case LOCKSTEP_INT64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    }
}

double
support_get(const void *data, lockstep_dtype dtype, int64_t i)
{
    switch (dtype) {
    case LOCKSTEP_FLOAT32:
        return ((const float *)data)[i];
    case LOCKSTEP_FLOAT64:
        return ((const double *)data)[i];
    case LOCKSTEP_FLOAT16:
    case LOCKSTEP_BFLOAT16:
        return decode16(dtype, ((const uint16_t *)data)[i]);
    case LOCKSTEP_INT8:
        return ((const int8_t *)data)[i];
    case LOCKSTEP_UINT8:
        return ((const uint8_t *)data)[i];
    case LOCKSTEP_INT32:
        return ((const int32_t *)data)[i];
    case LOCKSTEP_INT64:
        return (double)((const int64_t *)data)[i];
    }
    return NAN;
}

double
support_input(lockstep_dtype dtype, lockstep_op op, int64_t i, int rank)
{
    if (op == LOCKSTEP_PRODUCT)
        return 1 + (double)((i + rank) % 5 == 0);
    if (dtype == LOCKSTEP_UINT8)
        return (double)((i * 37 + rank * 101) % 256);
    if (dtype == LOCKSTEP_INT8)
        return (double)((i * 37 + rank * 101) % 256) - 128;
    return (double)((i * 7 + rank * 5) % 23) - 11;
}

double
support_expect(lockstep_dtype dtype, lockstep_op op, int64_t i, int ranks)
{
    double sum = 0, product = 1, least = INFINITY, most = -INFINITY;
    for (int rank = 0; rank < ranks; rank++) {
        double value = support_input(dtype, op, i, rank);
        sum += value;
        product *= value;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    double average = dtype >= LOCKSTEP_INT8 ? trunc(sum / ranks) : sum / ranks;
    const double results[] = {sum, average, least, most, product};
    return support_round(dtype, results[op]);
}
