/* SPDX-License-Identifier: Apache-2.0
 *
 * Rank by a table of launchers, innermost first: what stands nearest to the training code knows
 * best. Secrets are recognised by the name before them; masking too much is the better error.
 */
#include "capture/identity.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define N_ELEMENTS(array) (sizeof array / sizeof array[0])

/* Variables of one launcher; `also` must be set too, so that a stray RANK does not count. */
typedef struct Launcher {
    const char *rank, *world, *local_rank, *also;
} Launcher;

static const Launcher launchers[] = {
    {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", NULL},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_RANK"},
    {"DMLC_WORKER_ID", "DMLC_NUM_WORKER", NULL, NULL},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {"PMIX_RANK", NULL, NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL},
};

static int
read_number(const char *variable)
{
    int64_t number;
    const char *text = variable == NULL ? NULL : secure_getenv(variable);
    if (text == NULL || !ls_parse_number(text, &number) || number < 0 || number > INT32_MAX)
        return -1;
    return (int)number;
}

static void
load_rank(LsIdentity *identity, const LsSettings *settings)
{
    identity->rank_source = "";
    identity->rank = (int)settings->rank;
    identity->world = (int)settings->world;
    identity->local_rank = (int)settings->local_rank;
    if (identity->rank >= 0) {
        identity->rank_source = "LOCKSTEP_RANK";
        return;
    }
    for (size_t i = 0; i < N_ELEMENTS(launchers); i++) {
        const Launcher *launcher = &launchers[i];
        int rank = read_number(launcher->rank);
        if (rank < 0 || (launcher->also != NULL && secure_getenv(launcher->also) == NULL))
            continue;
        identity->rank = rank;
        identity->rank_source = launcher->rank;
        if (identity->world < 0)
            identity->world = read_number(launcher->world);
        if (identity->local_rank < 0)
            identity->local_rank = read_number(launcher->local_rank);
        return;
    }
}

/* File names are made of it: letters, digits, '-' and '_' only, and the first label. */
static void
load_host(LsIdentity *identity, const LsSettings *settings)
{
    char *host = identity->host;
    snprintf(host, sizeof identity->host, "%.200s", settings->host);
    if (host[0] == '\0' && gethostname(host, sizeof identity->host - 1) != 0)
        snprintf(host, sizeof identity->host, "unknown");
    host[strcspn(host, ".")] = '\0';
    for (char *at = host; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
            *at = '_';
    }
    if (host[0] == '\0')
        snprintf(host, sizeof identity->host, "unknown");
}

/* The id that a launcher gave its job; false: none did. */
static bool
find_job(char *ret_id, size_t size)
{
    const char *pmix = secure_getenv("PMIX_NAMESPACE");
    const char *slurm = secure_getenv("SLURM_JOB_ID"), *step = secure_getenv("SLURM_STEP_ID");
    const char *elastic = secure_getenv("TORCHELASTIC_RUN_ID");
    const char *address = secure_getenv("HOROVOD_GLOO_RENDEZVOUS_ADDR");
    const char *port = secure_getenv("HOROVOD_GLOO_RENDEZVOUS_PORT");
    if (pmix != NULL)
        snprintf(ret_id, size, "%.200s", pmix);
    else if (slurm != NULL)
        snprintf(ret_id, size, "%.100s.%.100s", slurm, step == NULL ? "0" : step);
    else if (elastic != NULL && strcmp(elastic, "none") != 0) /* torchrun's word for no id */
        snprintf(ret_id, size, "%.200s", elastic);
    else if (address != NULL && port != NULL)
        snprintf(ret_id, size, "%.100s.%.100s", address, port);
    else
        return false;
    return true;
}

static void
load_run_id(LsIdentity *identity, const LsSettings *settings)
{
    char *id = identity->run_id;
    size_t size = sizeof identity->run_id;
    uint64_t random[2] = {0, 0};
    identity->has_job = true;
    if (settings->run_id[0] != '\0')
        snprintf(id, size, "%.200s", settings->run_id);
    else
        identity->has_job = find_job(id, size);
    if (identity->has_job)
        return;
    if (getrandom(random, sizeof random, GRND_NONBLOCK) == (ssize_t)sizeof random)
        snprintf(id, size, "%016llx%016llx", (unsigned long long)random[0],
                 (unsigned long long)random[1]);
    else
        snprintf(id, size, "%lld.%d", (long long)ls_clock_now(), (int)getpid());
}

