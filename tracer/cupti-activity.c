/* SPDX-License-Identifier: Apache-2.0
 *
 * One function per kind, in a table. Fields are read at offsets that all versions share
 * (abi/cupti.h); the library itself steps from record to record. A burst of records is written to
 * the recorder in portions that its ring can hold, with a flush between: the thread is CUPTI's or
 * our own, and may wait. CUPTI tells of a kernel up to a flush later: what bounds the recording
 * goes by the record's own time.
 */
#include "tracer/cupti-activity.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/recorder.h"

#define PORTION   512 /* records: half a usual ring, should the thread have one already */
#define REACH_NS  INT64_C(2000000000) /* what has no time of its own may be of the buffer before */
#define NAMES     1024
#define CALLS_MAX 1024

typedef struct Reader {
    const LsCupti *api;
    int64_t offset_ns;
    int64_t since_ns; /* CUPTI has had the buffer */
    uint32_t n;
} Reader;

/* A kernel's name by its address, which CUPTI keeps, and its text, should it be another's by now.
 */
typedef struct Name {
    const char *text;
    uint64_t hash;
    uint32_t id;
} Name;

static __thread Name names[NAMES];
static __thread bool is_prepared;
static _Atomic uint32_t call_names[2][CALLS_MAX];
static _Atomic int last_device = -1;
static _Atomic uint32_t own_thread;

static uint64_t
hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    while (*text != '\0')
        hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    return hash;
}

static uint32_t
find_name(const char *text)
{
    if (text == NULL)
        return 0;
    uint64_t hash = hash_text(text);
    Name *name = &names[((uintptr_t)text >> 4 ^ hash) % NAMES];
    if (name->text != text || name->hash != hash || name->id == 0)
        *name = (Name){text, hash, ls_recorder_name(text)};
    return name->id;
}

static void
write_from(Reader *reader, const LsRecord *record, int64_t from_ns)
{
    ls_recorder_write_late(record, from_ns);
    if (++reader->n % PORTION == 0)
        ls_recorder_flush();
}

static void
write_record(Reader *reader, LsRecord *record)
{
    record->start_ns += reader->offset_ns;
    record->end_ns += reader->offset_ns;
    if (record->end_ns < record->start_ns)
        record->end_ns = record->start_ns;
    write_from(reader, record, record->start_ns);
}

/* It has no time of its own: now is what it gets, and it may be as old as its buffer, which is as
 * old as the program where that launches little. */
static void
write_timeless(Reader *reader, LsRecord *record)
{
    record->start_ns = record->end_ns = ls_recorder_now();
    int64_t usual_ns = record->start_ns - REACH_NS;
    write_from(reader, record, reader->since_ns < usual_ns ? reader->since_ns : usual_ns);
}

/* start = end = 0: the device did not tell. end = 0 alone: not over when it was forced out. */
static void
write_device(Reader *reader, LsRecord *record, uint64_t start, uint64_t end)
{
    record->start_ns = (int64_t)start;
    record->end_ns = (int64_t)end;
    if (start == 0) {
        LsRecord untimed = {
            .kind = LS_RECORD_UNTIMED,
            .name = record->name,
            .args = {record->kind, record->args[0], record->args[1], record->args[2]}};
        write_timeless(reader, &untimed);
        return;
    }
    if (end == 0)
        record->flags = LS_RECORD_OPEN;
    write_record(reader, record);
}

static int64_t
place(uint32_t device, uint32_t context)
{
    return (int64_t)device | (int64_t)context << 8;
}

static int64_t
product(const uint8_t *raw, size_t at)
{
    return (int64_t)ls_cupti_get32(raw, at) * ls_cupti_get32(raw, at + 4) *
           ls_cupti_get32(raw, at + 8);
}

static void
read_kernel(Reader *reader, const uint8_t *raw)
{
    const char *text;
    uint32_t device = ls_cupti_get32(raw, LS_CUPTI_KERNEL_DEVICE);
    memcpy(&text, raw + LS_CUPTI_KERNEL_NAME, sizeof text);
    LsRecord record = {.kind = LS_RECORD_KERNEL,
                       .name = find_name(text),
                       .args = {ls_cupti_get32(raw, LS_CUPTI_KERNEL_STREAM),
                                ls_cupti_get32(raw, LS_CUPTI_KERNEL_CORRELATION),
                                place(device, ls_cupti_get32(raw, LS_CUPTI_KERNEL_CONTEXT)),
                                product(raw, LS_CUPTI_KERNEL_GRID),
                                product(raw, LS_CUPTI_KERNEL_BLOCK)}};
    atomic_store_explicit(&last_device, (int)device, memory_order_relaxed);
    write_device(reader, &record, ls_cupti_get64(raw, LS_CUPTI_KERNEL_START),
                 ls_cupti_get64(raw, LS_CUPTI_KERNEL_END));
}

