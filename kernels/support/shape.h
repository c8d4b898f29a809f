// SPDX-License-Identifier: Apache-2.0
/* Sizes and strides: views of tensors, and how the shapes of operands fit each other.
 *
 * A kr_tensor is plain data, so a view is a changed copy. Sets of dims are bit masks: a tensor has
 * no more than KR_MAX_DIMS of them. */
#ifndef KR_SUPPORT_SHAPE_H
#define KR_SUPPORT_SHAPE_H

#include <kernrig/kernel.h>

/* A Scalar as a tensor without dims that promotes as a number does. Its element is in memory. */
typedef union scalar_memory {
    double real;
    int64_t integer;
    uint8_t boolean;
} scalar_memory;
kr_tensor scalar_tensor(const kr_value *scalar, scalar_memory *memory);

int64_t numel(const kr_tensor *t);

/* The address of the element that is `linear` elements behind the first one in row-major order,
 * which need not be the order of memory. */
void *element_at(const kr_tensor *t, int64_t linear);

/* The address `offset` elements behind the first one in memory. */
static inline void *element_offset(const kr_tensor *t, int64_t offset, size_t size)
{
    return (char *) t->data + offset * (int64_t) size;
}

/* A dim as people count it, -1 being the last, as an index. A tensor without dims is taken to have
 * one, as in PyTorch: then 0 and -1 give 0. */
kr_status wrap_dim(kr_context *ctx, int64_t dim, int rank, int *ret);

/* The set of dims that a list names; all of them for a list that is empty or absent. */
kr_status dim_mask(kr_context *ctx, const kr_value *dims, int rank, uint32_t *ret);

/* The shape of an operator's result on a and b. */
kr_status broadcast(kr_context *ctx, const kr_tensor *a, const kr_tensor *b, int *ret_dim,
                    int64_t *ret_sizes);

/* Whether t can be expanded to these sizes, which follow the rule of broadcast(). */
bool can_expand(const kr_tensor *t, int dim, const int64_t *sizes);

/* t as a view of these sizes: where it has one element for many, the stride is 0. */
kr_tensor expand(const kr_tensor *t, int dim, const int64_t *sizes);

/* The view along the dims of a set, at the first element of the others. */
kr_tensor select_dims(const kr_tensor *t, uint32_t mask);

/* The view whose dim d is t's dim order[d]. */
kr_tensor permute(const kr_tensor *t, const int *order);

/* The order of t's dims from the greatest stride to the least. Where the order of elements is
 * free, walking all tensors in the order of one of them makes dense runs of them. */
void order_by_stride(const kr_tensor *t, int *ret_order);

/* The same elements in the same order with as few dims as possible, but at least one: dims of size
 * 1 are dropped, and those that lie one behind the other are joined. */
kr_tensor coalesce(const kr_tensor *t);

/* Writes sizes as PyTorch prints them, "[2, 3]", and returns text. */
enum { SHAPE_TEXT = KR_MAX_DIMS * 22 + 3 };
const char *shape_text(char text[SHAPE_TEXT], int count, const int64_t *sizes);

#endif
