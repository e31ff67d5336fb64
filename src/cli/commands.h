/* SPDX-License-Identifier: Apache-2.0
 * cli/commands.h: the rows of the table of commands in main.c. */
#pragma once

#include "cli/cmd.h"

extern const LsCmd ls_cmd_record;
extern const LsCmd ls_cmd_view;
extern const LsCmd ls_cmd_report;
extern const LsCmd ls_cmd_info;
extern const LsCmd ls_cmd_check;
extern const LsCmd ls_cmd_settings;
extern const LsCmd ls_cmd_render; /* where Cairo is */
