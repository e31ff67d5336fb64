/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a process is: rank by launcher, host, and a command without its secrets.
 */
#include <glib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/identity.h"
#include "capture/process.h"

static const char *const launcher_variables[] = {"LOCKSTEP_RANK",
                                                 "LOCKSTEP_WORLD",
                                                 "LOCKSTEP_LOCAL_RANK",
                                                 "HOROVOD_RANK",
                                                 "HOROVOD_SIZE",
                                                 "HOROVOD_LOCAL_RANK",
                                                 "RANK",
                                                 "WORLD_SIZE",
                                                 "LOCAL_RANK",
                                                 "DMLC_WORKER_ID",
                                                 "DMLC_NUM_WORKER",
                                                 "OMPI_COMM_WORLD_RANK",
                                                 "OMPI_COMM_WORLD_SIZE",
                                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                                 "PMIX_RANK",
                                                 "PMI_RANK",
                                                 "PMI_SIZE",
                                                 "MPI_LOCALRANKID",
                                                 "SLURM_PROCID",
                                                 "SLURM_NTASKS",
                                                 "SLURM_LOCALID"};

static LsIdentity
load(void)
{
    LsSettings settings;
    LsIdentity identity;
    const char *bad;
    ls_settings_load(&settings, &bad);
    ls_identity_load(&identity, &settings);
    return identity;
}

