/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/nvtx.h: how NVTX 2 and 3 hand their calls to an injected library.
 *
 * Every library that uses NVTX has its own copy of it and calls InitializeInjectionNvtx2 with its
 * own export table; from that the tool gets arrays of function pointers and fills those it wants.
 */
#pragma once

#include <stdint.h>

typedef const void *(*LsNvtxGetTable)(uint32_t id);
#define LS_NVTX_TABLE_CALLBACKS 1u /* NVTX_ETID_CALLBACKS */

typedef void (*LsNvtxFunction)(void);
typedef struct LsNvtxCallbacks {
    uint64_t bytes;
    /* An array of places, each where the pointer of a function lies, by its number; how many. */
    int (*get_functions)(int module, LsNvtxFunction ***ret_table, unsigned *ret_n);
} LsNvtxCallbacks;

enum { LS_NVTX_MODULE_CORE = 1, LS_NVTX_MODULE_CORE2 = 5 };

enum { /* of module CORE */
       LS_NVTX_MARK_EX = 1,
       LS_NVTX_MARK_A = 2,
       LS_NVTX_MARK_W = 3,
       LS_NVTX_RANGE_START_EX = 4,
       LS_NVTX_RANGE_START_A = 5,
       LS_NVTX_RANGE_START_W = 6,
       LS_NVTX_RANGE_END = 7,
       LS_NVTX_RANGE_PUSH_EX = 8,
       LS_NVTX_RANGE_PUSH_A = 9,
       LS_NVTX_RANGE_PUSH_W = 10,
       LS_NVTX_RANGE_POP = 11,
       LS_NVTX_NAME_THREAD_A = 14,
       LS_NVTX_CORE_SIZE = 16,
};

enum { /* of module CORE2 */
       LS_NVTX_DOMAIN_MARK_EX = 1,
       LS_NVTX_DOMAIN_RANGE_START_EX = 2,
       LS_NVTX_DOMAIN_RANGE_END = 3,
       LS_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
       LS_NVTX_DOMAIN_RANGE_POP = 5,
       LS_NVTX_DOMAIN_REGISTER_STRING_A = 10,
       LS_NVTX_DOMAIN_REGISTER_STRING_W = 11,
       LS_NVTX_DOMAIN_CREATE_A = 12,
       LS_NVTX_DOMAIN_CREATE_W = 13,
       LS_NVTX_DOMAIN_DESTROY = 14,
       LS_NVTX_CORE2_SIZE = 16,
};

enum { LS_NVTX_MESSAGE_ASCII = 1, LS_NVTX_MESSAGE_WIDE = 2, LS_NVTX_MESSAGE_REGISTERED = 3 };
enum {
    LS_NVTX_PAYLOAD_NONE = 0,
    LS_NVTX_PAYLOAD_UINT64 = 1,
    LS_NVTX_PAYLOAD_INT64 = 2,
    LS_NVTX_PAYLOAD_DOUBLE = 3,
    LS_NVTX_PAYLOAD_UINT32 = 4,
    LS_NVTX_PAYLOAD_INT32 = 5,
    LS_NVTX_PAYLOAD_FLOAT = 6,
};

typedef struct LsNvtxEvent {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t uint64;
        int64_t int64;
        double real;
        uint32_t uint32;
        int32_t int32;
        float real32;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const void *wide;
        const void *registered;
    } message;
} LsNvtxEvent;
_Static_assert(sizeof(void *) != 8 || sizeof(LsNvtxEvent) == 48, "nvtxEventAttributes_t");
