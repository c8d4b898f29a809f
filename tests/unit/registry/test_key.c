// SPDX-License-Identifier: Apache-2.0
/* Kernel keys: every spelling that people write, ExecuTorch's traps, and the keys of calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/key.h>
#include <kernrig/schema.h>

static kr_schema *schema_of(const char *text)
{
    kr_error err = { 0 };
    kr_schema *schema = NULL;
    if (text && kr_schema_parse(text, strlen(text), &schema, &err))
        fail_msg("%s: %s", text, err.text);
    return schema;
}

static const char add_out[] =
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
static const char relu_out[] = "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
static const char relu_in_place[] = "aten::relu_(Tensor(a!) self) -> Tensor(a!)";
static const char relu[] = "aten::relu(Tensor self) -> Tensor";
static const char convolution_out[] =
    "aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, *, "
    "Tensor(a!) out) -> Tensor(a!)";
static const char cat_out[] =
    "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)";
static const char pool_out[] = "aten::pool.out(Tensor self, *, Tensor(a!) out, Tensor(b!) indices) "
                               "-> (Tensor(a!), Tensor(b!))";
static const char arange_out[] = "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)";
static const char in_place_tail[] = "aten::x_(Tensor(a!) self, Tensor? w=None) -> Tensor(a!)";
static const char head_and_tail[] =
    "aten::x_(Tensor? v, Tensor(a!) self, Tensor? w=None) -> Tensor(a!)";

static void reads(const char *schema_text, const char *text, const char *canonical)
{
    kr_schema *schema = schema_of(schema_text);
    kr_error err = { 0 };
    kr_key key, again;
    if (kr_key_parse(text, strlen(text), schema, &key, &err))
        fail_msg("%s: %s", text, err.text);
    char printed[KR_KEY_TEXT];
    assert_int_equal(kr_key_print(&key, printed), strlen(canonical));
    assert_string_equal(printed, canonical);
    assert_int_equal(kr_key_parse(printed, strlen(printed), NULL, &again, &err), 0);
    assert_true(kr_key_equal(&key, &again));
    assert_true(kr_key_hash(&key) == kr_key_hash(&again));
    kr_schema_free(schema);
}

static void refuses(const char *schema_text, const char *text, const char *reason)
{
    kr_schema *schema = schema_of(schema_text);
    kr_error err = { 0 };
    kr_key key = { .n_sections = 99 };
    int code = kr_key_parse(text, strlen(text), schema, &key, &err);
    if (code == 0)
        fail_msg("%s is accepted", text);
    char expected[KR_ERROR_TEXT];
    snprintf(expected, sizeof expected, "kernel key '%s': %s", text, reason);
    assert_int_equal(code, KR_CODE_KEY);
    assert_string_equal(err.text, expected);
    assert_int_equal(key.n_sections, 99);
    kr_schema_free(schema);
}

/* Reading and writing. */

