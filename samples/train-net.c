/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/train-net.c: the network, one function per kind of layer and direction.
 *
 * Activations are stored image by image, channel by channel, row by row. A convolution keeps its
 * input with a border of zeros, so that its loops have no special cases. Group normalisation: Wu
 * and He, arXiv 1803.08494.
 */
#include "samples/train-net.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/train-random.h"

#define KERNEL  3
#define EPSILON 1e-5f
#define GROUP   4 /* channels normalised together */

typedef enum LayerKind { CONVOLUTION, NORMALISATION, CONNECTION } LayerKind;

typedef struct Layer {
    LayerKind kind;
    int in, out;           /* channels; of a connection: values */
    int in_size, out_size; /* of the square; of a connection: 1 */
    int stride;
    int rectified;
    Parameter parameters[2]; /* weight and bias, or scale and shift */
    const float *input;      /* the output of the layer before */
    float *input_gradient;   /* where its gradient goes; NULL: nobody wants it */
    float *output, *gradient;
    float *padded, *padded_gradient; /* convolution: one image with its border, per image */
    float *spread;                   /* normalisation: 1 / deviation, per image and group */
} Layer;

struct Net {
    int size, batch, n_layers;
    Layer layers[16];
    float *images;
    int *labels;
    float *block; /* everything above lies in it */
};

static const struct {
    LayerKind kind;
    int out, stride, rectified;
} plan[] = {
    {CONVOLUTION, 8, 1, 0},    {NORMALISATION, 8, 1, 1},  {CONVOLUTION, 16, 1, 0},
    {NORMALISATION, 16, 1, 1}, {CONVOLUTION, 32, 2, 0},   {NORMALISATION, 32, 1, 1},
    {CONVOLUTION, 32, 1, 0},   {NORMALISATION, 32, 1, 1}, {CONVOLUTION, 64, 2, 0},
    {NORMALISATION, 64, 1, 1}, {CONVOLUTION, 64, 1, 0},   {NORMALISATION, 64, 1, 1},
    {CONNECTION, 128, 1, 1},   {CONNECTION, 64, 1, 1},    {CONNECTION, NET_CLASSES, 1, 0},
};
#define N_LAYERS ((int)(sizeof plan / sizeof *plan))

static int64_t
get_values(const Layer *layer)
{
    return (int64_t)layer->out * layer->out_size * layer->out_size;
}

static int64_t
get_padded(const Layer *layer)
{
    return (int64_t)layer->in * (layer->in_size + 2) * (layer->in_size + 2);
}

/* Hands out pieces of one block; with block NULL it only counts. */
static float *
take(float *block, size_t *used, int64_t count)
{
    float *piece = block == NULL ? NULL : block + *used;
    *used += ((size_t)count + 15) & ~(size_t)15;
    return piece;
}

static size_t
place(Net *net, float *block)
{
    size_t used = 0;
    net->images = take(block, &used, (int64_t)net->batch * 3 * net->size * net->size);
    for (int i = 0; i < net->n_layers; i++) {
        Layer *layer = &net->layers[i];
        int64_t outputs = get_values(layer) * net->batch;
        int64_t padded = layer->kind == CONVOLUTION ? get_padded(layer) * net->batch : 0;
        int groups = layer->kind == NORMALISATION ? layer->out / GROUP * net->batch : 0;
        for (int p = 0; p < 2; p++) {
            layer->parameters[p].values = take(block, &used, layer->parameters[p].count);
            layer->parameters[p].gradients = take(block, &used, layer->parameters[p].count);
            layer->parameters[p].momenta = take(block, &used, layer->parameters[p].count);
        }
        layer->output = take(block, &used, outputs);
        layer->gradient = take(block, &used, outputs);
        layer->padded = take(block, &used, padded);
        layer->padded_gradient = take(block, &used, padded);
        layer->spread = take(block, &used, groups);
        layer->input = i > 0 ? net->layers[i - 1].output : net->images;
        layer->input_gradient = i > 0 ? net->layers[i - 1].gradient : NULL;
    }
    return used;
}