static void
read_any_copy(Reader *reader, const uint8_t *raw, size_t correlation_at)
{
    static const char *const texts[] = {"copy", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    uint8_t kind = raw[LS_CUPTI_MEMCPY_COPY_KIND];
    LsRecord record = {
        .kind = LS_RECORD_COPY,
        .name = find_name(texts[kind < sizeof texts / sizeof texts[0] ? kind : 0]),
        .args = {ls_cupti_get32(raw, LS_CUPTI_MEMCPY_STREAM), ls_cupti_get32(raw, correlation_at),
                 place(ls_cupti_get32(raw, LS_CUPTI_MEMCPY_DEVICE),
                       ls_cupti_get32(raw, LS_CUPTI_MEMCPY_CONTEXT)),
                 (int64_t)ls_cupti_get64(raw, LS_CUPTI_MEMCPY_BYTES),
                 kind | raw[LS_CUPTI_MEMCPY_SOURCE] << 8 | raw[LS_CUPTI_MEMCPY_TARGET] << 16}};
    write_device(reader, &record, ls_cupti_get64(raw, LS_CUPTI_MEMCPY_START),
                 ls_cupti_get64(raw, LS_CUPTI_MEMCPY_END));
}

static void
read_copy(Reader *reader, const uint8_t *raw)
{
    read_any_copy(reader, raw, LS_CUPTI_MEMCPY_CORRELATION);
}

static void
read_peer_copy(Reader *reader, const uint8_t *raw)
{
    read_any_copy(reader, raw, LS_CUPTI_PEER_CORRELATION);
}

static void
read_memset(Reader *reader, const uint8_t *raw)
{
    LsRecord record = {.kind = LS_RECORD_MEMSET,
                       .name = find_name("memset"),
                       .args = {ls_cupti_get32(raw, LS_CUPTI_MEMSET_STREAM),
                                ls_cupti_get32(raw, LS_CUPTI_MEMSET_CORRELATION),
                                place(ls_cupti_get32(raw, LS_CUPTI_MEMSET_DEVICE),
                                      ls_cupti_get32(raw, LS_CUPTI_MEMSET_CONTEXT)),
                                (int64_t)ls_cupti_get64(raw, LS_CUPTI_MEMSET_BYTES),
                                ls_cupti_get32(raw, LS_CUPTI_MEMSET_VALUE)}};
    write_device(reader, &record, ls_cupti_get64(raw, LS_CUPTI_MEMSET_START),
                 ls_cupti_get64(raw, LS_CUPTI_MEMSET_END));
}

static void
read_sync(Reader *reader, const uint8_t *raw)
{
    static const char *const texts[] = {"wait", "event wait", "stream waits for event",
                                        "stream wait", "context wait"};
    uint32_t type = ls_cupti_get32(raw, LS_CUPTI_SYNC_TYPE);
    LsRecord record = {.kind = LS_RECORD_SYNC,
                       .name = find_name(texts[type < sizeof texts / sizeof texts[0] ? type : 0]),
                       .args = {ls_cupti_get32(raw, LS_CUPTI_SYNC_STREAM),
                                ls_cupti_get32(raw, LS_CUPTI_SYNC_CORRELATION),
                                place(0, ls_cupti_get32(raw, LS_CUPTI_SYNC_CONTEXT)), type,
                                ls_cupti_get32(raw, LS_CUPTI_SYNC_EVENT)}};
    record.start_ns = (int64_t)ls_cupti_get64(raw, LS_CUPTI_SYNC_START);
    record.end_ns = (int64_t)ls_cupti_get64(raw, LS_CUPTI_SYNC_END);
    write_record(reader, &record);
}

static uint32_t
find_call_name(const Reader *reader, int kind, uint32_t call)
{
    int domain = kind == LS_CUPTI_DRIVER ? LS_CUPTI_DOMAIN_DRIVER : LS_CUPTI_DOMAIN_RUNTIME;
    _Atomic uint32_t *known = &call_names[domain - 1][call % CALLS_MAX];
    uint32_t id = call < CALLS_MAX ? atomic_load(known) : 0;
    const char *text = NULL;
    if (id != 0)
        return id;
    if (reader->api->cuptiGetCallbackName == NULL ||
        reader->api->cuptiGetCallbackName(domain, call, &text) != LS_CUPTI_SUCCESS || text == NULL)
        text = kind == LS_CUPTI_DRIVER ? "driver call" : "runtime call";
    id = ls_recorder_name(text);
    if (call < CALLS_MAX)
        atomic_store(known, id);
    return id;
}

static void
read_call(Reader *reader, const uint8_t *raw)
{
    uint32_t thread = ls_cupti_get32(raw, LS_CUPTI_API_THREAD);
    if (thread == atomic_load_explicit(&own_thread, memory_order_relaxed))
        return;
    LsRecord record = {.kind = LS_RECORD_API,
                       .name = find_call_name(reader, (int)ls_cupti_get32(raw, LS_CUPTI_AT_KIND),
                                              ls_cupti_get32(raw, LS_CUPTI_API_CALL)),
                       .args = {ls_cupti_get32(raw, LS_CUPTI_API_CORRELATION), thread,
                                ls_cupti_get32(raw, LS_CUPTI_API_STATUS)}};
    record.start_ns = (int64_t)ls_cupti_get64(raw, LS_CUPTI_API_START);
    record.end_ns = (int64_t)ls_cupti_get64(raw, LS_CUPTI_API_END);
    write_record(reader, &record);
}

static const char *
get_overhead_text(uint32_t kind)
{
    static const char *const texts[] = {
        "overhead",           "buffer flush",        "instrumentation", "resource", "module load",
        "lazy function load", "command buffer full", "buffer request",  "UVM start"};
    uint32_t index = kind >> 16;
    if (kind == LS_CUPTI_OVERHEAD_COMPILER)
        return "driver compiler";
    return texts[index < sizeof texts / sizeof texts[0] ? index : 0];
}

/* How long a record is here tells its version: its data pointer, which is ours to free, came with
 * the third. It is read only where the library says that it is there. */
static void
read_overhead(Reader *reader, const uint8_t *raw)
{
    uint32_t kind = ls_cupti_get32(raw, LS_CUPTI_OVERHEAD_KIND), version = 0;
    LsRecord record = {
        .kind = LS_RECORD_OVERHEAD, .name = find_name(get_overhead_text(kind)), .args = {kind}};
    record.start_ns = (int64_t)ls_cupti_get64(raw, LS_CUPTI_OVERHEAD_START);
    record.end_ns = (int64_t)ls_cupti_get64(raw, LS_CUPTI_OVERHEAD_END);
    reader->api->cuptiGetVersion(&version);
    if (version >= 22) { /* CUDA 12.4 */
        void *data;
        memcpy(&data, raw + LS_CUPTI_OVERHEAD_DATA, sizeof data);
        free(data);
    }
    write_record(reader, &record);
}

static void
read_external(Reader *reader, const uint8_t *raw)
{
    if (ls_cupti_get32(raw, LS_CUPTI_EXTERNAL_KIND) != LS_CUPTI_EXTERNAL_CUSTOM2)
        return; /* another tool's */
    LsRecord record = {.kind = LS_RECORD_EXTERNAL,
                       .args = {ls_cupti_get32(raw, LS_CUPTI_EXTERNAL_CORRELATION_ID),
                                (int64_t)ls_cupti_get64(raw, LS_CUPTI_EXTERNAL_ID)}};
    write_timeless(reader, &record);
}

static void (*const readers[LS_CUPTI_N_KINDS])(Reader *, const uint8_t *) = {
    [LS_CUPTI_MEMCPY] = read_copy,          [LS_CUPTI_MEMSET] = read_memset,
    [LS_CUPTI_KERNEL] = read_kernel,        [LS_CUPTI_DRIVER] = read_call,
    [LS_CUPTI_RUNTIME] = read_call,         [LS_CUPTI_CONCURRENT_KERNEL] = read_kernel,
    [LS_CUPTI_OVERHEAD] = read_overhead,    [LS_CUPTI_MEMCPY2] = read_peer_copy,
    [LS_CUPTI_SYNCHRONIZATION] = read_sync, [LS_CUPTI_EXTERNAL_CORRELATION] = read_external,
};

void
ls_cupti_activity_read(const LsCupti *api, uint8_t *buffer, size_t valid, int64_t offset_ns,
                       int64_t since_ns)
{
    Reader reader = {.api = api, .offset_ns = offset_ns, .since_ns = since_ns};
    uint8_t *record = NULL;
    if (!is_prepared) {
        is_prepared = true;
        ls_recorder_expect_bursts();
    }
    while (api->cuptiActivityGetNextRecord(buffer, valid, &record) == LS_CUPTI_SUCCESS) {
        uint32_t kind = ls_cupti_get32(record, LS_CUPTI_AT_KIND);
        if (kind < LS_CUPTI_N_KINDS && readers[kind] != NULL)
            readers[kind](&reader, record);
    }
    if (reader.n > 0)
        ls_recorder_flush(); /* the next buffer finds the ring empty */
}

int
ls_cupti_activity_device(void)
{
    return atomic_load_explicit(&last_device, memory_order_relaxed);
}

void
ls_cupti_activity_is_own_thread(void)
{
    atomic_store(&own_thread, (uint32_t)syscall(SYS_gettid));
}
