# SPDX-License-Identifier: Apache-2.0
"""kernrig call: one call of an operator, from the shell.

Outputs that are not given are made here, without elements, and take the shape that the kernel gives
them. Their dtype is guessed and tried, which is safe: a kernel refuses a dtype before it writes.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from kernrig import _dtypes
from kernrig._cli._common import (
    AddressOption,
    Format,
    FormatOption,
    UsageError,
    connected,
    print_json,
    reporting,
)
from kernrig._cli._values import GRAMMAR, Parser
from kernrig._factory import growing
from kernrig._tensors import Growing
from kernrig.errors import (
    ArgumentTypeError,
    CastError,
    DTypeError,
    InvalidArgument,
    LimitExceeded,
    OverlapError,
    ShapeError,
)

if TYPE_CHECKING:
    from kernrig._execute import CallResult
    from kernrig.runtime import Operator, Runtime

# A negative number is an argument, and no option.
CONTEXT_SETTINGS = {"ignore_unknown_options": True}

_SHOWN_ELEMENTS = 1000

# What gives int64 whatever it takes, and what does for integers.
_INDICES = ("argmax", "argmin")
_SUMS = ("cumsum", "prod", "sum")


def _inputs(values: Any) -> list[np.ndarray[Any, Any]]:
    """The tensors among arguments, also in lists."""
    if isinstance(values, np.ndarray):
        return [values]
    if isinstance(values, list):
        return [array for value in values for array in _inputs(value)]
    return []


def _category(dtype: np.dtype[Any]) -> int:
    """bool < integers < floats; bfloat16 is of numpy's kind V."""
    return {"b": 0, "i": 1, "u": 1}.get(dtype.kind, 2)


def _promoted(inputs: list[np.ndarray[Any, Any]]) -> list[str]:
    """The dtype that PyTorch promotes tensors to: that of the highest category among them.

    A tensor without dims counts only if it is of a higher category than all that have some.
    """
    highest = max((_category(array.dtype) for array in inputs), default=0)
    best = [array for array in inputs if _category(array.dtype) == highest]
    dtypes = {array.dtype for array in best if array.ndim} or {array.dtype for array in best}
    if len(dtypes) < 2:
        return [dtype.name for dtype in dtypes]
    try:
        return [np.result_type(*dtypes).name]
    except TypeError:
        return ["float32"]  # bfloat16 with another one: numpy has no answer


def _candidates(
    operator: Operator, inputs: list[np.ndarray[Any, Any]], wish: str, hint: str
) -> list[str]:
    """Dtypes to try for outputs that are not given, the likeliest first."""
    wish = wish or hint
    if wish:
        number = _dtypes.parse(wish)
        if number is None:
            raise UsageError(f"there is no dtype {wish!r}; there are {_dtypes.SUPPORTED}")
        return [_dtypes.NAMES[number]]
    guesses = [*_promoted(inputs), "float32", "int64", "bool"]
    base = operator._schema.name.rpartition("::")[2]
    is_integral = bool(inputs) and inputs[0].dtype.kind in "bui"
    if base in _INDICES or (base in _SUMS and is_integral):
        guesses.insert(0, "int64")
    return [name for name in dict.fromkeys(guesses) if name in _dtypes.NUMBERS]


