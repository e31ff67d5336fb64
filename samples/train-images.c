/* SPDX-License-Identifier: Apache-2.0
 * samples/train-images.c: see train-images.h. */
#include "samples/train-images.h"

#include <math.h>

#include "samples/train-net.h"
#include "samples/train-random.h"

int
image_make(int64_t number, int size, uint64_t seed, float *values)
{
    uint64_t state = seed * 1000003u + (uint64_t)number;
    int kind = (int)(random_next(&state) % NET_CLASSES);
    double angle = M_PI * kind / NET_CLASSES;
    double shift = 0.5 * M_PI * random_unit(&state);
    double waves = 2 * M_PI * 2.5 / size;

    for (int c = 0; c < 3; c++)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++) {
                double at = waves * (x * cos(angle) + y * sin(angle)) + shift;
                double colour = 0.5 + 0.5 * cos(2.1 * c + kind);
                *values++ = (float)(colour * sin(at) + 0.3 * random_normal(&state));
            }
    return kind;
}
