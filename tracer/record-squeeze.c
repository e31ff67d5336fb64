/* SPDX-License-Identifier: Apache-2.0
 *
 * One zstd frame per MB: a reader of the whole sees one stream, and no state is kept between. Only
 * three functions of libzstd are used, whose form has never changed.
 */
#include "tracer/record-squeeze.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/compat.h"

LS_BIND_OLD(dlopen);
LS_BIND_OLD(dlsym);

#define PIECE_BYTES (1u << 20)
#define LEVEL       3

struct LsSqueeze {
    int fd;
    uint8_t *piece, *packed;
    size_t used, room;
    uint64_t bytes;
    bool has_failed;
    size_t (*compress)(void *to, size_t room, const void *from, size_t n_bytes, int level);
    unsigned (*is_error)(size_t code);
};

static void
load_zstd(LsSqueeze *squeeze)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    size_t (*bound)(size_t) = NULL;
    if (library == NULL)
        return;
    *(void **)&bound = dlsym(library, "ZSTD_compressBound");
    *(void **)&squeeze->is_error = dlsym(library, "ZSTD_isError");
    *(void **)&squeeze->compress = dlsym(library, "ZSTD_compress");
    if (bound == NULL || squeeze->is_error == NULL || squeeze->compress == NULL) {
        squeeze->compress = NULL;
        return;
    }
    squeeze->room = bound(PIECE_BYTES);
    squeeze->packed = malloc(squeeze->room);
    if (squeeze->packed == NULL)
        squeeze->compress = NULL;
}

LsSqueeze *
ls_squeeze_open(int fd)
{
    LsSqueeze *squeeze = calloc(1, sizeof *squeeze);
    if (squeeze == NULL)
        return NULL;
    squeeze->fd = fd;
    squeeze->piece = malloc(PIECE_BYTES);
    if (squeeze->piece == NULL) {
        free(squeeze);
        return NULL;
    }
    load_zstd(squeeze);
    return squeeze;
}

static void
write_all(LsSqueeze *squeeze, const uint8_t *data, size_t n_bytes)
{
    while (n_bytes > 0 && !squeeze->has_failed) {
        ssize_t n = write(squeeze->fd, data, n_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        squeeze->has_failed = n <= 0;
        data += n > 0 ? n : 0;
        n_bytes -= n > 0 ? (size_t)n : 0;
        squeeze->bytes += n > 0 ? (uint64_t)n : 0;
    }
}

static void
flush(LsSqueeze *squeeze)
{
    size_t packed = 0;
    if (squeeze->compress != NULL && squeeze->used > 0) {
        packed =
            squeeze->compress(squeeze->packed, squeeze->room, squeeze->piece, squeeze->used, LEVEL);
        if (squeeze->is_error(packed)) {
            errno = EIO;
            squeeze->has_failed = true;
        }
    }
    if (squeeze->compress != NULL)
        write_all(squeeze, squeeze->packed, squeeze->has_failed ? 0 : packed);
    else
        write_all(squeeze, squeeze->piece, squeeze->used);
    squeeze->used = 0;
}

bool
ls_squeeze_write(LsSqueeze *squeeze, const void *data, size_t n_bytes)
{
    const uint8_t *at = data;
    while (n_bytes > 0) {
        size_t room = PIECE_BYTES - squeeze->used, part = n_bytes < room ? n_bytes : room;
        memcpy(squeeze->piece + squeeze->used, at, part);
        squeeze->used += part;
        at += part;
        n_bytes -= part;
        if (squeeze->used == PIECE_BYTES)
            flush(squeeze);
    }
    return !squeeze->has_failed;
}

bool
ls_squeeze_close(LsSqueeze *squeeze, uint64_t *ret_bytes, bool *ret_is_compressed)
{
    flush(squeeze);
    bool is_whole = !squeeze->has_failed;
    *ret_bytes = squeeze->bytes;
    *ret_is_compressed = squeeze->compress != NULL;
    free(squeeze->packed);
    free(squeeze->piece);
    free(squeeze);
    return is_whole;
}
