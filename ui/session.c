/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the state and tells of changes; decides nothing about drawing. Layout is lazy: a change
 * only marks the scene stale.
 */
#include "ui/session.h"

#include <string.h>

#include "layout/hit.h"

struct _LsSession {
    GObject parent;
    LsDocument *document;
    LsView view;
    bool has_view;
    bool untouched; /* the view is still the one it opened with */
    double width, height;
    int scale;
    LsScene *scene;
    bool stale;
    LsPainter *painter;
    const LsTheme *theme;
    LsInspect *inspect;
    int64_t marked_start_ns, marked_end_ns;
};

G_DEFINE_FINAL_TYPE(LsSession, ls_session, G_TYPE_OBJECT)

enum { SIGNAL_DOCUMENT, SIGNAL_VIEW, SIGNAL_SELECTION, SIGNAL_THEME, N_SIGNALS };
static unsigned int signals[N_SIGNALS];

static void
emit(LsSession *session, int signal)
{
    session->stale = true;
    g_signal_emit(session, signals[signal], 0);
}

static void
forget_document(LsSession *session)
{
    g_clear_pointer(&session->inspect, ls_inspect_free);
    g_clear_pointer(&session->scene, ls_scene_free);
    if (session->has_view)
        ls_view_clear(&session->view);
    session->has_view = false;
    session->marked_start_ns = session->marked_end_ns = 0;
    g_clear_pointer(&session->document, ls_document_free);
}

static void
ls_session_finalize(GObject *object)
{
    LsSession *session = LS_SESSION(object);
    forget_document(session);
    g_clear_pointer(&session->painter, ls_painter_free);
    G_OBJECT_CLASS(ls_session_parent_class)->finalize(object);
}

static void
ls_session_class_init(LsSessionClass *klass)
{
    static const char *const names[N_SIGNALS] = {"document", "view", "selection", "theme"};

    G_OBJECT_CLASS(klass)->finalize = ls_session_finalize;
    for (int i = 0; i < N_SIGNALS; i++)
        signals[i] = g_signal_new(names[i], LS_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 0);
}

static void
ls_session_init(LsSession *session)
{
    session->width = 1000;
    session->height = 600;
    session->scale = 1;
    session->theme = ls_theme_find("light");
    session->painter = ls_painter_new(session->theme);
}

LsSession *
ls_session_new(void)
{
    return g_object_new(LS_TYPE_SESSION, NULL);
}

static void
start_view(LsSession *session)
{
    if (session->has_view)
        ls_view_clear(&session->view);
    ls_view_init(&session->view, session->document->model, session->width, session->height,
                 session->scale);
    session->has_view = true;
    session->untouched = true;
}

/* Of a view that somebody moved: nothing but itself follows. */
static void
touch(LsSession *session)
{
    session->untouched = false;
    emit(session, SIGNAL_VIEW);
}

void
ls_session_set_document(LsSession *session, LsDocument *document)
{
    forget_document(session);
    session->document = document;
    if (document && !ls_document_is_empty(document)) {
        start_view(session);
        session->scene = ls_scene_new(document->model);
    }
    emit(session, SIGNAL_DOCUMENT);
    emit(session, SIGNAL_SELECTION);
    emit(session, SIGNAL_VIEW);
}

const LsDocument *
ls_session_get_document(LsSession *session)
{
    return session->has_view ? session->document : NULL;
}

const LsScene *
ls_session_get_scene(LsSession *session)
{
    if (!session->has_view)
        return NULL;
    if (session->stale) {
        ls_scene_update(session->scene, &session->view);
        session->stale = false;
    }
    return session->scene;
}

LsPainter *
ls_session_get_painter(LsSession *session)
{
    return session->painter;
}

void
ls_session_set_theme(LsSession *session, const LsTheme *theme)
{
    if (theme == session->theme)
        return;
    session->theme = theme;
    ls_painter_set_theme(session->painter, theme);
    emit(session, SIGNAL_THEME);
}

void
ls_session_set_size(LsSession *session, double width, double height, int scale)
{
    if (width < 1 || height < 1)
        return;
    if (width == session->width && height == session->height && scale == session->scale)
        return;
    session->width = width;
    session->height = height;
    session->scale = scale;
    if (!session->has_view)
        return;
    /* The folding that fits was found for another height. */
    if (session->untouched)
        start_view(session);
    else
        ls_view_set_size(&session->view, width, height, scale);
    emit(session, SIGNAL_VIEW);
}

void
ls_session_set_mode(LsSession *session, LsViewMode mode)
{
    if (!session->has_view || session->view.mode == mode)
        return;
    ls_view_set_mode(&session->view, session->document->model, mode);
    touch(session);
}

LsViewMode
ls_session_get_mode(LsSession *session)
{
    return session->has_view ? session->view.mode : LS_VIEW_RANKS;
}

