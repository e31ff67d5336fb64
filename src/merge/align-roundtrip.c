/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/align-roundtrip.c: clocks of two processes that exchanged time stamps while running.
 *
 * We send at t1, the peer receives at t2 and answers at t3 (its clock), we receive at t4. Nothing
 * arrives before it was sent, so peer - ours was at least t3 - t4 when we received and at most
 * t2 - t1 when we sent: a gate for merge/fit, whichever way the delays were split. A slow trip is a
 * wide gate and does no harm; the fastest of each few seconds decide the bound.
 *
 * Processes of one boot read one clock: what any of them knows stands for all, and the first of
 * them is placed. Trips are recorded over a tree of hosts: from the reference outwards each host is
 * placed through the placed peer that bounds it best.
 */
#include "merge/align-private.h"
#include "merge/fit.h"

/* A gate is taken at the middle of the trip, while its sides belong to the ends. */
#define DRIFT_PART 2000 /* 500 ppm */

/* What all trips between two processes say of child - parent. */
typedef struct Edge {
    size_t child, parent;
    GArray *gates; /* LsGate, at the child's times */
} Edge;

/* A process stands for all of its boot, if it is the first of it. */
typedef struct Boot {
    size_t first;
    int64_t first_ns,
        last_ns; /* of the first: the time that all of them lived; none: first > last */
} Boot;

typedef struct Edges {
    const LsAlign *align;
    GHashTable *by_rank; /* rank -> GArray of size_t */
    GHashTable *by_boot; /* boot id -> first process of it + 1 */
    Boot *boots;         /* of each process; where its boot is not known it is alone */
    GHashTable *edges;   /* Edge: by (child, parent) */
} Edges;

static guint
hash_edge(const void *key)
{
    const Edge *edge = key;

    return (guint)(edge->child * 2654435761u + edge->parent);
}

static gboolean
equal_edges(const void *a, const void *b)
{
    const Edge *x = a, *y = b;

    return x->child == y->child && x->parent == y->parent;
}

static void
free_edge(void *data)
{
    Edge *edge = data;

    g_array_unref(edge->gates);
    g_free(edge);
}

static GHashTable *
index_ranks(const LsAlign *align)
{
    GHashTable *by_rank = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);

    for (size_t i = 0; i < align->n; i++) {
        void *key = GINT_TO_POINTER(align->processes[i]->rank.rank);
        GArray *lives = g_hash_table_lookup(by_rank, key);

        if (!align->processes[i]->rank.recorded || align->processes[i]->observer)
            continue;
        if (lives == NULL) {
            lives = g_array_new(FALSE, FALSE, sizeof(size_t));
            g_hash_table_insert(by_rank, key, lives);
        }
        g_array_append_val(lives, i);
    }
    return by_rank;
}

static void
index_boots(Edges *edges)
{
    const LsAlign *align = edges->align;

    edges->by_boot = g_hash_table_new(g_str_hash, g_str_equal);
    edges->boots = g_new(Boot, align->n);
    for (size_t i = 0; i < align->n; i++) {
        const LsRank *rank = &align->processes[i]->rank;
        bool known = rank->recorded && rank->boot_id != NULL && rank->boot_id[0] != '\0';
        size_t first =
            known ? GPOINTER_TO_SIZE(g_hash_table_lookup(edges->by_boot, rank->boot_id)) : 0;
        Boot *boot;

        edges->boots[i] = (Boot){first != 0 ? first - 1 : i, INT64_MAX, INT64_MIN};
        if (known && first == 0)
            g_hash_table_insert(edges->by_boot, rank->boot_id, GSIZE_TO_POINTER(i + 1));
        if (rank->first_ns == LS_TIME_NONE || rank->last_ns == LS_TIME_NONE)
            continue;
        boot = &edges->boots[edges->boots[i].first];
        boot->first_ns = MIN(boot->first_ns, rank->first_ns);
        boot->last_ns = MAX(boot->last_ns, rank->last_ns);
    }
}

/* Who answered: any process of the boot that the trip names; of a rank the life that was alive
 * then. */
static bool
find_peer(const Edges *edges, size_t process, const LsRoundtrip *trip, size_t *ret_process)
{
    const char *boot = ls_strings_get(edges->align->processes[process]->strings, trip->boot);
    size_t first = GPOINTER_TO_SIZE(g_hash_table_lookup(edges->by_boot, boot));
    const GArray *lives = g_hash_table_lookup(edges->by_rank, GINT_TO_POINTER(trip->peer));

    if (trip->boot != 0) {
        *ret_process = first - 1;
        return first != 0;
    }
    for (guint i = 0; lives != NULL && i < lives->len; i++) {
        size_t life = g_array_index(lives, size_t, i);
        const LsRank *rank = &edges->align->processes[life]->rank;

        if (lives->len > 1 &&
            (rank->first_ns == LS_TIME_NONE || trip->peer_receive_ns < rank->first_ns ||
             trip->peer_receive_ns > rank->last_ns))
            continue;
        *ret_process = edges->boots[life].first;
        return true;
    }
    return false;
}

