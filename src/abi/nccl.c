/* SPDX-License-Identifier: Apache-2.0
 *
 * ncclCommSplit came with 2.18 and is optional; all else is older than any NCCL that is in use.
 */
#include "abi/nccl.h"

#include <string.h>

#include "abi/library.h"

static const LsAbiSymbol symbols[] = {
#define LS_ABI_FUNCTION(name, arguments) {#name, offsetof(LsNccl, name), false},
    LS_NCCL_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
        {"ncclGetErrorString", offsetof(LsNccl, ncclGetErrorString), false},
};

const char *
ls_nccl_load(LsNccl *ret_nccl)
{
    static const char *const names[] = {"libnccl.so.2", NULL};
    void *library = ls_abi_open(names, NULL);
    if (library == NULL)
        return "libnccl.so.2 is not there";
    const char *missing =
        ls_abi_load(library, symbols, sizeof symbols / sizeof symbols[0], ret_nccl);
    return missing != NULL && strcmp(missing, "ncclCommSplit") == 0 ? NULL : missing;
}

size_t
ls_nccl_type_bytes(int type)
{
    static const unsigned char bytes[LS_NCCL_N_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < LS_NCCL_N_TYPES ? bytes[type] : 0;
}
