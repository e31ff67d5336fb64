/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/reduce/test-settings.c: where a value comes from, what is refused, what must agree. */
#include "reduce/control.h"
#include "reduce/failure.h"
#include "reduce/settings.h"

#include <glib.h>

#include <string.h>

static const struct {
    LsSettingId id;
    const char *name, *choices;
} rows[] = {
#define LS_SETTING(SYMBOL, name, TYPE, initial, choices, alias, agree, help)                       \
    {LS_SETTING_##SYMBOL, name, choices},
#include "reduce/settings.def"
#undef LS_SETTING
};

static void
clear_environment(void)
{
    static const char *const names[] = {"LOCKSTEP_CYCLE_TIME_MS", "HOROVOD_CYCLE_TIME",
                                        "LOCKSTEP_FUSION_THRESHOLD_BYTES",
                                        "HOROVOD_FUSION_THRESHOLD"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        g_unsetenv(names[i]);
}

static LsSettings
load(const char *text)
{
    LsSettings settings;
    lockstep_status status = ls_settings_load(text, &settings);
    if (status != LOCKSTEP_OK)
        g_error("%s: %s", text, ls_failure_text());
    return settings;
}

static void
test_defaults(void)
{
    clear_environment();
    LsSettings settings = load(NULL);
    g_assert_cmpint(settings.numbers[LS_SETTING_CYCLE_TIME_MS], ==, 1000000);
    g_assert_cmpint(settings.numbers[LS_SETTING_IDLE_TIME_MS], ==, 64000000);
    g_assert_cmpint(settings.numbers[LS_SETTING_FUSION_THRESHOLD_BYTES], ==, 134217728);
    g_assert_cmpint(settings.numbers[LS_SETTING_STALL_WARNING_S], ==, INT64_C(60000000000));
    g_assert_cmpint(settings.numbers[LS_SETTING_STALL_LIMIT_S], ==, 0);
    g_assert_cmpint(settings.numbers[LS_SETTING_CYCLE_START], ==, LS_CYCLE_EVENT);
    g_assert_cmpint(settings.numbers[LS_SETTING_WATCHER], ==, LS_WATCHER_AUTO);
    g_assert_cmpstr(settings.texts[LS_SETTING_CONTROL], ==, "coordinator");
}

static void
test_precedence(void)
{
    clear_environment();
    g_setenv("HOROVOD_CYCLE_TIME", "3.5", TRUE);
    g_setenv("HOROVOD_FUSION_THRESHOLD", "1048576", TRUE);
    g_assert_cmpint(load(NULL).numbers[LS_SETTING_CYCLE_TIME_MS], ==, 3500000);
    g_assert_cmpint(load(NULL).numbers[LS_SETTING_FUSION_THRESHOLD_BYTES], ==, 1048576);
    g_setenv("LOCKSTEP_CYCLE_TIME_MS", "", TRUE);
    g_assert_cmpint(load(NULL).numbers[LS_SETTING_CYCLE_TIME_MS], ==, 3500000);
    g_setenv("LOCKSTEP_CYCLE_TIME_MS", "0.25", TRUE);
    g_assert_cmpint(load(NULL).numbers[LS_SETTING_CYCLE_TIME_MS], ==, 250000);
    LsSettings settings = load("plane=self;;cycle_time_ms=7;");
    g_assert_cmpint(settings.numbers[LS_SETTING_CYCLE_TIME_MS], ==, 7000000);
    g_assert_cmpstr(settings.texts[LS_SETTING_PLANE], ==, "self");
    clear_environment();
}

static void
test_values(void)
{
    clear_environment();
    g_assert_cmpint(load("fusion_threshold_bytes=64M").numbers[LS_SETTING_FUSION_THRESHOLD_BYTES],
                    ==, 64 << 20);
    g_assert_cmpint(load("fusion_threshold_bytes=1.5k").numbers[LS_SETTING_FUSION_THRESHOLD_BYTES],
                    ==, 1536);
    g_assert_cmpint(load("cycle_time_ms=0").numbers[LS_SETTING_CYCLE_TIME_MS], ==, 0);
    g_assert_cmpint(load("cycle_time_ms=.000001").numbers[LS_SETTING_CYCLE_TIME_MS], ==, 1);
    g_assert_cmpint(load("cycle_time_ms=0.0000019").numbers[LS_SETTING_CYCLE_TIME_MS], ==, 1);
    g_assert_cmpint(load("cycle_start=clock").numbers[LS_SETTING_CYCLE_START], ==, LS_CYCLE_CLOCK);
    g_assert_cmpint(load("watcher=off").numbers[LS_SETTING_WATCHER], ==, LS_WATCHER_OFF);
}

/* What the list promises is what there is. */
static void
test_ranges(void)
{
    clear_environment();
    g_assert_cmpint(load("tree_radix=1000000").numbers[LS_SETTING_TREE_RADIX], ==, 1000000);
    g_assert_cmpint(load("topk_permille=1000").numbers[LS_SETTING_TOPK_PERMILLE], ==, 1000);
    g_assert_cmpint(load("stall_limit_s=1000000000").numbers[LS_SETTING_STALL_LIMIT_S], ==,
                    INT64_C(1000000000000000000));
    g_assert_cmpint(
        load("fusion_threshold_bytes=1048576G").numbers[LS_SETTING_FUSION_THRESHOLD_BYTES], ==,
        INT64_C(1) << 50);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(GStrv) choices = g_strsplit(rows[i].choices, "|", -1);
        for (char **choice = choices; *choice != NULL; choice++) {
            if (rows[i].id == LS_SETTING_CONTROL && ls_control_find(*choice) == NULL)
                g_error("no control %s", *choice);
            g_autofree char *text = g_strdup_printf("%s=%s", rows[i].name, *choice);
            if (strstr(*choice, " to ") == NULL)
                g_assert_cmpint(load(text).numbers[rows[i].id], ==, choice - choices);
        }
    }
}

#define FIFTY "a-name-that-is-fifty-bytes-long-as-one-can-counts."

static void
test_refusals(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"cycle_time_ms=fast",
         "setting cycle_time_ms: 'fast' from the options is not milliseconds"},
        {"cycle_time_ms=", "cycle_time_ms: ''"},
        {"cycle_time_ms=-1", "cycle_time_ms: '-1'"},
        {"cycle_time_ms=1.2.3", "'1.2.3'"},
        {"cycle_time_ms=99999999999999999999", "cycle_time_ms"},
        {"fusion_threshold_bytes=1.5", "is not bytes"},
        {"fusion_threshold_bytes=M", "'M'"},
        {"cycle_start=even", "is not one of event|clock"},
        {"cycle_start=", "cycle_start"},
        {"cycle_start=event|clock", "cycle_start"},
        {"speed=9", "there is no setting 'speed'"},
        {"cycle_time_ms", "name=value was expected"},
        {"cache_capacity=1.5", "is not a whole number"},
        {"tree_radix=two", "tree_radix"},
        {"tree_radix=4294967298",
         "setting tree_radix: '4294967298' from the options is not a whole "
         "number from 0 to 1000000"},
        {"topk_permille=1001", "'1001' from the options is not a whole number from 1 to 1000"},
        {"topk_permille=0", "topk_permille"},
        {"group_slices=0", "from 1 to 1000000"},
        {"cycle_time_ms=1000000000001", "is not milliseconds from 0 to 1000000000000"},
        {"linger_ms=1000000000000.000001", "linger_ms"},
        {"stall_limit_s=1000000001", "is not seconds from 0 to 1000000000"},
        {"fusion_threshold_bytes=1048577G", "is not bytes from 0 to 1048576G"},
        {"plane=rings", "is not one of auto|self|shared|mpi|ring|"},
        {"control=", "is not one of coordinator|bitvector|tree"},
        {"grouping=colour", "is not one of auto|none|lists|layer|slices|bytes|depth|file"},
        {"groups=//" FIFTY "/" FIFTY "/" FIFTY "/" FIFTY "/" FIFTY, "groups"}, /* 256 bytes */
    };
    clear_environment();
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LsSettings settings;
        g_assert_cmpint(ls_settings_load(cases[i].text, &settings), ==, LOCKSTEP_ERR_SETTINGS);
        if (strstr(ls_failure_text(), cases[i].part) == NULL)
            g_error("%s: %s", cases[i].text, ls_failure_text());
    }
    g_setenv("LOCKSTEP_CYCLE_TIME_MS", "soon", TRUE);
    LsSettings settings;
    g_assert_cmpint(ls_settings_load(NULL, &settings), ==, LOCKSTEP_ERR_SETTINGS);
    g_assert_nonnull(strstr(ls_failure_text(), "LOCKSTEP_CYCLE_TIME_MS"));
    clear_environment();
}