static void
add_gate(const Edges *edges, size_t child, size_t parent, const LsGate *gate)
{
    Edge key = {child, parent, NULL};
    Edge *edge = g_hash_table_lookup(edges->edges, &key);

    if (edge == NULL) {
        edge = g_new(Edge, 1);
        *edge = (Edge){child, parent, g_array_new(FALSE, FALSE, sizeof(LsGate))};
        g_hash_table_add(edges->edges, edge);
    }
    g_array_append_val(edge->gates, *gate);
}

/* A trip between a placed process and one that is not, whoever of them began it. */
static void
add_trip(const Edges *edges, size_t teller, const LsRoundtrip *trip)
{
    int64_t trip_ns = trip->receive_ns - trip->send_ns;
    int64_t hold_ns = trip->peer_send_ns - trip->peer_receive_ns;
    int64_t slack_ns = trip_ns / 2 / DRIFT_PART + 1;
    int64_t low_ns = trip->peer_send_ns - trip->receive_ns - slack_ns;
    int64_t high_ns = trip->peer_receive_ns - trip->send_ns + slack_ns;
    size_t process = edges->boots[teller].first, peer;

    if (trip_ns < 0 || hold_ns < 0 || low_ns > high_ns || low_ns < -LS_TIME_MAX ||
        high_ns > LS_TIME_MAX || !find_peer(edges, teller, trip, &peer) ||
        ls_align_is_placed(edges->align, process) == ls_align_is_placed(edges->align, peer))
        return;
    if (ls_align_is_placed(edges->align, peer)) {
        LsGate gate = {trip->send_ns + trip_ns / 2, low_ns, high_ns, LS_GATE_NO_GUESS};

        add_gate(edges, process, peer, &gate);
    } else {
        LsGate gate = {trip->peer_receive_ns + hold_ns / 2, -high_ns, -low_ns, LS_GATE_NO_GUESS};

        add_gate(edges, peer, process, &gate);
    }
}

/* The best edge of each child so far. */
typedef struct Choice {
    LsClockmap *map;
    size_t parent, contradictions, trips;
    int64_t bound_ns;
} Choice;

static void
try_edge(const Edges *edges, const Edge *edge, Choice *choice)
{
    const LsAlign *align = edges->align;
    LsGate *gates = (LsGate *)(void *)edge->gates->data;
    const Boot *boot = &edges->boots[edge->child];
    bool timed = boot->first_ns <= boot->last_ns;
    int64_t first_ns = timed ? boot->first_ns : gates[0].at_ns;
    int64_t last_ns = timed ? boot->last_ns : gates[0].at_ns;
    size_t contradictions = 0;
    LsClockmap *map =
        ls_fit_gates(gates, edge->gates->len, first_ns, last_ns, &contradictions, NULL);
    int64_t bound_ns;

    if (map == NULL)
        return;
    bound_ns = ls_clockmap_get_worst_ns(map, first_ns, last_ns) +
               ls_align_get_bound_ns(align, edge->parent, ls_clockmap_map(map, first_ns));
    if (choice->map != NULL && bound_ns >= choice->bound_ns) {
        ls_clockmap_free(map);
        return;
    }
    ls_clockmap_free(choice->map);
    *choice = (Choice){map, edge->parent, contradictions, edge->gates->len, bound_ns};
}

static bool
place(LsAlign *align)
{
    Edges edges = {
        .align = align,
        .by_rank = index_ranks(align),
        .edges = g_hash_table_new_full(hash_edge, equal_edges, free_edge, NULL),
    };
    g_autofree Choice *choices = g_new0(Choice, align->n);
    GHashTableIter iter;
    void *key;
    bool any = false;

    index_boots(&edges);
    for (size_t i = 0; i < align->n; i++) {
        const GArray *trips = align->processes[i]->roundtrips;

        for (guint k = 0; k < trips->len; k++)
            add_trip(&edges, i, &g_array_index(trips, LsRoundtrip, k));
    }
    g_hash_table_iter_init(&iter, edges.edges);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        try_edge(&edges, key, &choices[((const Edge *)key)->child]);
    for (size_t i = 0; i < align->n; i++) {
        if (choices[i].map == NULL)
            continue;
        ls_align_set(align, i, choices[i].parent, LS_CLOCK_ROUNDTRIP, choices[i].map);
        any = true;
        if (choices[i].contradictions > 0)
            ls_process_add_finding(align->processes[i], LS_NOTE, -1,
                                   "%zu of %zu clock round trips contradict the faster ones and "
                                   "were left out.",
                                   choices[i].contradictions, choices[i].trips);
    }
    g_hash_table_unref(edges.edges);
    g_hash_table_unref(edges.by_boot);
    g_free(edges.boots);
    g_hash_table_unref(edges.by_rank);
    return any;
}

const LsAlignMethod ls_align_roundtrip = {LS_CLOCK_ROUNDTRIP, place};