static void
describe(Net *net)
{
    static const char *const names[][3] = {
        {"conv", "weight", "bias"}, {"norm", "scale", "shift"}, {"fc", "weight", "bias"}};
    int counts[3] = {0};
    int channels = 3, size = net->size;

    for (int i = 0; i < net->n_layers; i++) {
        Layer *layer = &net->layers[i];
        *layer = (Layer){.kind = plan[i].kind,
                         .out = plan[i].out,
                         .stride = plan[i].stride,
                         .rectified = plan[i].rectified};
        if (layer->kind == CONNECTION) {
            channels = channels * size * size;
            size = 1;
        }
        layer->in = channels;
        layer->in_size = size;
        layer->out_size = size / layer->stride;
        layer->parameters[0].count =
            layer->kind == CONVOLUTION
                ? (int64_t)layer->in * layer->out * KERNEL * KERNEL
                : (layer->kind == CONNECTION ? (int64_t)layer->in * layer->out : layer->out);
        layer->parameters[1].count = layer->out;
        counts[layer->kind]++;
        for (int p = 0; p < 2; p++)
            snprintf(layer->parameters[p].name, sizeof layer->parameters[p].name, "%s%d.%s",
                     names[layer->kind][0], counts[layer->kind], names[layer->kind][p + 1]);
        channels = layer->out;
        size = layer->out_size;
    }
}

/* He et al., arXiv 1502.01852: deviation sqrt(2 / inputs of a value). */
static void
initialise(Net *net, uint64_t seed)
{
    for (int i = 0; i < net->n_layers; i++) {
        Layer *layer = &net->layers[i];
        Parameter *weight = &layer->parameters[0];
        int64_t fan = weight->count / layer->out;
        float deviation = sqrtf(2.0f / (float)fan);
        for (int64_t k = 0; k < weight->count; k++)
            weight->values[k] =
                layer->kind == NORMALISATION ? 1.0f : deviation * (float)random_normal(&seed);
    }
}

Net *
net_new(int size, int batch, uint64_t seed)
{
    Net *net = calloc(1, sizeof *net);
    if (net == NULL)
        return NULL;
    net->size = size;
    net->batch = batch;
    net->n_layers = N_LAYERS;
    describe(net);
    net->labels = calloc((size_t)batch, sizeof *net->labels);
    net->block = calloc(place(net, NULL), sizeof(float));
    if (net->labels == NULL || net->block == NULL) {
        net_free(net);
        return NULL;
    }
    place(net, net->block);
    initialise(net, seed);
    return net;
}

void
net_free(Net *net)
{
    if (net == NULL)
        return;
    free(net->labels);
    free(net->block);
    free(net);
}

int
net_get_layers(const Net *net)
{
    return net->n_layers;
}

Parameter *
net_get_parameters(Net *net, int layer, int *ret_n)
{
    *ret_n = 2;
    return net->layers[layer].parameters;
}

int64_t
net_get_operations(const Net *net, int layer)
{
    const Layer *own = &net->layers[layer];
    int64_t values = get_values(own) * net->batch;
    if (own->kind == CONVOLUTION)
        return values * own->in * KERNEL * KERNEL * 2;
    return own->kind == CONNECTION ? values * own->in * 2 : values * 8;
}

float *
net_get_images(Net *net)
{
    return net->images;
}

int *
net_get_labels(Net *net)
{
    return net->labels;
}

/* -- Convolution: for each pair of channels and each of the nine weights, one pass over the rows --
 */

static void
pad(const Layer *layer, const float *image, float *padded)
{
    int size = layer->in_size, wide = size + 2;
    for (int c = 0; c < layer->in; c++)
        for (int y = 0; y < size; y++)
            memcpy(padded + (c * wide + y + 1) * wide + 1, image + (c * size + y) * size,
                   (size_t)size * sizeof *image);
}

