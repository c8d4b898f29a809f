// SPDX-License-Identifier: Apache-2.0
/* CreateBuffer: memory for tensors, one buffer per size. */
#include "rpc/state.h"

#include "kernrig/v1/buffer.pb-c.h"

static void begin(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Kernrig__V1__CreateBufferRequest *request = (const void *) message;
    Kernrig__V1__CreateBufferResponse reply = KERNRIG__V1__CREATE_BUFFER_RESPONSE__INIT;
    const size_t n = request->n_sizes;
    kr_error err;
    struct session *session = call_session(call, request->session);
    if (!session)
        return;
    struct buffer **buffers = kr_arena_array(&call->arena, n, sizeof *buffers);
    Kernrig__V1__BufferInfo *infos = kr_arena_array(&call->arena, n, sizeof *infos);
    reply.buffers = kr_arena_array(&call->arena, n, sizeof *reply.buffers);
    int r = buffers && infos && reply.buffers
                ? 0
                : kr_error_set(&err, KR_CODE_LIMIT, "%zu buffers take too much memory", n);
    if (r == 0)
        r = service_create_buffers(call->rpc->options.service, session, request->sizes, n, buffers,
                                   &err);
    if (r < 0) {
        call_refuse(call, &err);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        kernrig__v1__buffer_info__init(&infos[i]);
        infos[i].buffer = buffers[i]->handle;
        infos[i].size = buffers[i]->size;
        reply.buffers[i] = &infos[i];
    }
    reply.n_buffers = n;
    call_reply(call, &reply.base);
}

RPC_METHOD(CreateBuffer, .request = &kernrig__v1__create_buffer_request__descriptor,
           .begin = begin);
