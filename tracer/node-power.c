/* SPDX-License-Identifier: Apache-2.0
 *
 * RAPL (Intel and AMD: energy of packages and memory, for root alone since Linux 5.10), hwmon's
 * power inputs, and Cray's pm_counters, which anybody may read. Where nothing is there, nothing is
 * recorded: that is a state, not a fault.
 */
#include "tracer/node-power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/settings.h"

static bool
read_text(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, ret_text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    ret_text[length > 0 ? length : 0] = '\0';
    ret_text[strcspn(ret_text, " \n")] = '\0';
    return length > 0;
}

static void
add(LsNodePower *power, const char *path, const char *name, LsSampleUnit unit, int64_t scale,
    int64_t divisor)
{
    if (power->n == LS_NODE_SENSORS_MAX || access(path, F_OK) != 0)
        return;
    if (access(path, R_OK) != 0) {
        power->forbidden++;
        return;
    }
    LsNodeSensor *sensor = &power->sensors[power->n++];
    snprintf(sensor->path, sizeof sensor->path, "%s", path);
    snprintf(sensor->name, sizeof sensor->name, "%s", name);
    sensor->unit = unit;
    sensor->scale = scale;
    sensor->divisor = divisor;
}

/* package-0, dram, ...: of each domain its energy in microjoule. */
static void
find_rapl(LsNodePower *power, const char *root)
{
    char folder[200], path[300], text[32], name[48];
    snprintf(folder, sizeof folder, "%s/sys/class/powercap", root);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, "intel-rapl:", 11) != 0)
            continue;
        snprintf(path, sizeof path, "%.190s/%.60s/name", folder, entry->d_name);
        if (!read_text(path, text, sizeof text))
            snprintf(text, sizeof text, "%.24s", entry->d_name + 11);
        bool is_memory = strncmp(text, "dram", 4) == 0;
        if (!is_memory && strncmp(text, "package", 7) != 0)
            continue; /* parts of a package: they are in its number */
        snprintf(name, sizeof name, "%s energy %s", is_memory ? "memory" : "cpu", text);
        snprintf(path, sizeof path, "%.190s/%.60s/energy_uj", folder, entry->d_name);
        add(power, path, name, LS_UNIT_MICROJOULE, 1, 1);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Microwatts, of power meters that say so. */
static void
find_hwmon(LsNodePower *power, const char *root)
{
    char folder[200], path[300], text[32], name[48];
    snprintf(folder, sizeof folder, "%s/sys/class/hwmon", root);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, "hwmon", 5) != 0)
            continue;
        snprintf(path, sizeof path, "%.190s/%.60s/name", folder, entry->d_name);
        if (!read_text(path, text, sizeof text))
            continue;
        bool is_node = strcmp(text, "power_meter") == 0;
        snprintf(name, sizeof name, "%s power %.20s", is_node ? "node" : "hwmon", text);
        snprintf(path, sizeof path, "%.190s/%.60s/power1_average", folder, entry->d_name);
        add(power, path, name, LS_UNIT_MILLIWATT, 1, 1000);
    }
    if (dir != NULL)
        closedir(dir);
}

static void
find_cray(LsNodePower *power, const char *root)
{
    static const struct {
        const char *file, *name;
        LsSampleUnit unit;
    } files[] = {{"power", "node power", LS_UNIT_MILLIWATT},
                 {"energy", "node energy", LS_UNIT_MILLIJOULE},
                 {"cpu_power", "cpu power", LS_UNIT_MILLIWATT},
                 {"memory_power", "memory power", LS_UNIT_MILLIWATT}};
    char path[300];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%.200s/sys/cray/pm_counters/%s", root, files[i].file);
        add(power, path, files[i].name, files[i].unit, 1000, 1);
    }
}

void
ls_node_power_find(LsNodePower *ret_power, const char *root)
{
    memset(ret_power, 0, sizeof *ret_power);
    find_rapl(ret_power, root);
    find_hwmon(ret_power, root);
    find_cray(ret_power, root);
}

bool
ls_node_power_read(const LsNodeSensor *sensor, int64_t *ret_value)
{
    char text[32];
    int64_t number;
    if (!read_text(sensor->path, text, sizeof text) || !ls_parse_number(text, &number))
        return false;
    *ret_value = number * sensor->scale / sensor->divisor;
    return true;
}
