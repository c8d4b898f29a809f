// SPDX-License-Identifier: Apache-2.0
#include "service/tensors.h"

#include "service/overlap.h"
#include "wire/call.h"

#include <inttypes.h>
#include <kernrig/dtype.h>

enum { NAME = 128 };

const char *tensors_name(const kr_bound *bound, uint32_t index, char *text, size_t size)
{
    const kr_bound_tensor *t = &bound->tensors[index];
    const kr_schema_argument *argument = &bound->schema->args[t->argument];
    if (kr_type_is_list(&argument->type))
        snprintf(text, size, "%s[%u]", argument->name, t->item);
    else
        snprintf(text, size, "%s", argument->name);
    return text;
}

KR_PRINTF(5, 6)
static int refuse(const kr_bound *bound, uint32_t index, int code, kr_error *err,
                  const char *format, ...)
{
    char name[NAME];
    va_list args;
    va_start(args, format);
    kr_error_setv(err, code, format, args);
    va_end(args);
    kr_error_wrap(err, "%s: argument '%s'", bound->schema->name,
                  tensors_name(bound, index, name, sizeof name));
    return code;
}

/* Bytes from the offset to the end of the last element; 0 for a tensor without elements. False
 * where that is beyond any buffer. */
static bool extent_of(const kr_tensor_ref *ref, uint64_t *ret)
{
    uint64_t last = 0;
    for (int d = 0; d < ref->dim; d++) {
        uint64_t step;
        if (ref->sizes[d] == 0) {
            *ret = 0;
            return true;
        }
        if (__builtin_mul_overflow((uint64_t) ref->sizes[d] - 1, (uint64_t) ref->strides[d],
                                   &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, &last) &&
           !__builtin_mul_overflow(last, kr_dtype_size(ref->dtype), ret);
}

static int check_form(const kr_bound *bound, uint32_t i, kr_error *err)
{
    const kr_tensor_ref *ref = &bound->tensors[i].ref;
    if (kr_dtype_size(ref->dtype) == 0) {
        const char *name = kr_dtype_name(ref->dtype);
        return refuse(bound, i, KR_CODE_DTYPE, err, "kernrig has no dtype %s (number %u)",
                      name ? name : "of this number", ref->dtype);
    }
    for (int d = 0; d < ref->dim; d++) {
        if (ref->sizes[d] < 0 || ref->strides[d] < 0)
            return refuse(bound, i, KR_CODE_VALUE, err,
                          "size %" PRId64 " and stride %" PRId64
                          " in dim %d: neither may be negative",
                          ref->sizes[d], ref->strides[d], d);
    }
    return 0;
}

static int check_extent(const kr_bound *bound, uint32_t i, const struct buffer *buffer,
                        uint64_t *ret_extent, kr_error *err)
{
    const kr_tensor_ref *ref = &bound->tensors[i].ref;
    const uint64_t item = kr_dtype_size(ref->dtype);
    uint64_t extent = 0, end;
    if (ref->offset % item)
        return refuse(bound, i, KR_CODE_EXTENT, err,
                      "offset %" PRIu64 " is no multiple of %" PRIu64 ", the size of %s",
                      ref->offset, item, kr_dtype_name(ref->dtype));
    if (!extent_of(ref, &extent) || __builtin_add_overflow(ref->offset, extent, &end) ||
        end > buffer->size)
        return refuse(bound, i, KR_CODE_EXTENT, err,
                      "its elements from offset %" PRIu64 " on do not fit into buffer %" PRIu64
                      " of %" PRIu64 " bytes",
                      ref->offset, buffer->handle, buffer->size);
    if (__builtin_add_overflow(ref->offset, ref->capacity, &end) || end > buffer->size)
        return refuse(bound, i, KR_CODE_EXTENT, err,
                      "a capacity of %" PRIu64 " bytes from offset %" PRIu64
                      " on is not in buffer %" PRIu64 " of %" PRIu64 " bytes",
                      ref->capacity, ref->offset, buffer->handle, buffer->size);
    *ret_extent = extent;
    return 0;
}

/* An output may grow into its capacity only where no other tensor of the call lies, or could come
 * to lie: of two outputs without elements at one place, the first to be looked at keeps its room
 * only if the other has none. */
static void limit_capacity(const kr_bound *bound, struct call_tensors *tensors,
                           const uint64_t *extents, uint32_t out)
{
    const kr_tensor_ref *ref = &bound->tensors[out].ref;
    const uint64_t end = ref->offset + tensors->capacities[out];
    for (uint32_t i = 0; i < bound->n_tensors; i++) {
        const kr_tensor_ref *other = &bound->tensors[i].ref;
        const uint64_t theirs = bound->tensors[i].is_output ? tensors->capacities[i] : extents[i];
        if (i != out && other->buffer == ref->buffer && other->offset < end &&
            other->offset + theirs > ref->offset) {
            tensors->capacities[out] = extents[out];
            return;
        }
    }
}

static int check_overlap(const kr_bound *bound, struct call_tensors *tensors, uint32_t out,
                         uint64_t *budget, kr_error *err)
{
    const kr_tensor_ref *ref = &bound->tensors[out].ref;
    char name[NAME];
    if (overlap_within(ref))
        return refuse(bound, out, KR_CODE_OVERLAP, err,
                      "unsupported operation: more than one element of the written-to tensor "
                      "refers to a single memory location. Please clone() the tensor before "
                      "performing the operation.");
    for (uint32_t i = 0; i < bound->n_tensors; i++) {
        const kr_bound_tensor *other = &bound->tensors[i];
        if (i == out || other->ref.buffer != ref->buffer || (other->is_output && i > out))
            continue;
        const enum overlap overlap = overlap_of(ref, &other->ref, budget);
        if (overlap == OVERLAP_NONE)
            continue;
        if (overlap == OVERLAP_PARTIAL || other->is_output)
            return refuse(bound, out, KR_CODE_OVERLAP, err,
                          "unsupported operation: some elements of the input tensor and the "
                          "written-to tensor refer to a single memory location, those of '%s'. "
                          "Please clone() the tensor before performing the operation.",
                          tensors_name(bound, i, name, sizeof name));
        tensors->aliased[out] = true;
        tensors->alias_name = bound->schema->args[bound->tensors[out].argument].name;
        tensors->aliased_name = bound->schema->args[other->argument].name;
    }
    return 0;
}

int tensors_check(const kr_bound *bound, struct buffers *buffers, uint64_t owner,
                  const struct limits *limits, kr_arena *arena, uint64_t *overlap_steps,
                  struct call_tensors *ret, kr_error *err)
{
    const uint32_t n = bound->n_tensors;
    const uint64_t most = limits->tensors < WIRE_CALL_TENSORS ? limits->tensors : WIRE_CALL_TENSORS;
    if (n > most)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%s: %u tensors in one call exceed the limit 'tensors' of %" PRIu64,
                            bound->schema->name, n, most);
    struct call_tensors tensors = { .n = n };
    uint64_t *extents = kr_arena_array(arena, n, sizeof *extents);
    tensors.buffers = kr_arena_array(arena, n, sizeof *tensors.buffers);
    tensors.capacities = kr_arena_array(arena, n, sizeof *tensors.capacities);
    tensors.aliased = kr_arena_array(arena, n, sizeof *tensors.aliased);
    if (!extents || !tensors.buffers || !tensors.capacities || !tensors.aliased)
        return kr_error_set(err, KR_CODE_LIMIT, "%s: %u tensors take too much memory",
                            bound->schema->name, n);
    for (uint32_t i = 0; i < n; i++) {
        const kr_bound_tensor *t = &bound->tensors[i];
        int r = check_form(bound, i, err);
        if (r < 0)
            return r;
        if (t->ref.wrapped)
            continue;
        kr_error why;
        tensors.buffers[i] = buffer_find(buffers, owner, t->ref.buffer, &why);
        if (!tensors.buffers[i])
            return refuse(bound, i, why.code, err, "%s", why.text);
        r = check_extent(bound, i, tensors.buffers[i], &extents[i], err);
        if (r < 0)
            return r;
        tensors.capacities[i] = t->ref.capacity > extents[i] ? t->ref.capacity : extents[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!bound->tensors[i].is_output)
            continue;
        const int r = check_overlap(bound, &tensors, i, overlap_steps, err);
        if (r < 0)
            return r;
        limit_capacity(bound, &tensors, extents, i);
    }
    *ret = tensors;
    return 0;
}
