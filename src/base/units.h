/* SPDX-License-Identifier: Apache-2.0
 * base/units.h: nanoseconds, bytes and rates to text and back. The only place that rounds. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* "201 ms", "23.0 ms", "340 us", "1.24 s": three significant digits. Caller frees. */
char *ls_format_ns(int64_t ns);
/* "15.6 MB" (decimal units). */
char *ls_format_bytes(int64_t bytes);
/* "800 MB/s", "1.25 GB/s". */
char *ls_format_rate(double bytes_per_s);
/* A number of microseconds as written in a JSON file ("12.345", "1.5e3") to ns, never through a double,
 * rounded half up. false if it is no number or out of range. */
bool ls_parse_us(const char *text, size_t length, int64_t *ret_ns);
/* A time as a person writes it, or as ls_format_ns does: "12.5ms", "300 us", "1.2s"; a plain number
 * is seconds. Exact, as ls_parse_us is. */
bool ls_parse_time(const char *text, int64_t *ret_ns);
