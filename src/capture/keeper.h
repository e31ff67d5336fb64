/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/keeper.h: the last thread of a process whose main thread has left.
 */
#pragma once

/* A thread of the host ends. Makes the keeper, once, if main is it or has left by pthread_exit(). */
void ls_keeper_look(void);
