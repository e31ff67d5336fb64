/* SPDX-License-Identifier: Apache-2.0
 *
 * replay FOLDER: hands every file of a fuzzer's kept corpus to it, whole and cut at up to 64
 * places, without libFuzzer, so that any compiler and every run of the tests repeats what fuzzing
 * has found. Linked with one fuzz-NAME.c. A finding is a crash or a failed check in there; what
 * remains is TAP.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static int
is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A copy of its own for each length: a sanitizer then sees a read beyond the cut. */
static int
replay_cut(const uint8_t *data, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);
    if (copy == NULL)
        return 0;
    if (length > 0)
        memcpy(copy, data, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
    return 1;
}

static int
replay_bytes(const uint8_t *data, size_t length)
{
    size_t step = length / CUTS + 1;
    int done = replay_cut(data, length);
    for (size_t cut = 0; cut < length && done; cut += step)
        done = replay_cut(data, cut);
    return done;
}

static uint8_t *
read_file(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size = -1;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0)
        data = malloc((size_t)size + 1);
    if (data != NULL && fread(data, 1, (size_t)size, file) != (size_t)size) {
        free(data);
        data = NULL;
    }
    *ret_length = (size_t)size;
    fclose(file);
    return data;
}

static int
replay_file(const char *folder, const char *name)
{
    char path[4096];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    uint8_t *data = read_file(path, &length);
    int done = data != NULL && replay_bytes(data, length);
    free(data);
    return done;
}

int
main(int argc, char **argv)
{
    struct dirent **entries;
    int failed = 0;
    int n = argc == 2 ? scandir(argv[1], &entries, is_file, alphasort) : -1;
    if (n < 1) {
        fprintf(stderr, "replay: expected a folder with a corpus, got %s\n",
                argc == 2 ? argv[1] : "none");
        return 2;
    }
    printf("TAP version 13\n1..%d\n", n);
    for (int i = 0; i < n; i++) {
        fflush(stdout); /* a crash leaves the names of those before it */
        int done = replay_file(argv[1], entries[i]->d_name);
        printf("%sok %d %s\n", done ? "" : "not ", i + 1, entries[i]->d_name);
        failed |= !done;
        free(entries[i]);
    }
    free(entries);
    return failed;
}
