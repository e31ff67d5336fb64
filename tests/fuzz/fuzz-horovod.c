/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-horovod.c: a Horovod timeline, of any text. Checks: it loads; the trace that comes of it
 * holds together.
 */
#include "check-trace.h"
#include "format/horovod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    g_autoptr(GPtrArray) processes = g_ptr_array_new();
    g_autoptr(GError) error = NULL;
    ls_horovod_probe(data, length);
    LsInput *input = ls_input_open_memory(data, length);
    bool loaded = ls_horovod_load(input, "fuzz", processes, NULL, &error);
    ls_input_close(input);
    check(loaded && !error, "any text loads, however little is in it");
    check_processes(processes);
    return 0;
}
