/* SPDX-License-Identifier: Apache-2.0
 * samples/synth-damage.c: what disks and networks do to files. */
#include <inttypes.h>

#include "samples/synth-run.h"

bool
ls_synth_run_damage(const char *folder, uint32_t rank, uint32_t ranks_per_host, int64_t offset,
                    int64_t count, char *ret_error, size_t error_size)
{
    char path[4096];
    FILE *file;
    bool done = true;

    ls_synth_run_get_path(folder, rank, ranks_per_host, path, sizeof path);
    file = fopen(path, "r+b");
    for (int64_t at = offset; file != NULL && done && at < offset + count; at++) {
        int byte = fseek(file, (long)at, SEEK_SET) == 0 ? fgetc(file) : EOF;
        done =
            byte != EOF && fseek(file, (long)at, SEEK_SET) == 0 && fputc(byte ^ 0xff, file) != EOF;
    }
    if (file == NULL || !done)
        snprintf(ret_error, error_size, "%s: cannot change %" PRId64 " bytes at %" PRId64, path,
                 count, offset);
    if (file == NULL)
        return false;
    return fclose(file) == 0 && done;
}
