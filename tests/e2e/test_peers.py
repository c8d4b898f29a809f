# SPDX-License-Identifier: Apache-2.0
"""Peers that keep to no protocol: they are refused or dropped, and cost nobody else anything."""

from __future__ import annotations

import os
import random
import struct
from functools import partial

import grpc
import numpy as np
import pytest
from kernrig._proto import execute_pb2
from kernrig._status import (
    BufferNotFound,
    ExtentError,
    LimitExceeded,
    MalformedRequest,
    PermissionDenied,
    SessionEnded,
)
from kernrig.runtime import Runtime

import raw
from harness import Daemon, wait_until


@pytest.fixture(autouse=True)
def others_go_on(daemon: Daemon):  # type: ignore[no-untyped-def]
    """Whatever a peer does, another client's calls are right, during the test and afterwards."""
    with daemon.connect() as rt:
        check(rt)
        yield
        check(rt)


def check(rt: Runtime) -> None:
    """A hundred calls, each right."""
    a, c = rt.tensor(np.ones(4, np.float32)), rt.zeros(4, "f32")
    op = rt.operator_registry.aten.add.out
    for n in range(100):
        op(a, a, alpha=n, out=c)
        assert (c == 1 + n).all()


# The local protocol


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        raw.message(raw.BIND, b"x" * 15),
        raw.message(raw.BIND, b"x" * 16, version=2),
        raw.message(3, b""),
        raw.message(raw.BOUND, b""),
        raw.message(raw.FETCH, b"x" * 7),
        raw.message(raw.FETCH, b"\0" * 8 * 65),
        b"KR\x02\x01\xff\xff\xff\x7f",
        b"KR\x02\x01\xff\xff\xff\xff" + b"x" * 100,
        b"\0" * 64,
    ],
)
def test_bytes_that_are_no_request_close_the_connection(daemon: Daemon, data: bytes) -> None:
    with raw.connect(daemon.socket) as connection:
        connection.sendall(data)
        assert raw.is_closed(connection)


def test_random_bytes_a_thousand_times(daemon: Daemon) -> None:
    """Lengths are not believed, and memory stays flat."""
    rng = random.Random(7)
    before = resident(daemon.pid)
    for n in range(1000):
        with raw.connect(daemon.socket) as connection:
            length = rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, rng.randrange(2**32)])
            head = b"KR" + bytes([rng.randrange(256), 1]) + struct.pack("<I", length)
            data = head if n % 2 else rng.randbytes(rng.randrange(1, 300))
            if data[:1] == b"P":
                data = b"Q" + data[1:]
            try:
                connection.sendall(data + rng.randbytes(rng.randrange(64)))
            except BrokenPipeError:
                continue
    wait_until(lambda: daemon.process.poll() is None, "the daemon to live")
    assert resident(daemon.pid) - before < 4 << 20


def resident(pid: int) -> int:
    """Bytes of a process's memory that are in use."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_random_http2_bytes(daemon: Daemon) -> None:
    """The other protocol is gRPC's; what it makes of rubbish must not reach us."""
    rng = random.Random(8)
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for _ in range(100):
        with raw.connect(daemon.socket) as connection:
            data = preface + rng.randbytes(rng.randrange(200))
            data = data if rng.random() < 0.7 else b"P" + rng.randbytes(50)
            try:
                connection.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                continue
    with daemon.connect() as rt:
        check(rt)


def test_another_session_s_token_is_refused(daemon: Daemon) -> None:
    with raw.connect(daemon.socket) as connection:
        kind, payload, _ = raw.exchange(connection, raw.message(raw.BIND, b"\0" * 16))
        assert kind == raw.REFUSED
        assert raw.refusal(payload)[0] == SessionEnded.status


def test_a_session_is_bound_once(daemon: Daemon) -> None:
    with raw.bound_session(daemon.socket) as (_, session, connection):
        with raw.connect(daemon.socket) as second:
            kind, payload, _ = raw.exchange(second, raw.message(raw.BIND, session))
            assert (kind, raw.refusal(payload)[0]) == (raw.REFUSED, PermissionDenied.status)
        kind, payload, _ = raw.exchange(connection, raw.message(raw.BIND, session))
        assert (kind, raw.refusal(payload)[0]) == (raw.REFUSED, PermissionDenied.status)


def test_fetching_before_binding(daemon: Daemon) -> None:
    with raw.connect(daemon.socket) as connection:
        kind, payload, _ = raw.exchange(connection, raw.message(raw.FETCH, struct.pack("<Q", 1)))
        assert (kind, raw.refusal(payload)[0]) == (raw.REFUSED, SessionEnded.status)


