// SPDX-License-Identifier: Apache-2.0
/* What our kernels ask of their context, with the checks and the words that they share.
 *
 * A function here that can refuse returns what it was refused with, and has then given the reason
 * to ctx->fail in PyTorch's own words; a kernel passes the status on with KR_TRY. */
#ifndef KR_SUPPORT_CONTEXT_H
#define KR_SUPPORT_CONTEXT_H

#include <kernrig/kernel.h>

/* Leaves the calling function with the status of `call` unless that is KR_OK. */
#define KR_TRY(call)                          \
    do {                                      \
        const kr_status try_status_ = (call); \
        if (try_status_ != KR_OK)             \
            return try_status_;               \
    } while (0)

/* Scratch memory for `count` items of `size` bytes; NULL after ctx->fail. */
void *scratch_array(kr_context *ctx, int64_t count, size_t size);

/* Gives out its shape, and refuses an out whose elements share memory: it could not hold them. */
kr_status resize_out(kr_context *ctx, kr_tensor *out, int dim, const int64_t *sizes);

/* Refuses a dtype that is not in the set, as `what` "not implemented for 'Bool'". */
kr_status check_dtype(kr_context *ctx, const kr_tensor *t, uint64_t set, const char *what);

/* Refuses an out of any other dtype, for operators that do not cast their result. */
kr_status check_out_dtype(kr_context *ctx, const kr_tensor *out, kr_dtype dtype);

/* Refuses a Scalar that the dtype cannot hold. An infinity fits every float, and a negative number
 * fits an unsigned integer if its magnitude does. */
kr_status check_scalar(kr_context *ctx, const kr_value *scalar, kr_dtype dtype);

/* Refuses a number beyond C's int, to which PyTorch limits the parameters of windows. It keeps
 * sums and products of them within int64_t. */
kr_status check_int(kr_context *ctx, int64_t value);

#endif
