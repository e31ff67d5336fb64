/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings to chunks: what goes in comes out once, what is lost is told, a bounded file keeps its
 * newest.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/names.h"
#include "capture/pump.h"
#include "lks.h"

typedef struct Fixture {
    char *dir;
    LsArea area;
    LsNames names;
    LsPump pump;
    uint8_t *staging;
    GByteArray *file;
    int64_t fail_after; /* writes; -1: never */
} Fixture;

static LsStatus
write_memory(void *user, uint64_t position, const void *data, size_t bytes)
{
    Fixture *fixture = user;
    if (fixture->fail_after == 0)
        return LS_ERR_FULL;
    if (fixture->fail_after > 0)
        fixture->fail_after--;
    if (position + bytes > fixture->file->len)
        g_byte_array_set_size(fixture->file, (guint)(position + bytes));
    memcpy(fixture->file->data + position, data, bytes);
    return LS_OK;
}

static LsStatus
clear_memory(void *user, uint64_t position, uint64_t bytes)
{
    Fixture *fixture = user;
    g_assert_cmpuint(position + bytes, <=, fixture->file->len);
    memset(fixture->file->data + position, 0, bytes);
    return LS_OK;
}

static Fixture *
fixture_new(uint64_t block_bytes)
{
    Fixture *fixture = g_new0(Fixture, 1);
    LsAreaHeader owner = {.pid = 77, .host = "host"};
    int error;
    LsSink sink = {write_memory, clear_memory, fixture};
    owner.block_bytes = block_bytes;
    owner.max_bytes = block_bytes * LS_AREA_BLOCKS;
    fixture->dir = g_dir_make_tmp("lockstep-XXXXXX", NULL);
    g_assert_cmpint(ls_area_open(&fixture->area, &owner, fixture->dir, 16 << 20, 0, &error), ==,
                    LS_OK);
    g_assert_cmpint(error, ==, 0);
    pthread_mutex_init(&fixture->names.lock, NULL);
    ls_names_open(&fixture->names, &fixture->area);
    fixture->staging = g_malloc(LS_PUMP_STAGING);
    fixture->file = g_byte_array_new();
    fixture->fail_after = -1;
    ls_pump_open(&fixture->pump, fixture->area.header, &fixture->area, &sink, fixture->staging);
    return fixture;
}

static void
fixture_free(Fixture *fixture)
{
    ls_names_close(&fixture->names);
    ls_area_close(&fixture->area);
    g_byte_array_unref(fixture->file);
    g_free(fixture->staging);
    g_rmdir(fixture->dir);
    g_free(fixture->dir);
    g_free(fixture);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

/* Number `n` as a record; false: the ring is full. */
static bool
push(Fixture *fixture, LsRing *ring, int64_t n)
{
    uint64_t write = atomic_load(&ring->write);
    if (write - atomic_load(&ring->read) > ring->mask)
        return false;
    LsRecord record = {LS_RECORD_OPERATION, 0, 1, n * 1000, n * 1000 + 500, {n}};
    ls_area_records(fixture->area.header, ring)[write & ring->mask] = record;
    atomic_store(&ring->write, write + 1);
    return true;
}

static LksFile *
read_back(const Fixture *fixture)
{
    return lks_read_bytes(fixture->file->data, fixture->file->len, UINT32_MAX);
}

static void
test_all_once(void)
{
    g_autoptr(Fixture) fixture = fixture_new(0);
    LsRing *rings[3];
    g_autofree bool *seen = g_new0(bool, 30000);
    for (uint32_t i = 0; i < 3; i++)
        rings[i] = ls_area_take_ring(&fixture->area, 1, 100 + i);
    uint32_t id = ls_names_intern(&fixture->names, "MPI_ALLREDUCE");
    g_assert_cmpuint(id, ==, 1);
    for (int64_t n = 0; n < 30000; n++) {
        while (!push(fixture, rings[n % 3], n))
            g_assert_cmpint(ls_pump_pass(&fixture->pump), ==, LS_OK);
    }
    g_assert_cmpint(ls_pump_pass(&fixture->pump), ==, LS_OK);
    g_autoptr(LksFile) file = read_back(fixture);
    g_assert_cmpuint(lks_count(file, LS_RECORD_OPERATION), ==, 30000);
    g_assert_cmpuint(file->damaged_bytes, ==, 0);
    g_assert_cmpstr(lks_name(file, 1), ==, "MPI_ALLREDUCE");
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind != LS_RECORD_OPERATION)
            continue;
        g_assert_cmpuint(record->thread, ==, 100 + record->args[0] % 3);
        g_assert_cmpint(record->start_ns, ==, record->args[0] * 1000);
        g_assert_false(seen[record->args[0]]);
        seen[record->args[0]] = true;
    }
}

