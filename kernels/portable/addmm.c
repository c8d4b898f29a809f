// SPDX-License-Identifier: Apache-2.0
/* aten::addmm.out: beta * self + alpha * (mat1 @ mat2), self being expanded to the product.
 *
 * Where beta is 0, self is not looked at, so that a NaN in it does not matter. Sums are kept in
 * double, or in int64_t, which wraps, until the result is rounded once. */
#include <inttypes.h>

#include "context.h"
#include "dtype.h"
#include "elements.h"
#include "matmul.h"
#include "shape.h"

typedef struct addmm {
    const kr_tensor *mat1, *mat2, *out;
    kr_tensor self; /* expanded */
    kr_dtype as;
    double alpha, beta;
    int64_t int_alpha, int_beta;
    bool use_self;
} addmm;

static void read_matrix(const kr_tensor *t, int64_t row, int64_t column, int64_t n, kr_dtype as,
                        void *to)
{
    const kr_dtype dtype = (kr_dtype) t->dtype;
    load_elements(
        dtype, element_offset(t, row * t->strides[0] + column * t->strides[1], dtype_size(dtype)),
        t->strides[1], n, as, to);
}

static void read_mat1(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const addmm *op = cookie;
    read_matrix(op->mat1, row, column, n, op->as, to);
}

static void read_mat2(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const addmm *op = cookie;
    read_matrix(op->mat2, row, column, n, op->as, to);
}

static void write_floats(const addmm *op, int64_t row, int64_t column, int64_t n, double *product)
{
    double self[MATMUL_COLUMNS];
    for (int64_t i = 0; i < n; i++)
        product[i] *= op->alpha;
    if (!op->use_self)
        return;
    read_matrix(&op->self, row, column, n, KR_FLOAT64, self);
    for (int64_t i = 0; i < n; i++)
        product[i] += op->beta * self[i];
}

static void write_integers(const addmm *op, int64_t row, int64_t column, int64_t n,
                           int64_t *product)
{
    int64_t self[MATMUL_COLUMNS];
    for (int64_t i = 0; i < n; i++)
        product[i] *= op->int_alpha;
    if (!op->use_self)
        return;
    read_matrix(&op->self, row, column, n, KR_INT64, self);
    for (int64_t i = 0; i < n; i++)
        product[i] += op->int_beta * self[i];
}

static void write_row(const void *cookie, int64_t row, int64_t column, int64_t n, void *values)
{
    const addmm *op = cookie;
    const kr_tensor *out = op->out;
    const kr_dtype dtype = (kr_dtype) out->dtype, sums = dtype_accumulate(dtype);
    if (sums == KR_FLOAT64)
        write_floats(op, row, column, n, values);
    else
        write_integers(op, row, column, n, values);
    store_elements(
        dtype,
        element_offset(out, row * out->strides[0] + column * out->strides[1], dtype_size(dtype)),
        out->strides[1], n, sums, values);
}

static kr_status check_matrices(kr_context *ctx, const kr_tensor *self, const kr_tensor *mat1,
                                const kr_tensor *mat2)
{
    if (self->dtype != mat2->dtype)
        return ctx->fail(ctx, KR_E_DTYPE,
                         "self and mat2 must have the same dtype, but got %s and %s",
                         dtype_name((kr_dtype) self->dtype), dtype_name((kr_dtype) mat2->dtype));
    if (mat1->dtype != mat2->dtype)
        return ctx->fail(ctx, KR_E_DTYPE,
                         "mat1 and mat2 must have the same dtype, but got %s and %s",
                         dtype_name((kr_dtype) mat1->dtype), dtype_name((kr_dtype) mat2->dtype));
    if (mat1->dim != 2)
        return ctx->fail(ctx, KR_E_SHAPE, "addmm: mat1 must be a matrix, got %d-D tensor",
                         mat1->dim);
    if (mat2->dim != 2)
        return ctx->fail(ctx, KR_E_SHAPE, "addmm: mat2 must be a matrix, got %d-D tensor",
                         mat2->dim);
    if (mat1->sizes[1] != mat2->sizes[0])
        return ctx->fail(ctx, KR_E_SHAPE,
                         "addmm: mat1 and mat2 shapes cannot be multiplied (%" PRId64 "x%" PRId64
                         " and %" PRId64 "x%" PRId64 ")",
                         mat1->sizes[0], mat1->sizes[1], mat2->sizes[0], mat2->sizes[1]);
    return check_dtype(ctx, self, KR_REAL_TYPES, "addmm_impl_cpu_");
}

