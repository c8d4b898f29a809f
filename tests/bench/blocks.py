# SPDX-License-Identifier: Apache-2.0
"""Measuring on a machine that others use as well: what is compared takes turns, block by block.

A single time says little here, so every figure is a ratio, or is printed beside what it may be at
most; whoever runs a benchmark reads the figures, no test asserts them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

BLOCKS = 20


def interleaved(
    calls: int, *functions: Callable[[], object], blocks: int = BLOCKS
) -> list[list[float]]:
    """Seconds per call of each function, a median for each block of calls.

    The functions take turns; one block of each comes first and is thrown away.
    """
    seconds: list[list[float]] = [[] for _ in functions]
    for block in range(blocks + 1):
        for function, times in zip(functions, seconds, strict=True):
            each = []
            for _ in range(calls):
                begin = time.perf_counter()
                function()
                each.append(time.perf_counter() - begin)
            if block > 0:
                times.append(median(each))
    return seconds


def report(what: str, value: float, most: float, unit: str, detail: str = "") -> None:
    """Prints a figure, what it may be at most, and whether it is."""
    verdict = "met" if value <= most else "MISSED"
    print(f"{what:52} {value:8.3g} {unit:3} of {most:g} {verdict:7} {detail}".rstrip())
