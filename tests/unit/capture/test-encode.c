/* SPDX-License-Identifier: Apache-2.0
 *
 * The encoder against FORMAT.md's worked example, byte by byte, and against an independent reader.
 */
#include <glib.h>
#include <string.h>

#include "capture/crc32c.h"
#include "capture/encode.h"
#include "lks.h"

/* The indented lines of hex digits of FORMAT.md, from "## Example" on. */
static GByteArray *
read_example(void)
{
    g_autofree char *text = NULL;
    g_autofree char *path =
        g_build_filename(g_getenv("LOCKSTEP_SOURCE"), "src", "capture", "FORMAT.md", NULL);
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    GByteArray *bytes = g_byte_array_new();
    g_auto(GStrv) lines = g_strsplit(strstr(text, "## Example"), "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        if (!g_str_has_prefix(*line, "    "))
            continue;
        g_auto(GStrv) words = g_strsplit(g_strstrip(*line), " ", -1);
        for (char **word = words; *word != NULL; word++) {
            guint8 byte = (guint8)g_ascii_strtoull(*word, NULL, 16);
            g_assert_cmpuint(strlen(*word), ==, 2);
            g_byte_array_append(bytes, &byte, 1);
        }
    }
    return bytes;
}

/* The page alone must do to read a file: it says each number of format.h. */
static void
test_numbers(void)
{
    static const struct {
        int number;
        const char *word;
    } rows[] = {
        {LS_OPERATION_ALLREDUCE, "allreduce"},
        {LS_OPERATION_ALLGATHER, "allgather"},
        {LS_OPERATION_BROADCAST, "broadcast"},
        {LS_OPERATION_JOIN, "join"},
        {LS_OPERATION_ADASUM, "adasum"},
        {LS_OPERATION_ALLTOALL, "alltoall"},
        {LS_OPERATION_BARRIER, "barrier"},
        {LS_OPERATION_REDUCESCATTER, "reducescatter"},
        {LS_OPERATION_ERROR, "error"},
        {LS_OPERATION_REDUCE, "reduce"},
        {LS_OPERATION_SEND, "send"},
        {LS_OPERATION_RECV, "recv"},
        {LS_OPERATION_UNKNOWN, "unknown"},
        {LS_PATH_IDLE, "idle"},
        {LS_PATH_BYPASS, "bypass"},
        {LS_PATH_SLOW, "slow"},
        {LS_PATH_MIXED, "mixed"},
        {LS_UNIT_MILLIWATT, "milliwatt"},
        {LS_UNIT_MILLIJOULE, "millijoule"},
        {LS_UNIT_MEGAHERTZ, "megahertz"},
        {LS_UNIT_PERCENT, "percent"},
        {LS_UNIT_CELSIUS, "celsius"},
        {LS_UNIT_MICROJOULE, "microjoule"},
    };
    g_autofree char *text = NULL;
    g_autofree char *path =
        g_build_filename(g_getenv("LOCKSTEP_SOURCE"), "src", "capture", "FORMAT.md", NULL);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_strdelimit(text, "\n", ' ');
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *said = g_strdup_printf(" %d %s", rows[i].number, rows[i].word);
        if (strstr(text, said) == NULL)
            g_error("FORMAT.md does not say \"%s\"", said + 1);
    }
}

