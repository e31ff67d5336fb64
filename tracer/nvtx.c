/* SPDX-License-Identifier: Apache-2.0
 *
 * Push and pop become one record when they pop; a range that another thread may end becomes two,
 * joined by its id. Ranges named step*, forward, backward, optimizer, input, checkpoint in the
 * default domain are the marks of that name instead. A text is looked up by its hash in a table of
 * the thread's own, so that no lock is taken for one that was seen before.
 */
#include "tracer/nvtx.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"
#include "capture/recorder.h"

#define DEPTH     64
#define TEXTS     256 /* of a thread's table */
#define HANDLES   4096
#define MARK_STEP 100

/* What a text means; kept as long as the process. */
typedef struct Text {
    uint64_t hash;
    uint32_t name;
    uint8_t mark;   /* 0: none; 1 + lockstep_phase; MARK_STEP */
    bool is_bound;  /* the range that bounds the recording */
    int64_t number; /* of a step; -1: it says none */
} Text;

static const Text no_text;

typedef struct Open {
    const void *domain;
    int64_t start_ns, payload;
    uint32_t name;
    uint8_t payload_type, mark;
    bool is_bound;
} Open;

typedef struct Stack {
    Open open[DEPTH];
    int n; /* may be more than DEPTH */
    Text texts[TEXTS];
} Stack;
static __thread Stack own_stack; /* its place costs a call: found once by each entry */

/* Domains and registered texts, never freed: a handle may be used after it was given back. */
static struct {
    pthread_mutex_t lock;
    Text texts[HANDLES];
    uint32_t domains[HANDLES];
    int n_texts, n_domains;
    _Atomic uint64_t ranges;
    _Atomic int64_t steps;
    const char *bound; /* NULL: none */
} nvtx = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- Texts -- */

static inline uint64_t
load(const char *text, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, text, n);
    return word;
}

/* Eight bytes at a time; the last eight may overlap those before. */
static uint64_t
hash_text(const char *text)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    size_t length = strlen(text);
    uint64_t hash = (length + 1) * factor, last = 0;
    const char *end = text + length;
    for (; end - text > 8; text += 8) {
        hash = (hash ^ load(text, 8)) * factor;
        hash ^= hash >> 32;
    }
    if (length >= 8)
        last = load(end - 8, 8);
    else if (length >= 4)
        last = load(text, 4) | load(end - 4, 4) << 32;
    else if (length > 0)
        last = load(text, 1) | load(text + length / 2, 1) << 8 | load(end - 1, 1) << 16;
    hash = (hash ^ last) * factor;
    return hash ^ hash >> 32;
}

static uint8_t
find_mark(const char *text, int64_t *ret_number)
{
    static const char *const phases[] = {"forward", "backward", "optimizer", "input", "checkpoint"};
    *ret_number = -1;
    for (uint8_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        if (strcmp(text, phases[i]) == 0)
            return (uint8_t)(1 + i);
    }
    if (strncmp(text, "step", 4) != 0 || (text[4] >= 'a' && text[4] <= 'z'))
        return 0;
    size_t first = strcspn(text, "0123456789");
    if (text[first] != '\0') {
        *ret_number = 0;
        for (const char *at = text + first; *at >= '0' && *at <= '9' && *ret_number < INT32_MAX;
             at++)
            *ret_number = *ret_number * 10 + (*at - '0');
    }
    return MARK_STEP;
}

static Text
make_text(const char *ascii, uint64_t hash, bool is_default_domain)
{
    Text text = {.hash = hash, .name = ls_recorder_name(ascii)};
    if (is_default_domain)
        text.mark = find_mark(ascii, &text.number);
    text.is_bound = nvtx.bound != NULL && strcmp(ascii, nvtx.bound) == 0;
    return text;
}

static const Text *
find_text(Stack *stack, const char *ascii, const void *domain)
{
    if (ascii == NULL)
        return &no_text;
    uint64_t hash = hash_text(ascii) + (domain != NULL);
    Text *text = &stack->texts[hash % TEXTS];
    if (text->hash != hash || text->name == 0)
        *text = make_text(ascii, hash, domain == NULL);
    return text;
}

