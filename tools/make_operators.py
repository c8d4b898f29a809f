#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes registry/operators.txt, the operators that kernrig knows without a kernel, from PyTorch.

In it are the operators of ExecuTorch's portable and quantized libraries, PyTorch's core operators,
and of each of these the functional, in-place and out overload that takes the same arguments. Every
schema and tag is PyTorch's own; a tag says where an operator is from (portable, quantized), and one
(numbers) that torch.ops takes a Python number for a Tensor argument of it, which no schema says
and which is therefore tried.

    tools/make_operators.py            writes the file
    tools/make_operators.py --check    exits with 1, and the differences, if the file has drifted
"""

import argparse
import difflib
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import torch
import torch.ao.quantization.fx._decomposed  # defines the schemas of quantized_decomposed
from torch.utils._python_dispatch import TorchDispatchMode

FILE = Path(__file__).resolve().parent.parent / "registry" / "operators.txt"

HEAD = """\
# The operators that kernrig knows without a kernel: schema, tab, tags. Sorted by name.
# Made by tools/make_operators.py from PyTorch {version}, whose --check finds drift.
#
# dim_order_ops::, et_copy:: and the out overloads of quantized_decomposed:: are not here: PyTorch
# has no schemas of them, only the ExecuTorch wheel has, and its kernels bring them along.
"""

# The operators of ExecuTorch 1.5.1's kernels/portable/functions.yaml that PyTorch knows, without
# their namespace, aten.
PORTABLE = """
    _adaptive_avg_pool2d.out _cdist_forward.out _conj_physical.out _log_softmax.out
    _native_batch_norm_legit.no_stats_out _native_batch_norm_legit.out
    _native_batch_norm_legit_no_training.out _pdist_forward.out _softmax.out _to_copy.out
    _upsample_bilinear2d_aa.out abs.out acos.out acosh.out add.Scalar_out add.out addmm.out
    alias_copy.out amax.out amin.out any.all_out any.dims_out any.out arange.out
    arange.start_out argmax.out argmin.out as_strided_copy.out asin.out asinh.out atan.out
    atan2.out atanh.out avg_pool2d.out bitwise_and.Scalar_out bitwise_and.Tensor_out
    bitwise_left_shift.Tensor_Scalar_out bitwise_left_shift.Tensor_out bitwise_not.out
    bitwise_or.Scalar_out bitwise_or.Tensor_out bitwise_right_shift.Tensor_Scalar_out
    bitwise_right_shift.Tensor_out bitwise_xor.Scalar_out bitwise_xor.Tensor_out bmm.out cat.out
    ceil.out clamp.Tensor_out clamp.out clone.out constant_pad_nd.out convolution.out
    convolution_backward.out copy.out copy_ cos.out cosh.out cumsum.out detach_copy.out
    diagonal_copy.out div.Scalar_mode_out div.Scalar_out div.out div.out_mode elu.out
    embedding.out empty.out eq.Scalar_out eq.Tensor_out erf.out exp.out expand_copy.out
    expm1.out fill.Scalar_out fill.Tensor_out flip.out floor.out floor_divide.out
    fmod.Scalar_out fmod.Tensor_out full.out full_like.out gather.out ge.Scalar_out
    ge.Tensor_out gelu.out glu.out grid_sampler_2d.out gt.Scalar_out gt.Tensor_out hardtanh.out
    index.Tensor_out index_put.out index_put_ index_select.out isinf.out isnan.out le.Scalar_out
    le.Tensor_out leaky_relu.out lift_fresh_copy.out log.out log10.out log1p.out log2.out
    logical_and.out logical_not.out logical_or.out logical_xor.out logit.out lt.Scalar_out
    lt.Tensor_out masked_fill.Scalar_out masked_scatter.out masked_select.out max.dim_max
    max.unary_out max_pool2d_with_indices.out max_pool2d_with_indices_backward.grad_input
    maximum.out mean.dtype_out mean.out min.dim_min min.unary_out minimum.out mm.out
    mul.Scalar_out mul.out narrow_copy.out native_dropout.out native_group_norm.out
    native_layer_norm.out ne.Scalar_out ne.Tensor_out neg.out nonzero.out ones.out
    permute_copy.out pixel_shuffle.out pixel_unshuffle.out pow.Scalar_out pow.Tensor_Scalar_out
    pow.Tensor_Tensor_out prod.int_out prod.out rand.out randn.out reciprocal.out
    reflection_pad1d.out reflection_pad2d.out reflection_pad3d.out relu.out remainder.Scalar_out
    remainder.Tensor_out repeat.out repeat_interleave.Tensor_out replication_pad1d.out
    replication_pad2d.out replication_pad3d.out roll.out round.out rsqrt.out rsub.Scalar_out
    scalar_tensor.out scatter.src_out scatter.value_out scatter_add.out select_copy.int_out
    select_scatter.out sigmoid.out sign.out sin.out sinh.out slice_copy.Tensor_out
    slice_scatter.out split_copy.Tensor_out split_with_sizes_copy.out sqrt.out
    squeeze_copy.dim_out squeeze_copy.dims_out stack.out sub.Scalar_out sub.out sum.IntList_out
    t_copy.out tan.out tanh.out topk.values transpose_copy.int_out tril.out trunc.out
    unbind_copy.int_out unfold_copy.out unsqueeze_copy.out upsample_bilinear2d.vec_out
    upsample_nearest2d.vec_out var.correction_out var.out var_mean.correction_out
    view_as_real_copy.out view_copy.out where.self_out zeros.out