static void the_spellings_of_one_key_are_one_key(void **state)
{
    (void) state;
    static const char *const texts[] = {
        "v1/6;0,1|6;0,1",          "6;0,1|6;0,1",
        "v1/6;0,1|6;0,1|6;0,1",    "6;0,1,|6;0,1,|6;0,1,",
        "float32;0,1|float32;0,1", "v1/Float;0,1|torch.float32;0,1",
        "f32;0,1|6;0,1|float;0,1", " v1 / 6 ; 0 , 1 | 06;00,01 ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        reads(relu_out, texts[i], "v1/6;0,1|6;0,1");
}

static void one_dim_may_have_pythons_comma(void **state)
{
    (void) state;
    reads(relu_out, "v1/6;0,|6;0,", "v1/6;0|6;0");
    reads(relu_out, "v1/6;0|6;0|6;0,", "v1/6;0|6;0");
}

static void zero_dims_are_an_empty_order(void **state)
{
    (void) state;
    reads(relu_out, "v1/6;|6;", "v1/6;|6;");
    reads(relu_out, "float;|float;|float;", "v1/6;|6;");
}

static void without_a_schema_every_section_is_kept(void **state)
{
    (void) state;
    reads(NULL, "6;0,1|6;0,1|6;0,1", "v1/6;0,1|6;0,1|6;0,1");
    reads(NULL, "11;2,0,1", "v1/11;2,0,1");
    reads(NULL, "v1/", "v1/");
    reads(NULL, "bf16;15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0",
          "v1/15;15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0");
}

/* ExecuTorch's Method matches add.out with four sections, and its yaml writes three. */
static void the_return_slot_is_left_off(void **state)
{
    (void) state;
    reads(add_out, "v1/6;0,1|6;0,1|6;0,1", "v1/6;0,1|6;0,1|6;0,1");
    reads(add_out, "v1/6;0,1|6;0,1|6;0,1|6;0,1", "v1/6;0,1|6;0,1|6;0,1");
    reads(relu_in_place, "6;0", "v1/6;0");
    reads(relu_in_place, "6;0|6;0", "v1/6;0");
    reads(relu, "6;0", "v1/6;0");
    reads(relu, "6;0|5;0", "v1/6;0"); /* what it returns is a new tensor, of any dtype */
    reads(arange_out, "6;0", "v1/6;0");
    reads(arange_out, "6;0|6;0", "v1/6;0");
    reads(cat_out, "6;0,1", "v1/6;0,1");              /* a list has no section */
    reads(pool_out, "6;0|6;0|4;0", "v1/6;0|6;0|4;0"); /* two returns: no slot that is a tensor */
}

static void where_both_readings_fit_executorchs_holds(void **state)
{
    (void) state;
    /* With or without bias: three to four, and the slot. */
    reads(convolution_out, "6;0|6;0|6;0", "v1/6;0|6;0|6;0");
    reads(convolution_out, "6;0|6;0|6;0|6;0", "v1/6;0|6;0|6;0");
    reads(convolution_out, "6;0|6;0|6;0|6;0|6;0", "v1/6;0|6;0|6;0|6;0");
    /* Four in which the last cannot be the slot of the one before: bias is there. */
    reads(convolution_out, "6;0,1|6;0,1|6;0|6;0,1", "v1/6;0,1|6;0,1|6;0|6;0,1");
    reads(in_place_tail, "6;0", "v1/6;0");
    reads(in_place_tail, "6;0|6;0", "v1/6;0");
    reads(in_place_tail, "6;0|5;0", "v1/6;0|5;0");
    reads(in_place_tail, "6;0|5;0|6;0", "v1/6;0|5;0");
    /* Where what is returned may be absent, or is a list, nothing can contradict. */
    reads("aten::x(Tensor(a!)? self) -> Tensor(a!)", "6;0|5;0", "v1/6;0");
    reads("aten::x(Tensor self, Tensor(a!)[] out) -> Tensor(a!)", "6;0|5;0", "v1/6;0");
    /* Of two optionals around it, it is open which is there: nothing can contradict. */
    reads(head_and_tail, "6;0|5;0|4;0", "v1/6;0|5;0");
    reads(head_and_tail, "6;0|5;0|4;0|5;0", "v1/6;0|5;0|4;0");
}

static void what_can_never_match_is_refused(void **state)
{
    (void) state;
    refuses(add_out, "v1/6;0,1|6;0,1",
            "aten::add.out has 3 tensor arguments (self, other, out), and a key a section for "
            "each, perhaps one more for the return slot; this one has 2");
    refuses(add_out, "6;0|6;0|6;0|6;0|6;0",
            "aten::add.out has 3 tensor arguments (self, other, out), and a key a section for "
            "each, perhaps one more for the return slot; this one has 5");
    refuses(convolution_out, "6;0|6;0",
            "aten::convolution.out has 3 to 4 tensor arguments (input, weight, bias?, out), and a "
            "key a section for each, perhaps one more for the return slot; this one has 2");
    refuses(pool_out, "6;0|6;0|4;0|6;0",
            "aten::pool.out has 3 tensor arguments (self, out, indices), and a key a section for "
            "each; this one has 4");
    refuses(relu_out, "v1/",
            "aten::relu.out has 2 tensor arguments (self, out), and a key a section for each, "
            "perhaps one more for the return slot; this one has 0");
    refuses(relu_out, "6;0|6;0|5;0",
            "the return slot's section differs from that of 'out', which is returned");
    refuses(relu_out, "6;0,1|6;0,1|6;1,0",
            "the return slot's section differs from that of 'out', which is returned");
    refuses(relu_in_place, "6;0|6;0,1",
            "the return slot's section differs from that of 'self', which is returned");
    refuses(relu_out, "9;0|9;0", "kernrig has no dtype '9' (complex64)");
    refuses(relu_out, "47;0|6;0", "kernrig has no dtype '47'");
    refuses(relu_out, "complex64;0|6;0", "kernrig has no dtype 'complex64'");
    refuses(relu_out, "6;0,2|6;0,1", "a dim order of 2 dims has no dim 2");
    refuses(relu_out, "6;1|6;0", "a dim order of 1 dims has no dim 1");
    refuses(relu_out, "6;0,0|6;0,1", "dim 0 stands twice in a dim order");
}

static void what_is_no_key_is_refused(void **state)
{
    (void) state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { "", "a section begins with a dtype, as 6;0,1 or float32;0,1" },
        { "v1", "a version is written as v1/" },
        { "v/6;0", "a version is written as v1/" },
        { "v2/6;0", "only version 1 is known" },
        { "6", "a dtype and ';' come before a dim order" },
        { "6,0", "a dtype and ';' come before a dim order" },
        { "6;0|", "a section begins with a dtype, as 6;0,1 or float32;0,1" },
        { "|6;0", "a section begins with a dtype, as 6;0,1 or float32;0,1" },
        { "6;0||6;0", "a section begins with a dtype, as 6;0,1 or float32;0,1" },
        { "6;0 6;0", "'|' comes between sections, ',' between dims" },
        { "6;0,,1", "'|' comes between sections, ',' between dims" },
        { "6;,0", "'|' comes between sections, ',' between dims" },
        { "6;0;1", "'|' comes between sections, ',' between dims" },
        { "6;0 1", "'|' comes between sections, ',' between dims" },
        { "6;-1", "'|' comes between sections, ',' between dims" },
        { "6;16", "a tensor has at most 16 dims" },
        { "6;100", "a tensor has at most 16 dims" },
        { "6;4294967296", "a tensor has at most 16 dims" },
        { "6;0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0", "a tensor has at most 16 dims" },
        { "100;0", "kernrig has no dtype '100'" },
        { "262;0", "kernrig has no dtype '262'" },
        { "floatt;0", "kernrig has no dtype 'floatt'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(NULL, cases[i].text, cases[i].reason);
}

static void at_most_sixteen_sections_are_read(void **state)
{
    (void) state;
    char text[4 * 20] = "6;";
    for (int i = 1; i < 16; i++)
        memcpy(text + strlen(text), "|6;", 4);
    kr_key key;
    assert_int_equal(kr_key_parse(text, strlen(text), NULL, &key, NULL), 0);
    assert_int_equal(key.n_sections, 16);
    memcpy(text + strlen(text), "|6;", 4);
    refuses(NULL, text, "a key has at most 16 sections");
    memcpy(text + strlen(text), "|6;", 4);
    refuses(NULL, text, "a key has at most 16 sections");
}

static void the_longest_key_fits_its_text(void **state)
{
    (void) state;
    kr_key key = { .n_sections = KR_KEY_SECTIONS };
    for (uint32_t i = 0; i < KR_KEY_SECTIONS; i++) {
        key.sections[i].dtype = KR_BFLOAT16;
        key.sections[i].dim = KR_MAX_DIMS;
        for (int j = 0; j < KR_MAX_DIMS; j++)
            key.sections[i].order[j] = (uint8_t) j;
    }
    char text[KR_KEY_TEXT];
    size_t length = kr_key_print(&key, text);
    assert_int_equal(length, strlen(text));
    assert_true(length < KR_KEY_TEXT);
    kr_key again;
    assert_int_equal(kr_key_parse(text, length, NULL, &again, NULL), 0);
    assert_true(kr_key_equal(&key, &again));
}

static void the_text_need_not_end_in_zero(void **state)
{
    (void) state;
    static const char text[] = "v1/float32;0,1|float32;1,0";
    for (size_t length = 0; length < sizeof text; length++) {
        char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, text, length);
        kr_key key;
        int code = kr_key_parse(copy, length, NULL, &key, NULL);
        if (length == sizeof text - 1)
            assert_int_equal(code, 0);
        free(copy);
    }
}

static void keys_differ_in_number_dtype_and_order(void **state)
{
    (void) state;
    static const char *const texts[] = { "v1/",         "6;0,1",       "6;1,0",
                                         "7;0,1",       "6;0,1|6;0,1", "6;0",
                                         "6;",          "6;|6;",       "6;0,1|6;0,1|6;",
                                         "6;0,1|6;1,0", "6;0,1|5;0,1" };
    enum { COUNT = sizeof texts / sizeof *texts };
    kr_key keys[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(kr_key_parse(texts[i], strlen(texts[i]), NULL, &keys[i], NULL), 0);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            assert_int_equal(kr_key_equal(&keys[i], &keys[j]), i == j);
            assert_int_equal(kr_key_hash(&keys[i]) == kr_key_hash(&keys[j]), i == j);
        }
}

static void what_lies_beyond_a_dim_order_does_not_count(void **state)
{
    (void) state;
    kr_key a = { .n_sections = 1, .sections = { { 6, 1, { 0 } } } };
    kr_key b;
    memset(&b, 0xaa, sizeof b);
    b.n_sections = 1;
    b.sections[0].dtype = 6;
    b.sections[0].dim = 1;
    b.sections[0].order[0] = 0;
    assert_true(kr_key_equal(&a, &b));
    assert_true(kr_key_hash(&a) == kr_key_hash(&b));
}

/* The key of a call. */

static kr_bound_tensor tensor(uint8_t dtype, int64_t rows, int64_t columns, bool transposed)
{
    kr_bound_tensor made = { .ref = { .dtype = dtype, .dim = 2 } };
    made.ref.sizes[0] = rows;
    made.ref.sizes[1] = columns;
    made.ref.strides[0] = transposed ? 1 : columns;
    made.ref.strides[1] = transposed ? rows : 1;
    return made;
}

static void a_call_has_a_section_for_each_tensor_argument(void **state)
{
    (void) state;
    kr_bound_tensor tensors[5] = {
        tensor(KR_FLOAT32, 2, 3, false), tensor(KR_INT64, 5, 5, false),
        tensor(KR_INT64, 5, 5, true),    { .ref = { .dtype = KR_FLOAT64, .wrapped = true } },
        tensor(KR_BOOL, 2, 3, true),
    };
    const uint32_t list[] = { 1, 2 };
    kr_bound_value values[6] = {
        { .tag = KR_TAG_TENSOR, .as.tensor = 0 },
        { .tag = KR_TAG_TENSORS, .count = 2, .as.tensors = list },
        { .tag = KR_TAG_NONE },
        { .tag = KR_TAG_INT, .as.integer = 4 },
        { .tag = KR_TAG_TENSOR, .as.tensor = 3 },
        { .tag = KR_TAG_TENSOR, .as.tensor = 4 },
    };
    kr_bound bound = { .n_values = 6, .n_tensors = 5, .values = values, .tensors = tensors };
    kr_key key;
    assert_true(kr_key_of_call(&bound, &key));
    char text[KR_KEY_TEXT];
    kr_key_print(&key, text);
    assert_string_equal(text, "v1/6;0,1|7;|11;1,0");
}

static void a_call_with_a_tensor_that_is_not_dense_has_no_key(void **state)
{
    (void) state;
    kr_bound_tensor tensors[2] = { tensor(KR_FLOAT32, 2, 3, false),
                                   tensor(KR_FLOAT32, 2, 3, false) };
    kr_bound_value values[2] = { { .tag = KR_TAG_TENSOR, .as.tensor = 0 },
                                 { .tag = KR_TAG_TENSOR, .as.tensor = 1 } };
    kr_bound bound = { .n_values = 2, .n_tensors = 2, .values = values, .tensors = tensors };
    kr_key key = { .n_sections = 77 };
    tensors[1].ref.strides[0] = 4;
    assert_false(kr_key_of_call(&bound, &key));
    assert_int_equal(key.n_sections, 77);
    /* In a list it would not matter. */
    const uint32_t list[] = { 1 };
    values[1] = (kr_bound_value){ .tag = KR_TAG_TENSORS, .count = 1, .as.tensors = list };
    assert_true(kr_key_of_call(&bound, &key));
    assert_int_equal(key.n_sections, 1);
}

static void a_call_with_too_many_tensors_has_no_key(void **state)
{
    (void) state;
    kr_bound_tensor tensors[17];
    kr_bound_value values[17];
    for (uint32_t i = 0; i < 17; i++) {
        tensors[i] = tensor(KR_FLOAT32, 1, 1, false);
        values[i] = (kr_bound_value){ .tag = KR_TAG_TENSOR, .as.tensor = i };
    }
    kr_bound bound = { .n_values = 16, .n_tensors = 17, .values = values, .tensors = tensors };
    kr_key key;
    assert_true(kr_key_of_call(&bound, &key));
    assert_int_equal(key.n_sections, 16);
    bound.n_values = 17;
    assert_false(kr_key_of_call(&bound, &key));
}

static void a_call_without_tensors_has_an_empty_key(void **state)
{
    (void) state;
    kr_bound bound = { 0 };
    kr_key key;
    assert_true(kr_key_of_call(&bound, &key));
    assert_int_equal(key.n_sections, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spellings_of_one_key_are_one_key),
        cmocka_unit_test(one_dim_may_have_pythons_comma),
        cmocka_unit_test(zero_dims_are_an_empty_order),
        cmocka_unit_test(without_a_schema_every_section_is_kept),
        cmocka_unit_test(the_return_slot_is_left_off),
        cmocka_unit_test(where_both_readings_fit_executorchs_holds),
        cmocka_unit_test(what_can_never_match_is_refused),
        cmocka_unit_test(what_is_no_key_is_refused),
        cmocka_unit_test(at_most_sixteen_sections_are_read),
        cmocka_unit_test(the_longest_key_fits_its_text),
        cmocka_unit_test(the_text_need_not_end_in_zero),
        cmocka_unit_test(keys_differ_in_number_dtype_and_order),
        cmocka_unit_test(what_lies_beyond_a_dim_order_does_not_count),
        cmocka_unit_test(a_call_has_a_section_for_each_tensor_argument),
        cmocka_unit_test(a_call_with_a_tensor_that_is_not_dense_has_no_key),
        cmocka_unit_test(a_call_with_too_many_tensors_has_no_key),
        cmocka_unit_test(a_call_without_tensors_has_an_empty_key),
    };
    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
