// SPDX-License-Identifier: Apache-2.0
#include "rpc/codec.h"

/* Requests. */

static int get_tensor(const Kernrig__V1__Tensor *tensor, kr_tensor_ref *ret, kr_error *err)
{
    if (tensor->n_sizes > KR_MAX_DIMS)
        return kr_error_set(err, KR_CODE_SHAPE, "a tensor of %zu dims; at most %d are supported",
                            tensor->n_sizes, KR_MAX_DIMS);
    if (tensor->n_strides != 0 && tensor->n_strides != tensor->n_sizes)
        return kr_error_set(err, KR_CODE_MALFORMED, "%zu strides for %zu sizes", tensor->n_strides,
                            tensor->n_sizes);
    if (tensor->dtype < 0 || tensor->dtype > UINT8_MAX || tensor->buffer == 0)
        return kr_error_set(err, KR_CODE_MALFORMED, "dtype %d in buffer %llu", tensor->dtype,
                            (unsigned long long) tensor->buffer);
    *ret = (kr_tensor_ref){ .buffer = tensor->buffer,
                            .offset = tensor->offset,
                            .capacity = tensor->capacity,
                            .dtype = (uint8_t) tensor->dtype,
                            .dim = (uint8_t) tensor->n_sizes };
    int64_t stride = 1;
    for (size_t d = tensor->n_sizes; d-- > 0;) {
        ret->sizes[d] = tensor->sizes[d];
        ret->strides[d] = tensor->n_strides ? tensor->strides[d] : stride;
        /* Sizes that multiply to more than 63 bits have no contiguous strides. */
        if (tensor->n_strides == 0 && tensor->sizes[d] > 0 &&
            __builtin_mul_overflow(stride, tensor->sizes[d], &stride))
            return kr_error_set(err, KR_CODE_EXTENT, "its sizes multiply to more than 2^63");
    }
    return 0;
}

static int get_value(const Kernrig__V1__Value *value, kr_arena *arena, kr_given *ret, kr_error *err)
{
    *ret = (kr_given){ .kind = KR_KIND_NONE };
    switch (value->kind_case) {
    case KERNRIG__V1__VALUE__KIND_BOOLEAN:
        ret->kind = KR_KIND_BOOL;
        ret->as.boolean = value->boolean != 0;
        return 0;
    case KERNRIG__V1__VALUE__KIND_INTEGER:
        ret->kind = KR_KIND_INT;
        ret->as.integer = value->integer;
        return 0;
    case KERNRIG__V1__VALUE__KIND_REAL:
        ret->kind = KR_KIND_FLOAT;
        ret->as.real = value->real;
        return 0;
    case KERNRIG__V1__VALUE__KIND_TEXT:
        ret->kind = KR_KIND_STRING;
        ret->count = (uint32_t) strlen(value->text);
        ret->as.string = value->text;
        return 0;
    case KERNRIG__V1__VALUE__KIND_DTYPE:
        ret->kind = KR_KIND_DTYPE;
        ret->as.integer = value->dtype;
        return 0;
    case KERNRIG__V1__VALUE__KIND_LAYOUT:
        ret->kind = KR_KIND_LAYOUT;
        ret->as.integer = value->layout;
        return 0;
    case KERNRIG__V1__VALUE__KIND_MEMORY_FORMAT:
        ret->kind = KR_KIND_MEMORY_FORMAT;
        ret->as.integer = value->memory_format;
        return 0;
    case KERNRIG__V1__VALUE__KIND_DEVICE:
        ret->kind = KR_KIND_DEVICE;
        ret->count = (uint32_t) strlen(value->device);
        ret->as.string = value->device;
        return 0;
    case KERNRIG__V1__VALUE__KIND_TENSOR: {
        kr_tensor_ref *tensor = kr_arena_alloc(arena, sizeof *tensor);
        if (!tensor)
            return kr_error_set(err, KR_CODE_LIMIT, "the request takes too much memory");
        ret->kind = KR_KIND_TENSOR;
        ret->as.tensor = tensor;
        return get_tensor(value->tensor, tensor, err);
    }
    default: return 0; /* None */
    }
}

static int get_list(const Kernrig__V1__List *list, kr_arena *arena, kr_given *ret, kr_error *err)
{
    kr_given *items = kr_arena_array(arena, list->n_items, sizeof *items);
    if (!items || list->n_items > UINT32_MAX)
        return kr_error_set(err, KR_CODE_LIMIT, "the request takes too much memory");
    for (size_t i = 0; i < list->n_items; i++) {
        const int r = get_value(list->items[i], arena, &items[i], err);
        if (r < 0)
            return kr_error_wrap(err, "item %zu", i);
    }
    *ret = (kr_given){ .kind = KR_KIND_LIST, .count = (uint32_t) list->n_items, .as.items = items };
    return 0;
}

