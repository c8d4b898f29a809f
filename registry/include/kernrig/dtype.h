// SPDX-License-Identifier: Apache-2.0
/* Names and sizes of element types, for everybody above the kernels. */
#ifndef KERNRIG_DTYPE_H
#define KERNRIG_DTYPE_H

#include <kernrig/kernel.h>

/* Bytes of an element; 0 for a number that is no dtype of ours. */
size_t kr_dtype_size(int dtype);
/* PyTorch's name, "float32"; NULL for a number that c10 does not know. Also names dtypes that
 * kernrig does not take, such as complex64, so that errors can. */
const char *kr_dtype_name(int dtype);
/* The spelling in PyTorch's messages, "Float"; NULL as above. */
const char *kr_dtype_torch_name(int dtype);
/* Reads "float32", "f32", "Float", "half", "torch.float32" …; negative if it is none of ours. */
int kr_dtype_parse(const char *text, size_t length);
/* Writes "float32, int64" for a set of KR_SET bits, and returns text; "any" for 0. */
const char *kr_dtype_set_text(uint64_t set, char *text, size_t size);

#endif
