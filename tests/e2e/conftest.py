# SPDX-License-Identifier: Apache-2.0
"""Daemons for the tests, and the proof after each of them that nothing has leaked.

`daemon` is shared by a whole module; `start_daemon` starts one with options of its own. After every
test the daemon must be as it was before: no session, no worker but the spare one, the same
descriptors, no memfd; and nobody may have printed anything on stderr.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from kernrig.runtime import Runtime

import denominators
from harness import Daemon, wait_until


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon with default options, shared by the tests of a module."""
    running = Daemon()
    yield running
    running.stop()


@pytest.fixture
def runtime(daemon: Daemon) -> Iterator[Runtime]:
    """A session of the shared daemon."""
    with daemon.connect() as rt:
        yield rt


@pytest.fixture
def start_daemon() -> Iterator[Callable[..., Daemon]]:
    """Starts daemons with options of their own; each is checked and stopped after the test."""
    started: list[Daemon] = []

    def start(*options: str, env: dict[str, str] | None = None) -> Daemon:
        started.append(Daemon(*options, env=env))
        return started[-1]

    yield start
    for running in started:
        try:
            running.check()
        finally:
            running.stop()


@pytest.fixture(autouse=True)
def nothing_leaks(
    request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """After each test the shared daemon is as before, our own descriptors are, and nobody has
    printed anything on stderr."""
    shared: Daemon | None = None
    if "daemon" in request.fixturenames:
        shared = request.getfixturevalue("daemon")
    ours = len(os.listdir("/proc/self/fd"))
    yield
    if shared is not None:
        shared.check()
    if "may_print" not in request.keywords:
        assert capfd.readouterr().err == ""
    wait_until(
        lambda: len(os.listdir("/proc/self/fd")) <= ours + ALLOWED_DESCRIPTORS,
        "our own descriptors to be closed",
    )


# gRPC's pollers keep a few descriptors of their own between channels.
ALLOWED_DESCRIPTORS = 8


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """Shows the daemon's log where a test has failed."""
    report = yield
    if report.failed:
        for name in ("daemon", "start_daemon"):
            value = getattr(item, "funcargs", {}).get(name)
            if isinstance(value, Daemon):
                report.sections.append(("kernrigd's log", value.log()[-2500:]))
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Markers of ours; counts what is compared."""
    config.addinivalue_line("markers", "may_print: the test may print on stderr")
    config.pluginmanager.register(denominators)
