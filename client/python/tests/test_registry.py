# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import inspect
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from kernrig.errors import (
    ArgumentTypeError,
    InvalidArgument,
    LimitExceeded,
    MissingKernelAttribute,
    MissingKernelKey,
    MissingOperatorAttribute,
    MissingOperatorKey,
)
from tests.fake import ADD, FakeDaemon, add

SCALAR = "aten::add.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)"
KNOWN = [
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::sub.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
    "aten::_softmax.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "quantized::add(Tensor self) -> Tensor",
]
AND = "aten::__and__.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)"
DEFAULT = "aten::relu_(Tensor(a!) self) -> Tensor(a!)"


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon({ADD: add, DEFAULT: add}, KNOWN)


def test_one_object_by_any_way(daemon: FakeDaemon) -> None:
    registry = daemon.registry
    operator = registry.aten.add.out
    assert operator is registry.get_kernel("aten::add.out")
    assert operator is registry.get_kernel("aten.add.out")
    assert registry.aten is registry.aten
    assert registry.aten.add is registry.aten.add
    assert registry.aten.relu_.default is registry.get_kernel("aten::relu_")
    assert registry.get_kernel("aten::relu_.default") is registry.get_kernel("aten::relu_")


def test_names_and_completion(daemon: FakeDaemon) -> None:
    registry = daemon.registry
    assert registry.operator_names == {"aten::add.out", "aten::relu_"}
    assert dir(registry) == ["aten", "get_kernel", "operator_names"]
    assert dir(registry.aten) == ["add", "relu_"]
    assert dir(registry.aten.add) == ["out", "overloads"]
    assert registry.aten.relu_.overloads() == ["default"]
    assert repr(registry.aten.add) == "<OperatorPacket aten::add: out>"
    assert repr(registry) == "<OperatorRegistry: 2 operators with kernels>"


def test_probing_asks_nobody(daemon: FakeDaemon) -> None:
    registry = daemon.registry
    daemon.generation = 2
    registry._announce(2)
    for owner in (registry, registry.aten, registry.aten.add, registry.aten.add.out):
        dir(owner)
        repr(owner)
        for name in ("nope", "_repr_html_", "__wrapped__", "_ipython_display_", "__len__"):
            assert not hasattr(owner, name)
    assert hasattr(registry.aten, "add")
    assert not hasattr(registry.aten, "sub")
    assert daemon.listed == 1


@pytest.mark.parametrize(
    ("path", "cls", "words"),
    [
        (["nope"], MissingOperatorAttribute, "no namespace 'nope' with kernels; there are aten"),
        (["atn"], MissingOperatorAttribute, "did you mean aten?"),
        (["quantized"], MissingOperatorAttribute, "no namespace 'quantized' with kernels"),
        (["aten", "ad"], MissingOperatorAttribute, "aten::ad; did you mean aten::add?"),
        (["aten", "zzz"], MissingOperatorAttribute, "there is no operator aten::zzz"),
        (["aten", "sub"], MissingKernelAttribute, "aten::sub is known, but has no kernel"),
        (["aten", "_softmx"], MissingOperatorAttribute, "did you mean aten::_softmax?"),
        (
            ["aten", "add", "Tensor"],
            MissingKernelAttribute,
            "aten::add.Tensor has no kernel; aten::add.out has one (fake)",
        ),
        (["aten", "add", "otu"], MissingOperatorAttribute, "no overload 'otu'; did you mean out?"),
        (["aten", "add", "zzz"], MissingOperatorAttribute, "'zzz'; aten::add.out has one (fake)"),
        (["aten", "add", "default"], MissingOperatorAttribute, "no overload 'default'"),
    ],
)
def test_attributes_that_are_not_there(
    daemon: FakeDaemon, path: list[str], cls: type[Exception], words: str
) -> None:
    value: object = daemon.registry
    for name in path[:-1]:
        value = getattr(value, name)
    with pytest.raises(cls) as caught:
        getattr(value, path[-1])
    assert isinstance(caught.value, AttributeError)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "cls", "words"),
    [
        ("aten::ad.out", MissingOperatorKey, "aten::ad.out; did you mean aten::add.out?"),
        ("aten::ad.Tensor", MissingOperatorKey, "did you mean aten::add.out?"),
        ("aten::sbu.out", MissingOperatorKey, "did you mean aten::sub.out?"),
        ("atn::add.otu", MissingOperatorKey, "did you mean aten::add.out?"),
        ("aten::add.Tensor", MissingKernelKey, "aten::add.out has one (fake)"),
        ("aten::sub.out", MissingKernelKey, "no overload of aten::sub has one"),
        ("aten::add.zzz", MissingOperatorKey, "aten::add.zzz; did you mean aten::add.out?"),
        ("nope::add", MissingOperatorKey, "there is no operator nope::add"),
        ("add", MissingOperatorKey, "the form aten::add.out; did you mean aten::add.out?"),
        ("add.out", MissingOperatorKey, "'add.out': a name has the form aten::add.out; did"),
        ("ad.otu", MissingOperatorKey, "did you mean aten::add.out?"),
        ("zzz", MissingOperatorKey, "a name has the form aten::add.out"),
        ("aten.sub.out", MissingKernelKey, "no overload of aten::sub has one"),
        ("", MissingOperatorKey, "a name has the form"),
    ],
)
def test_names_that_are_not_there(
    daemon: FakeDaemon, name: str, cls: type[Exception], words: str
) -> None:
    with pytest.raises(cls) as caught:
        daemon.registry.get_kernel(name)
    assert isinstance(caught.value, KeyError)
    assert words in str(caught.value)


