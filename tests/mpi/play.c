/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/play.c: fills a tensor so that rank, tensor, round and place show in every element,
 * submits it, waits for it in the way that was drawn, and checks every element and status. */
#include "play.h"
#include "support.h"

#include "capture/format.h"

#include <string.h>

static const ScheduleTensor *
tensor_of(const Piece *piece)
{
    return &piece->play->s.tensor[piece->t];
}

/* The tensor and the round show in every element. */
static int64_t
shift_of(const Piece *piece)
{
    return piece->t * 13 + piece->round * 5;
}

static bool
reduces(const ScheduleTensor *tensor)
{
    return tensor->operation == LS_OPERATION_ALLREDUCE ||
           tensor->operation == LS_OPERATION_REDUCESCATTER;
}

static double
input_value(const Piece *piece, lockstep_dtype dtype, int64_t i, int rank)
{
    const ScheduleTensor *tensor = tensor_of(piece);
    return support_input(dtype, reduces(tensor) ? tensor->op : LOCKSTEP_SUM, i + shift_of(piece),
                         rank);
}

static int64_t
count_of(const Piece *piece, int rank)
{
    const ScheduleTensor *tensor = tensor_of(piece);
    return schedule_rows(tensor, piece->round, rank) * tensor->columns[piece->round];
}

static int64_t
share_of(const Piece *piece, int rank)
{
    const ScheduleTensor *tensor = tensor_of(piece);
    return lockstep_share(piece->play->context, tensor->rows[piece->round], rank) *
           tensor->columns[piece->round];
}

/* Elements that arrive here. */
static int64_t
output_count(const Piece *piece)
{
    const Schedule *s = &piece->play->s;
    int64_t sum = 0;
    switch (tensor_of(piece)->operation) {
    case LS_OPERATION_ALLGATHER:
        for (int rank = 0; rank < s->ranks; rank++)
            sum += count_of(piece, rank);
        return sum;
    case LS_OPERATION_REDUCESCATTER:
        return share_of(piece, s->rank);
    default:
        return count_of(piece, s->rank);
    }
}

/* Memory of just that many, so that a byte too far is seen under a sanitizer. */
static void *
make(int64_t count, lockstep_dtype dtype)
{
    size_t bytes = (size_t)count * support_bytes(dtype);
    return memset(g_malloc(MAX(bytes, 1)), 0x55, MAX(bytes, 1));
}

static void
fill(Piece *piece, lockstep_dtype dtype)
{
    const Schedule *s = &piece->play->s;
    const ScheduleTensor *tensor = tensor_of(piece);
    int64_t count = count_of(piece, s->rank), before = 0;
    piece->in_place = piece->play->way.in_place[piece->round][piece->t] &&
                      tensor->operation != LS_OPERATION_REDUCESCATTER;
    piece->output = make(output_count(piece), dtype);
    for (int rank = 0; rank < s->rank && tensor->operation == LS_OPERATION_ALLGATHER; rank++)
        before += count_of(piece, rank);
    piece->input = piece->in_place ? (char *)piece->output + (size_t)before * support_bytes(dtype)
                                   : make(count, dtype);
    for (int64_t i = 0; i < count; i++)
        support_put(piece->input, dtype, i, input_value(piece, dtype, i, s->rank));
}

static void
on_end(lockstep_status status, const char *text, void *user)
{
    Piece *piece = user;
    Play *play = piece->play;
    play->log[play->n_log++] = piece->round * SCHEDULE_TENSORS + piece->t;
    piece->status = status;
    g_strlcpy(piece->text, status < 0 ? text : "", sizeof piece->text);
    sem_post(&piece->called);
}

static bool
has_handle(const Piece *piece)
{
    return tensor_of(piece)->operation == LS_OPERATION_BARRIER ||
           piece->play->way.end[piece->round][piece->t] != SCHEDULE_CALLBACK;
}

/* Ready to be submitted; shape: two extents that stay until then. */
static lockstep_tensor
begin(Play *play, int t, int round, int64_t *shape)
{
    Piece *piece = &play->pieces[t];
    *piece = (Piece){.play = play, .t = t, .round = round};
    const ScheduleTensor *tensor = tensor_of(piece);
    lockstep_dtype dtype = schedule_dtype(tensor, round, play->s.rank);
    sem_init(&piece->called, 0, 0);
    fill(piece, dtype);
    shape[0] = schedule_rows(tensor, round, play->s.rank);
    shape[1] = tensor->columns[round];
    lockstep_tensor ready =
        support_tensor(tensor->name, piece->input, piece->output, shape[0] * shape[1], dtype);
    ready.shape = shape;
    ready.ndim = 2;
    ready.callback = on_end;
    ready.user = piece;
    return ready;
}

void
play_submit(Play *play, int t, int round)
{
    int64_t shape[2];
    lockstep_tensor ready = begin(play, t, round, shape);
    Piece *piece = &play->pieces[t];
    const ScheduleTensor *tensor = tensor_of(piece);
    lockstep_handle *handle = has_handle(piece) ? &piece->handle : NULL;
    lockstep_gather gather = {sizeof gather, output_count(piece), piece->counts};
    lockstep_status status = LOCKSTEP_ERR_ARGUMENT;
    if (tensor->operation == LS_OPERATION_ALLREDUCE)
        status = lockstep_allreduce(play->context, &ready, tensor->op, handle);
    else if (tensor->operation == LS_OPERATION_BROADCAST)
        status = lockstep_broadcast(play->context, &ready, tensor->root, handle);
    else if (tensor->operation == LS_OPERATION_ALLGATHER)
        status = lockstep_allgather(play->context, &ready, &gather, handle);
    else if (tensor->operation == LS_OPERATION_REDUCESCATTER)
        status = lockstep_reduce_scatter(play->context, &ready, tensor->op, handle);
    else
        status = lockstep_barrier(play->context, tensor->name, handle);
    if (status != LOCKSTEP_OK)
        FAIL(play, piece, "not submitted: %s", lockstep_last_error());
}

