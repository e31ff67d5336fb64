/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/plane-halving.c: recursive halving, then doubling, for any number of ranks.
 *
 * As Gloo's halving-doubling: the ranks are cut into blocks that are powers of two, the largest
 * first (13 = 8 + 4 + 1). Within a block each step exchanges half of what is left with a partner
 * and reduces it, until a rank of a block of s holds 1/s (Rabenseifner, 2004). Blocks then pass
 * their parts on to the next larger one, whose ranks hold finer parts of the same cut; from the
 * largest the result comes back the same way, and doubling spreads it in each block. 2 lg P steps
 * where P is a power of two; small blocks wait for large ones else (facts: seeds 3).
 */
#include "reduce/plane-peers.h"

typedef struct Part {
    int64_t first, end;
} Part;

typedef struct HalvingPlane {
    LsPeersPlane base;
    int first, size;     /* this rank's block: its lowest rank, how many */
    int smaller, larger; /* sizes of the neighbours in the order of blocks; 0: none */
} HalvingPlane;

static lockstep_status
halving_open(const LsPlaneConfig *config, LsPlane **ret_plane)
{
    lockstep_status status =
        ls_peers_plane_new(&ls_plane_halving, config, sizeof(HalvingPlane), ret_plane);
    if (status != LOCKSTEP_OK)
        return status;
    HalvingPlane *plane = (HalvingPlane *)*ret_plane;
    int left = plane->base.peers.ranks, first = 0;
    for (int size = 1 << 30; size > 0; size /= 2) {
        if ((left & size) == 0)
            continue;
        if (plane->size != 0) {
            plane->smaller = size;
            break;
        }
        if (plane->base.peers.rank < first + size) {
            plane->first = first;
            plane->size = size;
        } else {
            plane->larger = size;
        }
        first += size;
    }
    return status;
}

/* What rank `index` of a block of `size` holds after halving; parts of a larger block lie inside
 * those of a smaller one. */
static Part
part_of(int64_t count, int size, int index)
{
    Part part = {0, count};
    for (int bit = size / 2; bit > 0; bit /= 2) {
        int64_t middle = part.first + (part.end - part.first) / 2;
        if ((index & bit) != 0)
            part.first = middle;
        else
            part.end = middle;
    }
    return part;
}

static void *
at(void *data, int64_t element, LsFold fold)
{
    return (char *)data + (size_t)element * fold.width;
}

/* Distances size / 2 ... 1: the partner's half goes out, our half comes in. */
static lockstep_status
halve(HalvingPlane *plane, void *data, int64_t count, LsFold fold)
{
    LsPeers *peers = &plane->base.peers;
    int index = peers->rank - plane->first;
    lockstep_status status = LOCKSTEP_OK;
    for (int bit = plane->size / 2; bit > 0 && status == LOCKSTEP_OK; bit /= 2) {
        int partner = plane->first + (index ^ bit), cuts = plane->size / bit;
        Part mine = part_of(count, cuts, index / bit);
        Part theirs = part_of(count, cuts, (index ^ bit) / bit);
        status =
            ls_peers_fold(peers, at(data, theirs.first, fold), theirs.end - theirs.first, partner,
                          at(data, mine.first, fold), mine.end - mine.first, partner, fold);
    }
    return status;
}

static lockstep_status
double_up(HalvingPlane *plane, void *data, int64_t count, LsFold fold)
{
    LsPeers *peers = &plane->base.peers;
    int index = peers->rank - plane->first;
    lockstep_status status = LOCKSTEP_OK;
    for (int bit = 1; bit < plane->size && status == LOCKSTEP_OK; bit *= 2) {
        int partner = plane->first + (index ^ bit), cuts = plane->size / bit;
        Part mine = part_of(count, cuts, index / bit);
        Part theirs = part_of(count, cuts, (index ^ bit) / bit);
        status = ls_peers_swap(peers, at(data, mine.first, fold),
                               (size_t)(mine.end - mine.first) * fold.width, partner,
                               at(data, theirs.first, fold),
                               (size_t)(theirs.end - theirs.first) * fold.width, partner);
    }
    return status;
}

/* Between this block and the next smaller one: our part comes in to be reduced, or goes out. */
static lockstep_status
deal_with_smaller(HalvingPlane *plane, void *data, int64_t count, bool receives, LsFold fold)
{
    int index = plane->base.peers.rank - plane->first;
    int partner = plane->first + plane->size + index / (plane->size / plane->smaller);
    Part part = part_of(count, plane->size, index);
    void *own = at(data, part.first, fold);
    if (receives)
        return ls_peers_fold(&plane->base.peers, NULL, 0, partner, own, part.end - part.first,
                             partner, fold);
    return ls_peers_swap(&plane->base.peers, own, (size_t)(part.end - part.first) * fold.width,
                         partner, NULL, 0, partner);
}

/* Between this block and the next larger one, several of whose ranks hold parts of ours. */
static lockstep_status
deal_with_larger(HalvingPlane *plane, void *data, int64_t count, bool receives, LsFold fold)
{
    int index = plane->base.peers.rank - plane->first, fan = plane->larger / plane->size;
    lockstep_status status = LOCKSTEP_OK;
    for (int i = index * fan; i < (index + 1) * fan && status == LOCKSTEP_OK; i++) {
        int partner = plane->first - plane->larger + i;
        Part part = part_of(count, plane->larger, i);
        void *piece = at(data, part.first, fold);
        size_t bytes = (size_t)(part.end - part.first) * fold.width;
        status = ls_peers_swap(&plane->base.peers, piece, receives ? 0 : bytes, partner, piece,
                               receives ? bytes : 0, partner);
    }
    return status;
}

static lockstep_status
halving_allreduce(LsPlane *base, const void *input, void *output, int64_t count,
                  lockstep_dtype dtype, lockstep_op op)
{
    HalvingPlane *plane = (HalvingPlane *)base;
    LsFold fold = ls_fold_of(dtype, op);
    if (count == 0)
        return LOCKSTEP_OK;
    ls_peers_plane_copy(input, output, count, dtype);
    lockstep_status status = halve(plane, output, count, fold);
    if (status == LOCKSTEP_OK && plane->smaller > 0)
        status = deal_with_smaller(plane, output, count, true, fold);
    if (status == LOCKSTEP_OK && plane->larger > 0)
        status = deal_with_larger(plane, output, count, false, fold);
    if (status == LOCKSTEP_OK && plane->larger > 0)
        status = deal_with_larger(plane, output, count, true, fold);
    if (status == LOCKSTEP_OK && plane->smaller > 0)
        status = deal_with_smaller(plane, output, count, false, fold);
    if (status == LOCKSTEP_OK)
        status = double_up(plane, output, count, fold);
    return status;
}

const LsPlaneClass ls_plane_halving = {
    .name = "halving",
    .allreduce_text = "HALVING_ALLREDUCE",
    .broadcast_text = "MPI_BCAST",
    .allgather_text = "RING_ALLGATHER",
    .reduce_scatter_text = "RING_REDUCESCATTER",
    .fits = ls_peers_plane_fits,
    .open = halving_open,
    .close = ls_peers_plane_close,
    .allreduce = halving_allreduce,
    .broadcast = ls_peers_plane_broadcast,
    .allgather = ls_peers_plane_allgather,
    .reduce_scatter = ls_peers_plane_reduce_scatter,
    .alltoall = ls_peers_plane_alltoall,
};
