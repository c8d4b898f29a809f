// SPDX-License-Identifier: Apache-2.0
/* Binding: a call's arguments, as Python gave them, become the arguments of a schema.
 *
 * Positional and keyword arguments, defaults and conversions are decided here and nowhere else, as
 * torch.ops decides them: a bool is an int and an int is a float, but not the reverse; a number
 * for int[2] stands for both items; a dtype may be named; a number may stand for a Tensor where
 * PyTorch lets it (add, mul …), as a wrapped number. Every error names the operator, the
 * argument, the type that it wants and what it got. */
#ifndef KERNRIG_BIND_H
#define KERNRIG_BIND_H

#include <kernrig/schema.h>

typedef struct kr_bind_options {
    bool numbers_as_tensors; /* the operator has the tag "numbers" */
} kr_bind_options;

/* Everything that *ret points to lies in the arena, in the schema, or in the arguments.
 * Fails with KR_CODE_TYPE, or KR_CODE_VALUE where a value is out of its type's range, or
 * KR_CODE_DEVICE for a device other than the CPU, or KR_CODE_LIMIT when the arena is full. A
 * tensor's own consistency is not looked at here. */
KR_CHECK int kr_bind(const kr_schema *schema, const kr_bind_options *options,
                     const kr_argument *args, uint32_t n_args, kr_arena *arena, kr_bound *ret,
                     kr_error *err);

/* Writes the arguments for a person, "self=float32[2, 3], alpha=2, out=float32[2, 3]", of long
 * lists the first items; returns the length of the whole as snprintf does. */
size_t kr_bound_print(const kr_bound *bound, char *ret, size_t size);

#endif
