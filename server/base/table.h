// SPDX-License-Identifier: Apache-2.0
/* Hash tables: uthash with xxHash as its function. Everybody's tables are keyed by handles that we
 * count ourselves or by random tokens, so no peer can choose keys that collide.
 *
 * Without memory, HASH_ADD leaves the element out where uthash would end the process: whoever adds
 * asks table_has, and fails as without memory for the element itself. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASH_FUNCTION(key, length, result) (result) = (unsigned) XXH3_64bits((key), (length))
#define HASH_NONFATAL_OOM                  1
#include <uthash.h>

/* Whether HASH_ADD has added the element. */
#define table_has(element) ((element)->hh.tbl != NULL)

#endif