/* Writes fail for a while: kept + told as lost = made. */
static void
test_losses_add_up(void)
{
    g_autoptr(Fixture) fixture = fixture_new(0);
    LsRing *ring = ls_area_take_ring(&fixture->area, 1, 5);
    g_assert_cmpint(ls_pump_pass(&fixture->pump), ==, LS_OK);
    ls_names_intern(&fixture->names, "first");
    g_assert_cmpint(ls_pump_pass(&fixture->pump), ==, LS_OK);
    g_assert_cmpint(ls_pump_reserve(&fixture->pump), ==, LS_OK);
    for (int64_t n = 0; n < 20000; n++) {
        g_assert_true(push(fixture, ring, n));
        if (n == 7000)
            fixture->fail_after = 0;
        if (n == 13000)
            fixture->fail_after = -1;
        if (n % 500 == 0 && ls_pump_pass(&fixture->pump) != LS_OK)
            ls_pump_discard(&fixture->pump);
    }
    g_assert_cmpint(ls_pump_pass(&fixture->pump), ==, LS_OK);
    g_autoptr(LksFile) file = read_back(fixture);
    g_assert_cmpuint(lks_sum_lost(file), >, 5000);
    g_assert_cmpuint(lks_sum_lost(file) + lks_count(file, LS_RECORD_OPERATION), ==, 20000);
    g_assert_cmpuint(file->damaged_bytes, ==, 0);
}

/* A disk that stays full: the loss stands in the room kept for it. */
static void
test_reserve_tells_loss(void)
{
    g_autoptr(Fixture) fixture = fixture_new(0);
    LsRing *ring = ls_area_take_ring(&fixture->area, 1, 5);
    ls_names_intern(&fixture->names, "first");
    ls_pump_pass(&fixture->pump);
    g_assert_cmpint(ls_pump_reserve(&fixture->pump), ==, LS_OK);
    guint length = fixture->file->len;
    for (int64_t n = 0; n < 900; n++)
        push(fixture, ring, n);
    ls_pump_discard(&fixture->pump);
    ls_pump_tell_reserve(&fixture->pump);
    g_assert_cmpuint(fixture->file->len, ==, length);
    g_autoptr(LksFile) full = read_back(fixture);
    g_assert_cmpuint(lks_sum_lost(full), ==, 900);
    /* Room again: told as usual, and no longer there. */
    ls_pump_pass(&fixture->pump);
    ls_pump_tell_reserve(&fixture->pump);
    g_autoptr(LksFile) after = read_back(fixture);
    g_assert_cmpuint(lks_sum_lost(after), ==, 900);
    g_assert_cmpuint(lks_count(after, LS_RECORD_LOST), ==, 1);
}

