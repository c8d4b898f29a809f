# SPDX-License-Identifier: Apache-2.0
"""The generator of kernrig._status: nothing of a table may be left out silently."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kernrig import _status

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def make_status() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_status", ROOT / "tools" / "make_status.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


LINE = 'KR_STATUS(ONE, -1, INVALID_ARGUMENT, One, ValueError, "it is one")\n'


def test_the_module_is_that_of_the_tables(make_status: ModuleType) -> None:
    text = make_status.python_module(make_status.read(ROOT))
    assert text == Path(_status.__file__).read_text()


def test_the_page_names_every_class(make_status: ModuleType) -> None:
    page = make_status.docs_page(make_status.read(ROOT))
    for cls in _status.ERRORS:
        assert f"| {cls.status} | {cls.code} | `{cls.__name__}` |" in page


def test_a_line(make_status: ModuleType) -> None:
    (status,) = make_status.read_statuses(f"/* Heading. */\n{LINE}")
    assert (status.name, status.number, status.cls, status.base) == ("ONE", -1, "One", "ValueError")
    assert (status.sentence, status.section) == ("it is one", "Heading.")
    assert status.bases == "RequestError, ValueError"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LINE, "no heading"),
        ("/* H. */\n" + LINE.replace("-1", "1"), "1 lines begin"),
        ("/* H. */\n" + LINE.replace('"it is one"', "it"), "1 lines begin"),
        ("/* H. */\n" + LINE + LINE, "stands twice"),
        ("/* H. */\n" + LINE + LINE.replace("ONE", "TWO").replace("One", "Two"), "number -1"),
    ],
)
def test_what_cannot_be_read(make_status: ModuleType, text: str, words: str) -> None:
    with pytest.raises(make_status.TableError, match=words):
        make_status.read_statuses(text)


@pytest.mark.parametrize(
    ("number", "grpc", "family"),
    [
        (-1, "INVALID_ARGUMENT", "RequestError"),
        (-29, "NOT_FOUND", "RequestError"),
        (-30, "ABORTED", "KernelError"),
        (-40, "NOT_FOUND", "DaemonError"),
        (-60, "INVALID_ARGUMENT", "RequestError"),
        (-62, "UNAVAILABLE", "DaemonError"),
    ],
)
def test_families(make_status: ModuleType, number: int, grpc: str, family: str) -> None:
    status = make_status.Status("N", number, grpc, "C", "None", "s", "H.")
    assert status.family == family
    assert status.bases == family
