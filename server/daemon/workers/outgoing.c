// SPDX-License-Identifier: Apache-2.0
#include "workers/outgoing.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <utlist.h>

struct outgoing_frame {
    struct outgoing_frame *prev, *next;
    int fds[WIRE_FDS_MAX];
    uint32_t n_fds;
    size_t size;
    uint8_t bytes[];
};

static void drop(struct outgoing *outgoing, struct outgoing_frame *frame)
{
    DL_DELETE(outgoing->frames, frame);
    for (uint32_t i = 0; i < frame->n_fds; i++)
        close(frame->fds[i]);
    free(frame);
}

static int keep(struct outgoing *outgoing, const struct wire_writer *frame, const int *fds,
                uint32_t n_fds, kr_error *err)
{
    struct outgoing_frame *kept = calloc(1, sizeof *kept + frame->used);
    if (!kept)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a frame");
    kept->size = frame->used;
    memcpy(kept->bytes, frame->data, frame->used);
    DL_APPEND(outgoing->frames, kept);
    for (; kept->n_fds < n_fds; kept->n_fds++) {
        kept->fds[kept->n_fds] = fcntl(fds[kept->n_fds], F_DUPFD_CLOEXEC, 0);
        if (kept->fds[kept->n_fds] < 0) {
            drop(outgoing, kept);
            return kr_error_set(err, KR_CODE_SYSTEM, "no descriptor left: %s", strerror(errno));
        }
    }
    return 0;
}

int outgoing_send(struct outgoing *outgoing, int socket, const struct wire_writer *frame,
                  const int *fds, uint32_t n_fds, kr_error *err)
{
    kr_error why;
    if (frame->full)
        return kr_error_set(err, KR_CODE_LIMIT, "a frame for the worker exceeds %zu bytes",
                            frame->size);
    if (outgoing->frames)
        return keep(outgoing, frame, fds, n_fds, err);
    const int r = wire_send(socket, frame, fds, n_fds, &why);
    if (r == KR_CODE_BUSY)
        return keep(outgoing, frame, fds, n_fds, err);
    return r < 0 ? kr_error_set(err, why.code, "%s", why.text) : 0;
}

int outgoing_flush(struct outgoing *outgoing, int socket, kr_error *err)
{
    while (outgoing->frames) {
        struct outgoing_frame *frame = outgoing->frames;
        kr_error why;
        const int r = wire_send_bytes(socket, frame->bytes, frame->size, frame->fds, frame->n_fds,
                                      &why);
        if (r == KR_CODE_BUSY)
            return 0;
        if (r < 0)
            return kr_error_set(err, why.code, "%s", why.text);
        drop(outgoing, frame);
    }
    return 1;
}

bool outgoing_is_empty(const struct outgoing *outgoing) { return !outgoing->frames; }

void outgoing_done(struct outgoing *outgoing)
{
    while (outgoing->frames)
        drop(outgoing, outgoing->frames);
}