static void
test_bound_keeps_newest(void)
{
    enum { N = 900000, BLOCK = 65536 };
    g_autoptr(Fixture) fixture = fixture_new(BLOCK);
    LsRing *ring = ls_area_take_ring(&fixture->area, 1, 5);
    g_autofree bool *seen = g_new0(bool, N);
    ls_names_intern(&fixture->names, "MPI_ALLREDUCE");
    for (int64_t n = 0; n < N; n++) {
        if (!push(fixture, ring, n)) {
            g_assert_cmpint(ls_pump_pass(&fixture->pump), ==, LS_OK);
            g_assert_true(push(fixture, ring, n));
        }
    }
    ls_pump_pass(&fixture->pump);
    ls_pump_repeat(&fixture->pump);
    g_assert_cmpuint(fixture->file->len, <=, BLOCK * LS_AREA_BLOCKS);
    g_autoptr(LksFile) file = read_back(fixture);
    g_assert_cmpuint(file->damaged_bytes, ==, 0);
    g_assert_cmpstr(lks_name(file, 1), ==, "MPI_ALLREDUCE");
    int64_t kept = 0, newest_gap = 0, oldest = N;
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind != LS_RECORD_OPERATION)
            continue;
        g_assert_false(seen[record->args[0]]);
        seen[record->args[0]] = true;
        oldest = MIN(oldest, record->args[0]);
        kept++;
    }
    for (int64_t n = 0; n < N; n++)
        newest_gap = seen[n] ? newest_gap : n;
    g_assert_cmpint(oldest, ==, 0);
    /* One gap; behind it everything: at least 60 of the 64 blocks, of records of 10 bytes. */
    g_assert_cmpint((N - newest_gap) * 10, >, 60 * (BLOCK - 8000));
    for (int64_t n = newest_gap + 1; n < N; n++)
        g_assert_true(seen[n]);
    g_assert_cmpint(kept, <, N);
    g_assert_cmpuint((uint64_t)kept + lks_sum_lost(file), ==, N);
}

/* Any cut of the file at its front still names everything behind it. */
static void
test_suffix_is_readable(void)
{
    g_autoptr(Fixture) fixture = fixture_new(0);
    LsRing *ring = ls_area_take_ring(&fixture->area, 1, 5);
    ls_names_intern(&fixture->names, "MPI_ALLREDUCE");
    for (int64_t n = 0; n < 900000; n++) {
        if (!push(fixture, ring, n)) {
            ls_pump_pass(&fixture->pump);
            push(fixture, ring, n);
        }
    }
    ls_pump_pass(&fixture->pump);
    ls_pump_repeat(&fixture->pump);
    guint length = fixture->file->len;
    g_assert_cmpuint(length, >, 8 << 20);
    for (guint cut = 1; cut < 10; cut += 4) {
        guint from = length / 10 * cut + 13;
        g_autoptr(LksFile) file =
            lks_read_bytes(fixture->file->data + from, length - from, UINT32_MAX);
        g_assert_cmpuint(lks_count(file, LS_RECORD_OPERATION), >, 0);
        g_assert_cmpstr(lks_name(file, 1), ==, "MPI_ALLREDUCE");
        g_assert_cmpuint(file->damaged_bytes, <, 32768 + 64);
    }
    g_autoptr(LksFile) file = read_back(fixture);
    g_assert_cmpuint(lks_count(file, LS_RECORD_NAME), >=, 3);
}

static void
test_ended_ring_comes_again(void)
{
    g_autoptr(Fixture) fixture = fixture_new(0);
    for (int64_t n = 0; n < 5000; n++) {
        LsRing *ring = ls_area_take_ring(&fixture->area, 1, (uint32_t)n + 1);
        g_assert_nonnull(ring);
        push(fixture, ring, n);
        atomic_store(&ring->state, LS_RING_ENDED);
        if (n % 50 == 49)
            ls_pump_pass(&fixture->pump);
    }
    ls_pump_pass(&fixture->pump);
    g_assert_cmpuint(atomic_load(&fixture->area.header->units_top), <=, 50);
    g_autoptr(LksFile) file = read_back(fixture);
    g_assert_cmpuint(lks_count(file, LS_RECORD_OPERATION), ==, 5000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/pump/every-record-once", test_all_once);
    g_test_add_func("/capture/pump/kept-and-lost-add-up", test_losses_add_up);
    g_test_add_func("/capture/pump/full-disk-loss-in-the-reserve", test_reserve_tells_loss);
    g_test_add_func("/capture/pump/bound-keeps-the-newest", test_bound_keeps_newest);
    g_test_add_func("/capture/pump/any-suffix-is-readable", test_suffix_is_readable);
    g_test_add_func("/capture/pump/ended-ring-is-used-again", test_ended_ring_comes_again);
    return g_test_run();
}
