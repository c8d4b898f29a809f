// SPDX-License-Identifier: Apache-2.0
/* Hash tables: uthash with xxHash as its function. Everybody's tables are keyed by handles that we
 * count ourselves or by random tokens, so no peer can choose keys that collide. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASH_FUNCTION(key, length, result) (result) = (unsigned) XXH3_64bits((key), (length))
#include <uthash.h>

#endif
