// SPDX-License-Identifier: Apache-2.0
#include "wire/worker.h"

static int checked(const struct wire_frame *frame, const char *what, kr_error *err)
{
    if (wire_done(&frame->body))
        return 0;
    return kr_error_set(err, KR_CODE_MALFORMED, "a malformed %s frame of %zu bytes", what,
                        frame->size);
}

void wire_put_hello(struct wire_writer *w, const struct wire_hello *hello)
{
    wire_put_text(w, hello->build_id);
    wire_put_u32(w, hello->pid);
}

int wire_get_hello(struct wire_frame *frame, struct wire_hello *ret, kr_error *err)
{
    struct wire_hello hello = { .build_id = wire_get_text(&frame->body, 64) };
    hello.pid = wire_get_u32(&frame->body);
    const int r = checked(frame, "HELLO", err);
    if (r == 0)
        *ret = hello;
    return r;
}

void wire_put_load(struct wire_writer *w, const struct wire_load *load)
{
    wire_put_text(w, load->library);
    wire_put_u64(w, load->load_ms);
    wire_put_u64(w, load->memory);
    wire_put_u64(w, load->scratch);
    wire_put_u32(w, load->max_kernels);
}

int wire_get_load(struct wire_frame *frame, struct wire_load *ret, kr_error *err)
{
    struct wire_load load = { .library = wire_get_text(&frame->body, WIRE_PATH) };
    load.load_ms = wire_get_u64(&frame->body);
    load.memory = wire_get_u64(&frame->body);
    load.scratch = wire_get_u64(&frame->body);
    load.max_kernels = wire_get_u32(&frame->body);
    const int r = checked(frame, "LOAD", err);
    if (r == 0)
        *ret = load;
    return r;
}

void wire_kernels_begin(struct wire_kernels_writer *k, uint8_t *buffer, size_t size)
{
    *k = (struct wire_kernels_writer){ .w = wire_begin(buffer, size, WIRE_KERNELS) };
    k->count_at = k->w.used;
    wire_put_u32(&k->w, 0);
}

bool wire_kernels_put(struct wire_kernels_writer *k, const struct wire_kernel *kernel)
{
    const size_t before = k->w.used;
    wire_put_text(&k->w, kernel->name);
    wire_put_text(&k->w, kernel->schema);
    wire_put_text(&k->w, kernel->key);
    wire_put_text(&k->w, kernel->isa);
    wire_put_u64(&k->w, kernel->dtypes);
    wire_put_u32(&k->w, kernel->layout);
    wire_put_u8(&k->w, kernel->in_place);
    if (k->w.full) {
        k->w.full = false;
        k->w.used = before;
        return false;
    }
    k->count++;
    return true;
}

const struct wire_writer *wire_kernels_end(struct wire_kernels_writer *k)
{
    memcpy(k->w.data + k->count_at, &k->count, sizeof k->count);
    return &k->w;
}

int wire_kernels_open(struct wire_frame *frame, uint32_t *ret_count, kr_error *err)
{
    *ret_count = wire_get_u32(&frame->body);
    return frame->body.bad ? checked(frame, "KERNELS", err) : 0;
}

int wire_kernels_next(struct wire_frame *frame, struct wire_kernel *ret, kr_error *err)
{
    struct wire_reader *r = &frame->body;
    if (wire_done(r))
        return 0;
    struct wire_kernel kernel = { .name = wire_get_text(r, WIRE_TEXT) };
    kernel.schema = wire_get_text(r, WIRE_SCHEMA);
    kernel.key = wire_get_text(r, WIRE_TEXT);
    kernel.isa = wire_get_text(r, WIRE_TEXT);
    kernel.dtypes = wire_get_u64(r);
    kernel.layout = wire_get_u32(r);
    kernel.in_place = wire_get_u8(r) != 0;
    if (r->bad)
        return checked(frame, "KERNELS", err);
    *ret = kernel;
    return 1;
}

void wire_put_failed(struct wire_writer *w, const char *text) { wire_put_text(w, text); }

int wire_get_failed(struct wire_frame *frame, const char **ret_text, kr_error *err)
{
    const char *text = wire_get_text(&frame->body, WIRE_TEXT);
    const int r = checked(frame, "FAILED", err);
    if (r == 0)
        *ret_text = text;
    return r;
}

void wire_put_map(struct wire_writer *w, const struct wire_map *maps, uint32_t n)
{
    wire_put_u32(w, n);
    for (uint32_t i = 0; i < n; i++) {
        wire_put_u64(w, maps[i].buffer);
        wire_put_u64(w, maps[i].size);
        wire_put_u8(w, maps[i].writable);
    }
}

int wire_get_map(struct wire_frame *frame, struct wire_map ret[WIRE_FDS_MAX], uint32_t *ret_n,
                 kr_error *err)
{
    const uint32_t n = wire_get_u32(&frame->body);
    for (uint32_t i = 0; i < n && i < WIRE_FDS_MAX; i++) {
        ret[i].buffer = wire_get_u64(&frame->body);
        ret[i].size = wire_get_u64(&frame->body);
        ret[i].writable = wire_get_u8(&frame->body) != 0;
    }
    if (n != frame->n_fds)
        frame->body.bad = true;
    *ret_n = n;
    return checked(frame, "MAP", err);
}

void wire_put_unmap(struct wire_writer *w, const uint64_t *buffers, uint32_t n)
{
    wire_put(w, buffers, n * sizeof *buffers);
}

int wire_get_unmap(struct wire_frame *frame, uint64_t *ret_buffer, kr_error *err)
{
    if (wire_done(&frame->body))
        return 0;
    const uint64_t buffer = wire_get_u64(&frame->body);
    if (frame->body.bad)
        return checked(frame, "UNMAP", err);
    *ret_buffer = buffer;
    return 1;
}

void wire_put_died(struct wire_writer *w, const struct wire_died *died)
{
    wire_put_u64(w, died->call);
    wire_put_u32(w, died->death);
    wire_put_i32(w, died->number);
    wire_put_text(w, died->text);
    wire_put_text(w, died->printed);
}

int wire_get_died(struct wire_frame *frame, struct wire_died *ret, kr_error *err)
{
    struct wire_reader *r = &frame->body;
    struct wire_died died = { .call = wire_get_u64(r) };
    died.death = wire_get_u32(r);
    died.number = wire_get_i32(r);
    died.text = wire_get_text(r, WIRE_TEXT);
    died.printed = wire_get_text(r, WIRE_PRINTED);
    const int result = checked(frame, "DIED", err);
    if (result == 0)
        *ret = died;
    return result;
}
