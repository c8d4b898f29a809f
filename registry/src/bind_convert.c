// SPDX-License-Identifier: Apache-2.0
/* What Python gave becomes what the schema wants, or an error in PyTorch's words.
 *
 * torch.ops is the model, as probed with PyTorch 2.15, with these differences: it lets None, a
 * float or a list pass for a bool and a dtype for an int, which hides mistakes and is refused; it
 * reads the value of a tensor that is given for a number, which nobody here can, since the daemon
 * maps no tensor. It does not hold int[2] to two items, and neither do we: what the size means is
 * the kernel's business. */
#include "bind_convert.h"
#include "schema_parser.h"
#include <kernrig/dtype.h>

static const char *kind_name(kr_kind kind)
{
    switch (kind) {
    case KR_KIND_NONE: return "NoneType";
    case KR_KIND_BOOL: return "bool";
    case KR_KIND_INT: return "int";
    case KR_KIND_FLOAT: return "float";
    case KR_KIND_STRING: return "str";
    case KR_KIND_DTYPE: return "torch.dtype";
    case KR_KIND_LAYOUT: return "torch.layout";
    case KR_KIND_MEMORY_FORMAT: return "torch.memory_format";
    case KR_KIND_DEVICE: return "torch.device";
    case KR_KIND_TENSOR: return "Tensor";
    case KR_KIND_LIST: return "list";
    }
    return "unknown kind";
}

static const kr_schema_argument *argument_of(const kr_conversion *to)
{
    return &to->schema->args[to->argument];
}

/* Fails with "aten::add.out() argument 'other' (position 1) " and what format says. */
KR_PRINTF(3, 4) static int fail(const kr_conversion *to, int code, const char *format, ...)
{
    kr_error problem;
    va_list args;
    va_start(args, format);
    kr_error_setv(&problem, code, format, args);
    va_end(args);
    char position[40] = "";
    if (to->position != KR_BY_KEYWORD)
        snprintf(position, sizeof position, " (position %lld)", (long long) to->position);
    return kr_error_set(to->err, code, "%s() argument '%.200s'%s %s", to->schema->name,
                        argument_of(to)->name, position, problem.text);
}

/* Wrong in kind: as a whole, or (item is not NULL) in an item. */
static int wrong_kind(const kr_conversion *to, const kr_given *value, const kr_given *item)
{
    char wanted[128];
    kr_text text = { wanted, sizeof wanted, 0 };
    kr_print_type(&text, &argument_of(to)->type, false);
    if (item)
        return fail(to, KR_CODE_TYPE, "must be %s, but found element of type %s at pos %zu", wanted,
                    kind_name(item->kind), (size_t) (item - value->as.items));
    return fail(to, KR_CODE_TYPE, "must be %s, not %s", wanted, kind_name(value->kind));
}

static int full(const kr_conversion *to)
{
    return fail(to, KR_CODE_LIMIT, "is too large: the call exceeds its memory");
}

/* Names of enums. */

/* c10::Layout's and c10::MemoryFormat's numbers, in order. */
static const char *const layouts[] = { "strided",    "sparse_coo", "sparse_csr", "_mkldnn",
                                       "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged" };
static const char *const memory_formats[] = { "contiguous_format", "preserve_format",
                                              "channels_last", "channels_last_3d" };
enum { N_LAYOUTS = 8, N_MEMORY_FORMATS = 4 };

