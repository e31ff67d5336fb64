/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/agree.h: at init, either all ranks go on or all return the same status and sentence.
 *
 * Collective. Success costs one AND of a few words each.
 */
#pragma once

#include "reduce/settings.h"
#include "reduce/transport.h"

/* status: this rank's, its sentence in reduce/failure.h. Where ranks fail, every rank returns the
 * status of the lowest of them, its sentence headed by its rank. */
lockstep_status ls_agree(LsTransport *transport, lockstep_status status);

/* As ls_agree, and then whether this word is the same on all ranks. */
lockstep_status ls_agree_word(LsTransport *transport, uint64_t word, const char *what,
                              lockstep_status status);

/* As ls_agree, and then compares the settings that must be the same: the sentence names the first
 * that is not, and both values. settings is read only where status is LOCKSTEP_OK. */
lockstep_status ls_agree_settings(LsTransport *transport, const LsSettings *settings,
                                  lockstep_status status);
