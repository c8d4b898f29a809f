# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest

from kernrig import _address
from kernrig.errors import ArgumentTypeError, InvalidArgument


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("unix:/run/rig.sock", "/run/rig.sock"),
        ("unix:///run/rig.sock", "/run/rig.sock"),
        ("unix:/run/../x", "/x"),
        ("unix:rig.sock", os.path.abspath("rig.sock")),
        ("unix:/with:colon", "/with:colon"),
    ],
)
def test_paths(text: str, path: str) -> None:
    address = _address.parse(text)
    assert address.path == path
    assert str(address) == f"unix:{path}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "unix:/path"),
        ("nonsense", "unix:/path"),
        ("/run/rig.sock", "did you mean unix:/run/rig.sock"),
        ("tcp:localhost:7777", "on this machine"),
        ("unix:", "a path behind unix:"),
        ("unix:/a\0b", "a path behind unix:"),
        ("unix:/" + "x" * 107, "at most 107"),
        ("unix:/" + "é" * 60, "at most 107"),
        ("unix:/\ud800", "no file has such a name"),
    ],
)
def test_what_is_no_address(text: str, words: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        _address.parse(text)
    assert words in str(caught.value)


def test_what_is_no_text() -> None:
    for address in (3, None, b"unix:/a"):
        with pytest.raises(ArgumentTypeError, match="an address is a str"):
            _address.parse(address)  # type: ignore[arg-type]


def test_the_longest_path() -> None:
    assert _address.parse("unix:/" + "x" * 106).path == "/" + "x" * 106
