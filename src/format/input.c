/* SPDX-License-Identifier: Apache-2.0
 *
 * format/input.c: bytes of a file through a window of at least 256 KB, by read(2), never mapped: a
 * file that shrinks or a network that fails must not kill the reader. What unpacks (zlib, libzstd)
 * is chosen by the first bytes. A file may end in the middle, or grow: what is there is given.
 */
#include "format/input.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define WINDOW (256u * 1024u)

struct LsInput {
    int fd; /* -1: memory */
    const uint8_t *memory;
    size_t memory_length, memory_at;
    int64_t file_bytes, file_at;
    z_stream *gzip;
    ZSTD_DStream *zstd;
    bool frame_open;
    uint8_t *packed; /* bytes of the file not yet unpacked; plain files have none */
    size_t packed_at, packed_length;
    uint8_t *window;
    size_t at, length, capacity;
    int64_t offset;
    bool ended;
    char *damage;
};

static void
set_damage(LsInput *input, const char *text)
{
    if (!input->damage)
        input->damage = g_strdup(text);
    input->ended = true;
}

/* Bytes as they are in the file; 0 at its end. */
static size_t
read_raw(LsInput *input, uint8_t *to, size_t n)
{
    if (input->fd < 0) {
        n = MIN(n, input->memory_length - input->memory_at);
        if (n > 0)
            memcpy(to, input->memory + input->memory_at, n);
        input->memory_at += n;
        input->file_at += (int64_t)n;
        return n;
    }
    ssize_t got;
    do
        got = read(input->fd, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        set_damage(input, g_strerror(errno));
        return 0;
    }
    input->file_at += got;
    return (size_t)got;
}

/* Makes sure that packed bytes are at hand; false at the end of the file. */
static bool
refill_packed(LsInput *input)
{
    if (input->packed_at < input->packed_length)
        return true;
    input->packed_at = 0;
    input->packed_length = read_raw(input, input->packed, WINDOW);
    return input->packed_length > 0;
}

static size_t
read_gzip(LsInput *input, uint8_t *to, size_t n)
{
    z_stream *gzip = input->gzip;
    gzip->next_out = to;
    gzip->avail_out = (uInt)MIN(n, WINDOW);
    uInt room = gzip->avail_out;
    while (gzip->avail_out == room && !input->ended) {
        if (!refill_packed(input)) {
            if (gzip->total_in > 0) /* else it ended between two members */
                set_damage(input, "the gzip data ends early");
            input->ended = true;
            break;
        }
        gzip->next_in = input->packed + input->packed_at;
        gzip->avail_in = (uInt)(input->packed_length - input->packed_at);
        int status = inflate(gzip, Z_NO_FLUSH);
        input->packed_at = input->packed_length - gzip->avail_in;
        if (status == Z_STREAM_END)
            inflateReset(gzip); /* another member may follow */
        else if (status != Z_OK && status != Z_BUF_ERROR)
            set_damage(input, "the gzip data is damaged");
    }
    return room - gzip->avail_out;
}

static size_t
read_zstd(LsInput *input, uint8_t *to, size_t n)
{
    ZSTD_outBuffer out = {.dst = to, .size = n};
    while (out.pos == 0 && !input->ended) {
        bool more = refill_packed(input);
        ZSTD_inBuffer in = {.src = input->packed + input->packed_at,
                            .size = input->packed_length - input->packed_at};
        size_t hint = ZSTD_decompressStream(input->zstd, &out, &in);
        input->packed_at += in.pos;
        if (ZSTD_isError(hint))
            set_damage(input, "the zstd data is damaged");
        else if (more)
            input->frame_open = hint != 0;
        else if (out.pos == 0) {
            if (input->frame_open)
                set_damage(input, "the zstd data ends early");
            input->ended = true;
        }
    }
    return out.pos;
}

