# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernrig._arguments import Arguments, place_copy
from kernrig._memory import Memory
from kernrig._proto import execute_pb2
from kernrig._schema import Schema
from kernrig._staging import Staging
from kernrig._tensors import NUMPY
from kernrig.errors import (
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    InvalidArgument,
    KernelOverflow,
    KernrigError,
    ShapeError,
)

TEXT = (
    "test::f.out(Tensor self, Tensor[] others, int[2] size=1, *, Scalar alpha=1, "
    "Tensor(a!) out, Tensor(b!)[] more) -> Tensor(a!)"
)
SCHEMA = Schema(TEXT)
POSITIONS = tuple(argument.is_write for argument in SCHEMA.arguments)
NAMES = {a.name: (index, a.is_write) for index, a in enumerate(SCHEMA.arguments)}


def put(memory: Memory, *args: Any, **kwargs: Any) -> tuple[execute_pb2.Call, Arguments]:
    call = execute_pb2.Call()
    arguments = Arguments("test::f.out", SCHEMA, call, memory)
    arguments.put(args, kwargs, POSITIONS, NAMES)
    return call, arguments


def one(memory: Memory, value: Any) -> execute_pb2.Argument:
    call, _ = put(memory, None, None, value)
    return call.arguments[2]


class Index:
    """No integer, but something that stands for one."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> Any:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


def shared(memory: Memory, *shape: int) -> np.ndarray[Any, Any]:
    size = 4 * math.prod(shape)
    (lease,) = memory.allocate([size])
    lease.region.promised = size
    strides = np.zeros(shape, np.float32).strides
    array: np.ndarray[Any, Any] = NUMPY.make(lease, 6, shape, strides)
    return array


@pytest.mark.parametrize(
    ("value", "kind", "sent"),
    [
        (True, "boolean", True),
        (np.bool_(False), "boolean", False),
        (3, "integer", 3),
        (-(2**63), "integer", -(2**63)),
        (np.int8(-3), "integer", -3),
        (np.uint64(5), "integer", 5),
        (1.5, "real", 1.5),
        (math.inf, "real", math.inf),
        (np.float64(2.5), "real", 2.5),
        (np.float32(0.1), "real", float(np.float32(0.1))),
        (np.float16(0.5), "real", 0.5),
        (ml_dtypes.bfloat16(1.5), "real", 1.5),
        (Index(3), "integer", 3),
        ("mean", "text", "mean"),
        (np.str_("mean"), "text", "mean"),
        (np.dtype("float32"), "dtype", 6),
        (np.float64, "dtype", 7),
        (np.uint16, "dtype", 27),
        (bool, "dtype", 11),
        (float, "dtype", 7),
        (np.dtype(ml_dtypes.bfloat16), "dtype", 15),
    ],
    ids=repr,
)
def test_values_keep_their_kind(memory: Memory, value: Any, kind: str, sent: Any) -> None:
    argument = one(memory, value)
    assert argument.value.WhichOneof("kind") == kind
    assert getattr(argument.value, kind) == sent


def test_nan_and_none(memory: Memory) -> None:
    assert math.isnan(one(memory, math.nan).value.real)
    argument = one(memory, None)
    assert argument.WhichOneof("kind") == "value"
    assert argument.value.WhichOneof("kind") is None


@pytest.mark.parametrize("values", [[1, 2], (1, 2), range(1, 3), [np.int64(1), np.uint8(2)]])
def test_lists(memory: Memory, values: Any) -> None:
    assert [item.integer for item in one(memory, values).list.items] == [1, 2]


def test_an_empty_list_is_a_list(memory: Memory) -> None:
    assert one(memory, []).WhichOneof("kind") == "list"
    assert one(memory, ()).WhichOneof("kind") == "list"


def test_names(memory: Memory) -> None:
    call, _ = put(memory, 1, alpha=2, self=3)
    assert [argument.name for argument in call.arguments] == ["", "alpha", "self"]


@pytest.mark.parametrize(
    ("value", "cls", "words"),
    [
        (
            1j,
            ArgumentTypeError,
            "test::f.out() argument 'size' (position 2) must be int[2], not complex",
        ),
        ({1}, ArgumentTypeError, "not set"),
        (np.complex64(1), ArgumentTypeError, "not numpy.complex64"),
        (object(), ArgumentTypeError, "not object"),
        ([1, {}], ArgumentTypeError, "found element of type dict at pos 1"),
        ([[1]], ArgumentTypeError, "a list within a list"),
        (2**63, KernelOverflow, "test::f.out: argument 'size' is 9223372036854775808"),
        (np.uint64(2**63), KernelOverflow, "int64"),
        ([0, -(2**63) - 1], KernelOverflow, "has an item 1 that is -9223372036854775809"),
        ("\ud800", ArgumentTypeError, "UTF-8"),
        ("a\0b", ArgumentTypeError, "NUL"),
        (list, ArgumentTypeError, "the class list"),
        (np.floating, ArgumentTypeError, "the class floating"),
        (np.generic, ArgumentTypeError, "the class generic"),
        (np.timedelta64(3), ArgumentTypeError, "not numpy.timedelta64"),
        (np.datetime64(3, "s"), ArgumentTypeError, "not numpy.datetime64"),
        (Index("x"), ArgumentTypeError, "is no integer"),
        (Index(2**63), KernelOverflow, "int64"),
        (np.dtype("M8[s]"), ArgumentTypeError, "datetime64"),
        (np.zeros(2, np.complex128), DTypeError, "'size' has dtype complex128; kernels take uint8"),
        ([np.zeros(2, "U1")], DTypeError, "has an item 0 that has dtype <U1"),
        (np.zeros((1,) * 17), ShapeError, "17 dims"),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_what_cannot_be_passed(memory: Memory, value: Any, cls: type, words: str) -> None:
    with pytest.raises(cls) as caught:
        one(memory, value)
    assert words in str(caught.value)
    assert isinstance(caught.value, KernrigError)
    assert caught.value.operator == "test::f.out"


def test_a_name_with_a_nul_is_not_the_part_before_it(memory: Memory) -> None:
    with pytest.raises(ArgumentTypeError, match=r"unexpected keyword argument 'alpha\\x00x'"):
        put(memory, **{"alpha\0x": 5})


def test_an_argument_by_name_has_no_position(memory: Memory) -> None:
    with pytest.raises(ArgumentTypeError, match=r"argument 'alpha' must be Scalar, not complex"):
        put(memory, alpha=1j)
    with pytest.raises(ArgumentTypeError, match="unexpected keyword argument 'nonsense'"):
        put(memory, nonsense=1j)
    with pytest.raises(ArgumentTypeError, match="unexpected keyword argument"):
        put(memory, **{"\ud800": 1})
    with pytest.raises(ArgumentTypeError, match="unexpected positional argument 6"):
        put(memory, *[None] * 6, 1j)


def test_a_tensor_on_another_device(memory: Memory) -> None:
    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError("nobody may ask")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    with pytest.raises(DeviceError, match="argument 'self' is on DLPack device"):
        put(memory, Elsewhere())


def test_a_shared_tensor_is_passed_as_it_is(memory: Memory) -> None:
    array = shared(memory, 4, 6)
    call, arguments = put(memory, array[1:, ::2].T)
    assert arguments.copies == []
    tensor = call.arguments[0].value.tensor
    region = memory.find(array.ctypes.data)
    assert region is not None
    assert tensor.buffer == region.handle
    assert (tensor.offset, tensor.dtype, tensor.capacity) == (24, 6, 0)
    assert list(tensor.sizes) == [3, 3]
    assert list(tensor.strides) == [2, 6]


@pytest.mark.parametrize("case", ["reversed", "odd address"])
def test_a_shared_tensor_that_cannot_be_passed_is_copied(memory: Memory, case: str) -> None:
    array = shared(memory, 4)
    odd = array.view(np.uint8)[1:5].view(np.float32)
    array = array[::-1] if case == "reversed" else odd
    call, arguments = put(memory, array)
    ((copy, message),) = arguments.copies
    assert message.buffer == 0
    Staging(memory).stage([copy])
    place_copy(copy, message)
    assert call.arguments[0].value.tensor.buffer != 0
    assert list(message.strides) == [1] * array.ndim


def test_only_an_output_that_owns_its_buffer_has_a_capacity(memory: Memory) -> None:
    class Resizable(type(NUMPY)):  # type: ignore[misc]  # a class of this module's own making
        can_resize = True

    def capacity(array: np.ndarray[Any, Any], **kwargs: Any) -> int:
        call = execute_pb2.Call()
        arguments = Arguments("test::f.out", SCHEMA, call, memory)
        message = call.arguments.add().value
        arguments._tensor(message, Resizable(), array, (4, 0), True)
        return int(message.tensor.capacity)

    array = shared(memory, 4, 6)
    assert capacity(array) == 4096
    assert capacity(array.T) == 4096
    assert capacity(array[:2]) == 0  # its neighbours are somebody else's
    assert capacity(array[1:]) == 0
    assert capacity(array[:0]) == 0
    assert capacity(shared(memory, 0)) == 4096
    call, _ = put(memory, out=array)
    assert call.arguments[0].value.tensor.capacity == 0  # numpy cannot resize


def test_outputs_are_noted_where_they_stand(memory: Memory) -> None:
    array, other = shared(memory, 2), np.zeros(2, np.float32)
    _, arguments = put(memory, array, [array], out=other, more=[array, other])
    assert [(output.argument, output.item) for output in arguments.outputs] == [
        (4, 0),
        (5, 0),
        (5, 1),
    ]
    assert [output.copy is None for output in arguments.outputs] == [False, True, False]
    assert arguments.given[4] is other


def test_an_inplace_operators_first_argument_is_an_output(memory: Memory) -> None:
    schema = Schema("aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)")
    array = np.zeros(2)
    array.flags.writeable = False
    arguments = Arguments("aten::copy_", schema, execute_pb2.Call(), memory)
    with pytest.raises(InvalidArgument, match="'self' is an output, and a read-only"):
        arguments.put((array, array), {}, (True, False), {"self": (0, True), "src": (1, False)})
