// SPDX-License-Identifier: Apache-2.0
#include "wire/bytes.h"

void wire_put_text(struct wire_writer *w, const char *text)
{
    const char *t = text ? text : "";
    const size_t length = strlen(t);
    if (length > UINT32_MAX - 1) {
        w->full = true;
        return;
    }
    wire_put_u32(w, (uint32_t) length);
    wire_put(w, t, length + 1);
}

const char *wire_get_text(struct wire_reader *r, size_t max)
{
    const uint32_t length = wire_get_u32(r);
    if (r->bad || length > max || length >= (size_t) (r->end - r->next) ||
        memchr(r->next, 0, (size_t) length + 1) != r->next + length) {
        r->bad = true;
        return "";
    }
    const char *text = (const char *) r->next;
    r->next += length + 1;
    return text;
}
