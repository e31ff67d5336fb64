/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/own.h: a thread's own variable, found once.
 *
 * Our libraries may be loaded late, so that the place of what is thread-local is asked of the
 * loader by a call. Compilers take that place for a constant and ask anew at each use: the hot
 * paths ask once and go on with an address that the compiler knows nothing of.
 */
#pragma once

static inline void *
ls_own(void *own)
{
    __asm__("" : "+r"(own));
    return own;
}
