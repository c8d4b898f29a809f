# SPDX-License-Identifier: Apache-2.0
"""An embedded daemon: found, started, and ended with this process.

kernrigd is looked for, in this order:

    1. the file that KERNRIG_DAEMON names;
    2. kernrig/_bin/kernrigd in the installed package;
    3. build/release/kernrigd in the checkout that the package was installed from;
    4. kernrigd on PATH.

It listens in a private directory, watches this process by a pidfd, and says on a pipe that it is
ready. KERNRIG_LOG=FILE makes it log there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from kernrig._address import PATH_LIMIT, Address
from kernrig._origin import CHECKOUT
from kernrig.errors import DaemonNotFound

_START_SECONDS = 30.0  # a machine under heavy load takes its time
_STOP_SECONDS = 10.0  # more than the daemon's own grace
_EPITAPH_SECONDS = 0.2  # its sockets close before it has ended
_EPITAPH_LETTERS = 2000
_PREFIX = "kernrig-"
_SOCKET = "s"
_STDERR = "stderr"
_OLD_SECONDS = 60.0


def _places() -> list[tuple[str, Path | None]]:
    """Where kernrigd may be, each with the words for it."""
    named = os.environ.get("KERNRIG_DAEMON")
    on_path = shutil.which("kernrigd")
    checkout = Path(CHECKOUT) / "build/release/kernrigd" if CHECKOUT else None
    return [
        ("KERNRIG_DAEMON", Path(named) if named else None),
        ("the package", Path(__file__).with_name("_bin") / "kernrigd"),
        ("the checkout that the package was installed from", checkout),
        ("PATH", Path(on_path) if on_path else None),
    ]


def find() -> Path:
    """The daemon's binary.

    Raises:
        DaemonNotFound: it is in none of the places, which the message lists.
    """
    searched = []
    for what, path in _places():
        if path is None:
            unset = {"KERNRIG_DAEMON": "not set", "PATH": "no kernrigd"}.get(what, "none")
            searched.append(f"{what}: {unset}")
        elif path.is_file() and os.access(path, os.X_OK):
            return path.absolute()  # a bare name would be looked for on PATH
        elif what == "KERNRIG_DAEMON":
            # Whoever has named one does not want another.
            raise DaemonNotFound(f"KERNRIG_DAEMON names {path}, which is no program")
        else:
            searched.append(f"{what}: {path} is not there")
    places = "".join(f"\n  {place}" for place in searched)
    raise DaemonNotFound(
        f"kernrigd is not found. Run `make` in the checkout, or set KERNRIG_DAEMON to its path, or "
        f"KERNRIG_ADDRESS to the address of one that runs. Searched:{places}"
    )


def _private_directory() -> Path:
    """A new directory of this user's, short enough for a socket's path."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if parent is None or len(os.fsencode(parent)) > PATH_LIMIT - 40:
            continue
        try:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        except OSError:
            continue
    raise DaemonNotFound("no directory can be made for kernrigd's socket: is /tmp writable?")


def _sweep(parent: Path) -> None:
    """Removes what daemons have left whose owners were killed, and could not.

    A daemon holds a lock on the file beside its socket for as long as it lives, in whatever
    container it lives. Only files that are known to be ours go, and folders that are empty then.
    """
    for directory in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = directory.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            if time.time() - status.st_mtime < _OLD_SECONDS:
                continue  # its daemon may be about to take the lock
            with contextlib.ExitStack() as stack:
                lock = directory / f"{_SOCKET}.lock"
                if lock.exists():
                    file = stack.enter_context(open(lock, "rb"))
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for name in (_STDERR, _SOCKET, lock.name):
                    (directory / name).unlink(missing_ok=True)
                directory.rmdir()


class EmbeddedDaemon:
    """A daemon of this process. stop() is for the process that started it."""

    def __init__(self) -> None:
        """Starts one and waits until it takes calls.

        Raises:
            DaemonNotFound: there is none, or it does not start; with what it printed.
        """
        binary = find()
        self._pid = os.getpid()
        self._directory = _private_directory()
        self._printed = self._directory / _STDERR
        self.address = Address(str(self._directory / _SOCKET))
        try:
            _sweep(self._directory.parent)
            self._process = self._start(binary)
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise

    def _start(self, binary: Path) -> subprocess.Popen[bytes]:
        reading, writing = os.pipe()
        command = [str(binary), "--socket", self.address.path, "--ready-fd", str(writing)]
        command += ["--embedded", "--owner", str(self._pid)]
        if log := os.environ.get("KERNRIG_LOG"):
            command += ["--log", os.path.abspath(log)]
        try:
            with open(self._printed, "wb") as stderr:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    pass_fds=[writing],
                    start_new_session=True,  # Ctrl-C is for the client
                )
        except OSError as error:
            os.close(reading)
            raise DaemonNotFound(f"{binary} cannot be started: {error}") from error
        finally:
            os.close(writing)
        try:
            problem = _await_ready(reading)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            os.close(reading)
        if problem:
            process.kill()
            status = process.wait()
            said = self._printed.read_text(errors="replace").strip()
            raise DaemonNotFound(
                f"{binary} did not start: {said or f'{problem}; its exit status is {status}'}"
            )
        return process

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._process.pid

    def stop(self) -> None:
        """Ends the daemon, waits for that, and removes its directory."""
        if self._pid != os.getpid():
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            if not _await_end(self._process, _STOP_SECONDS):
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def epitaph(self) -> str:
        """How it ended, and what it printed, of one whose connection is gone; "" if it lives."""
        if self._pid != os.getpid() or not _await_end(self._process, _EPITAPH_SECONDS):
            return ""
        status = self._process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        said = self._printed.read_text(errors="replace").strip()
        return f"kernrigd {how}" + (f", and printed:\n{said[-_EPITAPH_LETTERS:]}" if said else "")

    def abandon(self) -> None:
        """In a forked child: the daemon is the parent's. Popen must not wait for it."""
        self._process.returncode = 0


def _await_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Waits for a process to end; whether it has. Popen.wait(timeout) would poll."""
    if process.poll() is not None:
        return True
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(descriptor)
    return process.poll() is not None


def _await_ready(descriptor: int) -> str:
    """Waits for the daemon's word on the pipe; why it did not come, or ""."""
    deadline = time.monotonic() + _START_SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    said = b""
    while not said.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return f"it was not ready after {_START_SECONDS:g} s"
        part = os.read(descriptor, 64)
        if not part:
            return "it ended"
        said += part
    return "" if said == b"ready\n" else f"it said {said!r}"
