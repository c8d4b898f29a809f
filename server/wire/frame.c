// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
};

struct wire_writer wire_begin(uint8_t *buffer, size_t size, enum wire_type type)
{
    struct wire_writer w = { .data = buffer, .size = size };
    wire_put_u32(&w, type);
    return w;
}

int wire_send(int socket, const struct wire_writer *frame, const int *fds, uint32_t n_fds,
              kr_error *err)
{
    if (frame->full)
        return kr_error_set(err, KR_CODE_LIMIT, "a frame for the worker exceeds %zu bytes",
                            frame->size);
    return wire_send_bytes(socket, frame->data, frame->used, fds, n_fds, err);
}

int wire_send_bytes(int socket, const uint8_t *bytes, size_t size, const int *fds, uint32_t n_fds,
                    kr_error *err)
{
    union control control;
    struct iovec iov = { .iov_base = (void *) (uintptr_t) bytes, .iov_len = size };
    struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (n_fds) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(header), fds, n_fds * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        const int code = errno == EAGAIN                         ? KR_CODE_BUSY
                         : errno == EPIPE || errno == ECONNRESET ? KR_CODE_WORKER
                                                                 : KR_CODE_SYSTEM;
        return kr_error_set(err, code, "sending a frame of %zu bytes: %s", size, strerror(errno));
    }
    if ((size_t) sent != size) /* only a stream can take a part, and only one that is nearly full */
        return kr_error_set(err, KR_CODE_SYSTEM, "only %zd of %zu bytes were taken", sent, size);
    return 0;
}

/* Takes the descriptors that came along, all of them, so that none can leak. */
static void take_fds(struct msghdr *message, struct wire_frame *frame)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n && frame->n_fds < WIRE_FDS_MAX; i++)
            memcpy(&frame->fds[frame->n_fds++], CMSG_DATA(h) + i * sizeof(int), sizeof(int));
    }
}

/* recvmsg returns nothing for an empty message as it does for the end. Only the end has a peer that
 * sends no more; an empty message that overtakes one in its last moment loses nothing. */
static bool is_the_end(int socket)
{
    struct pollfd state = { .fd = socket, .events = POLLRDHUP };
    return poll(&state, 1, 0) == 1;
}

int wire_recv(int socket, int flags, uint8_t *buffer, struct wire_frame *ret, bool *ret_eof,
              kr_error *err)
{
    union control control;
    struct iovec iov = { .iov_base = buffer, .iov_len = WIRE_FRAME_MAX };
    struct msghdr message = { .msg_iov = &iov,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t n;
    do {
        n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
        /* A peer that died with frames of ours unread resets the connection. That is told once; its
         * own last frames come after it. */
    } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    *ret_eof = false;
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "recvmsg: %s", strerror(errno));
    *ret = (struct wire_frame){ .bytes = buffer, .size = (size_t) n };
    take_fds(&message, ret);
    if (n == 0 && ret->n_fds == 0 && is_the_end(socket)) {
        *ret_eof = true;
        return 0;
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || n < (ssize_t) sizeof ret->type) {
        wire_frame_done(ret);
        return kr_error_set(
            err, KR_CODE_MALFORMED,
            "a frame is empty or cut: at most %d bytes and %d descriptors are taken",
            WIRE_FRAME_MAX, WIRE_FDS_MAX);
    }
    memcpy(&ret->type, buffer, sizeof ret->type);
    ret->body = (struct wire_reader){ .next = buffer + sizeof ret->type, .end = buffer + n };
    return 1;
}

void wire_frame_done(struct wire_frame *frame)
{
    for (uint32_t i = 0; i < frame->n_fds; i++)
        if (frame->fds[i] >= 0)
            close(frame->fds[i]);
    frame->n_fds = 0;
}
