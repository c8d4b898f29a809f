// SPDX-License-Identifier: Apache-2.0
/* Counting windows, and the windows whose tap lies inside, against trying each of them. */
#include "windows.h"

#include "host.h"

static void window_range_finds_the_windows_whose_tap_is_inside(void **state)
{
    (void) state;
    for (int i = 0; i < 4 * 4 * 4 * 4 * 8; i++) {
        const window w = { .large = i % 8,
                           .kernel = i / 8 % 4 + 1,
                           .stride = i / 32 % 4 + 1,
                           .padding = i / 128 % 4,
                           .dilation = i / 512 % 4 + 1,
                           .small = 5 };
        for (int64_t tap = 0; tap < w.kernel; tap++) {
            int64_t begin = -1, end = -1;
            window_range(&w, tap, &begin, &end);
            assert_in_range(begin, 0, w.small);
            assert_in_range(end, 0, w.small);
            for (int64_t o = 0; o < w.small; o++) {
                const int64_t place = window_position(&w, o, tap);
                assert_int_equal(o >= begin && o < end, place >= 0 && place < w.large);
            }
        }
    }
}

static void windows_are_counted_as_far_as_they_fit(void **state)
{
    (void) state;
    assert_int_equal(window_count(4, 2, 2, 0, 1, false), 2);
    assert_int_equal(window_count(5, 2, 2, 0, 1, false), 2);
    assert_int_equal(window_count(5, 3, 1, 1, 1, false), 5);
    assert_int_equal(window_count(5, 2, 1, 0, 3, false), 2);
    assert_int_equal(window_count(2, 3, 1, 0, 1, false), 0);
    assert_int_equal(window_count(2, 5, 1, 0, 1, false), -2);
    assert_int_equal(window_count(2, 4, 2, 0, 1, false), 0);
}

static void ceil_mode_adds_a_window_that_starts_inside(void **state)
{
    (void) state;
    assert_int_equal(window_count(5, 2, 2, 0, 1, true), 3);
    assert_int_equal(window_count(4, 2, 2, 0, 1, true), 2);
    assert_int_equal(window_count(5, 2, 3, 0, 1, true), 2);
    /* The last one would start in the padding behind. */
    assert_int_equal(window_count(4, 3, 3, 1, 1, true), 2);
    assert_int_equal(window_count(1, 1, 2, 0, 1, true), 1);
    assert_int_equal(window_count(3, 2, 2, 1, 1, true), 2);
}

static void an_extent_counts_the_gaps_between_taps(void **state)
{
    (void) state;
    assert_int_equal(window_extent(1, 5), 1);
    assert_int_equal(window_extent(3, 1), 3);
    assert_int_equal(window_extent(3, 2), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_range_finds_the_windows_whose_tap_is_inside),
        cmocka_unit_test(windows_are_counted_as_far_as_they_fit),
        cmocka_unit_test(ceil_mode_adds_a_window_that_starts_inside),
        cmocka_unit_test(an_extent_counts_the_gaps_between_taps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
