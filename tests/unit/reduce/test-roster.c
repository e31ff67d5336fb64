/* SPDX-License-Identifier: Apache-2.0
 * tests/unit/reduce/test-roster.c: held against GLib's hash table and queue, which do the same. */
#include "reduce/roster.h"

#include <glib.h>

#define NAMES 700

typedef struct Item {
    LsRosterItem base;
    char text[16];
    gboolean there;
} Item;

static void
check(const LsRoster *roster, Item *items, GQueue *order)
{
    g_assert_cmpuint(roster->n, ==, order->length);
    const LsRosterItem *at = roster->first, *previous = NULL;
    for (GList *link = order->head; link != NULL; link = link->next) {
        g_assert_true(at == link->data && at->previous == previous);
        previous = at;
        at = at->next;
    }
    g_assert_true(at == NULL && roster->last == previous);
    for (int i = 0; i < NAMES; i++)
        g_assert_true(ls_roster_find(roster, items[i].text) ==
                      (items[i].there ? &items[i].base : NULL));
}

/* Fuller at first, then emptier, to nothing at the end, so that the table comes and goes. */
static void
test_same_as_glib(void)
{
    static Item items[NAMES];
    LsRoster roster = {0};
    GQueue order = G_QUEUE_INIT;
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    for (int i = 0; i < NAMES; i++) {
        g_snprintf(items[i].text, sizeof items[i].text, "layer/%d", i);
        items[i].base.name = items[i].text;
    }
    for (int turn = 0; turn < 40000; turn++) {
        Item *item = &items[g_rand_int_range(rand, 0, NAMES)];
        gboolean adds = g_rand_double(rand) < (turn / 10000 % 2 == 0 ? 0.8 : 0.1);
        if (adds && !item->there) {
            g_assert_true(ls_roster_add(&roster, &item->base));
            g_queue_push_tail(&order, item);
        } else if (!adds && item->there) {
            ls_roster_remove(&roster, &item->base);
            g_queue_remove(&order, item);
        } else {
            continue;
        }
        item->there = adds;
        if (turn % 200 == 0)
            check(&roster, items, &order);
    }
    while (roster.first != NULL) {
        Item *first = (Item *)roster.first;
        ls_roster_remove(&roster, &first->base);
        g_assert_true(g_queue_pop_head(&order) == first);
        first->there = FALSE;
    }
    check(&roster, items, &order);
    g_assert_null(roster.buckets);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reduce/roster/same-as-glib", test_same_as_glib);
    return g_test_run();
}
