// SPDX-License-Identifier: Apache-2.0
/* The arena's promises: zeroed and aligned pieces, a limit that holds to the byte, and a failure
 * that changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/arena.h>

enum { PIECE = 16 }; /* what one byte costs */

static bool is_zero(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i])
            return false;
    return true;
}

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 1 << 20);
    char *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = kr_arena_alloc(&arena, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t) pieces[i] % PIECE, 0);
        assert_true(is_zero(pieces[i], i));
        memset(pieces[i], (int) i | 1, i);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(pieces[i][j], (char) (i | 1));
    kr_arena_done(&arena);
}

static void the_limit_holds_to_the_byte(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 4 * PIECE);
    for (int i = 0; i < 4; i++)
        assert_non_null(kr_arena_alloc(&arena, PIECE - 1));
    assert_int_equal(arena.used, 4 * PIECE);
    assert_null(kr_arena_alloc(&arena, 1));
    assert_null(kr_arena_alloc(&arena, 0));
    assert_int_equal(arena.used, 4 * PIECE);
    kr_arena_done(&arena);
}

static void a_piece_that_is_refused_leaves_room_for_a_smaller_one(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 1000 * PIECE);
    assert_non_null(kr_arena_alloc(&arena, 600 * PIECE));
    assert_null(kr_arena_alloc(&arena, 401 * PIECE));
    assert_int_equal(arena.used, 600 * PIECE);
    assert_non_null(kr_arena_alloc(&arena, 400 * PIECE));
    kr_arena_done(&arena);
}

static void a_limit_of_nothing_gives_nothing(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 0);
    assert_null(kr_arena_alloc(&arena, 1));
    assert_null(arena.blocks);
    kr_arena_done(&arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, SIZE_MAX);
    assert_null(kr_arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(kr_arena_array(&arena, (size_t) 1 << 32, (size_t) 1 << 32));
    assert_null(kr_arena_alloc(&arena, SIZE_MAX));
    assert_null(kr_arena_alloc(&arena, SIZE_MAX - 14));
    assert_null(kr_arena_text(&arena, "", SIZE_MAX));
    assert_int_equal(arena.used, 0);
    assert_non_null(kr_arena_array(&arena, 0, SIZE_MAX));
    kr_arena_done(&arena);
}

static void a_piece_may_be_larger_than_any_block(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 64 << 20);
    char *small = kr_arena_alloc(&arena, 8);
    char *large = kr_arena_array(&arena, 3 << 20, 4);
    assert_non_null(small);
    assert_non_null(large);
    assert_true(is_zero(large, 12 << 20));
    memset(large, 1, 12 << 20);
    assert_true(is_zero(small, 8));
    kr_arena_done(&arena);
}

static void a_text_is_copied_with_a_final_zero(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 1 << 16);
    char given[] = "a text\0with more behind";
    char *copy = kr_arena_text(&arena, given, 6);
    char *whole = kr_arena_text(&arena, given, sizeof given - 1);
    char *empty = kr_arena_text(&arena, NULL, 0);
    given[0] = 'X';
    assert_string_equal(copy, "a text");
    assert_memory_equal(whole + 7, "with more behind", 17);
    assert_string_equal(empty, "");
    kr_arena_done(&arena);
}

static void after_done_the_arena_is_new_with_the_same_limit(void **state)
{
    (void) state;
    kr_arena arena;
    kr_arena_init(&arena, 100 * PIECE);
    for (int round = 0; round < 3; round++) {
        assert_non_null(kr_arena_alloc(&arena, 100 * PIECE));
        assert_null(kr_arena_alloc(&arena, 1));
        kr_arena_done(&arena);
        assert_int_equal(arena.used, 0);
        assert_int_equal(arena.limit, 100 * PIECE);
    }
    kr_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(the_limit_holds_to_the_byte),
        cmocka_unit_test(a_piece_that_is_refused_leaves_room_for_a_smaller_one),
        cmocka_unit_test(a_limit_of_nothing_gives_nothing),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(a_piece_may_be_larger_than_any_block),
        cmocka_unit_test(a_text_is_copied_with_a_final_zero),
        cmocka_unit_test(after_done_the_arena_is_new_with_the_same_limit),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
