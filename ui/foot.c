/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the headline by ui/draw, as the pictures do. Lines too long for the window are wrapped, and
 * the foot grows with them.
 */
#include "ui/foot.h"

enum { MOST_LINES = 8 };

typedef struct Foot {
    GtkDrawingArea *area;
    LsSession *session;
    unsigned int idle;
} Foot;

/* As many as are shown. */
static size_t
get_lines(const Foot *foot, LsDrawLine *lines)
{
    const LsDocument *document = ls_session_get_document(foot->session);
    size_t n = 0;
    const LsHeadlineLine *all = document ? ls_headline_get_lines(document->headline, &n) : NULL;
    n = MIN(n, MOST_LINES);
    for (size_t i = 0; i < n; i++)
        lines[i] = (LsDrawLine){.label = all[i].label, .text = all[i].text};
    return n;
}

static void
draw(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    Foot *foot = user;
    LsDrawLine lines[MOST_LINES];
    size_t n = get_lines(foot, lines);
    if (n > 0)
        ls_draw_headline(ls_session_get_painter(foot->session), cr, lines, n, width, height);
}

static gboolean
fit_height(void *user)
{
    Foot *foot = user;
    LsDrawLine lines[MOST_LINES];
    size_t n = get_lines(foot, lines);
    int width = gtk_widget_get_width(GTK_WIDGET(foot->area)), height = 0;
    if (n > 0 && width > 0)
        height = (int)ls_draw_headline(ls_session_get_painter(foot->session), NULL, lines, n, width,
                                       G_MAXINT16);
    gtk_drawing_area_set_content_height(foot->area, MAX(height, LS_DRAW_HEADLINE_HEIGHT));
    foot->idle = 0;
    return G_SOURCE_REMOVE;
}

/* Later: sizes must not change while sizes are given. */
static void
resized(GtkDrawingArea *area, int width, int height, Foot *foot)
{
    if (!foot->idle)
        foot->idle = g_idle_add(fit_height, foot);
}

static void
changed(LsSession *session, Foot *foot)
{
    resized(foot->area, 0, 0, foot);
    gtk_widget_queue_draw(GTK_WIDGET(foot->area));
}

static void
free_foot(void *user)
{
    Foot *foot = user;
    g_signal_handlers_disconnect_by_data(foot->session, foot);
    if (foot->idle)
        g_source_remove(foot->idle);
    g_object_unref(foot->session);
    g_free(foot);
}

GtkWidget *
ls_foot_new(LsSession *session)
{
    Foot *foot = g_new0(Foot, 1);
    GtkWidget *area = gtk_drawing_area_new();
    foot->area = GTK_DRAWING_AREA(area);
    foot->session = g_object_ref(session);
    gtk_drawing_area_set_content_height(foot->area, LS_DRAW_HEADLINE_HEIGHT);
    gtk_drawing_area_set_draw_func(foot->area, draw, foot, free_foot);
    g_signal_connect(area, "resize", G_CALLBACK(resized), foot);
    g_signal_connect(session, "document", G_CALLBACK(changed), foot);
    g_signal_connect(session, "theme", G_CALLBACK(changed), foot);
    return area;
}
