/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-native.c: the trace file, of any bytes. With an odd first byte the checksums of what looks
 * like chunks are made right, so that changed payloads reach the decoder too. Checks: it loads, or
 * says in a sentence why not; the trace that comes of it holds together.
 */
#include "capture/crc32c.h"
#include "capture/format.h"
#include "check-trace.h"
#include "format/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static void
repair_chunks(uint8_t *data, size_t length)
{
    LsChunkHeader header;
    for (size_t at = 0; length - at >= sizeof header;) {
        memcpy(&header, data + at, sizeof header);
        size_t whole = (size_t)header.header_bytes + header.payload_bytes;
        if (header.magic != LS_CHUNK_MAGIC || header.header_bytes < sizeof header ||
            whole > length - at) {
            at++;
            continue;
        }
        header.crc32c = 0;
        memcpy(data + at, &header, sizeof header);
        header.crc32c = ls_crc32c(0, data + at, whole);
        memcpy(data + at, &header, sizeof header);
        at += whole;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    if (length == 0)
        return 0;
    g_autofree uint8_t *copy = g_memdup2(data, length);
    if (copy[0] & 1)
        repair_chunks(copy + 1, length - 1);
    g_autoptr(GPtrArray) processes = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    LsInput *input = ls_input_open_memory(copy + 1, length - 1);
    bool loaded = ls_native_load(input, "fuzz", processes, NULL, &error);
    ls_input_close(input);
    check(loaded && !error, "any bytes load, however little is in them");
    check_processes(processes);
    return 0;
}