def test_a_peer_that_never_reads_its_replies_is_dropped(daemon: Daemon) -> None:
    """It is noticed when the socket is full; nobody waits for it."""
    with raw.bound_session(daemon.socket) as (stub, session, connection):
        (handle,) = stub.create(session, 4096)
        request = raw.message(raw.FETCH, struct.pack("<Q", handle))
        connection.settimeout(5)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(20000):
                connection.sendall(request)


# Buffers


def test_a_handle_of_another_session(daemon: Daemon) -> None:
    with (
        raw.bound_session(daemon.socket) as (mine, session, connection),
        raw.bound_session(daemon.socket) as (theirs, other, _),
    ):
        (handle,) = theirs.create(other, 4096)
        fetch = raw.message(raw.FETCH, struct.pack("<Q", handle))
        kind, payload, _ = raw.exchange(connection, fetch)
        assert (kind, raw.refusal(payload)[0]) == (raw.REFUSED, BufferNotFound.status)
        assert str(handle) in raw.refusal(payload)[1]
        (result,) = mine.execute(session, raw.add(*[raw.tensor(handle, 2) for _ in range(3)]))
        assert result.fault.status == BufferNotFound.status
        for word in ("aten::add.out", "'self'", str(handle)):
            assert word in result.fault.message
        with pytest.raises(grpc.RpcError) as info:
            mine.free(session, handle)
        assert raw.status_of(info.value) == BufferNotFound.status
        theirs.free(other, handle)  # it is still theirs


def test_a_handle_that_was_freed(daemon: Daemon) -> None:
    with raw.bound_session(daemon.socket) as (stub, session, _):
        (handle,) = stub.create(session, 4096)
        stub.free(session, handle)
        (result,) = stub.execute(session, raw.add(*[raw.tensor(handle, 2) for _ in range(3)]))
        assert result.fault.status == BufferNotFound.status
        (fresh,) = stub.create(session, 4096)
        assert fresh != handle


@pytest.mark.parametrize(
    "fields",
    [
        {"offset": 4096},
        {"offset": 4092},
        {"offset": 2**64 - 4},
        {"offset": 2},
        {"sizes": [2**62]},
        {"sizes": [2**40, 2**40], "strides": [2**40, 1]},
        {"strides": [2**62]},
        {"strides": [2**63 - 1]},
        {"capacity": 4097},
        {"capacity": 2**64 - 1},
        {"offset": 64, "capacity": 2**64 - 64},
    ],
)
def test_what_reaches_beyond_a_buffer(daemon: Daemon, fields: dict[str, object]) -> None:
    with raw.bound_session(daemon.socket) as (stub, session, _):
        (handle,) = stub.create(session, 4096)
        good = [raw.tensor(handle, 2, offset=64 * n) for n in range(3)]
        (result,) = stub.execute(session, raw.add(*good))
        assert not result.HasField("fault"), result
        sizes = fields.pop("sizes", [2])
        bad = raw.tensor(handle, *sizes, **fields)  # type: ignore[misc]
        for position in range(3):
            arguments = [execute_pb2.Argument.FromString(g.SerializeToString()) for g in good]
            arguments[position] = execute_pb2.Argument.FromString(bad.SerializeToString())
            (result,) = stub.execute(session, raw.add(*arguments))
            assert result.fault.status == ExtentError.status, result
            name = ("self", "other", "out")[position]
            assert f"'{name}'" in result.fault.message


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"sizes": [-1]}, -1),
        ({"strides": [-1]}, -1),
        ({"dtype": 9}, -3),
        ({"dtype": 99}, -3),
        ({"sizes": [1] * 17}, -2),
        ({"strides": [1, 1]}, MalformedRequest.status),
        ({"dtype": -1}, MalformedRequest.status),
        ({"dtype": 256}, MalformedRequest.status),
        ({"buffer": 0}, MalformedRequest.status),
        ({"sizes": [2**40, 2**40]}, ExtentError.status),
    ],
)
def test_impossible_tensors(daemon: Daemon, fields: dict[str, object], status: int) -> None:
    with raw.bound_session(daemon.socket) as (stub, session, _):
        (handle,) = stub.create(session, 4096)
        values = {"buffer": handle, "sizes": [2], "dtype": 6, **fields}
        bad = execute_pb2.Argument(
            value=execute_pb2.Value(tensor=execute_pb2.Tensor(**values))  # type: ignore[arg-type]
        )
        try:
            (result,) = stub.execute(
                session, raw.add(bad, raw.tensor(handle, 2), raw.tensor(handle, 2, offset=64))
            )
            assert result.fault.status == status, result
        except grpc.RpcError as error:
            assert raw.status_of(error) == status


# gRPC