static int64_t find_name(const kr_given *value, const char *const *names, int64_t count)
{
    const char *text = value->as.string;
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (int64_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

/* Of ours by any spelling, of the rest by PyTorch's name. */
static int64_t find_dtype(const kr_given *value)
{
    const char *text = value->as.string;
    int dtype = kr_dtype_parse(text, strlen(text));
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (int i = 0; dtype < 0 && kr_dtype_name(i); i++)
        if (strcmp(text, kr_dtype_name(i)) == 0)
            dtype = i;
    return dtype;
}

struct enumeration {
    kr_kind kind;
    const char *what;
    const char *const *names; /* NULL: dtypes */
    int64_t count;
};

static const struct enumeration dtype_numbers = { KR_KIND_DTYPE, "dtype", NULL, 0 };
static const struct enumeration layout_numbers = { KR_KIND_LAYOUT, "layout", layouts, N_LAYOUTS };
static const struct enumeration memory_format_numbers = { KR_KIND_MEMORY_FORMAT, "memory format",
                                                          memory_formats, N_MEMORY_FORMATS };

static int convert_enum(const kr_conversion *to, const kr_given *value,
                        const struct enumeration *numbers, kr_bound_value *ret)
{
    int64_t number = -1;
    if (value->kind == KR_KIND_STRING) {
        number = numbers->names ? find_name(value, numbers->names, numbers->count)
                                : find_dtype(value);
        if (number < 0)
            return fail(to, KR_CODE_VALUE, "is '%.100s', which is no %s", value->as.string,
                        numbers->what);
    } else if (value->kind == numbers->kind || value->kind == KR_KIND_INT) {
        number = value->as.integer;
        bool known = numbers->names ? number >= 0 && number < numbers->count
                                    : number >= 0 && number < 256 && kr_dtype_name((int) number);
        if (!known)
            return fail(to, KR_CODE_VALUE, "is %lld, which is the number of no %s",
                        (long long) number, numbers->what);
    } else {
        return wrong_kind(to, value, NULL);
    }
    *ret = (kr_bound_value){ .tag = KR_TAG_INT, .as.integer = number };
    return 0;
}

/* "cpu" or "cpu:0": a number behind the colon has no meaning, as in PyTorch. */
static int convert_device(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    if (value->kind != KR_KIND_DEVICE && value->kind != KR_KIND_STRING)
        return wrong_kind(to, value, NULL);
    const char *text = value->as.string;
    bool cpu = strncmp(text, "cpu", 3) == 0 && (!text[3] || text[3] == ':');
    if (cpu && text[3])
        cpu = text[4] && text[4 + strspn(text + 4, "0123456789")] == 0;
    if (!cpu)
        return fail(to, KR_CODE_DEVICE, "is '%.100s', but kernels run on the CPU only", text);
    *ret = (kr_bound_value){ .tag = KR_TAG_INT };
    return 0;
}

/* Numbers. */

static bool as_int(const kr_given *value, int64_t *ret)
{
    if (value->kind != KR_KIND_INT && value->kind != KR_KIND_BOOL)
        return false;
    *ret = value->kind == KR_KIND_BOOL ? value->as.boolean : value->as.integer;
    return true;
}

static bool as_real(const kr_given *value, double *ret)
{
    int64_t integer = 0;
    if (value->kind == KR_KIND_FLOAT)
        *ret = value->as.real;
    else if (as_int(value, &integer))
        *ret = (double) integer;
    else
        return false;
    return true;
}

static bool as_scalar(const kr_given *value, kr_bound_value *ret)
{
    switch (value->kind) {
    case KR_KIND_BOOL:
        *ret = (kr_bound_value){ .tag = KR_TAG_BOOL, .as.boolean = value->as.boolean };
        return true;
    case KR_KIND_INT:
        *ret = (kr_bound_value){ .tag = KR_TAG_INT, .as.integer = value->as.integer };
        return true;
    case KR_KIND_FLOAT:
        *ret = (kr_bound_value){ .tag = KR_TAG_DOUBLE, .as.real = value->as.real };
        return true;
    default: return false;
    }
}

static int convert_number(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    kr_bound_value bound = { 0 };
    bool fits = false;
    switch (argument_of(to)->type.base) {
    case KR_TYPE_INT:
    case KR_TYPE_SYM_INT:
        bound.tag = KR_TAG_INT;
        fits = as_int(value, &bound.as.integer);
        break;
    case KR_TYPE_FLOAT:
    case KR_TYPE_SYM_FLOAT:
        bound.tag = KR_TAG_DOUBLE;
        fits = as_real(value, &bound.as.real);
        break;
    case KR_TYPE_SCALAR: fits = as_scalar(value, &bound); break;
    default: /* bool, SymBool */
        bound.tag = KR_TAG_BOOL;
        fits = value->kind == KR_KIND_BOOL;
        if (fits)
            bound.as.boolean = value->as.boolean;
        break;
    }
    if (!fits)
        return wrong_kind(to, value, NULL);
    *ret = bound;
    return 0;
}

/* Tensors. */

static uint32_t add_tensor(const kr_conversion *to, const kr_tensor_ref *ref, uint32_t item)
{
    kr_bound *bound = to->bound;
    bound->tensors[bound->n_tensors] = (kr_bound_tensor){
        .ref = *ref,
        .argument = to->argument,
        .item = item,
        .is_output = argument_of(to)->is_output,
    };
    return bound->n_tensors++;
}

/* A Python number as PyTorch wraps it: 0-d, of the widest dtype of its kind. */
static bool wrap_number(const kr_given *value, kr_tensor_ref *ret)
{
    kr_tensor_ref ref = { .wrapped = true };
    switch (value->kind) {
    case KR_KIND_BOOL:
        ref.dtype = KR_BOOL;
        ref.number.boolean = value->as.boolean;
        break;
    case KR_KIND_INT:
        ref.dtype = KR_INT64;
        ref.number.integer = value->as.integer;
        break;
    case KR_KIND_FLOAT:
        ref.dtype = KR_FLOAT64;
        ref.number.real = value->as.real;
        break;
    default: return false;
    }
    *ret = ref;
    return true;
}

static int convert_tensor(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    kr_tensor_ref wrapped;
    const kr_tensor_ref *ref = value->kind == KR_KIND_TENSOR ? value->as.tensor : NULL;
    if (!ref && to->numbers_as_tensors && !argument_of(to)->is_output &&
        wrap_number(value, &wrapped))
        ref = &wrapped;
    if (!ref)
        return wrong_kind(to, value, NULL);
    *ret = (kr_bound_value){ .tag = KR_TAG_TENSOR, .as.tensor = add_tensor(to, ref, 0) };
    return 0;
}

/* Lists. */

static int convert_tensors(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    bool optional = kr_type_has_optional_items(&argument_of(to)->type);
    uint32_t *tensors = kr_arena_array(to->arena, value->count, sizeof *tensors);
    if (!tensors)
        return full(to);
    for (uint32_t i = 0; i < value->count; i++) {
        const kr_given *item = &value->as.items[i];
        if (item->kind == KR_KIND_TENSOR)
            tensors[i] = add_tensor(to, item->as.tensor, i);
        else if (item->kind == KR_KIND_NONE && optional)
            tensors[i] = KR_NO_TENSOR;
        else
            return wrong_kind(to, value, item);
    }
    *ret = (kr_bound_value){ .tag = optional ? KR_TAG_OPTIONAL_TENSORS : KR_TAG_TENSORS,
                             .count = value->count,
                             .as.tensors = tensors };
    return 0;
}

static int convert_ints(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    int64_t *integers = kr_arena_array(to->arena, value->count, sizeof *integers);
    if (!integers)
        return full(to);
    for (uint32_t i = 0; i < value->count; i++)
        if (!as_int(&value->as.items[i], &integers[i]))
            return wrong_kind(to, value, &value->as.items[i]);
    *ret = (kr_bound_value){ .tag = KR_TAG_INTS, .count = value->count, .as.integers = integers };
    return 0;
}

static int convert_reals(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    double *reals = kr_arena_array(to->arena, value->count, sizeof *reals);
    if (!reals)
        return full(to);
    for (uint32_t i = 0; i < value->count; i++)
        if (!as_real(&value->as.items[i], &reals[i]))
            return wrong_kind(to, value, &value->as.items[i]);
    *ret = (kr_bound_value){ .tag = KR_TAG_DOUBLES, .count = value->count, .as.reals = reals };
    return 0;
}

static int convert_bools(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    bool *booleans = kr_arena_array(to->arena, value->count, sizeof *booleans);
    if (!booleans)
        return full(to);
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->as.items[i].kind != KR_KIND_BOOL)
            return wrong_kind(to, value, &value->as.items[i]);
        booleans[i] = value->as.items[i].as.boolean;
    }
    *ret = (kr_bound_value){ .tag = KR_TAG_BOOLS, .count = value->count, .as.booleans = booleans };
    return 0;
}

