/* SPDX-License-Identifier: Apache-2.0
 * tracer/record-pack.h: `lockstep-record pack RUN -o FILE [--step A:B] [--rank LIST]`. */
#pragma once

/* argv[0] is "pack". Returns an exit status. */
int ls_record_pack(int argc, char **argv);
