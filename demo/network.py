# SPDX-License-Identifier: Apache-2.0
"""The digits and the network that reads them, in numpy alone.

Two convolutions with relu and max pooling, then one linear layer: small enough to be trained by
`train.py` in seconds, and made of the operators that a real network needs. `forward` is what the
demo compares kernrig's kernels with.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Parameters = dict[str, Array]

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights.npz"
TRAINED = 1200  # the first images; the others are held out


class Digits(NamedTuple):
    """images: (1797, 1, 8, 8) float32 from 0 to 1; labels: (1797,) int64."""

    images: Array
    labels: NDArray[np.int64]


def load_digits() -> Digits:
    """Reads the data set that lies beside this file."""
    with gzip.open(HERE / "data" / "digits.csv.gz", "rt") as file:
        rows = np.array(list(csv.reader(file)), dtype=np.float32)
    images = (rows[:, :64].reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    return Digits(images, rows[:, 64].astype(np.int64))


def load_weights() -> Parameters:
    """Reads what `train.py` has written."""
    with np.load(WEIGHTS) as file:
        return {name: file[name] for name in file.files}


def patches(x: Array) -> Array:
    """The 3x3 surroundings of each pixel: (n, c, h, w) -> (n, h, w, c * 9), zeros outside."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def convolve(x: Array, weight: Array, bias: Array) -> Array:
    """A 3x3 convolution with padding 1: (n, c, h, w) -> (n, k, h, w)."""
    y = patches(x) @ weight.reshape(weight.shape[0], -1).T + bias
    return y.transpose(0, 3, 1, 2)


def pool(x: Array) -> Array:
    """The largest of each 2x2 block: (n, c, h, w) -> (n, c, h // 2, w // 2)."""
    n, c, h, w = x.shape
    largest: Array = x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
    return largest


def softmax(x: Array) -> Array:
    """Probabilities along the last dim."""
    e: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    return e


def forward(x: Array, p: Parameters) -> Array:
    """Images (n, 1, 8, 8) to probabilities (n, 10)."""
    h = pool(np.maximum(convolve(x, p["conv1.weight"], p["conv1.bias"]), 0))
    h = pool(np.maximum(convolve(h, p["conv2.weight"], p["conv2.bias"]), 0))
    return softmax(h.reshape(len(x), -1) @ p["linear.weight"] + p["linear.bias"])
