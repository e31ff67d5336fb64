/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/reduce/test-queue.c: submissions of many threads, each done once, whoever ends it. Run
 * under the thread sanitizer as well. */
#include "reduce/failure.h"
#include "reduce/handle.h"
#include "reduce/names.h"
#include "reduce/queue.h"

#include <glib.h>

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static const LsWork work = {.reduction = LOCKSTEP_SUM};
static float number = 1;

static lockstep_tensor
make_tensor(const char *name)
{
    return (lockstep_tensor){.size = sizeof(lockstep_tensor),
                             .name = name,
                             .input = &number,
                             .output = &number,
                             .count = 1,
                             .dtype = LOCKSTEP_FLOAT32};
}

static lockstep_handle
submit(LsQueue *queue, const char *name)
{
    lockstep_handle handle;
    lockstep_tensor tensor = make_tensor(name);
    g_assert_cmpint(ls_queue_submit(queue, (const lockstep_tensor *[]){&tensor}, 1, &work, &handle),
                    ==, LOCKSTEP_OK);
    return handle;
}

/* One turn of a communication thread: takes and finishes all; returns how many. */
static guint
serve(LsQueue *queue, lockstep_status status)
{
    LsRequestList list = {0};
    ls_queue_take(queue, &list);
    guint n = (guint)list.n;
    for (guint i = 0; i < n; i++) {
        LsEntry *entry = ls_queue_find(queue, list.items[i].name);
        g_assert_nonnull(entry);
        ls_queue_finish(queue, entry, 0, status, status < 0 ? "no good" : NULL);
    }
    ls_request_list_clear(&list);
    return n;
}

static void
test_handles(void)
{
    LsHandles handles = {0};
    lockstep_handle first, second, again;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_assert_true(ls_handles_add(&handles, &first));
    g_assert_true(ls_handles_add(&handles, &second));
    g_assert_cmpuint(first, !=, 0);
    g_assert_cmpuint(first, !=, second);
    g_assert_null(ls_handles_find(&handles, 0));
    ls_handles_finish(&handles, first, LOCKSTEP_ERR_MISMATCH, "text");
    g_assert_cmpstr(ls_handles_find(&handles, first)->text, ==, "text");
    g_assert_false(ls_handles_find(&handles, second)->done);
    ls_handles_remove(&handles, first);
    g_assert_null(ls_handles_find(&handles, first));
    g_assert_true(ls_handles_add(&handles, &again));
    g_assert_cmpuint(again, !=, first); /* the same slot */
    g_assert_null(ls_handles_find(&handles, first));
    static lockstep_handle all[3000];
    for (int i = 0; i < 3000; i++) {
        g_assert_true(ls_handles_add(&handles, &all[i]));
        g_assert_true(g_hash_table_add(seen, &all[i]));
    }
    for (int i = 0; i < 3000; i++)
        g_assert_nonnull(ls_handles_find(&handles, all[i]));
    ls_handles_clear(&handles);
}

static void
test_names(void)
{
    LsNames names = {0};
    g_assert_null(ls_names_find(&names, "x"));
    for (int i = 0; i < 5000; i++) {
        g_autofree char *text = g_strdup_printf("layer/%d/weights", i);
        LsName *name = ls_names_add(&names, text);
        g_assert_true(name == ls_names_add(&names, text));
        name->submissions = i;
    }
    for (int i = 0; i < 5000; i++) {
        g_autofree char *text = g_strdup_printf("layer/%d/weights", i);
        g_assert_cmpint(ls_names_find(&names, text)->submissions, ==, i);
    }
    g_assert_null(ls_names_find(&names, "layer/5000/weights"));
    ls_names_clear(&names);
}

