// SPDX-License-Identifier: Apache-2.0
/* gRPC's server reflection, v1 and v1alpha: what the daemon offers, for tools that know nothing of
 * it. The protocol is a stream of questions and answers; both versions have the same messages on
 * the wire, so one code serves both. Descriptors come from the build (proto/module.mk). */
#include "rpc/state.h"

#include "google/protobuf/descriptor.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"

extern const char rpc_descriptors[];
extern const size_t rpc_descriptors_length;

enum { PATHS = 2, QUESTION_BYTES = 65536, FILES = 64, SERVICES = 16 };

typedef Google__Protobuf__FileDescriptorProto file_descriptor;
typedef Google__Protobuf__FileDescriptorSet file_set;
typedef Grpc__Reflection__V1__ServerReflectionRequest question;
typedef Grpc__Reflection__V1__ServerReflectionResponse response;

/* One of the two paths, waiting for its next stream. */
struct reflection {
    struct rpc_tag tag;
    struct rpc *rpc;
    void *registered;
    grpc_call *call;
    grpc_metadata_array metadata;
    gpr_timespec deadline;
    file_set *files; /* of both, owned by the first */
};

/* Looking things up. */

/* Whether name is prefix.part, or prefix.part.something. */
static bool names(const char *package, const char *part, const char *name)
{
    const size_t length = strlen(package);
    if (strncmp(name, package, length) != 0 || name[length] != '.')
        return false;
    name += length + 1;
    const size_t part_length = strlen(part);
    return strncmp(name, part, part_length) == 0 &&
           (name[part_length] == 0 || name[part_length] == '.');
}

static bool defines(const file_descriptor *file, const char *symbol)
{
    for (size_t i = 0; i < file->n_message_type; i++)
        if (names(file->package, file->message_type[i]->name, symbol))
            return true;
    for (size_t i = 0; i < file->n_enum_type; i++)
        if (names(file->package, file->enum_type[i]->name, symbol))
            return true;
    for (size_t i = 0; i < file->n_service; i++)
        if (names(file->package, file->service[i]->name, symbol))
            return true;
    return false;
}

static const file_descriptor *find_file(const file_set *files, const char *name)
{
    for (size_t i = 0; i < files->n_file; i++)
        if (strcmp(files->file[i]->name, name) == 0)
            return files->file[i];
    return NULL;
}

static const file_descriptor *find_symbol(const file_set *files, const char *symbol)
{
    for (size_t i = 0; i < files->n_file; i++)
        if (defines(files->file[i], symbol))
            return files->file[i];
    return NULL;
}

/* Answers. */

/* Every answer repeats its question. */
static response begin_answer(question *q)
{
    response r = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    r.valid_host = q->host;
    r.original_request = q;
    return r;
}

static grpc_byte_buffer *answer_services(const file_set *files, question *q)
{
    response r = begin_answer(q);
    Grpc__Reflection__V1__ListServiceResponse list =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    Grpc__Reflection__V1__ServiceResponse services[SERVICES], *pointers[SERVICES];
    char full[SERVICES][128];
    list.service = pointers;
    for (size_t i = 0; i < files->n_file; i++) {
        const file_descriptor *file = files->file[i];
        for (size_t k = 0; k < file->n_service && list.n_service < SERVICES; k++) {
            const size_t n = list.n_service++;
            grpc__reflection__v1__service_response__init(&services[n]);
            snprintf(full[n], sizeof full[n], "%s.%s", file->package, file->service[k]->name);
            services[n].name = full[n];
            pointers[n] = &services[n];
        }
    }
    r.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    r.list_services_response = &list;
    return rpc_pack(&r.base);
}

/* The file and all that it imports, each once. */
static size_t collect(const file_set *files, const file_descriptor *file,
                      const file_descriptor *found[FILES])
{
    size_t n = 0;
    found[n++] = file;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < found[i]->n_dependency; k++) {
            const file_descriptor *import = find_file(files, found[i]->dependency[k]);
            bool is_new = import != NULL && n < FILES;
            for (size_t j = 0; j < n; j++)
                is_new &= found[j] != import;
            if (is_new)
                found[n++] = import;
        }
    }
    return n;
}

