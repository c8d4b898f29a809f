// SPDX-License-Identifier: Apache-2.0
/* Text from elsewhere: what a kernel prints or calls itself may hold any bytes, but a reply with a
 * string that is not UTF-8 would be refused whole by its reader. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Bytes of the well-formed character at text, which is not its end; 0 if there is none. */
size_t text_character(const char *text);

/* Replaces every byte that is not part of a well-formed character by '?', in place. */
void text_make_utf8(char *text);

#endif
