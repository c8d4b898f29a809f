// SPDX-License-Identifier: Apache-2.0
/* Kernel keys: read in any spelling, kept as data, written in one; and the key of a call. */
#define XXH_INLINE_ALL
#include "key_pack.h"
#include "text.h"
#include <kernrig/dtype.h>
#include <kernrig/key.h>
#include <kernrig/schema.h>
#include <xxhash.h>

/* Keys as data. */

bool kr_key_equal(const kr_key *a, const kr_key *b)
{
    if (a->n_sections != b->n_sections)
        return false;
    for (uint32_t i = 0; i < a->n_sections; i++) {
        const kr_key_section *left = &a->sections[i], *right = &b->sections[i];
        if (left->dtype != right->dtype || left->dim != right->dim ||
            memcmp(left->order, right->order, left->dim) != 0)
            return false;
    }
    return true;
}

size_t kr_key_pack(const kr_key *key, uint8_t packed[KR_KEY_PACKED])
{
    size_t length = 0;
    for (uint32_t i = 0; i < key->n_sections; i++) {
        const kr_key_section *section = &key->sections[i];
        packed[length++] = section->dtype;
        packed[length++] = section->dim;
        memcpy(packed + length, section->order, section->dim);
        length += section->dim;
    }
    return length;
}

uint64_t kr_key_hash(const kr_key *key)
{
    uint8_t packed[KR_KEY_PACKED];
    return XXH3_64bits(packed, kr_key_pack(key, packed));
}

size_t kr_key_print(const kr_key *key, char data[KR_KEY_TEXT])
{
    kr_text text = { data, KR_KEY_TEXT, 0 };
    kr_text_add(&text, "v1/");
    for (uint32_t i = 0; i < key->n_sections; i++) {
        const kr_key_section *section = &key->sections[i];
        kr_text_add(&text, "%s%u;", i ? "|" : "", section->dtype);
        for (uint32_t j = 0; j < section->dim; j++)
            kr_text_add(&text, "%s%u", j ? "," : "", section->order[j]);
    }
    return text.length;
}

static bool is_tensor_argument(const kr_type *type)
{
    return type->base == KR_TYPE_TENSOR && !kr_type_is_list(type);
}

bool kr_key_of_call(const kr_bound *bound, kr_key *ret)
{
    kr_key key;
    key.n_sections = 0;
    for (uint32_t i = 0; i < bound->n_values; i++) {
        if (bound->values[i].tag != KR_TAG_TENSOR)
            continue;
        if (key.n_sections == KR_KEY_SECTIONS)
            return false;
        const kr_tensor_ref *ref = &bound->tensors[bound->values[i].as.tensor].ref;
        kr_key_section *section = &key.sections[key.n_sections++];
        section->dtype = ref->dtype;
        section->dim = ref->dim;
        if (!kr_dim_order(ref->dim, ref->sizes, ref->strides, section->order))
            return false;
    }
    ret->n_sections = key.n_sections;
    memcpy(ret->sections, key.sections, key.n_sections * sizeof *key.sections);
    return true;
}

/* Reading. */

struct reader {
    const char *begin, *next, *end;
    kr_error *err;
};

KR_PRINTF(2, 3) static int fail(const struct reader *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    kr_error_setv(in->err, KR_CODE_KEY, format, args);
    va_end(args);
    size_t length = (size_t) (in->end - in->begin);
    if (in->err)
        kr_error_wrap(in->err, "kernel key '%.*s%s'", length > 200 ? 200 : (int) length, in->begin,
                      length > 200 ? "…" : "");
    return KR_CODE_KEY;
}

/* The next character that is no space; 0 at the end. */
static char look(struct reader *in)
{
    while (in->next < in->end && (*in->next == ' ' || *in->next == '\t'))
        in->next++;
    return in->next < in->end ? *in->next : 0;
}

