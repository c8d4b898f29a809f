#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed_text.py FILE NAME: prints C source in which the array NAME holds the file's bytes.

The array ends in a 0 that NAME_length does not count. Numbers rather than a string literal: C11
promises literals of 4,095 bytes only, and compilers warn beyond it.
"""

import sys


def main() -> None:
    path, name = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    print(f"/* Generated from {path} by tools/embed_text.py. */\n#include <stddef.h>")
    print(f"extern const char {name}[];\nextern const size_t {name}_length;")
    print(f"const size_t {name}_length = {len(data)};\nconst char {name}[] = {{")
    for start in range(0, len(data), 24):
        print(
            "".join(f"{byte if byte < 128 else byte - 256}," for byte in data[start : start + 24])
        )
    print("0};")


if __name__ == "__main__":
    main()
