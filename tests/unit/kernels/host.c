// SPDX-License-Identifier: Apache-2.0
/* The worker of kernel tests. All that a test makes is freed by host_teardown. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

static size_t element_size(int dtype)
{
    switch (dtype) {
#define SIZE(name, number, type) \
    case number: return sizeof(type);
        KR_FOR_DTYPES(SIZE)
#undef SIZE
    default: fail_msg("no dtype has number %d", dtype); return 0;
    }
}

static void *keep(host *h, void *block)
{
    assert_non_null(block);
    assert_true(h->n_blocks < HOST_BLOCKS);
    h->blocks[h->n_blocks++] = block;
    return block;
}

__attribute__((format(printf, 3, 4))) static kr_status
context_fail(kr_context *ctx, kr_status status, const char *format, ...)
{
    host *h = ctx->worker;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(h->text, sizeof h->text, format, arguments);
    va_end(arguments);
    h->fails++;
    return status;
}

static void *context_scratch(kr_context *ctx, size_t bytes)
{
    host *h = ctx->worker;
    if (bytes > h->scratch_limit - h->scratch_used) {
        context_fail(ctx, KR_E_MEMORY, "no scratch memory left");
        return NULL;
    }
    h->scratch_used += bytes;
    /* A block of its own, of no more bytes than asked for. */
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, 64, bytes > 0 ? bytes : 1), 0);
    memset(block, 0x5B, bytes);
    return keep(h, block);
}

static kr_status context_resize(kr_context *ctx, kr_tensor *out, int dim, const int64_t *sizes)
{
    host *h = ctx->worker;
    if (out->dim == dim && memcmp(out->sizes, sizes, (size_t) dim * sizeof *sizes) == 0)
        return KR_OK;
    int64_t count = 1;
    for (int d = 0; d < dim; d++)
        count *= sizes[d];
    assert_in_range(out - h->tensors, 0, h->n_tensors - 1);
    if ((size_t) count * element_size(out->dtype) > h->capacity[out - h->tensors])
        return context_fail(ctx, KR_E_RESIZE, "no room for %lld elements", (long long) count);
    int64_t stride = 1;
    out->dim = (uint8_t) dim;
    for (int d = dim - 1; d >= 0; d--) {
        out->sizes[d] = sizes[d];
        out->strides[d] = stride;
        stride *= sizes[d] > 1 ? sizes[d] : 1;
    }
    return KR_OK;
}

static void context_parallel_for(kr_context *ctx, int64_t begin, int64_t end, int64_t grain,
                                 kr_range_fn body, void *cookie)
{
    (void) ctx;
    (void) grain;
    if (begin < end)
        body(cookie, begin, end);
}

__attribute__((format(printf, 2, 3))) static void context_log(kr_context *ctx, const char *format,
                                                              ...)
{
    (void) ctx;
    (void) format;
}

int host_setup(void **state)
{
    host *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->scratch_limit = (size_t) 1 << 30;
    h->context = (kr_context){ .size = sizeof h->context,
                               .version = KR_ABI,
                               .threads = 1,
                               .worker = h,
                               .fail = context_fail,
                               .scratch = context_scratch,
                               .resize = context_resize,
                               .parallel_for = context_parallel_for,
                               .log = context_log };
    *state = h;
    return 0;
}

void host_forget(host *h)
{
    while (h->n_blocks > 0)
        free(h->blocks[--h->n_blocks]);
    h->n_tensors = 0;
}

int host_teardown(void **state)
{
    host *h = *state;
    host_forget(h);
    free(h);
    return 0;
}

static int64_t count_of(const kr_tensor *t)
{
    int64_t count = 1;
    for (int d = 0; d < t->dim; d++)
        count *= t->sizes[d];
    return count;
}

static kr_tensor *add_tensor(host *h, kr_dtype dtype, int dim, const int64_t *sizes,
                             int64_t elements)
{
    assert_true(h->n_tensors < HOST_TENSORS);
    kr_tensor *t = &h->tensors[h->n_tensors];
    const size_t bytes = (size_t) elements * element_size(dtype);
    int64_t stride = 1;

    h->capacity[h->n_tensors++] = bytes;
    *t = (kr_tensor){ .dtype = (uint8_t) dtype, .dim = (uint8_t) dim };
    for (int d = dim - 1; d >= 0; d--) {
        t->sizes[d] = sizes[d];
        t->strides[d] = stride;
        stride *= sizes[d] > 1 ? sizes[d] : 1;
    }
    /* Without elements there is no memory: a kernel must not even look. */
    if (bytes > 0) {
        t->data = keep(h, malloc(bytes));
        memset(t->data, 0x5B, bytes);
    }
    return t;
}

