/* SPDX-License-Identifier: Apache-2.0
 *
 * Mouse and wheel, after Perfetto and chrome://tracing: drag marks a range, Shift+drag and the
 * middle button pan, Ctrl+wheel zooms at the pointer, the wheel scrolls, a click selects, a double
 * click shows. Keys are actions of the window (window-actions.c).
 */
#include <math.h>

#include "ui/timeline-private.h"

#include "layout/hit.h"

#define WHEEL_PIXELS 60.0 /* one notch */
#define CLICK_PIXELS 3.0  /* a click moves no further */

static bool
is_held(GtkEventController *controller, GdkModifierType modifier)
{
    return (gtk_event_controller_get_current_event_state(controller) & modifier) != 0;
}

static void
pointer_moved(GtkEventControllerMotion *controller, double x, double y, LsTimeline *timeline)
{
    timeline->pointer_x = x;
    timeline->pointer_y = y;
    gtk_widget_queue_draw(timeline->overlay);
}

static void
pointer_left(GtkEventControllerMotion *controller, LsTimeline *timeline)
{
    timeline->pointer_x = -1;
    gtk_widget_queue_draw(timeline->overlay);
}

static gboolean
wheel_turned(GtkEventControllerScroll *controller, double dx, double dy, LsTimeline *timeline)
{
    GtkEventController *base = GTK_EVENT_CONTROLLER(controller);
    if (is_held(base, GDK_CONTROL_MASK))
        ls_session_zoom(timeline->session, pow(1.25, dy), timeline->pointer_x);
    else if (is_held(base, GDK_SHIFT_MASK))
        ls_session_pan(timeline->session, (dx + dy) * WHEEL_PIXELS);
    else {
        if (dx != 0)
            ls_session_pan(timeline->session, dx * WHEEL_PIXELS);
        if (dy != 0)
            ls_session_scroll(timeline->session, dy * WHEEL_PIXELS);
    }
    return TRUE;
}

static void
drag_began(GtkGestureDrag *gesture, double x, double y, LsTimeline *timeline)
{
    unsigned int button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture));
    timeline->panning =
        button == GDK_BUTTON_MIDDLE || is_held(GTK_EVENT_CONTROLLER(gesture), GDK_SHIFT_MASK);
    timeline->dragged = false;
    timeline->drag_x = timeline->drag_y = 0;
    gtk_widget_grab_focus(GTK_WIDGET(timeline));
}

static void
drag_moved(GtkGestureDrag *gesture, double dx, double dy, LsTimeline *timeline)
{
    double x, y;
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene || !gtk_gesture_drag_get_start_point(gesture, &x, &y))
        return;
    if (hypot(dx, dy) < CLICK_PIXELS && !timeline->dragged)
        return;
    timeline->dragged = true;
    if (timeline->panning) {
        ls_session_pan(timeline->session, timeline->drag_x - dx);
        ls_session_scroll(timeline->session, timeline->drag_y - dy);
    } else {
        ls_session_set_marked(timeline->session, ls_view_time_at(&scene->view, x),
                              ls_view_time_at(&scene->view, x + dx));
    }
    timeline->drag_x = dx;
    timeline->drag_y = dy;
}

static void
clicked(GtkGestureClick *gesture, int n_press, double x, double y, LsTimeline *timeline)
{
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene || timeline->dragged)
        return;
    LsPick pick = ls_hit_find(scene, x, y);
    ls_session_set_marked(timeline->session, 0, 0);
    ls_session_select(timeline->session, pick.kind == LS_PICK_NONE ? NULL : &pick);
    const LsInspect *inspect = ls_session_get_inspect(timeline->session);
    if (n_press == 2 && inspect)
        ls_session_show(timeline->session, inspect->start_ns, inspect->end_ns, 0.1);
}

static void
header_clicked(GtkGestureClick *gesture, int n_press, double x, double y, LsTimeline *timeline)
{
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene)
        return;
    LsPick pick = ls_hit_find_header(scene, y);
    gtk_widget_grab_focus(GTK_WIDGET(timeline));
    ls_session_select(timeline->session, pick.kind == LS_PICK_NONE ? NULL : &pick);
    if (n_press == 2 && pick.kind == LS_PICK_RANK)
        ls_session_fold(timeline->session, pick.rank);
}

static void
step_clicked(GtkGestureClick *gesture, int n_press, double x, double y, LsTimeline *timeline)
{
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene)
        return;
    gtk_widget_grab_focus(GTK_WIDGET(timeline));
    LsPick pick = ls_hit_find_step_bar(scene, x, gtk_widget_get_width(timeline->steps));
    if (pick.kind == LS_PICK_STEP)
        ls_session_show_step(timeline->session, (int)pick.index);
}

static gboolean
tooltip_asked(GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip,
              LsTimeline *timeline)
{
    const LsScene *scene = ls_session_get_scene(timeline->session);
    if (!scene || keyboard)
        return FALSE;
    LsPick pick = ls_hit_find(scene, x, y);
    g_autofree char *line = ls_inspect_format_line(scene->model, &pick);
    if (!line)
        return FALSE;
    GdkRectangle place = {.x = x, .y = y, .width = 1, .height = 1};
    gtk_tooltip_set_tip_area(tooltip, &place);
    gtk_tooltip_set_text(tooltip, line);
    return TRUE;
}

static void
add_click(GtkWidget *widget, GCallback pressed, const char *signal, LsTimeline *timeline)
{
    GtkGesture *click = gtk_gesture_click_new();
    g_signal_connect(click, signal, pressed, timeline);
    gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
}

static GtkEventController *
new_wheel(LsTimeline *timeline)
{
    GtkEventController *wheel =
        gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
    g_signal_connect(wheel, "scroll", G_CALLBACK(wheel_turned), timeline);
    return wheel;
}

void
ls_timeline_add_input(LsTimeline *timeline)
{
    GtkEventController *motion = gtk_event_controller_motion_new();
    g_signal_connect(motion, "motion", G_CALLBACK(pointer_moved), timeline);
    g_signal_connect(motion, "enter", G_CALLBACK(pointer_moved), timeline);
    g_signal_connect(motion, "leave", G_CALLBACK(pointer_left), timeline);
    gtk_widget_add_controller(timeline->rows, motion);

    GtkGesture *drag = gtk_gesture_drag_new();
    gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(drag), 0);
    g_signal_connect(drag, "drag-begin", G_CALLBACK(drag_began), timeline);
    g_signal_connect(drag, "drag-update", G_CALLBACK(drag_moved), timeline);
    gtk_widget_add_controller(timeline->rows, GTK_EVENT_CONTROLLER(drag));

    gtk_widget_add_controller(timeline->rows, new_wheel(timeline));
    gtk_widget_add_controller(timeline->headers, new_wheel(timeline));
    add_click(timeline->rows, G_CALLBACK(clicked), "released", timeline);
    add_click(timeline->headers, G_CALLBACK(header_clicked), "pressed", timeline);
    add_click(timeline->steps, G_CALLBACK(step_clicked), "pressed", timeline);

    gtk_widget_set_has_tooltip(timeline->rows, TRUE);
    g_signal_connect(timeline->rows, "query-tooltip", G_CALLBACK(tooltip_asked), timeline);
}
