# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernrig._factory import empty, tensor
from kernrig._memory import Memory
from kernrig.errors import (
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    InvalidArgument,
    LimitExceeded,
    ShapeError,
)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("f32", "float32"),
        ("bf16", "bfloat16"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (np.float16, "float16"),
        (np.dtype("int8"), "int8"),
        ("torch.int64", "int64"),
        (bool, "bool"),
        (float, "float64"),
    ],
)
def test_the_dtype_decides(memory: Memory, dtype: Any, name: str) -> None:
    array = empty(memory, (2, 3), dtype, is_zero=True)
    assert isinstance(array, np.ndarray)
    assert (array.shape, array.dtype.name) == ((2, 3), name)
    assert array.flags.c_contiguous
    assert not array.any()
    assert memory.find(array.ctypes.data) is not None


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [(3, (3,)), ((), ()), ([2, 0], (2, 0)), (np.array([2, 3]), (2, 3)), (np.int64(4), (4,))],
)
def test_shapes(memory: Memory, shape: Any, sizes: tuple[int, ...]) -> None:
    assert empty(memory, shape, "f32", is_zero=False).shape == sizes


@pytest.mark.parametrize(
    ("shape", "dtype", "cls"),
    [
        (2, "complex64", DTypeError),
        (2, "float", DTypeError),
        (2, np.uint16, DTypeError),
        (2, ">f4", DTypeError),
        (2, None, ArgumentTypeError),
        (2, 3, ArgumentTypeError),
        (-1, "f32", ShapeError),
        ((2, -1), "f32", ShapeError),
        (2.5, "f32", ArgumentTypeError),
        ("ab", "f32", ArgumentTypeError),
        ((1 << 40, 1 << 40), "f32", LimitExceeded),
        ((0, 1 << 62, 1 << 62), "f32", LimitExceeded),
        (1 << 70, "f32", LimitExceeded),
        ((1,) * 17, "f32", ShapeError),
        ((1,) * 70, "f32", ShapeError),
        (2, np.floating, ArgumentTypeError),
    ],
)
def test_what_cannot_be_made(memory: Memory, shape: Any, dtype: Any, cls: type) -> None:
    with pytest.raises(cls):
        empty(memory, shape, dtype, is_zero=False)


def test_used_memory_is_zeroed(memory: Memory) -> None:
    for _ in range(3):
        array = empty(memory, 500, "f32", is_zero=True)
        assert not array.any()
        array[:] = 7
        del array


@pytest.mark.parametrize(
    ("data", "dtype", "name", "values"),
    [
        ([[1, 2], [3, 4]], None, "int64", [[1, 2], [3, 4]]),
        ([1.5], None, "float64", [1.5]),
        (3, "f32", "float32", 3.0),
        ([1.5, -2], "bf16", "bfloat16", [1.5, -2]),
        (np.arange(3, dtype=">i4"), None, "int32", [0, 1, 2]),
        (np.arange(4)[::-2], "u8", "uint8", [3, 1]),
        (np.float32(2), None, "float32", 2.0),
    ],
)
def test_data(memory: Memory, data: Any, dtype: Any, name: str, values: Any) -> None:
    array = tensor(memory, data, dtype)
    assert array.dtype.name == name
    assert array.tolist() == values
    assert memory.find(array.ctypes.data) is not None


def test_dlpack_data(memory: Memory) -> None:
    class Foreign:
        def __dlpack__(self, **options: Any) -> Any:
            return np.arange(3.0).__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.device, 0

        device = 1

    assert tensor(memory, Foreign(), None).tolist() == [0, 1, 2]
    assert tensor(memory, Foreign(), "i32").dtype == np.int32
    Foreign.device = 2
    for dtype in (None, "i32"):
        with pytest.raises(DeviceError, match=r"device \(2, 0\)"):
            tensor(memory, Foreign(), dtype)


def test_a_copy_keeps_the_order_of_dims(memory: Memory) -> None:
    source = np.arange(120.0).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)
    array = tensor(memory, source, None)
    assert array.strides == source.strides
    assert np.array_equal(array, source)


def test_a_copy_is_a_copy(memory: Memory) -> None:
    source = np.zeros(3)
    array = tensor(memory, source, None)
    array[:] = 1
    assert not source.any()


@pytest.mark.parametrize(
    ("data", "cls"),
    [([[1], [1, 2]], InvalidArgument), ([1j], DTypeError), (["a"], DTypeError), ({}, DTypeError)],
)
def test_what_is_no_data(memory: Memory, data: Any, cls: type) -> None:
    with pytest.raises(cls):
        tensor(memory, data, None)


@pytest.mark.parametrize(
    ("data", "cls"),
    [
        ([[1], [1, 2]], InvalidArgument),
        ([1j], DTypeError),
        ("1.5", DTypeError),
        (np.timedelta64(3), DTypeError),
        ({}, InvalidArgument),
        ([10**400], InvalidArgument),
        (np.array([object()]), InvalidArgument),
    ],
)
def test_what_no_dtype_makes_data(memory: Memory, data: Any, cls: type) -> None:
    with pytest.raises(cls, match="the data"):
        tensor(memory, data, "f32")
