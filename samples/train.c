/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/train.c: data-parallel training as people do it, small enough to read.
 *
 * Each rank works on its own share of the images; backward hands in each layer's gradients as soon
 * as they are there, `reduce` averages them over the ranks meanwhile, and the optimizer begins when
 * the last one is done. The wait for them lies between the marked phases, so that a timeline shows
 * it as what it is. With --compute timed every layer sleeps for its share of --step-ms in place of
 * computing: four ranks on two cores then show how they wait for each other, not for a core.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"
#include "samples/train-exchange.h"
#include "samples/train-images.h"
#include "samples/train-launch.h"

#define MOMENTUM 0.9f
/* Parts of a timed step; backward takes twice as long as forward. */
#define INPUT_SHARE     0.05
#define FORWARD_SHARE   0.29
#define BACKWARD_SHARE  0.58
#define OPTIMIZER_SHARE 0.08

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PEER_LOST = 3 };

typedef struct Trainer {
    TrainOptions options;
    Exchange *exchange;
    Net *net;
    int rank, ranks, step;
    bool slow;
    int64_t operations; /* of forward, per step */
    double loss;
    struct timespec due; /* the timed phase has slept up to here */
} Trainer;

static void
sleep_ms(Trainer *trainer, double ms)
{
    int64_t ns = trainer->due.tv_nsec + (int64_t)(ms * 1e6);
    trainer->due.tv_sec += ns / 1000000000;
    trainer->due.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &trainer->due, NULL) == EINTR)
        continue;
}

static void
begin(Trainer *trainer, lockstep_phase phase)
{
    lockstep_phase_begin(phase);
    clock_gettime(CLOCK_MONOTONIC, &trainer->due);
}

/* The layer's part of a timed phase: by its operations, and something for being there at all. */
static double
get_part(const Trainer *trainer, int layer)
{
    int n = net_get_layers(trainer->net);
    return 0.8 * (double)net_get_operations(trainer->net, layer) / (double)trainer->operations +
           0.2 / n;
}

static void
read_images(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;
    int64_t image = 3 * (int64_t)options->size * options->size;
    int64_t first = ((int64_t)trainer->step * trainer->ranks + trainer->rank) * options->batch;

    begin(trainer, LOCKSTEP_PHASE_INPUT);
    if (options->timed)
        sleep_ms(trainer, options->step_ms * INPUT_SHARE);
    for (int i = 0; !options->timed && i < options->batch; i++)
        net_get_labels(trainer->net)[i] =
            image_make(first + i, options->size, (uint64_t)options->seed,
                       net_get_images(trainer->net) + i * image);
    if (trainer->slow && options->late_tensor == NULL) {
        clock_gettime(CLOCK_MONOTONIC, &trainer->due);
        sleep_ms(trainer, options->slow_ms);
    }
    lockstep_phase_end(LOCKSTEP_PHASE_INPUT, 0);
}

static void
run_forward(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;

    begin(trainer, LOCKSTEP_PHASE_FORWARD);
    for (int i = 0; i < net_get_layers(trainer->net); i++)
        if (options->timed)
            sleep_ms(trainer, options->step_ms * FORWARD_SHARE * get_part(trainer, i));
        else
            net_forward(trainer->net, i);
    if (!options->timed)
        trainer->loss = net_loss(trainer->net);
    lockstep_phase_end(LOCKSTEP_PHASE_FORWARD, trainer->operations);
}

static lockstep_status
submit_layer(Trainer *trainer, int layer)
{
    const TrainOptions *options = &trainer->options;
    int n = 0;
    Parameter *parameters = net_get_parameters(trainer->net, layer, &n);
    lockstep_status status = LOCKSTEP_OK;

    for (int p = n - 1; p >= 0 && status == LOCKSTEP_OK; p--) {
        if (trainer->slow && options->late_tensor != NULL &&
            strcmp(parameters[p].name, options->late_tensor) == 0) {
            clock_gettime(CLOCK_MONOTONIC, &trainer->due);
            sleep_ms(trainer, options->slow_ms);
        }
        status = exchange_submit(trainer->exchange, trainer->step, &parameters[p]);
    }
    return status;
}

static lockstep_status
run_backward(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;
    int n = net_get_layers(trainer->net);
    bool die = trainer->rank == options->die_rank && trainer->step == options->die_step;
    lockstep_status status = LOCKSTEP_OK;

    begin(trainer, LOCKSTEP_PHASE_BACKWARD);
    for (int i = n - 1; i >= 0 && status == LOCKSTEP_OK; i--) {
        if (die && i == n / 2)
            kill(getpid(), SIGKILL);
        if (options->timed)
            sleep_ms(trainer, options->step_ms * BACKWARD_SHARE * get_part(trainer, i));
        else
            net_backward(trainer->net, i);
        status = submit_layer(trainer, i);
    }
    lockstep_phase_end(LOCKSTEP_PHASE_BACKWARD, 2 * trainer->operations);
    return status;
}

static int64_t
count_parameters(Net *net)
{
    int64_t count = 0;
    for (int i = 0; i < net_get_layers(net); i++) {
        int n = 0;
        const Parameter *parameters = net_get_parameters(net, i, &n);
        for (int p = 0; p < n; p++)
            count += parameters[p].count;
    }
    return count;
}

static void
run_optimizer(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;

    begin(trainer, LOCKSTEP_PHASE_OPTIMIZER);
    if (options->timed)
        sleep_ms(trainer, options->step_ms * OPTIMIZER_SHARE);
    else
        net_update(trainer->net, (float)options->rate, MOMENTUM);
    lockstep_phase_end(LOCKSTEP_PHASE_OPTIMIZER, 4 * count_parameters(trainer->net));
}

