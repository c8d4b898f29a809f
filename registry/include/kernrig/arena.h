// SPDX-License-Identifier: Apache-2.0
/* A bump allocator with an end: what one request needs, freed in one go.
 *
 * Bytes that a client controls are decoded into an arena, so its limit is also the limit on what a
 * hostile message can make us allocate. Nothing in it is freed alone. */
#ifndef KERNRIG_ARENA_H
#define KERNRIG_ARENA_H

#include <kernrig/err.h>

typedef struct kr_arena_block kr_arena_block;

typedef struct kr_arena {
    kr_arena_block *blocks;
    char *next, *end;   /* free room in the newest block */
    size_t used, limit; /* bytes handed out, and at most to be handed out */
} kr_arena;

void kr_arena_init(kr_arena *arena, size_t limit);
/* Frees everything; the arena is as after kr_arena_init, with the same limit. */
void kr_arena_done(kr_arena *arena);

/* Zeroed memory, aligned to 16 bytes; NULL beyond the limit or without memory. size may be 0. */
KR_CHECK void *kr_arena_alloc(kr_arena *arena, size_t size);
/* The same for count items, NULL also where the product overflows. */
KR_CHECK void *kr_arena_array(kr_arena *arena, size_t count, size_t size);
/* A copy with a final 0. */
KR_CHECK char *kr_arena_text(kr_arena *arena, const char *text, size_t length);

#endif
