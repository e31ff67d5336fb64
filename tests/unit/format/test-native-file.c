/* SPDX-License-Identifier: Apache-2.0
 * The trace file as a file: what is damaged, cut, out of order, compressed, put behind another or
 * no trace at all costs no more than itself. */
#include "base/error.h"
#include "native-fixture.h"

#include <zlib.h>
#include <zstd.h>

/* A file of `chunks` chunks with ten phases each. */
static void
write_phases(const Fixture *fixture, const char *name, uint32_t rank, int chunks)
{
    LsSynthFile *file = begin(fixture, name, rank);
    for (int c = 0; c < chunks; c++) {
        for (int i = 0; i < 10; i++)
            ADD(file, 7, PHASE, "forward", c * 1000 + i * 10, c * 1000 + i * 10 + 9, 1);
        ls_synth_file_flush(file, 7);
    }
    g_assert_true(ls_synth_file_close(file));
}

/* Offset of the n-th chunk with records of thread 7. */
static size_t
chunk_offset(const char *data, size_t length, int n)
{
    for (size_t at = 0; at < length;) {
        LsChunkHeader header;
        memcpy(&header, data + at, sizeof header);
        if (header.thread == 7 && n-- == 0)
            return at;
        at += header.header_bytes + header.payload_bytes;
    }
    g_assert_not_reached();
}

static void
test_damage_costs_one_chunk(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 20);
    g_autofree char *bytes = NULL;
    size_t length = get(fixture, "a.lks", &bytes);
    size_t at = chunk_offset(bytes, length, 5);
    for (size_t where = 0; where < 100; where += 9) { /* in header and payload */
        g_autofree char *copy = g_memdup2(bytes, length);
        copy[at + where] ^= 0x55;
        put(fixture, "b.lks", copy, length);
        const LsProcess *process = load(fixture, "b.lks", 1);
        g_assert_cmpuint(process->phases->len, ==, 190);
        g_assert_cmpuint(process->rank.damaged, ==, 1);
        const LsFinding *finding = &g_array_index(process->findings, LsFinding, 0);
        g_assert_cmpint(finding->severity, ==, LS_FAULT);
        g_assert_cmpint(finding->offset, ==, (int64_t)at);
    }
}

static void
test_any_cut_keeps_what_is_whole(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 6);
    g_autofree char *bytes = NULL;
    size_t length = get(fixture, "a.lks", &bytes);
    for (size_t cut = sizeof(uint32_t); cut < length; cut++) {
        g_ptr_array_set_size(fixture->processes, 0);
        g_assert_true(ls_format_load_bytes(bytes, cut, "cut", fixture->processes, NULL, NULL));
        size_t phases = 0;
        for (guint i = 0; i < fixture->processes->len; i++)
            phases += ((LsProcess *)g_ptr_array_index(fixture->processes, i))->phases->len;
        size_t whole = 0;
        for (int c = 0; c < 6; c++) {
            LsChunkHeader header;
            size_t at = chunk_offset(bytes, length, c);
            memcpy(&header, bytes + at, sizeof header);
            whole += at + header.header_bytes + header.payload_bytes <= cut ? 10 : 0;
        }
        g_assert_cmpuint(phases, ==, whole);
        if (whole == 0)
            continue;
        /* And the rest, from the cut on, is a file too: what the cut chunk held is lost, no more.
         */
        g_ptr_array_set_size(fixture->processes, 0);
        bool loaded =
            ls_format_load_bytes(bytes + cut, length - cut, "rest", fixture->processes, NULL, NULL);
        g_assert_true(loaded || whole >= 50); /* else there is no chunk in it, and it is no trace */
        size_t rest = 0;
        for (guint i = 0; i < fixture->processes->len; i++)
            rest += ((LsProcess *)g_ptr_array_index(fixture->processes, i))->phases->len;
        g_assert_cmpuint(phases + rest, >=, 50);
    }
}

static void
test_names_that_come_late_are_put_in(Fixture *fixture, gconstpointer data)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord record = {.kind = LS_RECORD_PHASE, .name = 1, .start_ns = 5, .end_ns = 9, .args = {1}};
    ls_synth_file_add(file, 7, &record);
    record.name = 99;
    ls_synth_file_add(file, 7, &record);
    ls_synth_file_flush(file, 7);
    g_assert_cmpuint(ls_synth_file_name(file, "backward"), ==, 1);
    g_assert_true(ls_synth_file_close(file));
    const LsProcess *process = load(fixture, "a.lks", 1);
    const LsPhase *phases = &g_array_index(process->phases, LsPhase, 0);
    g_assert_cmpstr(ls_strings_get(process->strings, phases[0].name), ==, "backward");
    g_assert_cmpstr(ls_strings_get(process->strings, phases[1].name), ==, "name 99");
    g_assert_cmpint(severity_of(process, "1 names are not in the file"), ==, LS_WARNING);
}

