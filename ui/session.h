/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/session.h: the shared state of one open run: document, view, selection, marked range. Views
 * know the session, not each other: they change it and listen to it. Main thread only.
 *
 * Signals (no arguments): "document" another run; "view" what is seen changed; "selection" what is
 * selected changed; "theme".
 */
#pragma once

#include <glib-object.h>

#include "layout/inspect.h"
#include "layout/scene.h"
#include "ui/document.h"
#include "ui/draw/draw.h"

#define LS_TYPE_SESSION (ls_session_get_type())
G_DECLARE_FINAL_TYPE(LsSession, ls_session, LS, SESSION, GObject)

LsSession *ls_session_new(void);

/* Takes the document; NULL closes. The view starts on the slowest steady step. */
void ls_session_set_document(LsSession *session, LsDocument *document);
const LsDocument *ls_session_get_document(LsSession *session); /* NULL: none, or an empty one */

/* The scene of the present view, laid out at the first call after a change: many changes between
 * two frames cost one layout. NULL without a document. */
const LsScene *ls_session_get_scene(LsSession *session);
/* One painter for all parts, in the present theme. */
LsPainter *ls_session_get_painter(LsSession *session);

void ls_session_set_theme(LsSession *session, const LsTheme *theme);

/* -- View: each emits "view" -- */
void ls_session_set_size(LsSession *session, double width, double height, int scale);
void ls_session_set_mode(LsSession *session, LsViewMode mode);
LsViewMode ls_session_get_mode(LsSession *session);
void ls_session_zoom(LsSession *session, double factor, double x); /* x < 0: the middle */
void ls_session_pan(LsSession *session, double dx);
void ls_session_scroll(LsSession *session, double dy);
void ls_session_show(LsSession *session, int64_t start_ns, int64_t end_ns, double margin);
void ls_session_show_all(LsSession *session);
void ls_session_show_start(LsSession *session); /* the view that the run opened with */
void ls_session_show_step(LsSession *session, int step);
void ls_session_next_step(LsSession *session, int direction);
void ls_session_fold(LsSession *session, uint32_t rank); /* the next folding; LS_NONE: of all */
void ls_session_colour_by(LsSession *session, LsColourBy colour_by);

/* -- Selection -- */
void ls_session_select(LsSession *session, const LsPick *pick); /* NULL: nothing */
/* Owned by the session, until the selection changes; NULL: nothing selected. */
const LsInspect *ls_session_get_inspect(LsSession *session);
void ls_session_select_next(LsSession *session, int direction); /* on the same row */
/* Moves the view just so far that the selection is in sight. */
void ls_session_reveal(LsSession *session);
/* A range of time marked by the mouse; start == end: none. */
void ls_session_set_marked(LsSession *session, int64_t start_ns, int64_t end_ns);
bool ls_session_get_marked(LsSession *session, int64_t *ret_start_ns, int64_t *ret_end_ns);
