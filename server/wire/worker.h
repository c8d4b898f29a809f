// SPDX-License-Identifier: Apache-2.0
/* What daemon, monitor and runner say to each other, apart from calls (wire/call.h).
 *
 * Down: LOAD, MAP, UNMAP, CALL; the monitor passes them on to the runner as they are. Up: HELLO,
 * KERNELS, READY, FAILED, DONE; the monitor decodes what the runner says and encodes it anew, so
 * that the daemon never reads a byte of a runner's. DIED is the monitor's own. */
#ifndef WIRE_WORKER_H
#define WIRE_WORKER_H

#include "wire/frame.h"

enum {
    WIRE_PATH = 4096,
    WIRE_PRINTED = 4096, /* of what a kernel printed: the last of it */
    WIRE_SCHEMA = 8192,
};

struct wire_hello {
    const char *build_id;
    uint32_t pid; /* of the sender */
};
void wire_put_hello(struct wire_writer *w, const struct wire_hello *hello);
KR_CHECK int wire_get_hello(struct wire_frame *frame, struct wire_hello *ret, kr_error *err);

struct wire_load {
    const char *library; /* absolute path */
    uint64_t load_ms;    /* for loading, constructors included */
    uint64_t memory;     /* bytes of private memory that the runner may have */
    uint64_t scratch;    /* bytes of scratch memory in one call */
    uint32_t max_kernels;
};
void wire_put_load(struct wire_writer *w, const struct wire_load *load);
KR_CHECK int wire_get_load(struct wire_frame *frame, struct wire_load *ret, kr_error *err);

/* One kernel of a library's table: foreign input wherever it is read. */
struct wire_kernel {
    const char *name, *schema, *key /* "" for none */, *isa;
    uint64_t dtypes;
    uint32_t layout;
    bool in_place;
};
/* KERNELS holds as many as fit: put_begin, put_kernel until it returns false, put_end. */
struct wire_kernels_writer {
    struct wire_writer w;
    size_t count_at;
    uint32_t count;
};
void wire_kernels_begin(struct wire_kernels_writer *k, uint8_t *buffer, size_t size);
bool wire_kernels_put(struct wire_kernels_writer *k, const struct wire_kernel *kernel);
const struct wire_writer *wire_kernels_end(struct wire_kernels_writer *k);
/* Reads the next kernel of a KERNELS frame; 1, 0 at the end, or fails. Call begin once before. */
KR_CHECK int wire_kernels_open(struct wire_frame *frame, uint32_t *ret_count, kr_error *err);
KR_CHECK int wire_kernels_next(struct wire_frame *frame, struct wire_kernel *ret, kr_error *err);

void wire_put_failed(struct wire_writer *w, const char *text);
KR_CHECK int wire_get_failed(struct wire_frame *frame, const char **ret_text, kr_error *err);

/* MAP: a descriptor goes with each buffer, in order. */
struct wire_map {
    uint64_t buffer, size; /* size: bytes, a multiple of the page size */
    bool writable;
};
void wire_put_map(struct wire_writer *w, const struct wire_map *maps, uint32_t n);
KR_CHECK int wire_get_map(struct wire_frame *frame, struct wire_map ret[WIRE_FDS_MAX],
                          uint32_t *ret_n, kr_error *err);
/* UNMAP: handles, as many as fit; the reader takes one after the other. */
void wire_put_unmap(struct wire_writer *w, const uint64_t *buffers, uint32_t n);
/* Reads the next handle; 1, 0 at the end, or fails. */
KR_CHECK int wire_get_unmap(struct wire_frame *frame, uint64_t *ret_buffer, kr_error *err);

enum wire_death {
    WIRE_DEATH_SIGNAL, /* number: the signal */
    WIRE_DEATH_EXIT,   /* number: the exit code */
    WIRE_DEATH_TIMEOUT,
    WIRE_DEATH_TAMPER, /* killed for what it sent; the text says what */
    WIRE_DEATH_SETUP,  /* the monitor could not start it */
    WIRE_DEATH_LOST,   /* never sent: the monitor itself is gone */
};
struct wire_died {
    uint64_t call; /* that was under way; 0: none, it was loading or idle */
    uint32_t death;
    int32_t number;
    const char *text;    /* a sentence */
    const char *printed; /* the last of what it wrote to stdout and stderr */
};
void wire_put_died(struct wire_writer *w, const struct wire_died *died);
KR_CHECK int wire_get_died(struct wire_frame *frame, struct wire_died *ret, kr_error *err);

#endif
