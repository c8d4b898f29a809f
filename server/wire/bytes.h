// SPDX-License-Identifier: Apache-2.0
/* Reading and writing the bytes of a frame: little-endian, bounded, never trusting.
 *
 * A writer that runs out of room and a reader that runs out of bytes remember it and go on with
 * zeros; who uses them looks once, at the end. Texts carry their length and a final 0, so that a
 * reader can lend them out in place. */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire_writer {
    uint8_t *data;
    size_t used, size;
    bool full;
};

struct wire_reader {
    const uint8_t *next, *end;
    bool bad;
};

static inline void wire_put(struct wire_writer *w, const void *bytes, size_t n)
{
    if (n > w->size - w->used) {
        w->full = true;
        return;
    }
    if (n)
        memcpy(w->data + w->used, bytes, n);
    w->used += n;
}

static inline void wire_get(struct wire_reader *r, void *bytes, size_t n)
{
    if (n > (size_t) (r->end - r->next)) {
        r->bad = true;
        memset(bytes, 0, n);
        return;
    }
    if (n)
        memcpy(bytes, r->next, n);
    r->next += n;
}

/* kernrig runs on little-endian machines only (x86-64, arm64, riscv64). */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the frames are written as they lie in memory");

static inline void wire_put_u8(struct wire_writer *w, uint8_t v) { wire_put(w, &v, sizeof v); }
static inline void wire_put_u32(struct wire_writer *w, uint32_t v) { wire_put(w, &v, sizeof v); }
static inline void wire_put_i32(struct wire_writer *w, int32_t v) { wire_put(w, &v, sizeof v); }
static inline void wire_put_u64(struct wire_writer *w, uint64_t v) { wire_put(w, &v, sizeof v); }

static inline uint8_t wire_get_u8(struct wire_reader *r)
{
    uint8_t v;
    wire_get(r, &v, sizeof v);
    return v;
}
static inline uint32_t wire_get_u32(struct wire_reader *r)
{
    uint32_t v;
    wire_get(r, &v, sizeof v);
    return v;
}
static inline int32_t wire_get_i32(struct wire_reader *r)
{
    int32_t v;
    wire_get(r, &v, sizeof v);
    return v;
}
static inline uint64_t wire_get_u64(struct wire_reader *r)
{
    uint64_t v;
    wire_get(r, &v, sizeof v);
    return v;
}

/* NULL is written as the empty text. */
void wire_put_text(struct wire_writer *w, const char *text);
/* A text inside the frame, "" if it is bad: longer than max, without its final 0, or with another
 * inside. */
const char *wire_get_text(struct wire_reader *r, size_t max);

/* Whether the reader has come exactly to the end, and nothing was bad. */
static inline bool wire_done(const struct wire_reader *r) { return !r->bad && r->next == r->end; }

#endif
