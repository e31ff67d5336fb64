/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/cupti-buffer.h: the memory that CUPTI fills: zeroed before it is handed out, bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void ls_cupti_buffer_open(uint32_t cupti_version);
/* May run on a thread of the host: short. NULL, where CUPTI can take that: there is none left. */
void ls_cupti_buffer_take(uint8_t **ret_buffer, size_t *ret_size);
/* Since when CUPTI has had it, on the recorder's clock; INT64_MAX: it is another tool's. */
int64_t ls_cupti_buffer_taken_ns(const uint8_t *buffer);
/* It has been read; `valid` bytes of it are not zero any more. */
void ls_cupti_buffer_give(uint8_t *buffer, size_t valid);
/* One that all share, for a CUPTI that cannot take a no: what is in it does not count. */
bool ls_cupti_buffer_is_scratch(const uint8_t *buffer);
/* Requests refused since the last call. */
uint64_t ls_cupti_buffer_refused(void);