static void
test_example(void)
{
    g_autoptr(GByteArray) expected = read_example();
    uint8_t data[65536];
    LsEncoder encoder = {.data = data, .capacity = sizeof data};
    LsChunkHeader head = {.rank = 3, .pid = 4711};
    ls_encoder_begin(&encoder, &head, 8192);
    ls_encoder_add_text(&encoder, LS_RECORD_NAME, 1, "MPI_ALLREDUCE", 13);
    ls_encoder_add_text(&encoder, LS_RECORD_NAME, 2, "conv1.weight", 12);
    ls_encoder_add_text(&encoder, LS_RECORD_NAME, 3, "rank", 4);
    ls_encoder_add_text(&encoder, LS_RECORD_INFO, 3, "3", 1);
    g_assert_true(ls_encoder_end(&encoder, 1000000000));
    head.thread = 4712;
    head.sequence = 1;
    ls_encoder_begin(&encoder, &head, 8192);
    const LsRecord records[] = {
        {LS_RECORD_SUBMIT, 0, 2, 1000000000, 1000000000, {0, 6912}},
        {LS_RECORD_OPERATION, 0, 1, 1000250000, 1001550000, {7, 0, 6912, 1}},
        {LS_RECORD_DONE, 0, 2, 1001560000, 1001560000, {0, 7}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(records); i++)
        g_assert_true(ls_encoder_add(&encoder, &records[i]));
    g_assert_true(ls_encoder_end(&encoder, 0));
    g_assert_cmpmem(data, (int)encoder.used, expected->data, (int)expected->len);
}

static LsRecord
make_random(GRand *rand)
{
    LsRecord record = {
        .kind = (uint16_t)(g_rand_boolean(rand) ? LS_RECORD_OPERATION : LS_RECORD_SUBMIT),
        .flags = (uint16_t)g_rand_int_range(rand, 0, 2),
        .name = g_rand_int(rand) >> g_rand_int_range(rand, 0, 32)};
    int64_t random[7];
    for (int i = 0; i < 7; i++)
        random[i] = (int64_t)((uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand)) >>
                    (int)g_rand_int_range(rand, 0, 64);
    record.start_ns = random[5];
    record.end_ns = record.start_ns;
    if (record.kind == LS_RECORD_OPERATION && random[6] > 0 && random[5] < 0)
        record.end_ns = record.start_ns + random[6];
    for (int i = 0; i < LS_RECORD_ARGS_MAX; i++)
        record.args[i] = random[i];
    return record;
}

static void
test_round_trip(void)
{
    enum { N = 20000 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_autofree uint8_t *data = g_malloc(4 << 20);
    g_autofree LsRecord *records = g_new(LsRecord, N);
    LsEncoder encoder = {.data = data, .capacity = 4 << 20};
    LsChunkHeader head = {.rank = 1, .pid = 2, .thread = 3};
    ls_encoder_begin(&encoder, &head, 32768);
    for (int i = 0; i < N; i++) {
        records[i] = make_random(rand);
        if (ls_encoder_add(&encoder, &records[i]))
            continue;
        g_assert_true(ls_encoder_end(&encoder, 0));
        ls_encoder_pad(&encoder, (size_t)g_rand_int_range(rand, 0, 100));
        head.sequence++;
        ls_encoder_begin(&encoder, &head, 32768);
        g_assert_true(ls_encoder_add(&encoder, &records[i]));
    }
    ls_encoder_end(&encoder, 0);
    g_autoptr(LksFile) file = lks_read_bytes(data, encoder.used, UINT32_MAX);
    g_assert_cmpuint(file->damaged_bytes, ==, 0);
    g_assert_cmpuint(file->records->len, ==, N);
    for (int i = 0; i < N; i++) {
        const LksRecord *read = &g_array_index(file->records, LksRecord, i);
        g_assert_cmpint(read->kind, ==, records[i].kind);
        g_assert_cmpint(read->is_open, ==, records[i].flags);
        g_assert_cmpuint(read->name, ==, records[i].name);
        g_assert_cmpint(read->start_ns, ==, records[i].start_ns);
        g_assert_cmpint(read->duration_ns, ==, records[i].end_ns - records[i].start_ns);
        for (int a = 0; a < LS_RECORD_ARGS_MAX; a++)
            g_assert_cmpint(read->args[a], ==, records[i].args[a]);
    }
}

/* A span of reduce at full rate, as the judge of 24 bytes an event sees it. */
static void
test_usual_span_is_small(void)
{
    uint8_t data[65536];
    LsEncoder encoder = {.data = data, .capacity = sizeof data};
    LsChunkHeader head = {.rank = 1, .pid = 2, .thread = 3};
    int64_t now = INT64_C(86400000000000);
    ls_encoder_begin(&encoder, &head, 32768);
    for (int i = 0; i < 100; i++) {
        LsRecord record = {LS_RECORD_OPERATION,           0, 12, now, now + 1234567,
                           {1000 + i, 0, 25557032, 12, 0}};
        g_assert_true(ls_encoder_add(&encoder, &record));
        now += 15000000;
    }
    ls_encoder_end(&encoder, now);
    g_assert_cmpuint(encoder.used, <=, 100 * 24);
}

static void
test_no_room_changes_nothing(void)
{
    uint8_t data[8192];
    LsEncoder encoder = {.data = data, .capacity = sizeof data};
    LsChunkHeader head = {.rank = 1};
    LsRecord record = {LS_RECORD_SUBMIT, 0, 1, 5, 5, {1}};
    ls_encoder_begin(&encoder, &head, LS_CHUNK_ROOM_MIN);
    int n = 0;
    while (ls_encoder_add(&encoder, &record))
        n++;
    size_t used = encoder.used;
    g_assert_cmpint(n, >, 400);
    g_assert_false(ls_encoder_add(&encoder, &record));
    g_assert_false(ls_encoder_add_text(&encoder, LS_RECORD_NAME, 1, (char *)data, 200));
    g_assert_cmpuint(encoder.used, ==, used);
    g_assert_cmpuint(used, <=, LS_CHUNK_ROOM_MIN);
    ls_encoder_end(&encoder, 0);
    ls_encoder_begin(&encoder, &head, LS_CHUNK_ROOM_MIN);
    g_assert_false(ls_encoder_end(&encoder, 0));
    g_assert_cmpuint(encoder.used, ==, used);
}

static void
test_crc(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    uint8_t data[300];
    g_assert_cmphex(ls_crc32c(0, "123456789", 9), ==, 0xe3069283);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)g_rand_int(rand);
    for (size_t length = 0; length <= sizeof data; length++) {
        uint32_t plain = ls_crc32c_plain(0, data, length);
        g_assert_cmphex(ls_crc32c(0, data, length), ==, plain);
        g_assert_cmphex(
            ls_crc32c(ls_crc32c(0, data, length / 3), data + length / 3, length - length / 3), ==,
            plain);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/encode/worked-example-of-the-format", test_example);
    g_test_add_func("/capture/encode/page-says-each-number", test_numbers);
    g_test_add_func("/capture/encode/any-record-comes-back", test_round_trip);
    g_test_add_func("/capture/encode/usual-span-within-24-bytes", test_usual_span_is_small);
    g_test_add_func("/capture/encode/no-room-changes-nothing", test_no_room_changes_nothing);
    g_test_add_func("/capture/crc32c/known-value-and-both-ways-agree", test_crc);
    return g_test_run();
}
