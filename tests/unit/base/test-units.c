/* SPDX-License-Identifier: Apache-2.0
 * Numbers to text and back. */
#include "base/units.h"

#include <string.h>

static void
check_ns(int64_t ns, const char *expected)
{
    g_autofree char *text = ls_format_ns(ns);
    g_assert_cmpstr(text, ==, expected);
}

static void
test_time_has_three_digits(void)
{
    check_ns(0, "0 ns");
    check_ns(999, "999 ns");
    check_ns(1000, "1.00 us");
    check_ns(340000, "340 us");
    check_ns(23 * 1000000, "23.0 ms");
    check_ns(201 * 1000000, "201 ms");
    check_ns(1240 * INT64_C(1000000), "1.24 s");
    check_ns(-1240 * INT64_C(1000000), "-1.24 s");
    check_ns(INT64_C(86400000000000), "86400 s");
}

static void
test_rounding_carries(void)
{
    check_ns(999499, "999 us");
    check_ns(999500, "1.00 ms");
    check_ns(9994, "9.99 us");
    check_ns(9996, "10.0 us");
    check_ns(99960, "100 us");
    check_ns(INT64_MAX, "9223372037 s");
    check_ns(INT64_MIN, "-9223372037 s");
}

static void
test_bytes_and_rates(void)
{
    g_autofree char *bytes = ls_format_bytes(15600000);
    g_autofree char *rate = ls_format_rate(1.25e9);
    g_autofree char *huge = ls_format_rate(1e30);
    g_assert_cmpstr(bytes, ==, "15.6 MB");
    g_assert_cmpstr(rate, ==, "1.25 GB/s");
    g_assert_true(g_str_has_suffix(huge, " PB/s"));
}

static void
check_us(const char *text, int64_t expected)
{
    int64_t ns = -1;
    g_assert_true(ls_parse_us(text, strlen(text), &ns));
    g_assert_cmpint(ns, ==, expected);
}

static void
test_microseconds_are_exact(void)
{
    check_us("12.345", 12345);
    check_us("0", 0);
    check_us("-7", -7000);
    check_us("1.5e3", 1500000);
    check_us("15E-1", 1500);
    check_us("1410000000000.001", INT64_C(1410000000000001));
    check_us("1713541139000005.661", INT64_C(1713541139000005661)); /* 19 digits */
    check_us("1713541139000005.6614", INT64_C(1713541139000005661));
    check_us("9223372036854775.807", INT64_MAX);
    check_us("0.0004", 0);
    check_us("0.0005", 1);
    check_us("811640625000", INT64_C(811640625000000));
    check_us("9223372036854775", INT64_C(9223372036854775000));
    check_us("1.00000000000000000000000000", 1000);
    check_us("0e99999999999", 0);
}

static void
test_what_is_no_number_is_refused(void)
{
    const char *bad[] = {
        "", "-", ".", "1.2.3", "abc", "1e", "1e+", "12 ", "0x10", "9e30", "99999999999999999999"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        int64_t ns = 42;
        g_assert_false(ls_parse_us(bad[i], strlen(bad[i]), &ns));
        g_assert_cmpint(ns, ==, 42);
    }
}

static void
test_times_carry_their_unit(void)
{
    const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"12.5ms", 12500000}, {"300us", 300000},      {"300 µs", 300000},
                {"1.2s", 1200000000}, {"2", 2000000000},      {"-5ms", -5000000},
                {"7ns", 7},           {"1e3s", 1000000000000}};
    const char *bad[] = {"",    "s",   " ",      "nan",   "inf",
                         "ms5", "5 m", "0x1p3s", "1s:2s", "999999999999999s"};
    int64_t ns;
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_assert_true(ls_parse_time(good[i].text, &ns));
        g_assert_cmpint(ns, ==, good[i].ns);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        ns = 42;
        g_assert_false(ls_parse_time(bad[i], &ns));
        g_assert_cmpint(ns, ==, 42);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/units/time-has-three-digits", test_time_has_three_digits);
    g_test_add_func("/base/units/rounding-carries", test_rounding_carries);
    g_test_add_func("/base/units/bytes-and-rates", test_bytes_and_rates);
    g_test_add_func("/base/units/microseconds-are-exact", test_microseconds_are_exact);
    g_test_add_func("/base/units/what-is-no-number-is-refused", test_what_is_no_number_is_refused);
    g_test_add_func("/base/units/times-carry-their-unit", test_times_carry_their_unit);
    return g_test_run();
}
