# SPDX-License-Identifier: Apache-2.0
"""Python values as the protocol has them, by their kind. What they mean is the daemon's business.

Each type of value has a function that puts it into a message; it is looked for once per type. A
tensor on shared memory is put as it is. Any other is noted, to be copied when all arguments are
known, since tensors that share memory are copied together.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kernrig import _dtypes
from kernrig._memory import Memory, Region
from kernrig._proto import execute_pb2
from kernrig._schema import Schema
from kernrig._staging import Copy
from kernrig._tensors import Library, Unfit, View, element_strides, library_of
from kernrig.errors import ArgumentTypeError, AutogradError, KernelOverflow, KernrigError

_INT64 = 1 << 63

# The numbers of c10::Layout and c10::MemoryFormat.
_LAYOUTS = (
    *("strided", "sparse_coo", "sparse_csr", "_mkldnn"),
    *("sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"),
)
_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


class Output:
    """One output of a call.

    Attributes:
        tensor: the caller's object.
        argument, item: where it stands: index in the schema, and in a list.
        view: what the client sees of it.
        message: where it stands in the request.
        region: the region that it lies in, if it is on shared memory.
        copy: its copy, if it is not.
        is_grown: whether it has been given room once already.
        is_emptied: whether the daemon was told that it has no elements, to give it any shape.
    """

    __slots__ = (
        *("argument", "copy", "is_emptied", "is_grown", "item"),
        *("message", "region", "tensor", "view"),
    )

    def __init__(
        self,
        tensor: Any,
        place: tuple[int, int],
        view: View,
        message: execute_pb2.Tensor,
        region: Region | None,
    ) -> None:
        self.tensor = tensor
        self.argument, self.item = place
        self.view = view
        self.message = message
        self.region = region
        self.copy: Copy | None = None
        self.is_grown = False
        self.is_emptied = False


class Arguments:
    """The arguments of one call, put into its message.

    Attributes:
        outputs: every tensor that the operator writes to.
        copies: tensors that have to be copied to shared memory, with their messages.
        given: the caller's object for each argument of the schema that is written to.
    """

    __slots__ = ("_call", "_memory", "_operator", "_schema", "copies", "given", "outputs")

    def __init__(
        self, operator: str, schema: Schema, call: execute_pb2.Call, memory: Memory
    ) -> None:
        self._operator = operator
        self._schema = schema
        self._call = call
        self._memory = memory
        self.outputs: list[Output] = []
        self.copies: list[tuple[Copy, execute_pb2.Tensor]] = []
        self.given: dict[int, Any] = {}

    def put(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        positions: tuple[bool, ...],
        names: dict[str, tuple[int, bool]],
    ) -> None:
        """Puts all arguments.

        Args:
            args, kwargs: as the caller gave them.
            positions: of each argument of the schema, whether the operator writes to it.
            names: index in the schema, and whether the operator writes to it, by name.
        """
        add = self._call.arguments.add
        known = len(positions)
        for index, value in enumerate(args):
            is_output = index < known and positions[index]
            if is_output:
                self.given[index] = value
            self._put(add(), value, index, is_output)
        for name, value in kwargs.items():
            try:
                argument = add(name=name)
            except ValueError as error:
                raise self._unexpected(-1, name) from error
            if "\0" in name:
                raise self._unexpected(-1, name)  # C would see the part before it
            index, is_output = names.get(name, (-1, False))
            if is_output:
                self.given[index] = value
            self._put(argument, value, index, is_output, name)

    def _put(
        self,
        argument: execute_pb2.Argument,
        value: Any,
        index: int,
        is_output: bool,
        name: str = "",
    ) -> None:
        cls = type(value)
        kind = _kinds.get(cls) or _kind_of(cls)
        try:
            if isinstance(kind, Library):
                self._tensor(argument.value, kind, value, (index, 0), is_output)
            elif kind is _put_list:
                self._list(argument.list, value, index, is_output, name)
            elif kind is None:
                raise self._wrong_type(cls, index, name)
            else:
                kind(argument.value, value)
        except Unfit as unfit:
            raise self._refused(unfit, index, name) from unfit.__cause__

    def _list(
        self, target: execute_pb2.List, values: Any, index: int, is_output: bool, name: str
    ) -> None:
        target.SetInParent()  # an empty list is a list
        add = target.items.add
        for item, value in enumerate(values):
            cls = type(value)
            kind = _kinds.get(cls) or _kind_of(cls)
            try:
                if isinstance(kind, Library):
                    self._tensor(add(), kind, value, (index, item), is_output)
                elif kind is _put_list:
                    raise Unfit(ArgumentTypeError, "is a list within a list")
                elif kind is None:
                    raise self._wrong_type(cls, index, name, item)
                else:
                    kind(add(), value)
            except Unfit as unfit:
                text = f"has an item {item} that {unfit.text}"
                raise Unfit(unfit.cls, text) from unfit.__cause__

    def _tensor(
        self,
        target: execute_pb2.Value,
        library: Library,
        tensor: Any,
        place: tuple[int, int],
        is_output: bool,
    ) -> None:
        view = library.view(tensor, is_output)
        message = target.tensor
        message.dtype = view.dtype
        message.sizes.extend(view.sizes)
        region = self._memory.find(view.address)
        if region is not None:
            offset = view.address - region.address
            strides = element_strides(view.strides, view.itemsize)
            # Odd offsets and negative strides cannot be passed, on shared memory either.
            if strides is not None and offset % view.itemsize == 0:
                message.buffer = region.handle
                message.offset = offset
                message.strides.extend(strides)
                if is_output:
                    output = Output(tensor, place, view, message, region)
                    if library.can_resize and offset == 0:
                        low, high = view.bounds()
                        # The room is one output's: two without elements may be of one region.
                        if high - low == region.promised and not any(
                            [other.region is region for other in self.outputs]
                        ):
                            message.capacity = region.size
                    self.outputs.append(output)
                return
        copy = Copy(view, is_output)
        self.copies.append((copy, message))
        if is_output:
            output = Output(tensor, place, view, message, None)
            output.copy = copy
            self.outputs.append(output)

    def _refused(self, unfit: Unfit, index: int, name: str) -> KernrigError:
        base = self._schema.name.partition("::")[2]
        if unfit.cls is AutogradError:
            return AutogradError(
                f"{base}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad. "
                f"({self._operator}, argument '{self._name(index, name)}': detach() it, or call "
                "under torch.no_grad())",
                operator=self._operator,
            )
        text = f"{self._operator}: argument '{self._name(index, name)}' {unfit.text}"
        return unfit.cls(text, operator=self._operator)

    def _wrong_type(self, cls: type, index: int, name: str, item: int = -1) -> KernrigError:
        """For a type that nobody could pass; in the words of PyTorch, and of the daemon."""
        arguments = self._schema.arguments
        if not 0 <= index < len(arguments):
            return self._unexpected(index, name)
        wanted = arguments[index].type
        position = "" if name else f" (position {index})"
        found = cls.__qualname__
        if cls.__module__ != "builtins":
            found = f"{cls.__module__}.{found}"
        got = f"not {found}" if item < 0 else f"but found element of type {found} at pos {item}"
        return ArgumentTypeError(
            f"{self._operator}() argument '{self._name(index, name)}'{position} must be {wanted}, "
            f"{got}",
            operator=self._operator,
        )

    def _unexpected(self, index: int, name: str) -> KernrigError:
        """For an argument that the schema does not have."""
        what = f"keyword argument {name!r}" if name else f"positional argument {index}"
        return ArgumentTypeError(
            f"{self._operator}() got an unexpected {what}", operator=self._operator
        )

    def _name(self, index: int, name: str) -> str:
        arguments = self._schema.arguments
        return name or (arguments[index].name if index < len(arguments) else str(index))


def place_copy(copy: Copy, message: execute_pb2.Tensor) -> None:
    """Tells the daemon where a copy is."""
    assert copy.region is not None
    item = copy.view.itemsize
    message.buffer = copy.region.handle
    message.offset = copy.offset
    del message.strides[:]
    message.strides.extend([stride // item for stride in copy.strides])
    can_grow = copy.is_output and copy.view.library.can_resize
    message.capacity = copy.room if can_grow else 0


# Kinds.


def _put_none(target: execute_pb2.Value, value: None) -> None:
    target.SetInParent()


def _put_bool(target: execute_pb2.Value, value: Any) -> None:
    target.boolean = bool(value)


def _put_int(target: execute_pb2.Value, value: Any) -> None:
    integer = int(value)
    if not -_INT64 <= integer < _INT64:
        raise Unfit(KernelOverflow, f"is {integer}, which does not fit into int64")
    target.integer = integer


def _put_float(target: execute_pb2.Value, value: Any) -> None:
    target.real = float(value)


def _put_index(target: execute_pb2.Value, value: Any) -> None:
    """What is no integer, but says that it stands for one, as PyTorch takes it."""
    try:
        integer = operator.index(value)
    except TypeError as error:
        raise Unfit(ArgumentTypeError, f"is no integer: {error}") from error
    _put_int(target, integer)


def _put_text(target: execute_pb2.Value, value: str) -> None:
    if "\0" in value:
        raise Unfit(ArgumentTypeError, "is a text with a NUL character, which no kernel can see")
    try:
        target.text = str(value)
    except ValueError as error:
        raise Unfit(ArgumentTypeError, "is a text that UTF-8 does not have") from error


def _put_list(target: execute_pb2.Value, value: Any) -> None:
    """Marks a type as a list; Arguments puts its items."""


def _put_dtype_named(target: execute_pb2.Value, name: str) -> None:
    number = _dtypes.scalar_type(name)
    if number is None:
        raise Unfit(ArgumentTypeError, f"is the dtype {name}, which PyTorch does not have")
    target.dtype = number


def _put_torch_dtype(target: execute_pb2.Value, value: Any) -> None:
    _put_dtype_named(target, str(value))


def _put_numpy_dtype(target: execute_pb2.Value, value: np.dtype[Any]) -> None:
    _put_dtype_named(target, value.name)


def _put_class(target: execute_pb2.Value, value: type) -> None:
    """np.float32, or Python's float: a dtype by its class."""
    try:
        if not issubclass(value, (np.generic, bool, int, float)):
            raise TypeError
        dtype = np.dtype(type(value()))  # abstract ones, such as np.floating, have no objects
    except TypeError:
        raise Unfit(
            ArgumentTypeError, f"cannot be passed: it is the class {value.__name__}"
        ) from None
    _put_dtype_named(target, dtype.name)


