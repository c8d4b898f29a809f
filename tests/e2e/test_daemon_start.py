# SPDX-License-Identifier: Apache-2.0
"""Starts that cannot succeed say why, and leave nothing behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from kernrig import errors
from kernrig._proto import session_pb2
from kernrig.runtime import Runtime

import raw
from harness import Daemon, DaemonFailed, build_directory


def run(*options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """kernrigd to its end, which is expected to be soon."""
    return subprocess.run(
        [os.environ["KERNRIG_DAEMON"], *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )


def test_a_socket_path_that_is_too_long(tmp_path: Path) -> None:
    path = str(tmp_path / ("x" * 120))
    result = run("--socket", path)
    assert result.returncode == 1
    assert f"has {len(path)} bytes; Linux takes 1 to 107" in result.stderr


def test_a_socket_path_that_is_in_use(daemon: Daemon) -> None:
    result = run("--socket", daemon.socket)
    assert result.returncode == 1
    assert f"in use by kernrigd with process id {daemon.pid}" in result.stderr
    with daemon.connect() as rt:  # whose it stays
        assert rt.info.pid == daemon.pid


def test_a_socket_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine")
    result = run("--socket", str(tmp_path / "s"))
    assert result.returncode == 1
    assert "exists and is no socket" in result.stderr
    assert (tmp_path / "s").read_text() == "mine"


def test_a_socket_path_of_another_program(tmp_path: Path) -> None:
    """It has no lock of ours; that it listens is enough."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        result = run("--socket", str(path))
        assert result.returncode == 1
        assert f"{path} is in use by another program" in result.stderr
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert os.listdir(tmp_path) == ["s"]  # no lock file is left


def test_a_socket_path_that_is_not_permitted(tmp_path: Path) -> None:
    """As another user, since root may write anywhere."""
    tmp_path.chmod(0o755)
    options = {} if os.getuid() else {"user": 65534, "group": 65534, "extra_groups": []}
    target = "/s-of-kernrig" if os.getuid() else str(tmp_path / "s")
    result = run("--socket", target, **options)
    assert result.returncode == 1
    assert "Permission denied" in result.stderr
    assert "Choose a folder that you may write to" in result.stderr


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    result = run("--socket", str(tmp_path / "nope" / "s"))
    assert result.returncode == 1
    assert "Does its folder exist?" in result.stderr


def test_a_socket_of_a_dead_daemon_is_replaced(start_daemon: Callable[..., Daemon]) -> None:
    daemon = start_daemon()
    daemon.process.kill()
    daemon.process.wait(20)
    assert os.path.exists(daemon.socket)
    again = subprocess.Popen(
        [os.environ["KERNRIG_DAEMON"], "--socket", daemon.socket, "--ready-fd", "1"],
        stdout=subprocess.PIPE,
    )
    assert again.stdout is not None
    assert again.stdout.readline() == b"ready\n"
    with Runtime.connect(daemon.address) as rt:
        assert rt.info.pid == again.pid
    again.terminate()
    assert again.wait(20) == 0
    again.stdout.close()
    assert not os.path.exists(daemon.socket)


def test_a_log_that_nobody_reads_stops_nobody(tmp_path: Path) -> None:
    """stderr is a pipe that is full, and the daemon serves and stops as ever."""
    path = str(tmp_path / "s")
    reading, writing = os.pipe()
    daemon = subprocess.Popen(
        [os.environ["KERNRIG_DAEMON"], "--socket", path, "--log", "-", "--ready-fd", "1"],
        stdout=subprocess.PIPE,
        stderr=writing,
    )
    assert daemon.stdout is not None
    assert daemon.stdout.readline() == b"ready\n"
    with raw.stub(path) as stub:
        for _ in range(1000):  # each refusal is a line of 200 bytes; the pipe holds 64 KiB
            with pytest.raises(grpc.RpcError) as info:
                stub.raw("CloseSession", b"", timeout=10)
            assert raw.status_of(info.value) == errors.SessionEnded.status
        os.read(reading, 1 << 20)
        stub.server_info()
        with pytest.raises(grpc.RpcError):
            stub.raw("CloseSession", b"")
    daemon.terminate()
    assert daemon.wait(20) == 0
    daemon.stdout.close()
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = [json.loads(line) for line in pipe]
    assert lines[0]["dropped"] > 500
    assert lines[-1]["event"] == "daemon.stopped"


def test_what_a_client_calls_itself_is_logged_as_utf8(daemon: Daemon) -> None:
    with raw.stub(daemon.socket) as stub:
        name = b"\xff<a name \xc3\xa9>"
        reply = stub.raw("OpenSession", b"\x0a" + bytes([len(name)]) + name)
        stub.close_session(session_pb2.OpenSessionResponse.FromString(reply).session)
    (line,) = (line for line in daemon.log().splitlines() if "<a name" in line)
    assert json.loads(line)["client"] == "?<a name é>"


