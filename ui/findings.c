/* SPDX-License-Identifier: Apache-2.0
 *
 * The list is made when it is opened the first time: a damaged run of thousands of ranks has many.
 */
#include "ui/findings.h"

#include "base/units.h"

#define SHOWN_MAX 500

static GtkWidget *
new_row(const LsFinding *finding, int64_t first_ns)
{
    static const char *const severity[] = {"note", "warning", "error"};
    GString *text = g_string_new(severity[MIN(finding->severity, LS_FAULT)]);
    if (finding->rank >= 0)
        g_string_append_printf(text, " · rank %d", finding->rank);
    if (finding->file) {
        g_autofree char *name = g_filename_display_basename(finding->file);
        g_string_append_printf(text, " · %s", name);
    }
    if (finding->offset >= 0)
        g_string_append_printf(text, " · byte %" G_GINT64_FORMAT, finding->offset);
    if (finding->time_ns != LS_TIME_NONE) {
        g_autofree char *at = ls_format_ns(finding->time_ns - first_ns);
        g_string_append_printf(text, " · at %s", at);
    }

    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
    GtkWidget *place = gtk_label_new(text->str);
    GtkWidget *sentence = gtk_label_new(finding->text);
    gtk_widget_add_css_class(place,
                             finding->severity == LS_FAULT ? "finding-error" : "timeline-soft");
    gtk_label_set_xalign(GTK_LABEL(place), 0);
    gtk_label_set_xalign(GTK_LABEL(sentence), 0);
    gtk_label_set_wrap(GTK_LABEL(sentence), TRUE);
    gtk_label_set_selectable(GTK_LABEL(sentence), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(sentence), 64);
    gtk_box_append(GTK_BOX(row), place);
    gtk_box_append(GTK_BOX(row), sentence);
    g_string_free(text, TRUE);
    return row;
}

static void
fill(GtkMenuButton *button, void *user)
{
    const LsTrace *trace = g_object_get_data(G_OBJECT(button), "trace");
    size_t n;
    const LsFinding *findings = ls_trace_get_findings(trace, &n);
    GtkWidget *list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
    /* The worst first. */
    size_t shown = 0;
    for (int severity = LS_FAULT; severity >= LS_NOTE; severity--)
        for (size_t i = 0; i < n && shown < SHOWN_MAX; i++)
            if ((int)findings[i].severity == severity) {
                gtk_box_append(GTK_BOX(list), new_row(&findings[i], ls_trace_get_first_ns(trace)));
                shown++;
            }
    if (shown < n) {
        g_autofree char *more = g_strdup_printf("… %zu more: lockstep check lists all", n - shown);
        gtk_box_append(GTK_BOX(list), gtk_label_new(more));
    }
    GtkWidget *scroll = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER,
                                   GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scroll), TRUE);
    gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scroll), 500);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), list);
    GtkWidget *popover = gtk_popover_new();
    gtk_popover_set_child(GTK_POPOVER(popover), scroll);
    gtk_menu_button_set_popover(button, popover);
}

GtkWidget *
ls_findings_new(void)
{
    GtkWidget *button = gtk_menu_button_new();
    gtk_widget_set_visible(button, FALSE);
    return button;
}

void
ls_findings_set(GtkWidget *button, LsTrace *trace)
{
    size_t n, errors = 0;
    const LsFinding *findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++)
        errors += findings[i].severity == LS_FAULT;
    g_autofree char *label = g_strdup_printf("%zu finding%s", n, n == 1 ? "" : "s");
    gtk_menu_button_set_label(GTK_MENU_BUTTON(button), label);
    gtk_widget_set_sensitive(button, n > 0);
    if (errors > 0)
        gtk_widget_add_css_class(button, "has-errors");
    else
        gtk_widget_remove_css_class(button, "has-errors");
    g_object_set_data_full(G_OBJECT(button), "trace", ls_trace_ref(trace),
                           (GDestroyNotify)ls_trace_unref);
    gtk_menu_button_set_popover(GTK_MENU_BUTTON(button), NULL);
    gtk_menu_button_set_create_popup_func(GTK_MENU_BUTTON(button), fill, NULL, NULL);
}
