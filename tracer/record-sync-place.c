/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses as text and back; which of them are nobody's business outside; the small file in the
 * run folder by which the first wrapper tells the others where it listens. The file ends with a
 * line of its own, so that one that is being written is not taken for whole.
 */
#include "tracer/record-sync-place.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/settings.h"

#define HUB_BYTES 2048

/* -- Text -- */

static bool
parse_port(const char *text, uint16_t *ret_port)
{
    int64_t port;
    if (!ls_parse_number(text, &port) || port < 1 || port > 65535)
        return false;
    *ret_port = htons((uint16_t)port);
    return true;
}

bool
ls_sync_place_parse(LsSyncPlace *ret_place, const char *address, const char *port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&ret_place->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret_place->address;
    uint16_t number;
    memset(ret_place, 0, sizeof *ret_place);
    if (!parse_port(port, &number))
        return false;
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = number;
        ret_place->length = sizeof *v4;
    } else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = number;
        ret_place->length = sizeof *v6;
    }
    return ret_place->length > 0;
}

static uint16_t
port_of(const LsSyncPlace *place)
{
    return place->address.ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)&place->address)->sin6_port)
               : ntohs(((const struct sockaddr_in *)&place->address)->sin_port);
}

void
ls_sync_place_set_port(LsSyncPlace *place, const char *port)
{
    uint16_t number = 0;
    parse_port(port, &number);
    if (place->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&place->address)->sin6_port = number;
    else
        ((struct sockaddr_in *)&place->address)->sin_port = number;
}

static void
format_address(const LsSyncPlace *place, char ret_text[INET6_ADDRSTRLEN])
{
    const void *address =
        place->address.ss_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)&place->address)->sin6_addr
            : (const void *)&((const struct sockaddr_in *)&place->address)->sin_addr;
    if (inet_ntop(place->address.ss_family, address, ret_text, INET6_ADDRSTRLEN) == NULL)
        snprintf(ret_text, INET6_ADDRSTRLEN, "?");
}

void
ls_sync_place_format(const LsSyncPlace *place, char ret_text[LS_SYNC_PLACE_TEXT])
{
    char address[INET6_ADDRSTRLEN];
    bool is_v6 = place->address.ss_family == AF_INET6;
    format_address(place, address);
    snprintf(ret_text, LS_SYNC_PLACE_TEXT, "%s%s%s:%u", is_v6 ? "[" : "", address, is_v6 ? "]" : "",
             (unsigned)port_of(place));
}

bool
ls_sync_place_split(const char *text, char ret_host[LS_AREA_NAME_MAX], char ret_port[8])
{
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    uint16_t port;
    if (length == 0 || length >= LS_AREA_NAME_MAX || strlen(colon + 1) >= 8 ||
        !parse_port(colon + 1, &port))
        return false;
    bool is_bracketed = text[0] == '[';
    if (is_bracketed ? text[length - 1] != ']' || length < 3 : memchr(text, ':', length) != NULL)
        return false;
    text += is_bracketed;
    length -= is_bracketed ? 2 : 0;
    snprintf(ret_host, LS_AREA_NAME_MAX, "%.*s", (int)length, text);
    snprintf(ret_port, 8, "%s", colon + 1);
    return true;
}

bool
ls_sync_place_first_node(const char *list, char ret_host[LS_AREA_NAME_MAX])
{
    size_t used = 0;
    for (const char *at = list; *at != '\0' && *at != ','; at++) {
        bool is_bracket = *at == '[';
        if (is_bracket && strchr(at, ']') == NULL)
            return false;
        for (at += is_bracket; is_bracket && isdigit((unsigned char)*at); at++) {
            if (used + 1 < LS_AREA_NAME_MAX)
                ret_host[used++] = *at;
        }
        if (is_bracket)
            at = strchr(at, ']');
        else if (used + 1 < LS_AREA_NAME_MAX)
            ret_host[used++] = *at;
        if (at == NULL)
            return false;
    }
    ret_host[used] = '\0';
    return used > 0;
}

/* -- Which addresses -- */

/* Host byte order; false: IPv6 proper. */
static bool
get_v4(const LsSyncPlace *place, uint32_t *ret_address)
{
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&place->address)->sin6_addr;
    if (place->address.ss_family == AF_INET) {
        *ret_address = ntohl(((const struct sockaddr_in *)&place->address)->sin_addr.s_addr);
        return true;
    }
    if (!IN6_IS_ADDR_V4MAPPED(v6))
        return false;
    memcpy(ret_address, v6->s6_addr + 12, sizeof *ret_address);
    *ret_address = ntohl(*ret_address);
    return true;
}

bool
ls_sync_place_is_loopback(const LsSyncPlace *place)
{
    uint32_t v4;
    if (get_v4(place, &v4))
        return v4 >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&place->address)->sin6_addr);
}

bool
ls_sync_place_is_private(const LsSyncPlace *place)
{
    static const struct {
        uint32_t block;
        int bits;
    } blocks[] = {
        {0x0a000000, 8}, {0xac100000, 12}, {0xc0a80000, 16}, {0xa9fe0000, 16}, {0x64400000, 10}};
    const uint8_t *v6 = ((const struct sockaddr_in6 *)&place->address)->sin6_addr.s6_addr;
    uint32_t v4;
    if (ls_sync_place_is_loopback(place))
        return true;
    if (!get_v4(place, &v4)) /* fc00::/7, fe80::/10 */
        return (v6[0] & 0xfe) == 0xfc || (v6[0] == 0xfe && (v6[1] & 0xc0) == 0x80);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        if (v4 >> (32 - blocks[i].bits) == blocks[i].block >> (32 - blocks[i].bits))
            return true;
    }
    return false;
}