static void
load_cpu(LsIdentity *identity)
{
    char text[1024]; /* the first processor's first lines */
    int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *model = strstr(text, "model name");
    model = model == NULL ? NULL : strchr(model, ':');
    identity->cpu[0] = '\0';
    if (model != NULL) {
        model += strspn(model, ": \t");
        snprintf(identity->cpu, sizeof identity->cpu, "%.*s", (int)strcspn(model, "\n"), model);
    }
    identity->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void
ls_identity_load(LsIdentity *ret_identity, const LsSettings *settings)
{
    load_rank(ret_identity, settings);
    load_host(ret_identity, settings);
    load_run_id(ret_identity, settings);
    load_cpu(ret_identity);
}

/* -- The command -- */

/* Whole words of a name ("--max-tokens" and "--tokenizer" are none), and ends of one
 * ("accessToken"). */
static const char *const secret_words[] = {
    "pass",  "passwd",     "password",    "passphrase", "pwd",  "secret",        "secrets",
    "token", "credential", "credentials", "apikey",     "auth", "authorization", "cookie"};
static const char *const secret_ends[] = {"token", "password", "secret", "apikey"};
static const char *const secret_values[] = {"ghp_", "gho_",  "github_pat_", "glpat-", "hf_",
                                            "sk-",  "xoxb-", "AKIA",        "eyJ"};

static bool
is_secret_word(const char *word, size_t length, bool is_last)
{
    for (size_t i = 0; i < N_ELEMENTS(secret_words); i++) {
        if (strlen(secret_words[i]) == length && memcmp(word, secret_words[i], length) == 0)
            return true;
    }
    /* "--key", "wandb_key", but not "--key-size". */
    return is_last && length == 3 && memcmp(word, "key", 3) == 0;
}

static bool
is_secret_name(const char *name, size_t length)
{
    char lower[256];
    if (length >= sizeof lower)
        return false;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[length] = '\0';
    for (size_t at = 0; at < length;) {
        size_t word = strcspn(lower + at, "-_. ");
        if (is_secret_word(lower + at, word, at + word == length))
            return true;
        at += word + 1;
    }
    for (size_t i = 0; i < N_ELEMENTS(secret_ends); i++) {
        size_t end = strlen(secret_ends[i]);
        if (length >= end && memcmp(lower + length - end, secret_ends[i], end) == 0)
            return true;
    }
    return false;
}

/* Every byte, so that nothing of it is left behind a shorter word. */
static void
mask_rest(char *at)
{
    memset(at, '*', strlen(at));
}

/* "https://user:password@host". */
static void
mask_address(char *argument)
{
    char *scheme = strstr(argument, "://");
    if (scheme == NULL)
        return;
    size_t host = strcspn(scheme + 3, "/");
    char *at_sign = memrchr(scheme + 3, '@', host);
    if (at_sign != NULL)
        memset(scheme + 3, '*', (size_t)(at_sign - scheme - 3));
}

bool
ls_identity_mask(char *argument)
{
    for (size_t i = 0; i < N_ELEMENTS(secret_values); i++) {
        size_t length = strlen(secret_values[i]);
        if (strncmp(argument, secret_values[i], length) == 0 && strlen(argument) >= length + 8) {
            mask_rest(argument);
            return false;
        }
    }
    mask_address(argument);
    char *bearer = strcasestr(argument, "bearer ");
    if (bearer != NULL)
        mask_rest(bearer + strlen("bearer "));
    size_t name = strcspn(argument, "=:");
    if (!is_secret_name(argument, name))
        return false;
    if (argument[name] != '\0') {
        mask_rest(argument + name + 1);
        return false;
    }
    return argument[0] == '-';
}

size_t
ls_identity_command(char *ret_command, size_t size)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, ret_command, size - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    ret_command[length] = '\0';
    size_t used = (size_t)length;
    if (ret_command[used - 1] != '\0')
        used++; /* cut off by the size, or a process that wrote over its arguments */
    bool is_secret = false;
    for (size_t i = 0; i < used; i += strlen(ret_command + i) + 1) {
        if (is_secret)
            mask_rest(ret_command + i);
        is_secret = !is_secret && ls_identity_mask(ret_command + i);
    }
    return used;
}
