// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "wire/bytes.h"

static void what_is_written_is_read_back(void **state)
{
    uint8_t bytes[128];
    struct wire_writer w = { .data = bytes, .size = sizeof bytes };
    (void) state;
    wire_put_u8(&w, 200);
    wire_put_u32(&w, 0xDEADBEEF);
    wire_put_i32(&w, -7);
    wire_put_u64(&w, UINT64_MAX);
    wire_put_text(&w, "text");
    wire_put_text(&w, NULL);
    assert_false(w.full);
    struct wire_reader r = { .next = bytes, .end = bytes + w.used };
    assert_int_equal(wire_get_u8(&r), 200);
    assert_int_equal(wire_get_u32(&r), 0xDEADBEEF);
    assert_int_equal(wire_get_i32(&r), -7);
    assert_true(wire_get_u64(&r) == UINT64_MAX);
    assert_string_equal(wire_get_text(&r, 4), "text");
    assert_string_equal(wire_get_text(&r, 4), "");
    assert_true(wire_done(&r));
}

static void a_full_writer_writes_nothing_more_and_remembers(void **state)
{
    uint8_t bytes[5] = { 0 };
    struct wire_writer w = { .data = bytes, .size = sizeof bytes };
    (void) state;
    wire_put_u32(&w, 1);
    wire_put_u32(&w, 2);
    assert_true(w.full);
    assert_int_equal(w.used, 4);
    assert_int_equal(bytes[4], 0);
}

static void a_reader_beyond_the_end_gives_zeros_and_is_bad(void **state)
{
    const uint8_t bytes[3] = { 1, 2, 3 };
    struct wire_reader r = { .next = bytes, .end = bytes + 3 };
    (void) state;
    assert_int_equal(wire_get_u32(&r), 0);
    assert_true(r.bad);
    assert_false(wire_done(&r));
}

static void bytes_left_over_are_not_done(void **state)
{
    const uint8_t bytes[2] = { 1, 2 };
    struct wire_reader r = { .next = bytes, .end = bytes + 2 };
    (void) state;
    wire_get_u8(&r);
    assert_false(wire_done(&r));
}

static void malformed_texts_are_bad(void **state)
{
    static const struct {
        uint8_t bytes[8];
        size_t size, max;
    } cases[] = {
        { { 2, 0, 0, 0, 'a', 'b', 'c' }, 7, 9 },         /* no final 0 */
        { { 2, 0, 0, 0, 'a', 0, 0 }, 7, 9 },             /* a 0 inside */
        { { 9, 0, 0, 0, 'a', 0 }, 6, 99 },               /* longer than the frame */
        { { 255, 255, 255, 255, 'a', 0 }, 6, SIZE_MAX }, /* much longer */
        { { 2, 0, 0, 0, 'a', 'b', 0 }, 7, 1 },           /* longer than allowed */
        { { 2, 0 }, 2, 9 },                              /* not even a length */
    };
    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_reader r = { .next = cases[i].bytes, .end = cases[i].bytes + cases[i].size };
        assert_string_equal(wire_get_text(&r, cases[i].max), "");
        assert_true(r.bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_full_writer_writes_nothing_more_and_remembers),
        cmocka_unit_test(a_reader_beyond_the_end_gives_zeros_and_is_bad),
        cmocka_unit_test(bytes_left_over_are_not_done),
        cmocka_unit_test(malformed_texts_are_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
