# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from kernrig._schema import Schema

POOL = (
    "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], "
    "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, "
    "Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))"
)
OPERATORS = Path(__file__).parents[3] / "registry" / "operators.txt"


def test_names_and_outputs() -> None:
    schema = Schema(POOL)
    assert schema.name == "aten::max_pool2d_with_indices"
    assert schema.overload_name == "out"
    assert schema.full_name == "aten::max_pool2d_with_indices.out"
    assert [argument.name for argument in schema.arguments if argument.is_out] == ["out", "indices"]
    assert [argument.alias for argument in schema.arguments][-2:] == ["a", "b"]
    assert [item.alias for item in schema.returns] == ["a", "b"]
    assert str(schema) == repr(schema) == POOL


def test_types_and_defaults() -> None:
    arguments = {argument.name: argument for argument in Schema(POOL).arguments}
    assert arguments["stride"].type == "int[2]"
    assert arguments["stride"].default == "[]"
    assert arguments["stride"].is_list
    assert arguments["self"].default is None
    assert arguments["out"].type == "Tensor"
    assert arguments["out"].kwarg_only
    assert not arguments["ceil_mode"].is_list
    assert arguments["kernel_size"].base == "int"


@pytest.mark.parametrize(
    ("declaration", "kind", "default", "is_list", "is_optional"),
    [
        ("Tensor? weight", "Tensor?", None, False, True),
        ("Tensor?[] indices", "Tensor?[]", None, True, False),
        ("int[1]? dim=None", "int[1]?", "None", True, True),
        ('str mode="a, (b=c"', "str", '"a, (b=c"', False, False),
        ("bool[3] mask=[True, False, True]", "bool[3]", "[True, False, True]", True, False),
        ("Tensor(a! -> a|b)[] self", "Tensor[]", None, True, False),
    ],
)
def test_one_argument(
    declaration: str, kind: str, default: str | None, is_list: bool, is_optional: bool
) -> None:
    (argument,) = Schema(f"ns::f({declaration}) -> ()").arguments
    assert (argument.type, argument.default) == (kind, default)
    assert (argument.is_list, argument.is_optional) == (is_list, is_optional)
    assert str(argument) == declaration


def test_an_inplace_operator_writes_to_an_argument_that_is_no_out() -> None:
    schema = Schema("aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)")
    assert schema.overload_name == ""
    assert schema.arguments[0].is_write
    assert not schema.arguments[0].is_out


def test_no_arguments_and_no_returns() -> None:
    schema = Schema("ns::f() -> ()")
    assert schema.arguments == ()
    assert schema.returns == ()


def test_signature_shows_types_and_defaults() -> None:
    signature = Schema(POOL).signature()
    assert list(signature.parameters)[:2] == ["self", "kernel_size"]
    assert "padding: int[2] = 0" in str(signature)
    assert str(signature).endswith("-> (Tensor(a!), Tensor(b!))")
    assert signature.parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY


def test_signature_of_a_python_keyword() -> None:
    assert "from_" in Schema("ns::f(int from, int? to=None) -> Tensor").signature().parameters


def test_equality_is_that_of_the_text() -> None:
    assert Schema(POOL) == Schema(POOL)
    assert len({Schema(POOL), Schema(POOL), Schema("ns::f() -> ()")}) == 2


def test_every_known_operator_is_put_together_again() -> None:
    texts = [
        line.split("\t")[0].strip()
        for line in OPERATORS.read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert len(texts) > 500
    for text in texts:
        schema = Schema(text)
        pieces = []
        for argument in schema.arguments:
            if argument.kwarg_only and "*" not in pieces:
                pieces.append("*")
            pieces.append(str(argument))
        returns = ", ".join(str(item) for item in schema.returns)
        if len(schema.returns) != 1:
            returns = f"({returns})"
        assert f"{schema.full_name}({', '.join(pieces)}) -> {returns}" == text
        schema.signature()