static void
test_order_and_duplicates(void)
{
    LsInstrument instrument = {0};
    LsQueue *queue = ls_queue_new(3, &instrument, NULL);
    lockstep_handle a = submit(queue, "a"), none = 1;
    submit(queue, "b");
    lockstep_tensor tensor = make_tensor("a");
    g_assert_cmpint(ls_queue_submit(queue, (const lockstep_tensor *[]){&tensor}, 1, &work, &none),
                    ==, LOCKSTEP_ERR_DUPLICATE);
    g_assert_nonnull(strstr(ls_failure_text(), "rank 3"));
    g_assert_cmpuint(ls_queue_state(queue).waiting, ==, 2);
    LsRequestList list = {0};
    ls_queue_take(queue, &list);
    g_assert_cmpuint(list.n, ==, 2);
    g_assert_cmpstr(list.items[0].name, ==, "a");
    g_assert_cmpint(list.items[0].rank, ==, 3);
    g_assert_cmpint(list.items[0].ndim, ==, 1);
    g_assert_cmpint(list.items[0].shape[0], ==, 1);
    g_assert_cmpint(ls_queue_wait(queue, a, 0), ==, LOCKSTEP_IN_PROGRESS);
    g_assert_cmpint(ls_queue_wait(queue, a, 20), ==, LOCKSTEP_IN_PROGRESS);
    ls_queue_finish(queue, ls_queue_find(queue, "a"), 0, LOCKSTEP_ERR_MISMATCH, "they differ");
    g_assert_null(ls_queue_find(queue, "a"));
    g_assert_cmpint(ls_queue_wait(queue, a, -1), ==, LOCKSTEP_ERR_MISMATCH);
    g_assert_cmpstr(ls_failure_text(), ==, "they differ");
    g_assert_cmpint(ls_queue_wait(queue, a, -1), ==, LOCKSTEP_ERR_ARGUMENT);
    submit(queue, "a"); /* the name is free again */
    g_assert_cmpint(ls_queue_find(queue, "a")->occurrence, ==, 1);
    g_assert_cmpuint(ls_queue_state(queue).on_way, ==, 2);
    ls_request_list_clear(&list);
    ls_queue_close(queue, LOCKSTEP_ERR_SHUT_DOWN, "over");
    ls_queue_free(queue);
}

#define THREADS 4
#define EACH    500

typedef struct Crowd {
    LsQueue *queue;
    atomic_int done, refused, called;
} Crowd;

static void
on_done(lockstep_status status, const char *text, void *user)
{
    atomic_fetch_add(&((Crowd *)user)->called, 1);
}

/* Waits for every other one, leaves every third to a callback, abandons the rest. */
static gpointer
run_submitter(gpointer user)
{
    Crowd *crowd = user;
    for (int i = 0; i < EACH; i++) {
        g_autofree char *name = g_strdup_printf("%p/%d", (void *)g_thread_self(), i % 50);
        lockstep_tensor tensor = make_tensor(name);
        lockstep_handle handle = 0;
        if (i % 3 == 0) {
            tensor.callback = on_done;
            tensor.user = crowd;
        }
        lockstep_status status =
            ls_queue_submit(crowd->queue, (const lockstep_tensor *[]){&tensor}, 1, &work, &handle);
        if (status < 0) {
            g_assert_true(status == LOCKSTEP_ERR_DUPLICATE || status == LOCKSTEP_ERR_PEER_LOST ||
                          status == LOCKSTEP_ERR_SHUT_DOWN);
            atomic_fetch_add(&crowd->refused, 1);
            if (i % 3 == 0)
                atomic_fetch_add(&crowd->called, 1);
            continue;
        }
        if (i % 2 == 0)
            status = ls_queue_wait(crowd->queue, handle, -1);
        g_assert_true(status == LOCKSTEP_OK || status == LOCKSTEP_ERR_PEER_LOST ||
                      status == LOCKSTEP_ERR_SHUT_DOWN);
        atomic_fetch_add(&crowd->done, 1);
    }
    return NULL;
}

typedef enum Ending { LEAVE, ABANDON, CLOSE } Ending;

