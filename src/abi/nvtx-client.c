/* SPDX-License-Identifier: Apache-2.0
 *
 * One table of functions for each module, as a copy of NVTX in any library has them. The injected
 * library is looked up once; if it says no, it stays loaded and the tables stay empty.
 */
#include "abi/nvtx-client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "abi/nvtx.h"

typedef int (*Initialize)(LsNvtxGetTable get_table);

static LsNvtxFunction core[LS_NVTX_CORE_SIZE], core2[LS_NVTX_CORE2_SIZE];
static LsNvtxFunction *core_places[LS_NVTX_CORE_SIZE + 1], *core2_places[LS_NVTX_CORE2_SIZE + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int
get_functions(int module, LsNvtxFunction ***ret_table, unsigned *ret_n)
{
    if (module != LS_NVTX_MODULE_CORE && module != LS_NVTX_MODULE_CORE2)
        return 0;
    *ret_table = module == LS_NVTX_MODULE_CORE ? core_places : core2_places;
    *ret_n = module == LS_NVTX_MODULE_CORE ? LS_NVTX_CORE_SIZE : LS_NVTX_CORE2_SIZE;
    return 1;
}

static const void *
get_table(uint32_t id)
{
    static const LsNvtxCallbacks callbacks = {sizeof callbacks, get_functions};
    return id == LS_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void
initialize(void)
{
    for (unsigned i = 1; i < LS_NVTX_CORE_SIZE; i++)
        core_places[i] = &core[i];
    for (unsigned i = 1; i < LS_NVTX_CORE2_SIZE; i++)
        core2_places[i] = &core2[i];
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path != NULL && path[0] != '\0' ? dlopen(path, RTLD_LAZY) : NULL;
    if (library == NULL)
        return;
    Initialize function;
    *(void **)(void *)&function = dlsym(library, "InitializeInjectionNvtx2");
    if (function != NULL)
        function(get_table);
}

static LsNvtxFunction
find(int module, int number)
{
    pthread_once(&once, initialize);
    return module == LS_NVTX_MODULE_CORE ? core[number] : core2[number];
}

static LsNvtxEvent
make_event(LsNvtxString text, int64_t bytes)
{
    LsNvtxEvent event = {.version = 3, .size = sizeof event};
    event.message_type = LS_NVTX_MESSAGE_REGISTERED;
    event.message.registered = text;
    event.payload_type = LS_NVTX_PAYLOAD_INT64;
    event.payload.int64 = bytes;
    return event;
}

LsNvtxDomain
ls_nvtx_domain(const char *name)
{
    void *(*function)(const char *) =
        (void *(*)(const char *))find(LS_NVTX_MODULE_CORE2, LS_NVTX_DOMAIN_CREATE_A);
    return function != NULL ? function(name) : NULL;
}

LsNvtxString
ls_nvtx_register(LsNvtxDomain domain, const char *text)
{
    void *(*function)(void *, const char *) = (void *(*)(void *, const char *))find(
        LS_NVTX_MODULE_CORE2, LS_NVTX_DOMAIN_REGISTER_STRING_A);
    return function != NULL ? function(domain, text) : NULL;
}

void
ls_nvtx_push(LsNvtxDomain domain, const char *text)
{
    if (domain == NULL) {
        int (*function)(const char *) =
            (int (*)(const char *))find(LS_NVTX_MODULE_CORE, LS_NVTX_RANGE_PUSH_A);
        if (function != NULL)
            function(text);
        return;
    }
    int (*function)(void *, const LsNvtxEvent *) = (int (*)(void *, const LsNvtxEvent *))find(
        LS_NVTX_MODULE_CORE2, LS_NVTX_DOMAIN_RANGE_PUSH_EX);
    LsNvtxEvent event = {.version = 3, .size = sizeof event};
    event.message_type = LS_NVTX_MESSAGE_ASCII;
    event.message.ascii = text;
    if (function != NULL)
        function(domain, &event);
}

void
ls_nvtx_pop(LsNvtxDomain domain)
{
    if (domain == NULL) {
        int (*function)(void) = (int (*)(void))find(LS_NVTX_MODULE_CORE, LS_NVTX_RANGE_POP);
        if (function != NULL)
            function();
        return;
    }
    int (*function)(void *) = (int (*)(void *))find(LS_NVTX_MODULE_CORE2, LS_NVTX_DOMAIN_RANGE_POP);
    if (function != NULL)
        function(domain);
}

uint64_t
ls_nvtx_start(LsNvtxDomain domain, LsNvtxString text, int64_t bytes)
{
    uint64_t (*function)(void *, const LsNvtxEvent *) =
        (uint64_t(*)(void *, const LsNvtxEvent *))find(LS_NVTX_MODULE_CORE2,
                                                       LS_NVTX_DOMAIN_RANGE_START_EX);
    LsNvtxEvent event = make_event(text, bytes);
    return function != NULL ? function(domain, &event) : 0;
}

void
ls_nvtx_end(LsNvtxDomain domain, uint64_t id)
{
    void (*function)(void *, uint64_t) =
        (void (*)(void *, uint64_t))find(LS_NVTX_MODULE_CORE2, LS_NVTX_DOMAIN_RANGE_END);
    if (function != NULL)
        function(domain, id);
}
