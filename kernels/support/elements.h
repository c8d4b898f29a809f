// SPDX-License-Identifier: Apache-2.0
/* Elements of any tensor as plain arrays, chunk by chunk.
 *
 * A kernel writes its arithmetic once, over arrays of float, double or int64_t. A reader turns a
 * tensor of any dtype and strides into a row of such arrays, a writer such arrays into a tensor.
 * Both hand out the tensor's own memory where nothing needs converting. They go through a tensor
 * in row-major order, so that readers and writers of one shape keep step.
 *
 * Both may go via a dtype on the way: a result of float16 + float16 is rounded to float16 before
 * it is stored as float32, as PyTorch does it. */
#ifndef KR_SUPPORT_ELEMENTS_H
#define KR_SUPPORT_ELEMENTS_H

#include <kernrig/kernel.h>

enum { CHUNK = 512 }; /* elements that a reader or a writer handles at once, at most */

/* Converts n elements of a dtype that are `stride` apart to an array of `as`, which is KR_FLOAT32,
 * KR_FLOAT64 or KR_INT64; and back. A float becomes an integer as x86 does it: cut towards zero,
 * or the least integer if it does not fit. */
void load_elements(kr_dtype dtype, const void *from, int64_t stride, int64_t n, kr_dtype as,
                   void *to);
void store_elements(kr_dtype dtype, void *to, int64_t stride, int64_t n, kr_dtype as,
                    const void *from);

/* The same for n elements of a coalesced tensor from the `first` in row-major order on. */
void load_range(const kr_tensor *t, int64_t first, int64_t n, kr_dtype as, void *to);
void store_range(const kr_tensor *t, int64_t first, int64_t n, kr_dtype as, const void *from);

/* Converts n elements of `as` in place to what they are after a detour via a dtype. */
void round_elements(kr_dtype via, int64_t n, kr_dtype as, void *values);

/* Where a walk through a tensor stands. */
typedef struct cursor {
    kr_tensor t; /* coalesced */
    int64_t left, position[KR_MAX_DIMS];
} cursor;

typedef struct reader {
    cursor at;
    kr_dtype via, as;
    bool half_range;    /* what float16 cannot hold is infinite; only where as is KR_FLOAT32 */
    bool repeats;       /* all elements are one, which the buffer holds already */
    int64_t n;          /* elements in this chunk */
    const void *values; /* the chunk: the tensor's memory, or buffer */
    _Alignas(64) char buffer[CHUNK * sizeof(int64_t)];
} reader;

/* via: the dtype of t, unless elements are to be rounded to another one first. */
void reader_open(reader *r, const kr_tensor *t, kr_dtype via, kr_dtype as);
/* Starts again at the same element of another tensor of this dtype, sizes and strides. */
void reader_restart(reader *r, void *data);
/* Gives the next chunk, of `max` elements or what is left; false at the end. max <= CHUNK. */
bool reader_next(reader *r, int64_t max);

typedef struct writer {
    cursor at;
    kr_dtype via, as;
    bool direct; /* values is the tensor's memory */
    int64_t n;   /* elements to be written to values */
    void *values;
    _Alignas(64) char buffer[CHUNK * sizeof(int64_t)];
} writer;

/* via: the dtype of t, unless values are to be rounded to another one first. */
void writer_open(writer *w, const kr_tensor *t, kr_dtype via, kr_dtype as);
/* Stores the chunk before and makes room for the next; false, with all stored, at the end. */
bool writer_next(writer *w, int64_t max);

/* out[i] = in[i], converted, for tensors of one shape. */
void copy_elements(const kr_tensor *out, const kr_tensor *in);

/* The tensor's elements in row-major order as an array of `as`: its own memory where that is one
 * already, scratch memory otherwise; NULL after ctx->fail. */
const void *contiguous_elements(kr_context *ctx, const kr_tensor *t, kr_dtype as);

#endif
