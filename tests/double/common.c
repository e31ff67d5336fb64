/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings, counts and time of the test double; compiled into each of its libraries.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

#define KEYS_MAX 512

typedef struct Count {
    char key[120];
    int64_t n;
} Count;

static Count counts[KEYS_MAX];
static int n_counts;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;

static DoubleSettings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static void
set(const char *text, size_t length)
{
#define SETTING(name, nasty, calm)                                                                 \
    if (length > sizeof #name && strncmp(text, #name "=", sizeof #name) == 0)                      \
        settings.name = atoll(text + sizeof #name);
#include "settings.def"
#undef SETTING
}

static void
load_settings(void)
{
    const char *text = getenv("LOCKSTEP_DOUBLE");
    bool is_calm = text != NULL && strncmp(text, "calm", 4) == 0;
#define SETTING(name, nasty, calm) settings.name = is_calm ? (calm) : (nasty);
#include "settings.def"
#undef SETTING
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        set(text, length);
        text += length + (text[length] == ',');
    }
}

const DoubleSettings *
double_settings(void)
{
    pthread_once(&settings_once, load_settings);
    return &settings;
}

void
double_count(int64_t n, const char *format, ...)
{
    char key[sizeof counts[0].key];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&count_lock);
    int i = 0;
    while (i < n_counts && strcmp(counts[i].key, key) != 0)
        i++;
    if (i == n_counts && n_counts < KEYS_MAX)
        memcpy(counts[n_counts++].key, key, sizeof key);
    if (i < KEYS_MAX)
        counts[i].n += n;
    pthread_mutex_unlock(&count_lock);
}

static int
compare_counts(const void *a, const void *b)
{
    return strcmp(((const Count *)a)->key, ((const Count *)b)->key);
}

__attribute__((destructor)) static void
write_counts(void)
{
    const char *folder = getenv("LOCKSTEP_DOUBLE_COUNTS");
    char path[4096];
    if (folder == NULL || n_counts == 0)
        return;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    snprintf(path, sizeof path, "%s/%s.%s", folder, DOUBLE_LIBRARY, rank != NULL ? rank : "0");
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    qsort(counts, (size_t)n_counts, sizeof counts[0], compare_counts);
    for (int i = 0; i < n_counts; i++)
        fprintf(file, "%s %lld\n", counts[i].key, (long long)counts[i].n);
    fclose(file);
}

uint64_t
double_random(uint64_t seed, uint64_t n)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + n * 0xd1342543de82ef95u + 1;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

int64_t
double_now(int clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void
double_sleep(int64_t ns)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    while (ns > 0 && nanosleep(&time, &time) != 0 && errno == EINTR)
        ;
}

const DoubleTable *
double_find_table(void)
{
    static const LsCuUuid id = DOUBLE_TABLE_ID;
    const void *table = NULL;
    LsCuResult (*get)(const void **, const LsCuUuid *);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return NULL;
    *(void **)(void *)&get = dlsym(library, "cuGetExportTable");
    return get != NULL && get(&table, &id) == LS_CUDA_SUCCESS ? table : NULL;
}
