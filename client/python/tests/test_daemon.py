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
from tests.interrupt import interrupted_at

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
    assert list(tmp_path.glob("kernrigd-*")) == []


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


def test_last_words_that_somebody_has_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    script(tmp_path / "path/kernrigd")
    daemon = EmbeddedDaemon()
    shutil.rmtree(Path(daemon.address.path).parent)
    os.kill(daemon.pid, signal.SIGKILL)
    assert daemon.epitaph() == "kernrigd was killed by signal 9"
    daemon.stop()
    remove = '#!/bin/sh\nrm "${2%/s}/stderr"\nexit 3\n'
    script(tmp_path / "path/kernrigd", remove)
    with pytest.raises(DaemonNotFound, match="it ended; its exit status is 3"):
        EmbeddedDaemon()


def test_a_daemon_that_somebody_else_has_waited_for(tmp_path: Path) -> None:
    script(tmp_path / "path/kernrigd")
    daemon = EmbeddedDaemon()
    os.kill(daemon.pid, signal.SIGKILL)
    os.waitpid(daemon.pid, 0)
    assert daemon.epitaph() == "kernrigd has ended"
    daemon.stop()


def test_waiting_may_be_interrupted_at_any_line(tmp_path: Path) -> None:
    """Afterwards stop() still ends it."""
    script(tmp_path / "path/kernrigd")
    for last in range(1, 40):
        daemon = EmbeddedDaemon()
        os.kill(daemon.pid, signal.SIGKILL)
        has_so_many = interrupted_at(last, daemon.epitaph, _daemon)
        daemon.stop()
        with pytest.raises(ProcessLookupError):
            os.kill(daemon.pid, 0)
        if not has_so_many:
            return
    raise AssertionError("epitaph() has more lines than this test knows")


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


OURS = ("embedded-by-kernrig", "s", "s.lock", "stderr")


def old_folder(path: Path, *names: str) -> Path:
    path.mkdir()
    for name in names:
        (path / name).write_text("")
    os.utime(path, (1, 1))
    return path


def test_sweeping_removes_what_daemons_have_left(tmp_path: Path) -> None:
    old_folder(tmp_path / "kernrigd-embedded-crashed", *OURS)
    held = old_folder(tmp_path / "kernrigd-embedded-held", *OURS)
    new = old_folder(tmp_path / "kernrigd-embedded-new", *OURS)
    os.utime(new)
    with open(held / "s.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _daemon._sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == [held, new]
    assert sorted(path.name for path in held.iterdir()) == list(OURS)


def test_sweeping_touches_nothing_that_may_be_somebody_elses(tmp_path: Path) -> None:
    prefix = "kernrigd-embedded-"
    folders = [
        old_folder(tmp_path / "kernrig-experiments", *OURS),
        old_folder(tmp_path / f"{prefix}no-mark", "s", "s.lock", "stderr"),
        old_folder(tmp_path / f"{prefix}no-lock", "embedded-by-kernrig", "s", "stderr"),
        old_folder(tmp_path / f"{prefix}more", *OURS, "notes"),
    ]
    linked = old_folder(tmp_path / f"{prefix}linked", "embedded-by-kernrig", "s", "stderr")
    (linked / "s.lock").symlink_to(tmp_path / "s.lock")
    piped = old_folder(tmp_path / f"{prefix}piped", "embedded-by-kernrig", "s", "stderr")
    os.mkfifo(piped / "s.lock")  # opening it would wait for a writer
    elsewhere = old_folder(tmp_path / "elsewhere", *OURS)
    link = tmp_path / f"{prefix}link"
    link.symlink_to(elsewhere)
    folders += [linked, piped, elsewhere]
    for folder in folders:
        os.utime(folder, (1, 1))
    before = {folder: sorted(folder.iterdir()) for folder in folders}
    _daemon._sweep(tmp_path)
    assert {folder: sorted(folder.iterdir()) for folder in folders} == before
    assert link.is_symlink()


def test_a_folder_of_a_killed_owner_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    script(
        tmp_path / "path/kernrigd",
        READY.replace('open(options["--socket"]', "open(lock").replace(
            "options =", "lock = sys.argv[2] + '.lock'\noptions ="
        ),
    )
    daemon = EmbeddedDaemon()
    folder = Path(daemon.address.path).parent
    os.utime(folder, (1, 1))
    _daemon._sweep(tmp_path)
    assert not folder.exists()
    daemon.stop()


def test_the_parents_daemon_is_not_the_childs_to_stop(tmp_path: Path) -> None:
    script(tmp_path / "path/kernrigd")
    daemon = EmbeddedDaemon()
    daemon._pid += 1
    daemon.stop()
    assert Path(daemon.address.path).exists()
    daemon._pid -= 1
    daemon.stop()
