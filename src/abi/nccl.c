/* SPDX-License-Identifier: Apache-2.0
 *
 * What came after 2.13 is optional; all else is older than any NCCL that is in use.
 */
#include "abi/nccl.h"

#include "abi/library.h"

static const LsAbiSymbol symbols[] = {
#define LS_ABI_FUNCTION(name, arguments) {#name, offsetof(LsNccl, name), false},
    LS_NCCL_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
#define LS_ABI_FUNCTION(name, arguments) {#name, offsetof(LsNccl, name), true},
        LS_NCCL_NEWER(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
            {"ncclGetErrorString", offsetof(LsNccl, ncclGetErrorString), false},
    {"ncclGetLastError", offsetof(LsNccl, ncclGetLastError), true},
};

const char *
ls_nccl_load(LsNccl *ret_nccl)
{
    static const char *const names[] = {"libnccl.so.2", NULL};
    void *library = ls_abi_open(names);
    if (library == NULL)
        return "libnccl.so.2 is not there";
    return ls_abi_load(library, symbols, sizeof symbols / sizeof symbols[0], ret_nccl);
}

size_t
ls_nccl_type_bytes(int type)
{
    static const unsigned char bytes[LS_NCCL_N_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < LS_NCCL_N_TYPES ? bytes[type] : 0;
}
