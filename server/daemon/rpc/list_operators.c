// SPDX-License-Identifier: Apache-2.0
/* ListOperators: every known operator, and its kernels in the order in which they are asked. */
#include "rpc/state.h"

#include "kernrig/v1/operator.pb-c.h"

static char *text(const char *constant) { return (char *) (uintptr_t) constant; }

static bool put_dtypes(kr_arena *arena, uint64_t set, Kernrig__V1__Kernel *out)
{
    out->dtypes = kr_arena_array(arena, 64, sizeof *out->dtypes);
    for (int dtype = 0; out->dtypes && dtype < 64; dtype++)
        if (set >> dtype & 1)
            out->dtypes[out->n_dtypes++] = dtype;
    return out->dtypes != NULL;
}

static bool put_kernel(kr_arena *arena, const kr_registry *registry, const kr_kernel_info *kernel,
                       Kernrig__V1__Kernel *out)
{
    static const char *const layouts[] = { "contiguous", "dense", "strided" };
    kernrig__v1__kernel__init(out);
    out->id = kernel->id;
    out->name = text(kernel->name);
    out->provider = text(kernel->provider->name);
    out->scope = text(kr_registry_scope_name(registry, kernel->scope));
    out->isa = text(kernel->isa);
    out->abi = text(kernel->provider->abi);
    out->layout = text(layouts[kernel->layout]);
    out->in_place = kernel->in_place;
    out->library = text(kernel->provider->library);
    out->source_hash = text(kernel->provider->source_hash);
    out->compiler = text(kernel->provider->compiler);
    out->cflags = text(kernel->provider->cflags);
    out->registered_at = kernel->provider->registered_at;
    if (kernel->has_key) {
        char key[KR_KEY_TEXT];
        const size_t length = kr_key_print(&kernel->key, key);
        out->key = kr_arena_text(arena, key, length);
        if (!out->key)
            return false;
    }
    return put_dtypes(arena, kernel->dtypes, out);
}

/* The words of a text, each a tag. */
static bool put_tags(kr_arena *arena, const char *tags, Kernrig__V1__Operator *out)
{
    out->tags = kr_arena_array(arena, strlen(tags) / 2 + 1, sizeof *out->tags);
    if (!out->tags)
        return false;
    while (*tags) {
        const size_t length = strcspn(tags, " ");
        char *tag = kr_arena_text(arena, tags, length);
        if (!tag)
            return false;
        out->tags[out->n_tags++] = tag;
        tags += length + (tags[length] == ' ');
    }
    return true;
}

static bool put_operator(kr_arena *arena, const kr_registry *registry, const kr_operator_info *op,
                         Kernrig__V1__Operator *out)
{
    kernrig__v1__operator__init(out);
    out->name = text(op->name);
    out->schema = text(op->schema_text);
    out->kernels = kr_arena_array(arena, op->n_kernels, sizeof *out->kernels);
    Kernrig__V1__Kernel *kernels = kr_arena_array(arena, op->n_kernels, sizeof *kernels);
    if (!out->kernels || !kernels || !put_tags(arena, op->tags, out))
        return false;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        if (!put_kernel(arena, registry, kr_registry_kernel(registry, op, i), &kernels[i]))
            return false;
        out->kernels[out->n_kernels++] = &kernels[i];
    }
    return true;
}

static void begin(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Kernrig__V1__ListOperatorsRequest *request = (const void *) message;
    Kernrig__V1__ListOperatorsResponse reply = KERNRIG__V1__LIST_OPERATORS_RESPONSE__INIT;
    kr_registry *registry = service_registry(call->rpc->options.service);
    kr_error err;
    uint32_t n;
    if (!call_session(call, request->session))
        return;
    const kr_operator_info *const *operators = kr_registry_operators(registry, &n);
    Kernrig__V1__Operator *list = kr_arena_array(&call->arena, n, sizeof *list);
    reply.operators = kr_arena_array(&call->arena, n, sizeof *reply.operators);
    bool fits = list && reply.operators;
    for (uint32_t i = 0; fits && i < n; i++) {
        fits = put_operator(&call->arena, registry, operators[i], &list[i]);
        reply.operators[reply.n_operators++] = &list[i];
    }
    if (!fits) {
        kr_error_set(&err, KR_CODE_LIMIT, "the list of %u operators takes too much memory", n);
        call_refuse(call, &err);
        return;
    }
    reply.generation = kr_registry_generation(registry);
    call_reply(call, &reply.base);
}

RPC_METHOD(ListOperators, .request = &kernrig__v1__list_operators_request__descriptor,
           .begin = begin);
