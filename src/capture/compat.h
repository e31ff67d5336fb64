/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/compat.h: keeps a library built on a new system loadable on an old one.
 *
 * A library that asks for an absent symbol version does not merely fail: the program that preloads
 * it does not start. glibc 2.34 moved the thread functions into libc under a new version and kept
 * the old; we bind to the old. Builds under a sanitizer define LS_PLAIN_SYMBOLS, since its
 * interceptors stand behind the plain name.
 */
#pragma once

#include <features.h>

#if defined(__GLIBC__) && !defined(LS_PLAIN_SYMBOLS)
#if defined(__x86_64__)
#define LS_GLIBC_FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define LS_GLIBC_FIRST "GLIBC_2.17"
#endif
#endif

/* LS_BIND_SINCE: for a function that came to x86-64 after the first glibc there. */
#ifdef LS_GLIBC_FIRST
#define LS_BIND_OLD(name) __asm__(".symver " #name "," #name "@" LS_GLIBC_FIRST)
#ifdef __x86_64__
#define LS_BIND_SINCE(name, version) __asm__(".symver " #name "," #name "@" version)
#else
#define LS_BIND_SINCE(name, version) LS_BIND_OLD(name)
#endif
#else
#define LS_BIND_OLD(name)            _Static_assert(1, "")
#define LS_BIND_SINCE(name, version) _Static_assert(1, "")
#endif