void
ls_session_zoom(LsSession *session, double factor, double x)
{
    if (!session->has_view)
        return;
    ls_view_zoom(&session->view, session->document->model, factor,
                 x < 0 ? session->view.width / 2 : x);
    touch(session);
}

void
ls_session_pan(LsSession *session, double dx)
{
    if (!session->has_view)
        return;
    ls_view_pan(&session->view, session->document->model, dx);
    touch(session);
}

void
ls_session_scroll(LsSession *session, double dy)
{
    const LsScene *scene = ls_session_get_scene(session);
    if (!scene)
        return;
    ls_view_scroll(&session->view, dy, scene->content_height);
    touch(session);
}

void
ls_session_show(LsSession *session, int64_t start_ns, int64_t end_ns, double margin)
{
    if (!session->has_view || end_ns <= start_ns)
        return;
    ls_view_show(&session->view, start_ns, end_ns, margin);
    touch(session);
}

void
ls_session_show_all(LsSession *session)
{
    if (!session->has_view)
        return;
    ls_view_show_all(&session->view, session->document->model);
    touch(session);
}

void
ls_session_show_start(LsSession *session)
{
    if (!session->has_view)
        return;
    start_view(session);
    ls_session_select(session, NULL);
}

void
ls_session_show_step(LsSession *session, int step)
{
    size_t n_steps;
    if (!session->has_view)
        return;
    ls_model_get_steps(session->document->model, &n_steps);
    if (step < 0 || (size_t)step >= n_steps)
        return;
    ls_view_show_step(&session->view, session->document->model, step);
    touch(session);
}

void
ls_session_next_step(LsSession *session, int direction)
{
    if (!session->has_view)
        return;
    const LsView *view = &session->view;
    int step = view->step >= 0
                   ? (int)view->step
                   : ls_model_find_step_at(session->document->model,
                                           view->start_ns + (view->end_ns - view->start_ns) / 2);
    ls_session_show_step(session, step + direction);
}

void
ls_session_fold(LsSession *session, uint32_t rank)
{
    if (!session->has_view)
        return;
    LsView *view = &session->view;
    if (rank == LS_NONE) {
        view->fold = (LsFold)((view->fold + 1) % LS_N_FOLDS);
        memset(view->folds, LS_N_FOLDS, view->n_ranks);
    } else if (rank < view->n_ranks) {
        int now = view->folds[rank] == LS_N_FOLDS ? (int)view->fold : view->folds[rank];
        ls_view_fold_rank(view, rank, (LsFold)((now + 1) % LS_N_FOLDS));
    }
    touch(session);
}

void
ls_session_colour_by(LsSession *session, LsColourBy colour_by)
{
    if (!session->has_view)
        return;
    session->view.colour_by = colour_by;
    touch(session);
}

void
ls_session_select(LsSession *session, const LsPick *pick)
{
    static const LsPick none = {.kind = LS_PICK_NONE, .rank = LS_NONE, .track = LS_NONE};

    if (!session->has_view)
        return;
    session->view.selected = pick ? *pick : none;
    g_clear_pointer(&session->inspect, ls_inspect_free);
    session->inspect = ls_inspect_new(session->document->model, &session->view.selected);
    emit(session, SIGNAL_SELECTION);
    emit(session, SIGNAL_VIEW);
}

static const LsPick *
get_selected(LsSession *session)
{
    if (!session->has_view || session->view.selected.kind == LS_PICK_NONE)
        return NULL;
    return &session->view.selected;
}

const LsInspect *
ls_session_get_inspect(LsSession *session)
{
    return session->inspect;
}

void
ls_session_select_next(LsSession *session, int direction)
{
    const LsPick *selected = get_selected(session);
    if (!selected)
        return;
    LsPick next = ls_hit_step(session->document->model, selected, direction);
    if (next.kind == LS_PICK_NONE)
        return;
    ls_session_select(session, &next);
    ls_session_reveal(session);
}

void
ls_session_reveal(LsSession *session)
{
    const LsInspect *inspect = session->inspect;
    if (!session->has_view || !inspect || inspect->end_ns < inspect->start_ns)
        return;
    LsView *view = &session->view;
    int64_t visible = view->end_ns - view->start_ns;
    if (inspect->start_ns >= view->start_ns && inspect->start_ns < view->end_ns)
        return;
    int64_t start = inspect->start_ns - visible / 4;
    ls_view_show(view, start, start + visible, 0);
    touch(session);
}

void
ls_session_set_marked(LsSession *session, int64_t start_ns, int64_t end_ns)
{
    session->marked_start_ns = MIN(start_ns, end_ns);
    session->marked_end_ns = MAX(start_ns, end_ns);
    g_signal_emit(session, signals[SIGNAL_VIEW], 0);
}

bool
ls_session_get_marked(LsSession *session, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    if (session->marked_end_ns <= session->marked_start_ns)
        return false;
    *ret_start_ns = session->marked_start_ns;
    *ret_end_ns = session->marked_end_ns;
    return true;
}
