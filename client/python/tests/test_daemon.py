# SPDX-License-Identifier: Apache-2.0
"""Finding and starting kernrigd, with scripts in its place."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from kernrig import _daemon
from kernrig._daemon import EmbeddedDaemon, find
from kernrig.errors import DaemonNotFound

# Says that it is ready, and waits for SIGTERM.
READY = f"""#!{sys.executable} -S
import os, signal, sys
options = dict(zip(sys.argv[1:], sys.argv[2:]))
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
open(options["--socket"], "w").close()
os.write(int(options["--ready-fd"]), b"ready\\n")
while True:
    signal.pause()
"""


@pytest.fixture(autouse=True)
def no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is found but what a test puts somewhere."""
    for name in ("KERNRIG_DAEMON", "KERNRIG_LOG", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setattr(_daemon, "CHECKOUT", str(tmp_path / "checkout"))


def script(path: Path, text: str = READY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_order_of_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = script(tmp_path / "path/kernrigd")
    assert find() == on_path
    built = script(tmp_path / "checkout/build/release/kernrigd")
    assert find() == built
    named = script(tmp_path / "named")
    monkeypatch.setenv("KERNRIG_DAEMON", str(named))
    assert find() == named


def test_nothing_found_names_every_place(tmp_path: Path) -> None:
    with pytest.raises(DaemonNotFound) as caught:
        find()
    text = str(caught.value)
    for place in (
        "`make`",
        "KERNRIG_DAEMON: not set",
        "_bin/kernrigd is not there",
        f"{tmp_path}/checkout/build/release/kernrigd is not there",
        "PATH: no kernrigd",
    ):
        assert place in text


@pytest.mark.parametrize("kind", ["absent", "a folder", "not executable"])
def test_a_named_daemon_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whoever has named one does not want another."""
    script(tmp_path / "path/kernrigd")
    named = tmp_path / "named"
    if kind == "a folder":
        named.mkdir()
    elif kind == "not executable":
        named.write_text(READY)
    monkeypatch.setenv("KERNRIG_DAEMON", str(named))
    with pytest.raises(DaemonNotFound, match=f"KERNRIG_DAEMON names {named}"):
        find()


def test_start_and_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    script(tmp_path / "path/kernrigd")
    daemon = EmbeddedDaemon()
    folder = Path(daemon.address.path).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(daemon.address.path).exists()
    assert os.getpgid(daemon.pid) == daemon.pid  # Ctrl-C does not reach it
    daemon.stop()
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(daemon.pid, 0)
    daemon.stop()


def test_a_killed_daemon_leaves_nothing(tmp_path: Path) -> None:
    script(tmp_path / "path/kernrigd")
    daemon = EmbeddedDaemon()
    assert daemon.epitaph() == ""
    os.kill(daemon.pid, signal.SIGKILL)
    assert daemon.epitaph() == "kernrigd was killed by signal 9"
    daemon.stop()
    assert not Path(daemon.address.path).parent.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#!/bin/sh\necho it hurts >&2\nexit 3\n", "did not start: it hurts"),
        ("#!/bin/sh\nexit 3\n", "it ended; its exit status is 3"),
        (READY.replace("ready\\n", "steady\\n"), "it said"),
        ("no program at all", "cannot be started"),
    ],
)
def test_a_daemon_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    script(tmp_path / "path/kernrigd", text)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(DaemonNotFound, match=words):
        EmbeddedDaemon()
    assert len(os.listdir("/proc/self/fd")) == before
    assert list(tmp_path.glob("kernrig-*")) == []


def test_a_daemon_that_never_gets_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_daemon, "_START_SECONDS", 0.1)
    script(tmp_path / "path/kernrigd", READY.replace("os.write", "print"))
    with pytest.raises(DaemonNotFound, match=r"not ready after 0\.1 s"):
        EmbeddedDaemon()


def test_the_log_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNRIG_LOG", str(tmp_path / "log"))
    script(tmp_path / "path/kernrigd", '#!/bin/sh\necho "$@" >&2\nexit 1\n')
    with pytest.raises(DaemonNotFound, match=f"--embedded --owner {os.getpid()} --log {tmp_path}"):
        EmbeddedDaemon()


def test_the_last_words_of_a_daemon(tmp_path: Path) -> None:
    script(tmp_path / "path/kernrigd", READY.replace("signal.pause()", "raise SystemExit('ouch')"))
    daemon = EmbeddedDaemon()
    assert daemon.epitaph() == "kernrigd ended with status 1, and printed:\nouch"
    daemon.stop()


def test_a_daemon_that_ignores_sigterm_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_daemon, "_STOP_SECONDS", 0.1)
    script(tmp_path / "path/kernrigd", READY.replace("sys.exit(0)", "None"))
    daemon = EmbeddedDaemon()
    daemon.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(daemon.pid, 0)


def test_a_long_runtime_directory_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("x" * 100)))
    folder = _daemon._private_directory()
    assert len(str(folder / "s")) <= 107
    shutil.rmtree(folder)


def test_sweeping_removes_only_what_nobody_holds(tmp_path: Path) -> None:
    for name in ("crashed", "ended", "held", "new", "somebody-elses"):
        folder = tmp_path / f"kernrig-{name}"
        folder.mkdir()
        (folder / "stderr").write_text("")
        if name != "ended":
            (folder / "s.lock").write_text("")
        if name == "somebody-elses":
            (folder / "stderr").rename(folder / "notes")
        if name != "new":
            os.utime(folder, (1, 1))
    with open(tmp_path / "kernrig-held/s.lock", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        _daemon._sweep(tmp_path)
    left = sorted(path.name for path in tmp_path.glob("kernrig-*"))
    assert left == ["kernrig-held", "kernrig-new", "kernrig-somebody-elses"]
    assert (tmp_path / "kernrig-somebody-elses/notes").exists()


def test_the_parents_daemon_is_not_the_childs_to_stop(tmp_path: Path) -> None:
    script(tmp_path / "path/kernrigd")
    daemon = EmbeddedDaemon()
    daemon._pid += 1
    daemon.stop()
    assert Path(daemon.address.path).exists()
    daemon._pid -= 1
    daemon.stop()
