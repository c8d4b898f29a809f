// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "wire/worker.h"

static uint8_t bytes[WIRE_FRAME_MAX];

/* What was written, as its reader gets it. */
static struct wire_frame received(const struct wire_writer *w)
{
    struct wire_frame frame = { .bytes = w->data, .size = w->used };
    assert_false(w->full);
    memcpy(&frame.type, w->data, sizeof frame.type);
    frame.body = (struct wire_reader){ .next = w->data + 4, .end = w->data + w->used };
    return frame;
}

/* Every shorter version of a frame is refused by its reader. */
#define ASSERT_CUT_IS_REFUSED(w, read)                 \
    for (size_t cut_ = 4; cut_ < (w).used; cut_++) {   \
        struct wire_writer shorter_ = (w);             \
        shorter_.used = cut_;                          \
        struct wire_frame frame = received(&shorter_); \
        assert_int_equal(read, KR_CODE_MALFORMED);     \
    }

static void hello_is_read_back(void **state)
{
    struct wire_hello hello;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_HELLO);
    (void) state;
    wire_put_hello(&w, &(struct wire_hello){ .build_id = "0123", .pid = 17 });
    struct wire_frame frame_ = received(&w);
    assert_int_equal(wire_get_hello(&frame_, &hello, &err), 0);
    assert_string_equal(hello.build_id, "0123");
    assert_int_equal(hello.pid, 17);
    ASSERT_CUT_IS_REFUSED(w, wire_get_hello(&frame, &hello, &err));
}

static void load_is_read_back(void **state)
{
    struct wire_load load;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_LOAD);
    (void) state;
    wire_put_load(
        &w, &(struct wire_load){
                .library = "/a/b.so", .load_ms = 1, .memory = 2, .scratch = 3, .max_kernels = 4 });
    struct wire_frame frame_ = received(&w);
    assert_int_equal(wire_get_load(&frame_, &load, &err), 0);
    assert_string_equal(load.library, "/a/b.so");
    assert_int_equal(load.load_ms, 1);
    assert_int_equal(load.memory, 2);
    assert_int_equal(load.scratch, 3);
    assert_int_equal(load.max_kernels, 4);
    ASSERT_CUT_IS_REFUSED(w, wire_get_load(&frame, &load, &err));
}

static void kernels_fill_a_frame_and_say_when_it_is_full(void **state)
{
    const struct wire_kernel given = { .name = "f",
                                       .schema = "aten::relu.out(…)",
                                       .key = "v1/6;0",
                                       .isa = "avx2",
                                       .dtypes = 0x8FF,
                                       .layout = 2,
                                       .in_place = true };
    struct wire_kernels_writer out;
    struct wire_kernel kernel;
    uint32_t count = 0, put = 0, seen = 0;
    kr_error err;
    (void) state;
    wire_kernels_begin(&out, bytes, 1024);
    while (wire_kernels_put(&out, &given))
        put++;
    assert_in_range(put, 5, 50);
    struct wire_frame frame_ = received(wire_kernels_end(&out));
    assert_int_equal(wire_kernels_open(&frame_, &count, &err), 0);
    assert_int_equal(count, put);
    while (wire_kernels_next(&frame_, &kernel, &err) == 1) {
        assert_string_equal(kernel.name, "f");
        assert_string_equal(kernel.schema, given.schema);
        assert_string_equal(kernel.key, "v1/6;0");
        assert_string_equal(kernel.isa, "avx2");
        assert_int_equal(kernel.dtypes, 0x8FF);
        assert_int_equal(kernel.layout, 2);
        assert_true(kernel.in_place);
        seen++;
    }
    assert_int_equal(seen, put);
}

static void a_cut_table_is_refused(void **state)
{
    struct wire_kernels_writer out;
    struct wire_kernel kernel;
    uint32_t count;
    kr_error err;
    (void) state;
    wire_kernels_begin(&out, bytes, sizeof bytes);
    assert_true(wire_kernels_put(&out, &(struct wire_kernel){ .name = "f", .schema = "s" }));
    struct wire_writer w = *wire_kernels_end(&out);
    for (size_t cut = 9; cut < w.used; cut++) {
        struct wire_writer shorter = w;
        shorter.used = cut;
        struct wire_frame frame_ = received(&shorter);
        assert_int_equal(wire_kernels_open(&frame_, &count, &err), 0);
        assert_int_equal(wire_kernels_next(&frame_, &kernel, &err), KR_CODE_MALFORMED);
    }
}

