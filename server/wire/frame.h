// SPDX-License-Identifier: Apache-2.0
/* Frames between daemon, monitor and runner: one SOCK_SEQPACKET message each, with descriptors.
 *
 * A frame is its type (u32) and what follows. SEQPACKET keeps messages whole and in order, so
 * there is no length to believe. Whoever receives checks everything; a frame that is cut, too
 * large, or brings descriptors that nobody asked for is an error and costs the sender its life. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "wire/bytes.h"
#include <kernrig/err.h>

enum {
    WIRE_FRAME_MAX =
        196608,        /* bytes: what a Unix socket of default size surely takes in one piece */
    WIRE_FDS_MAX = 64, /* descriptors in one frame; Linux takes 253 */
    WIRE_TEXT = KR_ERROR_TEXT, /* of a sentence in a frame */
};

enum wire_type {
    WIRE_HELLO = 1, /* up: I am here, of this build */
    WIRE_LOAD,      /* down: load this library */
    WIRE_KERNELS,   /* up: some of its table */
    WIRE_READY,     /* up: that was all of it; calls may come */
    WIRE_FAILED,    /* up: it cannot be loaded, and this is why */
    WIRE_MAP,       /* down: buffers that later calls may use, with their descriptors */
    WIRE_UNMAP,     /* down: buffers that no later call uses */
    WIRE_CALL,      /* down */
    WIRE_DONE,      /* up: the kernel has returned */
    WIRE_DIED,      /* up, from the monitor: the runner has ended, how, and in which call */
};

/* A received frame. The bytes lie in the caller's buffer; the descriptors are the caller's. */
struct wire_frame {
    uint32_t type;
    struct wire_reader body;
    const uint8_t *bytes; /* all of it, type included, to pass on */
    size_t size;
    int fds[WIRE_FDS_MAX];
    uint32_t n_fds;
};

/* Begins a frame in buffer. */
struct wire_writer wire_begin(uint8_t *buffer, size_t size, enum wire_type type);

/* Sends a frame whole, or fails: with BUSY when a socket that does not block is full, with WORKER
 * when the other side is gone, else with SYSTEM. fds stay the caller's. */
KR_CHECK int wire_send(int socket, const struct wire_writer *frame, const int *fds, uint32_t n_fds,
                       kr_error *err);
KR_CHECK int wire_send_bytes(int socket, const uint8_t *bytes, size_t size, const int *fds,
                             uint32_t n_fds, kr_error *err);

/* Receives one frame into buffer, of WIRE_FRAME_MAX bytes; flags are recvmsg's, MSG_DONTWAIT or 0.
 * Returns 1, or 0 at the end of the connection or when nothing is there (*ret_eof tells), or fails.
 */
KR_CHECK int wire_recv(int socket, int flags, uint8_t *buffer, struct wire_frame *ret,
                       bool *ret_eof, kr_error *err);
/* Closes the descriptors that have not been taken (set to -1). */
void wire_frame_done(struct wire_frame *frame);

#endif
