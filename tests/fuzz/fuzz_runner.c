// SPDX-License-Identifier: Apache-2.0
/* Any frame that a runner can send, as the monitor reads it; and what the monitor makes of it must
 * be read by the daemon without complaint. */
#include "wire/call.h"
#include "wire/worker.h"

static uint8_t again[WIRE_FRAME_MAX + 64];

static struct wire_frame reread(const struct wire_writer *w)
{
    if (w->full)
        abort();
    return (struct wire_frame){ .bytes = w->data,
                                .size = w->used,
                                .body = { .next = w->data + 4, .end = w->data + w->used } };
}

static void try_answer(struct wire_frame frame)
{
    struct wire_answer answer;
    kr_arena arena;
    kr_arena_init(&arena, 4 * WIRE_FRAME_MAX);
    if (wire_get_answer(&frame, &arena, &answer, NULL) == 0) {
        struct wire_writer w = wire_begin(again, sizeof again, WIRE_DONE);
        wire_put_answer(&w, &answer);
        struct wire_frame second = reread(&w);
        if (wire_get_answer(&second, &arena, &answer, NULL) < 0)
            abort();
    }
    kr_arena_done(&arena);
}

static void try_kernels(struct wire_frame frame)
{
    struct wire_kernels_writer out;
    struct wire_kernel kernel;
    uint32_t count, seen = 0;
    if (wire_kernels_open(&frame, &count, NULL) < 0)
        return;
    wire_kernels_begin(&out, again, sizeof again);
    while (wire_kernels_next(&frame, &kernel, NULL) == 1)
        seen += wire_kernels_put(&out, &kernel);
    struct wire_frame second = reread(wire_kernels_end(&out));
    if (wire_kernels_open(&second, &count, NULL) < 0 || count != seen)
        abort();
    while (wire_kernels_next(&second, &kernel, NULL) == 1)
        seen--;
    if (seen)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct wire_frame frame = { .bytes = data,
                                      .size = size,
                                      .body = { .next = data, .end = data + size } };
    const char *text;
    struct wire_hello hello;
    struct wire_frame copy = frame;
    if (size > WIRE_FRAME_MAX)
        return 0;
    try_answer(frame);
    try_kernels(frame);
    if (wire_get_failed(&copy, &text, NULL) == 0 && strlen(text) > WIRE_TEXT)
        abort();
    copy = frame;
    if (wire_get_hello(&copy, &hello, NULL) == 0 && strlen(hello.build_id) > 64)
        abort();
    return 0;
}