static void
test_crowd(gconstpointer data)
{
    Ending ending = (Ending)GPOINTER_TO_INT(data);
    LsInstrument instrument = {0};
    Crowd crowd = {.queue = ls_queue_new(0, &instrument, NULL)};
    GThread *threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = g_thread_new("submitter", run_submitter, &crowd);
    guint served = 0;
    while (atomic_load(&crowd.done) + atomic_load(&crowd.refused) < THREADS * EACH) {
        LsQueueState state = ls_queue_state(crowd.queue);
        if (state.waiting == 0)
            ls_queue_sleep(crowd.queue, &state, ls_instrument_now() + 1000000, true);
        served += serve(crowd.queue, LOCKSTEP_OK);
        if (ending != LEAVE && served > THREADS * EACH / 2)
            break;
    }
    if (ending == ABANDON)
        ls_queue_abandon(crowd.queue, LOCKSTEP_ERR_PEER_LOST, "rank 1 has died");
    else if (ending == CLOSE)
        ls_queue_close(crowd.queue, LOCKSTEP_ERR_SHUT_DOWN, "over");
    for (int i = 0; i < THREADS; i++)
        g_thread_join(threads[i]);
    while (serve(crowd.queue, LOCKSTEP_OK) > 0)
        ;
    g_assert_cmpint(crowd.done + crowd.refused, ==, THREADS * EACH);
    g_assert_cmpint(crowd.called, ==, THREADS * ((EACH + 2) / 3));
    ls_queue_close(crowd.queue, LOCKSTEP_ERR_SHUT_DOWN, "over");
    g_assert_cmpuint(ls_queue_state(crowd.queue).on_way, ==, 0);
    ls_queue_free(crowd.queue);
}

/* What the communication thread holds outlives an abandonment by the watcher. */
static void
test_abandon_in_use(void)
{
    LsInstrument instrument = {0};
    LsQueue *queue = ls_queue_new(0, &instrument, NULL);
    lockstep_handle handle = submit(queue, "held"), later;
    LsRequestList list = {0};
    ls_queue_take(queue, &list);
    LsEntry *entry = ls_queue_find(queue, "held");
    ls_queue_abandon(queue, LOCKSTEP_ERR_PEER_LOST, "rank 2 has died");
    g_assert_true(entry->output == &number);
    g_assert_cmpint(ls_queue_wait(queue, handle, -1), ==, LOCKSTEP_ERR_PEER_LOST);
    g_assert_cmpstr(ls_failure_text(), ==, "tensor held: rank 2 has died");
    ls_queue_finish(queue, entry, 0, LOCKSTEP_OK, NULL); /* too late: no effect */
    lockstep_tensor tensor = make_tensor("later");
    g_assert_cmpint(ls_queue_submit(queue, (const lockstep_tensor *[]){&tensor}, 1, &work, &later),
                    ==, LOCKSTEP_ERR_PEER_LOST);
    g_assert_nonnull(strstr(ls_failure_text(), "rank 2 has died"));
    ls_queue_close(queue, LOCKSTEP_ERR_SHUT_DOWN, "over"); /* a second end does nothing */
    g_assert_cmpint(ls_queue_submit(queue, (const lockstep_tensor *[]){&tensor}, 1, &work, &later),
                    ==, LOCKSTEP_ERR_PEER_LOST);
    ls_request_list_clear(&list);
    ls_queue_free(queue);
}

typedef struct Watch {
    LsQueue *queue;
    lockstep_handle *handles;
    int called;
} Watch;

/* No handle of the buffer is done before the last callback. */
static void
on_one_of_all(lockstep_status status, const char *text, void *user)
{
    Watch *watch = user;
    watch->called++;
    g_assert_cmpint(status, ==, LOCKSTEP_OK);
    for (int i = 0; i < 3; i++)
        g_assert_cmpint(ls_queue_wait(watch->queue, watch->handles[i], 0), ==,
                        LOCKSTEP_IN_PROGRESS);
    g_assert_null(ls_queue_find(watch->queue, "b")); /* and every name is free again */
}

