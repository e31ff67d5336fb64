/* SPDX-License-Identifier: Apache-2.0
 *
 * Places by name, as a command line gives them: "buffer:12", "tensor:layer1.conv", "step:41",
 * "rank:2".
 */
#include <string.h>

#include "base/error.h"
#include "layout/inspect-private.h"
#include "layout/tensors.h"

static bool
parse_number(const char *text, int64_t *ret_number)
{
    return g_ascii_string_to_signed(text, 10, 0, G_MAXINT64, ret_number, NULL);
}

static bool
find_buffer(const LsModel *model, const char *text, LsPick *ret_pick)
{
    int64_t number;
    if (!parse_number(text, &number) || (uint64_t)number >= model->n_buffers)
        return false;
    const LsBuffer *buffer = &model->buffers[number];
    if (buffer->n_calls == 0)
        return false;
    uint32_t call = model->call_refs[buffer->first_call_ref];
    *ret_pick = (LsPick){LS_PICK_CALL, model->calls[call].rank,    LS_NONE, LS_NONE,
                         call,         model->calls[call].start_ns};
    return true;
}

/* Of the uses of that name the one next to the time. */
static bool
find_tensor(const LsModel *model, const char *text, int64_t around_ns, LsPick *ret_pick)
{
    uint32_t name = ls_strings_find(ls_trace_get_strings(model->trace), text);
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < model->n_uses && name != UINT32_MAX; i++) {
        const LsUse *use = &model->uses[i];
        int64_t first = ls_use_get_first_ns(model, use);
        if (use->tensor != name || first == LS_TIME_NONE || ABS(first - around_ns) >= best)
            continue;
        best = ABS(first - around_ns);
        *ret_pick = (LsPick){LS_PICK_USE, use->rank, LS_NONE, LS_NONE, i, first};
    }
    return best < INT64_MAX;
}

static bool
find_step(const LsModel *model, const char *text, LsPick *ret_pick)
{
    int64_t number;
    int step = parse_number(text, &number) ? ls_model_find_step(model, number) : -1;
    if (step < 0)
        return false;
    *ret_pick = (LsPick){LS_PICK_STEP, LS_NONE,      LS_NONE,
                         LS_NONE,      (size_t)step, model->steps[step].start_ns};
    return true;
}

static bool
find_rank(const LsModel *model, const char *text, LsPick *ret_pick)
{
    int64_t number;
    for (size_t r = 0; parse_number(text, &number) && r < model->n_ranks; r++)
        if (model->ranks[r].rank == number) {
            *ret_pick =
                (LsPick){LS_PICK_RANK, (uint32_t)r, LS_NONE, LS_NONE, r, model->ranks[r].first_ns};
            return true;
        }
    return false;
}

bool
ls_inspect_find(const LsModel *model, const char *place, int64_t around_ns, LsPick *ret_pick,
                GError **error)
{
    const char *colon = strchr(place, ':');
    bool found = false;
    if (colon && g_str_has_prefix(place, "buffer:"))
        found = find_buffer(model, colon + 1, ret_pick);
    else if (colon && g_str_has_prefix(place, "tensor:"))
        found = find_tensor(model, colon + 1, around_ns, ret_pick);
    else if (colon && g_str_has_prefix(place, "step:"))
        found = find_step(model, colon + 1, ret_pick);
    else if (colon && g_str_has_prefix(place, "rank:"))
        found = find_rank(model, colon + 1, ret_pick);
    else {
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "\"%s\" is no place: buffer:ID, tensor:NAME, step:NUMBER or rank:NUMBER is "
                    "expected.",
                    place);
        return false;
    }
    if (!found)
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE, "There is no %.*s %s in this recording.",
                    (int)(colon - place), place, colon + 1);
    return found;
}
