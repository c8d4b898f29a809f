// SPDX-License-Identifier: Apache-2.0
/* The local protocol: what gRPC cannot do on a Unix socket.
 *
 * A client binds its connection to its session, and fetches the descriptors of its buffers. When
 * the connection closes, the session ends. Requests and replies are a head and a payload:
 *
 *   'K' 'R' type(u8) 1(u8) length(u32)   payload of length bytes, at most LOCAL_PAYLOAD
 *
 *   BIND     16 bytes of session; the reply is BOUND, or REFUSED
 *   FETCH    n times a buffer's handle (u64), n <= 64; the reply is FETCHED, or REFUSED
 *   FETCHED  n times a buffer's size (u64), with n descriptors
 *   REFUSED  an error's code (i32), then its text
 *
 * Numbers are little-endian. The first byte of a connection decides what it speaks: 'P' opens
 * HTTP/2. Anything that is not as above closes the connection. */
#ifndef WIRE_LOCAL_H
#define WIRE_LOCAL_H

#include "wire/bytes.h"
#include <kernrig/err.h>

enum {
    LOCAL_HEAD = 8,
    LOCAL_PAYLOAD = 1024,
    LOCAL_SESSION = 16,
    LOCAL_HANDLES = 64,
    LOCAL_VERSION = 1,
};

enum local_type {
    LOCAL_BIND = 1,
    LOCAL_FETCH = 2,
    LOCAL_BOUND = 65,
    LOCAL_FETCHED = 66,
    LOCAL_REFUSED = 67,
};

struct local_request {
    enum local_type type; /* BIND or FETCH */
    uint8_t session[LOCAL_SESSION];
    uint64_t handles[LOCAL_HANDLES];
    uint32_t n_handles;
};

/* Collects the bytes of one request, however they are cut up. */
struct local_parser {
    uint8_t bytes[LOCAL_HEAD + LOCAL_PAYLOAD];
    size_t used;
};

/* Takes bytes until a request is complete. Returns 1 and what it took in *ret_taken, 0 when it
 * needs more (everything was taken), or fails. After 1 the parser is ready for the next. */
KR_CHECK int local_parse(struct local_parser *parser, const uint8_t *bytes, size_t n,
                         size_t *ret_taken, struct local_request *ret, kr_error *err);

struct wire_writer local_begin(uint8_t *buffer, size_t size, enum local_type type);
/* Fills in the length; call last. */
void local_end(struct wire_writer *w);
void local_put_refused(struct wire_writer *w, const kr_error *why);

#endif
