# SPDX-License-Identifier: Apache-2.0
"""Copies of ordinary tensors in shared memory, for the time of a call.

The daemon and the kernel are to see what the caller has: the order of dims, gaps, repeated
elements, and which tensors share memory. So a tensor is copied with its strides, as the bytes that
it spans, wherever that is not wasteful. Where an output overlaps another tensor, the bytes of both
are copied once, and their overlap is there as it was: the daemon allows or refuses it. A tensor
that cannot be copied so – elements far apart, negative strides, odd addresses – is copied element
by element, gaps made small.

Outputs are copied in as well: what a kernel leaves alone keeps its value. They are copied back
through the caller's view only, so that what lies between their elements is never touched.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernrig._memory import Lease, Memory, Region
from kernrig._tensors import View, element_strides

# Gaps are copied along while they are at most as much as the elements, or little.
_SMALL = 64 << 10
_ALIGNMENT = 64
# Steps that numpy may take to find out whether two tensors share an element.
_EFFORT: Any = 100_000  # any number will do, whatever numpy's stubs say


class Copy:
    """One tensor, copied to shared memory.

    Attributes:
        view: the tensor.
        is_output: whether it is to be copied back.
        region, offset: where the copy is; bytes.
        strides: of the copy, in bytes; none is negative.
        room: bytes from the offset to the end of the region that nobody else has.
    """

    __slots__ = ("is_output", "offset", "region", "room", "strides", "view")

    def __init__(self, view: View, is_output: bool) -> None:
        self.view = view
        self.is_output = is_output
        self.region: Region | None = None
        self.offset = 0
        self.strides: tuple[int, ...] = view.strides
        self.room = 0


class _Raw:
    """Memory as numpy's array interface describes it."""

    __slots__ = ("__array_interface__",)

    def __init__(
        self, address: int, itemsize: int, sizes: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": sizes,
            "strides": strides,
            # The bits are moved, whatever they mean.
            "typestr": f"<u{itemsize}",
            "data": (address, False),
        }


