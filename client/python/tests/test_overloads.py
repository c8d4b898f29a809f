# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernrig._overloads import accepts
from kernrig._schema import Schema

T = np.ones(2)
OUT = "*, Tensor(a!) out) -> Tensor(a!)"


def takes(declaration: str, *args: Any, **kwargs: Any) -> bool:
    kwargs.setdefault("out", T)
    return accepts(Schema(f"ns::f.out({declaration}, {OUT}"), (), args, kwargs)


@pytest.mark.parametrize(
    ("declaration", "value", "is_taken"),
    [
        ("Tensor x", T, True),
        ("Tensor x", 1, False),
        ("Tensor x", None, False),
        ("Tensor? x", None, True),
        ("Tensor[] x", [T, T], True),
        ("Tensor[] x", [T, None], False),
        ("Tensor?[] x", [T, None], True),
        ("Tensor[] x", T, False),
        ("int x", 3, True),
        ("int x", np.int8(3), True),
        ("int x", True, True),
        ("int x", 3.0, False),
        ("SymInt x", 3, True),
        ("float x", 3, True),
        ("float x", "3", False),
        ("Scalar x", 2.5, True),
        ("Scalar x", T, False),
        ("bool x", True, True),
        ("bool x", 1, False),
        ("str x", "mean", True),
        ("int[2] x", 3, True),
        ("int[2] x", [3, 4], True),
        ("int[] x", 3, False),
        ("int[]? x", None, True),
        ("int[1] x", [3.5], False),
        ("SymInt[] x", range(3), True),
        ("ScalarType x", np.float32, True),
        ("ScalarType x", "float32", True),
        ("ScalarType x", 1.5, False),
        ("Device x", "cpu", True),
        ("Device x", 1, False),
        ("Storage x", 1, False),
    ],
)
def test_kinds(declaration: str, value: Any, is_taken: bool) -> None:
    assert takes(declaration, value) == is_taken


def test_numbers_and_names() -> None:
    assert takes("Tensor x, int y=1", T)
    assert takes("Tensor x, int y=1", T, 2)
    assert takes("Tensor x, int y=1", T, y=2)
    assert takes("Tensor x, int y=1", x=T)
    assert not takes("Tensor x, int y=1", T, 2, 3)
    assert not takes("Tensor x, int y=1", T, 2, y=2)
    assert not takes("Tensor x, int y=1", T, z=2)
    assert not takes("Tensor x, int y", T)
    assert not takes("Tensor x", T, out=3)


def test_a_number_for_a_tensor_where_the_operator_takes_one() -> None:
    schema = Schema(f"ns::f.out(Tensor x, {OUT}")
    assert accepts(schema, ("numbers",), [2.5], {"out": T})
    assert not accepts(schema, (), [2.5], {"out": T})


def test_outputs_together() -> None:
    schema = Schema("ns::f.out(Tensor x, *, Tensor(a!) out, Tensor(b!) more) -> (Tensor(a!))")
    assert accepts(schema, (), [T], {"out": (T, T)})
    assert accepts(schema, (), [T], {"out": T, "more": T})
    assert not accepts(schema, (), [T], {"out": (T,)})
    assert not accepts(schema, (), [T], {"out": T})
