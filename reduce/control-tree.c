/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/control-tree.c: the control tree of Kurth et al. (SC18, arXiv 1810.01993; facts: seeds
 * 1.2). Ranks stand in preorder: a subtree is a range of ranks, its first rank the root, the rest
 * is divided into near-equal ranges, `radix` of them.
 *
 * Up: a rank counts its own requests and those of its children; what its whole range has submitted
 * it forwards to its parent, as one request for the range where all asked alike; one message at a
 * time is under way. Down: rank 0 answers what all have; each rank hands the bytes on to its
 * children before it reads them. There is no global cycle: a cycle of a rank is one look at what
 * has come. All execute in one order, since messages of one sender do not overtake one another.
 *
 * Own to Lockstep: what waits for long travels upward as well, so that rank 0 names who is missing;
 * a fault travels up and comes down as the failure of all; and in the end every rank hears from its
 * children that nothing more will come, before it goes.
 */
#include "reduce/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/round.h"

typedef enum State {
    STATE_IDLE,  /* begin() is next */
    STATE_BEGUN, /* the first look is to be asked for */
    STATE_POLL,  /* asked for */
    STATE_DOWN,  /* the answer goes to the next child */
    STATE_UP,    /* a message to the parent was sent */
    STATE_DONE,  /* take() is next */
    STATE_LOST,
} State;

typedef struct Child {
    int rank, n; /* of its range */
} Child;

struct LsControl {
    LsRound round; /* of which only both ends are used */
    State state;
    int parent;      /* -1: rank 0 */
    Child *children; /* owned */
    int n_children, next_child;
    LsRequestList up; /* what is to be told upward beside what is ready */
    uint8_t *down;    /* the answer under way, owned */
    size_t down_length;
    uint8_t *last_words; /* owned; see reduce/chair.h */
    size_t last_words_length;
    bool busy; /* the parent has not received our last message */
    bool told_leaving, told_fault;
    bool closing; /* all have agreed to leave */
    int closed;   /* children that have nothing more to say */
    bool left;
};

static void
tree_close(LsControl *control)
{
    if (control == NULL)
        return;
    ls_round_clear(&control->round);
    ls_request_list_clear(&control->up);
    free(control->children);
    free(control->down);
    free(control->last_words);
    free(control);
}

/* Divides what follows the first rank of [first, first + n) among its children. */
static int
divide(int first, int n, int radix, Child *ret_children)
{
    int rest = n - 1, parts = radix < 1 || radix > rest ? rest : radix, at = first + 1;
    for (int i = 0; i < parts; i++) {
        ret_children[i] = (Child){at, rest / parts + (i < rest % parts)};
        at += ret_children[i].n;
    }
    return parts;
}

/* Goes down from the whole to the range that begins with this rank. false: out of memory. */
static bool
find_place(LsControl *control, int *ret_n)
{
    const LsControlConfig *config = &control->round.config;
    Child range = {0, config->ranks};
    control->parent = -1;
    control->children = calloc((size_t)config->ranks, sizeof *control->children);
    if (control->children == NULL)
        return false;
    for (;;) {
        int n = divide(range.rank, range.n, config->tree_radix, control->children);
        control->n_children = n;
        if (range.rank == config->rank)
            break;
        control->parent = range.rank;
        for (int i = 0; i < n; i++)
            if (config->rank >= control->children[i].rank)
                range = control->children[i];
    }
    *ret_n = range.n;
    return true;
}

static LsControl *
tree_open(const LsControlConfig *config, const LsControlEvents *events)
{
    char text[64];
    LsRequestList last_words = {.failure = text};
    LsControl *control = calloc(1, sizeof *control);
    int n;
    if (control == NULL)
        return NULL;
    snprintf(text, sizeof text, "rank %d: out of memory", config->rank);
    if (ls_round_open(&control->round, config, events) && find_place(control, &n) &&
        ls_request_list_encode(&last_words, &control->last_words, &control->last_words_length)) {
        if (control->parent >= 0)
            ls_chair_narrow(&control->round.chair, n,
                            ls_stall_half(config->stall_warning_ns, config->stall_limit_ns));
        return control;
    }
    tree_close(control);
    return NULL;
}

static bool
lose(LsControl *control, const char *text)
{
    ls_fault_note(&control->round.fault, text);
    control->state = STATE_LOST;
    return false;
}

static void
note_no_memory(LsControl *control)
{
    ls_fault_note_rank(&control->round.fault, control->round.config.rank, "out of memory");
}

/* What is only told goes up at once; all is counted. */
static void
count(LsControl *control, int sender, int others, LsRequestList *requests)
{
    for (size_t i = 0; i < requests->n && control->parent >= 0; i++) {
        LsRequest copy;
        if (!requests->items[i].held)
            continue;
        if (!ls_request_copy(&requests->items[i], &copy)) {
            note_no_memory(control);
        } else if (!ls_request_list_take(&control->up, &copy)) {
            ls_request_clear(&copy);
            note_no_memory(control);
        }
    }
    ls_chair_count(&control->round.chair, sender, others, requests);
}

