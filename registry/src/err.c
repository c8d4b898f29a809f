// SPDX-License-Identifier: Apache-2.0
/* Texts and gRPC numbers of the table of errors, and the record that carries one.
 *
 * Whatever is formatted into a record, it holds valid UTF-8 afterwards: texts end in protobuf
 * messages, whose strings must be, while names in them may come from a hostile library. */
#include <kernrig/err.h>

/* gRPC's status codes by the names that status.def uses, from its documentation; the registry
 * does not see gRPC's headers. */
enum {
    GRPC_CANCELLED = 1,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
};

#define AGREES(name, number) \
    _Static_assert((int) KR_CODE_##name == (number), "status.def differs from kernel.h: " #name);
KR_FOR_KERNEL_STATUSES(AGREES)
#undef AGREES

static const struct code {
    int code, grpc;
    const char *name, *sentence;
} codes[] = {
#define KR_STATUS(name, number, grpc, python, base, sentence) \
    { number, GRPC_##grpc, #name, sentence },
#include <kernrig/status.def>
#undef KR_STATUS
};

static const struct code *find(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return &codes[i];
    return NULL;
}

const char *kr_code_name(int code)
{
    const struct code *found = find(code);
    return found ? found->name : NULL;
}

const char *kr_code_sentence(int code)
{
    const struct code *found = find(code);
    return found ? found->sentence : NULL;
}

int kr_code_grpc(int code)
{
    const struct code *found = find(code);
    return found ? found->grpc : GRPC_INTERNAL;
}

/* Bytes of the UTF-8 character at text, of which left bytes are there; 0 if it is none. Overlong
 * forms, surrogates and numbers beyond U+10FFFF are none. */
static size_t character(const unsigned char *text, size_t left)
{
    unsigned char lead = text[0];
    if (lead < 0x80)
        return 1;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > left)
        return 0;
    unsigned char low = 0x80, high = 0xbf; /* of the second byte */
    if (lead == 0xe0)
        low = 0xa0;
    if (lead == 0xf0)
        low = 0x90;
    if (lead == 0xed)
        high = 0x9f;
    if (lead == 0xf4)
        high = 0x8f;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    return length;
}

/* Bytes that are no character become '?'; a character that does not fit into room ends the text,
 * so that the last one is never cut through. Returns the bytes that are kept. */
static size_t make_valid(char *text, size_t length, size_t room)
{
    size_t at = 0;
    while (at < length) {
        size_t step = character((const unsigned char *) text + at, length - at);
        if (step == 0) {
            text[at] = '?';
            step = 1;
        }
        if (at + step > room)
            break;
        at += step;
    }
    return at;
}

int kr_error_setv(kr_error *err, int code, const char *format, va_list args)
{
    if (!err)
        return code;
    static const char ellipsis[] = "…";
    /* Formatted aside, because an argument may be the record's own text; with some bytes to spare,
     * so that the character at the cut is there as a whole. */
    char text[KR_ERROR_TEXT + 8];
    int written = vsnprintf(text, sizeof text, format, args);
    size_t length = written < 0 ? 0 : (size_t) written;
    err->code = code;
    bool fits = length < sizeof err->text;
    if (length > sizeof text - 1)
        length = sizeof text - 1;
    size_t kept = make_valid(text, length, fits ? length : sizeof err->text - sizeof ellipsis);
    memcpy(err->text, text, kept);
    if (fits)
        err->text[kept] = 0;
    else
        memcpy(err->text + kept, ellipsis, sizeof ellipsis);
    return code;
}

void kr_error_record(kr_error *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    kr_error_setv(err, code, format, args);
    va_end(args);
}

int kr_error_wrap(kr_error *err, const char *format, ...)
{
    /* Without a record the code is lost; what is left to say is that something failed. */
    if (!err)
        return KR_CODE_INTERNAL;
    kr_error doing;
    va_list args;
    va_start(args, format);
    kr_error_setv(&doing, err->code, format, args);
    va_end(args);
    return kr_error_set(err, err->code, "%s: %s", doing.text, err->text);
}