def test_a_newer_catalogue_is_fetched_when_it_is_needed(daemon: FakeDaemon) -> None:
    registry = daemon.registry
    operator = registry.aten.add.out
    daemon.kernels[SCALAR] = add
    daemon.generation = 2
    one = np.ones(1, np.float32)
    operator(one, one, out=one)
    assert daemon.listed == 1  # the reply has announced it
    assert not hasattr(registry.aten.add, "Scalar_out")
    operator(one, one, out=one)
    assert daemon.listed == 2
    assert registry.aten.add.overloads() == ["Scalar_out", "out"]
    assert registry.aten.add.out is operator
    del daemon.kernels[SCALAR]
    daemon.generation = 3
    operator(one, one, out=one)
    assert registry.operator_names == {"aten::add.out", "aten::relu_"}
    assert daemon.listed == 3


def test_an_operator_describes_itself(daemon: FakeDaemon) -> None:
    operator = daemon.registry.aten.add.out
    assert operator.name() == "aten::add.out"
    assert (operator.namespace, operator.overload) == ("aten", "out")
    assert operator.tags == ("numbers",)
    assert str(operator._schema) == ADD
    assert (operator.__doc__ or "").startswith(ADD)
    assert list(inspect.signature(operator).parameters) == ["self", "other", "alpha", "out"]
    assert inspect.signature(type(operator))
    assert repr(operator) == "<Operator aten::add.out>"
    (kernel,) = operator.kernels
    assert (kernel.provider, kernel.dtypes, kernel.operator) == (
        *("fake", ("float32",), "aten::add.out"),
    )
    assert kernel.registered_at.isoformat() == "1970-01-01T00:00:01+00:00"
    assert repr(kernel) == "<Kernel aten::add.out/fake>"


def test_options(daemon: FakeDaemon) -> None:
    operator = daemon.registry.aten.add.out
    quick = operator.with_options(timeout=2)
    assert quick is not operator
    assert (quick._timeout, operator._timeout) == (2.0, 60.0)
    named = quick.with_options(provider="mine")
    assert (named._timeout, named._provider) == (2.0, "mine")
    assert named.with_options(provider=None)._provider == ""
    with pytest.raises(TypeError, match="no option 'tmeout'; there are timeout, provider"):
        operator.with_options(tmeout=1)
    for value in (0, -1, float("inf"), float("nan")):
        with pytest.raises(InvalidArgument):
            operator.with_options(timeout=value)
    for wrong in ("1", None, True):
        with pytest.raises(ArgumentTypeError):
            operator.with_options(timeout=wrong)
    with pytest.raises(ArgumentTypeError):
        operator.with_options(provider=3)
    for number in (np.float32(5), np.int64(5), Fraction(5)):
        assert operator.with_options(timeout=number)._timeout == 5.0
    for long in (90_000.5, 90_001, 1e12, 1e20, 10**400):
        with pytest.raises(LimitExceeded, match="limit 'timeout_ms' of 90000000"):
            operator.with_options(timeout=long)
    assert operator.with_options(timeout=90_000)._timeout_us == 90_000_000_000


def test_a_packet_with_one_overload_calls_it(daemon: FakeDaemon) -> None:
    one = np.ones(1, np.float32)
    assert daemon.registry.aten.add(one, one, out=one) is one
    with pytest.raises(ArgumentTypeError, match=r"aten::add.out\(\) writes into tensors"):
        daemon.registry.aten.add(one)


def test_a_packet_chooses_by_its_arguments() -> None:
    daemon = FakeDaemon({ADD: add, SCALAR: add})
    called: list[str] = []

    def note(name: str) -> object:
        def kernel(daemon: FakeDaemon, call: object, result: object) -> None:
            called.append(name)

        return kernel

    daemon.kernels = {ADD: note("out"), SCALAR: note("Scalar_out")}  # type: ignore[dict-item]  # they take anything
    one = np.ones(1, np.float32)
    daemon.registry.aten.add(one, one, out=one)
    daemon.registry.aten.add(one, one, alpha=2, out=one)
    daemon.registry.aten.add(one, 2, out=one)
    daemon.registry.aten.add(one, other=2.5, out=one)
    assert called == ["out", "out", "Scalar_out", "Scalar_out"]
    with pytest.raises(ArgumentTypeError, match="no overload of aten::add takes") as caught:
        daemon.registry.aten.add(one, "x", out=one)
    assert ADD in str(caught.value)
    assert SCALAR in str(caught.value)


@pytest.mark.parametrize("name", [3, None, b"aten::add.out", ["aten::add.out"]])
def test_what_is_no_name(daemon: FakeDaemon, name: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="named by a str"):
        daemon.registry.get_kernel(name)


def test_operators_that_are_called_as_methods_of_python() -> None:
    registry = FakeDaemon(
        {ADD: add, AND: add}, ["aten::__or__.out(Tensor self) -> Tensor"]
    ).registry
    operator = getattr(registry.aten.__and__, "Scalar_out")  # noqa: B009  (as getattr finds it)
    assert operator is registry.get_kernel("aten::__and__.Scalar_out")
    with pytest.raises(MissingKernelAttribute, match="has no kernel"):
        registry.aten.__or__  # noqa: B018
    for each in (registry, registry.aten, registry.aten.add, operator):
        for name in ("__wrapped__", "__len__", "__array_interface__", "__and"):
            assert not hasattr(each, name)


def test_copies_are_the_same_and_go_nowhere_else(daemon: FakeDaemon) -> None:
    registry = daemon.registry
    operator = registry.aten.add.out
    for each in (registry, registry.aten, registry.aten.add, operator):
        assert copy.copy(each) is each
        assert copy.deepcopy([each])[0] is each
        with pytest.raises(TypeError, match=r"belongs to a session.*get_kernel\("):
            pickle.dumps(each)
