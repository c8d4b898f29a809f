# SPDX-License-Identifier: Apache-2.0
"""Tensors on shared memory: Runtime.empty, zeros and tensor."""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from kernrig import _dtypes
from kernrig._memory import Lease, Memory
from kernrig._staging import Copy, copy_in
from kernrig._status import MAX_DIMS
from kernrig._tensors import (
    NUMPY,
    TORCH,
    Growing,
    Library,
    Unfit,
    View,
    contiguous_strides,
    dense_strides,
    library_of,
)
from kernrig.errors import ArgumentTypeError, DTypeError, InvalidArgument, LimitExceeded, ShapeError


def _wanted(dtype: Any) -> tuple[Library, int]:
    """The library and the dtype that a dtype argument asks for."""
    torch: Any = sys.modules.get("torch")
    kind = getattr(torch, "dtype", None)
    if isinstance(kind, type) and isinstance(dtype, kind):
        library: Library = TORCH
        number = _dtypes.of_torch(dtype)
    else:
        library = NUMPY
        number = _dtypes.parse(dtype) if isinstance(dtype, str) else _of_numpy_like(dtype)
    if number is None:
        raise DTypeError(f"dtype {dtype!r}: kernels take {_dtypes.SUPPORTED}")
    return library, number


def _of_numpy_like(dtype: Any) -> int | None:
    if dtype is None:
        raise ArgumentTypeError("a dtype is needed: torch.float32, np.float32 or 'f32'")
    try:
        return _dtypes.of_numpy(np.dtype(dtype))
    except TypeError as error:
        raise ArgumentTypeError(f"dtype {dtype!r} is no dtype: {error}") from error


def _sizes(shape: Any) -> tuple[int, ...]:
    try:
        sizes: tuple[int, ...] = (operator.index(shape),)
    except TypeError:
        try:
            sizes = tuple([operator.index(size) for size in shape])
        except TypeError as error:
            raise ArgumentTypeError(f"shape {shape!r} is no shape: {error}") from error
    if len(sizes) > MAX_DIMS:
        raise ShapeError(f"a shape of {len(sizes)} dims: kernels take at most {MAX_DIMS}")
    if any(size < 0 for size in sizes):
        raise ShapeError(f"shape {list(sizes)} has a negative size")
    return sizes


def _bytes(sizes: tuple[int, ...], dtype: int) -> int:
    # Sizes and strides have to fit as well where there are no elements.
    size = _dtypes.SIZES[dtype]
    for length in sizes:
        size *= max(length, 1)
    if size >= 1 << 63:
        raise LimitExceeded(
            f"a tensor of shape {list(sizes)} spans {size} bytes: no buffer has so many"
        )
    return 0 if 0 in sizes else size


def _lease(memory: Memory, size: int) -> Lease:
    """Shared memory for a tensor of so many bytes."""
    (lease,) = memory.allocate([size])
    lease.region.promised = size
    return lease


def empty(memory: Memory, shape: int | Iterable[int], dtype: Any, is_zero: bool) -> Any:
    """A contiguous tensor; see Runtime.empty."""
    library, number = _wanted(dtype)
    sizes = _sizes(shape)
    size = _bytes(sizes, number)
    lease = _lease(memory, size)
    region = lease.region
    if is_zero and region.is_used:
        ctypes.memset(region.address, 0, region.size)
    return library.make(lease, number, sizes, contiguous_strides(sizes, _dtypes.SIZES[number]))


def tensor(memory: Memory, data: Any, dtype: Any) -> Any:
    """A copy of data; see Runtime.tensor."""
    source = library_of(type(data))
    if source is None:
        try:
            data = np.asarray(data)
        except ValueError as error:  # lists of different lengths
            raise InvalidArgument(f"the data is no tensor: {error}") from error
        source = NUMPY
    target: Library = TORCH if source is TORCH else NUMPY
    if source is TORCH:
        data = data.detach()
    if dtype is not None:
        target, number = _wanted(dtype)
        if source is not TORCH and source is not NUMPY:
            data = _fit(source, data).owner  # as numpy sees it, or PyTorch
            source = NUMPY if isinstance(data, np.ndarray) else TORCH
        data = _converted(data, source, number)
    view = _fit(source, data)
    lease = _lease(memory, _bytes(view.sizes, view.dtype))
    copy = Copy(view, is_output=False)
    copy.region, copy.strides = lease.region, dense_strides(view)
    copy_in(copy)
    return target.make(lease, view.dtype, view.sizes, copy.strides)


def _fit(library: Library, data: Any) -> View:
    try:
        return library.view(data, False)
    except Unfit as unfit:
        raise unfit.cls(f"the data {unfit.text}") from unfit.__cause__


def _converted(data: Any, library: Library, number: int) -> Any:
    """Data in the dtype that was asked for, where it has numbers at all."""
    if library is TORCH:
        if data.is_complex():
            raise DTypeError(f"the data has dtype {data.dtype}; kernels take {_dtypes.SUPPORTED}")
        return data.to(_dtypes.to_torch(number))
    if data.dtype.kind in "cmMSU":
        raise DTypeError(f"the data has dtype {data.dtype}; kernels take {_dtypes.SUPPORTED}")
    try:
        return data.astype(_dtypes.to_numpy(number), copy=False)
    except (OverflowError, TypeError, ValueError) as error:  # of Python objects
        raise InvalidArgument(f"the data is no tensor: {error}") from error


def growing(memory: Memory, dtype: str) -> Growing:
    """An output of a kernel that chooses its shape."""
    number = _wanted(dtype)[1]
    return Growing(_lease(memory, 0), number)
