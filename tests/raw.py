# SPDX-License-Identifier: Apache-2.0
"""The daemon's protocols without the client, for tests that say what no client says."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from kernrig._proto import buffer_pb2, execute_pb2, server_pb2, session_pb2

BIND, FETCH, BOUND, FETCHED, REFUSED = 1, 2, 65, 66, 67


def connect(path: str) -> socket.socket:
    """A connection that has said nothing yet."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)  # with a timeout, a full backlog would be an error
    connection.settimeout(20)
    return connection


def message(kind: int, payload: bytes, version: int = 1) -> bytes:
    """One message of the local protocol."""
    return b"KR" + bytes([kind, version]) + struct.pack("<I", len(payload)) + payload


def exchange(connection: socket.socket, data: bytes) -> tuple[int, bytes, list[int]]:
    """Sends a request and receives its reply: type, payload, descriptors."""
    connection.sendall(data)
    reply, descriptors, _, _ = socket.recv_fds(connection, 4096, 64)
    if not reply:
        raise EOFError("the daemon has closed the connection")
    return reply[2], reply[8:], descriptors


def refusal(payload: bytes) -> tuple[int, str]:
    """Code and text of a REFUSED."""
    return struct.unpack_from("<i", payload)[0], payload[4:].decode()


def is_closed(connection: socket.socket) -> bool:
    """Waits for the daemon to close a connection; whatever it says before is read."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def as_it_is(data: bytes) -> bytes:
    """What serializes bytes: they are what is sent."""
    return data


class Stub:
    """The RPCs, one method each."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def raw(self, name: str, data: bytes, timeout: float = 20) -> bytes:
        """Any bytes to any method."""
        path = name if name.startswith("/") else f"/kernrig.v1.Kernrig/{name}"
        call = self._channel.unary_unary(path, as_it_is, as_it_is)
        return bytes(call(data, timeout=timeout))

    def begin(self, name: str, data: bytes) -> Any:
        """Begins a call of a method, whose future this is: it can be cancelled."""
        path = f"/kernrig.v1.Kernrig/{name}"
        return self._channel.unary_unary(path, as_it_is, as_it_is).future(data)

    def watch_health(self) -> Any:
        """Begins health's Watch: an iterator of what it says, which can be cancelled."""
        path = "/grpc.health.v1.Health/Watch"
        return self._channel.unary_stream(path, as_it_is, as_it_is)(b"")

    def _call(self, name: str, request: Any, reply: Any, timeout: float = 20) -> Any:
        return reply.FromString(self.raw(name, request.SerializeToString(), timeout))

    def server_info(self) -> server_pb2.ServerInfoResponse:
        """ServerInfo."""
        request = server_pb2.ServerInfoRequest()
        reply = self._call("ServerInfo", request, server_pb2.ServerInfoResponse)
        assert isinstance(reply, server_pb2.ServerInfoResponse)
        return reply

    def open_session(self) -> bytes:
        """OpenSession."""
        request = session_pb2.OpenSessionRequest(client="test")
        return bytes(self._call("OpenSession", request, session_pb2.OpenSessionResponse).session)

    def close_session(self, session: bytes) -> None:
        """CloseSession."""
        request = session_pb2.CloseSessionRequest(session=session)
        self._call("CloseSession", request, session_pb2.CloseSessionResponse)

    def create(self, session: bytes, *sizes: int) -> list[int]:
        """CreateBuffer: handles."""
        request = buffer_pb2.CreateBufferRequest(session=session, sizes=sizes)
        reply = self._call("CreateBuffer", request, buffer_pb2.CreateBufferResponse)
        return [info.buffer for info in reply.buffers]

    def free(self, session: bytes, *handles: int) -> None:
        """FreeBuffers."""
        request = buffer_pb2.FreeBuffersRequest(session=session, buffers=handles)
        self._call("FreeBuffers", request, buffer_pb2.FreeBuffersResponse)

    def execute(
        self, session: bytes, *calls: execute_pb2.Call, timeout: float = 20
    ) -> list[execute_pb2.CallResult]:
        """Execute."""
        request = execute_pb2.ExecuteRequest(session=session, calls=calls)
        reply = self._call("Execute", request, execute_pb2.ExecuteResponse, timeout)
        return list(reply.results)


@contextmanager
def stub(path: str) -> Iterator[Stub]:
    """A channel of its own to a daemon."""
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"unix:{path}", options=options) as channel:
        yield Stub(channel)


@contextmanager
def bound_session(path: str) -> Iterator[tuple[Stub, bytes, socket.socket]]:
    """A stub, a session, and the local connection that has bound it."""
    with stub(path) as s, connect(path) as connection:
        session = s.open_session()
        assert exchange(connection, message(BIND, session))[0] == BOUND
        yield s, session, connection


def status_of(error: grpc.RpcError) -> int:
    """The number of the error that a refused RPC carries."""
    metadata: Any = error.trailing_metadata()  # pairs, whatever the stubs say
    return int(dict(metadata or ()).get("kernrig-status", 0))


def details(error: grpc.RpcError) -> str:
    """The text that a refused RPC carries."""
    return str(error.details())


def tensor(buffer: int, *sizes: int, **more: Any) -> execute_pb2.Argument:
    """A float32 tensor as an argument."""
    name = more.pop("name", "")
    fields = {"buffer": buffer, "dtype": 6, "sizes": sizes, **more}
    return execute_pb2.Argument(
        name=name, value=execute_pb2.Value(tensor=execute_pb2.Tensor(**fields))
    )


def add(a: execute_pb2.Argument, b: execute_pb2.Argument, out: execute_pb2.Argument) -> Any:
    """A call of aten::add.out."""
    out.name = "out"
    return execute_pb2.Call(operator="aten::add.out", arguments=[a, b, out])
