/* SPDX-License-Identifier: Apache-2.0
 * base/units.c: numbers with units to text and back. Integers throughout: a unit is chosen so that
 * three significant digits show, and the one rounding is half up. */
#include "base/units.h"

#include <string.h>

typedef struct Unit {
    const char *name;
    uint64_t factor;
} Unit;

static const Unit time_units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
static const Unit byte_units[] = {
    {"B", 1},           {"kB", 1000},          {"MB", 1000000},
    {"GB", 1000000000}, {"TB", 1000000000000}, {"PB", 1000000000000000}};

/* value in units of `factor`, with as many decimals as make three digits; factor is 1 or a multiple
 * of 1000. *ret_whole tells whether it rounded up to 1000 units. */
static void
format_scaled(uint64_t value, uint64_t factor, char text[32], bool *ret_over)
{
    uint64_t whole = value / factor;
    unsigned decimals = factor == 1 || whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    uint64_t power = decimals == 0 ? 1 : decimals == 1 ? 10 : 100;
    uint64_t step = factor / power;
    uint64_t rounded = value / step + (value % step * 2 >= step && step > 1 ? 1 : 0);
    if (decimals > 0 && rounded >= 1000) { /* 9.996 became 10.00: one digit too many */
        rounded /= 10;
        power /= 10;
        decimals--;
    }
    *ret_over = decimals == 0 && rounded >= 1000;
    if (decimals == 0)
        g_snprintf(text, 32, "%" G_GUINT64_FORMAT, rounded);
    else
        g_snprintf(text, 32, "%" G_GUINT64_FORMAT ".%0*" G_GUINT64_FORMAT, rounded / power,
                   (int)decimals, rounded % power);
}

static char *
format_units(int64_t value, const Unit *units, size_t n_units, const char *suffix)
{
    uint64_t size = value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
    size_t unit = 0;
    while (unit + 1 < n_units && size >= units[unit + 1].factor)
        unit++;
    char text[32];
    bool over;
    format_scaled(size, units[unit].factor, text, &over);
    if (over && unit + 1 < n_units) {
        unit++;
        format_scaled(units[unit].factor, units[unit].factor, text, &over);
    }
    return g_strdup_printf("%s%s %s%s", value < 0 ? "-" : "", text, units[unit].name, suffix);
}

char *
ls_format_ns(int64_t ns)
{
    return format_units(ns, time_units, G_N_ELEMENTS(time_units), "");
}

char *
ls_format_bytes(int64_t bytes)
{
    return format_units(bytes, byte_units, G_N_ELEMENTS(byte_units), "");
}

char *
ls_format_rate(double bytes_per_s)
{
    double limited = CLAMP(bytes_per_s, -9e18, 9e18);
    int64_t whole = (int64_t)(limited < 0 ? limited - 0.5 : limited + 0.5);
    return format_units(whole, byte_units, G_N_ELEMENTS(byte_units), "/s");
}

/* A decimal number as digits * 10^exponent; false if the text is not one. */
typedef struct Decimal {
    uint64_t digits;
    int exponent;
    bool negative;
} Decimal;

static bool
parse_exponent(const char *at, const char *end, int *ret_exponent)
{
    bool negative = false;
    if (at < end && (*at == '+' || *at == '-'))
        negative = *at++ == '-';
    if (at == end)
        return false;
    int exponent = 0;
    for (; at < end; at++) {
        if (!g_ascii_isdigit(*at))
            return false;
        exponent = MIN(exponent * 10 + (*at - '0'), 100000);
    }
    *ret_exponent = negative ? -exponent : exponent;
    return true;
}

static bool
parse_decimal(const char *at, const char *end, Decimal *ret_decimal)
{
    /* Today's microseconds since 1970 have 16 digits, and three decimals make nanoseconds. */
    const uint64_t limit = UINT64_MAX / 10 - 1;
    Decimal decimal = {0};
    bool point = false, any = false;
    if (at < end && (*at == '-' || *at == '+'))
        decimal.negative = *at++ == '-';
    for (; at < end && (*at == '.' || g_ascii_isdigit(*at)); at++) {
        if (*at == '.') {
            if (point)
                return false;
            point = true;
            continue;
        }
        any = true;
        bool kept = decimal.digits < limit;
        if (kept)
            decimal.digits = decimal.digits * 10 + (uint64_t)(*at - '0');
        decimal.exponent += (kept ? 0 : 1) - (point ? 1 : 0);
    }
    if (!any)
        return false;
    if (at < end) {
        int exponent;
        if ((*at != 'e' && *at != 'E') || !parse_exponent(at + 1, end, &exponent))
            return false;
        decimal.exponent += exponent;
    }
    *ret_decimal = decimal;
    return true;
}

/* A number of units of 10^power ns. */
static bool
parse_scaled(const char *text, size_t length, int power_of_ns, int64_t *ret_ns)
{
    Decimal decimal;
    if (!parse_decimal(text, text + length, &decimal))
        return false;
    uint64_t ns = decimal.digits;
    int exponent = decimal.exponent + power_of_ns;
    for (; exponent > 0 && ns > 0; exponent--) {
        if (ns > (uint64_t)INT64_MAX / 10)
            return false;
        ns *= 10;
    }
    if (exponent < -18)
        ns = 0;
    else if (exponent < 0) {
        uint64_t power = 1;
        for (; exponent < 0; exponent++)
            power *= 10;
        ns = ns / power + (ns % power * 2 >= power ? 1 : 0);
    }
    if (ns > (uint64_t)INT64_MAX)
        return false;
    *ret_ns = decimal.negative ? -(int64_t)ns : (int64_t)ns;
    return true;
}

bool
ls_parse_us(const char *text, size_t length, int64_t *ret_ns)
{
    return parse_scaled(text, length, 3, ret_ns);
}

bool
ls_parse_time(const char *text, int64_t *ret_ns)
{
    static const struct {
        const char *name;
        int power;
    } units[] = {{"ns", 0}, {"us", 3}, {"µs", 3}, {"ms", 6}, {"s", 9}, {"", 9}};
    size_t i = 0;
    while (!g_str_has_suffix(text, units[i].name))
        i++;
    size_t length = strlen(text) - strlen(units[i].name);
    if (length > 0 && text[length - 1] == ' ')
        length--;
    return parse_scaled(text, length, units[i].power, ret_ns);
}
