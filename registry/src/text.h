// SPDX-License-Identifier: Apache-2.0
/* Text that grows in a given buffer: what does not fit is counted, not written.
 *
 * As with snprintf, length is what the whole text needs, and the buffer ends in 0 if it has any
 * room at all. */
#ifndef KERNRIG_REGISTRY_TEXT_H
#define KERNRIG_REGISTRY_TEXT_H

#include <kernrig/err.h>

typedef struct kr_text {
    char *data;
    size_t size, length;
} kr_text;

KR_PRINTF(2, 3) void kr_text_add(kr_text *text, const char *format, ...);
/* The same for a plain string; schemas are printed by the hundred at start-up. */
void kr_text_string(kr_text *text, const char *string);
/* One character; '\0' is not meant. */
void kr_text_put(kr_text *text, char character);

#endif
