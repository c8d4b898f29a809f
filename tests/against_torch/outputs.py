# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs in every kind of memory and layout that a call may meet.

An output is filled with garbage before the call, so that an element which a kernel forgets shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from kernrig.runtime import Runtime


def shared(rt: Runtime, tensor: torch.Tensor) -> torch.Tensor:
    """The same elements at the same strides, in shared memory: the kernel gets these strides."""
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.numel() == 0:
        return rt.empty(list(tensor.shape), tensor.dtype)
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in pairs)
    storage: torch.Tensor = rt.empty([extent], tensor.dtype)
    storage.copy_(tensor.as_strided((extent,), (1,)))
    return storage.as_strided(tensor.shape, tensor.stride())


def spoil(tensor: torch.Tensor) -> torch.Tensor:
    """Fills it with what no result should be."""
    if tensor.dtype == torch.bool:
        return tensor.fill_(True)
    return tensor.fill_(float("nan") if tensor.is_floating_point() else 0x5B)


def exact(rt: Runtime, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Of the right shape, contiguous."""
    return spoil(rt.empty(list(shape), dtype))


def strided(rt: Runtime, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Every other element of something twice as large in each dimension."""
    large = spoil(rt.empty([2 * size for size in shape], dtype))
    return large[tuple(slice(None, None, 2) for _ in shape)] if shape else large


def permuted(rt: Runtime, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Dense, with the dimensions in reverse order."""
    return spoil(rt.empty(list(reversed(shape)), dtype)).permute(list(reversed(range(len(shape)))))


def roomy(rt: Runtime, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Empty, with room for the result behind it: no reallocation is needed."""
    room: torch.Tensor = spoil(rt.empty([max(1, torch.Size(shape).numel())], dtype))
    return room.resize_(0)


def empty(rt: Runtime, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Empty, without room: memory is asked for in the course of the call."""
    tensor: torch.Tensor = rt.empty([0], dtype)
    return tensor


def private(rt: Runtime, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """PyTorch's own memory: copied into shared memory and back."""
    return spoil(torch.empty(list(shape), dtype=dtype))


KINDS: dict[str, Callable[[Runtime, Sequence[int], torch.dtype], torch.Tensor]] = {
    "exact": exact,
    "strided": strided,
    "permuted": permuted,
    "roomy": roomy,
    "empty": empty,
    "private": private,
}
