// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include "base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A line is built on the stack and written in one piece, so that lines of several threads never
 * mix. A field that does not fit is left out whole, and the line says so. */
enum { LINE = 4096, TAIL = 48 };

static int log_fd = -1;
static int own_fd = -1; /* log_fd, if it is ours to close */
static bool is_socket;
static enum log_level log_level = LOG_OFF;
static atomic_uint n_dropped; /* lines that could not be written since the last one that was */
static atomic_bool is_torn;   /* the last line was written in part */

/* Who reads a pipe or a terminal may stop reading, and must not stop the daemon with that. Whether
 * writes block belongs to the open file description, which we share with whoever started us: so we
 * open one of our own. Where that cannot be had, fd is used as it is. */
static int open_own(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void log_open(int fd, enum log_level level)
{
    struct stat stat;
    if (own_fd >= 0)
        close(own_fd);
    own_fd = -1;
    is_socket = false;
    if (fd >= 0 && fstat(fd, &stat) == 0) {
        is_socket = S_ISSOCK(stat.st_mode);
        if (S_ISFIFO(stat.st_mode) || S_ISCHR(stat.st_mode))
            own_fd = open_own(fd);
    }
    log_fd = own_fd >= 0 ? own_fd : fd;
    log_level = level;
}

bool log_parse_level(const char *text, enum log_level *ret)
{
    static const char *const names[] = { "debug", "info", "warning", "error", "off" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum log_level) i;
            return true;
        }
    }
    return false;
}

bool log_is_on(enum log_level level) { return log_fd >= 0 && level >= log_level; }

/* Appends text as a JSON string; returns the new length, or the old one if there is no room. */
static size_t put_string(char *line, size_t used, size_t room, const char *text)
{
    const size_t start = used;
    if (used + 2 > room)
        return start;
    line[used++] = '"';
    while (*text) {
        const size_t n = text_character(text);
        const unsigned char c = (unsigned char) *text;
        if (used + 8 > room)
            return start;
        if (n == 0) { /* what a client calls itself may be any bytes, and JSON is UTF-8 */
            line[used++] = '?';
        } else if (c == '"' || c == '\\') {
            line[used++] = '\\';
            line[used++] = (char) c;
        } else if (c < 0x20 || c == 0x7F) {
            used += (size_t) snprintf(line + used, room - used, "\\u%04x", c);
        } else {
            memcpy(line + used, text, n);
            used += n;
        }
        text += n ? n : 1;
    }
    line[used++] = '"';
    return used;
}

static size_t put_field(char *line, size_t used, size_t room, const struct log_field *field)
{
    const size_t start = used;
    if (used + strlen(field->key) + 32 > room)
        return start;
    used += (size_t) snprintf(line + used, room - used, ",\"%s\":", field->key);
    switch (field->kind) {
    case LOG_FIELD_U64:
        return used + (size_t) snprintf(line + used, room - used, "%" PRIu64, field->as.u64);
    case LOG_FIELD_I64:
        return used + (size_t) snprintf(line + used, room - used, "%" PRId64, field->as.i64);
    case LOG_FIELD_TEXT: break;
    }
    const size_t end = put_string(line, used, room, field->as.text ? field->as.text : "");
    return end == used ? start : end;
}

/* A full disk, a closed pipe or a reader that does not read must not stop the daemon: the line is
 * lost, and the next one says so. */
static void write_line(const char *line, size_t size, unsigned dropped)
{
    const ssize_t n = is_socket ? send(log_fd, line, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                : write(log_fd, line, size);
    if (n == (ssize_t) size)
        return;
    atomic_fetch_add(&n_dropped, dropped + 1);
    if (n > 0)
        atomic_store(&is_torn, true);
}

void log_event(enum log_level level, const char *event, const struct log_field *fields,
               size_t n_fields)
{
    static const char *const names[] = { "debug", "info", "warning", "error" };
    if (!log_is_on(level))
        return;
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    char line[LINE], stamp[32];
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    size_t used = (size_t) snprintf(line, sizeof line,
                                    "%s{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"event\":\"%s\"",
                                    atomic_exchange(&is_torn, false) ? "\n" : "", stamp,
                                    (int) (now.tv_nsec / 1000000), names[level], event);
    bool cut = false;
    for (size_t i = 0; i < n_fields; i++) {
        const size_t end = put_field(line, used, sizeof line - TAIL, &fields[i]);
        cut |= end == used;
        used = end;
    }
    const unsigned dropped = atomic_exchange(&n_dropped, 0);
    used += (size_t) snprintf(line + used, sizeof line - used, "%s", cut ? ",\"cut\":true" : "");
    if (dropped)
        used += (size_t) snprintf(line + used, sizeof line - used, ",\"dropped\":%u", dropped);
    used += (size_t) snprintf(line + used, sizeof line - used, "}\n");
    write_line(line, used, dropped);
}
