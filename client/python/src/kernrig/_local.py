# SPDX-License-Identifier: Apache-2.0
"""The local protocol: what gRPC cannot do on a Unix socket.

A connection to the daemon's own socket is bound to the session, which ends when it closes, and
brings the descriptors of buffers. server/wire/local.h defines the bytes:

    'K' 'R' type(u8) 1(u8) length(u32)   payload of length bytes, little-endian
"""

from __future__ import annotations

import array
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Sequence

from kernrig._address import Address
from kernrig.errors import (
    ConnectionLost,
    InternalError,
    KernrigError,
    PermissionDenied,
    SystemFailure,
    class_of,
)

_HEAD = struct.Struct("<2sBBI")
_CODE = struct.Struct("<i")
_VERSION = 1
_BIND, _FETCH = 1, 2
_BOUND, _FETCHED, _REFUSED = 65, 66, 67
_HANDLES = 64  # in one FETCH
_PAYLOAD = 1024
_PATIENCE = 10.0  # seconds for an answer of a daemon that does nothing but answer


def connect(address: Address) -> socket.socket:
    """A connection to the daemon's socket.

    Raises:
        ConnectionLost: nobody listens there.
        PermissionDenied: this user may not connect.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # With a time-out of Python's, which makes the socket nonblocking, a daemon that has many
        # waiting would refuse at once instead of making this one wait, too.
        patience = struct.pack("@ll", *divmod(int(_PATIENCE * 1e6), 1_000_000))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        connection.connect(address.path)
        connection.settimeout(_PATIENCE)
    except OSError as error:
        connection.close()
        raise _refused(address, error) from error
    return connection


def _refused(address: Address, error: OSError) -> KernrigError:
    if isinstance(error, PermissionError):
        return PermissionDenied(
            f"{address}: this user may not connect to the daemon (it takes its own user's "
            "connections, or a group's if it was started with --mode 0660)"
        )
    reason = {
        errno.ENOENT: "there is no such socket",
        errno.ECONNREFUSED: "nobody listens there: the daemon that did is gone",
        errno.ENOTSOCK: "this is no socket",
        errno.EAGAIN: f"the daemon has not taken the connection within {_PATIENCE:g} s",
    }.get(error.errno or 0, error.strerror or str(error))
    return ConnectionLost(
        f"{address}: {reason}. Start a daemon with `kernrig serve --socket {address.path}`, or "
        "unset KERNRIG_ADDRESS to have one of your own"
    )


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class LocalSession:
    """The local half of a session; owns its socket.

    One thread at a time makes requests, one that no signal handler interrupts: the descriptors that
    a reply brings are in nobody's hands for a moment. shut_down() is for any thread.
    """

    def __init__(self, connection: socket.socket, address: Address) -> None:
        self._connection = connection
        self._address = address
        # A reply as far as it has come. The system may have no memory to receive it: the next
        # request takes it first, and throws it away.
        self._owed = 0
        self._bytes = bytearray()
        self._descriptors: list[int] = []

    def bind(self, session: bytes) -> None:
        """Binds the connection to a session, which lives as long as the connection."""
        self._request(_BIND, session, _BOUND)

    def fetch(self, handles: Sequence[int]) -> list[int]:
        """Descriptors of buffers, in the order of their handles. The caller closes them."""
        descriptors: list[int] = []
        try:
            for start in range(0, len(handles), _HANDLES):
                part = handles[start : start + _HANDLES]
                payload = struct.pack(f"<{len(part)}Q", *part)
                received = self._request(_FETCH, payload, _FETCHED)
                descriptors += received
                if len(received) != len(part):
                    raise SystemFailure(
                        f"{self._address}: {len(received)} descriptors for {len(part)} "
                        "buffers: does this process have descriptors left (ulimit -n)?"
                    )
        except BaseException:
            _close(descriptors)
            raise
        return descriptors

    def shut_down(self) -> None:
        """Ends the session, and a request that waits for its reply."""
        # Not only closed: a forked child may have a copy of the descriptor.
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends the session, when nobody makes a request any more.

        The number of the descriptor may be another file's at once.
        """
        self.shut_down()
        self._connection.close()

    def abandon(self) -> None:
        """Closes the copy of a forked child; the parent's session goes on."""
        self._connection.close()

    def _request(self, kind: int, payload: bytes, expected: int) -> list[int]:
        """Sends a request and takes its reply; the descriptors that came with it."""
        try:
            while self._owed:
                _close(self._reply()[2])
            self._connection.sendall(_HEAD.pack(b"KR", kind, _VERSION, len(payload)) + payload)
            self._owed += 1
            answer, body, descriptors = self._reply()
        except OSError as error:
            raise self._lost(error) from error
        if answer == expected:
            return descriptors
        _close(descriptors)
        if answer == _REFUSED and len(body) >= _CODE.size:
            (code,) = _CODE.unpack_from(body)
            raise class_of(code)(body[_CODE.size :].decode(errors="replace"))
        raise InternalError(f"{self._address}: local reply {answer}, expected {expected}")

    def _reply(self) -> tuple[int, bytes, list[int]]:
        """The next reply: its type, its payload, and the descriptors that came with it."""
        self._receive(_HEAD.size)
        magic, answer, version, length = _HEAD.unpack_from(self._bytes)
        if magic != b"KR" or version != _VERSION or length > _PAYLOAD:
            raise ConnectionResetError(errno.EPROTO, "it does not speak the local protocol")
        self._receive(_HEAD.size + length)
        body, descriptors = bytes(self._bytes[_HEAD.size :]), self._descriptors
        self._bytes, self._descriptors = bytearray(), []
        self._owed -= 1
        return answer, body, descriptors

    def _receive(self, size: int) -> None:
        """Reads until size bytes of the reply are there."""
        space = socket.CMSG_SPACE(_HANDLES * array.array("i").itemsize)
        while len(self._bytes) < size:
            part, ancillary, _, _ = self._connection.recvmsg(
                size - len(self._bytes), space, socket.MSG_CMSG_CLOEXEC
            )
            for level, kind, data in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    numbers = array.array("i")
                    numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
                    self._descriptors.extend(numbers)
            if not part:
                raise ConnectionResetError(errno.ECONNRESET, "it has closed the connection")
            self._bytes += part

    def _lost(self, error: OSError) -> KernrigError:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            return SystemFailure(f"{self._address}: {error.strerror}")
        if isinstance(error, TimeoutError):
            return ConnectionLost(f"{self._address}: the daemon has not answered in {_PATIENCE} s")
        return ConnectionLost(
            f"{self._address}: the daemon is gone, or has ended this session: {error.strerror}"
        )
