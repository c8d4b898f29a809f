// SPDX-License-Identifier: Apache-2.0
/* What the arguments of aten::convolution have to be, and the shape that follows from them: the
 * part of a convolution that every kernel of it shares. */
#ifndef KR_SUPPORT_CONVOLUTION_SHAPE_H
#define KR_SUPPORT_CONVOLUTION_SHAPE_H

#include <kernrig/kernel.h>

#include "windows.h"

enum { SPATIAL = 3 }; /* spatial dims, at most */

typedef struct convolution_shape {
    window windows[SPATIAL]; /* the last ones are the input's; those before are trivial */
    int64_t groups;
    bool transposed;
    int64_t sizes[2 + SPATIAL]; /* of the result, which has as many dims as the input */
} convolution_shape;

/* args are those of the schema of aten::convolution.out, the tensors first among them. */
kr_status convolution_check(kr_context *ctx, const kr_tensor *input, const kr_tensor *weight,
                            const kr_tensor *bias, const kr_value *args, convolution_shape *ret);

#endif
