# SPDX-License-Identifier: Apache-2.0
"""A real kernrigd for the tests, and how to see that nothing has leaked.

The daemon under test is the one of the build that KERNRIG_DAEMON names.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kernrig.runtime import Runtime

# gRPC's own log goes to stderr, which is to stay empty; read when grpc is first imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 20.0  # seconds; a wait that takes longer has failed


def build_directory() -> Path:
    """The build under test."""
    return Path(os.environ["KERNRIG_DAEMON"]).parent


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Waits for something that the system offers no event for, such as the end of a zombie."""
    deadline = time.monotonic() + PATIENCE
    nothing = select.poll()
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s for {what}")
        nothing.poll(2)


def descendants(pid: int) -> list[int]:
    """Living processes below pid; zombies, which their parent will reap, do not count."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    queue = [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            queue.append(child)
    return found


def descriptors(pid: int) -> list[str]:
    """What each descriptor of a process leads to, without the numbers that differ."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = os.readlink(entry)
            found.append(target.split("[")[0].split(":")[0] if "memfd" not in target else target)
    return sorted(found)


class Daemon:
    """A kernrigd of our own."""

    def __init__(self, *options: str, env: dict[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="krt-"))
        self.socket = str(self.folder / "s")
        self.address = f"unix:{self.socket}"
        self.log_path = self.folder / "log"
        reading, writing = os.pipe()
        command = [os.environ["KERNRIG_DAEMON"], "--socket", self.socket]
        command += ["--log", str(self.log_path), "--log-level", "debug"]
        command += ["--ready-fd", str(writing), *options]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[writing],
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            ready = pipe.read()  # to its end: the daemon closes it when it has said so
        if ready != "ready\n":
            assert self.process.stderr is not None
            self.error = self.process.stderr.read().decode()
            self.status = self.process.wait(PATIENCE)
            self.process.stderr.close()
            shutil.rmtree(self.folder)
            raise DaemonFailed(self.error, self.status)
        # The spare worker of the stock kernels stays; those that have described test libraries go.
        wait_until(lambda: len(descendants(self.pid)) == 2, "one spare worker to be left")
        self.baseline = self.state()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def log(self) -> str:
        """Everything that it has logged."""
        return self.log_path.read_text() if self.log_path.exists() else ""

    def connect(self) -> Runtime:
        """A new session."""
        return Runtime.connect(self.address)

    def state(self) -> tuple[int, list[str]]:
        """What must be the same after a test: living processes below it, and descriptors."""
        return len(descendants(self.pid)), descriptors(self.pid)

    def is_as_before(self) -> bool:
        """Whether everything that was used is gone. What was open for a moment at the start, a
        sanitizer's file, may be missing."""
        processes, open_now = self.state()
        return processes == self.baseline[0] and not Counter(open_now) - Counter(self.baseline[1])

    def check(self) -> None:
        """Waits until everything that the test has used is gone."""
        if self.process.poll() is not None:
            return
        try:
            wait_until(self.is_as_before, "the daemon to be as before")
        except AssertionError as error:
            raise AssertionError(f"leaked: {self.state()}, before: {self.baseline}") from error

    def stop(self) -> None:
        """Stops it; it must end in time, with success, and leave no file and no process."""
        below = descendants(self.pid)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        printed = self.process.stderr.read().decode()
        self.process.stderr.close()
        log = self.log()
        left = [name for name in os.listdir(self.folder) if name != "log"]
        shutil.rmtree(self.folder)
        for pid in below:
            wait_until(partial(is_dead, pid), f"process {pid} to end")
        assert printed == "", printed + log
        assert status in (0, -signal.SIGKILL), (status, log)
        assert left == [] or status == -signal.SIGKILL, left


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def is_dead(pid: int) -> bool:
    """Whether a process has ended."""
    return not is_alive(pid)


class DaemonFailed(Exception):
    """A daemon that did not start; what it printed, and its exit status."""
