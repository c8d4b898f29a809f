# SPDX-License-Identifier: Apache-2.0
"""kernrig as a backend of replay.py: out variants on arrays of numpy, through the daemon."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from kernrig import errors
from kernrig.runtime import Runtime

import replay

KINDS: list[tuple[tuple[type[errors.KernrigError], ...], str]] = [
    ((errors.IndexOutOfRange,), "index_out_of_range"),
    ((errors.OverlapError,), "overlap"),
    ((errors.KernelZeroDivision,), "division_by_zero"),
    ((errors.KernelOverflow,), "overflow"),
    ((errors.ShapeError, errors.ResizeError), "shape"),
    ((errors.DTypeError, errors.CastError), "dtype"),
]


class Kernrig:
    """A backend of a session: the default runtime unless one is given."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.runtime = runtime or Runtime.get()

    def run(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[replay.Tensor]:
        """The outputs, in the schema's order.

        Raises:
            replay.KernelError: the call was refused, or there is nothing to call.
            KernelError: the kernel has ended its worker.
        """
        try:
            op = self.runtime.operator_registry.get_kernel(name)
        except (errors.MissingOperatorKey, errors.MissingKernelKey) as error:
            raise replay.KernelError("no_kernel", str(error)) from error
        given = [_value(arg) for arg in args]
        outs = [_output(out, given) for out in kwargs["out"]]
        names = [argument.name for argument in op._schema.arguments if argument.is_out]
        more = {key: _value(value) for key, value in kwargs.items() if key != "out"}
        try:
            op(*given, **more, **dict(zip(names, outs, strict=True)))
        except errors.KernelError:
            raise
        except errors.KernrigError as error:
            kind = next((kind for classes, kind in KINDS if isinstance(error, classes)), "other")
            raise replay.KernelError(kind, str(error)) from error
        return [replay.Tensor(out.dtype.name, np.array(out)) for out in outs]


def _value(value: Any) -> Any:
    if isinstance(value, replay.Tensor):
        return _array(value)
    if isinstance(value, replay.ScalarType):
        return str(value)
    return [_value(item) for item in value] if isinstance(value, list) else value


def _output(out: Any, given: Any) -> Any:
    if isinstance(out, replay.Tensor):
        return _array(out)
    for index in out.path:
        given = given[index]
    return given


def _array(tensor: replay.Tensor) -> np.ndarray[Any, Any]:
    """A copy with the dimensions in the order in memory that the case has."""
    # A replay may keep the elements of bfloat16 in float32.
    array = tensor.array.astype(getattr(ml_dtypes, tensor.dtype, tensor.dtype))
    order = tensor.dim_order or list(range(array.ndim))
    return array.transpose(order).copy().transpose(np.argsort(order))
