#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the demo's network in numpy and writes weights.npz: python demo/train.py

Adam on the cross entropy, with the gradients by hand. The seed is fixed, so that the same numpy on
the same machine gives the same weights; the file is committed so that the demo need not train.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from network import (
    TRAINED,
    WEIGHTS,
    Array,
    Parameters,
    convolve,
    forward,
    load_digits,
    patches,
    pool,
    softmax,
)

EPOCHS, BATCH, RATE = 60, 50, 2e-3


def initial(rng: np.random.Generator) -> Parameters:
    """He's initialisation."""

    def normal(*shape: int, inputs: int) -> Array:
        return np.asarray(rng.standard_normal(shape) * np.sqrt(2 / inputs), np.float32)

    return {
        "conv1.weight": normal(16, 1, 3, 3, inputs=9),
        "conv1.bias": np.zeros(16, np.float32),
        "conv2.weight": normal(32, 16, 3, 3, inputs=144),
        "conv2.bias": np.zeros(32, np.float32),
        "linear.weight": normal(128, 10, inputs=128),
        "linear.bias": np.zeros(10, np.float32),
    }


def unpool(gradient: Array, x: Array) -> Array:
    """The gradient goes to the largest of each 2x2 block; equal ones share it."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    largest = blocks == blocks.max(axis=(3, 5), keepdims=True)
    share = largest / largest.sum(axis=(3, 5), keepdims=True)
    return np.asarray((share * gradient[:, :, :, None, :, None]).reshape(x.shape), np.float32)


def convolution_gradients(gradient: Array, x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Of a convolution's input, weight and bias."""
    flat = gradient.transpose(0, 2, 3, 1)
    k = weight.shape[0]
    of_weight = flat.reshape(-1, k).T @ patches(x).reshape(-1, weight[0].size)
    turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    of_input = convolve(gradient, turned, np.zeros(turned.shape[0], np.float32))
    return of_input, of_weight.reshape(weight.shape), flat.sum(axis=(0, 1, 2))


def shift(x: Array, rng: np.random.Generator) -> Array:
    """Every image moved by at most one pixel each way: people do not write in the middle."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows, columns = rng.integers(0, 3, (2, len(x)))
    moved = [p[:, r : r + 8, c : c + 8] for p, r, c in zip(padded, rows, columns, strict=True)]
    return np.stack(moved)


def gradients(x: Array, labels: NDArray[np.int64], p: Parameters) -> Parameters:
    """Of the mean cross entropy, by the chain rule from the end to the beginning."""
    a1 = convolve(x, p["conv1.weight"], p["conv1.bias"])
    h1 = pool(np.maximum(a1, 0))
    a2 = convolve(h1, p["conv2.weight"], p["conv2.bias"])
    flat = pool(np.maximum(a2, 0)).reshape(len(x), -1)
    g = softmax(flat @ p["linear.weight"] + p["linear.bias"])
    g[np.arange(len(x)), labels] -= 1
    g /= len(x)
    result = {"linear.weight": flat.T @ g, "linear.bias": g.sum(axis=0)}
    g = (g @ p["linear.weight"].T).reshape(len(x), 32, 2, 2)
    g = unpool(g, np.maximum(a2, 0)) * (a2 > 0)
    g, result["conv2.weight"], result["conv2.bias"] = convolution_gradients(
        g, h1, p["conv2.weight"]
    )
    g = unpool(g, np.maximum(a1, 0)) * (a1 > 0)
    _, result["conv1.weight"], result["conv1.bias"] = convolution_gradients(g, x, p["conv1.weight"])
    return result


def main() -> None:
    rng = np.random.default_rng(1998)
    digits = load_digits()
    images, labels = digits.images[:TRAINED], digits.labels[:TRAINED]
    p = initial(rng)
    mean = {name: np.zeros_like(value) for name, value in p.items()}
    square = {name: np.zeros_like(value) for name, value in p.items()}
    step = 0
    for _ in range(EPOCHS):
        for chosen in np.split(rng.permutation(TRAINED), TRAINED // BATCH):
            step += 1
            batch = shift(images[chosen], rng)
            for name, g in gradients(batch, labels[chosen], p).items():
                mean[name] = 0.9 * mean[name] + 0.1 * g
                square[name] = 0.999 * square[name] + 0.001 * g * g
                a = mean[name] / (1 - 0.9**step)
                b = square[name] / (1 - 0.999**step)
                p[name] = (p[name] - RATE * a / (np.sqrt(b) + 1e-8)).astype(np.float32)
    np.savez(WEIGHTS, allow_pickle=False, **p)
    right = forward(digits.images, p).argmax(axis=1) == digits.labels
    print(f"trained: {right[:TRAINED].mean():.1%}, held out: {right[TRAINED:].mean():.1%}")


if __name__ == "__main__":
    main()
