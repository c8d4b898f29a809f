// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

/* A line is built on the stack and written in one piece, so that lines of several threads never
 * mix. A field that does not fit is left out whole, and the line says so. */
enum { LINE = 4096, TAIL = 32 };

static int log_fd = -1;
static enum log_level log_level = LOG_OFF;

void log_open(int fd, enum log_level level)
{
    log_fd = fd;
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
    for (const unsigned char *c = (const unsigned char *) text; *c; c++) {
        if (used + 8 > room)
            return start;
        if (*c == '"' || *c == '\\') {
            line[used++] = '\\';
            line[used++] = (char) *c;
        } else if (*c < 0x20 || *c == 0x7F) {
            used += (size_t) snprintf(line + used, room - used, "\\u%04x", *c);
        } else {
            line[used++] = (char) *c;
        }
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
                                    "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"event\":\"%s\"",
                                    stamp, (int) (now.tv_nsec / 1000000), names[level], event);
    bool cut = false;
    for (size_t i = 0; i < n_fields; i++) {
        const size_t end = put_field(line, used, sizeof line - TAIL, &fields[i]);
        cut |= end == used;
        used = end;
    }
    used += (size_t) snprintf(line + used, sizeof line - used, "%s}\n", cut ? ",\"cut\":true" : "");
    /* A full disk or a closed pipe must not stop the daemon; there is nobody left to tell. */
    if (write(log_fd, line, used) < 0)
        return;
}
