# SPDX-License-Identifier: Apache-2.0
"""Element types: c10's numbers, and their names in numpy, PyTorch and on the command line.

Kernels take the types of kernel.h, in kernrig._status.DTYPES. PyTorch has more; as a value for a
ScalarType argument any of them can be sent, and what becomes of it is the kernel's business.
PyTorch is never imported here: a caller who has no torch.dtype cannot pass one.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kernrig._status import DTYPES

NAMES: dict[int, str] = {number: name for name, number, _ in DTYPES}
SIZES: dict[int, int] = {number: size for _, number, size in DTYPES}
NUMBERS: dict[str, int] = {name: number for name, number, _ in DTYPES}

# c10::ScalarType of what no kernel can be given as a tensor.
_FOREIGN: dict[str, int] = {
    **{"complex32": 8, "complex64": 9, "complex128": 10},
    **{"qint8": 12, "quint8": 13, "qint32": 14, "quint4x2": 16, "quint2x4": 17},
    **{"float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26},
    **{"uint16": 27, "uint32": 28, "uint64": 29, "float8_e8m0fnu": 44},
}

_SHORT: dict[str, str] = {
    **{"u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"},
    **{"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16"},
    **{"half": "float16", "double": "float64"},
}

SUPPORTED = ", ".join(NAMES.values())

# Filled as dtypes are met: hashing a numpy dtype is cheap, taking its name apart is not.
_of_numpy: dict[Any, int] = {}
_of_torch: dict[Any, int] = {}
_to_numpy: dict[int, np.dtype[Any]] = {}
_to_torch: dict[int, Any] = {}


def parse(text: str) -> int | None:
    """The number of a dtype's name, or None.

    Takes numpy's and PyTorch's names, with or without "torch.", and the short ones of compilers
    ("f32", "bf16", "i64"). "float" and "int" mean different things in numpy and in PyTorch, and
    are refused.
    """
    name = text.removeprefix("torch.")
    return NUMBERS.get(_SHORT.get(name, name))


def of_numpy(dtype: np.dtype[Any]) -> int | None:
    """The number of a numpy dtype in native byte order; None if kernels do not take it."""
    number = _of_numpy.get(dtype)
    if number is None and dtype.isnative and dtype.names is None:
        # ml_dtypes registers bfloat16 with numpy under this name.
        number = NUMBERS.get(dtype.name)
        if number is not None:
            _of_numpy[dtype] = number
    return number


def to_numpy(number: int) -> np.dtype[Any]:
    """The numpy dtype of a number that kernels take; bfloat16 is ml_dtypes'."""
    dtype = _to_numpy.get(number)
    if dtype is None:
        if NAMES[number] == "bfloat16":
            # 90 ms that most programs need not spend.
            import ml_dtypes

            dtype = np.dtype(ml_dtypes.bfloat16)
        else:
            dtype = np.dtype(NAMES[number])
        _to_numpy[number] = dtype
    return dtype


def of_torch(dtype: Any) -> int | None:
    """The number of a torch.dtype; None if kernels do not take it."""
    if not _of_torch:
        torch: Any = sys.modules["torch"]
        for name, number in NUMBERS.items():
            _to_torch[number] = getattr(torch, name)
            _of_torch[_to_torch[number]] = number
    return _of_torch.get(dtype)


def to_torch(number: int) -> Any:
    """The torch.dtype of a number that kernels take. The caller has imported torch."""
    torch: Any = sys.modules["torch"]
    of_torch(torch.float32)
    return _to_torch[number]


def scalar_type(name: str) -> int | None:
    """c10's number of a dtype by its name, also of those that kernels do not take as tensors."""
    name = name.removeprefix("torch.")
    return NUMBERS.get(name, _FOREIGN.get(name))
