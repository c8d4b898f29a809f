# SPDX-License-Identifier: Apache-2.0
"""What a failed RPC means."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import grpc
import pytest

from kernrig import _channel, errors
from kernrig._address import Address
from kernrig._channel import Channel

CODE = grpc.StatusCode


class Failure(grpc.RpcError):
    """A failed RPC, as grpcio raises it."""

    def __init__(
        self, code: grpc.StatusCode, details: str = "why", status: str | None = None
    ) -> None:
        self._values = code, details, status

    def code(self) -> grpc.StatusCode:
        return self._values[0]

    def details(self) -> str:
        return self._values[1]

    def trailing_metadata(self) -> Any:
        status = self._values[2]
        return None if status is None else (("other", "1"), ("kernrig-status", status))


@pytest.fixture
def channel() -> Channel:
    channel = Channel(Address("/the/daemon"))
    channel.close()
    return channel


def test_the_daemons_own_number_decides(channel: Channel) -> None:
    error = channel._translate(Failure(CODE.RESOURCE_EXHAUSTED, "too many", "-43"), None)
    assert type(error) is errors.SessionBusy
    assert str(error) == "too many"
    assert type(channel._translate(Failure(CODE.UNKNOWN, "x", "-9999"), 1)) is errors.KernrigError


@pytest.mark.parametrize(
    ("code", "cls"),
    [
        (CODE.UNAVAILABLE, errors.ConnectionLost),
        (CODE.CANCELLED, errors.CallCancelled),
        (CODE.RESOURCE_EXHAUSTED, errors.LimitExceeded),
        (CODE.INVALID_ARGUMENT, errors.MalformedRequest),
        (CODE.PERMISSION_DENIED, errors.PermissionDenied),
        (CODE.UNIMPLEMENTED, errors.VersionMismatch),
        (CODE.INTERNAL, errors.InternalError),
        (CODE.UNKNOWN, errors.InternalError),
    ],
)
def test_grpcs_own_failures(
    channel: Channel, code: grpc.StatusCode, cls: type[errors.KernrigError]
) -> None:
    for status in (None, "nonsense"):
        error = channel._translate(Failure(code, "why", status), 1.0)
        assert type(error) is cls
        assert "unix:/the/daemon" in str(error)
        assert "why" in str(error)


def test_a_deadline_is_a_calls_time_limit_or_a_silent_daemon(channel: Channel) -> None:
    error = channel._translate(Failure(CODE.DEADLINE_EXCEEDED), 1.5)
    assert type(error) is errors.KernelTimeout
    assert error.limit == 1.5
    assert "1.5 s" in str(error)
    assert type(channel._translate(Failure(CODE.DEADLINE_EXCEEDED), None)) is errors.ConnectionLost


def test_a_closed_channel(channel: Channel) -> None:
    with pytest.raises(errors.ConnectionLost, match="was closed"):
        channel.server_info()


def test_the_main_thread_has_a_connection_of_its_own() -> None:
    channel = Channel(Address("/the/daemon"))
    found = [channel._stubs()]
    for _ in range(2):
        thread = threading.Thread(target=lambda: found.append(channel._stubs()))
        thread.start()
        thread.join()
    assert channel._stubs() is found[0]
    assert found[0] is not found[1] is found[2]
    channel.close()


def test_another_thread_closes_it_though_its_lock_is_held_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after an interrupt of the main thread at the wrong moment."""
    channel = Channel(Address("/the/daemon"))
    held = threading.Event()

    class Stuck:
        def close(self) -> None:
            held.wait(10)

    real = channel._stubs().channel
    monkeypatch.setattr(channel._stubs(), "channel", Stuck())
    monkeypatch.setattr(_channel, "_CLOSE_SECONDS", 0.01)
    thread = threading.Thread(target=channel.close)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    held.set()
    real.close()


def run(code: str, **environment: str) -> str:
    import os

    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**{k: v for k, v in os.environ.items() if k != "GRPC_VERBOSITY"}, **environment},
    )
    assert result.stderr == ""
    return result.stdout


def test_grpcs_verbosity_is_set_for_its_import_only() -> None:
    code = "import kernrig._channel, os; print(os.environ.get('GRPC_VERBOSITY'))"
    assert run(code) == "None\n"
    assert run(code, GRPC_VERBOSITY="ERROR") == "ERROR\n"
