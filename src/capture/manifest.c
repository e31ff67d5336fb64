/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON is written into a buffer and the file in one piece, O_EXCL: the first who comes describes
 * the run. Bytes that are no UTF-8 are written as U+FFFD, so that the file is always JSON.
 */
#include "capture/manifest.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANIFEST_MAX (128u << 10)
#define COMMAND_MAX  (16u << 10)

typedef struct Text {
    char *data;
    size_t used, size;
} Text;

static void
put_raw(Text *text, const char *data, size_t length)
{
    if (text->size - text->used < length)
        length = text->size - text->used;
    memcpy(text->data + text->used, data, length);
    text->used += length;
}

static void
put(Text *text, const char *data)
{
    put_raw(text, data, strlen(data));
}

/* Bytes of the UTF-8 character at `at`; 0: none. */
static size_t
character_length(const unsigned char *at)
{
    size_t length = at[0] < 0x80                     ? 1
                    : at[0] >= 0xc2 && at[0] < 0xe0  ? 2
                    : at[0] >= 0xe0 && at[0] < 0xf0  ? 3
                    : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                     : 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0;
    return length;
}

static void
put_string(Text *text, const char *string)
{
    put(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at != '\0';) {
        char escaped[8];
        size_t length = character_length(at);
        if (length == 0)
            put(text, "\xef\xbf\xbd");
        else if (*at == '"' || *at == '\\')
            put_raw(text, (char[]){'\\', (char)*at}, 2);
        else if (*at < 0x20 || *at == 0x7f)
            put_raw(text, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", *at));
        else
            put_raw(text, (const char *)at, length);
        at += length == 0 ? 1 : length;
    }
    put(text, "\"");
}

static void
put_key(Text *text, const char *key)
{
    put(text, ",\n  ");
    put_string(text, key);
    put(text, ": ");
}

static void
put_number(Text *text, const char *key, int64_t number)
{
    char digits[24];
    put_key(text, key);
    put_raw(text, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number));
}

static void
put_command(Text *text)
{
    char *command = malloc(COMMAND_MAX);
    size_t length = command == NULL ? 0 : ls_identity_command(command, COMMAND_MAX);
    put_key(text, "command");
    put(text, "[");
    for (size_t i = 0; i < length; i += strlen(command + i) + 1) {
        put(text, i == 0 ? "" : ", ");
        put_string(text, command + i);
    }
    put(text, "]");
    free(command);
}

static void
put_tags(Text *text, const char *tags)
{
    const char *between = "";
    put_key(text, "tags");
    put(text, "[");
    while (*tags != '\0') {
        char tag[LS_SETTING_TEXT_MAX];
        size_t length = strcspn(tags, ",");
        snprintf(tag, sizeof tag, "%.*s", (int)length, tags);
        if (length > 0) {
            put(text, between);
            put_string(text, tag);
            between = ", ";
        }
        tags += length + (tags[length] == ',');
    }
    put(text, "]");
}

static void
put_settings(Text *text, const LsSettings *settings)
{
    LsSettingText row;
    put_key(text, "settings");
    put(text, "{");
    for (size_t i = 0; ls_settings_format(settings, i, &row); i++) {
        put(text, i == 0 ? "\n    " : ",\n    ");
        put_string(text, row.variable);
        put(text, ": ");
        put_string(text, row.value);
    }
    put(text, "\n  }");
}

static void
put_manifest(Text *text, const LsSettings *settings, const LsIdentity *identity, int world)
{
    LsClockReading reading;
    ls_clock_pair(&reading);
    put(text, "{\n  \"format\": \"lockstep-run\"");
    put_number(text, "version", 1);
    put_key(text, "lockstep");
    put_string(text, LOCKSTEP_VERSION);
    put_key(text, "run_id");
    put_string(text, identity->run_id);
    put_number(text, "started_realtime_ns", reading.realtime_ns);
    put_key(text, "host");
    put_string(text, identity->host);
    if (world > 0)
        put_number(text, "world", world);
    put_command(text);
    put_tags(text, settings->tags);
    put_settings(text, settings);
    put(text, "\n}\n");
}

void
ls_manifest_write(const LsAreaHeader *header, const LsSettings *settings,
                  const LsIdentity *identity)
{
    char path[LS_AREA_PATH_MAX + 16];
    Text text = {malloc(MANIFEST_MAX), 0, MANIFEST_MAX};
    if (text.data == NULL)
        return;
    snprintf(path, sizeof path, "%s/run.json", header->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, header->file_mode);
    if (fd >= 0) {
        put_manifest(&text, settings, identity, (int)atomic_load(&header->world));
        if (write(fd, text.data, text.used) != (ssize_t)text.used)
            unlink(path);
        close(fd);
    }
    free(text.data);
}