def test_a_worker_of_another_build(tmp_path: Path) -> None:
    """A copy of the worker in which one digit of the build id differs."""
    worker = build_directory() / "kernrig-worker"
    build_id = subprocess.run(
        [os.environ["KERNRIG_DAEMON"], "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    other = build_id.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    data = worker.read_bytes()
    assert data.count(build_id.encode()) == 1
    copy = tmp_path / "kernrig-worker"
    copy.write_bytes(data.replace(build_id.encode(), other.encode()))
    copy.chmod(0o755)
    with pytest.raises(DaemonFailed, match=f"of build {other}, this daemon of build {build_id}"):
        Daemon("--worker", str(copy))


def test_a_worker_that_is_not_there() -> None:
    with pytest.raises(DaemonFailed, match=r"nonexistent.*cannot be started"):
        Daemon("--worker", "/nonexistent/kernrig-worker")


def test_a_worker_that_is_another_program() -> None:
    with pytest.raises(DaemonFailed, match="its monitor ended without a word"):
        Daemon("--worker", "/bin/true")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("load_exits", "ended its process with exit code 0 while it loaded"),
        ("load_crashes", "died of SIGILL"),
        ("load_no_table", "does not export kr_library_table"),
        ("load_undefined", "nobody_has_this"),
        ("load_bad_schema", "Tensr"),
        ("load_other_schema", "aten::relu.out"),
        ("load_bad_key", "v1/6;0,0"),
        ("load_wrong_abi", "kernel ABI 2"),
        ("load_lying_table", "4294967295 kernels"),
        ("load_bad_pointer", "died of SIGSEGV"),
    ],
)
def test_a_library_that_cannot_be_loaded(name: str, words: str) -> None:
    path = build_directory() / "hostile" / f"{name}.so"
    with pytest.raises(DaemonFailed, match=words) as info:
        Daemon("--test-library", str(path))
    assert str(path) in str(info.value)
    assert info.value.args[1] == 1


def test_a_library_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("not an ELF file")
    for path in (tmp_path / "text.so", tmp_path / "missing.so"):
        with pytest.raises(DaemonFailed, match=str(path)):
            Daemon("--test-library", str(path))


def test_the_same_library_twice() -> None:
    path = str(build_directory() / "kernels" / "behaves.so")
    with pytest.raises(DaemonFailed, match=r"behaves.*already"):
        Daemon("--test-library", path, "--test-library", path)


def test_options_that_are_wrong() -> None:
    for options, words in [
        ([], "--socket PATH is needed"),
        (["--nope"], "--nope: no such option"),
        (["--socket"], "--socket: no such option, or its value is missing"),
        (["--socket", "x", "more"], "takes options only"),
        (["--socket", "x", "--mode", "9"], "--mode 9"),
        (["--socket", "x", "--embedded"], "--owner PID"),
        (["--socket", "x", "--embedded", "--owner", "1"], "is not our parent"),
        (["--socket", "x", "--log", "/nonexistent/log"], "/nonexistent/log"),
        (["--socket", "x", "--log-level", "loud"], "debug, info"),
    ]:
        result = run(*options)
        assert result.returncode in (1, 2) and words in result.stderr, (options, result)
        assert not os.path.exists("x")


def test_help_and_version() -> None:
    assert "--test-library" in run("--help").stdout
    assert run("--version").stdout.startswith("kernrigd 0.1.0, build ")


# Addresses


def test_a_dead_address_is_an_error_and_never_another_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in (f"unix:{tmp_path}/nobody", "unix:/nonexistent/s"):
        monkeypatch.setenv("KERNRIG_ADDRESS", address)
        with pytest.raises(ConnectionError, match=address) as info:
            Runtime.get()
        assert "kernrig serve" in str(info.value)
        assert isinstance(info.value, errors.ConnectionLost)


def test_addresses_of_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("tcp:board:7777", "board", "unix:", "http://x", "unix:" + "x" * 200):
        monkeypatch.setenv("KERNRIG_ADDRESS", address)
        with pytest.raises(ValueError, match=r"address|socket path"):
            Runtime.get()


def test_an_address_in_the_environment_is_used(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNRIG_ADDRESS", daemon.address)
    rt = Runtime.get()
    assert rt.info.pid == daemon.pid and rt.address == daemon.address
    assert Runtime.get() is rt
    rt.close()


def test_proxies_of_the_environment_do_not_matter(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with daemon.connect() as rt:
        a = rt.tensor([1.0, 2.0], "f32")
        rt.operator_registry.aten.add.out(a, a, out=a)
        assert a.tolist() == [2, 4]


@pytest.mark.parametrize("number", ["API_MAJOR", "API_MINOR"])
def test_a_daemon_of_another_protocol_version(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """The client is made to need a newer protocol than the real daemon speaks."""
    from kernrig import _info

    monkeypatch.setattr(_info, number, getattr(_info, number) + 1)
    with pytest.raises(errors.VersionMismatch) as info:
        daemon.connect()
    package = os.path.dirname(_info.__file__)
    for word in ("0.1.0", os.environ["KERNRIG_DAEMON"], package, daemon.address):
        assert word in str(info.value)