static void map_needs_a_descriptor_for_each_buffer(void **state)
{
    const struct wire_map given[2] = { { 7, 4096, true }, { 8, 8192, false } };
    struct wire_map maps[WIRE_FDS_MAX];
    uint32_t n = 0;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_MAP);
    (void) state;
    wire_put_map(&w, given, 2);
    struct wire_frame frame_ = received(&w);
    frame_.n_fds = 2;
    assert_int_equal(wire_get_map(&frame_, maps, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(maps[0].buffer, 7);
    assert_true(maps[0].writable);
    assert_int_equal(maps[1].size, 8192);
    assert_false(maps[1].writable);
    frame_ = received(&w);
    frame_.n_fds = 1;
    assert_int_equal(wire_get_map(&frame_, maps, &n, &err), KR_CODE_MALFORMED);
}

static void map_of_a_huge_count_is_refused(void **state)
{
    struct wire_map maps[WIRE_FDS_MAX];
    uint32_t n = 0;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_MAP);
    (void) state;
    wire_put_u32(&w, UINT32_MAX);
    struct wire_frame frame_ = received(&w);
    assert_int_equal(wire_get_map(&frame_, maps, &n, &err), KR_CODE_MALFORMED);
}

static void unmap_is_read_one_by_one(void **state)
{
    const uint64_t given[3] = { 5, 6, UINT64_MAX };
    uint64_t buffer;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_UNMAP);
    (void) state;
    wire_put_unmap(&w, given, 3);
    struct wire_frame frame_ = received(&w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wire_get_unmap(&frame_, &buffer, &err), 1);
        assert_true(buffer == given[i]);
    }
    assert_int_equal(wire_get_unmap(&frame_, &buffer, &err), 0);
    w.used--;
    frame_ = received(&w);
    assert_int_equal(wire_get_unmap(&frame_, &buffer, &err), 1);
    assert_int_equal(wire_get_unmap(&frame_, &buffer, &err), 1);
    assert_int_equal(wire_get_unmap(&frame_, &buffer, &err), KR_CODE_MALFORMED);
}

static void died_is_read_back(void **state)
{
    struct wire_died died;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_DIED);
    (void) state;
    wire_put_died(&w, &(struct wire_died){ .call = 9,
                                           .death = WIRE_DEATH_SIGNAL,
                                           .number = 11,
                                           .text = "died of SIGSEGV",
                                           .printed = "hello" });
    struct wire_frame frame_ = received(&w);
    assert_int_equal(wire_get_died(&frame_, &died, &err), 0);
    assert_int_equal(died.call, 9);
    assert_int_equal(died.death, WIRE_DEATH_SIGNAL);
    assert_int_equal(died.number, 11);
    assert_string_equal(died.text, "died of SIGSEGV");
    assert_string_equal(died.printed, "hello");
    ASSERT_CUT_IS_REFUSED(w, wire_get_died(&frame, &died, &err));
}

static void failed_is_read_back(void **state)
{
    const char *text;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_FAILED);
    (void) state;
    wire_put_failed(&w, "no such file");
    struct wire_frame frame_ = received(&w);
    assert_int_equal(wire_get_failed(&frame_, &text, &err), 0);
    assert_string_equal(text, "no such file");
    ASSERT_CUT_IS_REFUSED(w, wire_get_failed(&frame, &text, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_is_read_back),
        cmocka_unit_test(load_is_read_back),
        cmocka_unit_test(kernels_fill_a_frame_and_say_when_it_is_full),
        cmocka_unit_test(a_cut_table_is_refused),
        cmocka_unit_test(map_needs_a_descriptor_for_each_buffer),
        cmocka_unit_test(map_of_a_huge_count_is_refused),
        cmocka_unit_test(unmap_is_read_one_by_one),
        cmocka_unit_test(died_is_read_back),
        cmocka_unit_test(failed_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