/* wchar_t as ASCII, what is not as "?". */
static const Text *
find_wide(Stack *stack, const void *wide, const void *domain)
{
    char ascii[256];
    const wchar_t *from = wide;
    size_t n = 0;
    for (; from != NULL && from[n] != 0 && n + 1 < sizeof ascii; n++)
        ascii[n] = from[n] > 0 && from[n] < 128 ? (char)from[n] : '?';
    ascii[n] = '\0';
    return find_text(stack, ascii, domain);
}

static const Text *
find_registered(const void *handle)
{
    uintptr_t index = (uintptr_t)handle;
    return index >= 1 && index <= HANDLES ? &nvtx.texts[index - 1] : &no_text;
}

/* Good until the stack's owner looks for another. */
static const Text *
find_message(Stack *stack, const LsNvtxEvent *event, const void *domain)
{
    if (event == NULL || event->size < offsetof(LsNvtxEvent, message) + sizeof event->message)
        return &no_text;
    switch (event->message_type) {
    case LS_NVTX_MESSAGE_ASCII:
        return find_text(stack, event->message.ascii, domain);
    case LS_NVTX_MESSAGE_WIDE:
        return find_wide(stack, event->message.wide, domain);
    case LS_NVTX_MESSAGE_REGISTERED:
        return find_registered(event->message.registered);
    default:
        return &no_text;
    }
}

static int64_t
get_payload(const LsNvtxEvent *event, int *ret_type)
{
    int64_t bits = 0;
    *ret_type = LS_NVTX_PAYLOAD_NONE;
    if (event == NULL || event->payload_type < LS_NVTX_PAYLOAD_UINT64 ||
        event->payload_type > LS_NVTX_PAYLOAD_FLOAT)
        return 0;
    *ret_type = event->payload_type;
    switch (event->payload_type) {
    case LS_NVTX_PAYLOAD_UINT32:
        return event->payload.uint32;
    case LS_NVTX_PAYLOAD_INT32:
        return event->payload.int32;
    case LS_NVTX_PAYLOAD_FLOAT:
        memcpy(&bits, &event->payload.real32, sizeof event->payload.real32);
        return bits;
    default:
        return event->payload.int64;
    }
}

static uint32_t
domain_name(const void *domain)
{
    uintptr_t index = (uintptr_t)domain;
    return index >= 1 && index <= HANDLES ? nvtx.domains[index - 1] : 0;
}

/* -- Marks -- */

static void
begin_mark(const Text *text)
{
    if (text->mark == MARK_STEP)
        lockstep_step_begin(text->number >= 0 ? text->number : atomic_fetch_add(&nvtx.steps, 1));
    else
        lockstep_phase_begin((lockstep_phase)(text->mark - 1));
}

static void
end_mark(uint8_t mark)
{
    if (mark == MARK_STEP)
        lockstep_step_end(0, 0);
    else
        lockstep_phase_end((lockstep_phase)(mark - 1), 0);
}

/* -- Push and pop -- */

static int
push(Stack *stack, const void *domain, const Text *text, const LsNvtxEvent *event)
{
    int depth = stack->n++, type;
    if (text->is_bound)
        ls_recorder_set_range(true);
    if (depth >= DEPTH)
        return depth;
    Open *open = &stack->open[depth];
    open->domain = domain;
    open->name = text->name;
    open->mark = text->mark;
    open->is_bound = text->is_bound;
    open->payload = get_payload(event, &type);
    open->payload_type = (uint8_t)type;
    open->start_ns = ls_recorder_now();
    if (text->mark != 0)
        begin_mark(text);
    return depth;
}

static void
write_range(const Open *open)
{
    LsRecord record = {.kind = LS_RECORD_RANGE,
                       .name = open->name,
                       .start_ns = open->start_ns,
                       .end_ns = ls_recorder_now(),
                       .args = {domain_name(open->domain), open->payload, open->payload_type}};
    ls_recorder_write(&record);
}

/* The latest of this domain; those of other domains may lie above it. */
static int
pop(const void *domain)
{
    Stack *stack = &own_stack;
    if (stack->n > DEPTH)
        return --stack->n;
    int i = stack->n - 1;
    while (i >= 0 && stack->open[i].domain != domain)
        i--;
    if (i < 0)
        return -2; /* NVTX_NO_PUSH_POP_TRACKING */
    Open open = stack->open[i];
    if (i < --stack->n)
        memmove(&stack->open[i], &stack->open[i + 1], sizeof open * (size_t)(stack->n - i));
    if (open.mark != 0)
        end_mark(open.mark);
    else if (ls_recorder_active())
        write_range(&open);
    if (open.is_bound)
        ls_recorder_set_range(false);
    return stack->n;
}

