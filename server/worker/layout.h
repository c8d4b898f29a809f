// SPDX-License-Identifier: Apache-2.0
/* Contiguous copies for kernels that do not take strides.
 *
 * A kernel that declares KR_CONTIGUOUS or KR_DENSE gets tensors that are so: others are copied
 * into scratch memory before the call, and outputs back afterwards. Outputs are copied in as well,
 * because a kernel may leave elements alone. */
#ifndef WORKER_LAYOUT_H
#define WORKER_LAYOUT_H

#include "worker/context.h"

struct layout_copy {
    kr_tensor original;
    void *copy;
};

/* Prepares the tensors of the context's call, in place; copies has room for every tensor. */
KR_CHECK kr_status layout_enter(struct context *context, enum kr_layout layout,
                                struct layout_copy *copies);
/* Writes outputs that were copied back to where they belong. */
void layout_leave(struct context *context, struct layout_copy *copies);

#endif
