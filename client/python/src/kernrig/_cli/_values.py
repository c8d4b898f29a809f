# SPDX-License-Identifier: Apache-2.0
"""The grammar of arguments on the command line; no daemon is needed to parse them.

argument  name=value | value
value     randn:SHAPE[:DTYPE]         normally distributed        (default dtype f32)
          rand:SHAPE[:DTYPE]          between 0 and 1
          zeros: ones: empty:SHAPE[:DTYPE]
          full:SHAPE:NUMBER[:DTYPE]
          arange:COUNT[:DTYPE]        0, 1, 2 …                   (default dtype i64)
          tensor:JSON[:DTYPE]         tensor:[[1,2],[3,4]]:f32
          file:PATH                   a .npy file; in [] up to a comma
          1  1.5  inf  nan  true  false  none
          [value,…] or value,value    a list, of tensors too; [] is empty
          word                        a text: mean, float32
SHAPE     2x3, 5, 0x3; () has no dims
DTYPE     u8 i8 i16 i32 i64 f16 bf16 f32 f64 bool, or the long names
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from kernrig import _dtypes
from kernrig._cli._common import UsageError

GRAMMAR = "\n".join((__doc__ or "").splitlines()[2:]).rstrip()

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_INTEGER = re.compile(r"[+-]?\d+")
_KINDS = ("randn", "rand", "zeros", "ones", "empty")
_WORDS = {"none": None, "true": True, "false": False}


class Parser:
    """Parses arguments; random values follow from a seed and the order of the arguments."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def arguments(self, texts: list[str]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments.

        Raises:
            UsageError: a text is not in the grammar.
        """
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals or not _NAME.fullmatch(name):
                if kwargs:
                    raise UsageError(
                        f"{text!r} stands behind {next(iter(kwargs))}=…: names come last"
                    )
                args.append(self._argument(text))
            elif name in kwargs:
                raise UsageError(f"{name} is given twice")
            else:
                kwargs[name] = self._argument(value)
        return args, kwargs

    def _argument(self, text: str) -> Any:
        """A value; what numpy, JSON or Python have no room for is wrong usage as well."""
        try:
            return self.value(text)
        except RecursionError:
            raise UsageError(f"{_short(text)} is nested too deeply") from None
        except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
            raise UsageError(f"{_short(text)}: {error}") from error

    def value(self, text: str) -> Any:
        """One value."""
        text = text.strip()
        if text.startswith("file:"):
            return _load(text.removeprefix("file:"))
        if text.startswith("[") and text.endswith("]"):
            return [self.value(item) for item in _items(text[1:-1])]
        items = _items(text)
        if len(items) > 1:
            return [self.value(item) for item in items]
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if _INTEGER.fullmatch(text):
            return int(text)
        try:
            return float(text)
        except ValueError:
            pass
        kind, colon, rest = text.partition(":")
        if colon:
            return self._tensor(kind, rest, text)
        if _WORD.fullmatch(text):
            return text
        raise UsageError(f"{text!r} is no value; see `kernrig call --help`")

    def _tensor(self, kind: str, rest: str, text: str) -> np.ndarray[Any, Any]:
        if kind == "tensor":
            body, bracket, dtype = rest.rpartition("]")
            return _of_json(body + bracket if bracket else rest, dtype.removeprefix(":"), text)
        parts = rest.split(":")
        if kind == "arange":
            self._check(parts, 1, text)
            count = _count(parts[0], text)
            wanted = _dtype(parts[1] if len(parts) > 1 else "i64", text)
            return _cast(np.arange(count), wanted, text)
        if kind == "full":
            self._check(parts, 2, text)
            number = self.value(parts[1])
            if not isinstance(number, (bool, int, float)):
                raise UsageError(f"{text!r}: {parts[1]!r} is no number")
            wanted = _optional(parts, 2, text)
            # One number says whether all of them can be had.
            one = _cast(np.asarray(number), wanted, text)
            return np.full(_shape(parts[0], text), one, wanted)
        if kind not in _KINDS:
            known = ", ".join((*_KINDS, "full", "arange", "tensor", "file"))
            raise UsageError(f"{text!r} is no value: there is no {kind!r}, there are {known}")
        self._check(parts, 1, text)
        shape = _shape(parts[0], text)
        if kind == "randn":
            made = np.asarray(self._random.standard_normal(shape))
        elif kind == "rand":
            made = np.asarray(self._random.random(shape))
        else:
            made = np.full(shape, 1.0 if kind == "ones" else 0.0)
        return _cast(made, _optional(parts, 1, text), text)

    @staticmethod
    def _check(parts: list[str], needed: int, text: str) -> None:
        if not needed <= len(parts) <= needed + 1:
            raise UsageError(
                f"{text!r} has {len(parts)} parts behind its kind, not {needed} and a dtype"
            )


def _items(text: str) -> list[str]:
    """A text cut at the commas that stand in no brackets."""
    items: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    items.append(text[start:])
    return [] if not text.strip() else items


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:60]}…")


def _cast(array: np.ndarray[Any, Any], dtype: np.dtype[Any], whole: str) -> np.ndarray[Any, Any]:
    """An array in another dtype. numpy would warn where there is no such value, and go on."""
    if array.dtype.kind in "Ou" and dtype.kind in "iu" and array.item() >= 1 << 63:
        raise UsageError(f"{_short(whole)}: {array.item()} does not fit into int64")
    if array.dtype.kind == "f" and dtype.kind in "iu" and not np.isfinite(array).all():
        raise UsageError(f"{_short(whole)}: nan and inf are no {dtype.name}")
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _count(text: str, whole: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{whole!r}: {text!r} is no size")
    return int(text)


def _shape(text: str, whole: str) -> tuple[int, ...]:
    if text == "()":
        return ()
    return tuple(_count(part, whole) for part in text.split("x"))


def _dtype(text: str, whole: str) -> np.dtype[Any]:
    number = _dtypes.parse(text)
    if number is None:
        raise UsageError(f"{whole!r}: there is no dtype {text!r}; there are {_dtypes.SUPPORTED}")
    return _dtypes.to_numpy(number)


def _optional(parts: list[str], index: int, whole: str) -> np.dtype[Any]:
    return _dtype(parts[index] if len(parts) > index else "f32", whole)


def _load(path: str) -> np.ndarray[Any, Any]:
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"file:{path}: {getattr(error, 'strerror', '') or error}") from error
    if not isinstance(loaded, np.ndarray):
        loaded.close()
        raise UsageError(f"file:{path} holds several arrays: an .npy file holds one")
    return loaded


def _of_json(body: str, dtype: str, whole: str) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(json.loads(body))
    except ValueError as error:
        raise UsageError(f"{_short(whole)}: {error}") from error
    if array.dtype.kind not in "bif":
        raise UsageError(f"{_short(whole)} is no tensor of numbers")
    if not dtype:
        return array.astype(np.float32) if array.dtype.kind == "f" else array
    return _cast(array, _dtype(dtype, whole), whole)
