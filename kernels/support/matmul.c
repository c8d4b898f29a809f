// SPDX-License-Identifier: Apache-2.0
/* A blocked product. For a block of rows and columns that fits a cache, depth is taken in slices:
 * the slice of b is packed in panels, of a one strip of rows at a time, and tiles of the product
 * are computed in registers.
 *
 * A tile has six rows and two vectors of columns: twelve sums, two vectors of b, one of a and one
 * product are what the sixteen registers of the plainest x86-64 hold. Each element of a is packed
 * as a vector that repeats it, for to spread it in the innermost loop takes as long as to add. */
#include "matmul.h"

#include <string.h>

#include "context.h"
#include "dtype.h"

enum {
    VECTOR = 16,        /* bytes */
    PANEL = 2 * VECTOR, /* bytes of a row of a tile, and of a row of a panel of b */
    GAP = 64,           /* bytes between panels, or they would compete for the same cache lines */
    TILE_ROWS = 6,      /* rows of a tile, and of a strip of a */
    BLOCK_ROWS = 252,   /* rows of the product that are kept at once */
    BLOCK_DEPTH = 256,  /* depth of a slice */
    RUN = 32,           /* products that are added up without a stop, see tile */
    SMALL = 1 << 20,    /* multiplications that take a fraction of a millisecond in double */
};

/* The scratch memory of a run. */
typedef struct block {
    char *b;       /* panels of b, each of depth * PANEL + GAP bytes */
    char *a;       /* a strip of a: depth times TILE_ROWS vectors */
    char *line;    /* a row, as it is read */
    char *product; /* BLOCK_ROWS rows of `stride` sums */
    int64_t stride;
} block;

/* Where its parts begin, in bytes. */
typedef struct layout {
    int64_t a, line, product, size, stride;
} layout;

/* pack_<T>: a row of a strip of a.
 *
 * tile_<T>: adds the product of a strip of a and a panel of b to a tile of sums. Long sums lose
 * precision, since each step rounds by the size of the whole: so runs are added up by themselves,
 * then to those of the slice, and only slices to `sums`, which are doubles. */