static bool take(struct reader *in, char c)
{
    bool taken = look(in) == c && c;
    in->next += taken;
    return taken;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A number of at most two digits, as ExecuTorch's are; -1 if there is none. */
static int read_number(struct reader *in)
{
    if (!is_digit(look(in)))
        return -1;
    int value = 0, n = 0;
    for (; in->next < in->end && is_digit(*in->next); in->next++, n++)
        value = n < 2 ? value * 10 + (*in->next - '0') : 100;
    return value;
}

static int read_dtype(struct reader *in, uint8_t *ret)
{
    char first = look(in);
    int dtype = -1;
    const char *begin = in->next;
    if (is_digit(first)) {
        dtype = read_number(in);
    } else {
        while (in->next < in->end && !strchr(";|, \t", *in->next))
            in->next++;
        dtype = kr_dtype_parse(begin, (size_t) (in->next - begin));
    }
    size_t length = (size_t) (in->next - begin);
    if (length == 0)
        return fail(in, "a section begins with a dtype, as 6;0,1 or float32;0,1");
    if (!kr_dtype_size(dtype)) {
        const char *name = kr_dtype_name(dtype);
        return fail(in, "kernrig has no dtype '%.*s'%s%s%s", length > 40 ? 40 : (int) length, begin,
                    name ? " (" : "", name ? name : "", name ? ")" : "");
    }
    *ret = (uint8_t) dtype;
    return 0;
}

static int read_section(struct reader *in, kr_key_section *ret)
{
    kr_key_section section = { 0 };
    int code = read_dtype(in, &section.dtype);
    if (code)
        return code;
    if (!take(in, ';'))
        return fail(in, "a dtype and ';' come before a dim order");
    bool seen[KR_MAX_DIMS] = { false };
    while (is_digit(look(in))) {
        int dim = read_number(in);
        if (dim >= KR_MAX_DIMS || section.dim == KR_MAX_DIMS)
            return fail(in, "a tensor has at most %d dims", KR_MAX_DIMS);
        if (seen[dim])
            return fail(in, "dim %d stands twice in a dim order", dim);
        seen[dim] = true;
        section.order[section.dim++] = (uint8_t) dim;
        /* Python writes a tuple of one with a comma behind it, hence "6;0,". */
        if (!take(in, ','))
            break;
    }
    for (int i = 0; i < section.dim; i++)
        if (section.order[i] >= section.dim)
            return fail(in, "a dim order of %d dims has no dim %d", section.dim, section.order[i]);
    *ret = section;
    return 0;
}

/* One more section than a canonical key may have is read: it may be the return slot's. */
static int read_sections(struct reader *in, kr_key_section sections[KR_KEY_SECTIONS + 1],
                         uint32_t *ret)
{
    uint32_t count = 0;
    if (look(in) == 'v') {
        in->next++;
        int version = read_number(in);
        if (version < 0 || !take(in, '/'))
            return fail(in, "a version is written as v1/");
        if (version != 1)
            return fail(in, "only version 1 is known");
        if (!look(in) && in->next == in->end) {
            *ret = 0;
            return 0;
        }
    }
    do {
        if (count > KR_KEY_SECTIONS)
            return fail(in, "a key has at most %d sections", KR_KEY_SECTIONS);
        int code = read_section(in, &sections[count++]);
        if (code)
            return code;
    } while (take(in, '|'));
    look(in);
    if (in->next != in->end)
        return fail(in, "'|' comes between sections, ',' between dims");
    *ret = count;
    return 0;
}

/* How many sections a call of a schema has, and where the section of the returned argument is. */
struct shape {
    uint32_t least, most;
    bool has_return_slot; /* ExecuTorch's: a tensor that the operator returns */
    int32_t returned;     /* index of the argument that is returned, or -1 */
    uint32_t before, after, optional_before, optional_after; /* tensors around it */
};

static struct shape shape_of(const kr_schema *schema)
{
    struct shape shape = { .returned = -1 };
    if (schema->n_returns == 1 && schema->returns[0].type.base == KR_TYPE_TENSOR &&
        schema->returns[0].type.n_suffixes == 0) {
        shape.has_return_slot = true;
        shape.returned = schema->returns_alias[0];
        /* Only of a tensor that is never absent is it certain that it has a section. */
        if (shape.returned >= 0 && (schema->args[shape.returned].type.base != KR_TYPE_TENSOR ||
                                    schema->args[shape.returned].type.n_suffixes))
            shape.returned = -1;
    }
    for (uint32_t i = 0; i < schema->n_args; i++) {
        const kr_type *type = &schema->args[i].type;
        if (!is_tensor_argument(type))
            continue;
        bool optional = kr_type_is_optional(type);
        shape.least += !optional;
        shape.most++;
        if ((int32_t) i < shape.returned) {
            shape.before++;
            shape.optional_before += optional;
        } else if ((int32_t) i > shape.returned) {
            shape.after++;
            shape.optional_after += optional;
        }
    }
    return shape;
}

/* Whether the section of the return slot, which is behind count others, contradicts that of the
 * argument that is returned: they are one tensor. Which section is the argument's may depend on
 * what is absent; then nothing is said. */
static bool contradicts(const struct shape *shape, const kr_key_section *sections, uint32_t count)
{
    uint32_t at = 0;
    if (shape->returned < 0)
        return false;
    if (shape->optional_before == 0 || count == shape->most)
        at = shape->before;
    else if (shape->optional_after == 0)
        at = count - 1 - shape->after;
    else
        return false;
    const kr_key_section *own = &sections[at], *slot = &sections[count];
    return own->dtype != slot->dtype || own->dim != slot->dim ||
           memcmp(own->order, slot->order, own->dim) != 0;
}

static int refuse_count(const struct reader *in, const kr_schema *schema, const struct shape *shape,
                        uint32_t count)
{
    char names[200], wanted[40];
    kr_text text = { names, sizeof names, 0 };
    names[0] = 0;
    for (uint32_t i = 0; i < schema->n_args; i++)
        if (is_tensor_argument(&schema->args[i].type))
            kr_text_add(&text, "%s%s%s", text.length ? ", " : "", schema->args[i].name,
                        kr_type_is_optional(&schema->args[i].type) ? "?" : "");
    if (shape->least == shape->most)
        snprintf(wanted, sizeof wanted, "%u", shape->most);
    else
        snprintf(wanted, sizeof wanted, "%u to %u", shape->least, shape->most);
    return fail(in,
                "%s has %s tensor arguments (%s), and a key a section for each%s; this one has %u",
                schema->name, wanted, names,
                shape->has_return_slot ? ", perhaps one more for the return slot" : "", count);
}

/* How many of the sections are arguments'. */
static int drop_return_slot(const struct reader *in, const kr_schema *schema,
                            const kr_key_section *sections, uint32_t *count)
{
    const struct shape shape = shape_of(schema);
    bool plain = *count >= shape.least && *count <= shape.most;
    bool slot = shape.has_return_slot && *count > shape.least && *count - 1 <= shape.most;
    if (!plain && !slot)
        return refuse_count(in, schema, &shape, *count);
    if (slot && contradicts(&shape, sections, *count - 1)) {
        /* ExecuTorch could never match it; read as arguments only it may still. */
        if (!plain)
            return fail(in,
                        "the return slot's section differs from that of '%s', which is returned",
                        schema->args[shape.returned].name);
        slot = false;
    }
    *count -= slot;
    return 0;
}

int kr_key_parse(const char *text, size_t length, const kr_schema *schema, kr_key *ret,
                 kr_error *err)
{
    struct reader in = { text, text, text + length, err };
    kr_key_section sections[KR_KEY_SECTIONS + 1] = { 0 };
    uint32_t count = 0;
    int code = read_sections(&in, sections, &count);
    if (!code && schema)
        code = drop_return_slot(&in, schema, sections, &count);
    if (!code && count > KR_KEY_SECTIONS)
        code = fail(&in, "a key has at most %d sections", KR_KEY_SECTIONS);
    if (code)
        return code;
    *ret = (kr_key){ .n_sections = count };
    memcpy(ret->sections, sections, count * sizeof *sections);
    return 0;
}