static bool
tree_begin(LsControl *control, LsRequestList *requests, bool shut_down, int64_t now_ns)
{
    LsRound *round = &control->round;
    if (control->state != STATE_IDLE)
        return lose(control, "a cycle begins before the last one was taken");
    control->state = STATE_BEGUN;
    ls_round_begin(round, requests, shut_down, now_ns);
    while (round->pending.first != NULL && !ls_fault_is(&round->fault))
        ls_round_add(round, round->pending.first);
    count(control, round->config.rank, 0, &round->outgoing);
    return true;
}

/* Whether there is something to say that does not come from others. */
static bool
is_urgent(const LsControl *control)
{
    const LsChair *chair = &control->round.chair;
    if (control->closing)
        return control->closed == control->n_children;
    if (ls_fault_is(&control->round.fault))
        return !control->told_fault;
    if (chair->tally.n_ready > 0 || ls_chair_stall_due(chair))
        return true;
    if (control->parent < 0)
        return chair->shut_down || ls_chair_clock_due(chair);
    return control->up.n > 0 || (chair->shut_down && !control->told_leaving);
}

static bool
ask_poll(LsControl *control, bool first, LsAction *ret_action)
{
    bool waits = control->round.pending.waiting.n > 0 || control->closing;
    control->state = STATE_POLL;
    *ret_action =
        (LsAction){.kind = LS_ACTION_POLL, .root = control->parent >= 0 ? control->parent : 0};
    if (first && waits && !is_urgent(control))
        ret_action->wait_ns = control->round.config.poll_ns;
    return true;
}

static void
hear_child(LsControl *control, const Child *child, const LsPiece *piece)
{
    LsRequestList requests;
    char text[160];
    if (piece->length == 0) {
        control->closed++;
        return;
    }
    const char *fault = ls_request_list_decode(piece->data, piece->length, &requests, text);
    if (fault != NULL)
        ls_fault_note_rank(&control->round.fault, child->rank, fault);
    if (!control->closing)
        count(control, child->rank, child->n - 1, &requests);
    ls_request_list_clear(&requests);
}

/* Keeps the parent's bytes, which go to the children as they are. Without memory for them the
 * children get the chair's last words, which tell them that it is over. */
static void
hear_parent(LsControl *control, const LsPiece *piece)
{
    LsChair *chair = &control->round.chair;
    free(control->down);
    control->down = malloc(piece->length + 1);
    control->down_length = piece->length;
    control->next_child = 0;
    if (control->down != NULL) {
        memcpy(control->down, piece->data, piece->length);
        return;
    }
    note_no_memory(control);
    control->down = chair->last_words;
    control->down_length = control->down != NULL ? chair->last_words_length : 0;
    chair->last_words = NULL;
}

/* A fault of ours comes down as the failure of all; until then what is answered is executed. */
static bool
finish(LsControl *control)
{
    LsRound *round = &control->round;
    char text[160];
    bool good;
    if (ls_fault_is(&round->fault))
        good = ls_pending_settle(&round->pending, &round->responses, text) == NULL;
    else
        good = ls_round_settle(round);
    control->state = good ? STATE_DONE : STATE_LOST;
    return good;
}

static bool send_up(LsControl *control, LsAction *ret_action);

/* The answer went to all children: now it is ours. A parent that has much to say must not keep this
 * rank from saying anything. */
static bool
read_answer(LsControl *control, LsAction *ret_action)
{
    LsRound *round = &control->round;
    char text[160];
    const char *fault = NULL;
    ls_round_tell_stage(round, LS_CONTROL_PARSE);
    if (control->parent >= 0) {
        fault =
            ls_response_list_decode(control->down, control->down_length, &round->responses, text);
        if (fault != NULL)
            return lose(control, fault);
    }
    if (round->responses.failure != NULL)
        return lose(control, round->responses.failure);
    control->closing |= round->responses.shut_down;
    return control->parent < 0 || control->closing ? finish(control) : send_up(control, ret_action);
}

static bool
send_down(LsControl *control, LsAction *ret_action)
{
    control->state = STATE_DOWN;
    if (control->next_child == control->n_children)
        return read_answer(control, ret_action);
    *ret_action = (LsAction){.kind = LS_ACTION_SEND,
                             .root = control->children[control->next_child++].rank,
                             .data = control->down,
                             .length = control->down_length};
    return true;
}

/* At rank 0: an answer, if there is something to answer or to announce. */
static bool
answer(LsControl *control, LsAction *ret_action)
{
    LsRound *round = &control->round;
    LsResponseList *list = &round->responses;
    if (!is_urgent(control))
        return finish(control);
    ls_round_tell_stage(round, LS_CONTROL_BUILD);
    free(control->down);
    control->down = NULL;
    ls_chair_answer(&round->chair, list, &control->down, &control->down_length);
    if (list->n == 0 && !list->shut_down && list->clock_peer < 0 && !ls_fault_is(&round->fault)) {
        list->path = LS_PATH_IDLE;
        return finish(control);
    }
    control->next_child = 0;
    return send_down(control, ret_action);
}