size_t
ls_sync_place_find(const char *text, LsSyncPlace ret_places[LS_SYNC_PLACES_MAX],
                   const char **ret_why)
{
    char host[LS_AREA_NAME_MAX], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    size_t n = 0;
    *ret_why = "expected HOST:PORT";
    if (!ls_sync_place_split(text, host, port))
        return 0;
    int error = getaddrinfo(host, port, &hints, &all);
    *ret_why = error == 0 ? "no address" : gai_strerror(error);
    for (const struct addrinfo *at = all; at != NULL && error == 0; at = at->ai_next) {
        if (n == LS_SYNC_PLACES_MAX || at->ai_addrlen > sizeof ret_places[n].address)
            break;
        memset(&ret_places[n], 0, sizeof ret_places[n]);
        memcpy(&ret_places[n].address, at->ai_addr, at->ai_addrlen);
        ret_places[n++].length = at->ai_addrlen;
    }
    if (all != NULL)
        freeaddrinfo(all);
    return n;
}

/* Whether the interface's address is one to listen on; link-local ones mean nothing without their
 * interface. */
static bool
take_interface(const struct ifaddrs *interface, bool is_public, LsSyncPlace *ret_place)
{
    int family = interface->ifa_addr == NULL ? AF_UNSPEC : interface->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || (interface->ifa_flags & IFF_UP) == 0)
        return false;
    memset(ret_place, 0, sizeof *ret_place);
    ret_place->length =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    memcpy(&ret_place->address, interface->ifa_addr, ret_place->length);
    if (family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)&ret_place->address)->sin6_addr))
        return false;
    return is_public || ls_sync_place_is_private(ret_place);
}

size_t
ls_sync_place_list_own(LsSyncPlace ret_places[LS_SYNC_PLACES_MAX], bool is_public)
{
    struct ifaddrs *all = NULL;
    LsSyncPlace place;
    size_t n = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (int is_loopback = 0; is_loopback < 2; is_loopback++) {
        for (const struct ifaddrs *at = all; at != NULL && n < LS_SYNC_PLACES_MAX;
             at = at->ifa_next) {
            if (take_interface(at, is_public, &place) &&
                ls_sync_place_is_loopback(&place) == (is_loopback != 0))
                ret_places[n++] = place;
        }
    }
    freeifaddrs(all);
    return n;
}

/* -- hub-N -- */

/* "at ADDRESS PORT"; takes the line apart. */
static void
add_place(LsSyncHub *hub, char *line)
{
    char *space = strchr(line + 3, ' ');
    if (hub->n_places == LS_SYNC_PLACES_MAX || space == NULL)
        return;
    *space = '\0';
    hub->n_places += ls_sync_place_parse(&hub->places[hub->n_places], line + 3, space + 1);
}

bool
ls_sync_hub_parse(const char *text, LsSyncHub *ret_hub)
{
    bool is_whole = false;
    memset(ret_hub, 0, sizeof *ret_hub);
    for (const char *at = text; *at != '\0' && !is_whole;) {
        char line[LS_AREA_NAME_MAX + 16];
        size_t length = strcspn(at, "\n");
        if (at[length] == '\0' || length >= sizeof line)
            return false;
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + 1;
        if (strncmp(line, "host ", 5) == 0)
            snprintf(ret_hub->host, sizeof ret_hub->host, "%.*s", LS_AREA_NAME_MAX - 1, line + 5);
        else if (strncmp(line, "boot ", 5) == 0)
            snprintf(ret_hub->boot, sizeof ret_hub->boot, "%.*s", LS_BOOT_ID_MAX - 1, line + 5);
        else if (strncmp(line, "at ", 3) == 0)
            add_place(ret_hub, line);
        else
            is_whole = strcmp(line, "end") == 0;
    }
    return is_whole && ret_hub->boot[0] != '\0' && ret_hub->n_places > 0;
}

static void
name_hub(const char *folder, uint32_t number, char ret_path[LS_AREA_PATH_MAX])
{
    snprintf(ret_path, LS_AREA_PATH_MAX, "%s/hub-%u", folder, number);
}

LsStatus
ls_sync_hub_read(const char *folder, uint32_t number, LsSyncHub *ret_hub)
{
    char path[LS_AREA_PATH_MAX], text[HUB_BYTES];
    name_hub(folder, number, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return ls_sync_hub_parse(text, ret_hub) ? LS_OK : LS_ERR_OFF;
}

LsStatus
ls_sync_hub_publish(const char *folder, uint32_t number, const LsSyncHub *hub)
{
    char path[LS_AREA_PATH_MAX], text[HUB_BYTES], address[INET6_ADDRSTRLEN];
    int used = snprintf(text, sizeof text, "host %s\nboot %s\n", hub->host, hub->boot);
    for (size_t i = 0; i < hub->n_places; i++) {
        format_address(&hub->places[i], address);
        used += snprintf(text + used, sizeof text - (size_t)used, "at %s %u\n", address,
                         (unsigned)port_of(&hub->places[i]));
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "end\n");
    name_hub(folder, number, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? LS_ERR_OFF : LS_ERR_SYSTEM;
    bool is_whole = write(fd, text, (size_t)used) == used;
    close(fd);
    return is_whole ? LS_OK : LS_ERR_SYSTEM;
}
