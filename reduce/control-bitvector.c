/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/control-bitvector.c: the response cache and its bitvector (arXiv 1909.11150; Horovod PR
 * #902; facts B3 to B6, seeds 1.3).
 *
 * AND, of ceil((K + 3) / 64) words, K bits being in use: what all ranks have comes out as a 1 and
 * is executed by every rank from its own cache, without another message (bypass). The first three
 * bits stand inverted for what a single rank may raise: it wants to leave, it has something that no
 * bit says (uncached), a name of it has changed (invalid). OR, only then: the union of the changed
 * is erased everywhere. With anything uncached a round (reduce/round.h) follows, whose answers
 * begin with what the AND has agreed (mixed) and enter the cache. What one rank has and not all
 * waits for the next cycle.
 *
 * Own to Lockstep: a spare bit of the last word, where there is one, announces a clock measurement;
 * without one rank 0 raises uncached, as it does where a stall is to be judged. A rank that cannot
 * go on raises it too, and says so in the round. A cached tensor that waits for long is
 * invalidated, so that rank 0 learns who has it, with the time that it has waited; by half the
 * warning time, so that the warning itself is in time.
 */
#include "reduce/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/cache.h"
#include "reduce/fusion.h"
#include "reduce/group.h"
#include "reduce/round.h"

#define WORD_BITS   64
#define STATUS_BITS 3

/* Positions of the inverted bits. */
#define BIT_STAYS     0
#define BIT_CACHED    1
#define BIT_UNCHANGED 2

static const LsFusionRule no_fusion = {0, 1};

typedef enum State {
    STATE_IDLE,  /* begin() is next */
    STATE_BEGUN, /* the AND is to be asked for */
    STATE_AND,   /* asked for, as those that follow */
    STATE_OR,
    STATE_GATHER,
    STATE_BROADCAST,
    STATE_DONE, /* take() is next */
    STATE_LOST,
} State;

struct LsControl {
    LsRound round;
    LsCache cache;
    State state;
    int64_t invalid_after_ns;       /* a cached tensor that waits longer goes through a round */
    size_t bits, words;             /* of this cycle */
    uint64_t *hits;                 /* owned; ours, then what all have */
    uint64_t *invalid;              /* owned; ours, then what any has, from bit 0 on */
    bool leaves, uncached, changed; /* this rank, then any */
    bool noticed;                   /* the eviction was told */
    LsCacheCount count;             /* of this cycle */
    uint64_t evicted;               /* before it */
};

static void
bitvector_close(LsControl *control)
{
    if (control == NULL)
        return;
    ls_round_clear(&control->round);
    ls_cache_clear(&control->cache);
    free(control->hits);
    free(control->invalid);
    free(control);
}

static LsControl *
bitvector_open(const LsControlConfig *config, const LsControlEvents *events)
{
    LsControl *control = calloc(1, sizeof *control);
    if (control == NULL)
        return NULL;
    bool done = ls_round_open(&control->round, config, events) &&
                ls_cache_open(&control->cache, config->cache_capacity);
    if (done) {
        size_t words = config->cache_capacity / WORD_BITS + 2;
        control->hits = calloc(words, sizeof *control->hits);
        control->invalid = calloc(words, sizeof *control->invalid);
        control->invalid_after_ns = ls_stall_half(config->stall_warning_ns, config->stall_limit_ns);
    }
    if (done && control->hits != NULL && control->invalid != NULL)
        return control;
    bitvector_close(control);
    return NULL;
}

static void
set_bit(uint64_t *words, size_t bit)
{
    words[bit / WORD_BITS] |= UINT64_C(1) << (bit % WORD_BITS);
}

static bool
has_bit(const uint64_t *words, size_t bit)
{
    return (words[bit / WORD_BITS] >> (bit % WORD_BITS) & 1) != 0;
}

static bool
lose(LsControl *control, const char *text)
{
    ls_fault_note(&control->round.fault, text);
    control->state = STATE_LOST;
    return false;
}

/* The entry that answers what waits; NULL: there is none. */
static LsCached *
look_up(LsControl *control, LsWaiting *waiting, bool *ret_invalid)
{
    LsCached *cached = waiting->cached;
    *ret_invalid = false;
    if (waiting->generation == control->cache.generation)
        return cached;
    LsCacheVerdict verdict = ls_cache_find(&control->cache, &waiting->request, &cached);
    *ret_invalid = verdict == LS_CACHE_INVALID;
    if (waiting->generation == 0) {
        control->count.hits += verdict == LS_CACHE_HIT;
        control->count.misses += verdict == LS_CACHE_MISS;
        control->count.invalid += verdict == LS_CACHE_INVALID;
    }
    waiting->cached = cached;
    /* What is invalid is erased in this cycle, which makes another generation. */
    waiting->generation = control->cache.generation;
    return cached;
}

/* Sets the bits of what is ready here. */
static void
look_up_all(LsControl *control)
{
    LsRound *round = &control->round;
    for (LsWaiting *waiting = round->pending.first; waiting != NULL; waiting = waiting->next) {
        bool invalid;
        const LsCached *cached = look_up(control, waiting, &invalid);
        if (cached != NULL && !invalid &&
            round->now_ns - waiting->since_ns >= control->invalid_after_ns) {
            invalid = true;
            control->count.invalid++;
        }
        if (cached != NULL && invalid) {
            set_bit(control->invalid, cached->bit);
            control->changed = true;
        } else if (cached != NULL) {
            set_bit(control->hits, cached->bit + STATUS_BITS);
        }
        control->uncached |= cached == NULL || invalid;
    }
}

/* Where the last word has a bit to spare; 0: nowhere. */
static size_t
clock_bit(const LsControl *control)
{
    size_t bit = control->bits + STATUS_BITS;
    return bit < control->words * WORD_BITS ? bit : 0;
}

/* Rank 0 announces a clock measurement by leaving the bit unset. */
static void
set_clock_bit(LsControl *control)
{
    LsRound *round = &control->round;
    bool due = round->config.rank == LS_CHAIR_RANK && ls_chair_clock_due(&round->chair);
    size_t bit = clock_bit(control);
    if (bit > 0 && !due)
        set_bit(control->hits, bit);
    control->uncached |= due && bit == 0;
}

static bool
bitvector_begin(LsControl *control, LsRequestList *requests, bool shut_down, int64_t now_ns)
{
    LsRound *round = &control->round;
    if (control->state != STATE_IDLE)
        return lose(control, "a cycle begins before the last one was taken");
    control->state = STATE_BEGUN;
    control->bits = control->cache.n_bits;
    control->words = (control->bits + STATUS_BITS + WORD_BITS - 1) / WORD_BITS;
    memset(control->hits, 0, control->words * sizeof *control->hits);
    memset(control->invalid, 0, control->words * sizeof *control->invalid);
    ls_round_begin(round, requests, shut_down, now_ns);
    control->leaves = shut_down;
    control->changed = false;
    control->count = (LsCacheCount){0};
    control->evicted = control->cache.evicted;
    control->uncached = ls_fault_is(&round->fault) || round->outgoing.n > 0 ||
                        ls_chair_stall_due(&round->chair); /* nowhere but at rank 0 */
    if (!ls_fault_is(&round->fault))
        look_up_all(control);
    set_clock_bit(control);
    if (!control->leaves)
        set_bit(control->hits, BIT_STAYS);
    if (!control->uncached)
        set_bit(control->hits, BIT_CACHED);
    if (!control->changed)
        set_bit(control->hits, BIT_UNCHANGED);
    return true; /* a failure is told in step with the others */
}

/* Takes what came of an AND or OR. */
static bool
take_words(LsControl *control, const LsResult *result, uint64_t *words)
{
    size_t length = control->words * sizeof *words;
    if (result == NULL || result->n_parts != 1 || result->parts[0].length != length)
        return lose(control, "the words of a cycle did not come back");
    memcpy(words, result->parts[0].data, length);
    return true;
}

static void
ask_words(const LsControl *control, LsActionKind kind, const uint64_t *words, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = kind, .data = words};
    ret_action->length = control->words * sizeof *words;
}

