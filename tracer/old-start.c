/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets a program built on a new system start on an old one. glibc 2.34 gave the function that
 * starts a program a new version and left the running of constructors to it; the one before needs
 * to be told of them. The linker (--wrap=__libc_start_main) sends the start here.
 */
#include "capture/compat.h"

#ifdef LS_GLIBC_FIRST
typedef int (*LsMain)(int, char **, char **);
typedef void (*LsInit)(int, char **, char **);

int __wrap___libc_start_main(LsMain main, int argc, char **argv, LsInit init, void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);
extern int start_old(LsMain main, int argc, char **argv, LsInit init, void (*fini)(void),
                     void (*rtld_fini)(void), void *stack_end);
__asm__(".symver start_old,__libc_start_main@" LS_GLIBC_FIRST);

extern const LsInit __init_array_start[], __init_array_end[];

static void
construct(int argc, char **argv, char **environment)
{
    for (const LsInit *at = __init_array_start; at < __init_array_end; at++)
        (*at)(argc, argv, environment);
}

int
__wrap___libc_start_main(LsMain main, int argc, char **argv, LsInit init_unused, void (*fini)(void),
                         void (*rtld_fini)(void), void *stack_end)
{
    return start_old(main, argc, argv, construct, fini, rtld_fini, stack_end);
}
#endif
