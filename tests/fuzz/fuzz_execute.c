// SPDX-License-Identifier: Apache-2.0
/* An ExecuteRequest from its bytes to bound arguments: protobuf-c in an arena, the codec, the
 * registry's binder, and back into a frame for the worker. */
#include "rpc/codec.h"
#include "rpc/state.h"
#include "wire/call.h"

#include <grpc/byte_buffer.h>
#include <kernrig/bind.h>

static kr_registry *registry;
static uint8_t frame_bytes[WIRE_FRAME_MAX];

static void try_call(const Kernrig__V1__Call *call, kr_arena *arena)
{
    struct call_request request;
    kr_bound bound;
    kr_error err = { .code = 0 };
    if (codec_get_call(call, arena, &request, &err) < 0) {
        if (!err.code || !err.text[0])
            abort();
        return;
    }
    const kr_operator_info *op = kr_registry_operator(registry, request.operator_);
    if (!op) {
        if (kr_registry_unknown(registry, request.operator_, &err) >= 0)
            abort();
        return;
    }
    const kr_bind_options options = { .numbers_as_tensors = op->allows_numbers };
    if (kr_bind(op->schema, &options, request.args, request.n_args, arena, &bound, &err) < 0) {
        if (!err.code || !err.text[0])
            abort();
        return;
    }
    uint64_t *capacities = kr_arena_array(arena, bound.n_tensors, sizeof *capacities);
    bool *aliased = kr_arena_array(arena, bound.n_tensors, sizeof *aliased);
    if (!capacities || !aliased)
        return;
    const struct wire_call_head head = { .id = 1 };
    struct wire_writer w = wire_begin(frame_bytes, sizeof frame_bytes, WIRE_CALL);
    wire_put_call(&w, &head, &bound, capacities, aliased);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kr_arena arena;
    if (!registry && !(registry = kr_registry_new()))
        abort();
    kr_arena_init(&arena, 4 << 20);
    grpc_slice slice = grpc_slice_from_copied_buffer((const char *) data, size);
    grpc_byte_buffer *payload = grpc_raw_byte_buffer_create(&slice, 1);
    const Kernrig__V1__ExecuteRequest *request = (const void *) rpc_unpack(
        &kernrig__v1__execute_request__descriptor, payload, &arena);
    for (size_t i = 0; request && i < request->n_calls; i++)
        try_call(request->calls[i], &arena);
    grpc_byte_buffer_destroy(payload);
    grpc_slice_unref(slice);
    kr_arena_done(&arena);
    return 0;
}