def _elements(
    address: int, itemsize: int, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    return np.asarray(_Raw(address, itemsize, sizes, strides))


def _is_regular(view: View) -> bool:
    """Whether its strides can be passed on as they are."""
    return (
        view.address % view.itemsize == 0
        and element_strides(view.strides, view.itemsize) is not None
    )


def squeezed_strides(view: View) -> tuple[int, ...]:
    """Strides in bytes for a copy that keeps the order of dims and has the smallest gaps.

    A dim that follows the one inside of it without a gap stays so; where there is a gap, one
    element is left; a repeated element (stride 0) stays repeated.
    """
    strides = [0] * len(view.sizes)
    order = sorted(range(len(view.sizes)), key=lambda dim: (-abs(view.strides[dim]), dim))
    old_step = new_step = view.itemsize
    for dim in reversed(order):
        size, stride = view.sizes[dim], abs(view.strides[dim])
        if size < 2:
            strides[dim] = new_step
        elif stride != 0:
            if stride != old_step:
                new_step += view.itemsize
            strides[dim] = new_step
            old_step = stride * size
            new_step *= size
    return tuple(strides)


class Block:
    """What is copied into one region: one tensor, or several that share memory."""

    __slots__ = ("copies", "high", "is_raw", "low", "size")

    def __init__(self, copies: list[Copy], is_raw: bool) -> None:
        bounds = [copy.view.bounds() for copy in copies]
        self.copies = copies
        self.is_raw = is_raw
        self.low = min(low for low, _ in bounds)
        self.high = max(high for _, high in bounds)
        if is_raw:
            self.size = self.low % _ALIGNMENT + self.high - self.low
            return
        view = copies[0].view
        strides = squeezed_strides(view)
        for copy in copies:
            copy.strides = strides
        last = sum((n - 1) * s for n, s in zip(view.sizes, strides, strict=True))
        self.size = 0 if 0 in view.sizes else last + view.itemsize

    def place(self, region: Region) -> None:
        """Gives the copies their places in a region, and fills them."""
        start = self.low % _ALIGNMENT if self.is_raw else 0
        is_alone = len({_key(copy.view) for copy in self.copies}) == 1
        for copy in self.copies:
            copy.region = region
            copy.offset = start + copy.view.address - self.low if self.is_raw else 0
            copy.room = region.size - copy.offset if is_alone else 0
        if self.is_raw:
            ctypes.memmove(region.address + start, self.low, self.high - self.low)
        else:
            copy_in(self.copies[0])


def _key(view: View) -> tuple[Any, ...]:
    """What is the same for equal tensors only.

    A tensor without elements has no bytes that could be another's, and its address says nothing:
    PyTorch gives 0 for all of them. Two of them may each be given room.
    """
    if 0 in view.sizes:
        return (id(view),)
    return view.address, view.dtype, view.sizes, view.strides


def _of_view(view: View) -> np.ndarray[Any, Any]:
    return _elements(view.address, view.itemsize, view.sizes, view.strides)


def _of_copy(copy: Copy) -> np.ndarray[Any, Any]:
    assert copy.region is not None
    return _elements(
        copy.region.address + copy.offset, copy.view.itemsize, copy.view.sizes, copy.strides
    )


def _is_close(view: View) -> bool:
    """Whether its elements lie so close together that the bytes between them may be copied."""
    low, high = view.bounds()
    return high - low <= max(2 * view.count * view.itemsize, _SMALL)


def _must_share(a: View, b: View) -> bool:
    """Whether two tensors whose spans overlap have to be copied together."""
    if _is_close(a) and _is_close(b):
        return True
    # It costs their whole span, so only if they do have a byte in common, or might.
    try:
        return bool(np.shares_memory(_of_view(a), _of_view(b), _EFFORT))
    except np.exceptions.TooHardError:
        return True


def plan(copies: Sequence[Copy]) -> list[Block]:
    """Which tensors are copied together: equal ones, and those that an output shares memory with.

    Every copy is in exactly one block; blocks stand in the order of their first tensors.
    """
    group = list(range(len(copies)))  # of each copy, by the first of the group

    def unite(i: int, j: int) -> None:
        low, high = sorted((group[i], group[j]))
        if low != high:
            group[:] = [low if g == high else g for g in group]

    first: dict[tuple[Any, ...], int] = {}
    for i, copy in enumerate(copies):
        unite(i, first.setdefault(_key(copy.view), i))
    may_share = [_is_regular(copy.view) and 0 not in copy.view.sizes for copy in copies]
    bounds = [copy.view.bounds() for copy in copies]
    for i, copy in enumerate(copies):
        if not copy.is_output or not may_share[i]:
            continue
        for j, other in enumerate(copies):
            if group[i] == group[j] or not may_share[j]:
                continue
            is_apart = bounds[i][1] <= bounds[j][0] or bounds[j][1] <= bounds[i][0]
            if not is_apart and _must_share(copy.view, other.view):
                unite(i, j)
    members: dict[int, list[Copy]] = {}
    for copy, g in zip(copies, group, strict=True):
        members.setdefault(g, []).append(copy)
    blocks = []
    for together in members.values():
        view = together[0].view
        is_one = all(_key(copy.view) == _key(view) for copy in together)
        blocks.append(Block(together, not is_one or (_is_regular(view) and _is_close(view))))
    return blocks


class Staging:
    """The copies of one request. Closed by whoever opened it, in any case."""

    __slots__ = ("_leases", "_memory")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._leases: list[Lease] = []

    def stage(self, copies: Sequence[Copy]) -> None:
        """Copies tensors to shared memory, and notes where."""
        blocks = plan(copies)
        leases = self._lease([block.size for block in blocks])
        for block, lease in zip(blocks, leases, strict=True):
            block.place(lease.region)

    def enlarge(self, copy: Copy, size: int) -> None:
        """Gives an output a place of so many bytes, of undefined content."""
        (lease,) = self._lease([size])
        region = lease.region
        copy.region, copy.offset, copy.room = region, 0, region.size

    def close(self, is_over: bool) -> None:
        """Gives the memory back; is_over if no kernel can write to it any more."""
        leases, self._leases = self._leases, []
        if is_over:
            self._memory.recycle(leases)

    def _lease(self, sizes: Sequence[int]) -> list[Lease]:
        leases = self._memory.allocate(sizes)
        for lease in leases:
            # If this call is interrupted, nobody is left to say that they are.
            lease.region.is_exposed = True
        self._leases += leases
        return leases


def copy_in(copy: Copy) -> None:
    """Copies a tensor's elements to the place that its copy has been given."""
    if 0 not in copy.view.sizes:
        _of_copy(copy)[...] = _of_view(copy.view)


def copy_back(copy: Copy) -> None:
    """Copies an output's elements to the caller's tensor."""
    if 0 not in copy.view.sizes:
        _of_view(copy.view)[...] = _of_copy(copy)
