# SPDX-License-Identifier: Apache-2.0
"""kernrig as a backend of replay.py: out variants on arrays of numpy, through the daemon."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import replay

from kernrig import errors
from kernrig.runtime import Runtime

# replay keeps bfloat16 values in float32 arrays.
DTYPES = {**replay.NP, "bfloat16": ml_dtypes.bfloat16}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}

KINDS = [
    (errors.IndexOutOfRange, "index_out_of_range"),
    (errors.OverlapError, "overlap"),
    (errors.KernelZeroDivision, "division_by_zero"),
    (errors.KernelOverflow, "overflow"),
    ((errors.ShapeError, errors.ResizeError), "shape"),
    ((errors.DTypeError, errors.CastError), "dtype"),
]


class Kernrig:
    """A backend: run() calls one operator and returns its outputs."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.runtime = runtime or Runtime.get()

    def run(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Outputs in the schema's order; raises replay.KernelError for any error."""
        try:
            op = self.runtime.operator_registry.get_kernel(name)
            given = [self._value(arg) for arg in args]
            outs = [self._output(out, given) for out in kwargs["out"]]
            names = [a.name for a in op._schema.arguments if a.is_out]
            more = {k: self._value(v) for k, v in kwargs.items() if k != "out"}
            op(*given, **more, **dict(zip(names, outs, strict=True)))
        except errors.KernelError as error:
            raise RuntimeError(f"the kernel came to grief: {error}") from error
        except errors.KernrigError as error:
            kind = next((kind for cls, kind in KINDS if isinstance(error, cls)), "invalid_argument")
            raise replay.KernelError(kind, str(error)) from error
        return [replay.Tensor(NAMES[out.dtype], np.array(out)) for out in outs]

    def _value(self, value: Any) -> Any:
        if isinstance(value, replay.Tensor):
            return self._tensor(value)
        if isinstance(value, replay.ScalarType):
            return str(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return value

    def _output(self, out: Any, given: list[Any]) -> Any:
        if not isinstance(out, replay.Alias):
            return self._tensor(out)
        for index in out.path:
            given = given[index]
        return given

    def _tensor(self, tensor: Any) -> np.ndarray[Any, Any]:
        array = tensor.array.astype(DTYPES[tensor.dtype])
        order = tensor.dim_order or list(range(array.ndim))
        back = [order.index(dim) for dim in range(array.ndim)]
        return np.ascontiguousarray(array.transpose(order)).reshape(
            [array.shape[dim] for dim in order]
        ).transpose(back)
