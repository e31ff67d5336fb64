/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth.c: `synth [options] -o RUN`: the command around synth-run.h.
 *
 * Options are a table: name, unit, where the number goes, help; the same table prints the help.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "samples/synth-run.h"

typedef enum Type { U32, I32, I64, MS, US, PERCENT, REAL, FLAG, SEED } Type;

typedef struct Arguments {
    LsSynthOptions job;
    const char *folder, *truth;
    uint64_t spans;
    uint32_t threads;
    int64_t damage_rank, damage_offset, damage_count;
} Arguments;

typedef struct Option {
    const char *name;
    Type type;
    void *into;
    const char *help;
} Option;

static bool
parse_number(const Option *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0')
        return false;
    switch (option->type) {
    case U32:
        if (value < 0 || value > UINT32_MAX)
            return false;
        *(uint32_t *)option->into = (uint32_t)value;
        return true;
    case I32:
        *(int32_t *)option->into = (int32_t)value;
        return true;
    case I64:
        *(int64_t *)option->into = (int64_t)value;
        return true;
    case SEED:
        *(uint64_t *)option->into = (uint64_t)value;
        return value >= 0;
    case MS:
        *(int64_t *)option->into = (int64_t)(value * 1e6);
        return true;
    case US:
        *(int64_t *)option->into = (int64_t)(value * 1e3);
        return true;
    case PERCENT:
        *(double *)option->into = value / 100;
        return value > -100 && value < 100;
    case REAL:
        *(double *)option->into = value;
        return value >= 0;
    case FLAG:
        break;
    }
    return false;
}

static void
print_help(const Option *options, size_t n)
{
    puts("Usage: synth [options] -o RUN\n"
         "Writes a run folder of trace files with known truth.\n");
    for (size_t i = 0; i < n; i++)
        printf("  --%-20s %s\n", options[i].name, options[i].help);
    puts("  --late RANK:MS[:STEP]  the rank's input takes longer, from that step on\n"
         "  --lost RANK:N          the rank loses N records of its loop in the middle\n"
         "  --damage RANK:OFFSET:N inverts N bytes of the rank's file\n"
         "  --truth FILE           writes what is true of the run as JSON\n"
         "  -o RUN                 the folder; its files must not exist");
}

/* "A:B[:C]" of the options with several numbers. */
static bool
parse_special(Arguments *arguments, const char *name, const char *text)
{
    int64_t a = 0, b = 0, c = 0;
    int n = sscanf(text, "%" SCNd64 ":%" SCNd64 ":%" SCNd64, &a, &b, &c);
    if (n < 2 || a < 0 || b < 0 || c < 0)
        return false;
    if (strcmp(name, "late") == 0) {
        arguments->job.late_rank = (int32_t)a;
        arguments->job.late_ns = b * 1000000;
        arguments->job.late_from = (uint32_t)c;
    } else if (strcmp(name, "lost") == 0) {
        arguments->job.lost_rank = (int32_t)a;
        arguments->job.lost_records = (uint32_t)b;
    } else {
        arguments->damage_rank = a;
        arguments->damage_offset = b;
        arguments->damage_count = n == 3 ? c : 1;
    }
    return true;
}

static int
parse(int argc, char **argv, Arguments *arguments, const Option *options, size_t n)
{
    struct option rows[64] = {{0}};
    const char *const special[] = {"late", "lost", "damage", "truth", "help"};

    for (size_t i = 0; i < n; i++)
        rows[i] = (struct option){
            options[i].name, options[i].type == FLAG ? no_argument : required_argument, NULL, 'x'};
    for (size_t i = 0; i < 5; i++)
        rows[n + i] =
            (struct option){special[i], i < 4 ? required_argument : no_argument, NULL, 's'};
    for (;;) {
        int row = 0;
        int code = getopt_long(argc, argv, "o:h", rows, &row);
        const char *name = rows[row].name;
        bool good = true;
        if (code == -1)
            return 0;
        if (code == '?')
            return 2;
        if (code == 'h' || (code == 's' && strcmp(name, "help") == 0)) {
            print_help(options, n);
            exit(0);
        }
        if (code == 'o')
            arguments->folder = optarg;
        else if (code == 's' && strcmp(name, "truth") == 0)
            arguments->truth = optarg;
        else if (code == 's')
            good = parse_special(arguments, name, optarg);
        else if (options[row].type == FLAG)
            *(bool *)options[row].into = true;
        else
            good = parse_number(&options[row], optarg);
        if (!good) {
            fprintf(stderr, "synth: --%s: \"%s\" is not what it takes, see --help\n", name, optarg);
            return 2;
        }
    }
}

