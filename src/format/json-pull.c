/* SPDX-License-Identifier: Apache-2.0
 *
 * format/json-pull.c: json-c's tokener over a window of the input. Brackets, commas and space
 * between objects are passed over whatever their number. An object that does not parse is tried
 * once more with the quotes inside its {"name": "..."} escaped (Horovod writes tensor names as they
 * are); then it is left out, and reading goes on at the next text that looks like an object.
 */
#include "format/json-pull.h"

#include <string.h>

#define OBJECT_MAX (1u << 20) /* longer is damage: records have some 100 bytes */
#define FIRST_PEEK (16u << 10)
#define REST_MAX   4096 /* behind the list of events */

struct LsJsonPull {
    LsInput *input;
    json_tokener *tokener;
    LsJsonFault fault;
    void *user;
    bool wrapped, ended, any; /* any: an object was there */
};

LsJsonPull *
ls_json_pull_new(LsInput *input, LsJsonFault fault, void *user)
{
    LsJsonPull *pull = g_new0(LsJsonPull, 1);
    pull->input = input;
    pull->tokener = json_tokener_new();
    pull->fault = fault;
    pull->user = user;
    return pull;
}

void
ls_json_pull_free(LsJsonPull *pull)
{
    if (!pull)
        return;
    json_tokener_free(pull->tokener);
    g_free(pull);
}

void
ls_json_pull_set_wrapped(LsJsonPull *pull)
{
    pull->wrapped = true;
}

static bool
is_between(char c)
{
    return c == ',' || c == '[' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Behind the list: more keys of the object, and nothing else. Another document there is somebody
 * else's, written over this file. */
static void
check_rest(LsJsonPull *pull)
{
    int64_t at = ls_input_get_offset(pull->input);
    size_t have;
    const char *rest = (const char *)ls_input_peek(pull->input, REST_MAX + 1, &have);
    const char *more = memmem(rest, have, "\"ph\"", 4);
    g_autofree char *object = g_strdup_printf("{\"\":[%.*s", (int)MIN(have, REST_MAX), rest);
    json_object *parsed;
    pull->ended = true;
    if (more == NULL && have <= REST_MAX) {
        json_tokener_reset(pull->tokener);
        parsed = json_tokener_parse_ex(pull->tokener, object, -1);
        size_t end = json_tokener_get_parse_end(pull->tokener);
        bool whole = parsed != NULL && object[end + strspn(object + end, " \t\r\n")] == '\0';
        json_object_put(parsed);
        if (whole)
            return;
    }
    pull->fault(
        pull->user, at,
        "Behind the list of events stands more than the end of its object, as where several "
        "processes wrote one file; it is left out.");
}

/* To the next object; what lies before it and is neither space nor comma is a fault. false: the
 * end. */
static bool
find_object(LsJsonPull *pull)
{
    int64_t junk_at = -1;
    bool found = false;
    size_t have;
    const char *at;
    while (!found && !pull->ended && (at = (const char *)ls_input_peek(pull->input, 1, &have)) &&
           have > 0) {
        size_t i = 0;
        bool closed = false;
        for (; i < have && at[i] != '{' && !closed; i++) {
            closed = pull->wrapped && at[i] == ']';
            if (junk_at < 0 && !is_between(at[i]))
                junk_at = ls_input_get_offset(pull->input) + (int64_t)i;
        }
        found = i < have && !closed;
        ls_input_skip(pull->input, closed ? i - 1 : i);
        if (closed)
            check_rest(pull);
    }
    if (!found && pull->wrapped && !pull->ended && pull->any) {
        pull->ended = true;
        pull->fault(pull->user, ls_input_get_offset(pull->input),
                    "The file ends before its list of events does.");
    }
    if (junk_at >= 0)
        pull->fault(pull->user, junk_at, "Text that is no event is left out.");
    return found;
}

/* The end of the name that begins at `from`: the last quote before the record's closing braces.
 * NULL if the record does not end within the text. */
static const char *
find_name_end(const char *from, const char *end)
{
    for (const char *at = from; (at = memmem(at, (size_t)(end - at), "\"}}", 3)); at++)
        if (at + 3 == end || is_between(at[3]))
            return at;
    return NULL;
}

static void
append_escaped(GString *text, const char *from, const char *to)
{
    for (; from < to; from++) {
        if (*from == '"' || *from == '\\')
            g_string_append_c(text, '\\');
        if ((unsigned char)*from < 0x20)
            g_string_append_printf(text, "\\u%04x", (unsigned)*from);
        else
            g_string_append_c(text, *from);
    }
}

/* Parses the object at `text` with its args' name escaped; *ret_length: of the original. */
static json_object *
parse_raw_name(LsJsonPull *pull, const char *text, size_t length, size_t *ret_length)
{
    static const char key[] = "{\"name\": \"";
    const char *end = text + MIN(length, 64 * 1024),
               *line = memchr(text, '\n', (size_t)(end - text));
    const char *args = memmem(text, (size_t)((line ? line : end) - text), "\"args\":", 7);
    const char *name = args ? memmem(args, (size_t)(end - args), key, sizeof key - 1) : NULL;
    if (!name)
        return NULL;
    name += sizeof key - 1;
    const char *name_end = find_name_end(name, end);
    if (!name_end)
        return NULL;
    g_autoptr(GString) repaired = g_string_new_len(text, name - text);
    append_escaped(repaired, name, name_end);
    g_string_append(repaired, "\"}}");
    json_tokener_reset(pull->tokener);
    json_object *object = json_tokener_parse_ex(pull->tokener, repaired->str, (int)repaired->len);
    *ret_length = (size_t)(name_end + 3 - text);
    return object;
}

/* Left out: what does not parse, up to where another object may begin. */
static void
pass_fault(LsJsonPull *pull, const char *text, size_t length, bool cut)
{
    int64_t offset = ls_input_get_offset(pull->input);
    const char *next = length > 1 ? memmem(text + 1, length - 1, "{\"", 2) : NULL;
    ls_input_skip(pull->input, next ? (size_t)(next - text) : length);
    pull->fault(pull->user, offset,
                cut ? "The file ends inside an event, which is left out."
                    : "An event is not well-formed and is left out.");
}

json_object *
ls_json_pull_next(LsJsonPull *pull, int64_t *ret_offset)
{
    while (find_object(pull)) {
        pull->any = true;
        size_t want = FIRST_PEEK, have, length = 0;
        const char *text;
        json_object *object;
        enum json_tokener_error status;
        *ret_offset = ls_input_get_offset(pull->input);
        do { /* an object longer than the peek is begun anew with more */
            text = (const char *)ls_input_peek(pull->input, want, &have);
            json_tokener_reset(pull->tokener);
            object = json_tokener_parse_ex(pull->tokener, text, (int)MIN(have, OBJECT_MAX));
            status = json_tokener_get_error(pull->tokener);
            length = json_tokener_get_parse_end(pull->tokener);
        } while (status == json_tokener_continue && have >= want && (want *= 2) <= OBJECT_MAX);
        bool cut = status == json_tokener_continue && have < want;
        if (!object)
            object = parse_raw_name(pull, text, have, &length);
        if (object && json_object_is_type(object, json_type_object)) {
            ls_input_skip(pull->input, length);
            return object;
        }
        json_object_put(object);
        pass_fault(pull, text, have, cut);
    }
    return NULL;
}
