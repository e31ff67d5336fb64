/* SPDX-License-Identifier: Apache-2.0
 *
 * team.c: one cycle is a gather and a broadcast, at all ranks.
 */
#include "team.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

static void
note_stall(void *user, const char *tensor, int missing_rank, int64_t waited_ns)
{
    Team *team = user;
    g_string_append_printf(team->stalls, "%s:%d:%" G_GINT64_FORMAT " ", tensor, missing_rank,
                           waited_ns);
}

void
team_open(Team *team, int ranks)
{
    const LsControlEvents events = {.stall = note_stall, .user = team};
    team->ranks = team->config.ranks = ranks;
    team->stalls = g_string_new(NULL);
    for (int rank = 0; rank < ranks; rank++) {
        team->config.rank = rank;
        team->responses[rank] = LS_RESPONSE_LIST_INIT;
        team->controls[rank] = ls_control_coordinator.open(&team->config, &events);
        g_assert_nonnull(team->controls[rank]);
    }
}

void
team_close(Team *team)
{
    for (int rank = 0; rank < team->ranks; rank++) {
        ls_control_coordinator.close(team->controls[rank]);
        ls_request_list_clear(&team->requests[rank]);
        ls_response_list_clear(&team->responses[rank]);
    }
    g_string_free(team->stalls, TRUE);
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

static LsAction
advance(Team *team, int rank, const LsResult *result, LsActionKind expected)
{
    LsAction action = {.kind = LS_ACTION_DONE};
    if (team->done[rank])
        team->done[rank] = ls_control_coordinator.advance(team->controls[rank], result, &action);
    if (team->done[rank])
        g_assert_cmpint(action.kind, ==, expected);
    return action;
}

static LsPiece
piece_of(const Team *team, int rank, const LsAction *action)
{
    if (team->spoilt[rank] != NULL)
        return (LsPiece){team->spoilt[rank], team->spoilt_length[rank]};
    return (LsPiece){action->data, action->length};
}

static void
take(Team *team, int rank)
{
    ls_response_list_clear(&team->responses[rank]);
    if (team->done[rank])
        ls_control_coordinator.take(team->controls[rank], &team->responses[rank], &team->left[rank],
                                    &team->path[rank]);
}

void
team_cycle(Team *team)
{
    LsPiece pieces[TEAM_MAX], answer = {NULL, 0};
    const LsResult gathered = {pieces, team->ranks}, none = {NULL, 0}, broadcast = {&answer, 1};
    for (int rank = 0; rank < team->ranks; rank++) {
        team->done[rank] = ls_control_coordinator.begin(team->controls[rank], &team->requests[rank],
                                                        team->shut_down[rank], team->now_ns);
        ls_request_list_clear(&team->requests[rank]);
        const LsAction action = advance(team, rank, NULL, LS_ACTION_GATHER);
        pieces[rank] =
            rank == 0 ? (LsPiece){action.data, action.length} : piece_of(team, rank, &action);
    }
    for (int rank = 0; rank < team->ranks; rank++) {
        const LsAction action =
            advance(team, rank, rank == 0 ? &gathered : &none, LS_ACTION_BROADCAST);
        if (rank == 0)
            answer = piece_of(team, rank, &action);
    }
    for (int rank = 0; rank < team->ranks; rank++) {
        advance(team, rank, &broadcast, LS_ACTION_DONE);
        take(team, rank);
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
        g_assert_cmpstr(ls_control_coordinator.error(team->controls[rank]), ==, text);
    }
}