static void
test_digest(void)
{
    clear_environment();
    LsSettings usual = load(NULL),
               same = load("cycle_time_ms=1.000;fusion_threshold_bytes=131072K");
    LsSettings time = load("cycle_time_ms=1.000001"), plane = load("plane=mpi");
    LsSettings own = load("linger_ms=1;host=here");
    g_assert_cmphex(ls_settings_digest(&usual), ==, ls_settings_digest(&same));
    g_assert_cmphex(ls_settings_digest(&usual), ==, ls_settings_digest(&own));
    g_assert_cmphex(ls_settings_digest(&usual), !=, ls_settings_digest(&time));
    g_assert_cmphex(ls_settings_digest(&usual), !=, ls_settings_digest(&plane));
    g_assert_cmpint(ls_settings_differ(&usual, &same), ==, LS_N_SETTINGS);
    g_assert_cmpint(ls_settings_differ(&usual, &own), ==, LS_N_SETTINGS);
    g_assert_cmpint(ls_settings_differ(&usual, &time), ==, LS_SETTING_CYCLE_TIME_MS);
    g_assert_cmpint(ls_settings_differ(&usual, &plane), ==, LS_SETTING_PLANE);
    g_assert_cmpstr(ls_setting_name(LS_SETTING_PLANE), ==, "plane");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/settings/defaults", test_defaults);
    g_test_add_func("/reduce/settings/precedence", test_precedence);
    g_test_add_func("/reduce/settings/values", test_values);
    g_test_add_func("/reduce/settings/ranges", test_ranges);
    g_test_add_func("/reduce/settings/refusals", test_refusals);
    g_test_add_func("/reduce/settings/digest", test_digest);
    return g_test_run();
}