/* Each launcher set in turn, outermost first, over those before: the innermost wins. */
static void
test_innermost_launcher_wins(void)
{
    static const struct {
        const char *rank, *world, *local;
    } inner_last[] = {
        {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
        {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
        {"PMIX_RANK", NULL, NULL},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
        {"DMLC_WORKER_ID", "DMLC_NUM_WORKER", NULL},
        {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
        {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"},
        {"LOCKSTEP_RANK", "LOCKSTEP_WORLD", "LOCKSTEP_LOCAL_RANK"}};
    for (size_t i = 0; i < G_N_ELEMENTS(launcher_variables); i++)
        g_unsetenv(launcher_variables[i]);
    g_assert_cmpint(load().rank, ==, -1);
    g_assert_cmpint(load().world, ==, -1);
    for (size_t i = 0; i < G_N_ELEMENTS(inner_last); i++) {
        g_autofree char *rank = g_strdup_printf("%zu", i * 3 + 1);
        g_setenv(inner_last[i].rank, rank, TRUE);
        if (inner_last[i].world != NULL)
            g_setenv(inner_last[i].world, "99", TRUE);
        if (inner_last[i].local != NULL)
            g_setenv(inner_last[i].local, "2", TRUE);
        LsIdentity identity = load();
        g_assert_cmpint(identity.rank, ==, (int)i * 3 + 1);
        g_assert_cmpstr(identity.rank_source, ==, inner_last[i].rank);
        g_assert_cmpint(identity.world, ==, inner_last[i].world == NULL ? -1 : 99);
        g_assert_cmpint(identity.local_rank, ==, inner_last[i].local == NULL ? -1 : 2);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(launcher_variables); i++)
        g_unsetenv(launcher_variables[i]);
    g_setenv("RANK", "5", TRUE); /* alone: anyone's variable */
    g_assert_cmpint(load().rank, ==, -1);
    g_unsetenv("RANK");
    g_setenv("PMI_RANK", "x1", TRUE);
    g_assert_cmpint(load().rank, ==, -1);
    g_unsetenv("PMI_RANK");
}

/* Environments as launchers make them, with more than one launcher in most. */
static void
test_ten_environments(void)
{
    static const struct {
        const char *variables;
        int rank, world;
        const char *source;
        const char *job; /* NULL: none */
    } cases[] = {
        /* mpirun of Open MPI */
        {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=3 PMIX_NAMESPACE=77@1", 3, 8,
         "OMPI_COMM_WORLD_RANK", "77@1"},
        /* horovodrun over mpirun: the same order of ranks is not promised */
        {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 HOROVOD_RANK=5 HOROVOD_SIZE=8 "
         "PMIX_NAMESPACE=77@1",
         5, 8, "HOROVOD_RANK", "77@1"},
        /* horovodrun with Gloo */
        {"HOROVOD_RANK=1 HOROVOD_SIZE=4 HOROVOD_GLOO_RENDEZVOUS_ADDR=10.0.0.1 "
         "HOROVOD_GLOO_RENDEZVOUS_PORT=4711",
         1, 4, "HOROVOD_RANK", "10.0.0.1.4711"},
        /* torchrun in one task of srun */
        {"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_ID=500 "
         "SLURM_STEP_ID=2 TORCHELASTIC_RUN_ID=none",
         9, 16, "RANK", "500.2"},
        /* torchrun alone */
        {"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 TORCHELASTIC_RUN_ID=ab12", 0, 2, "RANK", "ab12"},
        /* srun */
        {"SLURM_PROCID=6 SLURM_NTASKS=8 SLURM_LOCALID=2 SLURM_JOB_ID=500 SLURM_STEP_ID=0", 6, 8,
         "SLURM_PROCID", "500.0"},
        /* srun with PMIx: no size */
        {"PMIX_RANK=2 PMIX_NAMESPACE=slurm.pmix.500.0 SLURM_PROCID=2 SLURM_NTASKS=4", 2, -1,
         "PMIX_RANK", "slurm.pmix.500.0"},
        /* mpiexec of MPICH */
        {"PMI_RANK=7 PMI_SIZE=8 MPI_LOCALRANKID=3", 7, 8, "PMI_RANK", NULL},
        /* a worker of MXNet under mpirun */
        {"DMLC_WORKER_ID=2 DMLC_NUM_WORKER=4 OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=9", 2, 4,
         "DMLC_WORKER_ID", NULL},
        /* by hand, over all */
        {"LOCKSTEP_RANK=4 LOCKSTEP_WORLD=6 HOROVOD_RANK=1 HOROVOD_SIZE=2 LOCKSTEP_RUN_ID=mine", 4,
         6, "LOCKSTEP_RANK", "mine"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_auto(GStrv) pairs = g_strsplit(cases[i].variables, " ", -1);
        for (char **pair = pairs; *pair != NULL; pair++) {
            char *value = strchr(*pair, '=');
            *value = '\0';
            g_setenv(*pair, value + 1, TRUE);
        }
        LsIdentity identity = load();
        for (char **pair = pairs; *pair != NULL; pair++)
            g_unsetenv(*pair);
        g_assert_cmpint(identity.rank, ==, cases[i].rank);
        g_assert_cmpint(identity.world, ==, cases[i].world);
        g_assert_cmpstr(identity.rank_source, ==, cases[i].source);
        g_assert_cmpint(identity.has_job, ==, cases[i].job != NULL);
        if (cases[i].job != NULL)
            g_assert_cmpstr(identity.run_id, ==, cases[i].job);
    }
}

static void
test_host_fits_a_file_name(void)
{
    g_setenv("LOCKSTEP_HOST", "gpu/05.cluster", TRUE);
    g_assert_cmpstr(load().host, ==, "gpu_05");
    g_unsetenv("LOCKSTEP_HOST");
    g_assert_null(strchr(load().host, '.'));
}

static void
test_secrets_are_masked(void)
{
    static const struct {
        const char *argument, *masked;
        bool next;
    } cases[] = {
        {"--token", "--token", true},
        {"--api-key", "--api-key", true},
        {"--password=abc", "--password=***", false},
        {"WANDB_API_KEY=0123", "WANDB_API_KEY=****", false},
        {"--accessToken=ab", "--accessToken=**", false},
        {"https://me:pw@host/x", "https://*****@host/x", false},
        {"hf_abcdefghijk", "**************", false},
        {"Authorization: Bearer xyz", "Authorization:***********", false},
        {"--header=X: Bearer xyz", "--header=X: Bearer ***", false},
        {"--max-tokens=128", "--max-tokens=128", false},
        {"--tokenizer", "--tokenizer", false},
        {"--key-size=12", "--key-size=12", false},
        {"/home/author/train.py", "/home/author/train.py", false},
        {"--passes", "--passes", false},
        {"", "", false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *argument = g_strdup(cases[i].argument);
        bool next = ls_identity_mask(argument);
        g_assert_cmpstr(argument, ==, cases[i].masked);
        g_assert_cmpint(next, ==, cases[i].next);
    }
}

static void
test_ended_or_not(void)
{
    uint64_t space = ls_process_namespace();
    uint32_t self = (uint32_t)getpid();
    uint64_t start = ls_process_start_ticks(self);
    g_assert_cmpuint(space, !=, 0);
    g_assert_cmpuint(start, !=, 0);
    g_assert_false(ls_process_has_ended(self, start, space));
    /* Our number, but another's life. */
    g_assert_true(ls_process_has_ended(self, start + 1, space));
    g_assert_false(ls_process_has_ended(self, start + 1, space + 1));
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    uint64_t child_start = ls_process_start_ticks((uint32_t)pid);
    g_assert_cmpint(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), ==, 0);
    g_assert_true(ls_process_has_ended((uint32_t)pid, child_start, space));
    waitpid(pid, NULL, 0);
    g_assert_true(ls_process_has_ended((uint32_t)pid, child_start, space));
    g_assert_false(ls_process_is_abandoned(1));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/capture/identity/innermost-launcher-wins", test_innermost_launcher_wins);
    g_test_add_func("/capture/identity/ten-environments", test_ten_environments);
    g_test_add_func("/capture/identity/host-fits-a-file-name", test_host_fits_a_file_name);
    g_test_add_func("/capture/identity/secrets-are-masked", test_secrets_are_masked);
    g_test_add_func("/capture/process/ended-or-not", test_ended_or_not);
    return g_test_run();
}
