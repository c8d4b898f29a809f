# SPDX-License-Identifier: Apache-2.0
"""What size costs beyond the kernel: add.out of two 64 MiB tensors that nobody copies."""

from __future__ import annotations

import time
from statistics import median

from kernrig.runtime import Operator, Runtime

from blocks import report

ELEMENTS = 16 << 20
CALLS = 21


def one(op: Operator, *args: object, out: object) -> tuple[float, float]:
    """Seconds of a call, and of its kernel."""
    begin = time.perf_counter()
    result = op.try_call(*args, out=out)
    seconds = time.perf_counter() - begin
    if result.error is not None:
        raise result.error
    return seconds, result.kernel_ns / 1e9


def main() -> None:
    """Prints the ratio of a call, less a small call, to its kernel."""
    with Runtime.get() as rt:
        op = rt.operator_registry.aten.add.out
        large = [rt.zeros(ELEMENTS, "f32") for _ in range(3)]
        small = [rt.zeros((2, 2), "f32") for _ in range(3)]
        ratios, kernels = [], []
        for call in range(CALLS + 3):
            base, _ = one(op, *small[:2], out=small[2])
            seconds, kernel = one(op, *large[:2], out=large[2])
            if call >= 3:
                ratios.append((seconds - base) / kernel)
                kernels.append(kernel)
    report(
        "add.out 64 MiB, less a small call / its kernel",
        median(ratios),
        1.15,
        "x",
        f"kernel {median(kernels) * 1e3:.1f} ms; {CALLS} calls, each beside a small one",
    )


if __name__ == "__main__":
    main()