/* Who is known to have what waits for long. */
static void
report_stalls(LsControl *control)
{
    LsChair *chair = &control->round.chair;
    if (!ls_stall_due(&chair->stall, chair->now_ns))
        return;
    for (LsRosterItem *item = chair->tally.roster.first; item != NULL; item = item->next) {
        LsTallied *tallied = (LsTallied *)item;
        if (ls_stall_judge(&chair->stall, &tallied->clock, chair->now_ns) != LS_STALL_NOT &&
            !ls_tally_report(tallied, chair->now_ns, &control->up))
            note_no_memory(control);
    }
}

/* The message to the parent: the fault, or requests. */
static void
build_message(LsControl *control)
{
    LsRound *round = &control->round;
    LsChair *chair = &round->chair;
    LsRequestList *up = &control->up;
    if (!ls_fault_is(&round->fault)) {
        if (!ls_tally_forward(&chair->tally, chair->now_ns, up))
            note_no_memory(control);
        up->shut_down = chair->shut_down;
    }
    if (ls_fault_is(&round->fault)) {
        ls_request_list_clear(up);
        up->failure = strdup(round->fault.text);
        control->told_fault = true;
    }
    bool said = !ls_fault_is(&round->fault) || up->failure != NULL;
    if (!said || !ls_request_list_encode(up, &round->message, &round->length)) {
        note_no_memory(control);
        control->told_fault = true;
        round->message = control->last_words;
        round->length = control->last_words_length;
        control->last_words = NULL;
    }
    control->told_leaving |= chair->shut_down;
    ls_request_list_clear(up);
}

/* To the parent, if there is something to say and our last message was received. */
static bool
send_up(LsControl *control, LsAction *ret_action)
{
    LsRound *round = &control->round;
    bool fault = ls_fault_is(&round->fault);
    if (!is_urgent(control) || (control->busy && !fault))
        return finish(control);
    if (!fault)
        report_stalls(control);
    if (!ls_fault_is(&round->fault) && round->chair.tally.n_ready == 0 && control->up.n == 0 &&
        (control->told_leaving || !round->chair.shut_down))
        return finish(control); /* nothing that has waited for long was asked here */
    ls_round_tell_stage(round, LS_CONTROL_BUILD);
    build_message(control);
    control->state = STATE_UP;
    *ret_action = (LsAction){.kind = LS_ACTION_SEND,
                             .root = control->parent,
                             .data = round->message,
                             .length = round->length};
    return true;
}

/* All children have said that nothing more comes: so do we, to the parent. */
static bool
close_down(LsControl *control, LsAction *ret_action)
{
    if (control->closed < control->n_children || control->left)
        return finish(control);
    control->left = true;
    if (control->parent < 0)
        return finish(control);
    control->state = STATE_UP;
    *ret_action = (LsAction){.kind = LS_ACTION_SEND, .root = control->parent};
    return true;
}

static bool
after_poll(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    if (result == NULL || result->n_parts > 1)
        return lose(control, "a look at what has come brought more than one message");
    control->busy = result->under_way > 0;
    if (result->n_parts == 0) {
        if (control->closing)
            return close_down(control, ret_action);
        return control->parent < 0 ? answer(control, ret_action) : send_up(control, ret_action);
    }
    if (result->from == control->parent) {
        hear_parent(control, result->parts);
        return send_down(control, ret_action);
    }
    ls_round_tell_stage(&control->round, LS_CONTROL_PARSE);
    for (int i = 0; i < control->n_children; i++)
        if (control->children[i].rank == result->from)
            hear_child(control, &control->children[i], result->parts);
    return ask_poll(control, false, ret_action);
}

static bool
tree_advance(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = LS_ACTION_DONE};
    switch (control->state) {
    case STATE_BEGUN:
        return ask_poll(control, true, ret_action);
    case STATE_POLL:
        return after_poll(control, result, ret_action);
    case STATE_DOWN:
        return send_down(control, ret_action);
    case STATE_UP:
        return finish(control);
    default:
        return lose(control, "no cycle is under way");
    }
}

static void
tree_take(LsControl *control, LsResponseList *ret_responses, bool *ret_shut_down, int *ret_path)
{
    ls_round_take(&control->round, ret_responses, ret_shut_down, ret_path);
    *ret_shut_down = control->left;
    control->state = STATE_IDLE;
}

static size_t
tree_pending(const LsControl *control)
{
    return control->round.pending.waiting.n + (control->closing ? 1 : 0);
}

static const char *
tree_error(const LsControl *control)
{
    return control->round.fault.text;
}

const LsControlClass ls_control_tree = {
    .name = "tree",
    .open = tree_open,
    .close = tree_close,
    .begin = tree_begin,
    .advance = tree_advance,
    .take = tree_take,
    .pending = tree_pending,
    .error = tree_error,
};
