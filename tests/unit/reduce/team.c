/* SPDX-License-Identifier: Apache-2.0
 *
 * team.c: every exchange is carried out when all ranks ask for it.
 */
#include "team.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

static void
note_cache(void *user, const LsCacheCount *count)
{
    Seat *seat = user;
    seat->team->counts[seat->rank] = *count;
}

static void
note_gate(void *user, const char *tensor, int group, const char *last)
{
    const Seat *seat = user;
    g_string_append_printf(seat->team->gates, "%d:%s:%d ", seat->rank, tensor, group);
}

static void
note_stall(void *user, const char *tensor, int missing_rank, int64_t waited_ns)
{
    const Seat *seat = user;
    g_string_append_printf(seat->team->stalls, "%s:%d:%" G_GINT64_FORMAT " ", tensor, missing_rank,
                           waited_ns);
}

static void
note_notice(void *user, const char *text)
{
    const Seat *seat = user;
    g_string_append_printf(seat->team->notices, "%d:%s\n", seat->rank, text);
}

void
team_open(Team *team, int ranks)
{
    if (team->class == NULL)
        team->class = &ls_control_coordinator;
    team->ranks = team->config.ranks = ranks;
    team->stalls = g_string_new(NULL);
    team->gates = g_string_new(NULL);
    team->notices = g_string_new(NULL);
    team->calls = g_string_new(NULL);
    for (int rank = 0; rank < ranks; rank++) {
        team->seats[rank] = (Seat){team, rank};
        const LsControlEvents events = {.stall = note_stall,
                                        .gate = note_gate,
                                        .cache = note_cache,
                                        .notice = note_notice,
                                        .user = &team->seats[rank]};
        team->config.rank = rank;
        team->responses[rank] = LS_RESPONSE_LIST_INIT;
        team->controls[rank] = team->class->open(&team->config, &events);
        g_assert_nonnull(team->controls[rank]);
    }
}

void
team_close(Team *team)
{
    for (int rank = 0; rank < team->ranks; rank++) {
        team->class->close(team->controls[rank]);
        ls_request_list_clear(&team->requests[rank]);
        ls_response_list_clear(&team->responses[rank]);
    }
    g_string_free(team->stalls, TRUE);
    g_string_free(team->gates, TRUE);
    g_string_free(team->notices, TRUE);
    g_string_free(team->calls, TRUE);
}

LsRequest *
team_submit(Team *team, int rank, const char *name, int64_t count)
{
    LsRequestList *list = &team->requests[rank];
    LsRequest request = {.rank = rank, .ndim = 1, .operation = LS_OPERATION_ALLREDUCE};
    request.name = strdup(name);
    request.shape = malloc(sizeof *request.shape);
    request.shape[0] = count;
    g_assert_true(ls_request_list_take(list, &request));
    return &list->items[list->n - 1];
}

void
team_submit_all(Team *team, const char *name, int64_t count)
{
    for (int rank = 0; rank < team->ranks; rank++)
        team_submit(team, rank, name, count);
}

static void
begin(Team *team, int rank)
{
    team->done[rank] = team->class->begin(team->controls[rank], &team->requests[rank],
                                          team->shut_down[rank], team->now_ns);
    ls_request_list_clear(&team->requests[rank]);
    ls_response_list_clear(&team->responses[rank]);
}

/* A rank that has failed brings nothing; false: none asks for anything. */
static bool
advance_all(Team *team, const LsResult *results, LsAction *actions)
{
    int first = -1;
    for (int rank = 0; rank < team->ranks; rank++) {
        actions[rank] = (LsAction){.kind = LS_ACTION_DONE};
        if (team->done[rank])
            team->done[rank] = team->class->advance(
                team->controls[rank], results == NULL ? NULL : &results[rank], &actions[rank]);
        if (!team->done[rank])
            continue;
        if (first < 0)
            first = rank;
        g_assert_cmpint(actions[rank].kind, ==, actions[first].kind);
    }
    return first >= 0 && actions[first].kind != LS_ACTION_DONE;
}

static LsPiece
piece_of(const Team *team, int rank, const LsAction *action)
{
    bool spoilt =
        team->spoilt[rank] != NULL && (rank == 0) == (action->kind == LS_ACTION_BROADCAST);
    if (spoilt)
        return (LsPiece){team->spoilt[rank], team->spoilt_length[rank]};
    return (LsPiece){action->data, action->length};
}

