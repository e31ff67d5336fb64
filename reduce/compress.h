/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/compress.h: sums of float32 over ranks in fewer bytes, with the error fed back on both
 * sides (DoubleSqueeze, Tang et al., ICML 2019).
 *
 * Each rank adds to its values what the code left out the last time, encodes them, and sends to
 * each other rank the part that this one sums; which adds what its own code left out, encodes the
 * sum, and sends it to all. What is left out is kept by tensor name and position, so it does not
 * matter what is fused with what. Every rank ends with the same bits.
 */
#pragma once

#include "reduce/plane.h"
#include "reduce/queue.h"
#include "reduce/squeeze.h"

#include <stdbool.h>

typedef struct LsCompressor LsCompressor;

/* rank and ranks are the plane's, which is borrowed. NULL: out of memory. */
LsCompressor *ls_compressor_new(LsPlane *plane, int rank, int ranks, const LsSqueeze *squeeze);
void ls_compressor_free(LsCompressor *compressor);
/* From each entry's input to its output. *ret_wire: bytes of the codes of all of them. */
lockstep_status ls_compressor_allreduce(LsCompressor *compressor, LsEntry *const *entries, size_t n,
                                        bool average, int64_t *ret_wire);
