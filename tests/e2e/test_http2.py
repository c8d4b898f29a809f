# SPDX-License-Identifier: Apache-2.0
"""Peers that use gRPC against the daemon's memory: it has an end, and others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import grpc
import numpy as np
import pytest
from kernrig.runtime import Runtime

import http2
import raw
from harness import Daemon, build_directory

MIB = 1 << 20
INFO = "/kernrig.v1.Kernrig/ServerInfo"


def check(rt: Runtime) -> None:
    """A call is right."""
    a, c = rt.tensor(np.ones(4, np.float32)), rt.zeros(4, "f32")
    rt.operator_registry.aten.add.out(a, a, out=c)
    np.testing.assert_array_equal(c, [2] * 4)


def peak(daemon: Daemon) -> int:
    """The most bytes that a daemon has ever had in use."""
    status = Path(f"/proc/{daemon.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def test_a_compressed_message_is_refused_before_it_grows(daemon: Daemon) -> None:
    """64 MiB of zeros are 64 KiB when compressed, and less than `message_bytes`."""
    before = peak(daemon)
    with raw.stub(daemon.socket) as stub:
        call = stub._channel.unary_unary(INFO, raw.as_it_is, raw.as_it_is)
        for algorithm in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            with pytest.raises(grpc.RpcError) as info:
                call(bytes(64 * MIB), compression=algorithm, timeout=20)
            assert info.value.code() == grpc.StatusCode.UNIMPLEMENTED
            assert "disabled" in raw.details(info.value)
        stub.server_info()
    if build_directory().name == "release":  # a sanitizer keeps what was freed
        assert peak(daemon) - before < 16 * MIB


def test_messages_that_do_not_end(start_daemon: Callable[..., Daemon]) -> None:
    """A hundred messages of 4 MiB, each without its last byte, on each of two connections."""
    daemon = start_daemon("--limit", f"rpc_bytes={32 * MIB}")
    with daemon.connect() as rt:
        check(rt)
        before = peak(daemon)
        connections = [http2.Connection(daemon.socket) for _ in range(2)]
        for connection in connections:
            for _ in range(100):
                connection.begin(INFO, http2.message(4 * MIB))
            assert connection.push() > 100 * MIB
        if build_directory().name == "release":
            assert peak(daemon) - before < 64 * MIB
        check(rt)
        with daemon.connect() as another:
            check(another)
        for connection in connections:
            connection.close()
        check(rt)
