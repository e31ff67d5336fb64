/* SPDX-License-Identifier: Apache-2.0
 *
 * Three quiet pages of the same shape: a title, a sentence, buttons.
 */
#include "ui/pages.h"

static GtkWidget *
new_text(const char *text, const char *css_class)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
    gtk_label_set_max_width_chars(GTK_LABEL(label), 70);
    gtk_label_set_selectable(GTK_LABEL(label), FALSE);
    gtk_widget_add_css_class(label, css_class);
    return label;
}

static GtkWidget *
new_button(const char *label, const char *action)
{
    GtkWidget *button = gtk_button_new_with_label(label);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
    gtk_widget_set_halign(button, GTK_ALIGN_CENTER);
    return button;
}

static GtkWidget *
new_page(GtkStack *stack, const char *name)
{
    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 14);
    gtk_widget_set_valign(page, GTK_ALIGN_CENTER);
    gtk_widget_set_halign(page, GTK_ALIGN_CENTER);
    gtk_stack_add_named(stack, page, name);
    return page;
}

static void
add_open_buttons(GtkWidget *page)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    gtk_widget_set_halign(box, GTK_ALIGN_CENTER);
    gtk_box_append(GTK_BOX(box), new_button("Open a run's folder…", "win.open"));
    gtk_box_append(GTK_BOX(box), new_button("Open a file…", "win.open-file"));
    gtk_box_append(GTK_BOX(page), box);
}

void
ls_pages_add(LsPages *pages, GtkStack *stack)
{
    GtkWidget *empty = new_page(stack, "empty");
    gtk_box_append(GTK_BOX(empty), new_text("Lockstep", "title-1"));
    gtk_box_append(GTK_BOX(empty),
                   new_text("Open the folder of a recorded run, or a Horovod timeline, or drop it "
                            "here.",
                            "page-text"));
    add_open_buttons(empty);

    GtkWidget *loading = new_page(stack, "loading");
    pages->loading_title = new_text("", "title-2");
    pages->loading_stage = new_text("", "page-text");
    pages->loading_bar = gtk_progress_bar_new();
    gtk_widget_set_size_request(pages->loading_bar, 360, -1);
    gtk_box_append(GTK_BOX(loading), pages->loading_title);
    gtk_box_append(GTK_BOX(loading), pages->loading_stage);
    gtk_box_append(GTK_BOX(loading), pages->loading_bar);
    gtk_box_append(GTK_BOX(loading), new_button("Cancel", "win.cancel"));

    GtkWidget *error = new_page(stack, "error");
    pages->error_title = new_text("", "title-2");
    pages->error_text = new_text("", "page-text");
    gtk_label_set_selectable(GTK_LABEL(pages->error_text), TRUE);
    /* To be copied by mouse; with the focus it would come up selected. */
    gtk_widget_set_focusable(pages->error_text, FALSE);
    gtk_box_append(GTK_BOX(error), pages->error_title);
    gtk_box_append(GTK_BOX(error), pages->error_text);
    add_open_buttons(error);
}

void
ls_pages_set_loading(LsPages *pages, const char *name)
{
    g_autofree char *title = g_strdup_printf("Opening %s", name);
    gtk_label_set_text(GTK_LABEL(pages->loading_title), title);
    ls_pages_set_progress(pages, NULL, 0);
}

void
ls_pages_set_progress(LsPages *pages, const char *stage, double fraction)
{
    gtk_label_set_text(GTK_LABEL(pages->loading_stage), stage ? stage : "");
    gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(pages->loading_bar), CLAMP(fraction, 0, 1));
}

void
ls_pages_set_error(LsPages *pages, const char *title, const char *text)
{
    gtk_label_set_text(GTK_LABEL(pages->error_title), title);
    gtk_label_set_text(GTK_LABEL(pages->error_text), text);
}