def _put_device(target: execute_pb2.Value, value: Any) -> None:
    target.device = str(value)


def _put_layout(target: execute_pb2.Value, value: Any) -> None:
    target.layout = _LAYOUTS.index(str(value).removeprefix("torch."))


def _put_memory_format(target: execute_pb2.Value, value: Any) -> None:
    target.memory_format = _MEMORY_FORMATS.index(str(value).removeprefix("torch."))


_Kind = Callable[[execute_pb2.Value, Any], None] | Library

_kinds: dict[type, _Kind] = {
    type(None): _put_none,
    bool: _put_bool,
    int: _put_int,
    float: _put_float,
    str: _put_text,
    list: _put_list,
    tuple: _put_list,
    range: _put_list,
    type: _put_class,
}

# In this order: np.bool_ is no int, np.float64 is a float, bool is an int.
_FAMILIES: tuple[tuple[type, _Kind], ...] = (
    (bool, _put_bool),
    (np.bool_, _put_bool),
    (int, _put_int),
    (np.integer, _put_int),
    (float, _put_float),
    (np.floating, _put_float),
    (str, _put_text),
    (list, _put_list),
    (tuple, _put_list),
    (np.dtype, _put_numpy_dtype),
    (type, _put_class),
)

_TORCH: tuple[tuple[str, _Kind], ...] = (
    ("dtype", _put_torch_dtype),
    ("device", _put_device),
    ("layout", _put_layout),
    ("memory_format", _put_memory_format),
)


def _kind_of(cls: type) -> _Kind | None:
    """How values of a type are put; None if there is no way."""
    kind: _Kind | None = library_of(cls)
    if issubclass(cls, (np.timedelta64, np.datetime64)):
        return None  # numpy has one of them as an integer
    if kind is None:
        kind = next((put for family, put in _FAMILIES if issubclass(cls, family)), None)
    torch: Any = sys.modules.get("torch")
    if kind is None and torch is not None:
        own = ((getattr(torch, name, None), put) for name, put in _TORCH)
        kind = next((put for t, put in own if isinstance(t, type) and issubclass(cls, t)), None)
    if kind is None and hasattr(cls, "__index__"):
        kind = _put_index
    if kind is None and issubclass(cls, np.generic) and cls.__module__ == "ml_dtypes":
        kind = _put_float  # a bfloat16, which is no np.floating
    if kind is not None:
        _kinds[cls] = kind
    return kind
