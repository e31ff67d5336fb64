/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop, with Horovod's calls (facts: Horovod B): with the cache one allreduce AND a cycle, two
 * words long while the timeline is written, then the slow path where some rank has a tensor that is
 * not in the cache; without it the slow path always. Lists are as long as Horovod's: 25 bytes and a
 * hundred for each tensor.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/nvtx-client.h"
#include "samples/horovod-standin.h"

#define CYCLE_NS     1000000
#define FUSION_BYTES 70000
#define HEAD_BYTES   25
#define ENTRY_BYTES  104
#define LIST_BYTES   (HEAD_BYTES + ENTRY_BYTES * N_TENSORS)
#define STATUS_BITS  3 /* of the word, each 1 while nobody raises it */
#define SHUT_DOWN    1LL
#define UNCACHED     2LL

typedef struct Loop {
    Options options;
    int rank, ranks;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done;
    FILE *log;
    LsNvtxDomain domain;
    LsNvtxString word;
    /* Under the lock. */
    bool pending[N_TENSORS], stopping;
    int step[N_TENSORS], left[N_TENSORS]; /* by first tensor of a submission: members not done */
    uint64_t range[N_TENSORS];
    int n_pending;
    /* The loop's own. */
    bool sent[N_TENSORS], cached[N_TENSORS];
    int votes[N_TENSORS];
    float data[FUSION_BYTES / 2];
    bool failed;
} Loop;

static Loop loop;

static int
get_first(int tensor)
{
    return loop.options.grouped ? tensor / GROUP * GROUP : tensor;
}

/* -- Submissions -- */

void
loop_submit(int step, int number)
{
    int first = loop.options.grouped ? number * GROUP : number;
    int n = loop.options.grouped ? GROUP : 1;
    int64_t bytes = 0, before, after;

    for (int i = first; i < first + n; i++)
        bytes += 4 * standin_tensors[i].elements;
    pthread_mutex_lock(&loop.lock);
    before = standin_now();
    loop.range[first] = ls_nvtx_start(loop.domain, loop.word, bytes);
    after = standin_now();
    for (int i = first; i < first + n; i++) {
        loop.pending[i] = true;
        loop.step[i] = step;
        if (loop.log != NULL)
            fprintf(loop.log, "submit %s %d %lld %lld\n", standin_name(i, loop.options.grouped),
                    step, (long long)before, (long long)after);
    }
    loop.left[first] = n;
    loop.n_pending += n;
    pthread_mutex_unlock(&loop.lock);
}

static void
finish(int tensor)
{
    int first = get_first(tensor), n = loop.options.grouped ? GROUP : 1;
    int64_t before, after;

    pthread_mutex_lock(&loop.lock);
    loop.pending[tensor] = false;
    loop.sent[tensor] = false;
    loop.n_pending--;
    if (--loop.left[first] == 0) {
        before = standin_now();
        ls_nvtx_end(loop.domain, loop.range[first]);
        after = standin_now();
        for (int i = first; loop.log != NULL && i < first + n; i++)
            fprintf(loop.log, "done %s %d %lld %lld\n", standin_name(i, loop.options.grouped),
                    loop.step[i], (long long)before, (long long)after);
    }
    pthread_cond_broadcast(&loop.done);
    pthread_mutex_unlock(&loop.lock);
}

void
loop_wait(void)
{
    pthread_mutex_lock(&loop.lock);
    while (loop.n_pending > 0 && !loop.failed)
        pthread_cond_wait(&loop.done, &loop.lock);
    pthread_mutex_unlock(&loop.lock);
}

/* -- Executing -- */

