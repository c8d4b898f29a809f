// SPDX-License-Identifier: Apache-2.0
/* The log: one event, one line of JSON, for programs first and people second.
 *
 *   log_info("session.opened", log_u64("session", id), log_text("client", name));
 *   {"time":"2026-11-30T06:11:14.123Z","level":"info","event":"session.opened","session":1,…}
 *
 * Only doors log: what a library finds wrong it returns. Usable from any thread; a line is one
 * write, which never waits for a reader: lines that find no room are lost, and the next one that
 * does says how many ("dropped":3). Nothing secret goes in: session tokens have no log function on
 * purpose. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_OFF };

struct log_field {
    const char *key;
    enum { LOG_FIELD_TEXT, LOG_FIELD_U64, LOG_FIELD_I64 } kind;
    union {
        const char *text;
        uint64_t u64;
        int64_t i64;
    } as;
};

static inline struct log_field log_text(const char *key, const char *value)
{
    return (struct log_field){ .key = key, .kind = LOG_FIELD_TEXT, .as.text = value };
}
static inline struct log_field log_u64(const char *key, uint64_t value)
{
    return (struct log_field){ .key = key, .kind = LOG_FIELD_U64, .as.u64 = value };
}
static inline struct log_field log_i64(const char *key, int64_t value)
{
    return (struct log_field){ .key = key, .kind = LOG_FIELD_I64, .as.i64 = value };
}

/* Where lines go and from which level on; call once, before other threads exist. fd is borrowed. */
void log_open(int fd, enum log_level level);
/* "debug" … "error", "off"; false for anything else. */
bool log_parse_level(const char *text, enum log_level *ret);
bool log_is_on(enum log_level level);
void log_event(enum log_level level, const char *event, const struct log_field *fields,
               size_t n_fields);

#define LOG_EVENT_(level, event, ...)                                           \
    do {                                                                        \
        if (log_is_on(level)) {                                                 \
            const struct log_field fields_[] = { __VA_ARGS__ };                 \
            log_event(level, event, fields_, sizeof fields_ / sizeof *fields_); \
        }                                                                       \
    } while (0)
#define log_debug(event, ...)   LOG_EVENT_(LOG_DEBUG, event, __VA_ARGS__)
#define log_info(event, ...)    LOG_EVENT_(LOG_INFO, event, __VA_ARGS__)
#define log_warning(event, ...) LOG_EVENT_(LOG_WARNING, event, __VA_ARGS__)
#define log_error(event, ...)   LOG_EVENT_(LOG_ERROR, event, __VA_ARGS__)

#endif
