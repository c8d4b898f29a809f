// SPDX-License-Identifier: Apache-2.0
/* Frames that wait until a worker's socket takes them. */
#ifndef WORKERS_OUTGOING_H
#define WORKERS_OUTGOING_H

#include "wire/frame.h"

struct outgoing_frame;

struct outgoing {
    struct outgoing_frame *frames;
};

/* Sends the frame, or keeps a copy (with duplicates of the descriptors) when the socket is full or
 * others wait before it. */
KR_CHECK int outgoing_send(struct outgoing *outgoing, int socket, const struct wire_writer *frame,
                           const int *fds, uint32_t n_fds, kr_error *err);
/* Sends what waits; 1 if everything went, 0 if some still waits, or fails. */
KR_CHECK int outgoing_flush(struct outgoing *outgoing, int socket, kr_error *err);
bool outgoing_is_empty(const struct outgoing *outgoing);
void outgoing_done(struct outgoing *outgoing);

#endif
