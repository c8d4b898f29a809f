# SPDX-License-Identifier: Apache-2.0
"""Every operator is right on every sample of its OpInfo, in every kind of output.

What PyTorch refuses, kernrig refuses too, with an error of the caller's.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from kernrig import errors
from kernrig.runtime import Runtime

import oracle
import samples
from outputs import KINDS, shared

Counts = Counter[tuple[str, str]]
LARGE = 1 << 18  # elements; above it one kind of output is enough


def key_of(call: samples.Call) -> object:
    """Equal for calls that are the same to a kernel, whose elements differ at most."""

    def leaf(value: Any) -> object:
        if isinstance(value, torch.Tensor):
            return value.dtype, tuple(value.shape), value.stride(), value.data_ptr()
        return repr(value)

    return call.name, str(oracle.each(leaf, [call.args, sorted(call.kwargs.items())]))


def invoke(rt: Runtime, call: samples.Call, outs: list[torch.Tensor]) -> None:
    """Calls our operator with the outputs by their names."""
    op = rt.operator_registry.get_kernel(call.name)
    names = [argument.name for argument in op._schema.arguments if argument.is_out]
    op(*call.args, **call.kwargs, **dict(zip(names, outs, strict=True)))


def refuse(rt: Runtime, call: samples.Call, reason: Exception) -> None:
    """A call that PyTorch refuses must be refused."""
    first = oracle.tensors(call.args)
    dtype = first[0].dtype if first else torch.float32
    outs = [rt.empty([64], dtype)]
    if call.name == "aten::max_pool2d_with_indices.out":
        outs.append(rt.empty([64], torch.int64))
    if call.name == "aten::argmax.out":
        outs = [rt.empty([64], torch.int64)]
    try:
        invoke(rt, call, outs)
    except errors.KernrigError as error:
        assert not isinstance(error, (errors.KernelError, errors.InternalError)), f"{call}: {error}"
        assert call.name in str(error), f"{call}: {error}"
    else:
        raise AssertionError(f"{call} was taken; PyTorch: {reason}")


def compare(rt: Runtime, call: samples.Call, kinds: list[str], counts: Counts) -> None:
    """One call into several kinds of output."""
    try:
        own = oracle.in_own_dtype(call.name, call.args, call.kwargs)
    except Exception as error:
        refuse(rt, call, error)
        counts[call.name, "refused"] += 1
        return
    wanted = oracle.right(call.name, call.args, call.kwargs, own)
    here = oracle.each(lambda x: shared(rt, x) if isinstance(x, torch.Tensor) else x, call.args)
    moved = samples.Call(call.name, here, call.kwargs, call.origin)
    before = [tensor.clone() for tensor in oracle.tensors(here)]
    size = max([tensor.numel() for tensor in [*before, *own]])
    dtype = oracle.DTYPES[before[0].dtype] if before else "none"
    for kind in kinds if size <= LARGE else kinds[:1]:
        outs = [KINDS[kind](rt, result.shape, result.dtype) for result in own]
        invoke(rt, call if kind == "private" else moved, outs)
        for out, result in zip(outs, wanted, strict=True):
            oracle.assert_right(out, result, f"{call}, output {kind}")
        counts[call.name, dtype] += 1
    for tensor, old in zip(oracle.tensors(here), before, strict=True):
        assert torch.equal(tensor.nan_to_num(), old.nan_to_num()), f"{call} changed an input"


def run(
    rt: Runtime,
    opinfos: list[Any],
    dtype: torch.dtype,
    is_full: bool,
    counts: Counts,
    left_out: Counts,
) -> int:
    """Compares all distinct calls of some OpInfos; how many there were.

    Unless is_full, calls beyond many get one kind of output each, in turn.
    """
    seen: set[object] = set()
    every = list(KINDS)
    kept = []  # its tensors' addresses stay taken, which key_of relies upon
    for opinfo in opinfos:
        for call in samples.calls(opinfo, dtype, is_full):
            if why := samples.is_supported(call):
                left_out[call.name, why] += 1
                continue
            kept.append(call)
            key = key_of(call)
            if key not in seen:
                is_one_of_many = len(seen) >= samples.MANY and not is_full
                kinds = [every[len(seen) % len(every)]] if is_one_of_many else every
                seen.add(key)
                compare(rt, call, kinds, counts)
    return len(seen)


@pytest.fixture(scope="module")
def is_full(request: pytest.FixtureRequest) -> bool:
    """Whether nothing is to be left out to save time: make full."""
    return bool(request.config.getoption("--full"))


OWN_INFOS = samples.own_opinfos()


@pytest.mark.parametrize("dtype", oracle.DTYPES, ids=oracle.DTYPES.values())
@pytest.mark.parametrize(
    "opinfo", OWN_INFOS, ids=[f"{each.name}{each.variant_test_name}" for each in OWN_INFOS]
)
def test_samples(
    rt: Runtime,
    is_full: bool,
    opinfo: Any,
    dtype: torch.dtype,
    compared: Counts,
    left_out: Counts,
) -> None:
    count = run(rt, [opinfo], dtype, is_full, compared, left_out)
    assert count > 0 or dtype not in opinfo.dtypes


@pytest.mark.parametrize("dtype", oracle.DTYPES, ids=oracle.DTYPES.values())
def test_samples_of_all_operators(
    rt: Runtime, is_full: bool, dtype: torch.dtype, compared: Counts, left_out: Counts
) -> None:
    """Operators that are not ours call ours on the way, with arguments nobody else thinks of.

    `make full` takes them all, otherwise every twentieth is asked.
    """
    others = samples.other_opinfos()
    chosen = others if is_full else others[::20]
    assert run(rt, chosen, dtype, is_full, compared, left_out) > 0
