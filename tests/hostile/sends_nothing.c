// SPDX-License-Identifier: Apache-2.0
/* Sends an empty message, alone or with a descriptor: what a careless reader takes for the end. */
#include <kernrig/kernel.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static kr_status sends_nothing(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    struct msghdr message = { 0 };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    const int fd = 0;
    (void) ctx;
    (void) rets;
    if (*(const float *) args[0].as.tensor->data != 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    sendmsg(3, &message, 0);
    while (1)
        pause();
    return KR_OK;
}
KR_KERNEL(sends_nothing,
          .schema = "test::sends_nothing.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
