# SPDX-License-Identifier: Apache-2.0
"""The local protocol against a socket whose other end is in the test's hands."""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernrig import _local
from kernrig._address import Address
from kernrig._local import LocalSession
from kernrig.errors import (
    ConnectionLost,
    InternalError,
    PermissionDenied,
    SessionEnded,
    SystemFailure,
)

ADDRESS = Address("/the/daemon")


def reply(kind: int, payload: bytes = b"") -> bytes:
    return b"KR" + bytes([kind, 1]) + struct.pack("<I", len(payload)) + payload


class Peer:
    """The daemon's end."""

    def __init__(self) -> None:
        ours, self.socket = socket.socketpair()
        ours.settimeout(5)
        self.socket.settimeout(5)
        self.session = LocalSession(ours, ADDRESS)
        self.requests: list[tuple[int, bytes]] = []

    def answer(self, *answers: Callable[[], None]) -> threading.Thread:
        """Reads a request and answers it, for each answer."""

        def work() -> None:
            for each in answers:
                head = self.socket.recv(8, socket.MSG_WAITALL)
                (length,) = struct.unpack("<I", head[4:])
                self.requests.append((head[2], self.socket.recv(length, socket.MSG_WAITALL)))
                each()

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def send(self, data: bytes, descriptors: list[int] | None = None) -> None:
        socket.send_fds(self.socket, [data], descriptors or [])


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.session.close()
    peer.socket.close()


def memfds(count: int) -> list[int]:
    return [os.memfd_create(f"test{index}") for index in range(count)]


def test_bind(peer: Peer) -> None:
    thread = peer.answer(lambda: peer.send(reply(65)))
    peer.session.bind(b"0123456789abcdef")
    thread.join()
    assert peer.requests == [(1, b"0123456789abcdef")]


def test_fetch_in_parts(peer: Peer) -> None:
    files = memfds(70)
    sizes = struct.pack("<64Q", *range(64))
    thread = peer.answer(
        lambda: peer.send(reply(66, sizes), files[:64]),
        lambda: peer.send(reply(66, sizes[: 6 * 8]), files[64:]),
    )
    descriptors = peer.session.fetch(list(range(1, 71)))
    thread.join()
    assert [len(payload) for _, payload in peer.requests] == [512, 48]
    assert struct.unpack("<6Q", peer.requests[1][1]) == tuple(range(65, 71))
    inodes = [os.fstat(file).st_ino for file in files]
    assert [os.fstat(descriptor).st_ino for descriptor in descriptors] == inodes
    assert not any(os.get_inheritable(descriptor) for descriptor in descriptors)
    for descriptor in [*files, *descriptors]:
        os.close(descriptor)


def test_a_reply_in_pieces(peer: Peer) -> None:
    def slowly() -> None:
        for byte in reply(65):
            peer.send(bytes([byte]))

    thread = peer.answer(slowly)
    peer.session.bind(bytes(16))
    thread.join()


def test_a_refusal_is_the_error_that_it_names(peer: Peer) -> None:
    text = struct.pack("<i", -40) + b"the session has ended"
    thread = peer.answer(lambda: peer.send(reply(67, text)))
    with pytest.raises(SessionEnded, match="the session has ended"):
        peer.session.bind(bytes(16))
    thread.join()


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_descriptors_of_an_unexpected_reply_are_closed(peer: Peer) -> None:
    files = memfds(3)
    before = open_descriptors()
    thread = peer.answer(lambda: peer.send(reply(65), files))
    with pytest.raises(InternalError, match="local reply 65, expected 66"):
        peer.session.fetch([1])
    thread.join()
    assert open_descriptors() == before
    for file in files:
        os.close(file)


def test_too_few_descriptors(peer: Peer) -> None:
    files = memfds(1)
    before = open_descriptors()
    thread = peer.answer(lambda: peer.send(reply(66, bytes(16)), files))
    with pytest.raises(SystemFailure, match="1 descriptors for 2 buffers"):
        peer.session.fetch([1, 2])
    thread.join()
    assert open_descriptors() == before
    os.close(files[0])


@pytest.mark.parametrize("data", [b"HTTP/1.1 400", reply(66, bytes(2000))[:8], b""])
def test_what_is_no_reply(peer: Peer, data: bytes) -> None:
    def work() -> None:
        peer.send(data) if data else None
        peer.socket.shutdown(socket.SHUT_RDWR)

    thread = peer.answer(work)
    with pytest.raises(ConnectionLost, match="unix:/the/daemon"):
        peer.session.bind(bytes(16))
    thread.join()


def test_a_daemon_that_does_not_answer(peer: Peer) -> None:
    peer.session._connection.settimeout(0.05)
    with pytest.raises(ConnectionLost, match="has not answered"):
        peer.session.bind(bytes(16))


def test_a_reply_that_nobody_waited_for_is_thrown_away(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Want of memory must not make the next request take the wrong reply."""
    files = memfds(2)

    class WithoutMemory:
        def recvmsg(self, *args: object) -> None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

    real = peer.session._connection
    thread = peer.answer(
        lambda: peer.send(reply(66, bytes(8)), files[:1]),
        lambda: peer.send(reply(66, bytes(8)), files[1:]),
    )
    monkeypatch.setattr(peer.session, "_connection", WithoutMemory())
    with pytest.raises(SystemFailure, match="Cannot allocate memory"):
        peer.session.fetch([1])
    monkeypatch.setattr(peer.session, "_connection", real)
    before = open_descriptors()
    (descriptor,) = peer.session.fetch([2])
    thread.join()
    assert os.fstat(descriptor).st_ino == os.fstat(files[1]).st_ino
    assert open_descriptors() == before + 1
    for each in [*files, descriptor]:
        os.close(each)


def test_closing_ends_the_session_though_a_child_has_a_copy(peer: Peer) -> None:
    copy = os.dup(peer.session._connection.fileno())
    peer.session.close()
    assert peer.socket.recv(1) == b""
    os.close(copy)


def test_a_childs_copy_is_only_closed(peer: Peer) -> None:
    copy = peer.session._connection.dup()
    peer.session.abandon()
    copy.sendall(b"x")
    assert peer.socket.recv(1) == b"x"
    copy.close()


def test_connecting_to_nobody(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with pytest.raises(ConnectionLost, match=f"no such socket.*kernrig serve --socket {path}"):
        _local.connect(Address(str(path)))
    path.write_text("")
    with pytest.raises(ConnectionLost, match="nobody listens"):
        _local.connect(Address(str(path)))


def test_connecting_where_one_may_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    class Refusing(socket.socket):
        connect = refuse

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(PermissionDenied, match="may not connect"):
        _local.connect(Address(str(tmp_path / "s")))


def test_a_daemon_with_many_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen(0)  # one may wait
        address = Address(str(tmp_path / "s"))
        first = _local.connect(address)
        monkeypatch.setattr(_local, "_PATIENCE", 0.05)
        with pytest.raises(ConnectionLost, match=r"has not taken the connection within 0\.05 s"):
            _local.connect(address)
        monkeypatch.undo()

        def accept() -> None:
            connection, _ = listening.accept()
            connection.close()

        accepting = threading.Thread(target=accept)
        accepting.start()
        second = _local.connect(address)  # as soon as there is room
        accepting.join()
        first.close()
        second.close()
