# SPDX-License-Identifier: Apache-2.0
"""Which overload of a name a call may mean.

This only chooses where several overloads have kernels; whether the arguments really fit is for the
daemon to say, which binds them by the same rules for all clients.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernrig._schema import Argument, Schema
from kernrig._tensors import library_of

_INTEGERS = (int, np.integer)
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
_BOOLS = (bool, np.bool_)


def _is_enumeration(value: Any, name: str) -> bool:
    """Whether a value is a dtype, a layout and so on: an object of PyTorch's, or its name."""
    cls = getattr(sys.modules.get("torch"), name, None)
    if isinstance(value, str) or (isinstance(cls, type) and isinstance(value, cls)):
        return True
    return name == "dtype" and isinstance(value, (np.dtype, type))


def _takes_item(base: str, value: Any, takes_numbers: bool) -> bool:
    if base == "Tensor":
        if library_of(type(value)) is not None:
            return True
        return takes_numbers and isinstance(value, _NUMBERS)
    if base in ("int", "SymInt"):
        return isinstance(value, (*_INTEGERS, np.bool_))
    if base in ("float", "SymFloat", "Scalar"):
        return isinstance(value, _NUMBERS)
    if base in ("bool", "SymBool"):
        return isinstance(value, _BOOLS)
    if base == "str":
        return isinstance(value, str)
    names = {
        **{"ScalarType": "dtype", "Layout": "layout"},
        **{"MemoryFormat": "memory_format", "Device": "device"},
    }
    return base in names and _is_enumeration(value, names[base])


def _takes(argument: Argument, value: Any, takes_numbers: bool) -> bool:
    if value is None:
        return argument.is_optional
    if not argument.is_list:
        return _takes_item(argument.base, value, takes_numbers)
    if isinstance(value, (list, tuple, range)):
        optional = argument.type.startswith(f"{argument.base}?")
        return all(
            optional if item is None else _takes_item(argument.base, item, False) for item in value
        )
    # int[2] takes one int for both.
    sized = "[]" not in argument.type
    return sized and argument.base != "Tensor" and _takes_item(argument.base, value, False)


def accepts(
    schema: Schema, tags: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]
) -> bool:
    """Whether arguments fit a schema in number, name and kind."""
    takes_numbers = "numbers" in tags
    given: dict[str, Any] = {}
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    if len(args) > len(positional):
        return False
    for argument, value in zip(positional, args, strict=False):
        given[argument.name] = value
    outs = [argument.name for argument in schema.arguments if argument.is_out]
    together = kwargs.get("out")
    for name, value in kwargs.items():
        if name == "out" and len(outs) > 1 and isinstance(value, (tuple, list)):
            continue
        if name in given:
            return False
        given[name] = value
    if len(outs) > 1 and isinstance(together, (tuple, list)):
        if len(together) != len(outs):
            return False
        given.update(zip(outs, together, strict=True))
    for argument in schema.arguments:
        if argument.name not in given:
            if argument.default is None:
                return False
        elif not _takes(argument, given.pop(argument.name), takes_numbers):
            return False
    return not given
