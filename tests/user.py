# SPDX-License-Identifier: Apache-2.0
"""How a user runs a command: the environment's programs first, nothing of kernrig's set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# Of the make and the pytest that run these tests, and no part of what is tested.
_OURS = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PYTHONPATH", "GRPC_VERBOSITY")


def environment(**changes: str) -> dict[str, str]:
    """A user's variables, with changes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OURS and not name.startswith(("KERNRIG", "PYTEST", "TSAN", "ASAN"))
    }
    kept["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"
    return {**kept, **changes}


def run(
    *command: str | Path,
    cwd: Path,
    changes: Mapping[str, str] | None = None,
    merged: bool = False,
    patience: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end.

    Args:
        command: the program and its arguments.
        cwd: where.
        changes: variables.
        merged: whether stderr is read together with stdout.
        patience: seconds that it may take.
    """
    return subprocess.run(
        [str(each) for each in command],
        env=environment(**(changes or {})),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merged else subprocess.PIPE,
        text=True,
        timeout=patience,
        check=False,
    )
