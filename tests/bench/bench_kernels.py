# SPDX-License-Identifier: Apache-2.0
"""How fast kernels are beside PyTorch's with one thread, on the same shapes and in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from kernrig.runtime import Operator, Runtime

from blocks import report

CALLS, BLOCKS = 20, 20


def compared(
    op: Operator, args: tuple[Any, ...], out: torch.Tensor, theirs: Callable[[], object]
) -> tuple[float, float, float]:
    """Median ratio of the blocks, and seconds of our kernel and of theirs."""
    ours_of, theirs_of = [], []
    for block in range(BLOCKS + 1):
        ours = []
        for _ in range(CALLS):
            result = op.try_call(*args, out=out)
            if result.error is not None:
                raise result.error
            ours.append(result.kernel_ns / 1e9)
        others = []
        for _ in range(CALLS):
            begin = time.perf_counter()
            theirs()
            others.append(time.perf_counter() - begin)
        if block > 0:
            ours_of.append(median(ours))
            theirs_of.append(median(others))
    ratios = [mine / other for mine, other in zip(ours_of, theirs_of, strict=True)]
    return median(ratios), median(ours_of), median(theirs_of)


def main() -> None:
    """Prints a ratio for each."""
    torch.set_num_threads(1)
    with Runtime.get() as rt:
        registry = rt.operator_registry
        a, b, c = (rt.tensor(torch.randn(1 << 20)) for _ in range(3))
        x, y, z = torch.randn(1 << 20), torch.randn(1 << 20), torch.empty(1 << 20)
        m = [rt.tensor(torch.randn(256, 256)) for _ in range(4)]
        n = [torch.randn(256, 256) for _ in range(4)]
        figures = [
            (
                "add.out f32, 1 Mi elements / PyTorch",
                1.5,
                compared(registry.aten.add.out, (a, b), c, lambda: torch.add(x, y, out=z)),
            ),
            (
                "addmm.out f32, 256x256x256 / PyTorch",
                9.0,
                compared(
                    registry.aten.addmm.out,
                    tuple(m[:3]),
                    m[3],
                    lambda: torch.addmm(*n[:3], out=n[3]),
                ),
            ),
        ]
    for what, most, (ratio, ours, others) in figures:
        detail = f"{ours * 1e6:.0f} µs / {others * 1e6:.0f} µs; {BLOCKS} blocks of {CALLS}"
        report(what, ratio, most, "x", detail)


if __name__ == "__main__":
    main()
