/* SPDX-License-Identifier: Apache-2.0
 *
 * O_EXCL decides who answers. The number is written by one call; who reads an empty file looks
 * again.
 */
#include "capture/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/area.h"
#include "capture/settings.h"

static int
open_in(const char *folder, const char *name, int flags)
{
    char path[LS_AREA_PATH_MAX + 16];
    snprintf(path, sizeof path, "%.1023s/%s", folder, name);
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static LsStatus
write_once(const char *folder, const char *name, const char *text)
{
    int fd = open_in(folder, name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return errno == EEXIST ? LS_OK : LS_ERR_SYSTEM;
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    return written == (ssize_t)strlen(text) ? LS_OK : LS_ERR_SYSTEM;
}

LsStatus
ls_freeze_ask(const char *folder)
{
    return write_once(folder, ".freeze", "freeze\n");
}

bool
ls_freeze_is_asked(const char *folder)
{
    int fd = open_in(folder, ".freeze", O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

LsStatus
ls_freeze_answer(const char *folder, int64_t stop_step)
{
    char text[32];
    snprintf(text, sizeof text, "%lld\n", (long long)stop_step);
    return write_once(folder, ".freeze-at", text);
}

bool
ls_freeze_read(const char *folder, int64_t *ret_stop_step)
{
    char text[32];
    int fd = open_in(folder, ".freeze-at", O_RDONLY);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return ls_parse_number(text, ret_stop_step);
}
