/* SPDX-License-Identifier: Apache-2.0
 *
 * Push and pop become one record when they pop; a range that another thread may end becomes two,
 * joined by its id. Ranges named step*, forward, backward, optimizer, input, checkpoint in the
 * default domain are the marks of that name instead.
 */
#include "tracer/nvtx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"
#include "capture/own.h"
#include "capture/recorder.h"
#include "tracer/nvtx-text.h"

#define DEPTH 64

typedef struct Open {
    const void *domain;
    int64_t start_ns, payload;
    uint32_t name;
    uint8_t payload_type, mark;
    bool is_bound;
} Open;

typedef struct Stack {
    uint32_t life; /* of the recorder whose ids the names are */
    int n;         /* may be more than DEPTH */
    Open open[DEPTH];
    LsNvtxTexts texts;
} Stack;

static struct {
    _Atomic uint64_t ranges;
    _Atomic int64_t steps;
} counts;

/* In another life of the recorder what was begun before is no range of it. */
__attribute__((noinline)) static void
forget(Stack *stack, uint32_t life)
{
    stack->life = life;
    memset(&stack->texts, 0, sizeof stack->texts);
    for (int i = 0; i < stack->n && i < DEPTH; i++)
        stack->open[i].start_ns = stack->open[i].mark = 0;
}

/* Once in each entry. */
static Stack *
get_stack(void)
{
    static __thread Stack own;
    Stack *stack = ls_own(&own);
    uint32_t life = ls_recorder_life();
    if (stack->life != life)
        forget(stack, life);
    return stack;
}

/* -- Texts -- */

static const LsNvtxText *
find_text(Stack *stack, const char *ascii, const void *domain)
{
    return ls_nvtx_text_find(&stack->texts, ascii, domain == NULL);
}

/* Of the default domain: the calls of domains take an event. */
static const LsNvtxText *
find_wide(Stack *stack, const void *wide)
{
    char ascii[LS_NVTX_WIDE_MAX];
    ls_nvtx_text_narrow(wide, ascii);
    return find_text(stack, ascii, NULL);
}

static const LsNvtxText *
find_message(Stack *stack, const LsNvtxEvent *event, const void *domain)
{
    return ls_nvtx_text_message(&stack->texts, event, domain == NULL);
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

/* -- Marks -- */

static void
begin_mark(const LsNvtxText *text)
{
    if (text->mark == LS_NVTX_MARK_STEP)
        lockstep_step_begin(text->number >= 0 ? text->number : atomic_fetch_add(&counts.steps, 1));
    else
        lockstep_phase_begin((lockstep_phase)(text->mark - 1));
}

static void
end_mark(uint8_t mark)
{
    if (mark == LS_NVTX_MARK_STEP)
        lockstep_step_end(0, 0);
    else
        lockstep_phase_end((lockstep_phase)(mark - 1), 0);
}

/* -- Push and pop -- */

static int
push(Stack *stack, const void *domain, const LsNvtxText *text, const LsNvtxEvent *event)
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
    LsRecord record = {
        .kind = LS_RECORD_RANGE,
        .name = open->name,
        .start_ns = open->start_ns,
        .end_ns = ls_recorder_now(),
        .args = {ls_nvtx_domain_name(open->domain), open->payload, open->payload_type}};
    ls_recorder_write(&record);
}

/* The latest of this domain; those of other domains may lie above it. */
static int
pop(const void *domain)
{
    Stack *stack = get_stack();
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
    else if (open.start_ns != 0 && ls_recorder_active())
        write_range(&open);
    if (open.is_bound)
        ls_recorder_set_range(false);
    return stack->n;
}

/* -- Start and end: the id holds what the end needs to know -- */

static uint64_t
start(const void *domain, const LsNvtxText *text, const LsNvtxEvent *event)
{
    uint64_t id = (atomic_fetch_add(&counts.ranges, 1) + 1) << 8 | text->mark;
    int type;
    LsRecord record = {
        .kind = LS_RECORD_RANGE_START,
        .name = text->name,
        .args = {(int64_t)id, ls_nvtx_domain_name(domain), get_payload(event, &type)}};
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
mark(const void *domain, const LsNvtxText *text)
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
    mark(NULL, find_message(get_stack(), event, NULL));
}

static void
mark_a(const char *text)
{
    mark(NULL, find_text(get_stack(), text, NULL));
}

static void
mark_w(const void *text)
{
    mark(NULL, find_wide(get_stack(), text));
}

static uint64_t
start_ex(const LsNvtxEvent *event)
{
    return start(NULL, find_message(get_stack(), event, NULL), event);
}

static uint64_t
start_a(const char *text)
{
    return start(NULL, find_text(get_stack(), text, NULL), NULL);
}

static uint64_t
start_w(const void *text)
{
    return start(NULL, find_wide(get_stack(), text), NULL);
}

static int
push_ex(const LsNvtxEvent *event)
{
    Stack *stack = get_stack();
    return push(stack, NULL, find_message(stack, event, NULL), event);
}

static int
push_a(const char *text)
{
    Stack *stack = get_stack();
    return push(stack, NULL, find_text(stack, text, NULL), NULL);
}

static int
push_w(const void *text)
{
    Stack *stack = get_stack();
    return push(stack, NULL, find_wide(stack, text), NULL);
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
    mark(domain, find_message(get_stack(), event, domain));
}

static uint64_t
domain_start(void *domain, const LsNvtxEvent *event)
{
    return start(domain, find_message(get_stack(), event, domain), event);
}

static void
domain_end(void *domain, uint64_t id)
{
    end(id);
}

static int
domain_push(void *domain, const LsNvtxEvent *event)
{
    Stack *stack = get_stack();
    return push(stack, domain, find_message(stack, event, domain), event);
}

static int
domain_pop(void *domain)
{
    return pop(domain);
}

static void *
register_a(void *domain, const char *text)
{
    return ls_nvtx_text_register(text, domain == NULL);
}

static void *
register_w(void *domain, const void *text)
{
    char ascii[LS_NVTX_WIDE_MAX];
    ls_nvtx_text_narrow(text, ascii);
    return ls_nvtx_text_register(ascii, domain == NULL);
}

static void *
create_domain_a(const char *name)
{
    return ls_nvtx_domain_create(name);
}

static void *
create_domain_w(const void *name)
{
    char ascii[LS_NVTX_WIDE_MAX];
    ls_nvtx_text_narrow(name, ascii);
    return ls_nvtx_domain_create(ascii);
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
    ls_nvtx_text_bound(ls_recorder_get_range());
    fill(callbacks, LS_NVTX_MODULE_CORE, core, LS_NVTX_CORE_SIZE);
    fill(callbacks, LS_NVTX_MODULE_CORE2, core2, LS_NVTX_CORE2_SIZE);
}
