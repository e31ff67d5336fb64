/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of settings and the clock's double.
 */
#include <glib.h>

#include "capture/clock.h"
#include "capture/settings.h"

static void
test_numbers(void)
{
    int64_t value;
    g_assert_true(ls_parse_number("-17", &value));
    g_assert_cmpint(value, ==, -17);
    g_assert_true(ls_parse_number("9223372036854775807", &value));
    g_assert_cmpint(value, ==, INT64_MAX);
    g_assert_false(ls_parse_number("9223372036854775808", &value));
    g_assert_false(ls_parse_number("", &value));
    g_assert_false(ls_parse_number("-", &value));
    g_assert_false(ls_parse_number("1x", &value));
    g_assert_true(ls_parse_bytes("256M", &value));
    g_assert_cmpint(value, ==, 256 << 20);
    g_assert_true(ls_parse_bytes("64k", &value));
    g_assert_cmpint(value, ==, 65536);
    g_assert_false(ls_parse_bytes("-1", &value));
    g_assert_false(ls_parse_bytes("G", &value));
    g_assert_false(ls_parse_bytes("9999999999G", &value));
}

static void
test_defaults_and_nonsense(void)
{
    LsSettings settings;
    LsSettingText row;
    const char *bad;
    size_t n = 0;
    g_unsetenv("LOCKSTEP_MAX_SIZE");
    ls_settings_load(&settings, &bad);
    g_assert_null(bad);
    g_assert_cmpint(settings.max_size, ==, 256 << 20);
    g_assert_cmpint(settings.drain_ms, ==, 20);
    g_setenv("LOCKSTEP_MAX_SIZE", "much", TRUE);
    ls_settings_load(&settings, &bad);
    g_assert_cmpstr(bad, ==, "LOCKSTEP_MAX_SIZE");
    g_assert_cmpint(settings.max_size, ==, 256 << 20);
    g_setenv("LOCKSTEP_MAX_SIZE", "8M", TRUE);
    ls_settings_load(&settings, &bad);
    g_assert_cmpint(settings.max_size, ==, 8 << 20);
    g_unsetenv("LOCKSTEP_MAX_SIZE");
    for (; ls_settings_format(&settings, n, &row); n++)
        g_assert_true(g_str_has_prefix(row.variable, "LOCKSTEP_") && row.help[0] != '\0');
    g_assert_cmpuint(n, >=, 10);
}

static void
test_clock_double(void)
{
    LsClockReading reading;
    g_assert_true(ls_clock_set_double("5000000000:100000:0"));
    int64_t low = ls_clock_now();
    ls_clock_double.on = false;
    int64_t truth = ls_clock_now();
    /* 100 ppm of the time since boot, and 5 s, within the moment between the two readings. */
    int64_t expected = truth + 5000000000 + truth / 10000;
    g_assert_cmpint(ABS(expected - low), <, 50000000);
    g_assert_false(ls_clock_set_double("five"));
    g_assert_false(ls_clock_double.on);
    ls_clock_pair(&reading);
    g_assert_cmpint(reading.uncertainty_ns, >=, 0);
    g_assert_cmpint(reading.uncertainty_ns, <, 1000000000);
    g_assert_cmpint(reading.realtime_ns, >, INT64_C(1600000000) * 1000000000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/settings/numbers-and-sizes", test_numbers);
    g_test_add_func("/capture/settings/defaults-where-there-is-nonsense",
                    test_defaults_and_nonsense);
    g_test_add_func("/capture/clock/double-shifts-and-drifts", test_clock_double);
    return g_test_run();
}
