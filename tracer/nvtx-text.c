/* SPDX-License-Identifier: Apache-2.0
 *
 * A text is looked up by its hash in a table of the thread's own, so that no lock is taken for one
 * that was seen before. What NVTX has handles of is kept with its text, since its id is another in
 * a forked child that records.
 */
#include "tracer/nvtx-text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

#include "capture/compat.h"
#include "capture/recorder.h"

LS_BIND_OLD(pthread_mutex_lock);
LS_BIND_OLD(pthread_mutex_unlock);

#define HANDLES 4096

const LsNvtxText ls_nvtx_no_text;

/* A registered text or a domain. */
typedef struct Handle {
    _Atomic uint32_t life; /* of the recorder whose id the text has */
    char *ascii;
    bool is_default_domain;
    LsNvtxText text;
} Handle;

/* Never freed: a handle may be used after it was given back. */
typedef struct Handles {
    Handle handles[HANDLES];
    int n;
} Handles;

static struct {
    pthread_mutex_t lock;
    Handles texts, domains;
    const char *bound; /* NULL: none */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* -- A text -- */

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
    return LS_NVTX_MARK_STEP;
}

static LsNvtxText
make_text(const char *ascii, uint64_t hash, bool is_default_domain)
{
    LsNvtxText text = {.hash = hash, .name = ls_recorder_name(ascii)};
    if (is_default_domain)
        text.mark = find_mark(ascii, &text.number);
    text.is_bound = known.bound != NULL && strcmp(ascii, known.bound) == 0;
    return text;
}

void
ls_nvtx_text_bound(const char *name)
{
    if (known.bound == NULL && name[0] != '\0')
        known.bound = name;
}

const LsNvtxText *
ls_nvtx_text_find(LsNvtxTexts *texts, const char *ascii, bool is_default_domain)
{
    if (ascii == NULL)
        return &ls_nvtx_no_text;
    uint64_t hash = hash_text(ascii) + !is_default_domain;
    LsNvtxText *text = &texts->table[hash % LS_NVTX_TEXTS];
    if (text->hash != hash || text->name == 0)
        *text = make_text(ascii, hash, is_default_domain);
    return text;
}

void
ls_nvtx_text_narrow(const void *wide, char ret_ascii[LS_NVTX_WIDE_MAX])
{
    const wchar_t *from = wide;
    size_t n = 0;
    for (; from != NULL && from[n] != 0 && n + 1 < LS_NVTX_WIDE_MAX; n++)
        ret_ascii[n] = from[n] > 0 && from[n] < 128 ? (char)from[n] : '?';
    ret_ascii[n] = '\0';
}

/* -- Handles -- */

/* Counts from 1; NULL: none. */
static Handle *
find_handle(Handles *handles, const void *handle)
{
    uintptr_t index = (uintptr_t)handle;
    return index >= 1 && index <= HANDLES ? &handles->handles[index - 1] : NULL;
}

/* Its text, with the id that it has now. */
static const LsNvtxText *
refresh(Handle *handle)
{
    uint32_t life = ls_recorder_life();
    if (handle == NULL)
        return &ls_nvtx_no_text;
    if (atomic_load_explicit(&handle->life, memory_order_acquire) == life)
        return &handle->text;
    pthread_mutex_lock(&known.lock);
    if (handle->ascii != NULL && atomic_load(&handle->life) != life) {
        handle->text =
            make_text(handle->ascii, hash_text(handle->ascii), handle->is_default_domain);
        atomic_store_explicit(&handle->life, life, memory_order_release);
    }
    pthread_mutex_unlock(&known.lock);
    return &handle->text;
}

static void *
take_handle(Handles *handles, const char *ascii, bool is_default_domain)
{
    uintptr_t number = 0;
    pthread_mutex_lock(&known.lock);
    for (int i = 0; i < handles->n && number == 0; i++) {
        const Handle *handle = &handles->handles[i];
        if (handle->is_default_domain == is_default_domain && strcmp(handle->ascii, ascii) == 0)
            number = (uintptr_t)i + 1;
    }
    char *copy = number == 0 && handles->n < HANDLES ? strdup(ascii) : NULL;
    if (copy != NULL) {
        Handle *handle = &handles->handles[handles->n];
        handle->ascii = copy;
        handle->is_default_domain = is_default_domain;
        number = (uintptr_t)++handles->n;
    }
    pthread_mutex_unlock(&known.lock);
    return (void *)number;
}

void *
ls_nvtx_text_register(const char *ascii, bool is_default_domain)
{
    return ascii != NULL ? take_handle(&known.texts, ascii, is_default_domain) : NULL;
}

static const LsNvtxText *
find_registered(const void *handle)
{
    return refresh(find_handle(&known.texts, handle));
}

void *
ls_nvtx_domain_create(const char *ascii)
{
    return ascii != NULL ? take_handle(&known.domains, ascii, false) : NULL;
}

uint32_t
ls_nvtx_domain_name(const void *domain)
{
    return domain == NULL ? 0 : refresh(find_handle(&known.domains, domain))->name;
}

const LsNvtxText *
ls_nvtx_text_message(LsNvtxTexts *texts, const LsNvtxEvent *event, bool is_default_domain)
{
    char ascii[LS_NVTX_WIDE_MAX];
    if (event == NULL || event->size < offsetof(LsNvtxEvent, message) + sizeof event->message)
        return &ls_nvtx_no_text;
    switch (event->message_type) {
    case LS_NVTX_MESSAGE_ASCII:
        return ls_nvtx_text_find(texts, event->message.ascii, is_default_domain);
    case LS_NVTX_MESSAGE_WIDE:
        ls_nvtx_text_narrow(event->message.wide, ascii);
        return ls_nvtx_text_find(texts, ascii, is_default_domain);
    case LS_NVTX_MESSAGE_REGISTERED:
        return find_registered(event->message.registered);
    default:
        return &ls_nvtx_no_text;
    }
}

/* -- Forked children: a thread that held the lock is not there -- */

static void
forget_lock(void)
{
    known.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void
prepare(void)
{
    pthread_atfork(NULL, NULL, forget_lock);
}