static size_t
read_content(LsInput *input, uint8_t *to, size_t n)
{
    size_t got = input->gzip   ? read_gzip(input, to, n)
                 : input->zstd ? read_zstd(input, to, n)
                               : read_raw(input, to, n);
    if (got == 0)
        input->ended = true;
    return got;
}

/* Chooses how to unpack by the first bytes, which stay unread. */
static void
choose_unpacker(LsInput *input)
{
    static const uint8_t gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    size_t have;
    const uint8_t *head = ls_input_peek(input, 4, &have);
    bool gzip = have >= sizeof gzip_magic && memcmp(head, gzip_magic, sizeof gzip_magic) == 0;
    bool zstd = have >= sizeof zstd_magic && memcmp(head, zstd_magic, sizeof zstd_magic) == 0;
    if (!gzip && !zstd)
        return;
    input->packed = g_malloc(MAX(WINDOW, input->capacity));
    memcpy(input->packed, input->window, input->length);
    input->packed_length = input->length;
    input->length = input->at = 0;
    input->ended = false;
    if (gzip) {
        input->gzip = g_new0(z_stream, 1);
        inflateInit2(input->gzip, 15 + 16);
    } else {
        input->zstd = ZSTD_createDStream();
        ZSTD_initDStream(input->zstd);
    }
}

static LsInput *
input_new(int fd, int64_t bytes)
{
    LsInput *input = g_new0(LsInput, 1);
    input->fd = fd;
    input->file_bytes = bytes;
    input->capacity =
        (size_t)CLAMP(bytes, 4096, WINDOW); /* of a small file no more than it needs */
    input->window = g_malloc(input->capacity);
    return input;
}

LsInput *
ls_input_open(const char *path, GError **error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "%s cannot be read: %s.", path,
                    g_strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (!S_ISREG(info.st_mode)) {
        g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "%s is %s, not a trace file.", path,
                    S_ISDIR(info.st_mode) ? "a folder" : "no regular file");
        close(fd);
        return NULL;
    }
    LsInput *input = input_new(fd, info.st_size);
    choose_unpacker(input);
    return input;
}

LsInput *
ls_input_open_memory(const void *data, size_t length)
{
    LsInput *input = input_new(-1, (int64_t)length);
    input->memory = data;
    input->memory_length = length;
    choose_unpacker(input);
    return input;
}

void
ls_input_close(LsInput *input)
{
    if (!input)
        return;
    if (input->fd >= 0)
        close(input->fd);
    if (input->gzip) {
        inflateEnd(input->gzip);
        g_free(input->gzip);
    }
    if (input->zstd)
        ZSTD_freeDStream(input->zstd);
    g_free(input->packed);
    g_free(input->window);
    g_free(input->damage);
    g_free(input);
}

const uint8_t *
ls_input_peek(LsInput *input, size_t want, size_t *ret_have)
{
    if (input->length - input->at < want && !input->ended) {
        memmove(input->window, input->window + input->at, input->length - input->at);
        input->length -= input->at;
        input->at = 0;
    }
    while (input->length - input->at < want && !input->ended) {
        if (input->length == input->capacity) {
            input->capacity *= 2;
            input->window = g_realloc(input->window, input->capacity);
        }
        input->length +=
            read_content(input, input->window + input->length, input->capacity - input->length);
    }
    *ret_have = input->length - input->at;
    return input->window + input->at;
}

void
ls_input_skip(LsInput *input, size_t n)
{
    g_assert(n <= input->length - input->at);
    input->at += n;
    input->offset += (int64_t)n;
}

int64_t
ls_input_get_offset(const LsInput *input)
{
    return input->offset;
}

double
ls_input_get_fraction(const LsInput *input)
{
    bool packed = input->gzip || input->zstd;
    int64_t at = packed ? input->file_at : input->offset;
    return input->file_bytes > 0 ? MIN(1.0, (double)at / (double)input->file_bytes) : 1.0;
}

const char *
ls_input_get_damage(const LsInput *input)
{
    return input->damage;
}
