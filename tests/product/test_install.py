# SPDX-License-Identifier: Apache-2.0
"""`pip install ./client/python` into an environment of the user's, from a clone: it finds the
clone's daemon by the list that README gives, and says where it has looked if there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from harness import ROOT
from user import run

PROGRAM = """\
import sys
import numpy as np
from kernrig.runtime import Runtime
a = np.ones(3, np.float32)
out = np.zeros(3, np.float32)
with Runtime.get() as rt:
    rt.operator_registry.aten.add.out(a, a, out=out)
assert out.tolist() == [2, 2, 2]
print("torch" in sys.modules, sys.modules["kernrig"].__file__)
"""


class Installation(NamedTuple):
    """A clone, and an environment that its client was installed into."""

    clone: Path
    python: Path

    @property
    def daemon(self) -> Path:
        """The clone's daemon."""
        return self.clone / "build" / "release" / "kernrigd"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A clone with what has not been committed yet, and what `make` has built here."""
    folder = tmp_path_factory.mktemp("installed")
    clone = folder / "clone"
    names = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in names.stdout.splitlines():
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    built = Path("build", "release")
    for name in ("kernrigd", "kernrig-worker", "lib"):
        (clone / built).mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if name == "lib" else shutil.copy2
        copy(ROOT / built / name, clone / built / name)
    python = folder / "environment" / "bin" / "python"
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder / "environment"], check=True)
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir")
    result = run(*pip, "install", "./client/python", cwd=clone)
    assert result.returncode == 0, result.stderr
    yield Installation(clone, python)
    shutil.rmtree(folder)


def test_an_installation_works_away_from_its_clone(installed: Installation, tmp_path: Path) -> None:
    result = run(installed.python, "-c", PROGRAM, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    has_torch, where = result.stdout.split()
    assert has_torch == "False"
    assert Path(where).is_relative_to(installed.python.parents[1])
    # It has left nothing in the clone but what git ignores.
    assert not list(installed.clone.glob("client/python/**/*.egg-info"))


def test_the_command_is_installed(installed: Installation, tmp_path: Path) -> None:
    command = installed.python.with_name("kernrig")
    shown = run(command, "call", "aten::relu.out", "tensor:[-1,2]:f32", cwd=tmp_path)
    assert shown.returncode == 0 and shown.stdout.endswith("[0., 2.]\n")
    version = run(command, "--version", cwd=tmp_path)
    assert version.stdout.strip().endswith((ROOT / "VERSION").read_text().strip())
    module = run(installed.python, "-m", "kernrig", "ops", "add", cwd=tmp_path)
    assert module.returncode == 0


def test_the_places_of_a_daemon_are_searched_in_order(
    installed: Installation, tmp_path: Path
) -> None:
    def runs(**changes: str) -> subprocess.CompletedProcess[str]:
        return run(installed.python, "-c", PROGRAM, cwd=tmp_path, changes=changes)

    moved = tmp_path / "elsewhere"
    shutil.copytree(installed.daemon.parent, moved)
    aside = installed.daemon.with_name("kernrigd.aside")
    installed.daemon.rename(aside)
    try:
        nothing = runs()
        assert nothing.returncode == 1
        last = nothing.stderr.strip().splitlines()[-1]
        assert "KERNRIG_DAEMON" in nothing.stderr and "PATH" in nothing.stderr
        assert str(installed.daemon) in nothing.stderr and "_bin" in nothing.stderr, last
        assert runs(PATH=f"{moved}:{os.environ['PATH']}").returncode == 0
        assert runs(KERNRIG_DAEMON=str(moved / "kernrigd")).returncode == 0
        # What is named and not there is an error, and never passed over for another one.
        wrong = runs(KERNRIG_DAEMON=str(tmp_path / "none"), PATH=f"{moved}:{os.environ['PATH']}")
        assert wrong.returncode == 1 and str(tmp_path / "none") in wrong.stderr
    finally:
        aside.rename(installed.daemon)


def test_a_wheel_carries_what_it_needs(installed: Installation, tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir")
    made = run(*pip, "wheel", "--no-deps", "-w", tmp_path, "./client/python", cwd=installed.clone)
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("kernrig-*.whl")
    names = run(sys.executable, "-m", "zipfile", "-l", wheel, cwd=tmp_path).stdout
    for name in ("kernrig/py.typed", "kernrig/_status.py", "kernrig/_proto/execute_pb2.py"):
        assert name in names
    assert "tests/" not in names
