/* SPDX-License-Identifier: Apache-2.0
 *
 * One job, one folder. The first wrapper that comes makes the folder (mkdir: one of them succeeds,
 * on NFS and Lustre too) and writes the job's id into `.job`; the others compare it with theirs.
 * All wrappers of a job try the same names in the same order, so they meet. Where no launcher gave
 * an id, wrappers that know their rank join by the folder's name, and one that does not is a job of
 * its own.
 */
#include "tracer/record-folder.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/writer.h"

#define JOB_FILE    ".job"
#define FOLDERS_MAX 10000
#define WAIT_TRIES  200 /* of 10 ms: the maker is between mkdir and write */

/* -- The name -- */

typedef struct Name {
    char *text;
    size_t used;
} Name;

static void
put(Name *name, const char *text, bool is_part)
{
    for (; *text != '\0' && name->used + 1 < LS_AREA_PATH_MAX; text++) {
        bool is_odd = is_part && !isalnum((unsigned char)*text) && strchr("-_.@", *text) == NULL;
        name->text[name->used++] = is_odd ? '_' : *text;
    }
    name->text[name->used] = '\0';
}

/* %q{VAR}; returns what follows it, NULL: not one, or not set. */
static const char *
put_variable(Name *name, const char *at)
{
    char variable[128];
    size_t length = *at == '{' ? strcspn(at + 1, "}") : 0;
    if (length == 0 || length >= sizeof variable || at[1 + length] != '}') {
        fprintf(stderr, "lockstep record: -o: %%q%s: expected %%q{VARIABLE}.\n", at);
        return NULL;
    }
    memcpy(variable, at + 1, length);
    variable[length] = '\0';
    const char *value = getenv(variable);
    if (value == NULL) {
        fprintf(stderr, "lockstep record: -o: %%q{%s}: %s is not set.\n", variable, variable);
        return NULL;
    }
    put(name, value, true);
    return at + length + 2;
}

bool
ls_record_expand(char ret_path[LS_AREA_PATH_MAX], const char *pattern, const LsIdentity *identity)
{
    Name name = {ret_path, 0};
    char number[24];
    ret_path[0] = '\0';
    for (const char *at = pattern; at != NULL && *at != '\0';) {
        if (*at != '%') {
            put(&name, (char[]){*at++, '\0'}, false);
            continue;
        }
        switch (at[1]) {
        case 'j':
            put(&name, identity->has_job ? identity->run_id : "run", true);
            break;
        case 'h':
            put(&name, identity->host, true);
            break;
        case 'r':
            snprintf(number, sizeof number, "%d", identity->rank);
            put(&name, identity->rank < 0 ? "unknown" : number, true);
            break;
        case 'p':
            snprintf(number, sizeof number, "%d", (int)getpid());
            put(&name, number, true);
            break;
        case '%':
            put(&name, "%", false);
            break;
        case 'q':
            if ((at = put_variable(&name, at + 2)) == NULL)
                return false;
            continue;
        default:
            fprintf(stderr, "lockstep record: -o: %%%c: expected %%j, %%h, %%r, %%p or %%q{VAR}.\n",
                    at[1]);
            return false;
        }
        at += 2;
    }
    return true;
}

/* -- The folder -- */

/* The id that `.job` states; false: there is none (yet). */
static bool
read_job(const char *folder, char *ret_id, size_t size)
{
    char path[LS_AREA_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/" JOB_FILE, folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, ret_id, size - 1);
    if (fd >= 0)
        close(fd);
    ret_id[length > 0 ? length : 0] = '\0';
    ret_id[strcspn(ret_id, "\n")] = '\0';
    return length > 0;
}

/* O_EXCL: of several who adopt a folder at once, one names it. */
static LsStatus
write_job(const char *folder, const char *id, bool is_shared)
{
    char path[LS_AREA_PATH_MAX + 64], line[LS_AREA_NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/" JOB_FILE, folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_shared ? 0666 : 0600);
    if (fd < 0)
        return errno == EEXIST ? LS_OK : LS_ERR_SYSTEM;
    int length = snprintf(line, sizeof line, "%s\n", id);
    ssize_t written = write(fd, line, (size_t)length);
    int error = errno;
    close(fd);
    errno = error;
    return written == length ? LS_OK : LS_ERR_SYSTEM;
}

/* Whether a run lies there that no wrapper has begun. */
static bool
holds_run(const char *folder)
{
    char path[LS_AREA_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/run.json", folder);
    return access(path, F_OK) == 0;
}

/* LS_ERR_OFF: it is another job's. */
static LsStatus
claim(const char *folder, const char *id, bool is_shared)
{
    char found[LS_AREA_NAME_MAX] = "", inside[LS_AREA_PATH_MAX + 64];
    bool is_new = mkdir(folder, is_shared ? 0777 : 0700) == 0;
    if (!is_new && errno != EEXIST)
        return LS_ERR_SYSTEM;
    snprintf(inside, sizeof inside, "%s/", folder); /* of a file it says that it is none */
    if (access(inside, W_OK | X_OK) != 0)
        return LS_ERR_SYSTEM;
    if (is_new)
        return write_job(folder, id, is_shared);
    /* Another's wrapper may have made it this moment. */
    for (int i = 0; i < WAIT_TRIES && !read_job(folder, found, sizeof found); i++) {
        if (holds_run(folder))
            return LS_ERR_OFF;
        if (i == WAIT_TRIES / 20) {
            LsStatus status = write_job(folder, id, is_shared);
            if (status != LS_OK)
                return status;
        }
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return strcmp(found, id) == 0 ? LS_OK : LS_ERR_OFF;
}

LsStatus
ls_record_join(char ret_folder[LS_AREA_PATH_MAX], const char *path, const LsIdentity *identity,
               bool is_shared)
{
    const char *id = identity->has_job || identity->rank < 0 ? identity->run_id : "by name";
    char folder[LS_AREA_PATH_MAX + 16];
    LsAreaHeader header;
    LsStatus status = LS_ERR_OFF;
    for (int i = 1; i <= FOLDERS_MAX && status == LS_ERR_OFF; i++) {
        if (i == 1)
            snprintf(folder, sizeof folder, "%s", path);
        else
            snprintf(folder, sizeof folder, "%s.%d", path, i);
        status = claim(folder, id, is_shared);
    }
    if (status == LS_OK)
        status = ls_writer_find_folder(folder, &header);
    if (status == LS_OK)
        memcpy(ret_folder, header.folder, LS_AREA_PATH_MAX);
    return status;
}
