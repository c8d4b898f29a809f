# SPDX-License-Identifier: Apache-2.0
"""Which dtypes go together: every pair of inputs with every output, as PyTorch decides it."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
import torch
from kernrig import errors
from kernrig.runtime import Runtime

import oracle

Counts = Counter[tuple[str, str]]
VALUES = [3, 0, 1, 2, 7, 100]
NUMBERS: list[bool | int | float] = [True, 2, 2.5]


def _tensor(dtype: torch.dtype, is_zero_dim: bool) -> torch.Tensor:
    return torch.tensor(VALUES[0] if is_zero_dim else VALUES).to(dtype)


def _both(
    rt: Runtime, name: str, pytorch: Any, args: list[Any], kwargs: dict[str, Any], out: torch.dtype
) -> bool:
    """Calls both; both refuse, or both give the same. Whether they gave something."""
    op = rt.operator_registry.get_kernel(f"aten::{name}")
    what = f"{name}({oracle.describe(args)}; {kwargs}) to {out}"
    theirs, ours = torch.empty(0, dtype=out), torch.empty(0, dtype=out)
    try:
        pytorch(*args, **kwargs, out=theirs)
    except (RuntimeError, TypeError) as error:
        with pytest.raises((errors.DTypeError, errors.CastError, errors.InvalidArgument)):
            op(*args, **kwargs, out=ours)
            raise AssertionError(f"{what} was taken; PyTorch: {error}") from error
        return False
    op(*args, **kwargs, out=ours)
    oracle.assert_right(ours, theirs, what)
    return True


@pytest.mark.parametrize("out", oracle.DTYPES, ids=oracle.DTYPES.values())
@pytest.mark.parametrize("name", ["add.out", "mul.out"])
def test_pairs(rt: Runtime, name: str, out: torch.dtype, compared: Counts) -> None:
    pytorch = getattr(torch.ops.aten, name.split(".")[0]).out
    given = 0
    for one, other in itertools.product(oracle.DTYPES, repeat=2):
        for is_zero_dim in (False, True):
            args = [_tensor(one, False), _tensor(other, is_zero_dim)]
            given += _both(rt, name, pytorch, args, {}, out)
    for one, number in itertools.product(oracle.DTYPES, NUMBERS):
        # PyTorch wraps a number into a tensor of no dimensions, which counts less than others.
        theirs = torch.add if name == "add.out" else torch.mul
        given += _both(rt, name, theirs, [_tensor(one, False), number], {}, out)
    compared[f"aten::{name}, promotion", oracle.DTYPES[out]] += given
    assert given > 0


@pytest.mark.parametrize("out", oracle.DTYPES, ids=oracle.DTYPES.values())
def test_cat(rt: Runtime, out: torch.dtype, compared: Counts) -> None:
    given = 0
    for one, other in itertools.product(oracle.DTYPES, repeat=2):
        args = [[_tensor(one, False), _tensor(other, False)], 0]
        given += _both(rt, "cat.out", torch.ops.aten.cat.out, args, {}, out)
    compared["aten::cat.out, promotion", oracle.DTYPES[out]] += given
    assert given > 0


@pytest.mark.parametrize("out", oracle.DTYPES, ids=oracle.DTYPES.values())
def test_sum(rt: Runtime, out: torch.dtype, compared: Counts) -> None:
    given = 0
    for dtype in oracle.DTYPES:
        for wanted in (None, out):
            kwargs = {"dtype": wanted}
            args = [_tensor(dtype, False), [0], False]
            given += _both(rt, "sum.IntList_out", torch.ops.aten.sum.IntList_out, args, kwargs, out)
    compared["aten::sum.IntList_out, dtypes", oracle.DTYPES[out]] += given
    assert given > 0


@pytest.mark.parametrize("dtype", oracle.DTYPES, ids=oracle.DTYPES.values())
def test_alpha_of_every_kind(rt: Runtime, dtype: torch.dtype, compared: Counts) -> None:
    given = 0
    for other, alpha in itertools.product(oracle.DTYPES, [2, 2.5, -1, 0]):
        args = [_tensor(dtype, False), _tensor(other, False)]
        out = torch.result_type(*args)
        given += _both(rt, "add.out", torch.ops.aten.add.out, args, {"alpha": alpha}, out)
    compared["aten::add.out, alpha", oracle.DTYPES[dtype]] += given
    assert given > 0
