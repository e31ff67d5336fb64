/* SPDX-License-Identifier: Apache-2.0
 * samples/train-images.h: pictures made up on the spot, of as many kinds as the network has
 * classes. */
#pragma once

#include <stdint.h>

/* The image of that number: 3 * size * size values; returns its class. Waves whose direction and
 * colour tell the class, shifted at random, under noise. */
int image_make(int64_t number, int size, uint64_t seed, float *values);
