/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/names.c: a roster that owns what it keeps, and its text.
 */
#include "reduce/names.h"

#include <stdlib.h>
#include <string.h>

LsName *
ls_names_find(const LsNames *names, const char *text)
{
    return (LsName *)ls_roster_find(&names->roster, text);
}

LsName *
ls_names_add(LsNames *names, const char *text)
{
    LsName *name = ls_names_find(names, text);
    if (name != NULL)
        return name;
    size_t size = strlen(text) + 1;
    name = calloc(1, sizeof *name + size);
    if (name == NULL)
        return NULL;
    memcpy(name->text, text, size);
    name->item.name = name->text;
    if (ls_roster_add(&names->roster, &name->item))
        return name;
    free(name);
    return NULL;
}

void
ls_names_clear(LsNames *names)
{
    while (names->roster.first != NULL) {
        LsName *name = (LsName *)names->roster.first;
        ls_roster_remove(&names->roster, &name->item);
        free(name->residuals[0]);
        free(name->residuals[1]);
        free(name);
    }
}
