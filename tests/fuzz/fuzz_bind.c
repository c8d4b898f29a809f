// SPDX-License-Identifier: Apache-2.0
/* Bytes as the arguments of a call: whatever Python could give, bound to schemas of every type.
 * What is bound has the tags of its types and tensors in order; what is refused, a reason.
 *
 * The bytes are a little program: a schema, the arena's limit, then arguments, each with a name or
 * none, a kind, and what the kind needs. */
#include <assert.h>
#include <kernrig/bind.h>
#include <kernrig/key.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const schemas[] = {
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "aten::x(Tensor self, int[2] a, int[1]? b=None, SymInt[] c=[], *, bool d=True) -> Tensor",
    "aten::x(Tensor[] a, Tensor?[] b, *, Tensor(a!)[] out) -> ()",
    "aten::x(float[2] a, float[]? b, bool[3] c, Scalar[] d, Scalar? e=None) -> Tensor",
    "aten::x(ScalarType? a, Layout? b, MemoryFormat? c, Device? d, Generator? e=None) -> Tensor",
    "aten::x(str a, str? b, float c, SymFloat d, SymBool e, SymInt f, ScalarType g) -> Tensor",
    "aten::x(str[] a, Tensor[][] b, complex c, Storage d, int?[] e) -> Tensor",
    "aten::x(int a, int a, Tensor? b, int[64] c) -> Tensor",
    "aten::x() -> ()",
};
enum { N_SCHEMAS = sizeof schemas / sizeof *schemas, MOST_ARGS = 12, MOST_ITEMS = 40 };

static const char *const names[] = { "self", "other", "alpha", "out", "a",   "b",
                                     "c",    "d",     "e",     "f",   "foo", "" };
static const char *const strings[] = {
    "",           "cpu",     "cpu:0",     "cuda:1",  "float32",
    "torch.int8", "half",    "complex64", "strided", "torch.channels_last",
    "none",       "\xff\xfe"
};
enum { N_NAMES = sizeof names / sizeof(char *), N_STRINGS = sizeof strings / sizeof(char *) };

struct input {
    const uint8_t *at, *end;
};

static uint8_t take(struct input *input) { return input->at < input->end ? *input->at++ : 0; }

static int64_t take_integer(struct input *input)
{
    uint8_t form = take(input);
    if (form < 200)
        return (int64_t) form - 100;
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | take(input);
    return (int64_t) value;
}

