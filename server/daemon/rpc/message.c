// SPDX-License-Identifier: Apache-2.0
/* Messages to bytes and back: protobuf-c on gRPC's slices. */
#include "rpc/state.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>

static void *arena_alloc(void *data, size_t size) { return kr_arena_alloc(data, size); }
static void arena_free(void *data, void *memory)
{
    (void) data;
    (void) memory; /* goes with its arena */
}

grpc_byte_buffer *rpc_pack(const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    grpc_slice slice = grpc_slice_malloc(size);
    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

ProtobufCMessage *rpc_unpack(const ProtobufCMessageDescriptor *descriptor,
                             grpc_byte_buffer *payload, kr_arena *arena)
{
    grpc_byte_buffer_reader reader;
    ProtobufCAllocator allocator = { .alloc = arena_alloc,
                                     .free = arena_free,
                                     .allocator_data = arena };
    if (!payload || !grpc_byte_buffer_reader_init(&reader, payload))
        return NULL;
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    ProtobufCMessage *message = protobuf_c_message_unpack(
        descriptor, &allocator, GRPC_SLICE_LENGTH(all), GRPC_SLICE_START_PTR(all));
    grpc_slice_unref(all);
    grpc_byte_buffer_reader_destroy(&reader);
    return message;
}
