/* SPDX-License-Identifier: Apache-2.0
 *
 * The copy that a framework has brought along is taken first: two in one process disturb each
 * other. CUDA 11 had the minor version in the SONAME.
 */
#include "abi/cupti.h"

#include "abi/library.h"

static const LsAbiSymbol symbols[] = {
#define LS_ABI_FUNCTION(name, arguments, is_optional) {#name, offsetof(LsCupti, name), is_optional},
    LS_CUPTI_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
};

const char *
ls_cupti_load(LsCupti *ret_cupti)
{
    static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                        "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                        "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                        "libcupti.so.11.1", "libcupti.so.11.0", NULL};
    void *library = ls_abi_open(names);
    if (library == NULL)
        return "no libcupti.so of CUDA 11 to 13 is there";
    return ls_abi_load(library, symbols, sizeof symbols / sizeof symbols[0], ret_cupti);
}