static double take_real(struct input *input)
{
    int64_t bits = take_integer(input);
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static kr_tensor_ref take_tensor(struct input *input)
{
    kr_tensor_ref ref = { .buffer = 1 + take(input), .dtype = take(input) };
    ref.dim = take(input) % (KR_MAX_DIMS + 1);
    for (uint8_t i = 0; i < ref.dim; i++) {
        ref.sizes[i] = take_integer(input);
        ref.strides[i] = take_integer(input);
    }
    return ref;
}

/* What the values of one call point to. */
struct store {
    kr_tensor_ref tensors[MOST_ARGS][MOST_ITEMS];
    kr_given items[MOST_ARGS][MOST_ITEMS];
};

static kr_given take_value(struct input *input, struct store *store, uint32_t argument,
                           uint32_t item, bool in_list)
{
    /* One kind more than there are: a kind that a newer client might send. */
    kr_given value = { .kind = (kr_kind) (take(input) % (KR_KIND_LIST + 2u)) };
    if (in_list && value.kind == KR_KIND_LIST)
        value.kind = KR_KIND_INT;
    switch (value.kind) {
    case KR_KIND_NONE: break;
    case KR_KIND_BOOL: value.as.boolean = take(input) & 1; break;
    case KR_KIND_FLOAT: value.as.real = take_real(input); break;
    case KR_KIND_STRING:
    case KR_KIND_DEVICE:
        value.as.string = strings[take(input) % N_STRINGS];
        value.count = (uint32_t) strlen(value.as.string);
        break;
    case KR_KIND_TENSOR:
        store->tensors[argument][item] = take_tensor(input);
        value.as.tensor = &store->tensors[argument][item];
        break;
    case KR_KIND_LIST:
        value.count = take(input) % MOST_ITEMS;
        value.as.items = store->items[argument];
        for (uint32_t i = 0; i < value.count; i++)
            store->items[argument][i] = take_value(input, store, argument, i, true);
        break;
    default: value.as.integer = take_integer(input); break;
    }
    return value;
}

static uint32_t tag_of(const kr_type *type)
{
    bool list = kr_type_is_list(type);
    switch (type->base) {
    case KR_TYPE_TENSOR:
        return !list                              ? KR_TAG_TENSOR
               : kr_type_has_optional_items(type) ? KR_TAG_OPTIONAL_TENSORS
                                                  : KR_TAG_TENSORS;
    case KR_TYPE_FLOAT:
    case KR_TYPE_SYM_FLOAT: return list ? KR_TAG_DOUBLES : KR_TAG_DOUBLE;
    case KR_TYPE_BOOL:
    case KR_TYPE_SYM_BOOL: return list ? KR_TAG_BOOLS : KR_TAG_BOOL;
    case KR_TYPE_STRING: return KR_TAG_STRING;
    default: return list ? KR_TAG_INTS : KR_TAG_INT;
    }
}

/* Adds up what is read, so that each value is read. */
static uint64_t read_value(const kr_bound *bound, const kr_bound_value *value, uint32_t argument,
                           uint32_t *next_tensor)
{
    uint64_t sum = 0;
    switch (value->tag) {
    case KR_TAG_TENSOR:
        assert(value->as.tensor == (*next_tensor)++);
        assert(bound->tensors[value->as.tensor].argument == argument);
        break;
    case KR_TAG_TENSORS:
    case KR_TAG_OPTIONAL_TENSORS:
        for (uint32_t i = 0; i < value->count; i++) {
            if (value->as.tensors[i] == KR_NO_TENSOR) {
                assert(value->tag == KR_TAG_OPTIONAL_TENSORS);
                continue;
            }
            assert(value->as.tensors[i] == (*next_tensor)++);
            assert(bound->tensors[value->as.tensors[i]].item == i);
        }
        break;
    case KR_TAG_INTS:
        for (uint32_t i = 0; i < value->count; i++)
            sum += (uint64_t) value->as.integers[i];
        break;
    case KR_TAG_DOUBLES:
        for (uint32_t i = 0; i < value->count; i++)
            sum += value->as.reals[i] > 0;
        break;
    case KR_TAG_BOOLS:
        for (uint32_t i = 0; i < value->count; i++)
            sum += value->as.booleans[i];
        break;
    case KR_TAG_SCALARS:
        for (uint32_t i = 0; i < value->count; i++)
            assert(value->as.scalars[i].tag >= KR_TAG_DOUBLE &&
                   value->as.scalars[i].tag <= KR_TAG_BOOL);
        break;
    case KR_TAG_STRING: sum += strlen(value->as.string); break;
    default: break;
    }
    return sum;
}

static void check_bound(const kr_schema *schema, const kr_bound *bound)
{
    assert(bound->schema == schema && bound->n_values == schema->n_args);
    uint32_t next_tensor = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bound->n_values; i++) {
        const kr_bound_value *value = &bound->values[i];
        const kr_type *type = &schema->args[i].type;
        if (value->tag == KR_TAG_NONE)
            assert(kr_type_is_optional(type));
        else if (type->base == KR_TYPE_SCALAR)
            assert(kr_type_is_list(type)
                       ? value->tag == KR_TAG_SCALARS
                       : value->tag >= KR_TAG_DOUBLE && value->tag <= KR_TAG_BOOL);
        else
            assert(value->tag == tag_of(type));
        sum += read_value(bound, value, i, &next_tensor);
    }
    assert(next_tensor == bound->n_tensors);
    for (uint32_t i = 0; i < bound->n_tensors; i++)
        assert(bound->tensors[i].is_output == schema->args[bound->tensors[i].argument].is_output);
    kr_key key;
    if (kr_key_of_call(bound, &key))
        sum += kr_key_hash(&key);
    volatile uint64_t sink = sum;
    (void) sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    const char *text = schemas[take(&input) % N_SCHEMAS];
    const kr_bind_options options = { .numbers_as_tensors = take(&input) & 1 };
    size_t limit = (size_t) take(&input) * 256;
    kr_schema *schema = NULL;
    kr_error err = { 0 };
    if (kr_schema_parse(text, strlen(text), &schema, &err))
        abort();
    static struct store store;
    kr_argument args[MOST_ARGS];
    uint32_t n_args = 0;
    while (input.at < input.end && n_args < MOST_ARGS) {
        uint8_t name = take(&input);
        args[n_args].name = name < 128 ? NULL : names[name % N_NAMES];
        args[n_args].value = take_value(&input, &store, n_args, 0, false);
        n_args++;
    }
    kr_arena arena;
    kr_arena_init(&arena, limit);
    kr_bound bound;
    int code = kr_bind(schema, &options, args, n_args, &arena, &bound, &err);
    assert(arena.used <= limit);
    if (code == 0) {
        check_bound(schema, &bound);
    } else {
        assert(code == KR_CODE_TYPE || code == KR_CODE_VALUE || code == KR_CODE_DEVICE ||
               code == KR_CODE_LIMIT);
        assert(err.code == code && strncmp(err.text, "aten::", 6) == 0);
    }
    kr_arena_done(&arena);
    kr_schema_free(schema);
    return 0;
}