static int convert_scalars(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    kr_bound_value *scalars = kr_arena_array(to->arena, value->count, sizeof *scalars);
    if (!scalars)
        return full(to);
    for (uint32_t i = 0; i < value->count; i++)
        if (!as_scalar(&value->as.items[i], &scalars[i]))
            return wrong_kind(to, value, &value->as.items[i]);
    *ret = (kr_bound_value){ .tag = KR_TAG_SCALARS, .count = value->count, .as.scalars = scalars };
    return 0;
}

/* A number for int[2] or float[2], repeated. */
static int repeat(const kr_conversion *to, const kr_given *value, kr_given *ret)
{
    int32_t size = kr_type_list_size(&argument_of(to)->type);
    kr_given *items = kr_arena_array(to->arena, (size_t) size, sizeof *items);
    if (!items)
        return full(to);
    for (int32_t i = 0; i < size; i++)
        items[i] = *value;
    *ret = (kr_given){ .kind = KR_KIND_LIST, .count = (uint32_t) size, .as.items = items };
    return 0;
}

static bool is_number(const kr_given *value, kr_base_type base)
{
    int64_t integer = 0;
    double real = 0;
    if (base == KR_TYPE_INT || base == KR_TYPE_SYM_INT)
        return as_int(value, &integer);
    return base == KR_TYPE_FLOAT && as_real(value, &real);
}