/* The next bit of `words` from *at on, which moves behind it; false: there is none below the end.
 */
static bool
next_bit(const uint64_t *words, size_t end, size_t *at, size_t *ret_bit)
{
    while (*at < end) {
        uint64_t rest = words[*at / WORD_BITS] >> (*at % WORD_BITS);
        if (rest == 0) {
            *at = (*at / WORD_BITS + 1) * WORD_BITS;
            continue;
        }
        *ret_bit = *at + (size_t)__builtin_ctzll(rest);
        *at = *ret_bit + 1;
        return *ret_bit < end;
    }
    return false;
}

static bool
erase_invalid(LsControl *control)
{
    size_t at = 0, bit;
    while (next_bit(control->invalid, control->bits, &at, &bit)) {
        if (control->cache.bits[bit] == NULL)
            return lose(control, "a bit that is not in use is called invalid");
        ls_cache_erase(&control->cache, control->cache.bits[bit]);
    }
    return true;
}

/* The answer to one tensor, out of the cache. */
static bool
append_cached(LsResponseList *list, LsFilling *filling, const LsFusionRule *rule, LsCached *cached)
{
    LsRequest *request = &cached->request;
    const LsResponse response = {.operation = request->operation,
                                 .dtype = request->dtype,
                                 .reduction = request->reduction,
                                 .names = &request->name,
                                 .counts = &cached->count,
                                 .n = 1};
    return ls_fuse_next(list, filling, rule, &response);
}

