/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/hit.h: from a pixel to what is drawn there: the inverse of items. (x, y) are logical
 * pixels in the timeline area (scrolled as the scene's view is).
 */
#pragma once

#include "layout/scene.h"

/* kind LS_PICK_NONE (with time and rank) where nothing is drawn. Of a folded column: its span whose
 * time is next to x. */
LsPick ls_hit_find(const LsScene *scene, double x, double y);
/* A row's header at y: LS_PICK_RANK, or LS_PICK_USE of its tensor. */
LsPick ls_hit_find_header(const LsScene *scene, double y);
/* The strip of steps, x of its width: LS_PICK_STEP. */
LsPick ls_hit_find_step_bar(const LsScene *scene, double x, double width);
/* The next (+1) or previous (-1) thing on the same row as `from`; kind NONE at the end. */
LsPick ls_hit_step(const LsModel *model, const LsPick *from, int direction);
