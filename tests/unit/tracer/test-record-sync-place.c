/* SPDX-License-Identifier: Apache-2.0
 *
 * Which jobs have other hosts at all, and where their hub is: addresses, node lists, its file.
 */
#include "tracer/record-sync-private.h"

#include <arpa/inet.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static void
test_private(void)
{
    static const struct {
        const char *address;
        bool is_private, is_loopback;
    } rows[] = {
        {"127.0.0.1", true, true},
        {"127.9.9.9", true, true},
        {"10.0.0.1", true, false},
        {"10.255.255.255", true, false},
        {"172.16.0.1", true, false},
        {"172.31.255.1", true, false},
        {"172.32.0.1", false, false},
        {"172.15.0.1", false, false},
        {"192.168.3.4", true, false},
        {"192.169.0.1", false, false},
        {"169.254.1.1", true, false},
        {"100.64.0.1", true, false},
        {"100.128.0.1", false, false},
        {"8.8.8.8", false, false},
        {"0.0.0.0", false, false},
        {"255.255.255.255", false, false},
        {"::1", true, true},
        {"fd00::2", true, false},
        {"fc00::1", true, false},
        {"fe80::1", true, false},
        {"2001:db8::1", false, false},
        {"::", false, false},
        {"::ffff:10.1.1.1", true, false},
        {"::ffff:8.8.8.8", false, false},
        {"::ffff:127.0.0.1", true, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        LsSyncPlace place;
        g_assert_true(ls_sync_place_parse(&place, rows[i].address, "4000"));
        g_assert_true(ls_sync_place_is_private(&place) == rows[i].is_private);
        g_assert_true(ls_sync_place_is_loopback(&place) == rows[i].is_loopback);
    }
}

static void
test_split(void)
{
    static const struct {
        const char *text, *host, *port;
    } rows[] = {
        {"gpu01:4000", "gpu01", "4000"},
        {"10.0.0.1:1", "10.0.0.1", "1"},
        {"[::1]:65535", "::1", "65535"},
        {"::1:4000", NULL, NULL},
        {"gpu01", NULL, NULL},
        {"gpu01:", NULL, NULL},
        {":4000", NULL, NULL},
        {"gpu01:0", NULL, NULL},
        {"gpu01:65536", NULL, NULL},
        {"gpu01:4x", NULL, NULL},
        {"gpu01:-1", NULL, NULL},
        {"gpu01:99999999999", NULL, NULL},
        {"", NULL, NULL},
        {"[]:4", NULL, NULL},
    };
    g_autofree char *endless = g_strnfill(5000, 'x');
    char host[LS_AREA_NAME_MAX], port[8];
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool is_good = ls_sync_place_split(rows[i].text, host, port);
        g_assert_true(is_good == (rows[i].host != NULL));
        if (!is_good)
            continue;
        g_assert_cmpstr(host, ==, rows[i].host);
        g_assert_cmpstr(port, ==, rows[i].port);
    }
    g_assert_false(ls_sync_place_split(endless, host, port));
}

static void
test_nodes(void)
{
    static const struct {
        const char *list, *first;
    } rows[] = {
        {"gpu01", "gpu01"},
        {"gpu01,gpu02", "gpu01"},
        {"gpu[03-07,9],login", "gpu03"},
        {"r[1-2]c[04,05]-ib[0]", "r1c04-ib0"},
        {"rack-a[10]", "rack-a10"},
        {"", NULL},
        {",a", NULL},
        {"gpu[01", NULL},
    };
    g_autofree char *endless = g_strnfill(5000, 'x');
    char host[LS_AREA_NAME_MAX];
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool is_good = ls_sync_place_first_node(rows[i].list, host);
        g_assert_true(is_good == (rows[i].first != NULL));
        if (is_good)
            g_assert_cmpstr(host, ==, rows[i].first);
    }
    g_assert_true(ls_sync_place_first_node(endless, host));
    g_assert_cmpuint(strlen(host), ==, LS_AREA_NAME_MAX - 1);
}

