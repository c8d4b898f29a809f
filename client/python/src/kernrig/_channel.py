# SPDX-License-Identifier: Apache-2.0
"""The RPCs of the service, and what their failures mean: the only file that sees gRPC.

gRPC's status speaks of the request only. The exact number of an error travels in the trailing
metadata "kernrig-status"; where that is missing, the failure is gRPC's own, and its code decides.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any, TypeVar

# gRPC's core writes a line to stderr when the process forks while another thread is in a call. It
# looks at this variable when it is loaded and has no other way to be told; whoever has set it, or
# has imported grpc before, has decided for himself.
if "grpc" in sys.modules or "GRPC_VERBOSITY" in os.environ:
    import grpc
else:
    os.environ["GRPC_VERBOSITY"] = "NONE"
    import grpc

    del os.environ["GRPC_VERBOSITY"]

from kernrig._address import Address
from kernrig._helper import Helper
from kernrig._proto import (
    buffer_pb2,
    execute_pb2,
    operator_pb2,
    server_pb2,
    session_pb2,
)
from kernrig.errors import (
    CallCancelled,
    ConnectionLost,
    InternalError,
    KernelTimeout,
    KernrigError,
    LimitExceeded,
    MalformedRequest,
    PermissionDenied,
    VersionMismatch,
    class_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

# Seconds that requests may take which only the daemon itself answers.
PATIENCE = 10.0
# Seconds that the daemon's own word about a time limit has to arrive.
GRACE = 0.17
# Seconds: gRPC's deadlines overflow far beyond it.
_LONGEST = 1e9
# Seconds that another thread waits for the lock of the main thread's channel, to close it.
_CLOSE_SECONDS = 1.0

_OPTIONS: list[tuple[str, int]] = [
    # grpcio would send even a Unix socket's traffic to a proxy named in the environment.
    ("grpc.enable_http_proxy", 0),
    # A channel is one connection: nothing is shared with other channels, and nothing repeated.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    # The catalogue of operators is the largest reply; the daemon limits what it sends.
    ("grpc.max_receive_message_length", -1),
    # An embedded daemon's socket may be removed: the connection must not be closed when idle.
    ("grpc.client_idle_timeout_ms", 2**31 - 1),
]

_BY_CODE: dict[Any, type[KernrigError]] = {
    grpc.StatusCode.UNAVAILABLE: ConnectionLost,
    grpc.StatusCode.CANCELLED: CallCancelled,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitExceeded,
    grpc.StatusCode.INVALID_ARGUMENT: MalformedRequest,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNIMPLEMENTED: VersionMismatch,
}

_Reply = TypeVar("_Reply", bound="Message")


class _Stubs:
    """A gRPC channel, and the RPCs on it."""

    def __init__(self, address: Address) -> None:
        self.channel = grpc.insecure_channel(f"unix:{address.path}", options=_OPTIONS)
        self.server_info = self._method("ServerInfo", server_pb2.ServerInfoResponse)
        self.open_session = self._method("OpenSession", session_pb2.OpenSessionResponse)
        self.list_operators = self._method("ListOperators", operator_pb2.ListOperatorsResponse)
        self.create_buffer = self._method("CreateBuffer", buffer_pb2.CreateBufferResponse)
        self.free_buffers = self._method("FreeBuffers", buffer_pb2.FreeBuffersResponse)
        self.execute = self._method("Execute", execute_pb2.ExecuteResponse)

    def _method(self, name: str, reply: type[_Reply]) -> Callable[..., _Reply]:
        # grpcio would take an exception of a signal handler for one of the serializer, and swallow
        # it: so it is given bytes.
        method = self.channel.unary_unary(f"/kernrig.v1.Kernrig/{name}", None, None)

        def ask(request: Message, timeout: float) -> _Reply:
            return reply.FromString(method(request.SerializeToString(), timeout=timeout))

        return ask


class Channel:
    """The gRPC half of a session. Thread-safe.

    The main thread has a connection of its own. It runs signal handlers, which may raise, and where
    one does so at the wrong moment, grpcio leaves a lock of that channel in the main thread's hands
    for ever. It may take it again, nobody else could.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._is_closed = False
        self._opened: dict[bool, _Stubs] = {}  # by whether they are the main thread's

    def _stubs(self) -> _Stubs:
        is_main = get_ident() == main_thread().ident
        found = self._opened.get(is_main)
        if self._is_closed:
            raise self._closed()
        return found or self._opened.setdefault(is_main, _Stubs(self._address))

    def server_info(self) -> server_pb2.ServerInfoResponse:
        """Asks the daemon who it is."""
        return self._ask(self._stubs().server_info, server_pb2.ServerInfoRequest())

    def open_session(self, client: str) -> bytes:
        """Opens a session; its secret."""
        request = session_pb2.OpenSessionRequest(client=client)
        reply = self._ask(self._stubs().open_session, request)
        return bytes(reply.session)

    def list_operators(self, session: bytes) -> operator_pb2.ListOperatorsResponse:
        """Asks for all operators and kernels."""
        request = operator_pb2.ListOperatorsRequest(session=session)
        return self._ask(self._stubs().list_operators, request)

    def create_buffers(self, session: bytes, sizes: Sequence[int]) -> list[tuple[int, int]]:
        """Makes buffers of so many bytes; their handles and true sizes."""
        request = buffer_pb2.CreateBufferRequest(session=session, sizes=sizes)
        reply = self._ask(self._stubs().create_buffer, request)
        return [(made.buffer, made.size) for made in reply.buffers]

    def free_buffers(self, session: bytes, handles: Sequence[int]) -> None:
        """Gives buffers back."""
        request = buffer_pb2.FreeBuffersRequest(session=session, buffers=handles)
        self._ask(self._stubs().free_buffers, request)

    def execute(
        self, request: execute_pb2.ExecuteRequest, timeout: float
    ) -> execute_pb2.ExecuteResponse:
        """Runs a list of calls, which may take timeout seconds in all.

        When this thread is interrupted, the calls are cancelled, and their kernel with them.
        """
        try:
            return self._stubs().execute(request, timeout=min(timeout + GRACE, _LONGEST))
        except grpc.RpcError as error:
            raise self._translate(error, timeout) from None
        except ValueError as error:
            raise self._closed() from error

    def close(self) -> None:
        """Ends all RPCs. May be called again."""
        self._is_closed = True
        for is_main, stubs in list(self._opened.items()):
            if is_main and get_ident() != main_thread().ident:
                closer = Helper()
                closer.tell(stubs.channel.close)
                closer.wait(_CLOSE_SECONDS)
            else:
                stubs.channel.close()

    def _ask(self, method: Callable[..., _Reply], request: Any) -> _Reply:
        try:
            return method(request, timeout=PATIENCE)
        except grpc.RpcError as error:
            raise self._translate(error, None) from None
        except ValueError as error:
            raise self._closed() from error

    def _closed(self) -> KernrigError:
        """grpcio raises a ValueError for a channel that another thread has closed meanwhile."""
        return ConnectionLost(f"{self._address}: the connection was closed")

    def _translate(self, error: Any, timeout: float | None) -> KernrigError:
        """The exception of a failed RPC. Without a timeout it was not a call of a kernel."""
        details = error.details() or ""
        for key, value in error.trailing_metadata() or ():
            if key == "kernrig-status" and value.lstrip("-").isdigit():
                return class_of(int(value))(details)
        code = error.code()
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            if timeout is None:
                return ConnectionLost(
                    f"{self._address}: the daemon has not answered within {PATIENCE:g} s"
                )
            return KernelTimeout(
                f"the call did not end within {timeout:g} s, and the daemon at {self._address} "
                "did not say why",
                limit=timeout,
            )
        cls = _BY_CODE.get(code, InternalError)
        if cls is ConnectionLost:
            details = f"the daemon is gone or does not answer ({details})"
        elif cls is VersionMismatch:
            details = f"the daemon does not know this request ({details}): it is an older one"
        return cls(f"{self._address}: {details}")
