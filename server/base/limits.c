// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>

static const struct entry {
    const char *name;
    size_t offset;
    uint64_t value;
    const char *unit, *meaning;
} entries[] = {
#define KR_LIMIT(name, value, unit, meaning) \
    { #name, offsetof(struct limits, name), value, unit, meaning },
#include "base/limits.def"
#undef KR_LIMIT
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

static uint64_t *value_of(struct limits *limits, const struct entry *entry)
{
    return (uint64_t *) ((char *) limits + entry->offset);
}

void limits_init(struct limits *limits)
{
    for (size_t i = 0; i < N_ENTRIES; i++)
        *value_of(limits, &entries[i]) = entries[i].value;
}

int limits_set(struct limits *limits, const char *text, kr_error *err)
{
    const char *equals = strchr(text, '=');
    const size_t length = equals ? (size_t) (equals - text) : strlen(text);
    for (size_t i = 0; i < N_ENTRIES; i++) {
        if (strlen(entries[i].name) != length || memcmp(entries[i].name, text, length) != 0)
            continue;
        char *end = NULL;
        errno = 0;
        const unsigned long long value = equals ? strtoull(equals + 1, &end, 10) : 0;
        /* Digits only: strtoull would take blanks and a sign. */
        if (!equals || equals[1] < '0' || equals[1] > '9' || *end || errno)
            return kr_error_set(err, KR_CODE_VALUE,
                                "--limit %s: wants a whole number of %s, as in %s=%" PRIu64, text,
                                entries[i].unit, entries[i].name, entries[i].value);
        *value_of(limits, &entries[i]) = value;
        return 0;
    }
    char names[KR_ERROR_TEXT / 2] = "";
    for (size_t i = 0, used = 0; i < N_ENTRIES && used < sizeof names; i++)
        used += (size_t) snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                  entries[i].name);
    return kr_error_set(err, KR_CODE_VALUE, "--limit %s: there is no limit %.*s; there are %s",
                        text, (int) length, text, names);
}

bool limits_describe(const struct limits *limits, size_t i, struct limit_info *ret)
{
    if (i >= N_ENTRIES)
        return false;
    *ret = (struct limit_info){ .name = entries[i].name,
                                .unit = entries[i].unit,
                                .meaning = entries[i].meaning };
    memcpy(&ret->value, (const char *) limits + entries[i].offset, sizeof ret->value);
    return true;
}