static void
test_files_behind_one_another_are_several_processes(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 3);
    write_phases(fixture, "b.lks", 1, 4);
    g_autofree char *a = NULL, *b = NULL, *again = NULL;
    size_t n_a = get(fixture, "a.lks", &a), n_b = get(fixture, "b.lks", &b), n_again;
    LsSynthFile *file =
        begin(fixture, "again.lks", 0); /* the same pid, counting from 0: opened anew */
    ADD(file, 7, PHASE, "backward", 50000, 50009, 1);
    g_assert_true(ls_synth_file_close(file));
    n_again = get(fixture, "again.lks", &again);
    g_autoptr(GByteArray) all = g_byte_array_new();
    g_byte_array_append(all, (const guint8 *)a, (guint)n_a);
    g_byte_array_append(all, (const guint8 *)b, (guint)n_b);
    g_byte_array_append(all, (const guint8 *)again, (guint)n_again);
    g_byte_array_append(all, (const guint8 *)b, (guint)n_b); /* once more: nothing new */
    put(fixture, "c.lks", all->data, all->len);
    load(fixture, "c.lks", 3);
    const guint phases[] = {30, 40, 1};
    const int ranks[] = {0, 1, 0};
    for (guint i = 0; i < 3; i++) {
        const LsProcess *process = g_ptr_array_index(fixture->processes, i);
        g_assert_cmpuint(process->phases->len, ==, phases[i]);
        g_assert_cmpint(process->rank.rank, ==, ranks[i]);
        g_assert_cmpuint(process->findings->len, ==, 0);
    }
}

/* Each chunk has a phase and the fact's next value; a step begins in one and ends in another. */
static size_t
write_ten_chunks(const Fixture *fixture, char **ret_bytes)
{
    LsSynthFile *file = begin(fixture, "a.lks", 0);
    LsRecord step = {
        .kind = LS_RECORD_STEP, .flags = LS_RECORD_OPEN, .start_ns = 2000, .end_ns = 2000};
    for (int c = 0; c < 10; c++) {
        ADD(file, 7, PHASE, "forward", c * 1000, c * 1000 + 9, 1);
        if (c == 2 || c == 8) { /* begun in chunk 2, ended in chunk 8 */
            step.flags = c == 2 ? LS_RECORD_OPEN : 0;
            step.end_ns = c == 2 ? 2000 : 8000;
            ls_synth_file_add(file, 7, &step);
        }
        g_autofree char *value = g_strdup_printf("%d", c);
        ls_synth_file_info(file, "key", value);
        ls_synth_file_flush(file, 7);
    }
    g_assert_true(ls_synth_file_close(file));
    return get(fixture, "a.lks", ret_bytes);
}

static void
check_ten_chunks(Fixture *fixture, const char *name)
{
    const LsProcess *process = load(fixture, name, 1);
    g_assert_cmpuint(process->phases->len, ==, 10);
    for (guint i = 0; i < 10; i++)
        g_assert_cmpint(g_array_index(process->phases, LsPhase, i).start_ns, ==, i * 1000);
    g_assert_cmpuint(process->steps->len, ==, 1);
    g_assert_false(g_array_index(process->steps, LsStep, 0).cut);
    g_assert_cmpstr(g_hash_table_lookup(process->facts, "key"), ==, "9");
    g_assert_cmpint(process->rank.incarnation, ==, 0);
    g_assert_cmpuint(process->findings->len, ==, 0);
}

static void
test_order_of_chunks_does_not_matter(Fixture *fixture, gconstpointer data)
{
    g_autofree char *bytes = NULL;
    size_t length = write_ten_chunks(fixture, &bytes);
    size_t two = chunk_offset(bytes, length, 1), six = chunk_offset(bytes, length, 6),
           seven = chunk_offset(bytes, length, 7);
    g_autoptr(GByteArray) mixed = g_byte_array_new();
    static const uint8_t padding[300];
    g_byte_array_append(mixed, (const guint8 *)bytes, (guint)two);
    g_byte_array_append(mixed, padding, sizeof padding);
    g_byte_array_append(mixed, (const guint8 *)bytes + six, (guint)(length - six));
    g_byte_array_append(mixed, (const guint8 *)bytes + two, (guint)(six - two));
    g_byte_array_append(mixed, (const guint8 *)bytes + six, (guint)(seven - six));
    g_byte_array_append(mixed, padding, sizeof padding);
    put(fixture, "b.lks", mixed->data, mixed->len);
    check_ten_chunks(fixture, "b.lks");
}