/* -- Start and end: the id holds what the end needs to know -- */

static uint64_t
start(const void *domain, const Text *text, const LsNvtxEvent *event)
{
    uint64_t id = (atomic_fetch_add(&nvtx.ranges, 1) + 1) << 8 | text->mark;
    int type;
    LsRecord record = {.kind = LS_RECORD_RANGE_START,
                       .name = text->name,
                       .args = {(int64_t)id, domain_name(domain), get_payload(event, &type)}};
    if (text->is_bound)
        ls_recorder_set_range(true);
    if (text->mark != 0) {
        begin_mark(text);
        return id;
    }
    record.args[3] = type;
    record.start_ns = record.end_ns = ls_recorder_now();
    if (ls_recorder_active())
        ls_recorder_write(&record);
    return id;
}

static void
end(uint64_t id)
{
    LsRecord record = {.kind = LS_RECORD_RANGE_END, .args = {(int64_t)id}};
    if ((id & 255) != 0) {
        end_mark((uint8_t)(id & 255));
        return;
    }
    record.start_ns = record.end_ns = ls_recorder_now();
    if (ls_recorder_active())
        ls_recorder_write(&record);
}

static void
mark(const void *domain, const Text *text)
{
    LsRecord record = {.kind = LS_RECORD_INSTANT, .name = text->name};
    record.start_ns = record.end_ns = ls_recorder_now();
    if (ls_recorder_active())
        ls_recorder_write(&record);
}

/* -- What NVTX calls -- */

static void
mark_ex(const LsNvtxEvent *event)
{
    mark(NULL, find_message(&own_stack, event, NULL));
}

static void
mark_a(const char *text)
{
    mark(NULL, find_text(&own_stack, text, NULL));
}

static void
mark_w(const void *text)
{
    mark(NULL, find_wide(&own_stack, text, NULL));
}

static uint64_t
start_ex(const LsNvtxEvent *event)
{
    return start(NULL, find_message(&own_stack, event, NULL), event);
}

static uint64_t
start_a(const char *text)
{
    return start(NULL, find_text(&own_stack, text, NULL), NULL);
}

static uint64_t
start_w(const void *text)
{
    return start(NULL, find_wide(&own_stack, text, NULL), NULL);
}

static int
push_ex(const LsNvtxEvent *event)
{
    Stack *stack = &own_stack;
    return push(stack, NULL, find_message(stack, event, NULL), event);
}

static int
push_a(const char *text)
{
    Stack *stack = &own_stack;
    return push(stack, NULL, find_text(stack, text, NULL), NULL);
}

static int
push_w(const void *text)
{
    Stack *stack = &own_stack;
    return push(stack, NULL, find_wide(stack, text, NULL), NULL);
}

static int
pop_default(void)
{
    return pop(NULL);
}

static void
name_thread(uint32_t thread, const char *name)
{
    if (name != NULL && thread == (uint32_t)syscall(SYS_gettid))
        ls_recorder_set_thread_name(name);
}

static void
domain_mark(void *domain, const LsNvtxEvent *event)
{
    mark(domain, find_message(&own_stack, event, domain));
}

static uint64_t
domain_start(void *domain, const LsNvtxEvent *event)
{
    return start(domain, find_message(&own_stack, event, domain), event);
}

static void
domain_end(void *domain, uint64_t id)
{
    end(id);
}

static int
domain_push(void *domain, const LsNvtxEvent *event)
{
    Stack *stack = &own_stack;
    return push(stack, domain, find_message(stack, event, domain), event);
}

static int
domain_pop(void *domain)
{
    return pop(domain);
}

static void *
register_text(void *domain, const Text *text)
{
    void *handle = NULL;
    pthread_mutex_lock(&nvtx.lock);
    for (int i = 0; i < nvtx.n_texts && handle == NULL; i++) {
        if (nvtx.texts[i].hash == text->hash && nvtx.texts[i].name == text->name)
            handle = (void *)(uintptr_t)(i + 1);
    }
    if (handle == NULL && nvtx.n_texts < HANDLES) {
        nvtx.texts[nvtx.n_texts++] = *text;
        handle = (void *)(uintptr_t)nvtx.n_texts;
    }
    pthread_mutex_unlock(&nvtx.lock);
    return handle;
}

