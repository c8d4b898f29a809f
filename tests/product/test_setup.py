# SPDX-License-Identifier: Apache-2.0
"""The set-up on a fresh machine: who may not install is told what to install; what has been set up
is not set up again."""

from __future__ import annotations

import os
import subprocess

from harness import ROOT
from user import environment, run

NOBODY = 65534


def test_without_root_the_line_to_run_is_printed() -> None:
    missing = "kernrig-has-no-such-package"
    is_root = os.getuid() == 0
    # By its input: nobody need not be able to read the checkout.
    with open(ROOT / "tools" / "setup.sh") as script:
        result = subprocess.run(
            ["sh", "-s", "packages", "make", missing],
            stdin=script,
            env=environment(),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            user=NOBODY if is_root else None,
            extra_groups=[] if is_root else None,
        )
    assert (result.returncode, result.stdout) == (2, "")
    line = f"  sudo apt-get install --no-install-recommends {missing}\n"
    assert result.stderr.endswith(line)


def test_what_is_set_up_is_not_set_up_again() -> None:
    command = ("make", "--no-print-directory", "all", "client", "build/.packages-build")
    assert run(*command, cwd=ROOT).returncode == 0
    again = run(*command, cwd=ROOT)
    assert again.returncode == 0
    lines = again.stdout.splitlines()
    assert len(lines) == 3 and all(line.startswith("make: ") for line in lines), again.stdout
    assert all("Nothing to be done" in line or "is up to date" in line for line in lines)
    planned = run("make", "--dry-run", "--no-print-directory", ".venv/.ready", cwd=ROOT)
    assert "setup.sh" not in planned.stdout