/* Where each chunk begins, and where the last one ends. */
static GArray *
list_chunks(const char *data, size_t length)
{
    GArray *offsets = g_array_new(FALSE, FALSE, sizeof(size_t));
    for (size_t at = 0; at < length;) {
        LsChunkHeader header;
        memcpy(&header, data + at, sizeof header);
        g_array_append_val(offsets, at);
        at += header.header_bytes + header.payload_bytes;
    }
    g_array_append_val(offsets, length);
    return offsets;
}

/* The first chunk too is anywhere, and some come twice: still one process, one life, in order. */
static void
test_shuffled_chunks_are_one_life(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    g_autofree char *bytes = NULL;
    size_t length = write_ten_chunks(fixture, &bytes);
    g_autoptr(GArray) offsets = list_chunks(bytes, length);
    guint n = offsets->len - 1;
    g_assert_cmpuint(n, >=, 10);
    for (int round = 0; round < 40; round++) {
        g_autoptr(GByteArray) mixed = g_byte_array_new();
        g_autofree guint *order = g_new0(guint, n);
        for (guint i = 0; i < n; i++) { /* Fisher and Yates, from the inside out */
            guint at = (guint)g_rand_int_range(rand, 0, (gint32)i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (guint i = 0; i < n + 3; i++) {
            size_t from = g_array_index(offsets, size_t, order[i % n]);
            size_t to = g_array_index(offsets, size_t, order[i % n] + 1);
            g_byte_array_append(mixed, (const guint8 *)bytes + from, (guint)(to - from));
        }
        put(fixture, "b.lks", mixed->data, mixed->len);
        check_ten_chunks(fixture, "b.lks");
    }
}

static void
test_gzip_and_zstd_are_transparent(Fixture *fixture, gconstpointer data)
{
    write_phases(fixture, "a.lks", 0, 2000);
    g_autofree char *bytes = NULL;
    size_t length = get(fixture, "a.lks", &bytes);
    g_autofree char *gz = path_of(fixture, "a.gz");
    gzFile out = gzopen(gz, "wb");
    g_assert_cmpint(gzwrite(out, bytes, (unsigned)length), ==, (int)length);
    gzclose(out);
    g_assert_cmpuint(load(fixture, "a.gz", 1)->phases->len, ==, 20000);
    g_autofree char *packed = NULL;
    size_t n_packed = get(fixture, "a.gz", &packed);
    put(fixture, "cut.gz", packed, n_packed / 2);
    const LsProcess *process = load(fixture, "cut.gz", 1);
    g_assert_cmpuint(process->phases->len, >, 1000);
    g_assert_cmpint(severity_of(process, "the gzip data ends early"), ==, LS_FAULT);

    size_t bound = ZSTD_compressBound(length);
    g_autofree char *zstd = g_malloc(bound);
    size_t n_zstd = ZSTD_compress(zstd, bound, bytes, length, 1);
    put(fixture, "a.zst", zstd, n_zstd);
    g_assert_cmpuint(load(fixture, "a.zst", 1)->phases->len, ==, 20000);
    put(fixture, "cut.zst", zstd, n_zstd - 5);
    g_assert_cmpint(severity_of(load(fixture, "cut.zst", 1), "the zstd data ends early"), ==,
                    LS_FAULT);
}

static void
test_what_is_no_trace_is_refused_with_a_sentence(Fixture *fixture, gconstpointer data)
{
    static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    put(fixture, "x.png", png, sizeof png);
    g_autofree char *absent = path_of(fixture, "absent"), *image = path_of(fixture, "x.png");
    const char *paths[] = {absent, image, fixture->folder};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(ls_format_load(paths[i], fixture->processes, NULL, &error));
        g_assert_error(error, LS_ERROR, LS_ERROR_BAD_FILE);
        g_assert_true(g_str_has_suffix(error->message, "."));
        g_assert_nonnull(strstr(error->message, paths[i]));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST("damage-costs-one-chunk", test_damage_costs_one_chunk);
    TEST("any-cut-keeps-what-is-whole", test_any_cut_keeps_what_is_whole);
    TEST("names-that-come-late-are-put-in", test_names_that_come_late_are_put_in);
    TEST("files-behind-one-another-are-several-processes",
         test_files_behind_one_another_are_several_processes);
    TEST("order-of-chunks-does-not-matter", test_order_of_chunks_does_not_matter);
    TEST("shuffled-chunks-are-one-life", test_shuffled_chunks_are_one_life);
    TEST("gzip-and-zstd-are-transparent", test_gzip_and_zstd_are_transparent);
    TEST("what-is-no-trace-is-refused-with-a-sentence",
         test_what_is_no_trace_is_refused_with_a_sentence);
    return g_test_run();
}