static void
test_finish_all(void)
{
    static const char *const names[] = {"a", "b", "c"};
    LsInstrument instrument = {0};
    LsQueue *queue = ls_queue_new(0, &instrument, NULL);
    lockstep_handle handles[3];
    Watch watch = {.queue = queue, .handles = handles};
    LsEntry *entries[3];
    for (int i = 0; i < 3; i++) {
        lockstep_tensor tensor = make_tensor(names[i]);
        tensor.callback = on_one_of_all;
        tensor.user = &watch;
        g_assert_cmpint(
            ls_queue_submit(queue, (const lockstep_tensor *[]){&tensor}, 1, &work, &handles[i]), ==,
            LOCKSTEP_OK);
        entries[i] = ls_queue_find(queue, names[i]);
    }
    ls_queue_finish_all(queue, entries, 3, 0);
    g_assert_cmpint(watch.called, ==, 3);
    for (int i = 0; i < 3; i++)
        g_assert_cmpint(ls_queue_wait(queue, handles[i], 0), ==, LOCKSTEP_OK);
    lockstep_handle held = submit(queue, "held");
    entries[0] = ls_queue_find(queue, "held");
    ls_queue_abandon(queue, LOCKSTEP_ERR_PEER_LOST, "rank 2 has died");
    ls_queue_finish_all(queue, entries, 1, 0); /* too late: no effect */
    g_assert_cmpint(ls_queue_wait(queue, held, -1), ==, LOCKSTEP_ERR_PEER_LOST);
    ls_queue_free(queue);
}

static gpointer
run_leaver(gpointer queue)
{
    g_usleep(20000);
    ls_queue_leave(queue);
    return NULL;
}

static void
test_sleep(void)
{
    LsInstrument instrument = {0};
    LsQueue *queue = ls_queue_new(0, &instrument, NULL);
    LsQueueState state = ls_queue_state(queue);
    int64_t start = ls_instrument_now();
    ls_queue_sleep(queue, &state, start + 30000000, true);
    g_assert_cmpint(ls_instrument_now() - start, >=, 30000000);
    submit(queue, "a");
    ls_queue_sleep(queue, &state, INT64_MAX / 2, true); /* returns at once: one waits */
    start = ls_instrument_now();
    ls_queue_sleep(queue, &state, start + 10000000, false); /* by clock it does not matter */
    g_assert_cmpint(ls_instrument_now() - start, >=, 10000000);
    GThread *leaver = g_thread_new("leaver", run_leaver, queue);
    ls_queue_sleep(queue, &state, INT64_MAX / 2, false);
    g_thread_join(leaver);
    g_assert_true(ls_queue_state(queue).leaving);
    ls_queue_close(queue, LOCKSTEP_ERR_SHUT_DOWN, "over");
    ls_queue_free(queue);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/handle/never-twice", test_handles);
    g_test_add_func("/reduce/names/found-again", test_names);
    g_test_add_func("/reduce/queue/order-and-duplicates", test_order_and_duplicates);
    g_test_add_data_func("/reduce/queue/crowd-leaves", GINT_TO_POINTER(LEAVE), test_crowd);
    g_test_add_data_func("/reduce/queue/crowd-abandoned", GINT_TO_POINTER(ABANDON), test_crowd);
    g_test_add_data_func("/reduce/queue/crowd-closed", GINT_TO_POINTER(CLOSE), test_crowd);
    g_test_add_func("/reduce/queue/abandon-in-use", test_abandon_in_use);
    g_test_add_func("/reduce/queue/a-buffer-is-done-at-once", test_finish_all);
    g_test_add_func("/reduce/queue/sleep", test_sleep);
    return g_test_run();
}
