/* SPDX-License-Identifier: Apache-2.0
 *
 * Power of the node from files of the kernel, in a tree made for it: RAPL's packages but not their
 * parts, memory, a power meter, Cray's counters; what may not be read; a machine with nothing.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/node-power.h"

static void
put(const char *root, const char *path, const char *text, int mode)
{
    g_autofree char *file = g_build_filename(root, path, NULL);
    g_autofree char *folder = g_path_get_dirname(file);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(file, text, -1, NULL));
    g_chmod(file, mode);
}

static const LsNodeSensor *
find(const LsNodePower *power, const char *name)
{
    for (int i = 0; i < power->n; i++) {
        if (strcmp(power->sensors[i].name, name) == 0)
            return &power->sensors[i];
    }
    return NULL;
}

static void
check(const LsNodePower *power, const char *name, LsSampleUnit unit, int64_t value)
{
    int64_t read;
    const LsNodeSensor *sensor = find(power, name);
    g_test_message("%s", name);
    g_assert_nonnull(sensor);
    if (sensor == NULL)
        return;
    g_assert_cmpint(sensor->unit, ==, unit);
    g_assert_true(ls_node_power_read(sensor, &read));
    g_assert_cmpint(read, ==, value);
}

static void
test_tree(void)
{
    g_autofree char *root = g_dir_make_tmp("lockstep-node-XXXXXX", NULL);
    LsNodePower power;
    put(root, "sys/class/powercap/intel-rapl:0/name", "package-0\n", 0644);
    put(root, "sys/class/powercap/intel-rapl:0/energy_uj", "123456789\n", 0644);
    put(root, "sys/class/powercap/intel-rapl:0:0/name", "core\n", 0644);
    put(root, "sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n", 0644);
    put(root, "sys/class/powercap/intel-rapl:0:1/name", "dram\n", 0644);
    put(root, "sys/class/powercap/intel-rapl:0:1/energy_uj", "77\n", 0644);
    put(root, "sys/class/hwmon/hwmon3/name", "power_meter\n", 0644);
    put(root, "sys/class/hwmon/hwmon3/power1_average", "412000000\n", 0644);
    put(root, "sys/class/hwmon/hwmon1/name", "coretemp\n", 0644);
    put(root, "sys/cray/pm_counters/power", "389 W 1234 us\n", 0644);
    put(root, "sys/cray/pm_counters/energy", "5000 J\n", 0644);
    ls_node_power_find(&power, root);
    g_assert_cmpint(power.n, ==, 5);
    check(&power, "cpu energy package-0", LS_UNIT_MICROJOULE, 123456789);
    check(&power, "memory energy dram", LS_UNIT_MICROJOULE, 77);
    check(&power, "node power power_meter", LS_UNIT_MILLIWATT, 412000);
    check(&power, "node power", LS_UNIT_MILLIWATT, 389000);
    check(&power, "node energy", LS_UNIT_MILLIJOULE, 5000000);
}

static void
test_forbidden(void)
{
    g_autofree char *root = g_dir_make_tmp("lockstep-node-XXXXXX", NULL);
    LsNodePower power;
    if (getuid() == 0) {
        g_test_skip("root may read everything");
        return;
    }
    put(root, "sys/class/powercap/intel-rapl:0/name", "package-0\n", 0644);
    put(root, "sys/class/powercap/intel-rapl:0/energy_uj", "1\n", 0000);
    ls_node_power_find(&power, root);
    g_assert_cmpint(power.n, ==, 0);
    g_assert_cmpint(power.forbidden, ==, 1);
}

static void
test_nothing(void)
{
    LsNodePower power;
    ls_node_power_find(&power, "/nowhere");
    g_assert_cmpint(power.n, ==, 0);
    g_assert_cmpint(power.forbidden, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/node-power/a-whole-tree", test_tree);
    g_test_add_func("/tracer/node-power/needs-root", test_forbidden);
    g_test_add_func("/tracer/node-power/nothing-there", test_nothing);
    return g_test_run();
}
