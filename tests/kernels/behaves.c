// SPDX-License-Identifier: Apache-2.0
/* Well-behaved kernels for the tests, one for each thing that the ABI offers. */
#include <kernrig/kernel.h>
#include <string.h>

/* Layouts: sums of the addresses' order, which only show what the kernel was given. */

static void walk_memory(const kr_tensor *self, kr_tensor *out)
{
    const float *in = self->data;
    float *to = out->data;
    int64_t n = 1;
    for (int d = 0; d < self->dim; d++)
        n *= self->sizes[d];
    for (int64_t i = 0; i < n; i++)
        to[i] = in[i] + 1;
}

/* Believes that everything is contiguous: right only if kernrig makes it so. */
static kr_status add_one(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const kr_tensor *self = kr_in(&args[0]);
    kr_tensor *out = kr_out(&args[1]);
    (void) rets;
    const kr_status status = ctx->resize(ctx, out, self->dim, self->sizes);
    if (status != KR_OK)
        return status;
    walk_memory(self, out);
    return KR_OK;
}
KR_KERNEL(add_one, .schema = "test::add_one.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_SET(KR_FLOAT32), .layout = KR_CONTIGUOUS, .in_place = true);

/* The dim order as the kernel sees it, one number per dim; -1 for a tensor that has none. */
static kr_status dim_order(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const kr_tensor *self = kr_in(&args[0]);
    kr_tensor *out = kr_out(&args[1]);
    const int64_t n = self->dim;
    (void) rets;
    const kr_status status = ctx->resize(ctx, out, 1, &n);
    if (status != KR_OK)
        return status;
    for (int d = 0; d < self->dim; d++)
        ((int64_t *) out->data)[d] = self->flags & KR_TENSOR_DENSE ? self->dim_order[d] : -1;
    return KR_OK;
}
KR_KERNEL(dim_order, .schema = "test::dim_order.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
static kr_status dim_order_dense(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    return dim_order(ctx, args, rets);
}
KR_KERNEL(dim_order_dense,
          .schema = "test::dim_order_dense.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_DENSE);

/* Returns that are no tensors, and outputs that are not called out. */

static kr_status count(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const kr_tensor *self = kr_in(&args[0]);
    kr_tensor *low = kr_out(&args[1]), *high = kr_out(&args[2]);
    int64_t n = 1;
    for (int d = 0; d < self->dim; d++)
        n *= self->sizes[d];
    kr_status status = ctx->resize(ctx, low, 0, NULL);
    if (status == KR_OK)
        status = ctx->resize(ctx, high, 0, NULL);
    if (status != KR_OK)
        return status;
    *(float *) low->data = 1;
    *(float *) high->data = 2;
    rets[0] = (kr_value){ .tag = KR_TAG_INT, .as.integer = n };
    rets[1] = (kr_value){ .tag = KR_TAG_DOUBLE, .as.real = 0.5 };
    rets[2] = (kr_value){ .tag = KR_TAG_BOOL, .as.boolean = true };
    return KR_OK;
}
KR_KERNEL(count,
          .schema = "test::count.low_high(Tensor self, *, Tensor(a!) low, Tensor(b!) high) -> "
                    "(Tensor(a!), int, float, Tensor(b!), bool)",
          .layout = KR_STRIDED);

/* Declining. */

static kr_status fill(kr_tensor *out, float value)
{
    *(float *) out->data = value;
    return KR_OK;
}
/* Takes only tensors whose first element is not negative, and leaves the others to the next. */
static kr_status choosy(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) rets;
    return *(const float *) kr_in(&args[0])->data < 0 ? KR_DECLINE : fill(kr_out(&args[1]), 1);
}
KR_KERNEL(choosy, .schema = "test::choosy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .key = "v1/6;0|6;0", .dtypes = KR_SET(KR_FLOAT32));
static kr_status humble(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const float first = *(const float *) kr_in(&args[0])->data;
    ctx->log(ctx, "first is %g", (double) first);
    return first < -9 ? KR_DECLINE : fill(kr_out(&args[1]), 2);
}
KR_KERNEL(humble, .schema = "test::choosy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_SET(KR_FLOAT32));

/* Every kind of argument, put into words. */

/* Writes what it was given into a tensor of bytes, as text. */
static kr_status describe(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    kr_tensor *out = kr_out(&args[12]);
    char text[512];
    (void) rets;
    int n = 0;
#define SAY(...) n += __builtin_snprintf(text + n, sizeof text - (size_t) n, __VA_ARGS__)
    SAY("a=%d", kr_in(&args[0])->dim);
    SAY(" b=%s", kr_in(&args[1]) ? "tensor" : "none");
    SAY(" list=%u", kr_count(&args[2]));
    SAY(" optionals=%u:%s", kr_count(&args[3]), kr_item(&args[3], 0) ? "tensor" : "none");
    SAY(" i=%lld", (long long) kr_int(&args[4]));
    SAY(" f=%g", kr_double(&args[5]));
    SAY(" t=%d", kr_bool(&args[6]));
    SAY(" s=%s", kr_is_none(&args[7]) ? "none" : kr_string(&args[7]));
    SAY(" ints=%u:%lld", kr_count(&args[8]), (long long) kr_ints(&args[8])[0]);
    SAY(" dtype=%lld", (long long) (kr_is_none(&args[9]) ? -1 : kr_int(&args[9])));
    SAY(" scalar=%u", args[10].tag);
    SAY(" bools=%u", kr_count(&args[11]));
    const int64_t size = n;
    const kr_status status = ctx->resize(ctx, out, 1, &size);
    if (status == KR_OK)
        memcpy(out->data, text, (size_t) n);
    return status;
}
KR_KERNEL(describe,
          .schema = "test::describe.out(Tensor a, Tensor? b, Tensor[] list, Tensor?[] optionals, "
                    "int i=3, float f=0.5, bool t=True, str? s=None, int[2] ints=1, "
                    "ScalarType? dtype=None, Scalar scalar=1, bool[3] bools=[True, False, True], "
                    "*, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);

/* Takes so many MiB of scratch memory, and uses them. */
static kr_status scratch(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const size_t bytes = (size_t) kr_int(&args[1]) << 20;
    (void) rets;
    char *memory = ctx->scratch(ctx, bytes);
    if (!memory)
        return KR_E_MEMORY;
    memset(memory, 1, bytes);
    return fill(kr_out(&args[2]), memory[bytes / 2]);
}
KR_KERNEL(scratch,
          .schema = "test::scratch.out(Tensor self, int mib, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
