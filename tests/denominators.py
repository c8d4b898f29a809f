# SPDX-License-Identifier: Apache-2.0
"""How many things were compared, so that nobody takes few comparisons for many.

A comparison that a test has made is counted by operator and dtype, and printed at the end with what
was left out and why. Tests run in several processes (pytest-xdist); each hands its counts to the
one that prints. A conftest registers this as a plugin.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

COMPARED: Counter[tuple[str, str]] = Counter()
LEFT_OUT: Counter[tuple[str, str]] = Counter()
NOTES: list[str] = []


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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a process that runs tests for another one: hands the counts over."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["compared"] = [(*key, count) for key, count in COMPARED.items()]
        output["left_out"] = [(*key, count) for key, count in LEFT_OUT.items()]
        output["notes"] = NOTES


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """In the one that prints: takes them. A process that died has none, and its test has failed."""
    output = getattr(node, "workeroutput", {})
    for name, dtype, count in output.get("compared", []):
        COMPARED[name, dtype] += count
    for name, why, count in output.get("left_out", []):
        LEFT_OUT[name, why] += count
    NOTES.extend(output.get("notes", []))


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
