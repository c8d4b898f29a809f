// SPDX-License-Identifier: Apache-2.0
/* Execute's messages and the service's structs, into each other. */
#ifndef RPC_CODEC_H
#define RPC_CODEC_H

#include "kernrig/v1/execute.pb-c.h"
#include "service/execute.h"

/* Errors name the call's operator and the argument. Texts stay in the message. */
KR_CHECK int codec_get_call(const Kernrig__V1__Call *call, kr_arena *arena,
                            struct call_request *ret, kr_error *err);
/* Everything lies in the arena or in the result; NULL without memory. */
KR_CHECK Kernrig__V1__CallResult *codec_put_result(const struct call_result *result,
                                                   const char *operator_, kr_arena *arena);

#endif