static void
combine(Team *team, const LsAction *actions, LsActionKind kind, GByteArray *ret_words)
{
    size_t length = 0;
    for (int rank = 0; rank < team->ranks; rank++) {
        const uint8_t *data = actions[rank].data;
        if (!team->done[rank])
            continue;
        if (length == 0)
            g_byte_array_append(ret_words, data, (guint)(length = actions[rank].length));
        g_assert_cmpint(actions[rank].length, ==, length);
        for (size_t i = 0; i < length; i++)
            ret_words->data[i] =
                kind == LS_ACTION_AND ? ret_words->data[i] & data[i] : ret_words->data[i] | data[i];
    }
    g_string_append_printf(team->calls, "%c%zu", kind == LS_ACTION_AND ? 'A' : 'O', length / 8);
}

/* Copies what comes out, as a control's own bytes live only until it advances. */
static void
perform(Team *team, const LsAction *actions, GByteArray *bytes, LsPiece *pieces, LsResult *results)
{
    int asking = 0;
    while (!team->done[asking])
        asking++;
    LsActionKind kind = actions[asking].kind;
    g_byte_array_set_size(bytes, 0);
    for (int rank = 0; rank < team->ranks; rank++)
        results[rank] = (LsResult){.parts = pieces, .n_parts = 1};
    if (kind == LS_ACTION_GATHER) {
        g_string_append_c(team->calls, 'G');
        for (int rank = 0; rank < team->ranks; rank++) {
            pieces[rank] = piece_of(team, rank, &actions[rank]);
            results[rank] = (LsResult){.parts = pieces, .n_parts = rank == 0 ? team->ranks : 0};
        }
    } else if (kind == LS_ACTION_BROADCAST) {
        const LsPiece piece = piece_of(team, 0, &actions[0]);
        g_string_append_c(team->calls, 'B');
        g_byte_array_append(bytes, piece.data, (guint)piece.length);
        pieces[0] = (LsPiece){bytes->data, bytes->len};
    } else {
        combine(team, actions, kind, bytes);
        pieces[0] = (LsPiece){bytes->data, bytes->len};
    }
}

void
team_cycle(Team *team)
{
    LsAction actions[TEAM_MAX];
    LsResult results[TEAM_MAX];
    LsPiece pieces[TEAM_MAX];
    bool more = true;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_string_truncate(team->calls, 0);
    memset(team->counts, 0, sizeof team->counts);
    for (int rank = 0; rank < team->ranks; rank++)
        begin(team, rank);
    more = advance_all(team, NULL, actions);
    while (more) {
        perform(team, actions, bytes, pieces, results);
        more = advance_all(team, results, actions);
    }
    for (int rank = 0; rank < team->ranks; rank++) {
        if (team->done[rank])
            team->class->take(team->controls[rank], &team->responses[rank], &team->left[rank],
                              &team->path[rank]);
        team->spoilt[rank] = NULL;
    }
}

char *
team_text(const Team *team, int rank)
{
    const LsResponseList *list = &team->responses[rank];
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0)
            g_string_append_c(text, ' ');
        if (list->items[i].operation == LS_OPERATION_ERROR)
            g_string_append_c(text, '!');
        for (size_t k = 0; k < list->items[i].n; k++)
            g_string_append_printf(text, "%s%s", k > 0 ? "+" : "", list->items[i].names[k]);
    }
    return g_string_free(text, FALSE);
}

void
team_check_cycle(const Team *team, const char *calls, const char *expected, int path)
{
    g_assert_cmpstr(team->calls->str, ==, calls);
    team_check_answers(team, expected);
    for (int rank = 0; rank < team->ranks && path >= 0; rank++)
        g_assert_cmpint(team->path[rank], ==, path);
}

void
team_check_answers(const Team *team, const char *expected)
{
    for (int rank = 0; rank < team->ranks; rank++) {
        g_autofree char *text = team_text(team, rank);
        g_assert_true(team->done[rank]);
        g_assert_cmpstr(text, ==, expected);
    }
}

void
team_check_error(const Team *team, size_t i, int32_t status, const char *text)
{
    for (int rank = 0; rank < team->ranks; rank++) {
        g_assert_cmpint(team->responses[rank].n, >, i);
        const LsResponse *response = &team->responses[rank].items[i];
        g_assert_cmpint(response->operation, ==, LS_OPERATION_ERROR);
        g_assert_cmpint(response->status, ==, status);
        g_assert_cmpstr(response->error, ==, text);
    }
}

void
team_check_failure(const Team *team, const char *text)
{
    for (int rank = 0; rank < team->ranks; rank++) {
        g_assert_false(team->done[rank]);
        g_assert_cmpstr(team->class->error(team->controls[rank]), ==, text);
    }
}
