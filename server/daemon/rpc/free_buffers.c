// SPDX-License-Identifier: Apache-2.0
/* FreeBuffers: those that it knows go, even where it refuses another. */
#include "rpc/state.h"

#include "kernrig/v1/buffer.pb-c.h"

static void begin(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Kernrig__V1__FreeBuffersRequest *request = (const void *) message;
    Kernrig__V1__FreeBuffersResponse reply = KERNRIG__V1__FREE_BUFFERS_RESPONSE__INIT;
    kr_error err;
    struct session *session = call_session(call, request->session);
    if (!session)
        return;
    if (service_free_buffers(call->rpc->options.service, session, request->buffers,
                             request->n_buffers, &err) < 0)
        call_refuse(call, &err);
    else
        call_reply(call, &reply.base);
}

RPC_METHOD(FreeBuffers, .request = &kernrig__v1__free_buffers_request__descriptor, .begin = begin);
