// SPDX-License-Identifier: Apache-2.0
/* The error record: what went wrong, as a number for programs and a sentence for people.
 *
 * A function that can fail returns 0 or a negative code, and sets the caller's record if and only
 * if it fails. The record has a fixed size and lives on the caller's stack, so nothing allocates
 * while failing. NULL is accepted everywhere by callers who only want the code. */
#ifndef KERNRIG_ERR_H
#define KERNRIG_ERR_H

#include <kernrig/kernel.h>
#include <stdarg.h>

#define KR_CHECK              __attribute__((warn_unused_result))
#define KR_PRINTF(nth, first) __attribute__((format(printf, nth, first)))

/* The kernels' own codes, KR_E_VALUE and so on, are enum kr_status in kernel.h; these continue
 * them. Both are plain ints wherever they travel together. */
typedef enum kr_error_code {
#define KR_STATUS(name, number, grpc, python, base, sentence) KR_CODE_##name = number,
#include <kernrig/status.def>
#undef KR_STATUS
} kr_error_code;

enum {
    KR_ERROR_TEXT = 1024,
    KR_LEAST_KERNEL_CODE = -19, /* status.def: codes below are never a kernel's own */
};

typedef struct kr_error {
    int code; /* 0, or one of kr_error_code */
    char text[KR_ERROR_TEXT];
} kr_error;

/* Sets the record. A text that does not fit is cut at a character and ends in "…". */
KR_PRINTF(3, 4) void kr_error_record(kr_error *err, int code, const char *format, ...);
KR_PRINTF(3, 0) int kr_error_setv(kr_error *err, int code, const char *format, va_list args);

/* Sets the record and returns code, so that a function can fail in one line. A macro, so that who
 * compiles or analyses the caller sees that what comes back is code, and not zero; code is
 * evaluated twice. */
static inline int kr_error_code_of(int code) { return code; }
#define kr_error_set(err, code, ...) \
    (kr_error_record((err), (code), __VA_ARGS__), kr_error_code_of(code))

/* Puts what we were doing, and ": ", before what went wrong; returns the record's code. */
KR_PRINTF(2, 3) int kr_error_wrap(kr_error *err, const char *format, ...);

/* "SHAPE", or NULL if no such code exists. */
const char *kr_code_name(int code);
/* "sizes do not fit each other", or NULL. */
const char *kr_code_sentence(int code);
/* The gRPC status code's number; INTERNAL for a code that does not exist. */
int kr_code_grpc(int code);

#endif
