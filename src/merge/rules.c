/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/rules.c: the table of rules, its text form, and the search through it. Read once a name,
 * not once a span (the builder keeps the answers), so that a plain scan does.
 */
#include "merge/rules.h"

#include "base/error.h"
#include "merge/run.h"

#include <string.h>

typedef struct Rule {
    int source;    /* -1: any */
    bool cpu_only; /* of processes without a GPU record */
    GPatternSpec *category, *name;
    LsClass klass;
} Rule;

struct LsRules {
    GArray *rows; /* Rule */
};

static const char *const source_names[] = {
    [LS_SOURCE_LOCKSTEP] = "lockstep", [LS_SOURCE_HOROVOD] = "horovod",
    [LS_SOURCE_KINETO] = "kineto",     [LS_SOURCE_TENSORFLOW] = "tensorflow",
    [LS_SOURCE_MXNET] = "mxnet",       [LS_SOURCE_OTHER] = "other",
};

static const char *const class_names[LS_N_CLASSES] = {
    [LS_CLASS_NONE] = "none",     [LS_CLASS_COMPUTE] = "compute",
    [LS_CLASS_COPY] = "copy",     [LS_CLASS_COMMUNICATION] = "communication",
    [LS_CLASS_FUSION] = "fusion", [LS_CLASS_NEGOTIATION] = "negotiation",
    [LS_CLASS_IO] = "io",         [LS_CLASS_CONTROL] = "control",
};

static const struct {
    const char *source, *category, *name, *klass;
} built_in[] = {
#define LS_RULE(source, category, name, klass) {source, category, name, klass},
#include "merge/rules.def"
#undef LS_RULE
};

static void
clear_rule(void *data)
{
    Rule *rule = data;

    g_pattern_spec_free(rule->category);
    g_pattern_spec_free(rule->name);
}

static int
find_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (g_str_equal(names[i], name))
            return (int)i;
    return -1;
}

/* One rule from its four words; false with *ret_expected. */
static bool
parse_rule(const char *const *words, Rule *ret_rule, const char **ret_expected)
{
    const char *slash = strchr(words[0], '/');
    g_autofree char *source = slash ? g_strndup(words[0], slash - words[0]) : g_strdup(words[0]);
    Rule rule = {.cpu_only = slash != NULL};
    int klass = find_name(class_names, LS_N_CLASSES, words[3]);

    rule.source = find_name(source_names, G_N_ELEMENTS(source_names), source);
    if ((rule.source < 0 && !g_str_equal(source, "*")) || (slash && !g_str_equal(slash, "/cpu"))) {
        *ret_expected = "a source (lockstep, horovod, kineto, tensorflow, mxnet, other or *; /cpu "
                        "behind it)";
        return false;
    }
    if (klass < 0) {
        *ret_expected = "a class (none, compute, communication, copy, fusion, io, negotiation or "
                        "control)";
        return false;
    }
    rule.klass = (LsClass)klass;
    rule.category = g_pattern_spec_new(words[1]);
    rule.name = g_pattern_spec_new(words[2]);
    *ret_rule = rule;
    return true;
}

static bool
parse_line(LsRules *rules, const char *line, const char **ret_expected, const char **ret_found)
{
    g_auto(GStrv) words = NULL;
    g_autoptr(GError) problem = NULL;
    Rule rule;
    int n = 0;

    *ret_found = "";
    if (!g_shell_parse_argv(line, &n, &words, &problem)) {
        *ret_expected = "a closing quote";
        return g_error_matches(problem, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING);
    }
    if (n != 4) {
        *ret_expected = "four words: source, category, name, class";
        return false;
    }
    if (!parse_rule((const char *const *)words, &rule, ret_expected)) {
        /* Which of the two words it was, for the sentence. */
        *ret_found = g_str_has_prefix(*ret_expected, "a class") ? words[3] : words[0];
        *ret_found = g_intern_string(*ret_found);
        return false;
    }
    g_array_append_val(rules->rows, rule);
    return true;
}

static bool
parse_file(LsRules *rules, const char *path, GError **error)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) problem = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents(path, &text, NULL, &problem)) {
        g_set_error(error, LS_ERROR, LS_ERROR_BAD_FILE, "The rules cannot be read: %s.",
                    problem->message);
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (size_t i = 0; lines[i] != NULL; i++) {
        const char *expected, *found;

        if (parse_line(rules, lines[i], &expected, &found))
            continue;
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE, "%s, line %zu: expected %s%s%s%s.", path,
                    i + 1, expected, found[0] ? ", found \"" : "", found, found[0] ? "\"" : "");
        return false;
    }
    return true;
}

LsRules *
ls_rules_load(const char *path, GError **error)
{
    g_autoptr(LsRules) rules = g_new(LsRules, 1);

    rules->rows = g_array_new(FALSE, FALSE, sizeof(Rule));
    g_array_set_clear_func(rules->rows, clear_rule);
    if (path != NULL && !parse_file(rules, path, error))
        return NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(built_in); i++) {
        const char *words[] = {built_in[i].source, built_in[i].category, built_in[i].name,
                               built_in[i].klass};
        const char *expected;
        Rule rule;

        if (!parse_rule(words, &rule, &expected))
            g_assert_not_reached();
        g_array_append_val(rules->rows, rule);
    }
    return g_steal_pointer(&rules);
}

void
ls_rules_free(LsRules *rules)
{
    if (rules == NULL)
        return;
    g_array_unref(rules->rows);
    g_free(rules);
}

LsClass
ls_rules_classify(const LsRules *rules, uint8_t source, bool has_gpu, const char *category,
                  const char *name)
{
    for (guint i = 0; i < rules->rows->len; i++) {
        const Rule *rule = &g_array_index(rules->rows, Rule, i);

        if ((rule->source < 0 || rule->source == source) && !(rule->cpu_only && has_gpu) &&
            g_pattern_spec_match_string(rule->category, category) &&
            g_pattern_spec_match_string(rule->name, name))
            return rule->klass;
    }
    return LS_CLASS_NONE;
}

static void
append_word(GString *text, const char *word, int width)
{
    g_autofree char *quoted = strchr(word, ' ') ? g_shell_quote(word) : g_strdup(word);

    g_string_append_printf(text, "%-*s ", width, quoted);
}

char *
ls_rules_format(void)
{
    GString *text = g_string_new("# source, category, name, class: the first match decides\n");

    for (size_t i = 0; i < G_N_ELEMENTS(built_in); i++) {
        append_word(text, built_in[i].source, 14);
        append_word(text, built_in[i].category, 13);
        append_word(text, built_in[i].name, 24);
        g_string_append_printf(text, "%s\n", built_in[i].klass);
    }
    return g_string_free(text, FALSE);
}
