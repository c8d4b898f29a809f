# SPDX-License-Identifier: Apache-2.0
"""Users meet kernrig as documents, as a command and as a package. These tests do what users do, in
processes of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from harness import ROOT, Daemon, descendants, wait_until

# The build that an installation finds by itself; the harness asks which one it is to start.
os.environ["KERNRIG_DAEMON"] = str(ROOT / "build" / "release" / "kernrigd")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon with kernels that misbehave."""
    options = []
    for name in ("segv", "exits", "loops", "chatters"):
        options += ["--test-library", str(ROOT / "build" / "release" / "hostile" / f"{name}.so")]
    running = Daemon(*options)
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def nothing_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a command starts ends with it, and a daemon that others keep is as before."""
    shared: Daemon | None = None
    if "daemon" in request.fixturenames:
        shared = request.getfixturevalue("daemon")
    before = set(descendants(os.getpid()))
    yield
    if shared is not None:
        shared.check()
    else:
        wait_until(lambda: set(descendants(os.getpid())) <= before, "everything started to end")
