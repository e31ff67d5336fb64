/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-native.c: the trace file, of any bytes. With an odd first byte the checksums of what looks
 * like chunks are made right, so that changed payloads reach the decoder too. Checks: it loads, or
 * says in a sentence why not; the trace that comes of it holds together.
 */
#include "check-trace.h"
#include "format/native.h"
#include "repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

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