void
play_submit_bundle(Play *play, int first, int round)
{
    int n = play->s.tensor[first].n_bundle;
    lockstep_tensor ready[SCHEDULE_TENSORS];
    const lockstep_tensor *pointers[SCHEDULE_TENSORS];
    lockstep_handle handles[SCHEDULE_TENSORS];
    int64_t shapes[SCHEDULE_TENSORS][2];
    for (int i = 0; i < n; i++) {
        ready[i] = begin(play, first + i, round, shapes[i]);
        pointers[i] = &ready[i];
    }
    bool by_handle = has_handle(&play->pieces[first]);
    if (lockstep_allreduce_group(play->context, pointers, (size_t)n, play->s.tensor[first].op,
                                 by_handle ? handles : NULL) != LOCKSTEP_OK)
        FAIL(play, &play->pieces[first], "not submitted: %s", lockstep_last_error());
    for (int i = 0; i < n; i++)
        play->pieces[first + i].handle = by_handle ? handles[i] : 0;
}

static void
check_value(const Piece *piece, int64_t i, double got, double expected)
{
    const ScheduleTensor *tensor = tensor_of(piece);
    if (got != expected)
        FAIL(piece->play, piece, "operation %d, dtype %d, op %d, element %d: %.17g, expected %.17g",
             tensor->operation, tensor->dtype, tensor->op, (int)i, got, expected);
}

static void
check_gathered(const Piece *piece)
{
    const ScheduleTensor *tensor = tensor_of(piece);
    int64_t at = 0;
    for (int rank = 0; rank < piece->play->s.ranks; rank++) {
        int64_t count = count_of(piece, rank);
        if (piece->counts[rank] != count)
            FAIL(piece->play, piece, "%d elements came from rank %d, expected %d",
                 (int)piece->counts[rank], rank, (int)count);
        for (int64_t i = 0; i < count; i++, at++)
            check_value(piece, at, support_get(piece->output, tensor->dtype, at),
                        input_value(piece, tensor->dtype, i, rank));
    }
}

static void
check_output(const Piece *piece)
{
    const Schedule *s = &piece->play->s;
    const ScheduleTensor *tensor = tensor_of(piece);
    int64_t before = 0, count = output_count(piece);
    for (int rank = 0; rank < s->rank && tensor->operation == LS_OPERATION_REDUCESCATTER; rank++)
        before += share_of(piece, rank);
    for (int64_t i = 0; i < count; i++)
        check_value(piece, i, support_get(piece->output, tensor->dtype, i),
                    reduces(tensor) ? support_expect(tensor->dtype, tensor->op,
                                                     before + i + shift_of(piece), s->ranks)
                                    : input_value(piece, tensor->dtype, i, tensor->root));
}

static void
check_input(const Piece *piece)
{
    const ScheduleTensor *tensor = tensor_of(piece);
    int rank = piece->play->s.rank;
    for (int64_t i = 0; i < count_of(piece, rank); i++)
        check_value(piece, i, support_get(piece->input, tensor->dtype, i),
                    input_value(piece, tensor->dtype, i, rank));
}

/* Waits as it was drawn; by a handle the callback has returned before. */
static void
await(Piece *piece)
{
    Play *play = piece->play;
    const ScheduleTensor *tensor = tensor_of(piece);
    bool polls = play->way.end[piece->round][piece->t] == SCHEDULE_POLL;
    lockstep_status status;
    if (piece->handle == 0) {
        while (sem_wait(&piece->called) != 0)
            ;
        return;
    }
    do {
        status = lockstep_wait(play->context, piece->handle, polls ? 0 : -1);
        if (status == LOCKSTEP_IN_PROGRESS)
            g_usleep(100);
    } while (status == LOCKSTEP_IN_PROGRESS);
    if (tensor->operation == LS_OPERATION_BARRIER)
        piece->status = status;
    else if (sem_trywait(&piece->called) != 0 || piece->status != status)
        FAIL(play, piece, "status %d by the handle, which the callback had not said", status);
}

void
play_finish(Piece *piece)
{
    Play *play = piece->play;
    const ScheduleTensor *tensor = tensor_of(piece);
    bool bad = schedule_is_bad(tensor, piece->round);
    g_autofree char *culprit = g_strdup_printf("on rank %d", tensor->bad_rank);
    await(piece);
    if (piece->status != (bad ? LOCKSTEP_ERR_MISMATCH : LOCKSTEP_OK))
        FAIL(play, piece, "status %d: %s", piece->status, piece->text);
    if (bad && (strstr(piece->text, culprit) == NULL || strstr(piece->text, "dtype is") == NULL))
        FAIL(play, piece, "'%s' does not say whose dtype is another", piece->text);
    if (!bad && tensor->operation != LS_OPERATION_BARRIER) {
        if (tensor->operation == LS_OPERATION_ALLGATHER)
            check_gathered(piece);
        else
            check_output(piece);
        if (!piece->in_place)
            check_input(piece);
    }
    if (!piece->in_place)
        g_free(piece->input);
    g_free(piece->output);
    sem_destroy(&piece->called);
}
