/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/control.c: the table of controls.
 */
#include "reduce/control.h"

#include <string.h>

static const LsControlClass *const classes[] = {&ls_control_coordinator, &ls_control_bitvector,
                                                &ls_control_tree};

const LsControlClass *
ls_control_find(const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i]->name, name) == 0)
            return classes[i];
    return NULL;
}
