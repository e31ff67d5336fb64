/* SPDX-License-Identifier: Apache-2.0
 *
 * 32 random bytes as 64 hexadecimal digits and a newline: a file that can be copied, and of which
 * one can see that it is whole. Whoever finds it unfinished waits for its maker.
 */
#include "tracer/record-sync-key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DIGITS     (2 * LS_SYNC_KEY_BYTES)
#define WAIT_TRIES 100 /* of 10 ms */

static LsStatus
make(const char *path)
{
    uint8_t bytes[LS_SYNC_KEY_BYTES];
    char text[DIGITS + 2];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes)
        return LS_ERR_SYSTEM;
    for (int i = 0; i < LS_SYNC_KEY_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[DIGITS] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno == EEXIST ? LS_OK : LS_ERR_SYSTEM;
    bool is_whole = write(fd, text, DIGITS + 1) == DIGITS + 1;
    int error = errno;
    if (!is_whole)
        unlink(path);
    close(fd);
    errno = error;
    return is_whole ? LS_OK : LS_ERR_SYSTEM;
}

static int
value_of(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = digit == '\0' ? NULL : strchr(digits, digit);
    return at == NULL ? -1 : (int)(at - digits);
}

static bool
parse(uint8_t ret_key[LS_SYNC_KEY_BYTES], const char *text)
{
    for (int i = 0; i < LS_SYNC_KEY_BYTES; i++) {
        int high = value_of(text[2 * i]), low = high < 0 ? -1 : value_of(text[2 * i + 1]);
        if (low < 0)
            return false;
        ret_key[i] = (uint8_t)(high << 4 | low);
    }
    return text[DIGITS] == '\n';
}

/* What is wrong with the file's owner or rights; NULL: nothing. */
static const char *
find_fault(int fd)
{
    struct statx found;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MODE | STATX_UID | STATX_TYPE, &found) != 0)
        return "cannot be looked at";
    if (!S_ISREG(found.stx_mode))
        return "is no file";
    if (found.stx_uid != geteuid())
        return "belongs to another user";
    return (found.stx_mode & 077) != 0 ? "can be read by others (chmod 600)" : NULL;
}

LsStatus
ls_sync_key_load(uint8_t ret_key[LS_SYNC_KEY_BYTES], const char *path, char *ret_why, size_t size)
{
    char text[DIGITS + 2];
    for (int i = 0; i < WAIT_TRIES; i++) {
        LsStatus status = make(path);
        int fd = status != LS_OK ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) {
            snprintf(ret_why, size, "the key %.300s cannot be made or read (%s)", path,
                     strerror(errno));
            return LS_ERR_SYSTEM;
        }
        const char *fault = find_fault(fd);
        ssize_t length = fault != NULL ? 0 : read(fd, text, sizeof text);
        close(fd);
        if (fault != NULL) {
            snprintf(ret_why, size, "the key %.300s %s", path, fault);
            return LS_ERR_SYSTEM;
        }
        if (length == DIGITS + 1 && parse(ret_key, text))
            return LS_OK;
        if (length > DIGITS)
            break;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    snprintf(ret_why, size, "the key %.300s is not 64 hexadecimal digits and a newline", path);
    return LS_ERR_SYSTEM;
}