static int
run(const Arguments *arguments)
{
    char error[4200] = "";
    FILE *truth = NULL;
    bool done;

    if (arguments->truth != NULL && (truth = fopen(arguments->truth, "w")) == NULL) {
        fprintf(stderr, "synth: %s: %s\n", arguments->truth, strerror(errno));
        return 1;
    }
    if (arguments->spans > 0)
        done = ls_synth_spans_write(arguments->folder, arguments->job.ranks, arguments->threads,
                                    arguments->spans, arguments->job.seed, error, sizeof error);
    else
        done = ls_synth_run_write(&arguments->job, arguments->folder, truth, error, sizeof error);
    if (done && arguments->damage_rank >= 0)
        done = ls_synth_run_damage(arguments->folder, (uint32_t)arguments->damage_rank,
                                   arguments->job.ranks_per_host, arguments->damage_offset,
                                   arguments->damage_count, error, sizeof error);
    if (truth != NULL && fclose(truth) != 0 && done) {
        snprintf(error, sizeof error, "%s: %s", arguments->truth, strerror(errno));
        done = false;
    }
    if (!done)
        fprintf(stderr, "synth: %s\n", error);
    return done ? 0 : 1;
}

int
main(int argc, char **argv)
{
    Arguments arguments = {.job = ls_synth_options(), .threads = 15, .damage_rank = -1};
    LsSynthOptions *job = &arguments.job;
    double drift = job->drift_max_ppm;
    const Option options[] = {
        {"ranks", U32, &job->ranks, "number of ranks (4)"},
        {"ranks-per-host", U32, &job->ranks_per_host, "ranks that share a host and its clock (2)"},
        {"steps", U32, &job->steps, "training steps (20)"},
        {"tensors", U32, &job->tensors, "tensors, weights and biases by turns (12)"},
        {"seed", SEED, &job->seed, "of all that is random (1)"},
        {"offset-ms", MS, &job->offset_max_ns, "largest offset of a host's clock (500)"},
        {"drift-ppm", REAL, &drift, "largest drift of a host's clock (20)"},
        {"wall-error-ms", MS, &job->wall_error_max_ns, "largest error of a wall clock (2)"},
        {"roundtrips", U32, &job->roundtrips, "clock round trips per step and host (4; 0: none)"},
        {"latency-us", US, &job->latency_ns, "between hosts, one way (20)"},
        {"asymmetry-percent", PERCENT, &job->asymmetry, "the way out is that much longer (0)"},
        {"input-ms", MS, &job->input_ns, "reading data (2)"},
        {"forward-ms", MS, &job->forward_ns, "(10)"},
        {"backward-ms", MS, &job->backward_ns, "gradients come spread over it (20)"},
        {"optimizer-ms", MS, &job->optimizer_ns, "(3)"},
        {"jitter-ms", MS, &job->jitter_ns, "of each submission (0.2)"},
        {"checkpoint-every", U32, &job->checkpoint_every, "steps, on rank 0 (0: never)"},
        {"checkpoint-ms", MS, &job->checkpoint_ns, "(5)"},
        {"groups", U32, &job->groups, "slices of the tensors that go together (0: none)"},
        {"fusion-bytes", I64, &job->fusion_bytes, "threshold of fusion (2097152)"},
        {"cycle-ms", MS, &job->cycle_ns, "of the background loop (3)"},
        {"bandwidth-gbs", REAL, &job->bytes_per_ns, "of an allreduce, GB/s (0.25)"},
        {"cut", FLAG, &job->cut, "the recording ends within the last step's backward"},
        {"spans", SEED, &arguments.spans, "instead: that many spans for benchmarks"},
        {"threads", U32, &arguments.threads, "per rank, with --spans (15)"},
    };
    int status = parse(argc, argv, &arguments, options, sizeof options / sizeof *options);
    struct rlimit files;

    if (status != 0)
        return status;
    job->drift_max_ppm = drift;
    if (arguments.folder == NULL || optind != argc) {
        fputs("synth: needs -o RUN and nothing else, see --help\n", stderr);
        return 2;
    }
    if (job->ranks < 1 || job->ranks_per_host < 1 || job->tensors < 1 || job->cycle_ns < 100000 ||
        job->bytes_per_ns <= 0 || arguments.threads < 1 || arguments.threads > 256) {
        fputs("synth: at least one rank, tensor and thread (at most 256), some bandwidth, cycles "
              "of 0.1 ms\n",
              stderr);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max; /* one open file per rank */
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return run(&arguments);
}
