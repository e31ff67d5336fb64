/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that the process has loaded already is taken by RTLD_NOLOAD first, under each of its
 * names: only where there is none is one loaded.
 */
#include "abi/library.h"

#include <dlfcn.h>
#include <features.h>
#include <string.h>

/* As capture/compat.h: on glibc before 2.34 these live in libdl under their first version. A
 * library built today must load there. */
#if defined(__GLIBC__) && !defined(LS_PLAIN_SYMBOLS) && defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__GLIBC__) && !defined(LS_PLAIN_SYMBOLS) && defined(__aarch64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif

void *
ls_abi_open(const char *const *names)
{
    static const int flags[] = {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL};
    for (size_t pass = 0; pass < sizeof flags / sizeof flags[0]; pass++) {
        for (size_t i = 0; names[i] != NULL; i++) {
            void *library = dlopen(names[i], flags[pass]);
            if (library != NULL)
                return library;
        }
    }
    return NULL;
}

const char *
ls_abi_load(void *library, const LsAbiSymbol *symbols, size_t n, void *ret_functions)
{
    const char *missing = NULL;
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, symbols[i].name);
        memcpy((char *)ret_functions + symbols[i].offset, &function, sizeof function);
        if (function == NULL && !symbols[i].is_optional && missing == NULL)
            missing = symbols[i].name;
    }
    return missing;
}
