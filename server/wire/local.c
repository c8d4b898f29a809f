// SPDX-License-Identifier: Apache-2.0
#include "wire/local.h"

/* The length of the payload that the head announces, or an error; head holds LOCAL_HEAD bytes. */
static int check_head(const uint8_t *head, uint32_t *ret_length, kr_error *err)
{
    uint32_t length;
    memcpy(&length, head + 4, sizeof length);
    if (head[0] != 'K' || head[1] != 'R' || head[3] != LOCAL_VERSION)
        return kr_error_set(err, KR_CODE_MALFORMED,
                            "this is neither HTTP/2 nor version %d of the local protocol",
                            LOCAL_VERSION);
    if (head[2] != LOCAL_BIND && head[2] != LOCAL_FETCH)
        return kr_error_set(err, KR_CODE_MALFORMED, "the local protocol has no request %u",
                            head[2]);
    if (length > LOCAL_PAYLOAD)
        return kr_error_set(err, KR_CODE_LIMIT, "a local request of %u bytes; at most %d are taken",
                            length, LOCAL_PAYLOAD);
    *ret_length = length;
    return 0;
}

static int decode(const uint8_t *head, uint32_t length, struct local_request *ret, kr_error *err)
{
    struct wire_reader r = { .next = head + LOCAL_HEAD, .end = head + LOCAL_HEAD + length };
    *ret = (struct local_request){ .type = (enum local_type) head[2] };
    if (ret->type == LOCAL_BIND) {
        wire_get(&r, ret->session, sizeof ret->session);
        if (!wire_done(&r))
            return kr_error_set(err, KR_CODE_MALFORMED, "BIND wants %d bytes, not %u",
                                LOCAL_SESSION, length);
        return 0;
    }
    ret->n_handles = length / sizeof *ret->handles;
    if (length % sizeof *ret->handles || ret->n_handles == 0 || ret->n_handles > LOCAL_HANDLES)
        return kr_error_set(err, KR_CODE_MALFORMED, "FETCH wants 1 to %d handles, not %u bytes",
                            LOCAL_HANDLES, length);
    wire_get(&r, ret->handles, length);
    return 0;
}

int local_parse(struct local_parser *parser, const uint8_t *bytes, size_t n, size_t *ret_taken,
                struct local_request *ret, kr_error *err)
{
    size_t taken = 0;
    for (;;) {
        uint32_t length = 0;
        size_t want = LOCAL_HEAD;
        if (parser->used >= LOCAL_HEAD) {
            const int r = check_head(parser->bytes, &length, err);
            if (r < 0)
                return r;
            want += length;
        }
        if (parser->used == want) {
            parser->used = 0;
            const int r = decode(parser->bytes, length, ret, err);
            if (r < 0)
                return r;
            *ret_taken = taken;
            return 1;
        }
        size_t part = want - parser->used;
        if (part > n - taken)
            part = n - taken;
        if (part == 0) {
            *ret_taken = taken;
            return 0;
        }
        memcpy(parser->bytes + parser->used, bytes + taken, part);
        parser->used += part;
        taken += part;
    }
}

struct wire_writer local_begin(uint8_t *buffer, size_t size, enum local_type type)
{
    struct wire_writer w = { .data = buffer, .size = size };
    const uint8_t head[LOCAL_HEAD] = { 'K', 'R', (uint8_t) type, LOCAL_VERSION };
    wire_put(&w, head, sizeof head);
    return w;
}

void local_end(struct wire_writer *w)
{
    const uint32_t length = (uint32_t) (w->used - LOCAL_HEAD);
    memcpy(w->data + 4, &length, sizeof length);
}

void local_put_refused(struct wire_writer *w, const kr_error *why)
{
    size_t length = strlen(why->text);
    if (length > w->size - w->used - sizeof(int32_t))
        length = w->size - w->used - sizeof(int32_t);
    wire_put_i32(w, why->code);
    wire_put(w, why->text, length);
}