static void *
register_a(void *domain, const char *text)
{
    return register_text(domain, find_text(&own_stack, text, domain));
}

static void *
register_w(void *domain, const void *text)
{
    return register_text(domain, find_wide(&own_stack, text, domain));
}

static void *
create_domain(uint32_t name)
{
    void *handle = NULL;
    pthread_mutex_lock(&nvtx.lock);
    for (int i = 0; i < nvtx.n_domains && handle == NULL; i++) {
        if (nvtx.domains[i] == name)
            handle = (void *)(uintptr_t)(i + 1);
    }
    if (handle == NULL && nvtx.n_domains < HANDLES) {
        nvtx.domains[nvtx.n_domains++] = name;
        handle = (void *)(uintptr_t)nvtx.n_domains;
    }
    pthread_mutex_unlock(&nvtx.lock);
    return handle;
}

static void *
create_domain_a(const char *name)
{
    return create_domain(find_text(&own_stack, name, &nvtx)->name);
}

static void *
create_domain_w(const void *name)
{
    return create_domain(find_wide(&own_stack, name, &nvtx)->name);
}

/* -- Putting them there -- */

#define FUNCTION(number, function) [number] = (LsNvtxFunction)(function)

static void
fill(const LsNvtxCallbacks *callbacks, int module, const LsNvtxFunction *functions, unsigned n)
{
    LsNvtxFunction **table;
    unsigned size = 0;
    if (callbacks->get_functions(module, &table, &size) == 0)
        return;
    for (unsigned i = 1; i < n && i < size; i++) {
        if (table[i] != NULL && functions[i] != NULL)
            *table[i] = functions[i];
    }
}

void
ls_nvtx_fill(LsNvtxGetTable get_table)
{
    static const LsNvtxFunction core[LS_NVTX_CORE_SIZE] = {
        FUNCTION(LS_NVTX_MARK_EX, mark_ex),       FUNCTION(LS_NVTX_MARK_A, mark_a),
        FUNCTION(LS_NVTX_MARK_W, mark_w),         FUNCTION(LS_NVTX_RANGE_START_EX, start_ex),
        FUNCTION(LS_NVTX_RANGE_START_A, start_a), FUNCTION(LS_NVTX_RANGE_START_W, start_w),
        FUNCTION(LS_NVTX_RANGE_END, end),         FUNCTION(LS_NVTX_RANGE_PUSH_EX, push_ex),
        FUNCTION(LS_NVTX_RANGE_PUSH_A, push_a),   FUNCTION(LS_NVTX_RANGE_PUSH_W, push_w),
        FUNCTION(LS_NVTX_RANGE_POP, pop_default), FUNCTION(LS_NVTX_NAME_THREAD_A, name_thread),
    };
    static const LsNvtxFunction core2[LS_NVTX_CORE2_SIZE] = {
        FUNCTION(LS_NVTX_DOMAIN_MARK_EX, domain_mark),
        FUNCTION(LS_NVTX_DOMAIN_RANGE_START_EX, domain_start),
        FUNCTION(LS_NVTX_DOMAIN_RANGE_END, domain_end),
        FUNCTION(LS_NVTX_DOMAIN_RANGE_PUSH_EX, domain_push),
        FUNCTION(LS_NVTX_DOMAIN_RANGE_POP, domain_pop),
        FUNCTION(LS_NVTX_DOMAIN_REGISTER_STRING_A, register_a),
        FUNCTION(LS_NVTX_DOMAIN_REGISTER_STRING_W, register_w),
        FUNCTION(LS_NVTX_DOMAIN_CREATE_A, create_domain_a),
        FUNCTION(LS_NVTX_DOMAIN_CREATE_W, create_domain_w),
    };
    const LsNvtxCallbacks *callbacks = get_table(LS_NVTX_TABLE_CALLBACKS);
    if (callbacks == NULL || callbacks->bytes < sizeof *callbacks)
        return;
    if (nvtx.bound == NULL && ls_recorder_get_range()[0] != '\0')
        nvtx.bound = ls_recorder_get_range();
    fill(callbacks, LS_NVTX_MODULE_CORE, core, LS_NVTX_CORE_SIZE);
    fill(callbacks, LS_NVTX_MODULE_CORE2, core2, LS_NVTX_CORE2_SIZE);
}
