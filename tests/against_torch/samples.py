# SPDX-License-Identifier: Apache-2.0
"""Calls of our operators, as PyTorch's own test samples (OpInfo) make them.

A sample calls a public function such as torch.nn.functional.conv_transpose2d; what arrives at ATen
is recorded on the way, so that our operator gets exactly the arguments that PyTorch's gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import oracle

# ATen's functional overloads, and the out variant that is called instead.
OUT_VARIANTS = {
    "aten.add.Tensor": "aten::add.out",
    "aten.mul.Tensor": "aten::mul.out",
    "aten.mul.Scalar": "aten::mul.Scalar_out",
    "aten.relu.default": "aten::relu.out",
    "aten.convolution.default": "aten::convolution.out",
    "aten.max_pool2d_with_indices.default": "aten::max_pool2d_with_indices.out",
    "aten.addmm.default": "aten::addmm.out",
    "aten._softmax.default": "aten::_softmax.out",
    "aten.argmax.default": "aten::argmax.out",
    "aten.sum.dim_IntList": "aten::sum.IntList_out",
    "aten.sum.default": "aten::sum.IntList_out",
    "aten.cat.default": "aten::cat.out",
}
# The OpInfos whose operator is one of ours.
OWN = [
    "add",
    "mul",
    "addmm",
    "softmax",
    "argmax",
    "sum",
    "cat",
    "nn.functional.relu",
    "nn.functional.conv1d",
    "nn.functional.conv2d",
    "nn.functional.conv3d",
    "nn.functional.conv_transpose1d",
    "nn.functional.conv_transpose2d",
    "nn.functional.conv_transpose3d",
    "nn.functional.max_pool2d",
]
# Of out variants only these keyword arguments are known; what factories take beside is not asked.
KEYWORDS = ("alpha", "beta", "dtype")
MANY = 250  # max_pool2d has 1,440 samples for each dtype, most others fewer than 50


@dataclass(frozen=True)
class Call:
    """One call: the out variant's name, its arguments without outputs, and where it came from."""

    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    origin: str

    def __str__(self) -> str:
        text = f"{self.name}({oracle.describe(self.args)}; {oracle.describe(self.kwargs)})"
        return f"{text} from {self.origin}"


class _Recorder(TorchDispatchMode):
    """Keeps the calls that are ours, also those that PyTorch then refuses."""

    def __init__(self, origin: str) -> None:
        super().__init__()
        self._origin = origin
        self.calls: list[Call] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = OUT_VARIANTS.get(str(function))
        if name is not None:
            given = [*args, None] if str(function) == "aten.sum.default" else list(args)
            given = oracle.each(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, given)
            keywords = {key: kwargs[key] for key in KEYWORDS if key in kwargs}
            self.calls.append(Call(name, given, keywords, self._origin))
        return function(*args, **kwargs)


def _record(op: Any, sample: Any, origin: str) -> list[Call]:
    recorder = _Recorder(origin)
    try:
        with recorder:
            op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        pass
    return recorder.calls


def _can_be_discontiguous(sample: Any) -> bool:
    """PyTorch makes strided tensors so; some of its operators' samples are sparse."""
    leaves = tree_leaves([sample.input, sample.args, sample.kwargs])
    return all(x.layout == torch.strided for x in leaves if isinstance(x, torch.Tensor))


def calls(opinfo: Any, dtype: torch.dtype, is_full: bool = True) -> Iterator[Call]:
    """What the samples of an OpInfo call, each as it is and with every tensor discontiguous.

    Samples that PyTorch is known to refuse (error_inputs) are among them. Unless is_full, an OpInfo
    with more than MANY samples has every fourth of those beyond them discontiguous.
    """
    origin = " ".join(part for part in (opinfo.name, opinfo.variant_test_name) if part)
    if dtype in opinfo.dtypes:
        for index, sample in enumerate(opinfo.sample_inputs("cpu", dtype, requires_grad=False)):
            yield from _record(opinfo, sample, origin)
            is_wanted = is_full or index < MANY or index % 4 == 0
            if is_wanted and _can_be_discontiguous(sample):
                yield from _record(opinfo, sample.noncontiguous(), f"{origin}, discontiguous")
    if dtype == torch.float32 and opinfo.error_inputs_func is not None:
        for error in opinfo.error_inputs("cpu"):
            yield from _record(opinfo, error.sample_input, f"{origin}, an error")


def own_opinfos() -> list[Any]:
    """The OpInfos of our operators."""
    return [opinfo for opinfo in op_db if opinfo.name in OWN]


def other_opinfos() -> list[Any]:
    """All others; many of them call one of ours on the way."""
    return [opinfo for opinfo in op_db if opinfo.name not in OWN]


def is_supported(call: Call) -> str:
    """Why no kernel of ours takes it, or ""."""
    for tensor in oracle.tensors([call.args, list(call.kwargs.values())]):
        if tensor.dtype not in oracle.DTYPES:
            return f"{tensor.dtype} is no dtype of kernrig's kernels"
        if tensor.dim() > 16:
            return "more than 16 dimensions"
    leaves: list[Any] = []
    oracle.each(leaves.append, [call.args, list(call.kwargs.values())])
    if any(isinstance(leaf, torch.dtype) and leaf not in oracle.DTYPES for leaf in leaves):
        return "a dtype of no kernel is asked for"
    if any(isinstance(leaf, complex) for leaf in leaves):
        return "complex numbers"
    return ""
