/* SPDX-License-Identifier: Apache-2.0
 * base/error.c: the error domain; the codes and their use are in error.h. */
#include "base/error.h"

G_DEFINE_QUARK(ls - error - quark, ls_error)