/* A kernel's argument cannot hold it, whatever is given. */
static int unsupported(const kr_conversion *to)
{
    char type[128];
    kr_text text = { type, sizeof type, 0 };
    kr_print_type(&text, &argument_of(to)->type, false);
    return fail(to, KR_CODE_TYPE, "is of type %s, which no kernel can be given", type);
}

static int convert_list(const kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    const kr_type *type = &argument_of(to)->type;
    uint32_t own = kr_type_is_optional(type) + 1u; /* suffixes of a plain list */
    if (type->n_suffixes != own && (type->base != KR_TYPE_TENSOR || type->n_suffixes != own + 1 ||
                                    !kr_type_has_optional_items(type)))
        return unsupported(to);
    kr_given repeated = { 0 };
    if (kr_type_list_size(type) > 0 && is_number(value, type->base)) {
        int code = repeat(to, value, &repeated);
        if (code)
            return code;
        value = &repeated;
    }
    if (value->kind != KR_KIND_LIST)
        return wrong_kind(to, value, NULL);
    switch (type->base) {
    case KR_TYPE_TENSOR: return convert_tensors(to, value, ret);
    case KR_TYPE_INT:
    case KR_TYPE_SYM_INT: return convert_ints(to, value, ret);
    case KR_TYPE_FLOAT: return convert_reals(to, value, ret);
    case KR_TYPE_BOOL: return convert_bools(to, value, ret);
    case KR_TYPE_SCALAR: return convert_scalars(to, value, ret);
    default: return unsupported(to);
    }
}

/* Any type. */

size_t kr_count_tensors(const kr_type *type, const kr_given *value)
{
    if (type->base != KR_TYPE_TENSOR)
        return 0;
    return value->kind == KR_KIND_LIST ? value->count : 1;
}

int kr_convert(kr_conversion *to, const kr_given *value, kr_bound_value *ret)
{
    const kr_type *type = &argument_of(to)->type;
    if (value->kind == KR_KIND_NONE && kr_type_is_optional(type)) {
        *ret = (kr_bound_value){ .tag = KR_TAG_NONE };
        return 0;
    }
    if (kr_type_is_list(type))
        return convert_list(to, value, ret);
    switch (type->base) {
    case KR_TYPE_TENSOR: return convert_tensor(to, value, ret);
    case KR_TYPE_INT:
    case KR_TYPE_SYM_INT:
    case KR_TYPE_FLOAT:
    case KR_TYPE_SYM_FLOAT:
    case KR_TYPE_BOOL:
    case KR_TYPE_SYM_BOOL:
    case KR_TYPE_SCALAR: return convert_number(to, value, ret);
    case KR_TYPE_SCALAR_TYPE: return convert_enum(to, value, &dtype_numbers, ret);
    case KR_TYPE_LAYOUT: return convert_enum(to, value, &layout_numbers, ret);
    case KR_TYPE_MEMORY_FORMAT: return convert_enum(to, value, &memory_format_numbers, ret);
    case KR_TYPE_DEVICE: return convert_device(to, value, ret);
    case KR_TYPE_STRING:
        if (value->kind != KR_KIND_STRING)
            return wrong_kind(to, value, NULL);
        *ret = (kr_bound_value){ .tag = KR_TAG_STRING,
                                 .count = value->count,
                                 .as.string = value->as.string };
        return 0;
    case KR_TYPE_GENERATOR:
        if (kr_type_is_optional(type))
            return fail(to, KR_CODE_TYPE, "must be None, not %s: kernels get no generators",
                        kind_name(value->kind));
        return unsupported(to);
    default: return unsupported(to);
    }
}