/* Whether what all ranks have is of one kind. */
static bool
is_uniform(const LsControl *control)
{
    const LsCached *first = NULL;
    size_t at = STATUS_BITS, bit;
    while (next_bit(control->hits, control->bits + STATUS_BITS, &at, &bit)) {
        const LsCached *cached = control->cache.bits[bit - STATUS_BITS];
        if (first == NULL)
            first = cached;
        if (cached == NULL || cached->request.operation != first->request.operation ||
            cached->request.dtype != first->request.dtype ||
            cached->request.reduction != first->request.reduction)
            return false;
    }
    return true;
}

/* What all ranks have, by ascending bit, fused by the rule where that needs no look ahead. touch:
 * it counts as used. */
static void
append_common(LsControl *control, bool touch, LsFusionRule rule)
{
    LsRound *round = &control->round;
    size_t at = STATUS_BITS, bit;
    LsFilling filling = {0};
    if (!is_uniform(control))
        rule = no_fusion;
    while (!ls_fault_is(&round->fault) &&
           next_bit(control->hits, control->bits + STATUS_BITS, &at, &bit)) {
        LsCached *cached = control->cache.bits[bit - STATUS_BITS];
        if (cached == NULL)
            ls_fault_note(&round->fault, "a bit that is not in use is called common");
        else if (!append_cached(&round->responses, &filling, &rule, cached))
            ls_fault_note_rank(&round->fault, round->config.rank, "out of memory");
        else if (touch)
            ls_cache_touch(&control->cache, cached);
    }
}

/* The ranks count the measurements alike, whether a bit or a list announced them. */
static void
note_clock_peer(LsControl *control)
{
    LsRound *round = &control->round;
    if (round->responses.clock_peer >= 0 && round->config.clock_peers > 0)
        round->chair.clock_peer = (round->responses.clock_peer + 1) % round->config.clock_peers;
}

static void
tell_count(LsControl *control)
{
    const LsControlEvents *events = &control->round.events;
    LsCacheCount *count = &control->count;
    count->evicted = (uint32_t)(control->cache.evicted - control->evicted);
    if (events->cache != NULL && control->cache.capacity > 0 &&
        count->hits + count->misses + count->invalid + count->evicted > 0)
        events->cache(events->user, count);
}

static bool
finish(LsControl *control)
{
    note_clock_peer(control);
    tell_count(control);
    control->state = ls_round_settle(&control->round) ? STATE_DONE : STATE_LOST;
    return control->state == STATE_DONE;
}

/* No rank has anything else: every rank makes the same list. */
static bool
bypass(LsControl *control)
{
    LsRound *round = &control->round;
    const LsControlConfig *config = &round->config;
    const LsFusionRule rule = {config->fusion_threshold_bytes, config->fusion_padding_bytes};
    LsResponseList *list = &round->responses;
    ls_round_tell_stage(round, LS_CONTROL_BUILD);
    append_common(control, true, config->groups_alone ? no_fusion : rule);
    list->path = list->n > 0 ? LS_PATH_BYPASS : LS_PATH_IDLE;
    list->shut_down = control->leaves;
    if (!ls_groups_fuse(config->groups, config->groups_alone, list, &rule))
        ls_fault_note_rank(&round->fault, config->rank, "out of memory");
    ls_request_list_clear(&round->outgoing);
    return finish(control);
}

/* Sends what no bit says. */
static void
begin_round(LsControl *control, LsAction *ret_action)
{
    LsRound *round = &control->round;
    for (LsWaiting *waiting = round->pending.first, *next; waiting != NULL; waiting = next) {
        bool invalid;
        next = waiting->next;
        if (look_up(control, waiting, &invalid) == NULL)
            ls_round_add(round, waiting);
    }
    if (round->config.rank == LS_CHAIR_RANK)
        append_common(control, false, no_fusion);
    control->state = STATE_GATHER;
    ls_round_gather(round, ret_action);
}