@pytest.mark.parametrize("name", ["Execute", "CreateBuffer", "FreeBuffers", "ListOperators"])
def test_truncated_and_random_messages(daemon: Daemon, name: str) -> None:
    rng = random.Random(9)
    with raw.bound_session(daemon.socket) as (stub, session, _):
        (handle,) = stub.create(session, 4096)
        call = raw.add(*[raw.tensor(handle, 2, offset=64 * n) for n in range(3)])
        whole = execute_pb2.ExecuteRequest(session=session, calls=[call]).SerializeToString()
        for n in range(200):
            data = bytearray(whole[: rng.randrange(len(whole))] if n % 2 else whole)
            for _ in range(rng.randrange(4)):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                stub.raw(name, bytes(data))
            except grpc.RpcError as error:
                assert error.code() in (
                    grpc.StatusCode.INVALID_ARGUMENT,
                    grpc.StatusCode.FAILED_PRECONDITION,
                    grpc.StatusCode.OUT_OF_RANGE,
                    grpc.StatusCode.NOT_FOUND,
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                )


def test_a_message_that_asks_for_much_memory(daemon: Daemon) -> None:
    """Two million empty calls in 4 MB: the arena ends before the memory does."""
    before = resident(daemon.pid)
    with raw.bound_session(daemon.socket) as (stub, session, _):
        data = b"\x0a\x10" + session + b"\x12\x00" * 2_000_000
        with pytest.raises(grpc.RpcError) as info:
            stub.raw("Execute", data)
        assert raw.status_of(info.value) == MalformedRequest.status
        assert "decoded_bytes" in raw.details(info.value)
    assert resident(daemon.pid) - before < 64 << 20


def test_a_message_over_the_limit(daemon: Daemon) -> None:
    with raw.bound_session(daemon.socket) as (stub, _, _):
        with pytest.raises(grpc.RpcError) as info:
            stub.raw("Execute", b"\0" * (4 << 20) + b"\0")
        assert info.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "4194304" in raw.details(info.value)


def test_an_unknown_method_is_answered_at_once(daemon: Daemon) -> None:
    with raw.stub(daemon.socket) as stub:
        for path in ("/kernrig.v1.Kernrig/Nope", "/nope.Nope/Nope", "/" + "x" * 3000):
            with pytest.raises(grpc.RpcError) as info:
                stub.raw(path, b"", timeout=10)
            assert info.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_session_that_does_not_exist(daemon: Daemon) -> None:
    with raw.stub(daemon.socket) as stub:
        for token in (b"", b"x", b"\0" * 16, b"\0" * 17):
            for call in (
                partial(stub.create, token, 1),
                partial(stub.free, token, 1),
                partial(stub.execute, token),
                partial(stub.close_session, token),
            ):
                with pytest.raises(grpc.RpcError) as info:
                    call()
                assert raw.status_of(info.value) == SessionEnded.status


def test_a_closed_session_closes_its_local_connection(daemon: Daemon) -> None:
    with raw.bound_session(daemon.socket) as (stub, session, connection):
        stub.create(session, 4096)
        stub.close_session(session)
        assert raw.is_closed(connection)
        with pytest.raises(grpc.RpcError) as info:
            stub.create(session, 4096)
        assert raw.status_of(info.value) == SessionEnded.status


# Peers that stall


def test_silent_and_half_spoken_peers_are_dropped(start_daemon) -> None:  # type: ignore[no-untyped-def]
    """Those that say nothing, stop in a message, or bind nothing; another client is not slowed."""
    limits = ["--limit", "hello_ms=1500", "--limit", "local_idle_ms=1500"]
    daemon = start_daemon(*limits)
    with daemon.connect() as rt:
        opened = [raw.connect(daemon.socket) for _ in range(20)]
        for n, connection in enumerate(opened):
            if n % 2:
                connection.sendall(raw.message(raw.BIND, b"x" * 16)[: n + 1])
        check(rt)
        for connection in opened:
            assert raw.is_closed(connection)
            connection.close()


def test_a_session_that_is_never_bound_ends(start_daemon) -> None:  # type: ignore[no-untyped-def]
    daemon = start_daemon("--limit", "session_bind_ms=100")
    with raw.stub(daemon.socket) as stub:
        session = stub.open_session()
        wait_until(lambda: stub.server_info().sessions == 0, "the session to end")
        with pytest.raises(grpc.RpcError) as info:
            stub.create(session, 1)
        assert raw.status_of(info.value) == SessionEnded.status


def test_limit_exceeded_is_what_the_client_raises(daemon: Daemon) -> None:
    with daemon.connect() as rt, pytest.raises(LimitExceeded, match="'buffer_bytes'"):
        rt.empty((1 << 40,), "u8")


def test_peers_are_known_by_their_credentials(daemon: Daemon) -> None:
    """The log says who opened a session."""
    with daemon.connect():
        pass
    assert f'"pid":{os.getpid()},"uid":{os.getuid()}' in daemon.log()
