// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "wire/local.h"

static size_t message(uint8_t *out, uint8_t type, const void *payload, uint32_t length)
{
    const uint8_t head[8] = { 'K', 'R', type, LOCAL_VERSION };
    memcpy(out, head, sizeof head);
    memcpy(out + 4, &length, sizeof length);
    if (length)
        memcpy(out + 8, payload, length);
    return 8 + length;
}

static void a_request_is_read_however_it_is_cut_up(void **state)
{
    uint8_t bytes[64];
    const uint64_t handles[2] = { 3, 1000000007 };
    const size_t n = message(bytes, LOCAL_FETCH, handles, sizeof handles);
    (void) state;
    for (size_t part = 1; part <= n; part++) {
        struct local_parser parser = { .used = 0 };
        struct local_request request;
        kr_error err;
        int complete = 0;
        for (size_t at = 0; at < n;) {
            size_t taken = 0;
            const size_t give = part < n - at ? part : n - at;
            const int r = local_parse(&parser, bytes + at, give, &taken, &request, &err);
            assert_true(r >= 0);
            complete += r;
            at += taken;
        }
        assert_int_equal(complete, 1);
        assert_int_equal(request.type, LOCAL_FETCH);
        assert_int_equal(request.n_handles, 2);
        assert_int_equal(request.handles[1], 1000000007);
        assert_int_equal(parser.used, 0);
    }
}

static void two_requests_in_one_piece_are_read_one_by_one(void **state)
{
    uint8_t bytes[128], session[16];
    const uint64_t handle = 9;
    struct local_parser parser = { .used = 0 };
    struct local_request request;
    size_t taken = 0;
    kr_error err;
    (void) state;
    memset(session, 0xAB, sizeof session);
    size_t n = message(bytes, LOCAL_BIND, session, sizeof session);
    const size_t first = n;
    n += message(bytes + n, LOCAL_FETCH, &handle, sizeof handle);
    assert_int_equal(local_parse(&parser, bytes, n, &taken, &request, &err), 1);
    assert_int_equal(taken, first);
    assert_int_equal(request.type, LOCAL_BIND);
    assert_memory_equal(request.session, session, sizeof session);
    assert_int_equal(local_parse(&parser, bytes + taken, n - taken, &taken, &request, &err), 1);
    assert_int_equal(request.handles[0], 9);
}

static void what_is_no_request_is_refused(void **state)
{
    uint8_t payload[LOCAL_PAYLOAD + 8] = { 0 };
    static const struct {
        uint8_t type;
        uint32_t length;
        int code;
    } cases[] = {
        { LOCAL_BIND, 15, KR_CODE_MALFORMED },
        { LOCAL_BIND, 17, KR_CODE_MALFORMED },
        { LOCAL_BIND, 0, KR_CODE_MALFORMED },
        { LOCAL_FETCH, 0, KR_CODE_MALFORMED },
        { LOCAL_FETCH, 7, KR_CODE_MALFORMED },
        { LOCAL_FETCH, 65 * 8, KR_CODE_MALFORMED },
        { 3, 0, KR_CODE_MALFORMED },
        { 65, 0, KR_CODE_MALFORMED },
        { LOCAL_FETCH, LOCAL_PAYLOAD + 8, KR_CODE_LIMIT },
    };
    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[LOCAL_HEAD + LOCAL_PAYLOAD + 8];
        struct local_parser parser = { .used = 0 };
        struct local_request request;
        size_t taken = 0;
        kr_error err;
        const size_t n = message(bytes, cases[i].type, payload, cases[i].length);
        assert_int_equal(local_parse(&parser, bytes, n, &taken, &request, &err), cases[i].code);
    }
}

static void lengths_that_cannot_be_believed_are_refused_at_the_head(void **state)
{
    static const uint32_t lengths[] = { 0x7FFFFFFF, 0xFFFFFFFF, LOCAL_PAYLOAD + 1 };
    (void) state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t bytes[8];
        struct local_parser parser = { .used = 0 };
        struct local_request request;
        size_t taken = 0;
        kr_error err;
        message(bytes, LOCAL_FETCH, NULL, 0);
        memcpy(bytes + 4, &lengths[i], 4);
        assert_int_equal(local_parse(&parser, bytes, 8, &taken, &request, &err), KR_CODE_LIMIT);
    }
}

static void another_magic_or_version_is_refused(void **state)
{
    static const uint8_t heads[][8] = { { 'G', 'E', 'T', ' ' },
                                        { 'K', 'R', 1, 2 },
                                        { 'K', 'X', 1, 1 } };
    (void) state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct local_parser parser = { .used = 0 };
        struct local_request request;
        size_t taken = 0;
        kr_error err;
        assert_int_equal(local_parse(&parser, heads[i], 8, &taken, &request, &err),
                         KR_CODE_MALFORMED);
    }
}

static void a_refusal_is_cut_to_its_room(void **state)
{
    uint8_t bytes[LOCAL_HEAD + 8];
    struct wire_writer w = local_begin(bytes, sizeof bytes, LOCAL_REFUSED);
    kr_error why;
    int32_t code;
    uint32_t length;
    (void) state;
    kr_error_set(&why, KR_CODE_NO_BUFFER, "a long sentence");
    local_put_refused(&w, &why);
    local_end(&w);
    assert_false(w.full);
    memcpy(&length, bytes + 4, 4);
    memcpy(&code, bytes + 8, 4);
    assert_int_equal(length, 8);
    assert_int_equal(code, KR_CODE_NO_BUFFER);
    assert_memory_equal(bytes + 12, "a lo", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read_however_it_is_cut_up),
        cmocka_unit_test(two_requests_in_one_piece_are_read_one_by_one),
        cmocka_unit_test(what_is_no_request_is_refused),
        cmocka_unit_test(lengths_that_cannot_be_believed_are_refused_at_the_head),
        cmocka_unit_test(another_magic_or_version_is_refused),
        cmocka_unit_test(a_refusal_is_cut_to_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