static void
convolve(Layer *layer, int image)
{
    int size = layer->out_size, wide = layer->in_size + 2, stride = layer->stride;
    const float *weights = layer->parameters[0].values;
    float *padded = layer->padded + get_padded(layer) * image;

    pad(layer, layer->input + (int64_t)layer->in * layer->in_size * layer->in_size * image, padded);
    for (int o = 0; o < layer->out; o++) {
        float *out = layer->output + get_values(layer) * image + o * size * size;
        for (int k = 0; k < size * size; k++)
            out[k] = layer->parameters[1].values[o];
        for (int k = 0; k < layer->in * KERNEL * KERNEL; k++) {
            float weight = weights[o * layer->in * KERNEL * KERNEL + k];
            int c = k / (KERNEL * KERNEL), dy = k / KERNEL % KERNEL, dx = k % KERNEL;
            for (int y = 0; y < size; y++) {
                const float *row = padded + (c * wide + y * stride + dy) * wide + dx;
                for (int x = 0; x < size; x++)
                    out[y * size + x] += weight * row[x * stride];
            }
        }
    }
}

static void
convolve_back(Layer *layer, int image)
{
    int size = layer->out_size, wide = layer->in_size + 2, stride = layer->stride;
    const float *padded = layer->padded + get_padded(layer) * image;
    float *back = layer->padded_gradient + get_padded(layer) * image;

    memset(back, 0, (size_t)get_padded(layer) * sizeof *back);
    for (int o = 0; o < layer->out; o++) {
        const float *up = layer->gradient + get_values(layer) * image + o * size * size;
        for (int k = 0; k < size * size; k++)
            layer->parameters[1].gradients[o] += up[k];
        for (int k = 0; k < layer->in * KERNEL * KERNEL; k++) {
            int64_t at = o * layer->in * KERNEL * KERNEL + k;
            float weight = layer->parameters[0].values[at], sum = 0;
            int c = k / (KERNEL * KERNEL), dy = k / KERNEL % KERNEL, dx = k % KERNEL;
            for (int y = 0; y < size; y++) {
                int64_t row = (c * wide + y * stride + dy) * wide + dx;
                for (int x = 0; x < size; x++) {
                    sum += up[y * size + x] * padded[row + x * stride];
                    back[row + x * stride] += weight * up[y * size + x];
                }
            }
            layer->parameters[0].gradients[at] += sum;
        }
    }
    if (layer->input_gradient == NULL)
        return;
    for (int c = 0; c < layer->in; c++)
        for (int y = 0; y < layer->in_size; y++)
            memcpy(layer->input_gradient +
                       ((int64_t)(image * layer->in + c) * layer->in_size + y) * layer->in_size,
                   back + (c * wide + y + 1) * wide + 1, (size_t)layer->in_size * sizeof *back);
}

/* -- Group normalisation -- */

static void
normalise(Layer *layer, int image)
{
    int plane = layer->out_size * layer->out_size, count = GROUP * plane;
    for (int g = 0; g < layer->out / GROUP; g++) {
        int64_t base = get_values(layer) * image + (int64_t)g * count;
        double sum = 0, squares = 0;
        for (int k = 0; k < count; k++) {
            sum += layer->input[base + k];
            squares += layer->input[base + k] * layer->input[base + k];
        }
        float mean = (float)(sum / count);
        float spread = 1.0f / sqrtf((float)(squares / count - (double)mean * mean) + EPSILON);
        layer->spread[image * (layer->out / GROUP) + g] = spread;
        for (int k = 0; k < count; k++) {
            int c = g * GROUP + k / plane;
            float value = (layer->input[base + k] - mean) * spread;
            layer->output[base + k] =
                value * layer->parameters[0].values[c] + layer->parameters[1].values[c];
        }
    }
}

static void
normalise_back(Layer *layer, int image)
{
    int plane = layer->out_size * layer->out_size, count = GROUP * plane;
    for (int g = 0; g < layer->out / GROUP; g++) {
        int64_t base = get_values(layer) * image + (int64_t)g * count;
        float spread = layer->spread[image * (layer->out / GROUP) + g];
        double mean = 0, sum = 0, product = 0;
        for (int k = 0; k < count; k++)
            mean += layer->input[base + k];
        mean /= count;
        for (int k = 0; k < count; k++) {
            int c = g * GROUP + k / plane;
            float value = (layer->input[base + k] - (float)mean) * spread;
            float up = layer->gradient[base + k];
            layer->parameters[0].gradients[c] += up * value;
            layer->parameters[1].gradients[c] += up;
            sum += up * layer->parameters[0].values[c];
            product += up * layer->parameters[0].values[c] * value;
        }
        for (int k = 0; k < count; k++) {
            int c = g * GROUP + k / plane;
            float value = (layer->input[base + k] - (float)mean) * spread;
            float up = layer->gradient[base + k] * layer->parameters[0].values[c];
            layer->input_gradient[base + k] =
                spread * (up - (float)(sum / count) - value * (float)(product / count));
        }
    }
}

