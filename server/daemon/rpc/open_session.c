// SPDX-License-Identifier: Apache-2.0
/* OpenSession: a new session for whoever asks. */
#include "rpc/state.h"

#include "kernrig/v1/session.pb-c.h"

static void begin(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Kernrig__V1__OpenSessionRequest *request = (const void *) message;
    Kernrig__V1__OpenSessionResponse reply = KERNRIG__V1__OPEN_SESSION_RESPONSE__INIT;
    struct service *service = call->rpc->options.service;
    struct peer peer = { 0 };
    struct session *session;
    kr_error err;
    char *name = grpc_call_get_peer(call->call);
    const bool is_known = call->rpc->listener && listener_peer(call->rpc->listener, name, &peer);
    gpr_free(name);
    int r = is_known ? 0
                     : kr_error_set(&err, KR_CODE_PERMISSION,
                                    "it is not known who opened this connection");
    if (r == 0)
        r = service_open_session(service, peer.uid, peer.pid, request->client, &session, &err);
    if (r < 0) {
        call_refuse(call, &err);
        return;
    }
    reply.session = (ProtobufCBinaryData){ .len = SESSION_TOKEN, .data = session->token };
    reply.generation = kr_registry_generation(service_registry(service));
    call_reply(call, &reply.base);
}

RPC_METHOD(OpenSession, .request = &kernrig__v1__open_session_request__descriptor, .begin = begin);
