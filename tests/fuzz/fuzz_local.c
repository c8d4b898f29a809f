// SPDX-License-Identifier: Apache-2.0
/* The local protocol. The first byte says how the rest is cut up: however that is, the same
 * requests come out. */
#include "wire/local.h"

enum { REQUESTS = 64 };

static size_t parse_all(const uint8_t *data, size_t size, size_t part, struct local_request *out)
{
    struct local_parser parser = { .used = 0 };
    size_t n = 0;
    for (size_t at = 0; at < size && n < REQUESTS;) {
        size_t taken = 0;
        kr_error err;
        const size_t give = part < size - at ? part : size - at;
        const int r = local_parse(&parser, data + at, give, &taken, &out[n], &err);
        if (r < 0) {
            if (!err.text[0])
                abort();
            break;
        }
        if (r == 0 && taken != give)
            abort();
        n += (size_t) r;
        at += taken;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct local_request whole[REQUESTS], parts[REQUESTS];
    if (size < 1)
        return 0;
    memset(whole, 0, sizeof whole);
    memset(parts, 0, sizeof parts);
    const size_t n = parse_all(data + 1, size - 1, size, whole);
    if (parse_all(data + 1, size - 1, (size_t) data[0] % 16 + 1, parts) != n ||
        memcmp(whole, parts, n * sizeof *whole) != 0)
        abort();
    return 0;
}