int codec_get_call(const Kernrig__V1__Call *call, kr_arena *arena, struct call_request *ret,
                   kr_error *err)
{
    kr_argument *args = kr_arena_array(arena, call->n_arguments, sizeof *args);
    if (!args || call->n_arguments > UINT32_MAX)
        return kr_error_set(err, KR_CODE_LIMIT, "the request takes too much memory");
    for (size_t i = 0; i < call->n_arguments; i++) {
        const Kernrig__V1__Argument *given = call->arguments[i];
        int r = 0;
        args[i].name = given->name[0] ? given->name : NULL;
        if (given->kind_case == KERNRIG__V1__ARGUMENT__KIND_LIST)
            r = get_list(given->list, arena, &args[i].value, err);
        else if (given->kind_case == KERNRIG__V1__ARGUMENT__KIND_VALUE)
            r = get_value(given->value, arena, &args[i].value, err);
        if (r < 0)
            return given->name[0]
                       ? kr_error_wrap(err, "%s: argument '%s'", call->operator_, given->name)
                       : kr_error_wrap(err, "%s: argument %zu", call->operator_, i);
    }
    *ret = (struct call_request){ .operator_ = call->operator_,
                                  .provider = call->provider[0] ? call->provider : NULL,
                                  .args = args,
                                  .n_args = (uint32_t) call->n_arguments,
                                  .timeout_us = call->timeout_us };
    return 0;
}

/* Results. */

static char *text(const char *constant) { return (char *) (uintptr_t) (constant ? constant : ""); }

static Kernrig__V1__Reshaped *put_shape(const struct call_shape *shape, kr_arena *arena)
{
    Kernrig__V1__Reshaped *out = kr_arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    kernrig__v1__reshaped__init(out);
    out->argument = shape->argument;
    out->item = shape->item;
    out->n_sizes = out->n_strides = shape->dim;
    out->sizes = (int64_t *) (uintptr_t) shape->sizes;
    out->strides = (int64_t *) (uintptr_t) shape->strides;
    return out;
}

static Kernrig__V1__Value *put_return(const kr_value *value, kr_arena *arena)
{
    Kernrig__V1__Value *out = kr_arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    kernrig__v1__value__init(out);
    if (value->tag == KR_TAG_INT) {
        out->kind_case = KERNRIG__V1__VALUE__KIND_INTEGER;
        out->integer = value->as.integer;
    } else if (value->tag == KR_TAG_DOUBLE) {
        out->kind_case = KERNRIG__V1__VALUE__KIND_REAL;
        out->real = value->as.real;
    } else if (value->tag == KR_TAG_BOOL) {
        out->kind_case = KERNRIG__V1__VALUE__KIND_BOOLEAN;
        out->boolean = value->as.boolean;
    }
    return out;
}

static Kernrig__V1__Outputs *put_outputs(const struct call_result *result, kr_arena *arena)
{
    Kernrig__V1__Outputs *out = kr_arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    kernrig__v1__outputs__init(out);
    out->reshaped = kr_arena_array(arena, result->n_shapes, sizeof *out->reshaped);
    out->returns = kr_arena_array(arena, result->n_returns, sizeof *out->returns);
    if (!out->reshaped || !out->returns)
        return NULL;
    for (; out->n_reshaped < result->n_shapes; out->n_reshaped++)
        if (!(out->reshaped[out->n_reshaped] = put_shape(&result->shapes[out->n_reshaped], arena)))
            return NULL;
    for (; out->n_returns < result->n_returns; out->n_returns++)
        if (!(out->returns[out->n_returns] = put_return(&result->returns[out->n_returns], arena)))
            return NULL;
    return out;
}

static Kernrig__V1__Fault *put_fault(const struct call_result *result, const char *operator_,
                                     kr_arena *arena)
{
    Kernrig__V1__Fault *out = kr_arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    kernrig__v1__fault__init(out);
    out->status = result->code;
    out->message = text(result->message);
    out->operator_ = text(operator_);
    out->signal = result->signal;
    out->exit_code = result->exit_code;
    out->limit_us = result->limit_us;
    out->printed = text(result->printed);
    if (result->n_shapes)
        out->needed = put_shape(&result->shapes[0], arena);
    return out;
}

Kernrig__V1__CallResult *codec_put_result(const struct call_result *result, const char *operator_,
                                          kr_arena *arena)
{
    Kernrig__V1__CallResult *out = kr_arena_alloc(arena, sizeof *out);
    if (!out)
        return NULL;
    kernrig__v1__call_result__init(out);
    out->kernel_id = result->kernel_id;
    out->kernel = text(result->kernel);
    out->provider = text(result->provider);
    out->kernel_ns = result->kernel_ns;
    out->declined = result->declined;
    out->log = text(result->log);
    if (result->code == 0) {
        out->outcome_case = KERNRIG__V1__CALL_RESULT__OUTCOME_OUTPUTS;
        out->outputs = put_outputs(result, arena);
        return out->outputs ? out : NULL;
    }
    out->outcome_case = KERNRIG__V1__CALL_RESULT__OUTCOME_FAULT;
    out->fault = put_fault(result, operator_, arena);
    return out->fault ? out : NULL;
}