#define LOOPS(T, SUM)                                                                        \
    typedef T vector_##T __attribute__((vector_size(VECTOR)));                               \
    enum { LANES_##T = VECTOR / sizeof(T) };                                                 \
    static void pack_##T(int64_t depth, const T *line, vector_##T *a)                        \
    {                                                                                        \
        for (int64_t k = 0; k < depth; k++)                                                  \
            for (int j = 0; j < LANES_##T; j++)                                              \
                a[k * TILE_ROWS][j] = line[k];                                               \
    }                                                                                        \
    static void tile_##T(int64_t depth, const vector_##T *a, const vector_##T *b, SUM *sums, \
                         int64_t stride)                                                     \
    {                                                                                        \
        vector_##T total[TILE_ROWS][2] = { { { 0 } } };                                      \
        for (int64_t done = 0; done < depth; done += RUN) {                                  \
            const int64_t run = depth - done < RUN ? depth - done : RUN;                     \
            vector_##T tile[TILE_ROWS][2] = { { { 0 } } };                                   \
            for (int64_t k = 0; k < run; k++, a += TILE_ROWS, b += 2) {                      \
                const vector_##T x = b[0], y = b[1];                                         \
                for (int i = 0; i < TILE_ROWS; i++) {                                        \
                    tile[i][0] += a[i] * x;                                                  \
                    tile[i][1] += a[i] * y;                                                  \
                }                                                                            \
            }                                                                                \
            for (int i = 0; i < TILE_ROWS; i++) {                                            \
                total[i][0] += tile[i][0];                                                   \
                total[i][1] += tile[i][1];                                                   \
            }                                                                                \
        }                                                                                    \
        for (int i = 0; i < TILE_ROWS; i++) {                                                \
            T row[2 * LANES_##T];                                                            \
            memcpy(row, total[i], sizeof row);                                               \
            for (int j = 0; j < 2 * LANES_##T; j++)                                          \
                sums[i * stride + j] += (SUM) row[j];                                        \
        }                                                                                    \
    }
LOOPS(float, double)
LOOPS(double, double)
LOOPS(int64_t, int64_t)

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

static int64_t tile_columns(kr_dtype as) { return PANEL / (int64_t) dtype_size(as); }

static layout lay_out(const matmul *m)
{
    const int64_t size = (int64_t) dtype_size(m->as), depth = least(m->depth, BLOCK_DEPTH);
    const int64_t columns = round_up(least(m->columns, MATMUL_COLUMNS), tile_columns(m->as));
    const int64_t rows = round_up(least(m->rows, BLOCK_ROWS), TILE_ROWS);
    layout at = { .stride = columns };

    at.a = columns / tile_columns(m->as) * (depth * PANEL + GAP);
    at.line = at.a + depth * TILE_ROWS * VECTOR;
    at.product = at.line + round_up((depth > columns ? depth : columns) * size, VECTOR);
    at.size = at.product + rows * columns * (int64_t) sizeof(double);
    return at;
}

kr_dtype matmul_type(kr_dtype dtype, int64_t rows, int64_t columns, int64_t depth)
{
    if (dtype_is_float(dtype) && (double) rows * (double) columns * (double) depth <= SMALL)
        return KR_FLOAT64;
    return dtype_compute(dtype);
}

kr_status matmul_open(kr_context *ctx, matmul *m)
{
    m->room = scratch_array(ctx, lay_out(m).size, 1);
    return m->room ? KR_OK : KR_E_MEMORY;
}

/* Rows [begin, begin + depth) of b in panels. What the last panel has too much is zero: the sums of
 * it are not used, but with denormal rubbish they would take long. */
static void pack_b(const matmul *m, const block *w, int64_t begin, int64_t depth, int64_t column,
                   int64_t n)
{
    const int64_t bytes = n * (int64_t) dtype_size(m->as);
    for (int64_t k = 0; k < depth; k++) {
        char *to = w->b + k * PANEL;
        m->read_b(m->cookie, begin + k, column, n, w->line);
        for (int64_t done = 0; done < bytes; done += PANEL, to += depth * PANEL + GAP) {
            const int64_t rest = least(bytes - done, PANEL);
            if (rest < PANEL)
                memset(to, 0, PANEL);
            memcpy(to, w->line + done, (size_t) rest);
        }
    }
}

/* Columns [begin, begin + depth) of some rows of a, with the rows of each column together. */
static void pack_a(const matmul *m, const block *w, int64_t begin, int64_t depth, int64_t row,
                   int64_t rows)
{
    if (rows < TILE_ROWS)
        memset(w->a, 0, (size_t) (depth * TILE_ROWS * VECTOR));
    for (int64_t i = 0; i < rows; i++) {
        void *to = w->a + i * VECTOR;
        const void *line = w->line;
        m->read_a(m->cookie, row + i, begin, depth, w->line);
        switch (m->as) {
        case KR_FLOAT32: pack_float(depth, line, to); break;
        case KR_FLOAT64: pack_double(depth, line, to); break;
        default: pack_int64_t(depth, line, to); break;
        }
    }
}

static void add_tile(const matmul *m, const block *w, int64_t depth, const char *panel, char *sums)
{
    const void *a = w->a, *b = panel;
    void *to = sums;
    switch (m->as) {
    case KR_FLOAT32: tile_float(depth, a, b, to, w->stride); break;
    case KR_FLOAT64: tile_double(depth, a, b, to, w->stride); break;
    default: tile_int64_t(depth, a, b, to, w->stride); break;
    }
}

/* The rows [row, row + rows) of the columns [column, column + n). */
static void run_block(const matmul *m, const block *w, int64_t row, int64_t rows, int64_t column,
                      int64_t n)
{
    const int64_t step = tile_columns(m->as);
    const int64_t row_bytes = w->stride * (int64_t) sizeof(double);

    memset(w->product, 0, (size_t) (round_up(rows, TILE_ROWS) * row_bytes));
    for (int64_t begin = 0; begin < m->depth; begin += BLOCK_DEPTH) {
        const int64_t depth = least(m->depth - begin, BLOCK_DEPTH);
        pack_b(m, w, begin, depth, column, n);
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            pack_a(m, w, begin, depth, row + i, least(rows - i, TILE_ROWS));
            for (int64_t j = 0; j < n; j += step)
                add_tile(m, w, depth, w->b + j / step * (depth * PANEL + GAP),
                         w->product + i * row_bytes + j * (int64_t) sizeof(double));
        }
    }
    for (int64_t i = 0; i < rows; i++)
        m->write(m->cookie, row + i, column, n, w->product + i * row_bytes);
}

void matmul_run(const matmul *m)
{
    const layout at = lay_out(m);
    char *room = m->room;
    const block w = { room, room + at.a, room + at.line, room + at.product, at.stride };
    for (int64_t row = 0; row < m->rows; row += BLOCK_ROWS)
        for (int64_t column = 0; column < m->columns; column += MATMUL_COLUMNS)
            run_block(m, &w, row, least(m->rows - row, BLOCK_ROWS), column,
                      least(m->columns - column, MATMUL_COLUMNS));
}