/* All weights as float32, in the order of the layers. */
static bool
write_weights(Net *net, FILE *file)
{
    bool done = true;
    for (int i = 0; i < net_get_layers(net); i++) {
        int n = 0;
        const Parameter *parameters = net_get_parameters(net, i, &n);
        for (int p = 0; p < n; p++)
            done = done && fwrite(parameters[p].values, sizeof(float), (size_t)parameters[p].count,
                                  file) == (size_t)parameters[p].count;
    }
    return done;
}

/* NULL: a file that vanishes. */
static bool
save_weights(Net *net, const char *path)
{
    FILE *file = path == NULL ? tmpfile() : fopen(path, "we");
    bool done;

    if (file == NULL) {
        fprintf(stderr, "train: %s: %s\n", path == NULL ? "temporary file" : path, strerror(errno));
        return false;
    }
    done = write_weights(net, file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (fclose(file) != 0 || !done)
        fprintf(stderr, "train: the weights could not be written: %s\n", strerror(errno));
    return done;
}

static lockstep_status
run_step(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;
    lockstep_status status;

    lockstep_step_begin(trainer->step);
    read_images(trainer);
    run_forward(trainer);
    status = run_backward(trainer);
    if (status == LOCKSTEP_OK)
        status = exchange_wait(trainer->exchange, trainer->step);
    if (status != LOCKSTEP_OK)
        return status;
    run_optimizer(trainer);
    if (!options->timed)
        lockstep_counter("loss", trainer->loss);
    if (trainer->rank == 0 && options->checkpoint_every > 0 &&
        (trainer->step + 1) % options->checkpoint_every == 0) {
        lockstep_phase_begin(LOCKSTEP_PHASE_CHECKPOINT);
        save_weights(trainer->net, options->checkpoint);
        lockstep_phase_end(LOCKSTEP_PHASE_CHECKPOINT, 0);
    }
    lockstep_step_end(options->batch, 3 * trainer->operations + 4 * count_parameters(trainer->net));
    return LOCKSTEP_OK;
}

static lockstep_status
train(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;
    lockstep_status status = exchange_share_weights(trainer->exchange, trainer->net);

    while (status == LOCKSTEP_OK && trainer->step < options->steps) {
        status = run_step(trainer);
        if (status != LOCKSTEP_OK)
            break;
        if (trainer->rank == 0 && !options->timed &&
            (trainer->step % 10 == 0 || trainer->step == options->steps - 1)) {
            printf("step %d loss %.4f\n", trainer->step, trainer->loss);
            fflush(stdout);
        }
        trainer->step++;
    }
    return status;
}

/* A rank or a tensor that an option names and nobody is would silently change nothing. */
static bool
check_names(const Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;
    int last = trainer->ranks - 1;
    bool found = options->late_tensor == NULL;

    for (int i = 0; !found && i < net_get_layers(trainer->net); i++) {
        int n = 0;
        const Parameter *parameters = net_get_parameters(trainer->net, i, &n);
        for (int p = 0; p < n; p++)
            found = found || strcmp(parameters[p].name, options->late_tensor) == 0;
    }
    if (found && options->slow_rank <= last && options->die_rank <= last)
        return true;
    if (trainer->rank == 0 && !found)
        fprintf(stderr, "train: --late-tensor: there is no tensor %s\n", options->late_tensor);
    else if (trainer->rank == 0)
        fprintf(stderr, "train: --%s-rank: the last rank is %d\n",
                options->slow_rank > last ? "slow" : "die", last);
    return false;
}

static int
run(Trainer *trainer)
{
    const TrainOptions *options = &trainer->options;
    lockstep_status status;

    trainer->rank = exchange_get_rank(trainer->exchange);
    trainer->ranks = exchange_get_ranks(trainer->exchange);
    trainer->slow = trainer->rank == options->slow_rank && options->slow_ms > 0;
    /* Each rank begins with weights of its own, so that sharing them is not for show. */
    trainer->net =
        net_new(options->size, options->batch, (uint64_t)(options->seed * 1000 + trainer->rank));
    if (trainer->net == NULL) {
        fputs("train: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    if (!check_names(trainer))
        return EXIT_USAGE;
    for (int i = 0; i < net_get_layers(trainer->net); i++)
        trainer->operations += net_get_operations(trainer->net, i);
    status = train(trainer);
    if (status == LOCKSTEP_ERR_PEER_LOST) {
        fprintf(stderr, "train: rank %d gives up in step %d\n", trainer->rank, trainer->step);
        return EXIT_PEER_LOST; /* the buffers stay, reduce may still be using them */
    }
    if (status == LOCKSTEP_OK && trainer->rank == 0 && options->dump != NULL &&
        !save_weights(trainer->net, options->dump))
        return EXIT_FAILED;
    return status == LOCKSTEP_OK ? 0 : EXIT_FAILED;
}

int
main(int argc, char **argv)
{
    Trainer trainer = {0};
    int status = 0;

    if (train_options_parse(argc, argv, &trainer.options, &status) != 0)
        return status;
    if (!launch_start(&argc, &argv))
        return EXIT_FAILED;
    trainer.exchange = exchange_open(&trainer.options);
    if (trainer.exchange != NULL)
        status = run(&trainer);
    else
        status = EXIT_FAILED;
    if (trainer.exchange != NULL)
        exchange_close(trainer.exchange);
    if (status == EXIT_PEER_LOST) {
        fflush(NULL);
        _exit(status); /* neither MPI_Finalize nor exit handlers: both could wait for the dead */
    }
    net_free(trainer.net);
    launch_stop();
    return status;
}
