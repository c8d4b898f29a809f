// SPDX-License-Identifier: Apache-2.0
#include "worker/context.h"

#include <kernrig/dtype.h>

enum { ALIGNMENT = 64 };

struct context_block {
    struct context_block *next;
    size_t size; /* of what follows the head */
};
/* The head takes one line, so that what follows is aligned. */
_Static_assert(sizeof(struct context_block) <= ALIGNMENT, "a block's head is one line");

static void *memory_of(struct context_block *block) { return (char *) block + ALIGNMENT; }

static struct context *of(kr_context *face) { return face->worker; }

/* Text. */

KR_PRINTF(3, 4)
static kr_status context_fail(kr_context *face, kr_status status, const char *format, ...)
{
    struct context *context = of(face);
    kr_error record;
    va_list args;
    va_start(args, format);
    kr_error_setv(&record, status, format, args);
    va_end(args);
    memcpy(context->text, record.text, sizeof context->text);
    return status;
}

KR_PRINTF(2, 3) static void context_log(kr_context *face, const char *format, ...)
{
    struct context *context = of(face);
    const size_t room = sizeof context->log - context->log_used;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(context->log + context->log_used, room, format, args);
    va_end(args);
    if (n < 0 || room < 2)
        return;
    context->log_used += (size_t) n < room - 1 ? (size_t) n : room - 1;
    if (context->log_used < sizeof context->log - 1) {
        context->log[context->log_used++] = '\n';
        context->log[context->log_used] = 0;
    }
}

/* Scratch memory. */

void *context_scratch(struct context *context, size_t bytes)
{
    if (bytes > context->scratch_limit - context->scratch_used) {
        context_fail(&context->face, KR_E_MEMORY,
                     "%zu bytes of scratch memory, after %llu: at most %llu in one call", bytes,
                     (unsigned long long) context->scratch_used,
                     (unsigned long long) context->scratch_limit);
        return NULL;
    }
    struct context_block *block = context->kept;
    if (block && block->size >= bytes) {
        context->kept = NULL;
    } else {
        const size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        block = aligned_alloc(ALIGNMENT, size + ALIGNMENT);
        if (!block) {
            context_fail(&context->face, KR_E_MEMORY, "no %zu bytes of scratch memory left", bytes);
            return NULL;
        }
        block->size = size;
    }
    block->next = context->blocks;
    context->blocks = block;
    context->scratch_used += bytes;
    return memory_of(block);
}

static void *scratch(kr_context *face, size_t bytes) { return context_scratch(of(face), bytes); }

/* Shapes. */

/* The index of an output of the call, or -1: the kernel may pass anything. */
static int64_t index_of(const struct context *context, const kr_tensor *out)
{
    const struct wire_call *call = context->call;
    for (uint32_t i = 0; i < call->n_tensors; i++)
        if (out == &call->tensors[i])
            return call->places[i].is_output ? (int64_t) i : -1;
    return -1;
}

static bool same_sizes(const kr_tensor *t, int dim, const int64_t *sizes)
{
    return t->dim == dim && memcmp(t->sizes, sizes, (size_t) dim * sizeof *sizes) == 0;
}

