/* SPDX-License-Identifier: Apache-2.0
 *
 * nvmlDeviceGetFieldValues came with driver 384; where a single call is missing the sampler does
 * without it.
 */
#include "abi/nvml.h"

#include "abi/library.h"

static const LsAbiSymbol symbols[] = {
#define LS_ABI_FUNCTION(name, arguments) {#name, offsetof(LsNvml, name), true},
    LS_NVML_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
};

const char *
ls_nvml_load(LsNvml *ret_nvml)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    void *library = ls_abi_open(names);
    if (library == NULL)
        return "libnvidia-ml.so.1 is not there";
    ls_abi_load(library, symbols, sizeof symbols / sizeof symbols[0], ret_nvml);
    return ret_nvml->nvmlInit_v2 == NULL ? "libnvidia-ml.so.1 has no nvmlInit_v2" : NULL;
}
