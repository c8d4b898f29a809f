#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads all 1,797 handwritten digits with a convolutional network run by kernrig's kernels.

    make demo

numpy loads the images and judges the result; every layer in between is an operator of ATen, called
by its name and run in a worker process on memory that both share.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
from kernrig.runtime import Operator, Runtime
from rich.console import Console
from rich.progress import track
from rich.table import Table

from network import TRAINED, Array, Parameters, forward, load_digits, load_weights

BATCH = 16


class Network:
    """The network of network.py for a fixed number of images, its tensors in shared memory.

    Attributes:
        ran: how often each kernel was run, by operator and kernel.
        kernel_ns: nanoseconds in kernels.
    """

    def __init__(self, runtime: Runtime, parameters: Parameters, images: int) -> None:
        self._aten = runtime.operator_registry.aten
        self._parameters = {name: runtime.tensor(each) for name, each in parameters.items()}
        self.ran: Counter[tuple[str, str]] = Counter()
        self.kernel_ns = 0

        def empty(*shape: int, dtype: str = "f32") -> Any:
            return runtime.empty((images, *shape), dtype)

        self._input = empty(1, 8, 8)
        # For each of the two blocks: the convolution, and what the pooling leaves of it.
        self._blocks = [
            ("conv1", empty(16, 8, 8), empty(16, 4, 4), empty(16, 4, 4, dtype="i64")),
            ("conv2", empty(32, 4, 4), empty(32, 2, 2), empty(32, 2, 2, dtype="i64")),
        ]
        self._logits, self._probabilities = empty(10), empty(10)
        self._labels = empty(dtype="i64")

    def __call__(self, images: Array) -> tuple[Array, Array]:
        """Images (n, 1, 8, 8) to probabilities (n, 10) and labels (n,).

        The arrays are the network's own: the next call writes into them again.
        """
        aten, p = self._aten, self._parameters
        x = self._input
        x[:] = images
        for name, convolved, pooled, indices in self._blocks:
            weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
            one = [1, 1]  # stride, padding and dilation
            self._run(
                aten.convolution.out,
                *(x, weight, bias, one, one, one, False, [0, 0], 1),
                out=convolved,
            )
            self._run(aten.relu.out, convolved, out=convolved)
            self._run(
                aten.max_pool2d_with_indices.out, convolved, [2, 2], out=pooled, indices=indices
            )
            x = pooled
        flat = x.reshape(len(x), -1)
        self._run(aten.addmm.out, p["linear.bias"], flat, p["linear.weight"], out=self._logits)
        self._run(aten._softmax.out, self._logits, -1, False, out=self._probabilities)
        self._run(aten.argmax.out, self._probabilities, -1, out=self._labels)
        return self._probabilities, self._labels

    def _run(self, operator: Operator, *args: Any, **kwargs: Any) -> None:
        """operator(*args, **kwargs), and a note of which kernel that was."""
        result = operator.try_call(*args, **kwargs)
        if result.error is not None:
            raise result.error
        self.ran[operator.name(), f"{result.provider}/{result.kernel}"] += 1
        self.kernel_ns += result.kernel_ns


def main() -> int:
    """Prints what came out; 0 if it is right."""
    parser = argparse.ArgumentParser(description="Reads 1,797 handwritten digits with kernrig.")
    parser.add_argument("--batch", type=int, default=BATCH, help="images at a time")
    batch = parser.parse_args().batch
    console = Console()
    digits, parameters = load_digits(), load_weights()
    count = len(digits.images)
    probabilities = np.empty((count, 10), np.float32)
    labels = np.empty(count, np.int64)
    with Runtime.get() as runtime:
        # The last images are fewer than a batch, and get a network of their own size.
        networks = {n: Network(runtime, parameters, n) for n in {batch, count % batch} if n}
        begin = time.perf_counter()
        for start in track(range(0, count, batch), "reading", console=console):
            images = digits.images[start : start + batch]
            part = slice(start, start + len(images))
            probabilities[part], labels[part] = networks[len(images)](images)
        seconds = time.perf_counter() - begin
        console.print(f"kernrigd {runtime.info.version}, sandbox: {runtime.info.sandbox_level}")
    ran = sum((network.ran for network in networks.values()), Counter[tuple[str, str]]())
    in_kernels = sum(network.kernel_ns for network in networks.values()) / 1e9 / seconds

    table = Table("operator", "kernel", "calls")
    table.columns[2].justify = "right"
    for (operator, kernel), calls in ran.items():
        table.add_row(operator, kernel, f"{calls:,}")
    console.print(table)
    right = labels == digits.labels
    difference = np.abs(probabilities - forward(digits.images, parameters)).max()
    console.print(
        f"{count:,} images in {seconds:.2f} s: {ran.total() / seconds:,.0f} calls per second, "
        f"{in_kernels:.0%} of the time in kernels\n"
        f"right on the {count - TRAINED} images held out: {right[TRAINED:].mean():.1%}\n"
        f"largest difference from the same network in numpy: {difference:.1e}"
    )
    return 0 if difference < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
