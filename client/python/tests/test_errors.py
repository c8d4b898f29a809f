# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import builtins
import pickle
import re

import pytest

from kernrig import errors
from kernrig._status import ERRORS


def drawn_tree() -> dict[str, tuple[str, str]]:
    """Class, parent and builtin base of each line of the tree at the top of kernrig.errors."""
    found: dict[str, tuple[str, str]] = {}
    parents: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"( +)(\w+)\s*(?:\((\w+)\))?", line)
        if not match or not hasattr(errors, match[2]):
            continue
        depth = len(match[1])
        parents[depth] = match[2]
        found[match[2]] = (parents.get(depth - 4, ""), match[3] or "")
    return found


def test_the_tree_in_the_documentation_is_the_tree() -> None:
    tree = drawn_tree()
    classes = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert set(tree) == classes
    for name, (parent, builtin) in tree.items():
        cls = getattr(errors, name)
        if parent:
            assert cls.__bases__[0] is getattr(errors, parent), name
        bases = [base.__name__ for base in cls.__bases__ if base.__module__ == "builtins"]
        assert bases == ([builtin] if builtin else []), name


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.code)
def test_every_error_is_a_runtime_error_with_its_message(cls: type[errors.KernrigError]) -> None:
    error = cls("the words", operator="aten::add.out", signal=11, needed=(2, 3))
    assert isinstance(error, errors.KernrigError)
    assert isinstance(error, RuntimeError)
    assert str(error) == "the words"
    assert (error.operator, error.signal, error.needed) == ("aten::add.out", 11, (2, 3))
    assert (error.exit_code, error.limit, error.printed) == (None, None, "")
    assert cls.status < 0
    assert errors.class_of(cls.status) is cls


@pytest.mark.parametrize("name", sorted(drawn_tree()))
def test_every_error_survives_pickling(name: str) -> None:
    error = getattr(errors, name)("the words", kernel="k", limit=1.5)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == "the words"
    assert again.__dict__ == error.__dict__


def test_what_people_catch() -> None:
    for cls, builtin in [
        (errors.ShapeError, ValueError),
        (errors.ArgumentTypeError, TypeError),
        (errors.KernelTimeout, TimeoutError),
        (errors.ConnectionLost, ConnectionError),
        (errors.KernelNotFound, NotImplementedError),
        (errors.MissingOperatorAttribute, AttributeError),
        (errors.MissingOperatorKey, KeyError),
        (errors.DaemonNotFound, FileNotFoundError),
    ]:
        with pytest.raises(builtin, match=r"^the words$"):
            raise cls("the words")


def test_an_unknown_number_is_still_an_error_of_ours() -> None:
    assert errors.class_of(-9999) is errors.KernrigError


def test_numbers_are_for_ever() -> None:
    """A number that once meant one thing must never mean another."""
    pinned = {"SHAPE": -2, "RESIZE": -7, "TYPE": -20, "CRASHED": -30, "LIMIT": -42, "LOST": -62}
    now = {cls.code: cls.status for cls in ERRORS}
    assert {code: now[code] for code in pinned} == pinned


def test_no_class_hides_a_builtin() -> None:
    assert not [name for name in errors.__all__ if hasattr(builtins, name)]
