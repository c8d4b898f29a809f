# SPDX-License-Identifier: Apache-2.0
"""Tensors of numpy, PyTorch and DLPack behind one small interface.

A View is all that the rest of the client knows of a tensor: an address, sizes and strides. A
Library makes views of its tensors, tensors on shared memory, and gives an output another shape if
it can.
PyTorch is never imported: a caller who has not imported it cannot pass one of its tensors.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from kernrig import _dtypes
from kernrig._memory import Lease, Region
from kernrig._status import MAX_DIMS
from kernrig.errors import (
    ArgumentTypeError,
    AutogradError,
    DeviceError,
    DTypeError,
    InvalidArgument,
    KernrigError,
    ResizeError,
    ShapeError,
)


class Unfit(Exception):
    """A value that no kernel can be given; whoever knows its argument's name says so."""

    def __init__(self, cls: type[KernrigError], text: str) -> None:
        super().__init__(text)
        self.cls = cls
        self.text = text


class View:
    """A strided tensor in this process.

    Attributes:
        owner: what keeps the memory alive, usually the tensor itself.
        library: whose tensor it is.
        address: of element [0, …, 0].
        dtype: c10's number.
        itemsize: bytes of an element.
        sizes: elements.
        strides: bytes, perhaps negative.
    """

    __slots__ = ("address", "dtype", "itemsize", "library", "owner", "sizes", "strides")

    def __init__(
        self,
        owner: Any,
        library: Library,
        address: int,
        dtype: int,
        itemsize: int,
        sizes: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> None:
        if len(sizes) > MAX_DIMS:
            raise Unfit(ShapeError, f"has {len(sizes)} dims; kernels take at most {MAX_DIMS}")
        self.owner = owner
        self.library = library
        self.address = address
        self.dtype = dtype
        self.itemsize = itemsize
        self.sizes = sizes
        self.strides = strides

    @property
    def count(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    def bounds(self) -> tuple[int, int]:
        """The first byte of any element, and the one after the last; both address if empty."""
        low = high = self.address
        for size, stride in zip(self.sizes, self.strides, strict=True):
            if size == 0:
                return self.address, self.address
            if stride < 0:
                low += (size - 1) * stride
            else:
                high += (size - 1) * stride
        return low, high + self.itemsize


def contiguous_strides(sizes: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Row-major strides in units of itemsize; as PyTorch has them where a size is 0."""
    strides = []
    step = itemsize
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def element_strides(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...] | None:
    """Strides in elements, from bytes; None if they cannot be said so, or are negative."""
    if any(stride < 0 or stride % itemsize for stride in strides):
        return None
    return tuple([stride // itemsize for stride in strides])


def dense_strides(view: View) -> tuple[int, ...]:
    """Strides in bytes without gaps, for a copy of a tensor that keeps the order of its dims."""
    order = sorted(range(len(view.sizes)), key=lambda dim: (-abs(view.strides[dim]), dim))
    strides = [0] * len(view.sizes)
    step = view.itemsize
    for dim in reversed(order):
        strides[dim] = step
        step *= max(view.sizes[dim], 1)
    return tuple(strides)


def _unsupported(dtype: object) -> Unfit:
    return Unfit(DTypeError, f"has dtype {dtype}; kernels take {_dtypes.SUPPORTED}")


class Library:
    """What there is to do with tensors of one library."""

    can_resize = False  # whether an output can be given another shape in place
    noun = "a tensor"  # what its tensors are called in an error

    def view(self, tensor: Any, is_output: bool) -> View:
        """A view of a tensor.

        Raises:
            Unfit: no kernel can be given this tensor; nothing has been sent.
        """
        raise NotImplementedError

    def make(self, lease: Lease, dtype: int, sizes: tuple[int, ...], strides: Sequence[int]) -> Any:
        """A tensor at the beginning of shared memory; strides in bytes, not negative."""
        raise NotImplementedError

    def owns(self, tensor: Any, region: Region) -> bool:
        """Whether the tensor was made as this region's own, and may use all of it."""
        return False

    def reshape(self, tensor: Any, sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
        """Gives an output another shape where it is; strides in elements.

        Raises:
            ResizeError: it cannot have one.
        """
        raise ResizeError(f"has shape {_shape(tensor.shape)}, and needs {_shape(sizes)}")

    def move(self, tensor: Any, lease: Lease, dtype: int, sizes: tuple[int, ...]) -> None:
        """Gives an output a new place at the beginning of shared memory, contiguous."""
        raise NotImplementedError

    def make_room(self, tensor: Any, sizes: tuple[int, ...]) -> None:
        """Gives an output on ordinary memory another shape, contiguous, and memory for it."""
        raise NotImplementedError

    def wrote(self, tensor: Any) -> None:
        """Notes that an output's elements have changed, or may have, behind the library's back."""


def _shape(sizes: Sequence[int]) -> str:
    return f"[{', '.join(str(size) for size in sizes)}]"


class _Numpy(Library):
    noun = "a numpy array"

    def view(self, tensor: Any, is_output: bool) -> View:
        array: np.ndarray[Any, Any] = tensor
        dtype = array.dtype
        number = _dtypes.of_numpy(dtype)
        if number is None:
            array, number = self._native(array, is_output)
        if is_output and not array.flags.writeable:
            raise Unfit(InvalidArgument, "is an output, and a read-only numpy array")
        return View(
            array, self, array.ctypes.data, number, array.itemsize, array.shape, array.strides
        )

    def _native(
        self, array: np.ndarray[Any, Any], is_output: bool
    ) -> tuple[np.ndarray[Any, Any], int]:
        """A copy in this machine's byte order."""
        if array.dtype.isnative:
            raise _unsupported(array.dtype)
        native = array.dtype.newbyteorder("=")
        number = _dtypes.of_numpy(native)
        if number is None:
            raise _unsupported(array.dtype)
        if is_output:
            raise Unfit(
                DTypeError,
                f"is an output of dtype {array.dtype.str}, in the other byte order: "
                f"pass one of dtype {native.name}",
            )
        return array.astype(native), number

    def make(
        self, lease: Lease, dtype: int, sizes: tuple[int, ...], strides: Sequence[int]
    ) -> np.ndarray[Any, Any]:
        return np.ndarray(
            sizes, _dtypes.to_numpy(dtype), buffer=np.asarray(lease), strides=tuple(strides)
        )


class _Torch(Library):
    can_resize = True

    def view(self, tensor: Any, is_output: bool) -> View:
        number = _dtypes.of_torch(tensor.dtype)
        if number is None:
            raise _unsupported(tensor.dtype)
        torch: Any = sys.modules["torch"]
        if tensor.requires_grad and torch.is_grad_enabled():
            raise Unfit(AutogradError, "requires grad")
        if tensor.layout is not torch.strided or tensor.is_nested:
            kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
            raise Unfit(ArgumentTypeError, f"is a {kind} tensor; kernels take strided tensors")
        if not tensor.is_cpu:
            raise Unfit(DeviceError, f"is on device '{tensor.device}'; kernels run on the CPU only")
        if is_output and tensor.is_inference() and not torch.is_inference_mode_enabled():
            raise Unfit(
                InvalidArgument,
                "is an output and an inference tensor. Inplace update to inference tensor outside "
                "InferenceMode is not allowed: clone() it to get a normal tensor",
            )
        if tensor.is_neg():
            if is_output:
                raise Unfit(InvalidArgument, "is an output with its negative bit set")
            tensor = tensor.resolve_neg()
        itemsize = _dtypes.SIZES[number]
        try:
            # PyTorch gives 0 for a tensor without elements, wherever it is.
            address = tensor.data_ptr() or (
                tensor.untyped_storage().data_ptr() + tensor.storage_offset() * itemsize
            )
        except RuntimeError as error:
            raise Unfit(DeviceError, f"has no memory: {error}") from error
        sizes = tuple(tensor.shape)
        if address == 0 and 0 not in sizes:
            raise Unfit(DeviceError, "has no memory")
        strides = tuple([stride * itemsize for stride in tensor.stride()])
        return View(tensor, self, address, number, itemsize, sizes, strides)

    def make(self, lease: Lease, dtype: int, sizes: tuple[int, ...], strides: Sequence[int]) -> Any:
        torch: Any = sys.modules["torch"]
        # Whatever torch.set_default_device says.
        tensor = torch.empty(0, dtype=_dtypes.to_torch(dtype), device="cpu")
        itemsize = _dtypes.SIZES[dtype]
        tensor.set_(self._storage(lease), 0, sizes, [stride // itemsize for stride in strides])
        return tensor

    def _storage(self, lease: Lease) -> Any:
        torch: Any = sys.modules["torch"]
        # The storage is the whole buffer, so that resize_ finds the room that there is.
        return torch.from_numpy(np.asarray(lease)).untyped_storage()

    def owns(self, tensor: Any, region: Region) -> bool:
        storage = tensor.untyped_storage()
        return bool(
            storage.data_ptr() == region.address
            and storage.nbytes() == region.size
            and tensor.storage_offset() == 0
            and not tensor._is_view()
        )

    def reshape(self, tensor: Any, sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self._warn(tensor, sizes)
        self._set(tensor, tensor.untyped_storage(), tensor.storage_offset(), sizes, strides)

    def move(self, tensor: Any, lease: Lease, dtype: int, sizes: tuple[int, ...]) -> None:
        self._warn(tensor, sizes)
        self._set(tensor, self._storage(lease), 0, sizes, contiguous_strides(sizes, 1))

    def make_room(self, tensor: Any, sizes: tuple[int, ...]) -> None:
        size = tensor.element_size()
        for length in sizes:
            size *= length
        storage = tensor.untyped_storage()
        room = storage.nbytes() - tensor.storage_offset() * tensor.element_size()
        if size > room and not storage.resizable():
            # resize_ would fail only after it has changed the sizes, and leave them so.
            raise self._cannot(tensor, sizes, "its memory is not PyTorch's own")
        self._warn(tensor, sizes)
        try:
            tensor.resize_(sizes)
        except RuntimeError as error:
            raise self._cannot(tensor, sizes, error) from error

    def wrote(self, tensor: Any) -> None:
        # Autograd has to find out that what it has saved is no longer there.
        if tensor.is_inference():
            return  # it has no version
        torch: Any = sys.modules["torch"]
        increment = getattr(torch.autograd.graph, "increment_version", None)
        if increment is not None:
            increment(tensor)
            return
        # PyTorch 2.2 does not offer it. A view has its tensor's version, and one without elements
        # is changed for nothing.
        with torch.no_grad():
            tensor.unsqueeze(0)[:0].zero_()

    def _set(self, tensor: Any, *place: Any) -> None:
        torch: Any = sys.modules["torch"]
        try:
            with torch.no_grad():
                tensor.set_(*place)
        except RuntimeError as error:
            raise self._cannot(tensor, place[2], error) from error

    def _cannot(self, tensor: Any, sizes: tuple[int, ...], why: object) -> ResizeError:
        return ResizeError(
            f"has shape {_shape(tensor.shape)}, needs {_shape(sizes)}, "
            f"and PyTorch cannot resize it: {why}",
            needed=sizes,
        )

    def _warn(self, tensor: Any, sizes: tuple[int, ...]) -> None:
        """PyTorch's own warning about an output that it has to resize."""
        if tensor.numel() == 0 or tuple(tensor.shape) == sizes:
            return
        warnings.warn(
            "An output with one or more elements was resized since it had shape "
            f"{_shape(tensor.shape)}, which does not match the required output shape "
            f"{_shape(sizes)}. This behavior is deprecated, and in a future PyTorch release "
            "outputs will not be resized unless they have zero elements. You can explicitly "
            "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=_depth_of_caller(),
        )


class _Dlpack(Library):
    """Tensors of any other library, seen through numpy, or PyTorch for bfloat16."""

    noun = "a tensor that is passed through DLPack"

    def view(self, tensor: Any, is_output: bool) -> View:
        kind, number = tensor.__dlpack_device__()
        if int(kind) != 1:
            raise Unfit(
                DeviceError, f"is on DLPack device ({int(kind)}, {number}); kernels run on the CPU"
            )
        seen = self._import(tensor)
        library = NUMPY if isinstance(seen, np.ndarray) else TORCH
        if is_output and library is NUMPY and not seen.flags.writeable:
            # Before version 1.0 DLPack could not say that a tensor may be written.
            raise Unfit(InvalidArgument, "is an output that DLPack gives out as read-only")
        view = library.view(seen, is_output)
        view.library = self
        return view

    def _import(self, tensor: Any) -> Any:
        try:
            return np.from_dlpack(tensor)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            torch: Any = sys.modules.get("torch")
            if torch is None:
                raise Unfit(DTypeError, f"cannot be seen through DLPack: {error}") from error
        try:
            return torch.from_dlpack(tensor)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise Unfit(DTypeError, f"cannot be seen through DLPack: {error}") from error


class Growing:
    """An output whose shape the kernel decides: the command line's, which has no tensor yet.

    Attributes:
        array: the numpy array that it is now, on shared memory.
    """

    __slots__ = ("array", "lease")

    def __init__(self, lease: Lease, dtype: int) -> None:
        self.lease = lease
        self.array: np.ndarray[Any, Any] = NUMPY.make(lease, dtype, (0,), (_dtypes.SIZES[dtype],))


class _Growing(Library):
    can_resize = True

    def view(self, tensor: Growing, is_output: bool) -> View:
        view = NUMPY.view(tensor.array, is_output)
        view.library = self
        view.owner = tensor
        return view

    def reshape(self, tensor: Growing, sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
        array = tensor.array
        tensor.array = np.ndarray(
            sizes,
            array.dtype,
            buffer=np.asarray(tensor.lease),
            strides=[stride * array.itemsize for stride in strides],
        )

    def move(self, tensor: Growing, lease: Lease, dtype: int, sizes: tuple[int, ...]) -> None:
        tensor.lease = lease
        strides = contiguous_strides(sizes, tensor.array.itemsize)
        tensor.array = NUMPY.make(lease, dtype, sizes, strides)


NUMPY = _Numpy()
TORCH = _Torch()
_DLPACK = _Dlpack()
_GROWING = _Growing()


def _depth_of_caller() -> int:
    """How far up the first frame outside of this package is, for a warning."""
    depth = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kernrig."):
        frame = frame.f_back
        depth += 1
    return depth


def library_of(cls: type) -> Library | None:
    """The library whose tensors are of this type; None if they are no tensors."""
    if issubclass(cls, np.ndarray):
        masked: Any = sys.modules.get("numpy.ma")  # numpy imports it when it is first used
        return None if masked is not None and issubclass(cls, masked.MaskedArray) else NUMPY
    torch: Any = sys.modules.get("torch")
    # Another module of this name, or one that is still being imported, has no Tensor.
    if isinstance(getattr(torch, "Tensor", None), type) and issubclass(cls, torch.Tensor):
        # One that dispatches in Python, as FakeTensor does, has no memory of its own.
        own = getattr(torch.Tensor, "__torch_dispatch__", None)
        return TORCH if getattr(cls, "__torch_dispatch__", None) == own else None
    if issubclass(cls, Growing):
        return _GROWING
    if hasattr(cls, "__dlpack__") and hasattr(cls, "__dlpack_device__"):
        return None if issubclass(cls, np.generic) else _DLPACK
    return None