/* -- Fully connected -- */

static void
connect(Layer *layer, int image)
{
    const float *input = layer->input + (int64_t)layer->in * image;
    for (int o = 0; o < layer->out; o++) {
        const float *weights = layer->parameters[0].values + (int64_t)o * layer->in;
        float sum = layer->parameters[1].values[o];
        for (int i = 0; i < layer->in; i++)
            sum += weights[i] * input[i];
        layer->output[(int64_t)layer->out * image + o] = sum;
    }
}

static void
connect_back(Layer *layer, int image)
{
    const float *input = layer->input + (int64_t)layer->in * image;
    float *back = layer->input_gradient + (int64_t)layer->in * image;

    memset(back, 0, (size_t)layer->in * sizeof *back);
    for (int o = 0; o < layer->out; o++) {
        const float *weights = layer->parameters[0].values + (int64_t)o * layer->in;
        float *gradients = layer->parameters[0].gradients + (int64_t)o * layer->in;
        float up = layer->gradient[(int64_t)layer->out * image + o];
        layer->parameters[1].gradients[o] += up;
        for (int i = 0; i < layer->in; i++) {
            gradients[i] += up * input[i];
            back[i] += up * weights[i];
        }
    }
}

void
net_forward(Net *net, int index)
{
    static void (*const steps[])(Layer *, int) = {convolve, normalise, connect};
    Layer *layer = &net->layers[index];
    int64_t n = get_values(layer) * net->batch;

    for (int image = 0; image < net->batch; image++)
        steps[layer->kind](layer, image);
    for (int64_t k = 0; layer->rectified && k < n; k++)
        if (layer->output[k] < 0)
            layer->output[k] = 0;
}

void
net_backward(Net *net, int index)
{
    static void (*const steps[])(Layer *, int) = {convolve_back, normalise_back, connect_back};
    Layer *layer = &net->layers[index];
    int64_t n = get_values(layer) * net->batch;

    for (int p = 0; p < 2; p++)
        memset(layer->parameters[p].gradients, 0,
               (size_t)layer->parameters[p].count * sizeof(float));
    for (int64_t k = 0; layer->rectified && k < n; k++)
        if (layer->output[k] <= 0)
            layer->gradient[k] = 0;
    for (int image = 0; image < net->batch; image++)
        steps[layer->kind](layer, image);
}

double
net_loss(Net *net)
{
    Layer *last = &net->layers[net->n_layers - 1];
    double loss = 0;

    for (int image = 0; image < net->batch; image++) {
        const float *scores = last->output + (int64_t)image * NET_CLASSES;
        float *gradient = last->gradient + (int64_t)image * NET_CLASSES;
        double top = scores[0], sum = 0;
        for (int c = 1; c < NET_CLASSES; c++)
            top = scores[c] > top ? scores[c] : top;
        for (int c = 0; c < NET_CLASSES; c++)
            sum += exp(scores[c] - top);
        for (int c = 0; c < NET_CLASSES; c++) {
            double share = exp(scores[c] - top) / sum;
            bool right = c == net->labels[image];
            gradient[c] = (float)((share - (right ? 1 : 0)) / net->batch);
            if (right)
                loss -= log(share > 1e-30 ? share : 1e-30);
        }
    }
    return loss / net->batch;
}

void
net_update(Net *net, float rate, float momentum)
{
    for (int i = 0; i < net->n_layers; i++)
        for (int p = 0; p < 2; p++) {
            Parameter *parameter = &net->layers[i].parameters[p];
            for (int64_t k = 0; k < parameter->count; k++) {
                parameter->momenta[k] = momentum * parameter->momenta[k] + parameter->gradients[k];
                parameter->values[k] -= rate * parameter->momenta[k];
            }
        }
}