static void shape_text(char *text, size_t size, int dim, const int64_t *sizes)
{
    size_t used = (size_t) snprintf(text, size, "[");
    for (int d = 0; d < dim && used < size; d++)
        used += (size_t) snprintf(text + used, size - used, "%s%lld", d ? ", " : "",
                                  (long long) sizes[d]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* Notes the new shape once per output, the last one counts. */
static void note(struct context *context, uint32_t index, int dim, const int64_t *sizes,
                 const int64_t *strides)
{
    struct wire_reshaped *entry = NULL;
    for (uint32_t i = 0; i < context->n_reshaped; i++)
        if (context->reshaped[i].tensor == index)
            entry = &context->reshaped[i];
    if (!entry)
        entry = &context->reshaped[context->n_reshaped++];
    *entry = (struct wire_reshaped){ .tensor = index, .dim = (uint8_t) dim };
    memcpy(entry->sizes, sizes, (size_t) dim * sizeof *sizes);
    memcpy(entry->strides, strides, (size_t) dim * sizeof *strides);
}

/* Row-major strides and the bytes that they span; false where that overflows or is negative. */
static bool contiguous(int dim, const int64_t *sizes, size_t item, int64_t *strides,
                       uint64_t *ret_bytes)
{
    uint64_t elements = 1;
    bool empty = false;
    for (int d = dim - 1; d >= 0; d--) {
        if (sizes[d] < 0)
            return false;
        empty |= sizes[d] == 0;
        strides[d] = (int64_t) elements;
        if (__builtin_mul_overflow(elements, sizes[d] ? (uint64_t) sizes[d] : 1, &elements) ||
            elements > INT64_MAX)
            return false;
    }
    if (__builtin_mul_overflow(elements, item, ret_bytes))
        return false;
    if (empty)
        *ret_bytes = 0;
    return true;
}

static kr_status context_resize(kr_context *face, kr_tensor *out, int dim, const int64_t *sizes)
{
    struct context *context = of(face);
    const int64_t index = index_of(context, out);
    char text[256];
    int64_t strides[KR_MAX_DIMS] = { 0 };
    uint64_t bytes;

    if (index < 0)
        return context_fail(face, KR_E_VALUE, "the kernel resizes a tensor that is not an output");
    if (dim == 0)
        sizes = strides; /* of no dims; the kernel may pass NULL */
    if (dim < 0 || dim > KR_MAX_DIMS)
        return context_fail(face, KR_E_SHAPE, "an output of %d dims; at most %d are supported", dim,
                            KR_MAX_DIMS);
    if (same_sizes(out, dim, sizes))
        return KR_OK;
    shape_text(text, sizeof text, dim, sizes);
    if (!contiguous(dim, sizes, kr_dtype_size(out->dtype), strides, &bytes))
        return context_fail(face, KR_E_SHAPE, "an output of shape %s is impossible", text);
    const struct wire_tensor *place = &context->call->places[index];
    if (place->is_aliased) {
        char old[256];
        shape_text(old, sizeof old, out->dim, out->sizes);
        return context_fail(face, KR_E_SHAPE,
                            "output with shape %s doesn't match the broadcast shape %s: it is also "
                            "an input, and cannot be resized",
                            old, text);
    }
    if (bytes > place->capacity) {
        /* Only this one counts now: the caller makes room for it and calls again. */
        context->n_reshaped = 0;
        note(context, (uint32_t) index, dim, sizes, strides);
        context->needs_room = true;
        return context_fail(face, KR_E_RESIZE,
                            "an output needs shape %s, %llu bytes; it has room for %llu", text,
                            (unsigned long long) bytes, (unsigned long long) place->capacity);
    }
    note(context, (uint32_t) index, dim, sizes, strides);
    out->dim = (uint8_t) dim;
    memcpy(out->sizes, sizes, (size_t) dim * sizeof *sizes);
    memcpy(out->strides, strides, (size_t) dim * sizeof *strides);
    out->data = (void *) (uintptr_t) context->origins[index];
    out->flags |= KR_TENSOR_DENSE;
    for (int d = 0; d < dim; d++)
        out->dim_order[d] = (uint8_t) d;
    return KR_OK;
}

/* Parallel work: serial, until a profile allows threads. */

static void parallel_for(kr_context *face, int64_t begin, int64_t end, int64_t grain,
                         kr_range_fn body, void *cookie)
{
    (void) face;
    (void) grain;
    if (begin < end)
        body(cookie, begin, end);
}

/* Life. */

void context_init(struct context *context, uint64_t scratch_limit)
{
    *context = (struct context){ .scratch_limit = scratch_limit };
    context->face = (kr_context){
        .size = sizeof context->face,
        .version = KR_ABI,
        .threads = 1,
        .worker = context,
        .fail = context_fail,
        .scratch = scratch,
        .resize = context_resize,
        .parallel_for = parallel_for,
        .log = context_log,
    };
}

void context_begin(struct context *context, struct wire_call *call, const void *const *origins,
                   struct wire_reshaped *reshaped)
{
    context->call = call;
    context->origins = origins;
    context->reshaped = reshaped;
    context->n_reshaped = 0;
    context->needs_room = false;
    context->text[0] = 0;
    context->log[0] = 0;
    context->log_used = 0;
}

void context_end(struct context *context)
{
    while (context->blocks) {
        struct context_block *block = context->blocks;
        context->blocks = block->next;
        /* The largest block that is small enough stays for the next call. */
        if (block->size <= CONTEXT_KEEP && (!context->kept || context->kept->size < block->size)) {
            free(context->kept);
            context->kept = block;
        } else {
            free(block);
        }
    }
    context->scratch_used = 0;
    context->call = NULL;
}
