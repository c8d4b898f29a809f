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
_KILL_SECONDS = 10.0  # a process in a system call that cannot be interrupted does not end at once
_PREFIX = "kernrigd-embedded-"
_MARK = "embedded-by-kernrig"  # a file that says whose folder it is
_SOCKET = "s"
_LOCK = "s.lock"
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
            directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        except OSError:
            continue
        (directory / _MARK).touch()
        return directory
    raise DaemonNotFound("no directory can be made for kernrigd's socket: is /tmp writable?")


def _sweep(parent: Path) -> None:
    """Removes what daemons have left whose owners were killed, and could not.

    A daemon holds a lock on the file beside its socket for as long as it lives, in whatever
    container it lives. Only a folder that is ours beyond doubt is touched: its name, its mark, a
    lock that nobody holds, and no file of anybody else's in it.
    """
    for directory in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            _sweep_one(directory)


def _sweep_one(directory: Path) -> None:
    """Removes one such folder, if it may be removed; an OSError says no as well."""
    with contextlib.ExitStack() as stack:
        # Whatever the name means later on, it is this folder that is looked at.
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        stack.callback(os.close, folder)
        status = os.fstat(folder)
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < _OLD_SECONDS:
            return  # its daemon may be about to take the lock
        names = set(os.listdir(folder))
        if not {_MARK, _LOCK} <= names <= {_MARK, _LOCK, _SOCKET, _STDERR}:
            return
        for name in (_MARK, _LOCK):
            if not stat.S_ISREG(os.lstat(name, dir_fd=folder).st_mode):
                return
        lock = os.open(_LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        stack.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in (_SOCKET, _STDERR, _LOCK, _MARK):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
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
            self._start(binary)
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise

    def _start(self, binary: Path) -> None:
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
                    start_new_session=True,  # Ctrl-C in the terminal is the client's
                )
        except OSError as error:
            os.close(reading)
            raise DaemonNotFound(f"{binary} cannot be started: {error}") from error
        finally:
            os.close(writing)
        self._process = _Process(process)
        try:
            problem = _await_ready(reading)
        except BaseException:
            self._process.kill()
            raise
        finally:
            os.close(reading)
        if problem:
            status = self._process.kill()
            said = self._last_words()
            raise DaemonNotFound(
                f"{binary} did not start: {said or f'{problem}; its exit status is {status}'}"
            )

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._process.pid

    def stop(self) -> None:
        """Ends the daemon, waits for that, and removes its directory. May be called again."""
        if self._pid != os.getpid():
            return
        self._process.signal(signal.SIGTERM)
        if not self._process.has_ended(_STOP_SECONDS):
            self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def epitaph(self) -> str:
        """How it ended, and what it printed, of one whose connection is gone; "" if it lives."""
        if self._pid != os.getpid() or not self._process.has_ended(_EPITAPH_SECONDS):
            return ""
        status = self._process.status
        if status is None:
            how = "has ended"
        else:
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        said = self._last_words()
        return f"kernrigd {how}" + (f", and printed:\n{said[-_EPITAPH_LETTERS:]}" if said else "")

    def _last_words(self) -> str:
        """What it has printed; nothing if somebody has cleaned up /tmp."""
        try:
            return self._printed.read_text(errors="replace").strip()
        except OSError:
            return ""

    def abandon(self) -> None:
        """In a forked child: the daemon is the parent's."""
        self._process.abandon()


class _Process:
    """A child process, signalled and waited for through a pidfd.

    An exception of a signal handler may interrupt anything here, and it can be done again. Popen's
    own methods would leave a lock behind, and wait for it for ever.

    Attributes:
        pid: its process id.
        status: as Popen's returncode, once it has ended; None also if somebody else has asked.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.status: int | None = None
        self._descriptor: int | None = os.pidfd_open(process.pid)
        process.returncode = 0  # it is not Popen's to wait for

    def has_ended(self, seconds: float) -> bool:
        """Waits until it has ended, for so many seconds at most; whether it has."""
        if self._descriptor is None:
            return True
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return False
        # It stays a zombie until its status has been noted.
        with contextlib.suppress(ChildProcessError):
            ended = os.waitid(os.P_PIDFD, self._descriptor, os.WEXITED | os.WNOWAIT)
            if ended is not None:
                is_exit = ended.si_code == os.CLD_EXITED
                self.status = ended.si_status if is_exit else -ended.si_status
            os.waitid(os.P_PIDFD, self._descriptor, os.WEXITED)
        self.abandon()
        return True

    def signal(self, number: int) -> None:
        """Sends a signal, if it is still there."""
        if self._descriptor is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> int | None:
        """Ends it at once; its status."""
        self.signal(signal.SIGKILL)
        self.has_ended(_KILL_SECONDS)
        return self.status

    def abandon(self) -> None:
        """Lets go of it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


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
