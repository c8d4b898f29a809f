# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernrig import _dtypes


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("f32", "float32"),
        ("float32", "float32"),
        ("torch.float32", "float32"),
        ("bf16", "bfloat16"),
        ("bool", "bool"),
        ("i64", "int64"),
        ("u8", "uint8"),
        ("half", "float16"),
    ],
)
def test_names(text: str, name: str) -> None:
    number = _dtypes.parse(text)
    assert number is not None
    assert _dtypes.NAMES[number] == name


@pytest.mark.parametrize("text", ["float", "int", "complex64", "uint16", "f8", "", "F32"])
def test_names_that_mean_nothing_or_two_things(text: str) -> None:
    assert _dtypes.parse(text) is None


@pytest.mark.parametrize("number", sorted(_dtypes.NAMES))
def test_numpy_and_back(number: int) -> None:
    dtype = _dtypes.to_numpy(number)
    assert dtype.itemsize == _dtypes.SIZES[number]
    assert _dtypes.of_numpy(dtype) == number


def test_the_numbers_are_c10s() -> None:
    assert [_dtypes.of_numpy(np.dtype(t)) for t in ("u1", "i1", "i2", "i4", "i8")] == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert [_dtypes.of_numpy(np.dtype(t)) for t in ("f2", "f4", "f8", "?")] == [5, 6, 7, 11]
    assert _dtypes.of_numpy(np.dtype(ml_dtypes.bfloat16)) == 15


@pytest.mark.parametrize(
    "dtype", [">f4", "c8", "u2", "U3", "O", "M8[s]", "V4", [("a", "f4")], "float64,float32"]
)
def test_what_kernels_do_not_take(dtype: object) -> None:
    assert _dtypes.of_numpy(np.dtype(dtype)) is None  # type: ignore[call-overload]


def test_scalar_types_go_beyond_tensors() -> None:
    assert _dtypes.scalar_type("torch.complex64") == 9
    assert _dtypes.scalar_type("uint16") == 27
    assert _dtypes.scalar_type("float32") == 6
    assert _dtypes.scalar_type("str") is None