static kr_status check_self(kr_context *ctx, const kr_tensor *self, const int64_t *sizes)
{
    char own[SHAPE_TEXT], target[SHAPE_TEXT];
    if (can_expand(self, 2, sizes))
        return KR_OK;
    return ctx->fail(ctx, KR_E_SHAPE,
                     "The expanded size of the tensor must match the existing size at every "
                     "non-singleton dimension. Target sizes: %s. Tensor sizes: %s",
                     shape_text(target, 2, sizes), shape_text(own, self->dim, self->sizes));
}

/* Where the matrices have no depth, all that is left is beta * self, and as in any product of a
 * tensor and a number, a float beta does not go with integers. */
static kr_status check_product(kr_context *ctx, kr_dtype dtype, const int64_t *sizes)
{
    if (dtype_is_float(dtype) || sizes[0] == 0 || sizes[1] == 0)
        return KR_OK;
    return ctx->fail(ctx, KR_E_CAST,
                     "result type Float can't be cast to the desired output type %s",
                     dtype_name(dtype));
}

static kr_status addmm_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]), *mat1 = kr_in(&args[1]), *mat2 = kr_in(&args[2]);
    const kr_value *beta = &args[3], *alpha = &args[4];
    kr_tensor *out = kr_out(&args[5]);
    const kr_dtype dtype = (kr_dtype) self->dtype;
    /* Half precision takes Scalars in the range of float. */
    const kr_dtype scalar = dtype_compute(dtype) == KR_FLOAT32 ? KR_FLOAT32 : dtype;

    KR_TRY(check_matrices(ctx, self, mat1, mat2));
    const int64_t sizes[2] = { mat1->sizes[0], mat2->sizes[1] };
    KR_TRY(check_self(ctx, self, sizes));
    KR_TRY(check_scalar(ctx, beta, scalar));
    KR_TRY(check_scalar(ctx, alpha, scalar));
    if (mat1->sizes[1] == 0 && beta->tag == KR_TAG_DOUBLE && kr_double(beta) != 0)
        KR_TRY(check_product(ctx, dtype, sizes));
    KR_TRY(check_out_dtype(ctx, out, dtype));
    KR_TRY(resize_out(ctx, out, 2, sizes));

    const kr_dtype as = matmul_type(dtype, sizes[0], sizes[1], mat1->sizes[1]);
    addmm op = { .mat1 = mat1,
                 .mat2 = mat2,
                 .out = out,
                 .self = expand(self, 2, sizes),
                 .as = as,
                 .alpha = kr_double(alpha),
                 .beta = kr_double(beta),
                 .int_alpha = kr_int(alpha),
                 .int_beta = kr_int(beta) };
    matmul product = { .rows = sizes[0],
                       .columns = sizes[1],
                       .depth = mat1->sizes[1],
                       .as = as,
                       .read_a = read_mat1,
                       .read_b = read_mat2,
                       .write = write_row,
                       .cookie = &op };
    op.use_self = dtype_is_float(dtype) ? op.beta != 0 : op.int_beta != 0;
    /* As BLAS has it, and thus PyTorch for these two dtypes: without alpha, the matrices are not
     * looked at either. An empty product is zero, even if alpha is not finite. */
    if (op.alpha == 0 && (dtype == KR_FLOAT32 || dtype == KR_FLOAT64))
        product.depth = 0;
    if (product.depth == 0)
        op.alpha = 0;
    KR_TRY(matmul_open(ctx, &product));
    matmul_run(&product);
    return KR_OK;
}
KR_KERNEL(addmm_out,
          .schema = "aten::addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
                    "Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_REAL_TYPES, .layout = KR_STRIDED);
