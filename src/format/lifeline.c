/* SPDX-License-Identifier: Apache-2.0
 *
 * format/lifeline.c: what Horovod's timeline would have said of each tensor. A phase whose begin or
 * end is not known is not drawn; what has begun and not ended lasts until the recording's end.
 */
#include "format/lifeline.h"

#include "capture/format.h"

typedef struct Words {
    const char *negotiate, *operation;
} Words;

static const Words words[] = {
    [LS_OPERATION_ALLREDUCE] = {"NEGOTIATE_ALLREDUCE", "ALLREDUCE"},
    [LS_OPERATION_ALLGATHER] = {"NEGOTIATE_ALLGATHER", "ALLGATHER"},
    [LS_OPERATION_BROADCAST] = {"NEGOTIATE_BROADCAST", "BROADCAST"},
    [LS_OPERATION_JOIN] = {"NEGOTIATE_JOIN", "JOIN"},
    [LS_OPERATION_ADASUM] = {"NEGOTIATE_ADASUM", "ADASUM"},
    [LS_OPERATION_ALLTOALL] = {"NEGOTIATE_ALLTOALL", "ALLTOALL"},
    [LS_OPERATION_BARRIER] = {"NEGOTIATE_BARRIER", "BARRIER"},
    [LS_OPERATION_REDUCESCATTER] = {"NEGOTIATE_REDUCESCATTER", "REDUCESCATTER"},
    [LS_OPERATION_ERROR] = {"NEGOTIATE", "ERROR"},
    [LS_OPERATION_REDUCE] = {"NEGOTIATE_REDUCE", "REDUCE"},
    [LS_OPERATION_SEND] = {"NEGOTIATE_SEND", "SEND"},
    [LS_OPERATION_RECV] = {"NEGOTIATE_RECV", "RECV"},
};

typedef struct Life {
    LsProcess *process;
    LsTrackBuilder *track;
    uint32_t use;
} Life;

static void
add_span(const Life *life, int64_t start_ns, int64_t end_ns, uint32_t name)
{
    if (start_ns != LS_TIME_NONE && end_ns != LS_TIME_NONE && end_ns >= start_ns)
        ls_track_builder_add(life->track, start_ns, end_ns, name, life->use);
}

static void
add_word(const Life *life, int64_t start_ns, int64_t end_ns, const char *word)
{
    add_span(life, start_ns, end_ns, ls_strings_add(life->process->strings, word));
}

static void
add_use(const Life *life, const LsUse *use)
{
    Words word = use->operation < G_N_ELEMENTS(words) ? words[use->operation]
                                                      : (Words){"NEGOTIATE", "OPERATION"};
    const LsCall *call = use->call < life->process->calls->len
                             ? &g_array_index(life->process->calls, LsCall, use->call)
                             : NULL;
    int64_t last_ns = life->process->rank.last_ns;
    add_word(life, use->submit_ns, use->agreed_ns != LS_TIME_NONE ? use->agreed_ns : last_ns,
             word.negotiate);
    if (use->agreed_ns == LS_TIME_NONE)
        return;
    add_word(life, use->agreed_ns, use->done_ns != LS_TIME_NONE ? use->done_ns : last_ns,
             word.operation);
    if (!call)
        return;
    int64_t begin = call->pack_start_ns != LS_TIME_NONE ? call->pack_start_ns : call->start_ns;
    if (begin > use->agreed_ns)
        add_word(life, use->agreed_ns, begin, "QUEUE");
    add_word(life, call->pack_start_ns, call->pack_end_ns, "MEMCPY_IN_FUSION_BUFFER");
    add_span(life, call->start_ns, call->end_ns, call->name);
    add_word(life, call->unpack_start_ns, call->unpack_end_ns, "MEMCPY_OUT_FUSION_BUFFER");
}

void
ls_lifeline_add_tracks(LsProcess *process)
{
    g_autoptr(GHashTable) tracks = g_hash_table_new(NULL, NULL); /* tensor's name -> track */
    for (uint32_t i = 0; i < process->uses->len; i++) {
        const LsUse *use = &g_array_index(process->uses, LsUse, i);
        LsTrackBuilder *track = g_hash_table_lookup(tracks, GUINT_TO_POINTER(use->tensor));
        if (!track) {
            track =
                ls_process_get_track(process, LS_TRACK_TENSOR,
                                     ls_strings_get(process->strings, use->tensor), "tensor", -1);
            g_hash_table_insert(tracks, GUINT_TO_POINTER(use->tensor), track);
        }
        Life life = {.process = process, .track = track, .use = i};
        add_use(&life, use);
    }
}