static grpc_byte_buffer *answer_file(const file_set *files, question *q,
                                     const file_descriptor *file, kr_arena *arena)
{
    response r = begin_answer(q);
    Grpc__Reflection__V1__FileDescriptorResponse answer =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    const file_descriptor *found[FILES];
    ProtobufCBinaryData bytes[FILES];
    const size_t n = collect(files, file, found);
    for (size_t i = 0; i < n; i++) {
        bytes[i].len = protobuf_c_message_get_packed_size(&found[i]->base);
        bytes[i].data = kr_arena_alloc(arena, bytes[i].len);
        if (!bytes[i].data)
            return NULL;
        protobuf_c_message_pack(&found[i]->base, bytes[i].data);
    }
    answer.n_file_descriptor_proto = n;
    answer.file_descriptor_proto = bytes;
    r.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
    r.file_descriptor_response = &answer;
    return rpc_pack(&r.base);
}

static grpc_byte_buffer *answer_error(question *q, grpc_status_code code, const char *text)
{
    response r = begin_answer(q);
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    error.error_code = (int32_t) code;
    error.error_message = (char *) (uintptr_t) text;
    r.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    r.error_response = &error;
    return rpc_pack(&r.base);
}

static grpc_byte_buffer *answer(const file_set *files, question *q, kr_arena *arena)
{
    const file_descriptor *file = NULL;
    switch (q->message_request_case) {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        return answer_services(files, q);
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        file = find_file(files, q->file_by_filename);
        break;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        file = find_symbol(files, q->file_containing_symbol);
        break;
    default:
        /* Extensions exist in proto2 only, and we have none. */
        return answer_error(q, GRPC_STATUS_NOT_FOUND, "kernrig has no extensions");
    }
    return file ? answer_file(files, q, file, arena)
                : answer_error(q, GRPC_STATUS_NOT_FOUND, "no such file or symbol");
}

/* Questions. */

static void on_question(struct rpc_side *side, grpc_byte_buffer *message)
{
    kr_arena arena;
    if (!message) {
        side_end(side, NULL, GRPC_STATUS_OK, ""); /* the client has asked all it wanted */
        return;
    }
    kr_arena_init(&arena, QUESTION_BYTES + 4 * rpc_descriptors_length);
    question *q = (question *) rpc_unpack(
        &grpc__reflection__v1__server_reflection_request__descriptor, message, &arena);
    grpc_byte_buffer_destroy(message);
    grpc_byte_buffer *reply = q ? answer(side->rpc->reflection->files, q, &arena) : NULL;
    if (reply)
        side_send(side, reply);
    else
        side_end(side, NULL, GRPC_STATUS_INVALID_ARGUMENT, "the question cannot be decoded");
    kr_arena_done(&arena);
}

static void begin(const struct reflection *reflection)
{
    struct rpc_side *side = side_begin(reflection->rpc, reflection->call, true);
    if (!side)
        return;
    side->on_read = on_question;
    side_send(side, NULL);
    side_release(side);
}

static void on_request(struct rpc_tag *tag, bool ok);

static void arm(struct reflection *reflection)
{
    reflection->tag.fn = on_request;
    reflection->call = NULL;
    grpc_metadata_array_init(&reflection->metadata);
    tsan_release(&reflection->tag);
    grpc_server_request_registered_call(reflection->rpc->server, reflection->registered,
                                        &reflection->call, &reflection->deadline,
                                        &reflection->metadata, NULL, reflection->rpc->queue,
                                        reflection->rpc->queue, &reflection->tag);
}

static void on_request(struct rpc_tag *tag, bool ok)
{
    struct reflection *reflection = tag_owner(tag, struct reflection, tag);
    grpc_metadata_array_destroy(&reflection->metadata);
    if (!ok)
        return;
    begin(reflection);
    if (!atomic_load(&reflection->rpc->is_stopping))
        arm(reflection);
}

void reflection_register(struct rpc *rpc)
{
    static const char *const paths[PATHS] = {
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    };
    rpc->reflection = calloc(PATHS, sizeof *rpc->reflection);
    if (!rpc->reflection)
        return;
    for (size_t i = 0; i < PATHS; i++)
        rpc->reflection[i] =
            (struct reflection){ .rpc = rpc, .registered = rpc_register(rpc, paths[i], false) };
    rpc->reflection->files = google__protobuf__file_descriptor_set__unpack(
        NULL, rpc_descriptors_length, (const uint8_t *) rpc_descriptors);
}

void reflection_arm(struct rpc *rpc)
{
    for (size_t i = 0; rpc->reflection && rpc->reflection->files && i < PATHS; i++)
        arm(&rpc->reflection[i]);
}

void reflection_free(struct rpc *rpc)
{
    if (rpc->reflection && rpc->reflection->files)
        google__protobuf__file_descriptor_set__free_unpacked(rpc->reflection->files, NULL);
    free(rpc->reflection);
}
