/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/recorder.c: see recorder.h. */
#include "recorder.h"

#include "capture/recorder.h"

#include <string.h>
#include <time.h>

static GMutex lock;
static GArray *records;
static GPtrArray *names, *notices;
static gint active;
static void (*on_thread)(void);

void
recorder_set_thread_hook(void (*hook)(void))
{
    on_thread = hook;
}

void
recorder_start(void)
{
    g_mutex_lock(&lock);
    if (records == NULL) {
        records = g_array_new(FALSE, FALSE, sizeof(LsRecord));
        names = g_ptr_array_new_with_free_func(g_free);
        notices = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(names, g_strdup(""));
    }
    g_array_set_size(records, 0);
    g_ptr_array_set_size(notices, 0);
    g_mutex_unlock(&lock);
    g_atomic_int_set(&active, 1);
}

const LsRecord *
recorder_find_stall(const char *tensor, int missing)
{
    guint i = 0;
    const LsRecord *stall = recorder_get(LS_RECORD_STALL, tensor, i);
    while (stall != NULL && stall->args[0] != missing)
        stall = recorder_get(LS_RECORD_STALL, tensor, ++i);
    return stall;
}

const char *
recorder_name(const LsRecord *record)
{
    g_mutex_lock(&lock);
    const char *name = g_ptr_array_index(names, record->name);
    g_mutex_unlock(&lock);
    return name;
}

static bool
matches(const LsRecord *record, LsRecordKind kind, const char *name)
{
    return record->kind == kind && (record->flags & LS_RECORD_OPEN) == 0 &&
           (name == NULL || strcmp(g_ptr_array_index(names, record->name), name) == 0);
}

const LsRecord *
recorder_get(LsRecordKind kind, const char *name, guint n)
{
    const LsRecord *found = NULL;
    g_mutex_lock(&lock);
    for (guint i = 0; i < records->len && found == NULL; i++) {
        const LsRecord *record = &g_array_index(records, LsRecord, i);
        if (matches(record, kind, name) && n-- == 0)
            found = record;
    }
    g_mutex_unlock(&lock);
    return found;
}

guint
recorder_count(LsRecordKind kind, const char *name)
{
    guint n = 0;
    g_mutex_lock(&lock);
    for (guint i = 0; i < records->len; i++)
        n += matches(&g_array_index(records, LsRecord, i), kind, name);
    g_mutex_unlock(&lock);
    return n;
}

bool
recorder_await(LsRecordKind kind, int64_t first, guint n)
{
    for (int i = 0; i < 60000; i++) {
        guint found = 0;
        g_mutex_lock(&lock);
        for (guint k = 0; k < records->len; k++) {
            const LsRecord *record = &g_array_index(records, LsRecord, k);
            found += matches(record, kind, NULL) && (first < 0 || record->args[0] == first);
        }
        g_mutex_unlock(&lock);
        if (found >= n)
            return true;
        g_usleep(1000);
    }
    return false;
}

guint
recorder_count_open(LsRecordKind kind)
{
    guint n = 0;
    g_mutex_lock(&lock);
    for (guint i = 0; i < records->len; i++) {
        const LsRecord *record = &g_array_index(records, LsRecord, i);
        n += record->kind == kind && (record->flags & LS_RECORD_OPEN) != 0;
    }
    g_mutex_unlock(&lock);
    return n;
}

bool
recorder_heard(const char *part)
{
    bool heard = false;
    g_mutex_lock(&lock);
    for (guint i = 0; i < notices->len; i++)
        heard |= strstr(g_ptr_array_index(notices, i), part) != NULL;
    g_mutex_unlock(&lock);
    return heard;
}

LsStatus
ls_recorder_open(const char *folder)
{
    return g_atomic_int_get(&active) ? LS_OK : LS_ERR_OFF;
}

void
ls_recorder_close(void)
{
}

bool
ls_recorder_active(void)
{
    return g_atomic_int_get(&active) != 0;
}

void
ls_recorder_set_rank(int rank, int world, int local_rank)
{
}

void
ls_recorder_set_info(const char *key, const char *value)
{
}

void
ls_recorder_set_thread_name(const char *name)
{
    if (on_thread != NULL)
        on_thread();
}

void
ls_recorder_expect_bursts(void)
{
}

uint32_t
ls_recorder_name(const char *text)
{
    guint id = 1;
    g_mutex_lock(&lock);
    while (id < names->len && strcmp(g_ptr_array_index(names, id), text) != 0)
        id++;
    if (id == names->len)
        g_ptr_array_add(names, g_strdup(text));
    g_mutex_unlock(&lock);
    return id;
}

void
ls_recorder_write(const LsRecord *record)
{
    g_mutex_lock(&lock);
    g_array_append_val(records, *record);
    g_mutex_unlock(&lock);
}

int64_t
ls_recorder_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void
ls_recorder_say(const char *text)
{
    g_mutex_lock(&lock);
    g_ptr_array_add(notices, g_strdup(text));
    g_mutex_unlock(&lock);
}

void
ls_recorder_notice(int severity, const char *text)
{
    ls_recorder_say(text);
}

void
ls_recorder_flush(void)
{
}

LsStatus
ls_recorder_recover(const char *folder)
{
    return LS_OK;
}
