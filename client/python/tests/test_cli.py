# SPDX-License-Identifier: Apache-2.0
"""The command line, as far as it needs no daemon; and with one of Python functions."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from kernrig import errors
from kernrig._cli import build, commands
from kernrig._cli._common import exit_code
from kernrig._cli.commands import call, ops
from kernrig._proto import execute_pb2
from kernrig._status import ERRORS
from tests.fake import ADD, FakeDaemon, add

ARGMAX = "aten::argmax.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"


class FakeRuntime:
    """As much of a Runtime as commands use."""

    def __init__(self) -> None:
        self.daemon = FakeDaemon({ADD: add, ARGMAX: argmax})
        self.operator_registry = self.daemon.registry
        self._memory = self.daemon.memory
        self._execute = self.daemon.run


def argmax(daemon: FakeDaemon, message: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
    from tests.fake import resize

    source, out = daemon.tensors(message)
    if out.dtype != 4:
        result.fault.status = -3
        result.fault.message = "wants int64"
        return
    resize(daemon, out, 1, np.asarray(daemon.buffers.array(source).argmax()), result)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command."""
    runtime = FakeRuntime()

    @contextlib.contextmanager
    def connected(address: str) -> Iterator[Any]:
        yield runtime

    for module in ("call", "ops", "show"):
        monkeypatch.setattr(f"kernrig._cli.commands.{module}.connected", connected)

    def run(*args: str) -> Result:
        return CliRunner().invoke(build(), list(args), env={"KERNRIG_ADDRESS": ""})

    return run


def test_exit_codes_say_whose_fault_it_is() -> None:
    codes = {cls.code: exit_code(cls("x")) for cls in ERRORS}
    kernel = {"CRASHED", "EXITED", "TIMEOUT", "TAMPERED", "LOAD"}
    usage = {
        *("VALUE", "SHAPE", "DTYPE", "CAST", "INDEX", "OVERLAP", "RESIZE", "MEMORY"),
        *("ZERO_DIVISION", "OVERFLOW", "NO_KERNEL"),
        *("TYPE", "NO_OPERATOR", "SCHEMA", "KEY", "DUPLICATE", "EXTENT", "DEVICE", "AUTOGRAD"),
    }
    assert {code for code, value in codes.items() if value == 1} == kernel
    assert {code for code, value in codes.items() if value == 2} == usage
    assert {code for code, value in codes.items() if value == 4} == set(codes) - kernel - usage
    for cls in (errors.ShapeError, errors.CastError, errors.KernelOverflow, errors.DTypeError):
        assert exit_code(cls("x", kernel="add_out")) == 1  # a kernel has refused
    assert exit_code(errors.MissingKernelKey("x")) == 2
    assert exit_code(errors.MissingOperatorKey("x")) == 2


def test_every_command_has_its_file_and_examples(cli: Any) -> None:
    names = sorted(path.stem for path in Path(commands.__path__[0]).glob("[a-z]*.py"))
    assert names == ["call", "ops", "serve", "show"]
    for name in names:
        result = cli(name, "--help")
        assert result.exit_code == 0
        assert "Examples:" in result.output
    assert cli("--version").output.startswith("kernrig ")


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        ("", True),
        ("add", True),
        ("aten::add.out", True),
        ("aten.add.out", True),
        ("aten::a*", True),
        ("aten.a*.out", True),
        ("*.out", True),
        ("aten::?dd.out", True),
        ("sub", False),
        ("add*", True),
        ("dd*", False),
        ("aten::*.Tensor", False),
    ],
)
def test_patterns(pattern: str, is_match: bool) -> None:
    assert ops.matches("aten::add.out", pattern) == is_match


def test_ops(cli: Any) -> None:
    result = cli("ops")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["OPERATOR", "KERNELS", "DTYPES", "SCHEMA"]
    assert lines[1].startswith("aten::add.out")
    assert not any(line.endswith(" ") for line in lines)
    assert result.stderr == "2 operators, 2 kernels\n"
    (found,) = json.loads(cli("ops", "add", "--format", "json").stdout)
    assert found["name"] == "aten::add.out"
    assert found["schema"] == ADD
    assert found["dtypes"] == ["float32"]
    nothing = cli("ops", "zzz")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "no operator matches 'zzz'" in nothing.stderr


def test_show(cli: Any) -> None:
    result = cli("show", "aten.add.out")
    assert result.exit_code == 0
    assert result.stdout.startswith(ADD)
    assert "fake/k" in result.stdout
    described = json.loads(cli("show", "aten::add.out", "--format", "json").stdout)
    assert described["kernels"][0]["registered_at"] == "1970-01-01T00:00:01+00:00"
    missing = cli("show", "aten::ad.out")
    assert missing.exit_code == 2
    assert "did you mean aten::add" in missing.stderr
    assert missing.stdout == ""


