# SPDX-License-Identifier: Apache-2.0
"""The grammar of arguments on the command line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernrig._cli._common import UsageError
from kernrig._cli._values import Parser


def value(text: str) -> Any:
    return Parser(0).value(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-1", -1),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("true", True),
        ("False", False),
        ("none", None),
        ("mean", "mean"),
        ("torch.float32", "torch.float32"),
        ("[]", []),
        ("[1,1]", [1, 1]),
        ("1,1", [1, 1]),
        ("[1, 2.5, none]", [1, 2.5, None]),
        ("[[1,2],[3]]", [[1, 2], [3]]),
    ],
)
def test_values(text: str, expected: Any) -> None:
    got = value(text)
    assert got == expected
    assert type(got) is type(expected)


def test_nan() -> None:
    assert math.isnan(value("nan"))


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("randn:2x3", (2, 3), "float32"),
        ("randn:2x3:bf16", (2, 3), "bfloat16"),
        ("rand:5:f64", (5,), "float64"),
        ("zeros:0x3", (0, 3), "float32"),
        ("ones:()", (), "float32"),
        ("empty:2:bool", (2,), "bool"),
        ("full:2x2:1.5", (2, 2), "float32"),
        ("full:2:-3:i8", (2,), "int8"),
        ("arange:12", (12,), "int64"),
        ("arange:3:f32", (3,), "float32"),
        ("tensor:[[1,2],[3,4]]", (2, 2), "int64"),
        ("tensor:[1.5]", (1,), "float32"),
        ("tensor:[1,2]:u8", (2,), "uint8"),
    ],
)
def test_tensors(text: str, shape: tuple[int, ...], dtype: str) -> None:
    array = value(text)
    assert array.shape == shape
    assert array.dtype.name == dtype


def test_contents() -> None:
    assert value("full:2:-3:i8").tolist() == [-3, -3]
    assert np.isnan(value("full:2:nan")).all()
    assert value("full:2:1e300").tolist() == [math.inf, math.inf]
    assert value(f"full:1:{1 << 64}:f64").tolist() == [2.0**64]
    assert value("full:2:nan:bool").tolist() == [True, True]
    assert value("arange:3").tolist() == [0, 1, 2]
    assert value("ones:2").tolist() == [1, 1]
    assert value("tensor:[[1,2],[3,4]]:f32").tolist() == [[1, 2], [3, 4]]
    items = value("[arange:2,zeros:1x2]")
    assert [item.shape for item in items] == [(2,), (1, 2)]


def test_random_values_follow_from_the_seed() -> None:
    first = Parser(3).arguments(["randn:4", "randn:4"])[0]
    second = Parser(3).arguments(["randn:4", "randn:4"])[0]
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], Parser(4).arguments(["randn:4"])[0][0])


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3))
    assert value(f"file:{path}").tolist() == [0, 1, 2]
    np.savez(tmp_path / "b.npz", x=np.arange(3))
    (tmp_path / "c.npy").write_text("nonsense")
    for name in ("b.npz", "c.npy", "d.npy"):
        with pytest.raises(UsageError, match=name):
            value(f"file:{tmp_path / name}")


def test_a_file_whose_name_has_a_comma(tmp_path: Path) -> None:
    path = tmp_path / "x,y.npy"
    np.save(path, np.arange(3))
    assert value(f"file:{path}").tolist() == [0, 1, 2]
    path.rename(tmp_path / "z.npy")
    both = value(f"[file:{tmp_path}/z.npy,file:{tmp_path}/z.npy]")
    assert [each.tolist() for each in both] == [[0, 1, 2]] * 2


def test_names() -> None:
    args, kwargs = Parser(0).arguments(["1", "alpha=2", "out=empty:2", "dtype=float32"])
    assert args == [1]
    assert list(kwargs) == ["alpha", "out", "dtype"]
    assert kwargs["alpha"] == 2


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a=1", "2"], "names come last"),
        (["a=1", "a=2"], "given twice"),
        (["--sed"], "no value"),
        ([""], "no value"),
        (["rnadn:2"], "no 'rnadn'"),
        (["randn:"], "is no size"),
        (["randn:2x"], "is no size"),
        (["randn:-2"], "is no size"),
        (["randn:2:f31"], "no dtype 'f31'"),
        (["randn:2:f32:3"], "3 parts"),
        (["full:2"], "1 parts"),
        (["full:2:x"], "no number"),
        (["arange:x"], "is no size"),
        (["tensor:[[1],[1,2]]"], "inhomogeneous"),
        (["tensor:[1,"], "Expecting"),
        (['tensor:["a"]'], "no tensor of numbers"),
        (["1 2"], "no value"),
        (["randn:99999999999"], "Unable to allocate"),
        (["zeros:99999999999999999999"], "'zeros:99999999999999999999': "),
        (["randn:" + "x".join("1" * 71)], "dim"),
        (["full:2:99999999999999999999:i64"], "does not fit into int64"),
        ([f"full:2:{1 << 63}:i64"], "does not fit into int64"),
        (["full:2:nan:i32"], "nan and inf are no int32"),
        (["full:2:inf:u8"], "nan and inf are no uint8"),
        (["tensor:[NaN]:i32"], "nan and inf are no int32"),
        (["tensor:" + "[" * 2000], "nested too deeply"),
        (["[" * 2000 + "]" * 2000], "nested too deeply"),
        (["9" * 5000], "'999"),
        (["file:a\0b"], "null"),
    ],
)
def test_what_is_no_argument(texts: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Parser(0).arguments(texts)
    assert words in str(caught.value)
