# SPDX-License-Identifier: Apache-2.0
"""Interrupts at every line, as a signal handler that raises would cause them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType


class Interrupt(Exception):
    """What the handler raises."""


class _Trace:
    """A trace function that raises at the nth line of some modules that this thread comes to."""

    def __init__(self, line: int, files: frozenset[str]) -> None:
        self.left = line
        self.files = files

    def __call__(self, frame: FrameType, event: str, argument: object) -> object:
        if frame.f_code.co_filename not in self.files:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise Interrupt
        return self


def interrupted_at(line: int, function: Callable[[], object], *modules: ModuleType) -> bool:
    """Calls a function, and interrupts it at the nth line; whether it has so many."""
    trace = _Trace(line, frozenset(str(module.__file__) for module in modules))
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        function()
    except Interrupt:
        pass
    finally:
        sys.settrace(None)
    return trace.left <= 0