/* After the words: the way that the cycle takes is known. */
static bool
branch(LsControl *control, LsAction *ret_action)
{
    LsRound *round = &control->round;
    size_t bit = clock_bit(control);
    if (bit > 0 && !has_bit(control->hits, bit)) {
        round->responses.clock_peer = round->config.rank == LS_CHAIR_RANK
                                          ? ls_chair_clock_peer(&round->chair)
                                          : round->chair.clock_peer;
    }
    if (!control->uncached)
        return bypass(control);
    if (round->config.rank != LS_CHAIR_RANK)
        round->responses = LS_RESPONSE_LIST_INIT; /* the list will say it again */
    begin_round(control, ret_action);
    return true;
}

static bool
after_and(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    if (!take_words(control, result, control->hits))
        return false;
    control->leaves = !has_bit(control->hits, BIT_STAYS);
    control->uncached = !has_bit(control->hits, BIT_CACHED);
    control->changed = !has_bit(control->hits, BIT_UNCHANGED);
    if (!control->changed)
        return branch(control, ret_action);
    control->state = STATE_OR;
    ask_words(control, LS_ACTION_OR, control->invalid, ret_action);
    return true;
}

static void
tell_eviction(LsControl *control)
{
    const LsControlEvents *events = &control->round.events;
    char text[160];
    if (control->cache.evicted == 0 || control->noticed)
        return;
    control->noticed = true;
    snprintf(text, sizeof text,
             "more tensors than the cache_capacity of %zu are in use: what falls out of the cache "
             "is negotiated anew, which may cost time",
             control->cache.capacity);
    if (events->notice != NULL)
        events->notice(events->user, text);
}

/* The answers of a round enter the cache, in their order. */
static void
keep(LsControl *control)
{
    LsRound *round = &control->round;
    for (size_t i = 0; i < round->responses.n; i++) {
        const LsResponse *response = &round->responses.items[i];
        for (size_t k = 0; k < response->n && ls_cache_keeps(response->operation); k++) {
            const LsWaiting *waiting = ls_pending_find(&round->pending, response->names[k]);
            if (waiting == NULL) /* it will not pass the settling */
                return;
            if (!ls_cache_put(&control->cache, &waiting->request))
                ls_fault_note_rank(&round->fault, round->config.rank, "out of memory");
        }
    }
    ls_cache_renumber(&control->cache);
    tell_eviction(control);
}

static bool
after_broadcast(LsControl *control, const LsResult *result)
{
    if (!ls_round_end(&control->round, result)) {
        control->state = STATE_LOST;
        return false;
    }
    keep(control);
    return finish(control);
}

static bool
bitvector_advance(LsControl *control, const LsResult *result, LsAction *ret_action)
{
    *ret_action = (LsAction){.kind = LS_ACTION_DONE};
    switch (control->state) {
    case STATE_BEGUN:
        if (control->cache.capacity == 0) {
            begin_round(control, ret_action);
            return true;
        }
        control->state = STATE_AND;
        ask_words(control, LS_ACTION_AND, control->hits, ret_action);
        return true;
    case STATE_AND:
        return after_and(control, result, ret_action);
    case STATE_OR:
        return take_words(control, result, control->invalid) && erase_invalid(control) &&
               branch(control, ret_action);
    case STATE_GATHER:
        control->state = STATE_BROADCAST;
        ls_round_answer(&control->round, result, ret_action);
        return true;
    case STATE_BROADCAST:
        return after_broadcast(control, result);
    default:
        return lose(control, "no cycle is under way");
    }
}

static void
bitvector_take(LsControl *control, LsResponseList *ret_responses, bool *ret_shut_down,
               int *ret_path)
{
    ls_round_take(&control->round, ret_responses, ret_shut_down, ret_path);
    control->state = STATE_IDLE;
}

static size_t
bitvector_pending(const LsControl *control)
{
    return control->round.pending.waiting.n;
}

static const char *
bitvector_error(const LsControl *control)
{
    return control->round.fault.text;
}

const LsControlClass ls_control_bitvector = {
    .name = "bitvector",
    .open = bitvector_open,
    .close = bitvector_close,
    .begin = bitvector_begin,
    .advance = bitvector_advance,
    .take = bitvector_take,
    .pending = bitvector_pending,
    .error = bitvector_error,
};
