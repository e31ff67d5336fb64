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
    g_test_add_func("/capture/identity/host-fits-a-file-name", test_host_fits_a_file_name);
    g_test_add_func("/capture/identity/secrets-are-masked", test_secrets_are_masked);
    g_test_add_func("/capture/process/ended-or-not", test_ended_or_not);
    return g_test_run();
}