static void
execute_batch(const int *tensors, int n)
{
    int elements = 0;

    for (int i = 0; i < n; i++)
        elements += standin_tensors[tensors[i]].elements;
    timeline_execute(tensors, n, true);
    for (int i = 0; i < elements; i++)
        loop.data[i] = (float)(loop.rank + 1);
    MPI_Allreduce(MPI_IN_PLACE, loop.data, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    loop.failed |= loop.data[elements - 1] != (float)(loop.ranks * (loop.ranks + 1) / 2);
    timeline_execute(tensors, n, false);
    for (int i = 0; i < n; i++)
        finish(tensors[i]);
}

/* Neighbours in the list are fused, as far as the buffer reaches. */
static void
execute(const int *tensors, int n)
{
    for (int first = 0; first < n;) {
        int last = first, bytes = 0;

        while (last < n && (last == first ||
                            bytes + 4 * standin_tensors[tensors[last]].elements <= FUSION_BYTES))
            bytes += 4 * standin_tensors[tensors[last++]].elements;
        execute_batch(tensors + first, last - first);
        first = last;
    }
}

/* -- Agreeing -- */

/* A list: its head, whose first byte shuts down, and an entry for each tensor. */
static int
put_list(char *list, const int *tensors, int n, bool stopping)
{
    memset(list, 0, LIST_BYTES);
    list[0] = stopping;
    for (int i = 0; i < n; i++)
        memcpy(list + HEAD_BYTES + i * ENTRY_BYTES, &tensors[i], sizeof tensors[i]);
    return HEAD_BYTES + n * ENTRY_BYTES;
}

static int
get_entry(const char *list, int i)
{
    int tensor;

    memcpy(&tensor, list + HEAD_BYTES + i * ENTRY_BYTES, sizeof tensor);
    return tensor;
}

static int
count_entries(int length)
{
    return (length - HEAD_BYTES) / ENTRY_BYTES;
}

/* Rank 0 takes its own requests first, then each rank's. */
static void
take_requests(const char *list, int length, int from, int *ready, int *n_ready, bool *stopping)
{
    *stopping |= list[0] != 0;
    for (int i = 0; i < count_entries(length); i++) {
        int tensor = get_entry(list, i);

        timeline_tick(tensor, from);
        if (++loop.votes[tensor] < loop.ranks)
            continue;
        loop.votes[tensor] = 0;
        timeline_agree(tensor);
        ready[(*n_ready)++] = tensor;
    }
}

/* The four calls. `ready` holds n tensors that the cache answered for, and gets the others. */
static int
take_slow_path(const int *requests, int n_requests, int *ready, int n, bool *stopping)
{
    static char all[64 * LIST_BYTES];
    char list[LIST_BYTES];
    int lengths[64] = {0}, places[64] = {0};
    int length = put_list(list, requests, n_requests, *stopping), zero = 0;

    MPI_Gather(loop.rank == 0 ? &zero : &length, 1, MPI_INT, lengths, 1, MPI_INT, 0,
               MPI_COMM_WORLD);
    for (int i = 1; i < loop.ranks; i++)
        places[i] = places[i - 1] + lengths[i - 1];
    MPI_Gatherv(list, loop.rank == 0 ? 0 : length, MPI_BYTE, all, lengths, places, MPI_BYTE, 0,
                MPI_COMM_WORLD);
    if (loop.rank == 0) {
        take_requests(list, length, 0, ready, &n, stopping);
        for (int i = 1; i < loop.ranks; i++)
            take_requests(all + places[i], lengths[i], i, ready, &n, stopping);
        length = put_list(list, ready, n, *stopping);
    }
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(list, length, MPI_BYTE, 0, MPI_COMM_WORLD);
    *stopping = list[0] != 0;
    for (int i = 0; i < count_entries(length); i++)
        ready[i] = get_entry(list, i);
    return count_entries(length);
}

/* The AND: what all ranks have in the cache is in `ready`; whether some rank has more to say. */
static bool
agree_by_bits(uint64_t hits, bool uncached, int *ready, int *n_ready, bool *stopping)
{
    long long words[2];
    bool is_slow;

    words[0] = (long long)(hits << STATUS_BITS);
    words[0] |= (*stopping ? 0 : SHUT_DOWN) | (uncached ? 0 : UNCACHED) | 4;
    words[1] = ~(long long)(hits << STATUS_BITS);
    MPI_Allreduce(MPI_IN_PLACE, words, timeline_is_open() || getenv("HOROVOD_TIMELINE") ? 2 : 1,
                  MPI_LONG_LONG_INT, MPI_BAND, MPI_COMM_WORLD);
    *stopping = (words[0] & SHUT_DOWN) == 0;
    is_slow = (words[0] & UNCACHED) == 0;
    for (int i = 0; i < N_TENSORS; i++) {
        if (loop.cached[i] && (words[1] >> (i + STATUS_BITS) & 1) == 0)
            timeline_negotiate(i);
        if ((words[0] >> (i + STATUS_BITS) & 1) == 0)
            continue;
        timeline_agree(i);
        ready[(*n_ready)++] = i;
    }
    return is_slow;
}

/* What was submitted and is not on its way: hits of the cache, and the rest. */
static uint64_t
drain(int *requests, int *n_requests, bool *stopping)
{
    uint64_t hits = 0;

    pthread_mutex_lock(&loop.lock);
    for (int i = 0; i < N_TENSORS; i++) {
        if (!loop.pending[i] || loop.sent[i])
            continue;
        if (loop.cached[i]) {
            hits |= UINT64_C(1) << i;
        } else {
            loop.sent[i] = true;
            requests[(*n_requests)++] = i;
        }
    }
    *stopping = loop.stopping;
    pthread_mutex_unlock(&loop.lock);
    return hits;
}

static bool
run_cycle(void)
{
    int requests[N_TENSORS], ready[N_TENSORS], n_requests = 0, n = 0;
    bool stopping, slow = true;
    uint64_t hits;

    timeline_cycle();
    hits = drain(requests, &n_requests, &stopping);
    if (loop.options.cached)
        slow = agree_by_bits(hits, n_requests > 0, ready, &n, &stopping);
    if (slow)
        n = take_slow_path(requests, n_requests, ready, n, &stopping);
    for (int i = 0; i < n; i++)
        loop.cached[ready[i]] = loop.options.cached;
    execute(ready, n);
    return !stopping;
}

static void *
run(void *user)
{
    struct timespec due;

    clock_gettime(CLOCK_MONOTONIC, &due);
    while (run_cycle()) {
        due.tv_nsec += CYCLE_NS;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == 0)
            clock_gettime(CLOCK_MONOTONIC, &due);
    }
    return user;
}

bool
loop_start(const Options *options, int rank, int ranks)
{
    char path[512];

    loop.options = *options;
    loop.rank = rank;
    loop.ranks = ranks;
    if (ranks > 64)
        return false;
    if (options->log != NULL) {
        snprintf(path, sizeof path, "%s.%d", options->log, rank);
        loop.log = fopen(path, "w");
        if (loop.log == NULL)
            return false;
    }
    loop.domain = ls_nvtx_domain("HorovodOps");
    loop.word = ls_nvtx_register(loop.domain,
                                 options->grouped ? "HorovodGroupedAllreduce" : "HorovodAllreduce");
    pthread_mutex_init(&loop.lock, NULL);
    pthread_cond_init(&loop.done, NULL);
    if (rank == 0 && !timeline_open(options->grouped))
        return false;
    return pthread_create(&loop.thread, NULL, run, NULL) == 0;
}

bool
loop_stop(void)
{
    pthread_mutex_lock(&loop.lock);
    loop.stopping = true;
    pthread_mutex_unlock(&loop.lock);
    pthread_join(loop.thread, NULL);
    timeline_close();
    if (loop.log != NULL)
        fclose(loop.log);
    return !loop.failed;
}
