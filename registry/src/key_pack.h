// SPDX-License-Identifier: Apache-2.0
/* A key as the fewest bytes that tell it from all others, for hashing. */
#ifndef KERNRIG_REGISTRY_KEY_PACK_H
#define KERNRIG_REGISTRY_KEY_PACK_H

#include <kernrig/key.h>

enum { KR_KEY_PACKED = KR_KEY_SECTIONS * (2 + KR_MAX_DIMS) };

size_t kr_key_pack(const kr_key *key, uint8_t packed[KR_KEY_PACKED]);

#endif
