/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/train-net.h: a small convolutional network with hand-written gradients, in float32.
 *
 * Six 3x3 convolutions, each followed by a group normalisation with scale and shift (it looks at
 * one image at a time, so that N ranks with a batch each compute what one rank computes with N
 * batches) and a rectifier; three fully connected layers; softmax and cross entropy. 30 parameter
 * tensors from 32 bytes to half a megabyte (at the default size).
 */
#pragma once

#include <stdint.h>

#define NET_CLASSES 8

typedef struct Parameter {
    char name[32];
    int64_t count;
    float *values, *gradients, *momenta;
} Parameter;

typedef struct Net Net;

/* size: of the square images, a multiple of 4. NULL when out of memory. */
Net *net_new(int size, int batch, uint64_t seed);
void net_free(Net *net);
int net_get_layers(const Net *net);
/* The layer's own parameters; *ret_n of them. */
Parameter *net_get_parameters(Net *net, int layer, int *ret_n);
/* Floating-point operations of the layer for one batch, forward; backward takes twice as many. */
int64_t net_get_operations(const Net *net, int layer);

/* Where the batch goes: images of 3 * size * size values, and their classes. */
float *net_get_images(Net *net);
int *net_get_labels(Net *net);
/* Layer by layer, 0 first. */
void net_forward(Net *net, int layer);
/* After the last layer: the mean loss, and the gradient that backward begins with. */
double net_loss(Net *net);
/* Layer by layer, the last first; the layer's gradients are then complete. */
void net_backward(Net *net, int layer);
/* Stochastic gradient descent with momentum. */
void net_update(Net *net, float rate, float momentum);