static void
test_hub_file(void)
{
    static const char *const bad[] = {
        "",
        "end\n",
        "boot b\nend\n",
        "host h\nboot b\nat 10.0.0.1 4000\n",
        "host h\nboot b\nat 10.0.0.1 4000\nen",
        "host h\nat 10.0.0.1 4000\nend\n",
        "host h\nboot b\nat 10.0.0.1\nend\n",
        "host h\nboot b\nat nowhere 4000\nend\n",
        "host h\nboot b\nat 10.0.0.1 70000\nend\n",
    };
    g_autofree char *folder = g_dir_make_tmp("lockstep-hub-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "hub-3", NULL);
    LsSyncHub hub = {.host = "h", .boot = "b"}, found;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(ls_sync_hub_parse(bad[i], &found));
    for (hub.n_places = 0; hub.n_places < LS_SYNC_PLACES_MAX; hub.n_places++)
        g_assert_true(ls_sync_place_parse(&hub.places[hub.n_places],
                                          hub.n_places % 2 == 0 ? "10.0.0.1" : "fd00::7", "4000"));
    g_assert_cmpint(ls_sync_hub_read(folder, 3, &found), ==, LS_ERR_OFF);
    g_assert_cmpint(ls_sync_hub_publish(folder, 3, &hub), ==, LS_OK);
    g_assert_cmpint(ls_sync_hub_publish(folder, 3, &hub), ==, LS_ERR_OFF);
    g_assert_cmpint(ls_sync_hub_read(folder, 3, &found), ==, LS_OK);
    g_assert_cmpstr(found.host, ==, "h");
    g_assert_cmpstr(found.boot, ==, "b");
    g_assert_cmpuint(found.n_places, ==, LS_SYNC_PLACES_MAX);
    for (size_t i = 0; i < found.n_places; i++) {
        char text[LS_SYNC_PLACE_TEXT];
        ls_sync_place_format(&found.places[i], text);
        g_assert_cmpstr(text, ==, i % 2 == 0 ? "10.0.0.1:4000" : "[fd00::7]:4000");
    }
    g_unlink(path);
    g_rmdir(folder);
}

static void
test_others(void)
{
    static const struct {
        const char *variables[5];
        int rank, world;
        bool has_job;
        LsSyncOthers others;
    } rows[] = {
        {{NULL}, -1, -1, false, LS_SYNC_NO_OTHERS},
        {{NULL}, 0, 1, true, LS_SYNC_NO_OTHERS},
        {{NULL}, 0, 2, false, LS_SYNC_PERHAPS},
        {{NULL}, -1, -1, true, LS_SYNC_PERHAPS},
        {{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}, 0, 4, true, LS_SYNC_NO_OTHERS},
        {{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}, 0, 8, true, LS_SYNC_OTHERS},
        {{"WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8"}, 0, 16, true, LS_SYNC_OTHERS},
        {{"WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8"}, 0, 8, true, LS_SYNC_NO_OTHERS},
        {{"HOROVOD_SIZE=4", "HOROVOD_LOCAL_SIZE=2"}, 0, 4, true, LS_SYNC_OTHERS},
        {{"SLURM_NNODES=1"}, 0, 8, true, LS_SYNC_NO_OTHERS},
        {{"SLURM_NNODES=2"}, 0, 8, true, LS_SYNC_OTHERS},
        {{"SLURM_NNODES=2", "SLURM_STEP_NUM_NODES=1"}, 0, 8, true, LS_SYNC_NO_OTHERS},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        LsIdentity identity = {
            .rank = rows[i].rank, .world = rows[i].world, .has_job = rows[i].has_job};
        for (int k = 0; rows[i].variables[k] != NULL; k++) {
            g_auto(GStrv) parts = g_strsplit(rows[i].variables[k], "=", 2);
            g_setenv(parts[0], parts[1], TRUE);
        }
        g_assert_cmpint(ls_sync_find_others(&identity), ==, rows[i].others);
        for (int k = 0; rows[i].variables[k] != NULL; k++) {
            g_auto(GStrv) parts = g_strsplit(rows[i].variables[k], "=", 2);
            g_unsetenv(parts[0]);
        }
    }
}

static void
test_slurm(void)
{
    LsRecordOptions options = {.sync_key = "/home/u/key"};
    LsIdentity identity = {.run_id = "500.0"};
    char place[LS_AREA_NAME_MAX + 8], again[LS_AREA_NAME_MAX + 8], host[LS_AREA_NAME_MAX], port[8];
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_cmpstr(place, ==, "");
    g_setenv("SLURM_JOB_NODELIST", "gpu[03-07]", TRUE);
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_true(ls_sync_place_split(place, host, port));
    g_assert_cmpstr(host, ==, "gpu03");
    ls_sync_choose_place(&options, &identity, again, sizeof again);
    g_assert_cmpstr(place, ==, again);
    g_strlcpy(identity.run_id, "501.0", sizeof identity.run_id);
    ls_sync_choose_place(&options, &identity, again, sizeof again);
    g_assert_cmpstr(place, !=, again);
    options.sync = "head:4000";
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_cmpstr(place, ==, "head:4000");
    options = (LsRecordOptions){0};
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_cmpstr(place, ==, ""); /* without a key of its own: by the folder */
    g_unsetenv("SLURM_JOB_NODELIST");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/record-sync/jobs-with-other-hosts", test_others);
    g_test_add_func("/tracer/record-sync/place-under-slurm", test_slurm);
    g_test_add_func("/tracer/record-sync/private-addresses", test_private);
    g_test_add_func("/tracer/record-sync/host-and-port", test_split);
    g_test_add_func("/tracer/record-sync/first-node-of-a-list", test_nodes);
    g_test_add_func("/tracer/record-sync/file-of-the-hub", test_hub_file);
    return g_test_run();
}
