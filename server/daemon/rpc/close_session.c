// SPDX-License-Identifier: Apache-2.0
/* CloseSession: everything that the session owns goes. */
#include "rpc/state.h"

#include "kernrig/v1/session.pb-c.h"

static void begin(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Kernrig__V1__CloseSessionRequest *request = (const void *) message;
    Kernrig__V1__CloseSessionResponse reply = KERNRIG__V1__CLOSE_SESSION_RESPONSE__INIT;
    struct session *session = call_session(call, request->session);
    if (!session)
        return;
    service_end_session(call->rpc->options.service, session, "its client has closed it");
    call_reply(call, &reply.base);
}

RPC_METHOD(CloseSession, .request = &kernrig__v1__close_session_request__descriptor,
           .begin = begin);
