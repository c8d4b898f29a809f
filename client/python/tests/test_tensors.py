# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernrig._memory import Memory
from kernrig._tensors import (
    NUMPY,
    Growing,
    Unfit,
    View,
    contiguous_strides,
    dense_strides,
    element_strides,
    library_of,
)
from kernrig.errors import DeviceError, DTypeError, InvalidArgument, ShapeError


def view(array: Any, is_output: bool = False) -> View:
    library = library_of(type(array))
    assert library is not None
    return library.view(array, is_output)


def test_a_view_of_numpy() -> None:
    array = np.zeros((2, 3, 4), np.float32)[:, ::2]
    seen = view(array)
    assert (seen.address, seen.dtype, seen.itemsize) == (array.ctypes.data, 6, 4)
    assert (seen.sizes, seen.strides, seen.count) == ((2, 2, 4), (48, 32, 4), 16)
    assert seen.bounds() == (seen.address, seen.address + 48 + 32 + 12 + 4)


def test_bounds_of_negative_strides_and_of_nothing() -> None:
    array = np.zeros(5, np.int16)
    assert view(array[::-1]).bounds() == view(array).bounds()
    empty = view(array[2:2])
    assert empty.bounds() == (empty.address, empty.address)
    assert view(np.zeros(())).bounds()[1] - view(np.zeros(())).bounds()[0] == 8


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, np.complex64),
        np.zeros(2, [("a", "f4")]),
        np.zeros(2, object),
        np.zeros(2, "U3"),
        np.zeros(2, np.uint16),
        np.zeros(2, ">c8"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_dtypes_that_kernels_do_not_take(array: Any) -> None:
    with pytest.raises(Unfit) as caught:
        view(array)
    assert caught.value.cls is DTypeError
    assert "float32" in caught.value.text


def test_the_other_byte_order_is_converted_for_an_input_only() -> None:
    array = np.array([1, 2], ">f4")
    seen = view(array)
    assert seen.dtype == 6
    assert seen.owner.tolist() == [1, 2]
    with pytest.raises(Unfit, match="byte order"):
        view(array, is_output=True)


def test_a_read_only_array_is_no_output() -> None:
    array = np.broadcast_to(np.zeros(1), (4,))
    assert view(array).strides == (0,)
    with pytest.raises(Unfit, match="read-only") as caught:
        view(array, is_output=True)
    assert caught.value.cls is InvalidArgument


def test_too_many_dims() -> None:
    assert view(np.zeros((1,) * 16)).count == 1
    with pytest.raises(Unfit) as caught:
        view(np.zeros((1,) * 17))
    assert caught.value.cls is ShapeError


class Exporter:
    """Any other library's tensor."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class OldExporter(Exporter):
    """One of before DLPack 1.0, which has no options."""

    def __dlpack__(self, stream: None = None) -> Any:  # type: ignore[override]  # that is the point
        return self.array.__dlpack__()


def test_dlpack() -> None:
    array = np.arange(6, dtype=np.float64).reshape(2, 3).T
    for exporter in (Exporter(array), OldExporter(array)):
        seen = view(exporter)
        assert seen.address == array.ctypes.data
        assert seen.strides == array.strides
        assert not seen.library.can_resize
    with pytest.raises(Unfit) as caught:
        view(Exporter(array, (2, 0)))
    assert caught.value.cls is DeviceError


def test_a_writable_dlpack_tensor_is_an_output() -> None:
    array = np.zeros(3)
    assert view(Exporter(array), is_output=True).address == array.ctypes.data
    array.flags.writeable = False
    with pytest.raises(Unfit, match="DLPack"):
        view(Exporter(array), is_output=True)


@pytest.mark.parametrize(
    "value", [1, 1.5, True, None, "x", [1], np.float32(2), np.bool_(True), ml_dtypes.bfloat16(1)]
)
def test_what_is_no_tensor(value: object) -> None:
    assert library_of(type(value)) is None


def test_a_masked_array_is_no_tensor() -> None:
    """Its mask would be lost."""
    assert library_of(np.ma.MaskedArray) is None
    assert library_of(np.matrix) is NUMPY


def test_strides() -> None:
    assert contiguous_strides((2, 3, 4), 4) == (48, 16, 4)
    assert contiguous_strides((2, 0, 4), 1) == (4, 4, 1)
    assert contiguous_strides((), 8) == ()
    assert element_strides((48, 4), 4) == (12, 1)
    assert element_strides((6, 4), 4) is None
    assert element_strides((-4,), 4) is None
    assert element_strides((), 4) == ()


@pytest.mark.parametrize(
    ("array", "strides"),
    [
        (np.zeros((2, 3, 4), "f4"), (48, 16, 4)),
        (np.zeros((4, 3, 2), "f4").T, (4, 8, 24)),
        (np.zeros((2, 4, 5, 3), "f4").transpose(0, 3, 1, 2), (240, 4, 60, 12)),
        (np.zeros((4, 6), "f4")[::2, ::3], (8, 4)),
        (np.zeros(4, "f4")[::-1], (4,)),
        (np.zeros((), "f4"), ()),
    ],
)
def test_dense_strides_keep_the_order_of_dims(array: Any, strides: tuple[int, ...]) -> None:
    assert dense_strides(view(array)) == strides


def test_tensors_on_shared_memory(memory: Memory) -> None:
    (lease,) = memory.allocate([96])
    region = lease.region
    array = NUMPY.make(lease, 6, (2, 3, 4), (48, 16, 4))
    assert isinstance(array, np.ndarray)
    assert (array.shape, array.dtype) == ((2, 3, 4), np.float32)
    assert array.ctypes.data == region.address
    array[:] = 5
    assert view(array[1:]).address == region.address + 48


def test_a_growing_output_has_no_elements_at_first(memory: Memory) -> None:
    (lease,) = memory.allocate([0])
    region = lease.region
    growing = Growing(lease, 4)
    seen = view(growing, is_output=True)
    assert (seen.sizes, seen.address, seen.dtype) == ((0,), region.address, 4)
    assert element_strides(seen.strides, seen.itemsize) is not None
    seen.library.reshape(growing, (2, 3), (3, 1))
    assert growing.array.shape == (2, 3)
    assert growing.array.ctypes.data == region.address
