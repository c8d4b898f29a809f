// SPDX-License-Identifier: Apache-2.0
/* Text that grows in a given buffer; see text.h. */
#include "text.h"

void kr_text_add(kr_text *text, const char *format, ...)
{
    size_t left = text->length < text->size ? text->size - text->length : 0;
    va_list args;
    va_start(args, format);
    int written = vsnprintf(left ? text->data + text->length : NULL, left, format, args);
    va_end(args);
    text->length += written < 0 ? 0 : (size_t) written;
}

void kr_text_string(kr_text *text, const char *string)
{
    size_t length = strlen(string);
    size_t left = text->length < text->size ? text->size - text->length : 0;
    if (left) {
        size_t fits = length < left ? length : left - 1;
        memcpy(text->data + text->length, string, fits);
        text->data[text->length + fits] = 0;
    }
    text->length += length;
}

void kr_text_put(kr_text *text, char character)
{
    if (text->length + 1 < text->size) {
        text->data[text->length] = character;
        text->data[text->length + 1] = 0;
    }
    text->length++;
}
