# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand, for what no gRPC client does: messages that begin and do not end."""

from __future__ import annotations

import contextlib
import select
import socket
import struct

import raw

_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_ACK, _END_HEADERS = 1, 4
_INITIAL_WINDOW = 65535
_FRAME = 16384


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _header(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


class Connection:
    """One connection to a daemon, which keeps to flow control and answers pings."""

    def __init__(self, path: str) -> None:
        self.socket = raw.connect(path)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0))
        self._incoming = b""
        self._window = _INITIAL_WINDOW  # of the connection
        self._initial = _INITIAL_WINDOW  # of each stream
        self._used: dict[int, int] = {}  # of each stream's window
        self._left: dict[int, bytes] = {}  # what each stream has not sent yet
        self.is_closed = False

    def begin(self, method: str, body: bytes) -> None:
        """Begins a call of a method; body is sent by push, and no end follows it."""
        stream = 1 + 2 * len(self._used)
        headers = {
            b":method": b"POST",
            b":scheme": b"http",
            b":path": method.encode(),
            b":authority": b"x",
            b"content-type": b"application/grpc",
            b"te": b"trailers",
        }
        block = b"".join(_header(name, value) for name, value in headers.items())
        self._send(_frame(_HEADERS, _END_HEADERS, stream, block))
        self._used[stream] = 0
        self._left[stream] = body

    def _send(self, data: bytes) -> None:
        """A daemon that has no memory left for a connection may close it at any moment."""
        try:
            self.socket.sendall(data)
        except OSError:
            self.is_closed = True

    def push(self, patience: float = 0.5) -> int:
        """Sends until all is sent, or the daemon has taken nothing for so many seconds.

        Returns:
            How many bytes are left.
        """
        while not self.is_closed and any(self._left.values()):
            moved = self._send_what_fits()
            ready, _, _ = select.select([self.socket], [], [], 0 if moved else patience)
            if ready:
                self._receive()
            elif not moved:
                break
        return sum(map(len, self._left.values()))

    def _send_what_fits(self) -> bool:
        moved = False
        for stream, left in self._left.items():
            room = min(self._initial - self._used[stream], self._window, _FRAME)
            chunk = left[: max(room, 0)]
            if not chunk or not select.select([], [self.socket], [], 0)[1]:
                continue
            self._send(_frame(_DATA, 0, stream, chunk))
            if self.is_closed:
                return False
            self._left[stream] = left[len(chunk) :]
            self._used[stream] += len(chunk)
            self._window -= len(chunk)
            moved = True
        return moved

    def _receive(self) -> None:
        try:
            data = self.socket.recv(1 << 20)
        except OSError:
            data = b""
        self.is_closed = not data
        self._incoming += data
        while len(self._incoming) >= 9:
            length = int.from_bytes(self._incoming[:3], "big")
            if len(self._incoming) < 9 + length:
                return
            kind, flags, stream = struct.unpack_from(">BBI", self._incoming, 3)
            payload = self._incoming[9 : 9 + length]
            self._incoming = self._incoming[9 + length :]
            self._take(kind, flags, stream, payload)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _WINDOW_UPDATE:
            (more,) = struct.unpack(">I", payload)
            if stream == 0:
                self._window += more
            elif stream in self._used:
                self._used[stream] -= more
        elif kind == _SETTINGS and not flags & _ACK:
            for name, value in struct.iter_unpack(">HI", payload):
                if name == 4:  # INITIAL_WINDOW_SIZE
                    self._initial = value
            self._send(_frame(_SETTINGS, _ACK, 0))
        elif kind == _PING and not flags & _ACK:
            self._send(_frame(_PING, _ACK, 0, payload))

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def message(size: int) -> bytes:
    """A gRPC message of so many bytes, but for its last one."""
    return b"\0" + struct.pack(">I", size) + bytes(size - 1)
