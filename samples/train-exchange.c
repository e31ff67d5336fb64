/* SPDX-License-Identifier: Apache-2.0
 * samples/train-exchange.c: see train-exchange.h. */
#include "samples/train-exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HANDLES_MAX 64

struct Exchange {
    lockstep_context *context;
    lockstep_handle handles[HANDLES_MAX];
    int n_handles;
    FILE *log;
};

static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
note(Exchange *exchange, const char *event, int step, const char *tensor, int64_t bytes)
{
    if (exchange->log == NULL)
        return;
    fprintf(exchange->log, "%s,%d,%d,%s,", event, exchange_get_rank(exchange), step, tensor);
    if (bytes >= 0)
        fprintf(exchange->log, "%" PRId64, bytes);
    fprintf(exchange->log, ",%" PRId64 "\n", now_ns());
}

static lockstep_status
complain(lockstep_status status, const char *what)
{
    const char *text = lockstep_last_error();
    fprintf(stderr, "train: %s: %s\n", what, text[0] != '\0' ? text : lockstep_status_text(status));
    return status;
}

/* "%r" in the name becomes the rank; without it, ranks would write over one another. */
static bool
open_log(Exchange *exchange, const char *name)
{
    const char *at = strstr(name, "%r");
    char path[4096];

    if (at == NULL && exchange_get_ranks(exchange) > 1) {
        if (exchange_get_rank(exchange) == 0)
            fprintf(stderr, "train: --log: %s is one file for %d ranks: %%r in it is the rank\n",
                    name, exchange_get_ranks(exchange));
        return false;
    }
    if (at == NULL)
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%.*s%d%s", (int)(at - name), name, exchange_get_rank(exchange),
                 at + 2);
    exchange->log = fopen(path, "we");
    if (exchange->log == NULL) {
        perror(path);
        return false;
    }
    fputs("event,rank,step,tensor,bytes,time_ns\n", exchange->log);
    return true;
}

Exchange *
exchange_open(const TrainOptions *options)
{
    Exchange *exchange = calloc(1, sizeof *exchange);
    lockstep_options settings;
    lockstep_status status;

    if (exchange == NULL)
        return NULL;
    lockstep_options_init(&settings);
    settings.run = options->run;
    settings.settings = options->strategy;
    status = lockstep_init(&settings, &exchange->context);
    if (status != LOCKSTEP_OK) {
        complain(status, "cannot start");
        free(exchange);
        return NULL;
    }
    if (options->log != NULL && !open_log(exchange, options->log)) {
        exchange_close(exchange);
        return NULL;
    }
    return exchange;
}

void
exchange_close(Exchange *exchange)
{
    lockstep_shutdown(exchange->context);
    if (exchange->log != NULL)
        fclose(exchange->log);
    free(exchange);
}

int
exchange_get_rank(const Exchange *exchange)
{
    return lockstep_rank(exchange->context);
}

int
exchange_get_ranks(const Exchange *exchange)
{
    return lockstep_size(exchange->context);
}

lockstep_status
exchange_submit(Exchange *exchange, int step, const Parameter *parameter)
{
    lockstep_tensor tensor = {.size = sizeof tensor,
                              .name = parameter->name,
                              .input = parameter->gradients,
                              .output = parameter->gradients,
                              .count = parameter->count,
                              .dtype = LOCKSTEP_FLOAT32};
    lockstep_status status;

    note(exchange, "submit", step, parameter->name, parameter->count * 4);
    status = lockstep_allreduce(exchange->context, &tensor, LOCKSTEP_AVERAGE,
                                &exchange->handles[exchange->n_handles]);
    if (status < 0)
        return complain(status, "while submitting");
    exchange->n_handles++;
    return LOCKSTEP_OK;
}

lockstep_status
exchange_wait(Exchange *exchange, int step)
{
    lockstep_status result = LOCKSTEP_OK;

    note(exchange, "wait_begin", step, "", -1);
    for (int i = 0; i < exchange->n_handles; i++) {
        lockstep_status status = lockstep_wait(exchange->context, exchange->handles[i], -1);
        if (status < 0 && result == LOCKSTEP_OK)
            result = complain(status, "while waiting");
    }
    note(exchange, "wait_end", step, "", -1);
    exchange->n_handles = 0;
    if (exchange->log != NULL)
        fflush(exchange->log); /* what a killed rank had said stays said */
    return result;
}

lockstep_status
exchange_share_weights(Exchange *exchange, Net *net)
{
    for (int i = 0; i < net_get_layers(net); i++) {
        int n = 0;
        Parameter *parameters = net_get_parameters(net, i, &n);
        for (int p = 0; p < n; p++) {
            char name[64];
            lockstep_tensor tensor = {.size = sizeof tensor,
                                      .name = name,
                                      .input = parameters[p].values,
                                      .output = parameters[p].values,
                                      .count = parameters[p].count,
                                      .dtype = LOCKSTEP_FLOAT32};
            lockstep_status status;
            snprintf(name, sizeof name, "broadcast.%s", parameters[p].name);
            note(exchange, "submit", -1, name, parameters[p].count * 4);
            status = lockstep_broadcast(exchange->context, &tensor, 0,
                                        &exchange->handles[exchange->n_handles]);
            if (status < 0)
                return complain(status, "while submitting");
            exchange->n_handles++;
        }
    }
    return exchange_wait(exchange, -1);
}
