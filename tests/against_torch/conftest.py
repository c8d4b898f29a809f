# SPDX-License-Identifier: Apache-2.0
"""Tests that need PyTorch: one daemon and one session, and the counts of what was compared.

A comparison that a test has made is counted by operator and dtype and printed at the end, with what
was left out and why, so that nobody takes few comparisons for many.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from kernrig.runtime import Runtime

from harness import Daemon

COMPARED: Counter[tuple[str, str]] = Counter()
LEFT_OUT: Counter[tuple[str, str]] = Counter()
NOTES: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `make full` adds."""
    parser.addoption("--full", action="store_true", help="every sample of every OpInfo, in full")


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    """A daemon with default options."""
    running = Daemon()
    yield running
    running.check()
    running.stop()


@pytest.fixture(scope="session")
def rt(daemon: Daemon) -> Iterator[Runtime]:
    """A session of it."""
    with daemon.connect() as runtime:
        yield runtime


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PyTorch warns of what its own samples do; that is not the matter here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch")
        warnings.filterwarnings("ignore", message="An output with one or more elements was resized")
        yield


@pytest.fixture
def compared() -> Counter[tuple[str, str]]:
    """Comparisons made, by operator and dtype."""
    return COMPARED


@pytest.fixture
def left_out() -> Counter[tuple[str, str]]:
    """Calls that were not compared, by operator and reason."""
    return LEFT_OUT


@pytest.fixture
def notes() -> list[str]:
    """Other denominators, a line each."""
    return NOTES


class Gatherer:
    """With xdist several processes compare; each hands its counts to the one that prints."""

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a process that compares."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["compared"] = [(*key, count) for key, count in COMPARED.items()]
            output["left_out"] = [(*key, count) for key, count in LEFT_OUT.items()]
            output["notes"] = NOTES

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """In the one that prints."""
        for name, dtype, count in node.workeroutput["compared"]:
            COMPARED[name, dtype] += count
        for name, why, count in node.workeroutput["left_out"]:
            LEFT_OUT[name, why] += count
        NOTES.extend(node.workeroutput["notes"])


def pytest_configure(config: pytest.Config) -> None:
    """Counts are gathered in the process that prints them."""
    config.pluginmanager.register(Gatherer())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the denominators."""
    write = terminalreporter.write_line
    if COMPARED:
        dtypes = sorted({dtype for _, dtype in COMPARED})
        write("")
        write("comparisons with PyTorch, by operator and dtype")
        write(f"{'':34}{'all':>8}" + "".join(f"{dtype:>9}" for dtype in dtypes))
        for name in sorted({name for name, _ in COMPARED}):
            counts = [COMPARED[name, dtype] for dtype in dtypes]
            write(f"{name:34}{sum(counts):8}" + "".join(f"{count:9}" for count in counts))
        write(f"{'all':34}{sum(COMPARED.values()):8}")
    for (name, why), count in sorted(LEFT_OUT.items()):
        write(f"left out: {name}: {count} calls: {why}")
    for note in NOTES:
        write(note)