"""

# The bases of kernels/quantized/quantized.yaml in the namespace quantized_decomposed.
QUANTIZED = """
    add choose_qparams choose_qparams_per_token_asymmetric dequantize_per_channel
    dequantize_per_tensor dequantize_per_token embedding_2bit embedding_4bit embedding_byte
    mixed_linear mixed_mm quantize_per_channel quantize_per_tensor quantize_per_token
"""

# Arguments that a factory has and its out overload lacks, since out decides them.
FACTORY_ARGUMENTS = frozenset({"dtype", "layout", "device", "pin_memory"})

Schema: TypeAlias = torch.FunctionSchema


class BoundError(Exception):
    """The arguments were bound; the operator itself need not run."""


class StopWhenBound(TorchDispatchMode):
    """Stops a call between binding and kernel."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise BoundError


def name_of(schema: Schema) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def all_schemas() -> dict[str, Schema]:
    return {name_of(schema): schema for schema in torch._C._jit_get_all_schemas()}


def overload_of(schema: Schema) -> Any:
    """torch.ops' object for a schema."""
    namespace, base = schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), base)
    return getattr(packet, schema.overload_name or "default")


def inputs(schema: Schema) -> list[tuple[str, str]]:
    """Name and type of each argument that is not only an output."""
    return [
        (argument.name, str(argument.type)) for argument in schema.arguments if not argument.is_out
    ]


def corresponds(a: Schema, b: Schema) -> bool:
    """Whether both take the same inputs, but for what only a factory takes."""
    inputs_a, inputs_b = inputs(a), inputs(b)
    names_a, names_b = {name for name, _ in inputs_a}, {name for name, _ in inputs_b}
    only_one = (names_a ^ names_b) & FACTORY_ARGUMENTS
    return [pair for pair in inputs_a if pair[0] not in only_one] == [
        pair for pair in inputs_b if pair[0] not in only_one
    ]


def relatives(schema: Schema, schemas: dict[str, list[Schema]]) -> Iterable[Schema]:
    """The overloads of the same base, in-place or not, that take the same arguments."""
    namespace, base = schema.name.split("::")
    stem = base.removesuffix("_") if len(base) > 1 and not base.startswith("__") else base
    for name in (f"{namespace}::{stem}", f"{namespace}::{stem}_"):
        for other in schemas.get(name, ()):
            if corresponds(schema, other):
                yield other


def example(kind: str) -> Any:
    """Any value that a type of this name takes."""
    if kind.startswith("Optional["):
        return None
    if kind.startswith("List["):
        return []
    examples = {"Tensor": torch.ones(1), "str": "", "bool": False, "float": 1.0, "Device": "cpu"}
    return examples.get(kind, 1)


def takes_numbers(schema: Schema) -> bool:
    """Whether torch.ops binds a Python number to one of the Tensor arguments."""
    arguments = {argument.name: example(str(argument.type)) for argument in schema.arguments}
    for argument in schema.arguments:
        if str(argument.type) != "Tensor" or (argument.alias_info and argument.alias_info.is_write):
            continue
        try:
            with StopWhenBound():
                overload_of(schema)(**{**arguments, argument.name: 2})
        except BoundError:
            return True
        except RuntimeError as error:
            refusal = "Expected a value of type"
            if refusal in str(error) and f"for argument '{argument.name}'" in str(error):
                continue
            if refusal in str(error):
                raise  # The example of another argument is wrong.
            # What is checked before the first dispatch is checked after binding.
            return True
        else:
            return True
    return False


def tags_of(schema: Schema, portable: set[str], quantized: set[str]) -> list[str]:
    name = name_of(schema)
    tags = sorted(tag.name for tag in overload_of(schema).tags)
    tags += ["portable"] * (name in portable)
    tags += ["quantized"] * (schema.name in quantized)
    tags += ["numbers"] * takes_numbers(schema)
    return tags


def is_core(schema: Schema) -> bool:
    return schema.name.startswith("aten::") and torch.Tag.core in overload_of(schema).tags


def lines() -> list[str]:
    """The lines of the file below its head."""
    schemas = all_schemas()
    by_base: dict[str, list[Schema]] = {}
    for schema in schemas.values():
        by_base.setdefault(schema.name, []).append(schema)
    portable = {f"aten::{name}" for name in PORTABLE.split()}
    unknown = portable - schemas.keys()
    if unknown:
        raise SystemExit(f"PyTorch {torch.__version__} lacks {', '.join(sorted(unknown))}")
    quantized = {f"quantized_decomposed::{base}" for base in QUANTIZED.split()}
    wanted = {name for name in schemas if name in portable or schemas[name].name in quantized}
    # Operators of torch.jit only, such as aten::append, are no attributes of torch.ops.
    dispatched = set(torch._C._dispatch_get_all_op_names())
    wanted |= {name for name in dispatched & schemas.keys() if is_core(schemas[name])}
    for name in list(wanted):
        wanted |= {name_of(each) for each in relatives(schemas[name], by_base)} & dispatched
    return [
        f"{schemas[name]}\t{' '.join(tags_of(schemas[name], portable, quantized))}"
        for name in sorted(wanted)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args().check
    warnings.simplefilter("ignore")
    made = lines()
    if not check:
        FILE.write_text(
            HEAD.format(version=torch.__version__.partition("+")[0]) + "\n".join(made) + "\n"
        )
        print(f"{FILE.name}: {len(made)} operators")
        return 0
    kept = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    differences = list(
        difflib.unified_diff(
            kept, made, "operators.txt", f"PyTorch {torch.__version__}", n=0, lineterm=""
        )
    )
    print("\n".join(differences) if differences else f"{FILE.name}: no drift")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
