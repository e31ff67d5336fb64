/* SPDX-License-Identifier: Apache-2.0
 * tracer/record-flight.h: `lockstep record --dump RUN`. */
#pragma once

/* Asks all ranks that record into the folder to freeze, and waits until one has answered. Returns
 * an exit status. */
int ls_record_dump(const char *folder);
