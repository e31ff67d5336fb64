/* SPDX-License-Identifier: Apache-2.0
 *
 * The sample's gradients against differences of its loss, and that it learns.
 */
#include <glib.h>
#include <math.h>

#include "samples/train-images.h"
#include "samples/train-net.h"

#define SIZE  8
#define BATCH 4

static void
fill(Net *net, int64_t first)
{
    for (int i = 0; i < BATCH; i++)
        net_get_labels(net)[i] =
            image_make(first + i, SIZE, 1, net_get_images(net) + i * 3 * SIZE * SIZE);
}

static double
forward(Net *net)
{
    for (int i = 0; i < net_get_layers(net); i++)
        net_forward(net, i);
    return net_loss(net);
}

static void
backward(Net *net)
{
    for (int i = net_get_layers(net) - 1; i >= 0; i--)
        net_backward(net, i);
}

/* Along the gradient of one tensor the loss must rise by step * |gradient|^2. Rectifiers bend the
 * line, float32 blurs it: 5 %. */
static void
check_tensor(Net *net, Parameter *parameter)
{
    double squares = 0, step, above, below;
    for (int64_t k = 0; k < parameter->count; k++)
        squares += parameter->gradients[k] * parameter->gradients[k];
    if (squares < 1e-8)
        return; /* a bias before a normalisation has next to none */
    step = 2e-3 / sqrt(squares);
    for (int64_t k = 0; k < parameter->count; k++)
        parameter->values[k] += (float)(step * parameter->gradients[k]);
    above = forward(net);
    for (int64_t k = 0; k < parameter->count; k++)
        parameter->values[k] -= (float)(2 * step * parameter->gradients[k]);
    below = forward(net);
    for (int64_t k = 0; k < parameter->count; k++)
        parameter->values[k] += (float)(step * parameter->gradients[k]);
    if (fabs((above - below) / (2 * step) - squares) > 0.05 * squares) {
        g_test_message("%s: slope %g, gradient says %g", parameter->name,
                       (above - below) / (2 * step), squares);
        g_test_fail();
    }
}

static void
check_gradients(void)
{
    Net *net = net_new(SIZE, BATCH, 7);
    int tensors = 0;

    g_assert_nonnull(net);
    fill(net, 0);
    forward(net);
    backward(net);
    for (int i = 0; i < net_get_layers(net); i++) {
        int n = 0;
        Parameter *parameters = net_get_parameters(net, i, &n);
        for (int p = 0; p < n; p++, tensors++)
            check_tensor(net, &parameters[p]);
    }
    g_assert_cmpint(tensors, ==, 30);
    net_free(net);
}

static void
check_learning(void)
{
    Net *net = net_new(SIZE, BATCH, 7);
    double first = 0, last = 0;

    for (int step = 0; step < 60; step++) {
        fill(net, (step % 4) * BATCH); /* sixteen images, again and again */
        last = forward(net);
        first = step == 0 ? last : first;
        backward(net);
        net_update(net, 0.01f, 0.9f);
    }
    g_test_message("loss from %g to %g", first, last);
    g_assert_cmpfloat(last, <, first / 4);
    net_free(net);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/samples/net/gradients-are-slopes-of-the-loss", check_gradients);
    g_test_add_func("/samples/net/loss-falls", check_learning);
    return g_test_run();
}