def run(
    runtime: Runtime, operator: Operator, args: list[Any], kwargs: dict[str, Any], wish: str
) -> CallResult:
    """Calls an operator; makes the outputs that are missing."""
    # A tuple or list for out stands for all outputs.
    given = operator._spread(kwargs)
    missing = [name for name in operator._outs if name not in given]
    hint = str(given["dtype"]) if isinstance(given.get("dtype"), str) else ""
    candidates = _candidates(operator, _inputs([*args, *given.values()]), wish, hint)
    result: CallResult | None = None
    for dtype in candidates if missing else candidates[:1]:
        made = {
            name: growing(runtime._memory, "int64" if name == "indices" and not wish else dtype)
            for name in missing
        }
        (attempt,) = runtime._execute([(operator, tuple(args), {**given, **made})])
        if result is None or attempt.error is None:
            result = attempt
        refusals = (CastError, DTypeError, InvalidArgument)
        if not isinstance(attempt.error, refusals) or isinstance(
            attempt.error, (OverlapError, ShapeError)
        ):
            break
    assert result is not None
    return result


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON lacks becomes a text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _checksum(array: np.ndarray[Any, Any]) -> str:
    """The beginning of the SHA-256 of the elements' bytes, in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def _described(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Growing):
        value = value.array
    if not isinstance(value, np.ndarray):
        return {"name": name, "value": _plain(value)}
    is_small = value.size <= _SHOWN_ELEMENTS
    elements = value.astype(np.float32) if value.dtype.name == "bfloat16" else value
    return {
        "name": name,
        "dtype": value.dtype.name,
        "shape": list(value.shape),
        "checksum": _checksum(value),
        "data": _plain(elements.tolist()) if is_small else None,
    }


def _named(operator: Operator, result: CallResult) -> list[tuple[str, Any]]:
    """What the call returned, each with a name."""
    values = result.value if isinstance(result.value, tuple) else (result.value,)
    names = [
        operator._schema.arguments[index].name if index >= 0 else f"return {position}"
        for position, index in enumerate(operator._returns)
    ]
    flat: list[tuple[str, Any]] = []
    for name, value in zip(names, values, strict=False):
        if isinstance(value, list):
            flat += [(f"{name}[{index}]", item) for index, item in enumerate(value)]
        else:
            flat.append((name, value))
    return flat


def _save(path: str, values: list[tuple[str, Any]]) -> None:
    """Writes the tensors: one as .npy, several under their names as .npz."""
    arrays = {}
    for name, value in values:
        array = value.array if isinstance(value, Growing) else value
        if isinstance(array, np.ndarray):
            # numpy's file format has no bfloat16; float32 holds all its values.
            arrays[name] = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    wanted = ".npy" if len(arrays) == 1 else ".npz"
    if Path(path).suffix != wanted:
        raise UsageError(f"--save {path}: {len(arrays)} outputs are saved as {wanted}")
    try:
        with open(path, "wb") as file:
            if wanted == ".npy":
                np.save(file, next(iter(arrays.values())))
            else:
                np.savez(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise UsageError(f"--save {path}: {error.strerror}") from error


def _print(operator: Operator, result: CallResult, values: list[tuple[str, Any]]) -> None:
    for name, value in values:
        array = value.array if isinstance(value, Growing) else value
        if not isinstance(array, np.ndarray):
            typer.echo(f"{name}: {array!r}")
            continue
        shape = "x".join(str(size) for size in array.shape) or "()"
        typer.echo(f"{name}: {array.dtype.name} {shape}, checksum {_checksum(array)}")
        typer.echo(np.array2string(array, threshold=_SHOWN_ELEMENTS, separator=", "))
    typer.echo(
        f"{operator.name()} by {result.provider}/{result.kernel}, "
        f"{result.kernel_ns / 1e3:.1f} µs in the kernel",
        err=True,
    )


def call(
    operator: Annotated[str, typer.Argument(metavar="OP", help="aten::add.out or aten.add.out")],
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="ARG...", help="Values and name=value.", show_default=False),
    ] = [],  # noqa: B006  (typer reads it and does not keep it)
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of randn: and rand:.")] = 0,
    out_dtype: Annotated[
        str,
        typer.Option(
            "--out-dtype", metavar="DTYPE", help="Of outputs not given.", show_default=False
        ),
    ] = "",
    provider: Annotated[
        str, typer.Option("--provider", help="Only this provider's kernels.", show_default=False)
    ] = "",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds.")] = 60.0,
    save: Annotated[
        str,
        typer.Option(
            "--save", metavar="FILE", help="Save the outputs as .npy or .npz.", show_default=False
        ),
    ] = "",
    form: FormatOption = Format.table,
    address: AddressOption = "",
) -> None:
    """Call an operator, and print what it gives."""
    with reporting(form), connected(address) as runtime:
        args, kwargs = Parser(seed).arguments(arguments)
        found = runtime.operator_registry.get_kernel(operator)
        try:
            found = found.with_options(timeout=timeout, provider=provider)
        except (ArgumentTypeError, InvalidArgument, LimitExceeded) as error:
            raise UsageError(str(error)) from error
        result = run(runtime, found, args, kwargs, out_dtype)
        if result.error is not None:
            raise result.error
        values = _named(found, result)
        if save:
            _save(save, values)
        if form is Format.table:
            _print(found, result, values)
            return
        print_json(
            {
                "operator": found.name(),
                "provider": result.provider,
                "kernel": result.kernel,
                "kernel_ns": result.kernel_ns,
                "seed": seed,
                "outputs": [_described(name, value) for name, value in values],
            }
        )


call.__doc__ = f"""{call.__doc__}

Outputs may be left out: they are made with the shape that the kernel gives them. Their dtype is
--out-dtype, or dtype=… where the operator has that; else int64 for outputs called indices, of
argmax and argmin, and of sums of integers; else what the tensors promote to, or the first of
float32, int64 and bool that a kernel takes.

\b
{GRAMMAR}

\b
Examples:
  kernrig call aten::add.out randn:2x3 ones:3 alpha=2
  kernrig call aten::add.out tensor:[1,2]:bf16 1.5 out=empty:2:f32
  kernrig call aten::cat.out [arange:3,zeros:2:i64]
  kernrig call aten::max_pool2d_with_indices.out randn:1x1x4x4 2,2 --format json
  kernrig call aten::relu.out file:a.npy --save b.npy
"""