kr_tensor *host_tensor(host *h, kr_dtype dtype, int dim, const int64_t *sizes)
{
    int64_t count = 1;
    for (int d = 0; d < dim; d++)
        count *= sizes[d];
    return add_tensor(h, dtype, dim, sizes, count);
}

kr_tensor *host_empty(host *h, kr_dtype dtype, int64_t capacity)
{
    return add_tensor(h, dtype, 1, (const int64_t[]){ 0 }, capacity);
}

/* Elements, one at a time. */
static void *place_of(const kr_tensor *t, int64_t linear)
{
    int64_t offset = 0;
    for (int d = t->dim - 1; d >= 0; d--) {
        offset += linear % t->sizes[d] * t->strides[d];
        linear /= t->sizes[d];
    }
    return (char *) t->data + offset * (int64_t) element_size(t->dtype);
}

/* A number with some bits of fraction behind its leading one, and a least exponent. */
static double round_to(double value, int fraction, int least)
{
    int exponent = 0;
    if (value == 0 || !isfinite(value))
        return value;
    frexp(value, &exponent);
    exponent -= 1;
    const int unit = (exponent > least ? exponent : least) - fraction;
    return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

static uint16_t encode(double value, int fraction, int bias)
{
    const uint16_t infinity = (uint16_t) ((0x7FFF >> fraction) << fraction);
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent = 0;
    if (isnan(value))
        return (uint16_t) (infinity | 1u << (fraction - 1));
    value = fabs(round_to(value, fraction, 1 - bias));
    if (value == 0)
        return sign;
    if (value >= ldexp(1, bias + 1))
        return infinity | sign;
    frexp(value, &exponent);
    exponent -= 1;
    if (exponent < 1 - bias)
        return (uint16_t) ldexp(value, bias - 1 + fraction) | sign;
    return (uint16_t) (((exponent + bias) << fraction) +
                       (int) ldexp(value - ldexp(1, exponent), fraction - exponent)) |
           sign;
}

static double decode(uint16_t bits, int fraction, int bias)
{
    const int exponent = (bits & 0x7FFF) >> fraction, mantissa = bits & ((1 << fraction) - 1);
    double value = exponent == 0x7FFF >> fraction ? (mantissa ? NAN : INFINITY)
                   : exponent == 0                ? ldexp(mantissa, 1 - bias - fraction)
                                   : ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
    return bits & 0x8000 ? -value : value;
}

static void put_real(const kr_tensor *t, int64_t linear, double value)
{
    void *place = place_of(t, linear);
    const float single = (float) value;
    const uint16_t half = encode(value, 10, 15), brain = encode(value, 7, 127);
    switch (t->dtype) {
    case KR_FLOAT16: memcpy(place, &half, sizeof half); break;
    case KR_BFLOAT16: memcpy(place, &brain, sizeof brain); break;
    case KR_FLOAT32: memcpy(place, &single, sizeof single); break;
    case KR_FLOAT64: memcpy(place, &value, sizeof value); break;
    default: fail_msg("a real number for dtype %d", t->dtype);
    }
}

static void put_int(const kr_tensor *t, int64_t linear, int64_t value)
{
    if ((KR_FLOAT_TYPES & KR_SET(t->dtype)) != 0)
        put_real(t, linear, (double) value);
    else /* The low bytes come first on every machine that this runs on. */
        memcpy(place_of(t, linear), &value, element_size(t->dtype));
}

double host_real(const kr_tensor *t, int64_t linear)
{
    const void *place = place_of(t, linear);
    uint16_t bits = 0;
    float single = 0;
    double value = 0;
    switch (t->dtype) {
    case KR_FLOAT16: memcpy(&bits, place, sizeof bits); return decode(bits, 10, 15);
    case KR_BFLOAT16: memcpy(&bits, place, sizeof bits); return decode(bits, 7, 127);
    case KR_FLOAT32: memcpy(&single, place, sizeof single); return (double) single;
    case KR_FLOAT64: memcpy(&value, place, sizeof value); return value;
    default: return (double) host_int(t, linear);
    }
}

int64_t host_int(const kr_tensor *t, int64_t linear)
{
    const size_t size = element_size(t->dtype);
    int64_t value = 0;
    memcpy(&value, place_of(t, linear), size);
    if (t->dtype == KR_UINT8 || t->dtype == KR_BOOL || size == sizeof value)
        return value;
    const int unused = 64 - 8 * (int) size;
    return (int64_t) ((uint64_t) value << unused) >> unused;
}

kr_tensor *host_reals(host *h, kr_dtype dtype, int dim, const int64_t *sizes, int64_t count,
                      const double *values)
{
    kr_tensor *t = host_tensor(h, dtype, dim, sizes);
    assert_int_equal(count_of(t), count);
    for (int64_t i = 0; i < count; i++)
        put_real(t, i, values[i]);
    return t;
}

kr_tensor *host_ints(host *h, kr_dtype dtype, int dim, const int64_t *sizes, int64_t count,
                     const int64_t *values)
{
    kr_tensor *t = host_tensor(h, dtype, dim, sizes);
    assert_int_equal(count_of(t), count);
    for (int64_t i = 0; i < count; i++)
        put_int(t, i, values[i]);
    return t;
}

kr_tensor *host_number(host *h, kr_dtype dtype, double value)
{
    kr_tensor *t = host_tensor(h, dtype, NO_SIZES);
    t->flags = KR_TENSOR_WRAPPED_NUMBER;
    if (dtype == KR_FLOAT64)
        put_real(t, 0, value);
    else
        put_int(t, 0, (int64_t) value);
    return t;
}

/* Copies elements of one dtype from one tensor to another of the same shape. */
static kr_tensor *filled(kr_tensor *to, const kr_tensor *from)
{
    for (int64_t i = 0; i < count_of(from); i++)
        memcpy(place_of(to, i), place_of(from, i), element_size(from->dtype));
    return to;
}

kr_tensor *host_spread(host *h, const kr_tensor *t, int64_t step)
{
    kr_tensor *to = add_tensor(h, t->dtype, t->dim, t->sizes, count_of(t) * step);
    for (int d = 0; d < to->dim; d++)
        to->strides[d] *= step;
    return filled(to, t);
}

kr_tensor *host_ordered(host *h, const kr_tensor *t, const int *order)
{
    kr_tensor *to = add_tensor(h, t->dtype, t->dim, t->sizes, count_of(t));
    int64_t stride = 1;
    for (int d = to->dim - 1; d >= 0; d--) {
        to->strides[order[d]] = stride;
        stride *= to->sizes[order[d]];
    }
    return filled(to, t);
}

kr_tensor *host_repeated(host *h, const kr_tensor *t, int dim, int64_t size)
{
    assert_int_equal(t->sizes[dim], 1);
    kr_tensor *view = add_tensor(h, t->dtype, t->dim, t->sizes, 0);
    *view = *t;
    view->sizes[dim] = size;
    view->strides[dim] = 0;
    return view;
}

void host_has_sizes(const kr_tensor *t, int dim, const int64_t *sizes)
{
    assert_int_equal(t->dim, dim);
    for (int d = 0; d < dim; d++)
        assert_int_equal(t->sizes[d], sizes[d]);
}

void host_has_reals(const kr_tensor *t, int64_t count, const double *values)
{
    assert_int_equal(count_of(t), count);
    for (int64_t i = 0; i < count; i++) {
        const double got = host_real(t, i), wanted = values[i];
        const bool same = isnan(wanted) ? isnan(got)
                                        : got == wanted && signbit(got) == signbit(wanted);
        if (!same)
            fail_msg("element %lld is %.17g instead of %.17g", (long long) i, got, wanted);
    }
}

void host_has_ints(const kr_tensor *t, int64_t count, const int64_t *values)
{
    assert_int_equal(count_of(t), count);
    for (int64_t i = 0; i < count; i++)
        if (host_int(t, i) != values[i])
            fail_msg("element %lld is %lld instead of %lld", (long long) i,
                     (long long) host_int(t, i), (long long) values[i]);
}

/* Calls. */
const kr_kernel *host_kernel(const char *name)
{
    kr_library library;
    kr_library_table(&library);
    for (uint32_t i = 0; i < library.count; i++) {
        const char *schema = library.kernels[i]->schema;
        if (strncmp(schema, name, strlen(name)) == 0 && schema[strlen(name)] == '(')
            return library.kernels[i];
    }
    fail_msg("no kernel of %s is linked", name);
    return NULL;
}

kr_status host_call(host *h, const char *name, const kr_value *args)
{
    kr_value rets[2] = { none(), none() };
    h->fails = 0;
    h->text[0] = '\0';
    const kr_status status = host_kernel(name)->run(&h->context, args, rets);
    assert_int_equal(h->fails, status < 0 ? 1 : 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rets[i].tag, KR_TAG_NONE);
    return status;
}

void host_runs(host *h, const char *name, const kr_value *args)
{
    const kr_status status = host_call(h, name, args);
    if (status != KR_OK)
        fail_msg("%s: status %d, %s", name, status, h->text);
}

void host_refuses(host *h, const char *name, const kr_value *args, kr_status status,
                  const char *text)
{
    assert_int_equal(host_call(h, name, args), status);
    if (!strstr(h->text, text))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, h->text, text);
}
