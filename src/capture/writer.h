/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/writer.h: the trace file of one process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/area.h"
#include "capture/pump.h"
#include "capture/status.h"

typedef struct LsWriter {
    int folder_fd; /* -1: closed */
    int fd;        /* -1: closed */
    dev_t dev;     /* of the file: the host may close our descriptor and reuse its number */
    ino_t ino;
    int64_t keep_free;
    uint64_t checked_at; /* position of the last look at the free space */
    int64_t checked_ns;
    bool has_space;
    int error; /* errno of the last failure */
    LsAreaHeader *header;
} LsWriter;

/* What the file system says of the folder: for the area's header. */
LsStatus ls_writer_find_folder(const char *folder, LsAreaHeader *ret_header);

/* Makes the folder where it is absent (0700, or by the umask when shared). errno on failure. */
LsStatus ls_writer_make_folder(const char *folder, bool is_shared);

/* Creates the file that header's rank, host, pid and folder name, O_EXCL with a counter, and notes
 * its name and the incarnation in the header. */
LsStatus ls_writer_create(LsWriter *writer, LsAreaHeader *header, int64_t keep_free);
/* Opens the file that a dead owner's header names, or creates it where there is none. */
LsStatus ls_writer_resume(LsWriter *writer, LsAreaHeader *header);
void ls_writer_close(LsWriter *writer);

/* Whether there is enough room on the disk for more; looks once a second or every 8 MB. */
bool ls_writer_has_space(LsWriter *writer);
/* Cuts off what lies behind the last commit (a file that is not at its bound). */
void ls_writer_cut(LsWriter *writer);

LsSink ls_writer_sink(LsWriter *writer);