def test_call(cli: Any) -> None:
    result = cli("call", "aten::add.out", "full:2x3:1", "full:3:2")
    assert result.exit_code == 0
    assert result.stdout.startswith("out: float32 2x3, checksum ")
    assert "[3., 3., 3.]" in result.stdout
    assert "fake/k" in result.stderr
    described = json.loads(
        cli("call", "aten::add.out", "full:2:1", "full:2:nan", "--format", "json").stdout
    )
    assert described["outputs"][0]["data"] == ["nan", "nan"]
    assert described["kernel_ns"] == 5


def test_the_checksum_is_that_of_the_elements() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert call._checksum(array) == call._checksum(array.T.copy().T)
    assert call._checksum(array) != call._checksum(array + 1)
    # sha256 of the bytes 01 02 03, by sha256sum.
    assert call._checksum(np.array([1, 2, 3], np.uint8)) == "039058c6f2c0cb49"


def test_an_output_takes_the_dtype_that_the_kernel_wants(cli: Any) -> None:
    result = cli("call", "aten::argmax.out", "tensor:[1.0,3.0,2.0]")
    assert result.exit_code == 0
    assert result.stdout.startswith("out: int64 (),")
    refused = cli("call", "aten::argmax.out", "ones:3", "--out-dtype", "f32")
    assert refused.exit_code == 1  # by a kernel
    assert "wants int64" in refused.stderr


def test_an_error_in_json(cli: Any) -> None:
    result = cli("call", "aten::argmax.out", "ones:3", "--out-dtype", "f32", "--format", "json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "DTYPE"
    assert error["operator"] == "aten::argmax.out"


def test_outputs_given(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "o.npy"
    result = cli("call", "aten::add.out", "ones:2", "ones:2", "out=empty:2", "--save", str(path))
    assert result.exit_code == 0
    assert np.load(path).tolist() == [2, 2]
    wrong = cli("call", "aten::add.out", "ones:2", "ones:2", "out=empty:3")
    assert wrong.exit_code == 1
    assert "cannot be resized" in wrong.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["call"],
        ["call", "aten::add.out", "rnadn:2"],
        ["call", "aten::add.out", "ones:2", "--format", "xml"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--out-dtype", "f31"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--timeout", "0"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--save", "x.txt"],
        ["call", "aten::nope.out", "ones:2"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--timeout", "1e20"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--timeout", "nan"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--provider", "a\n"],
        ["call", "aten::add.out", "ones:2", "ones:2", "--seed", "-1"],
        ["call", "aten::add.out", "ones:2", "99999999999999999999"],
        ["call", "aten::add.out", "tensor:" + "[" * 2000, "1"],
        ["nope"],
        ["serve", "--socket", "/" + "x" * 200],
    ],
    ids=lambda args: " ".join(args)[:60],
)
def test_wrong_usage(cli: Any, args: list[str]) -> None:
    result = cli(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)  # and no traceback
    assert len(result.stderr) < 1000


def test_a_wrong_address_is_wrong_usage() -> None:
    for address, code in (("tcp:here", 2), ("nonsense", 2), ("unix:/nobody/listens", 4)):
        result = CliRunner().invoke(build(), ["ops", "--address", address])
        assert result.exit_code == code
        assert address in result.stderr


@pytest.mark.parametrize(
    ("dtypes", "promoted"),
    [
        (["float32", "float64"], ["float64"]),
        (["int32", "float32"], ["float32"]),
        (["int64", "float16"], ["float16"]),
        (["uint8", "int8"], ["int16"]),
        (["bool", "uint8"], ["uint8"]),
        (["bool"], ["bool"]),
        (["float16", "bfloat16"], ["float32"]),
        (["bfloat16", "int32"], ["bfloat16"]),
        ([], []),
    ],
)
def test_promotion_is_pytorchs(dtypes: list[str], promoted: list[str]) -> None:
    from kernrig import _dtypes

    arrays = [np.zeros(1, _dtypes.to_numpy(_dtypes.NUMBERS[name])) for name in dtypes]
    assert call._promoted(arrays) == promoted


@pytest.mark.parametrize(
    ("with_dims", "without", "promoted"),
    [
        (["float32"], ["float64"], "float32"),
        (["int32"], ["float64"], "float64"),
        (["int32"], ["int64"], "int32"),
        (["bool"], ["uint8"], "uint8"),
        (["float16", "float32"], ["float64"], "float32"),
        (["bfloat16"], ["float32"], "bfloat16"),
        (["int64"], ["bfloat16"], "bfloat16"),
        ([], ["float32", "float64"], "float64"),
    ],
)
def test_tensors_without_dims_promote_by_category_only(
    with_dims: list[str], without: list[str], promoted: str
) -> None:
    from kernrig import _dtypes

    def made(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return np.zeros(shape, _dtypes.to_numpy(_dtypes.NUMBERS[name]))

    arrays = [made(name, ()) for name in without] + [made(name, (2,)) for name in with_dims]
    assert call._promoted(arrays) == [promoted]
