/* SPDX-License-Identifier: Apache-2.0
 *
 * CLOCK_MONOTONIC, because it is one clock for all processes of a boot (offset 0, uncertainty 0
 * between ranks of a host) and its reading is no system call. The double lets one machine play
 * several hosts whose clocks are off and drift.
 */
#include "capture/clock.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/settings.h"

#define PAIR_TRIES 5

LsClockDouble ls_clock_double;

static int64_t
read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t
shift(int64_t now)
{
    const LsClockDouble *twin = &ls_clock_double;
    /* The product of a long run and a drift passes 2^63: split into whole seconds and the rest. */
    int64_t since = now - twin->anchor_ns;
    int64_t drift =
        since / 1000000000 * twin->drift_ppb + since % 1000000000 * twin->drift_ppb / 1000000000;
    return now + twin->offset_ns + drift;
}

int64_t
ls_clock_now(void)
{
    int64_t now = read_clock(CLOCK_MONOTONIC);
    return __builtin_expect(ls_clock_double.on, 0) ? shift(now) : now;
}

bool
ls_clock_set_double(const char *text)
{
    int64_t values[3] = {0, 0, 0};
    ls_clock_double.on = false;
    for (int i = 0; i < 3 && *text != '\0'; i++) {
        char part[24];
        size_t length = strcspn(text, ":");
        if (length >= sizeof part)
            return false;
        memcpy(part, text, length);
        part[length] = '\0';
        if (!ls_parse_number(part, &values[i]))
            return false;
        text += length + (text[length] == ':');
    }
    ls_clock_double = (LsClockDouble){true, values[0], values[1], values[2]};
    return true;
}

void
ls_clock_pair(LsClockReading *ret_reading)
{
    ret_reading->uncertainty_ns = INT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        int64_t before = ls_clock_now();
        int64_t realtime = read_clock(CLOCK_REALTIME);
        int64_t after = ls_clock_now();
        if (after - before >= ret_reading->uncertainty_ns)
            continue;
        ret_reading->monotonic_ns = before + (after - before) / 2;
        ret_reading->realtime_ns = realtime;
        ret_reading->uncertainty_ns = after - before;
    }
}

void
ls_clock_boot_id(char ret_boot_id[LS_BOOT_ID_MAX])
{
    ret_boot_id[0] = '\0';
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t length = read(fd, ret_boot_id, LS_BOOT_ID_MAX - 1);
    close(fd);
    ret_boot_id[length > 0 ? length : 0] = '\0';
    ret_boot_id[strcspn(ret_boot_id, "\n")] = '\0';
}
