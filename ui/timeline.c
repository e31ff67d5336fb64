/* SPDX-License-Identifier: Apache-2.0
 *
 * A grid of drawing areas, one for each part, so that the pointer's band repaints itself alone.
 * What is drawn comes from ui/draw; where it stands are the same constants as in the pictures.
 * Input is in timeline-input.c.
 */
#include "ui/timeline-private.h"

G_DEFINE_FINAL_TYPE(LsTimeline, ls_timeline, GTK_TYPE_WIDGET)

static void
draw_steps(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsTimeline *timeline = user;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene)
        return;
    LsPainter *painter = ls_session_get_painter(timeline->session);
    if (scene->step_bars->len > 0)
        ls_draw_step_bars(painter, cr, scene, width, height);
    else
        ls_draw_minimap(painter, cr, scene, width, height);
}

static void
draw_ruler(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsTimeline *timeline = user;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (scene)
        ls_draw_ruler(ls_session_get_painter(timeline->session), cr, scene, height);
}

static void
draw_headers(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsTimeline *timeline = user;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (scene)
        ls_draw_headers(ls_session_get_painter(timeline->session), cr, scene, width);
}

static void
draw_rows(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsTimeline *timeline = user;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (scene)
        ls_draw_timeline(ls_session_get_painter(timeline->session), cr, scene);
}

static void
draw_legend(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsTimeline *timeline = user;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (scene)
        ls_draw_legend(ls_session_get_painter(timeline->session), cr, scene, width, height);
}

static void
draw_overlay(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsTimeline *timeline = user;
    int64_t start_ns, end_ns;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene || scene->view.mode == LS_VIEW_OVERVIEW)
        return;
    LsPainter *painter = ls_session_get_painter(timeline->session);
    if (ls_session_get_marked(timeline->session, &start_ns, &end_ns))
        ls_draw_range(painter, cr, scene, start_ns, end_ns);
    if (timeline->pointer_x >= 0) {
        int64_t at = ls_view_time_at(&scene->view, timeline->pointer_x);
        ls_draw_range(painter, cr, scene, at, at);
    }
}

static void
rows_resized(GtkDrawingArea *area, int width, int height, LsTimeline *timeline)
{
    ls_session_set_size(timeline->session, width, height,
                        gtk_widget_get_scale_factor(GTK_WIDGET(area)));
}

static void
view_changed(LsSession *session, LsTimeline *timeline)
{
    GtkWidget *const parts[] = {timeline->steps, timeline->ruler,  timeline->headers,
                                timeline->rows,  timeline->legend, timeline->overlay};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        gtk_widget_queue_draw(parts[i]);
    const LsScene *scene = ls_session_get_scene(session);
    if (!scene)
        return;
    gtk_label_set_text(GTK_LABEL(timeline->steps_label), scene->steps_label);
    gtk_label_set_text(GTK_LABEL(timeline->ruler_label), scene->ruler_label);
}

static GtkWidget *
new_area(LsTimeline *timeline, GtkDrawingAreaDrawFunc draw, int width, int height)
{
    GtkWidget *area = gtk_drawing_area_new();
    gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, timeline, NULL);
    gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(area), width);
    gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), height);
    return area;
}

static GtkWidget *
new_corner(const char *css_class)
{
    GtkWidget *label = gtk_label_new("");
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_widget_set_margin_start(label, 12);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    gtk_widget_add_css_class(label, css_class);
    return label;
}

static void
add_parts(LsTimeline *timeline)
{
    GtkGrid *grid = GTK_GRID(timeline->grid);
    timeline->steps_label = new_corner("timeline-soft");
    timeline->ruler_label = new_corner("timeline-strong");
    timeline->steps = new_area(timeline, draw_steps, 1, LS_DRAW_STEPS_HEIGHT);
    timeline->ruler = new_area(timeline, draw_ruler, 1, LS_DRAW_RULER_HEIGHT);
    timeline->headers = new_area(timeline, draw_headers, LS_DRAW_HEADER_WIDTH, 1);
    timeline->rows = new_area(timeline, draw_rows, 1, 1);
    timeline->legend = new_area(timeline, draw_legend, 1, LS_DRAW_LEGEND_HEIGHT);
    timeline->overlay = new_area(timeline, draw_overlay, 1, 1);
    gtk_widget_set_can_target(timeline->overlay, FALSE);
    gtk_widget_set_hexpand(timeline->rows, TRUE);
    gtk_widget_set_vexpand(timeline->rows, TRUE);

    GtkWidget *stacked = gtk_overlay_new();
    gtk_overlay_set_child(GTK_OVERLAY(stacked), timeline->rows);
    gtk_overlay_add_overlay(GTK_OVERLAY(stacked), timeline->overlay);

    gtk_grid_attach(grid, timeline->steps_label, 0, 0, 1, 1);
    gtk_grid_attach(grid, timeline->steps, 1, 0, 1, 1);
    gtk_grid_attach(grid, timeline->ruler_label, 0, 1, 1, 1);
    gtk_grid_attach(grid, timeline->ruler, 1, 1, 1, 1);
    gtk_grid_attach(grid, timeline->headers, 0, 2, 1, 1);
    gtk_grid_attach(grid, stacked, 1, 2, 1, 1);
    gtk_grid_attach(grid, timeline->legend, 1, 3, 1, 1);
    g_signal_connect(timeline->rows, "resize", G_CALLBACK(rows_resized), timeline);
}

static void
ls_timeline_dispose(GObject *object)
{
    LsTimeline *timeline = LS_TIMELINE(object);
    if (timeline->session)
        g_signal_handlers_disconnect_by_data(timeline->session, timeline);
    g_clear_object(&timeline->session);
    g_clear_pointer(&timeline->grid, gtk_widget_unparent);
    G_OBJECT_CLASS(ls_timeline_parent_class)->dispose(object);
}

static void
ls_timeline_class_init(LsTimelineClass *klass)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(klass);

    G_OBJECT_CLASS(klass)->dispose = ls_timeline_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_css_name(widget_class, "timeline");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ls_timeline_init(LsTimeline *timeline)
{
    timeline->pointer_x = -1;
    timeline->grid = gtk_grid_new();
    gtk_widget_set_parent(timeline->grid, GTK_WIDGET(timeline));
    gtk_widget_set_focusable(GTK_WIDGET(timeline), TRUE);
    add_parts(timeline);
}

GtkWidget *
ls_timeline_new(LsSession *session)
{
    LsTimeline *timeline = g_object_new(LS_TYPE_TIMELINE, NULL);
    timeline->session = g_object_ref(session);
    ls_timeline_add_input(timeline);
    g_signal_connect(session, "view", G_CALLBACK(view_changed), timeline);
    g_signal_connect(session, "theme", G_CALLBACK(view_changed), timeline);
    gtk_accessible_update_property(GTK_ACCESSIBLE(timeline), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   "Timeline", -1);
    return GTK_WIDGET(timeline);
}

double
ls_timeline_get_pointer_x(LsTimeline *timeline)
{
    return timeline->pointer_x;
}
