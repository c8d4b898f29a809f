# SPDX-License-Identifier: Apache-2.0
"""The command `kernrig`: results on stdout, complaints on stderr, and exit codes that a script can
rely on."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness import Daemon, descendants, is_alive, wait_until
from user import environment, run

WORKED, KERNEL, USAGE, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 4, 130


def kernrig(*arguments: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    return run("kernrig", *arguments, cwd=cwd, changes=changes)


def test_a_call_prints_its_result_and_who_gave_it(tmp_path: Path) -> None:
    arguments = ("call", "aten::add.out", "tensor:[[1,2],[3,4]]:f32", "1.5", "alpha=2")
    result = kernrig(*arguments, cwd=tmp_path)
    assert result.returncode == WORKED
    assert result.stdout.startswith("out: float32 2x2, checksum ")
    assert result.stdout.endswith("[[4., 5.],\n [6., 7.]]\n")
    assert result.stderr.startswith("aten::add.out by portable/add_out, ")


def test_json_is_one_document(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(2, 3))
    arguments = ("call", "aten.mul.out", "file:a.npy", "3", "--format", "json")
    result = kernrig(*arguments, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (WORKED, "")
    (out,) = json.loads(result.stdout)["outputs"]
    assert (out["dtype"], out["shape"]) == ("int16", [2, 3])
    assert out["data"] == [[0, 3, 6], [9, 12, 15]]


def test_random_tensors_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    def checksum(*options: str) -> str:
        result = kernrig("call", "aten::relu.out", "randn:2x3", *options, cwd=tmp_path)
        assert result.returncode == WORKED
        return result.stdout.partition("checksum ")[2].partition("\n")[0]

    assert checksum() == checksum("--seed", "0") != checksum("--seed", "1")


def test_outputs_are_saved(tmp_path: Path) -> None:
    arguments = ("call", "aten::max_pool2d_with_indices.out", "randn:1x1x4x4", "2,2")
    assert kernrig(*arguments, "--save", "pooled.npz", cwd=tmp_path).returncode == WORKED
    with np.load(tmp_path / "pooled.npz") as saved:
        assert saved["out"].shape == saved["indices"].shape == (1, 1, 2, 2)
        assert saved["indices"].dtype == np.int64


def test_the_dtype_of_an_output_is_pytorchs(tmp_path: Path) -> None:
    result = kernrig("call", "aten::add.out", "ones:2", "full:():2:f64", cwd=tmp_path)
    assert result.stdout.startswith("out: float32 2, checksum ")


def test_operators_are_listed(tmp_path: Path) -> None:
    listed = kernrig("ops", "--format", "json", cwd=tmp_path)
    names = [each["name"] for each in json.loads(listed.stdout)]
    assert "aten::convolution.out" in names and len(names) == 12
    everything = kernrig("ops", "--all", "--format", "json", cwd=tmp_path)
    assert len(json.loads(everything.stdout)) > 500
    table = kernrig("ops", "aten::a*", cwd=tmp_path)
    assert [line.split()[0] for line in table.stdout.splitlines()] == [
        "OPERATOR",
        "aten::add.out",
        "aten::addmm.out",
        "aten::argmax.out",
    ]


def test_an_operator_is_shown(tmp_path: Path) -> None:
    shown = kernrig("show", "aten::argmax.out", "--format", "json", cwd=tmp_path)
    assert shown.returncode == WORKED
    described = json.loads(shown.stdout)
    assert described["schema"].startswith("aten::argmax.out(Tensor self, int? dim=None")
    assert [kernel["provider"] for kernel in described["kernels"]] == ["portable"]


@pytest.mark.parametrize("command", [(), ("serve",), ("ops",), ("show",), ("call",)])
def test_help_has_examples(command: tuple[str, ...], tmp_path: Path) -> None:
    shown = kernrig(*command, "--help", cwd=tmp_path)
    assert shown.returncode == WORKED
    examples = shown.stdout.partition("Examples:")[2]
    assert f"kernrig {command[0]}" if command else "kernrig call" in examples


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("call", "aten::add.out", "randn:2x3", "randn:4"), KERNEL, "must match"),
        (("call", "aten::sub.out", "randn:2", "randn:2"), USAGE, "has no kernel"),
        (("call", "aten::relu.out", "ones:2:bool"), USAGE, "has no kernel for bool"),
        (("call", "aten::add.out", "ones:2", "1", "--provider", "nosuch"), USAGE, "'nosuch'"),
        (("show", "aten::add.Tensor"), USAGE, "has no kernel"),
        (("call", "aten::add.out", "ones:2", "9" * 20), USAGE, "does not fit into int64"),
        (("call", "aten::add.out", "file:complex.npy", "1"), USAGE, "complex128"),
        (("call", "aten::add.out", "ones:2", "1", "out=ones:2:bool"), KERNEL, "can't be cast"),
        (("call", "aten::add.out", "ones:2", "1", "--seed", "-1"), USAGE, "--seed"),
        (("call", "aten::add.out", "randn:99999999999", "1"), USAGE, "Unable to allocate"),
        (("call", "aten::add.out", "ones:2", "1", "--timeout", "1e20"), USAGE, "timeout_ms"),
        (("call", "aten::add.out", "full:2:nan:i32", "1"), USAGE, "no int32"),
        (("call", "aten::ad.out", "randn:2", "randn:2"), USAGE, "did you mean aten::add.out?"),
        (("call", "aten::add.out", "randn:2"), USAGE, "missing value for argument 'other'"),
        (("call", "aten::add.out", "randn:2", "huh:2"), USAGE, "'huh:2' is no value"),
        (("call", "aten::add.out", "file:no.npy", "1"), USAGE, "no.npy"),
        (("call", "aten::add.out", "randn:2", "1", "--timeout", "-1"), USAGE, "timeout"),
        (("call",), USAGE, "Missing argument"),
        (("frobnicate",), USAGE, "No such command"),
        (("ops", "--format", "xml"), USAGE, "xml"),
        (("ops", "--address", "unix:/nowhere/s"), INFRASTRUCTURE, "there is no such socket"),
        (("ops", "--address", "tcp:9"), USAGE, "tcp:9"),
        (("serve", "--socket", "/nowhere/s"), INFRASTRUCTURE, "/nowhere"),
        (("serve", "--limit", "no_such=1", "--socket", "s"), USAGE, "no_such"),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int, words: str, tmp_path: Path) -> None:
    np.save(tmp_path / "complex.npy", np.ones(2, np.complex128))
    result = kernrig(*arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (code, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_kernels_that_misbehave_are_a_result(daemon: Daemon, tmp_path: Path) -> None:
    def call(name: str, *options: str) -> subprocess.CompletedProcess[str]:
        arguments = ("call", f"test::{name}.out", "ones:2", *options)
        return kernrig(*arguments, cwd=tmp_path, KERNRIG_ADDRESS=daemon.address)

    crashed = call("segv")
    assert crashed.returncode == KERNEL and "SIGSEGV" in crashed.stderr
    ended = call("exits", "--format", "json")
    assert ended.returncode == KERNEL
    assert json.loads(ended.stdout)["error"]["code"] == "EXITED"
    endless = call("loops", "--timeout", "1")
    assert endless.returncode == KERNEL and "did not end within 1 s" in endless.stderr
    # What a kernel has printed is told.
    assert "the kernel printed:" in call("chatters").stderr


def test_ctrl_c_ends_the_call_and_the_kernel(daemon: Daemon, tmp_path: Path) -> None:
    before = set(descendants(daemon.pid))
    process = subprocess.Popen(
        ["kernrig", "call", "test::loops.out", "ones:2"],
        env=environment(KERNRIG_ADDRESS=daemon.address),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # A monitor and a runner of its own, and the runner at work.
    wait_until(lambda: len(set(descendants(daemon.pid)) - before) >= 2, "the kernel to begin")
    wait_until(lambda: any(is_at_work(pid) for pid in descendants(daemon.pid)), "it to loop")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stdout) == (INTERRUPTED, "")
    assert "Traceback" not in stderr


def is_at_work(pid: int) -> bool:
    """Whether a process has used 50 ms of processor time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(fields[11]) >= 0.05 * os.sysconf("SC_CLK_TCK")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`kernrig serve` in the foreground."""
    with subprocess.Popen(
        ["kernrig", "serve", "--socket", str(tmp_path / "rig.sock"), "--log", "rig.log"],
        env=environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        if process.poll() is None:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_address_and_ends_in_good_order(
    served: subprocess.Popen[str], number: signal.Signals, tmp_path: Path
) -> None:
    assert served.stdout is not None and served.stderr is not None
    assert served.stdout.readline().startswith("kernrigd ")
    name, _, address = served.stdout.readline().removeprefix("export ").strip().partition("=")
    assert name == "KERNRIG_ADDRESS" and address == f"unix:{tmp_path / 'rig.sock'}"
    called = kernrig("call", "aten::relu.out", "ones:2", cwd=tmp_path, KERNRIG_ADDRESS=address)
    assert called.returncode == WORKED
    again = kernrig("serve", "--socket", str(tmp_path / "rig.sock"), cwd=tmp_path)
    assert again.returncode == INFRASTRUCTURE and "in use" in again.stderr
    (daemon, *_) = descendants(served.pid)
    served.send_signal(number)
    assert served.wait(20) == WORKED
    assert served.stderr.read() == ""
    assert not is_alive(daemon)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rig.log"]
    assert all(json.loads(line) for line in (tmp_path / "rig.log").read_text().splitlines())


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    result = run("bash", "-c", "kernrig ops --all | head -1", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("OPERATOR")


def test_a_terminal_gets_a_table_of_its_width(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reading:
        process = subprocess.Popen(
            ["kernrig", "ops", "add"],
            env=environment(COLUMNS="60", TERM="xterm", NO_COLOR="1"),
            cwd=tmp_path,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        printed = b""
        try:
            while chunk := reading.read(4096):
                printed += chunk
        except OSError:  # a terminal whose programs have ended says EIO
            pass
        assert process.wait(20) == WORKED
    lines = printed.decode().splitlines()
    assert any(line.startswith("aten::add.out") for line in lines)
    assert max(len(line) for line in lines) <= 60
    assert "\x1b" not in printed.decode()
