/* SPDX-License-Identifier: Apache-2.0
 *
 * What launchers' variables tell of hosts: whether there are others, which is the first of them.
 */
#include "tracer/record-sync-private.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t
read_number(const char *variable)
{
    int64_t number;
    const char *text = getenv(variable);
    return text != NULL && ls_parse_number(text, &number) ? number : -1;
}

/* What launchers say of hosts: ranks of the job and of this host, or the number of hosts. */
LsSyncOthers
ls_sync_find_others(const LsIdentity *identity)
{
    static const char *const sizes[][2] = {
        {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"HOROVOD_SIZE", "HOROVOD_LOCAL_SIZE"},
        {"WORLD_SIZE", "LOCAL_WORLD_SIZE"},
        {"PMI_SIZE", "MPI_LOCALNRANKS"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t all = read_number(sizes[i][0]), here = read_number(sizes[i][1]);
        if (all > 0 && here > 0)
            return all > here ? LS_SYNC_OTHERS : LS_SYNC_NO_OTHERS;
    }
    int64_t nodes = read_number("SLURM_STEP_NUM_NODES");
    if (nodes < 0)
        nodes = read_number("SLURM_NNODES");
    if (nodes >= 0)
        return nodes > 1 ? LS_SYNC_OTHERS : LS_SYNC_NO_OTHERS;
    if (identity->world == 1)
        return LS_SYNC_NO_OTHERS;
    return identity->has_job || identity->rank >= 0 ? LS_SYNC_PERHAPS : LS_SYNC_NO_OTHERS;
}

/* As the user says; or, with a key that hosts can have in common without the folder, the job's
 * first node under Slurm and a port made of the job's id. */
void
ls_sync_choose_place(const LsRecordOptions *options, const LsIdentity *identity, char *ret_place,
                     size_t size)
{
    char node[LS_AREA_NAME_MAX];
    const char *list = getenv("SLURM_STEP_NODELIST");
    uint32_t hash = 2166136261u;
    ret_place[0] = '\0';
    if (list == NULL)
        list = getenv("SLURM_JOB_NODELIST");
    if (options->sync != NULL) {
        snprintf(ret_place, size, "%s", options->sync);
    } else if (options->sync_key != NULL && list != NULL && ls_sync_place_first_node(list, node)) {
        for (const char *at = identity->run_id; *at != '\0'; at++)
            hash = (hash ^ (uint8_t)*at) * 16777619u;
        snprintf(ret_place, size, "%s:%u", node, 20000 + hash % 10000);
    }
}
