// SPDX-License-Identifier: Apache-2.0
/* Kernel keys: "v1/6;0,1|6;0,1" – per tensor argument its dtype and its dim order.
 *
 * ExecuTorch matches a key by comparing texts, and never matches one that lacks the section of the
 * return slot or writes a one-dimensional order as "6;0,". kernrig keeps keys as data with one
 * canonical text. A canonical key has one section per tensor that a call passes as an argument of
 * type Tensor or Tensor? (absent ones have none), outputs included; the return slot is left off.
 *
 * The dim order of a tensor is defined here and nowhere else: its dims by descending stride, ties
 * by index; a dim of size 1 has no say and stands where a contiguous tensor would have it. A
 * tensor that is not dense (gaps, repeats or overlaps between elements) has none. */
#ifndef KERNRIG_KEY_H
#define KERNRIG_KEY_H

#include <kernrig/err.h>
#include <kernrig/value.h>

enum { KR_KEY_SECTIONS = 16, KR_KEY_TEXT = 700 };

typedef struct kr_key_section {
    uint8_t dtype, dim;
    uint8_t order[KR_MAX_DIMS];
} kr_key_section;

typedef struct kr_key {
    uint32_t n_sections;
    kr_key_section sections[KR_KEY_SECTIONS];
} kr_key;

struct kr_schema;

/* Writes the dim order of a tensor of these sizes and strides; false if it has none. A tensor
 * without elements, or of one element, is dense in row-major order. */
bool kr_dim_order(int dim, const int64_t *sizes, const int64_t *strides, uint8_t *ret_order);

/* Reads a key for this schema, in any spelling that people write: with or without "v1/", with or
 * without the return slot's section, "6;0," for "6;0". Where the number of sections can be read
 * both ways, ExecuTorch's reading holds: the last section is the return slot's. Refuses, with the
 * reason, what can never match: a wrong number of sections, an unknown dtype, an order that is no
 * permutation. schema may be NULL: then every section is kept. */
KR_CHECK int kr_key_parse(const char *text, size_t length, const struct kr_schema *schema,
                          kr_key *ret, kr_error *err);
/* The canonical text, always ended by 0; returns its length. */
size_t kr_key_print(const kr_key *key, char text[KR_KEY_TEXT]);
bool kr_key_equal(const kr_key *a, const kr_key *b);
uint64_t kr_key_hash(const kr_key *key);
/* The key of a call; false if a tensor has no dim order or there are too many tensors, in which
 * case only fallbacks can match. */
bool kr_key_of_call(const kr_bound *bound, kr_key *ret);

#endif
