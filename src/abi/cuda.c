/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver has one SONAME in all its versions. Every function of the list has been there under
 * this name since CUDA 12; dlsym finds it without asking the driver for a version.
 */
#include "abi/cuda.h"

#include "abi/library.h"

static const LsAbiSymbol symbols[] = {
#define LS_ABI_FUNCTION(name, arguments) {#name, offsetof(LsCuda, name), false},
    LS_CUDA_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
};

const char *
ls_cuda_load(LsCuda *ret_cuda)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    void *library = ls_abi_open(names);
    if (library == NULL)
        return "libcuda.so.1 is not there";
    return ls_abi_load(library, symbols, sizeof symbols / sizeof symbols[0], ret_cuda);
}
