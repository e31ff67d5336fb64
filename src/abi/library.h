/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/library.h: a foreign library by dlopen, its functions into a struct of pointers.
 *
 * A struct of functions is a list of LS_ABI_FUNCTION lines; the table of their names and places is
 * made from the same list, so that the two cannot differ.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct LsAbiSymbol {
    const char *name;
    size_t offset; /* of the pointer in the struct */
    bool is_optional;
} LsAbiSymbol;

/* Opens the first of `names` (ended by NULL) that is already loaded, else the first that loads;
 * NULL: none. Two copies of one library in a process are what this order avoids. */
void *ls_abi_open(const char *const *names);

/* Fills the struct; what is missing stays NULL. Returns the name of the first function that is
 * missing and not optional, NULL: none is. */
const char *ls_abi_load(void *library, const LsAbiSymbol *symbols, size_t n, void *ret_functions);
