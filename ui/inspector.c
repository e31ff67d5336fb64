/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws layout/inspect by ui/draw, as the pictures do; below it the actions as links. Without a
 * selection it says how to make one.
 */
#include "ui/inspector.h"

struct _LsInspector {
    GtkWidget parent;
    LsSession *session;
    GtkWidget *box, *hint, *area, *links;
    int needed; /* height that the last drawing took */
};

enum { LINKS_PER_LINE = 3 };

G_DEFINE_FINAL_TYPE(LsInspector, ls_inspector, GTK_TYPE_WIDGET)

static gboolean
resize_area(void *user)
{
    LsInspector *inspector = user;
    if (inspector->area)
        gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(inspector->area), inspector->needed);
    g_object_unref(inspector);
    return G_SOURCE_REMOVE;
}

static void
draw(GtkDrawingArea *area, cairo_t *cr, int width, int height, void *user)
{
    LsInspector *inspector = user;
    const LsInspect *inspect = ls_session_get_inspect(inspector->session);
    if (!inspect)
        return;
    double taken =
        ls_draw_inspector(ls_session_get_painter(inspector->session), cr, inspect, width, 4000);
    int needed = (int)(taken + 0.5);
    if (needed == inspector->needed)
        return;
    /* Only drawing knows how the sentence wraps; sizes must not change while drawing. */
    inspector->needed = needed;
    g_idle_add(resize_area, g_object_ref(inspector));
}

static void
copy_place(LsInspector *inspector, const LsInspect *inspect)
{
    g_autofree char *text =
        g_strdup_printf("%s at %" G_GINT64_FORMAT " ns", inspect->title, inspect->start_ns);
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(inspector)), text);
}

static void
link_clicked(GtkButton *button, LsInspector *inspector)
{
    const LsInspect *inspect = ls_session_get_inspect(inspector->session);
    size_t index = GPOINTER_TO_SIZE(g_object_get_data(G_OBJECT(button), "link"));
    if (!inspect || index >= inspect->links->len)
        return;
    const LsInspectLink *link = &g_array_index(inspect->links, LsInspectLink, index);
    LsPick rank = {.kind = LS_PICK_RANK, .rank = (uint32_t)link->target, .track = LS_NONE};
    rank.index = link->target;

    switch (link->action) {
    case LS_ACT_GO_TO_RANK:
        ls_session_select(inspector->session, &rank);
        break;
    case LS_ACT_GO_TO_STEP:
        ls_session_show_step(inspector->session, (int)link->target);
        break;
    case LS_ACT_SHOW:
        ls_session_show(inspector->session, inspect->start_ns, inspect->end_ns, 0.1);
        break;
    case LS_ACT_LIFE_LINE:
        ls_session_select_next(inspector->session, 1);
        break;
    case LS_ACT_COPY_PLACE:
        copy_place(inspector, inspect);
        break;
    }
}

static void
fill_links(LsInspector *inspector, const LsInspect *inspect)
{
    GtkWidget *child;
    while ((child = gtk_widget_get_first_child(inspector->links)))
        gtk_flow_box_remove(GTK_FLOW_BOX(inspector->links), child);
    for (unsigned int i = 0; inspect && i < inspect->links->len; i++) {
        const LsInspectLink *link = &g_array_index(inspect->links, LsInspectLink, i);
        GtkWidget *button = gtk_button_new_with_label(link->label);
        gtk_widget_set_halign(button, GTK_ALIGN_START);
        gtk_widget_set_focus_on_click(button, FALSE); /* keys go on to the timeline */
        gtk_widget_add_css_class(button, "flat");
        gtk_widget_add_css_class(button, "inspector-link");
        g_object_set_data(G_OBJECT(button), "link", GSIZE_TO_POINTER((size_t)i));
        g_signal_connect(button, "clicked", G_CALLBACK(link_clicked), inspector);
        gtk_flow_box_insert(GTK_FLOW_BOX(inspector->links), button, -1);
    }
}

static void
selection_changed(LsSession *session, LsInspector *inspector)
{
    const LsInspect *inspect = ls_session_get_inspect(session);
    gtk_widget_set_visible(inspector->hint, inspect == NULL);
    gtk_widget_set_visible(inspector->area, inspect != NULL);
    fill_links(inspector, inspect);
    gtk_widget_queue_draw(inspector->area);
}

static void
theme_changed(LsSession *session, LsInspector *inspector)
{
    gtk_widget_queue_draw(inspector->area);
}

static void
ls_inspector_dispose(GObject *object)
{
    LsInspector *inspector = LS_INSPECTOR(object);
    if (inspector->session)
        g_signal_handlers_disconnect_by_data(inspector->session, inspector);
    g_clear_object(&inspector->session);
    inspector->area = NULL;
    g_clear_pointer(&inspector->box, gtk_widget_unparent);
    G_OBJECT_CLASS(ls_inspector_parent_class)->dispose(object);
}

static void
ls_inspector_class_init(LsInspectorClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = ls_inspector_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_css_name(GTK_WIDGET_CLASS(klass), "inspector");
}

static void
ls_inspector_init(LsInspector *inspector)
{
    inspector->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_widget_set_parent(inspector->box, GTK_WIDGET(inspector));
    inspector->hint = gtk_label_new("Click a bar to see what it is, who arrived when and where its "
                                    "time went.\n\nDrag to mark a range, F to zoom to it; "
                                    "W A S D to move; ? for all keys.");
    gtk_label_set_wrap(GTK_LABEL(inspector->hint), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(inspector->hint), 30);
    gtk_label_set_xalign(GTK_LABEL(inspector->hint), 0);
    gtk_widget_add_css_class(inspector->hint, "timeline-soft");
    gtk_widget_add_css_class(inspector->hint, "inspector-hint");
    inspector->area = gtk_drawing_area_new();
    gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(inspector->area), draw, inspector, NULL);
    gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(inspector->area),
                                       LS_DRAW_INSPECTOR_WIDTH - 20);
    gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(inspector->area), 400);
    gtk_widget_set_visible(inspector->area, FALSE);
    /* On as many lines as the panel's width asks for: it must not grow with its links. */
    inspector->links = gtk_flow_box_new();
    gtk_flow_box_set_selection_mode(GTK_FLOW_BOX(inspector->links), GTK_SELECTION_NONE);
    gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(inspector->links), LINKS_PER_LINE);
    gtk_widget_set_margin_start(inspector->links, 8);
    gtk_box_append(GTK_BOX(inspector->box), inspector->hint);
    gtk_box_append(GTK_BOX(inspector->box), inspector->area);
    gtk_box_append(GTK_BOX(inspector->box), inspector->links);
}

GtkWidget *
ls_inspector_new(LsSession *session)
{
    LsInspector *inspector = g_object_new(LS_TYPE_INSPECTOR, NULL);
    inspector->session = g_object_ref(session);
    g_signal_connect(session, "selection", G_CALLBACK(selection_changed), inspector);
    g_signal_connect(session, "theme", G_CALLBACK(theme_changed), inspector);
    return GTK_WIDGET(inspector);
}
