// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

/* Unicode 15, table 3-7. */
size_t text_character(const char *bytes)
{
    const unsigned char *text = (const unsigned char *) bytes;
    const unsigned char first = text[0];
    unsigned char low = 0x80, high = 0xBF;
    size_t n;
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF) {
        n = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
        n = 3;
        low = first == 0xE0 ? 0xA0 : 0x80;  /* no overlong forms, */
        high = first == 0xED ? 0x9F : 0xBF; /* and no surrogates */
    } else if (first >= 0xF0 && first <= 0xF4) {
        n = 4;
        low = first == 0xF0 ? 0x90 : 0x80;
        high = first == 0xF4 ? 0x8F : 0xBF;
    } else {
        return 0;
    }
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (text[i] < 0x80 || text[i] > 0xBF)
            return 0;
    return n;
}

void text_make_utf8(char *text)
{
    while (*text) {
        const size_t n = text_character(text);
        if (n == 0)
            *text++ = '?';
        else
            text += n;
    }
}
