# SPDX-License-Identifier: Apache-2.0
"""What is right: PyTorch in float64, rounded to the dtype.

An operator that rounds after every step is not a good judge of one that rounds once, so PyTorch
computes in float64 and the result is rounded to the dtype of the output. Where PyTorch in that
dtype itself gives infinity or NaN, that counts, since the dtype's range is part of what is asked.
Results that are not floating-point are exact, as PyTorch in their own dtype has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

DTYPES = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}

# The functional variant, which takes no outputs; and how many outputs there are.
FUNCTIONAL: dict[str, Callable[..., Any]] = {
    "aten::add.out": torch.ops.aten.add.Tensor,
    "aten::mul.out": torch.ops.aten.mul.Tensor,
    "aten::mul.Scalar_out": torch.ops.aten.mul.Scalar,
    "aten::relu.out": torch.ops.aten.relu.default,
    "aten::convolution.out": torch.ops.aten.convolution.default,
    "aten::max_pool2d_with_indices.out": torch.ops.aten.max_pool2d_with_indices.default,
    "aten::addmm.out": torch.ops.aten.addmm.default,
    "aten::_softmax.out": torch.ops.aten._softmax.default,
    "aten::argmax.out": torch.ops.aten.argmax.default,
    "aten::sum.IntList_out": torch.ops.aten.sum.dim_IntList,
    "aten::cat.out": torch.ops.aten.cat.default,
    "aten::full.out": torch.ops.aten.full.default,
}


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function to every leaf of nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        return type(value)(each(function, item) for item in value)
    return function(value)


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors among arguments, in order."""
    found: list[torch.Tensor] = []
    each(lambda leaf: found.append(leaf) if isinstance(leaf, torch.Tensor) else None, value)
    return found


def _widened(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
        return leaf.double()
    return torch.float64 if isinstance(leaf, torch.dtype) and leaf.is_floating_point else leaf


def in_own_dtype(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What PyTorch gives in the dtypes of the arguments; its exception if it refuses."""
    result = FUNCTIONAL[name](*args, **kwargs)
    return list(result) if isinstance(result, tuple) else [result]


def right(
    name: str, args: Sequence[Any], kwargs: dict[str, Any], own: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """The right values, of the shapes and dtypes of `own`, which in_own_dtype has given."""
    if not any(result.is_floating_point() for result in own):
        return list(own)
    wide_kwargs = {key: each(_widened, value) for key, value in kwargs.items()}
    wide = in_own_dtype(name, each(_widened, list(args)), wide_kwargs)
    return [
        torch.where(torch.isfinite(mine), better.to(mine.dtype), mine)
        if mine.is_floating_point()
        else mine
        for mine, better in zip(own, wide, strict=True)
    ]


def assert_right(got: torch.Tensor, wanted: torch.Tensor, what: str) -> None:
    """Same dtype, same shape, and values within the tolerance that PyTorch's own tests have."""
    torch.testing.assert_close(
        got,
        wanted,
        equal_nan=True,
        check_stride=False,
        msg=lambda text: f"{what}: {text}",
    )


def describe(value: Any) -> str:
    """Arguments for a failure: dtypes, sizes and strides instead of elements."""
    if isinstance(value, torch.Tensor):
        return f"{DTYPES.get(value.dtype, value.dtype)}{list(value.shape)}/{list(value.stride())}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(describe(item) for item in value) + "]"
    if isinstance(value, dict):
        return ", ".join(f"{key}={describe(item)}" for key, item in value.items())
    return repr(value)
