// SPDX-License-Identifier: Apache-2.0
/* Blocks from malloc, each twice the one before up to a maximum, out of which pieces are cut.
 *
 * Every piece is a multiple of 16 bytes and counts as such against the limit, so that many tiny
 * pieces cannot cost more than the limit allows. Under AddressSanitizer every piece has a block of
 * its own: an overrun then lands outside of it and is found. */
#include <kernrig/arena.h>

#if defined(__SANITIZE_ADDRESS__)
#define ONE_PIECE_PER_BLOCK true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_PIECE_PER_BLOCK true
#endif
#endif
#ifndef ONE_PIECE_PER_BLOCK
#define ONE_PIECE_PER_BLOCK false
#endif

enum { ALIGNMENT = 16, FIRST_BLOCK = 2048, LARGEST_BLOCK = 65536 };

struct kr_arena_block {
    kr_arena_block *next;
    size_t size;
    /* Pieces are as aligned as what malloc gives: to 16 bytes. */
    _Alignas(ALIGNMENT) char data[];
};

void kr_arena_init(kr_arena *arena, size_t limit) { *arena = (kr_arena){ .limit = limit }; }

void kr_arena_done(kr_arena *arena)
{
    while (arena->blocks) {
        kr_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    kr_arena_init(arena, arena->limit);
}

static bool add_block(kr_arena *arena, size_t piece)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < piece || ONE_PIECE_PER_BLOCK)
        size = piece;
    kr_arena_block *block = NULL;
    if (size <= SIZE_MAX - sizeof *block)
        block = calloc(1, sizeof *block + size);
    if (!block)
        return false;
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->next = block->data;
    arena->end = block->data + size;
    return true;
}

void *kr_arena_alloc(kr_arena *arena, size_t size)
{
    size_t piece = size ? size : 1;
    if (piece > SIZE_MAX - (ALIGNMENT - 1))
        return NULL;
    piece = (piece + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (piece > arena->limit - arena->used)
        return NULL;
    if (piece > (size_t) (arena->end - arena->next) && !add_block(arena, piece))
        return NULL;
    void *data = arena->next;
    arena->next += piece;
    arena->used += piece;
    return data;
}

void *kr_arena_array(kr_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : kr_arena_alloc(arena, bytes);
}

char *kr_arena_text(kr_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? kr_arena_alloc(arena, length + 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}
