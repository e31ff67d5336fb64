/* SPDX-License-Identifier: Apache-2.0
 *
 * A search entry over index/search. Hits are found once for each text, then walked through in time
 * from what is in view.
 */
#include "ui/search.h"

#include "index/search.h"

#define HITS_MAX 200000

typedef struct LsSearch {
    LsSession *session;
    GtkWidget *box, *entry, *count;
    LsHits hits;
    size_t at; /* of the hit shown; hits.n: none yet */
} LsSearch;

static void
search_free(void *data)
{
    LsSearch *search = data;
    ls_hits_clear(&search->hits);
    g_signal_handlers_disconnect_by_data(search->session, search);
    g_object_unref(search->session);
    g_free(search);
}

static LsPick
pick_of(const LsTrace *trace, const LsHit *hit)
{
    size_t n;
    const LsTrack *track = &ls_trace_get_tracks(trace, &n)[hit->track];
    uint32_t ref = track->lanes[hit->lane].ref[hit->span];
    LsPick pick = {.kind = LS_PICK_SPAN,
                   .rank = track->rank,
                   .track = hit->track,
                   .lane = hit->lane,
                   .index = hit->span,
                   .time_ns = hit->start_ns};
    if (ref == LS_NONE)
        return pick;
    if (track->kind == LS_TRACK_COMMUNICATION)
        pick.kind = LS_PICK_CALL;
    else if (track->kind == LS_TRACK_TENSOR)
        pick.kind = LS_PICK_USE;
    else if (track->kind == LS_TRACK_CYCLES)
        pick.kind = LS_PICK_CYCLE;
    if (pick.kind != LS_PICK_SPAN)
        pick.index = ref;
    return pick;
}

static void
show_count(LsSearch *search)
{
    g_autofree char *text = NULL;
    const char *entered = gtk_editable_get_text(GTK_EDITABLE(search->entry));
    if (search->hits.n > 0 && search->at < search->hits.n)
        text = g_strdup_printf("%zu of %zu", search->at + 1, search->hits.found);
    else if (search->hits.n > 0)
        text = g_strdup_printf("%zu hit%s", search->hits.found, search->hits.found == 1 ? "" : "s");
    else if (entered[0] != '\0')
        text = g_strdup("none");
    gtk_label_set_text(GTK_LABEL(search->count), text ? text : "");
}

static void
text_changed(GtkSearchEntry *entry, LsSearch *search)
{
    const LsDocument *document = ls_session_get_document(search->session);
    ls_hits_clear(&search->hits);
    if (document)
        search->hits =
            ls_search_find(document->trace, gtk_editable_get_text(GTK_EDITABLE(entry)), HITS_MAX);
    search->at = search->hits.n;
    show_count(search);
}

static void
go(LsSearch *search, int direction)
{
    const LsScene *scene = ls_session_get_scene(search->session);
    size_t n = search->hits.n;
    if (!scene || n == 0)
        return;
    if (search->at >= n)
        search->at = ls_hits_find_at(&search->hits, scene->view.start_ns) % n;
    else
        search->at = (search->at + n + (size_t)(direction > 0 ? 1 : n - 1)) % n;
    LsPick pick = pick_of(ls_model_get_trace(scene->model), &search->hits.items[search->at]);
    ls_session_select(search->session, &pick);
    ls_session_reveal(search->session);
    show_count(search);
}

static gboolean
key_pressed(GtkEventControllerKey *controller, unsigned int key, unsigned int code,
            GdkModifierType state, LsSearch *search)
{
    if (key != GDK_KEY_Return && key != GDK_KEY_KP_Enter)
        return FALSE;
    go(search, state & GDK_SHIFT_MASK ? -1 : 1);
    return TRUE;
}

static void
document_changed(LsSession *session, LsSearch *search)
{
    text_changed(GTK_SEARCH_ENTRY(search->entry), search);
}

GtkWidget *
ls_search_new(LsSession *session)
{
    LsSearch *search = g_new0(LsSearch, 1);
    search->session = g_object_ref(session);
    search->box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    search->entry = gtk_search_entry_new();
    search->count = gtk_label_new("");
    gtk_widget_add_css_class(search->count, "timeline-soft");
    g_object_set(search->entry, "placeholder-text", "Find a tensor, kernel, … ( / )", NULL);
    gtk_editable_set_width_chars(GTK_EDITABLE(search->entry), 22);
    gtk_box_append(GTK_BOX(search->box), search->count);
    gtk_box_append(GTK_BOX(search->box), search->entry);

    GtkEventController *keys = gtk_event_controller_key_new();
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(key_pressed), search);
    gtk_widget_add_controller(search->entry, keys);
    g_signal_connect(search->entry, "search-changed", G_CALLBACK(text_changed), search);
    g_signal_connect(session, "document", G_CALLBACK(document_changed), search);
    g_object_set_data_full(G_OBJECT(search->box), "search", search, search_free);
    return search->box;
}

void
ls_search_focus(GtkWidget *widget)
{
    LsSearch *search = g_object_get_data(G_OBJECT(widget), "search");
    gtk_widget_grab_focus(search->entry);
}

void
ls_search_go(GtkWidget *widget, int direction)
{
    go(g_object_get_data(G_OBJECT(widget), "search"), direction);
}
