# SPDX-License-Identifier: Apache-2.0
"""How long the first call takes from `import` on, and how much memory waits for the next."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from statistics import median

from kernrig.runtime import Runtime

from blocks import report
from harness import descendants

STARTS = 11
FIRST_CALL = """
import time
begin = time.perf_counter()
from kernrig.runtime import Runtime
rt = Runtime.get()
a = rt.tensor([1.0, 2.0], "f32")
rt.operator_registry.aten.add.out(a, a, out=a)
print(time.perf_counter() - begin)
"""


def resident(pid: int) -> float:
    """MiB of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1024


def main() -> None:
    """Prints the time, and the resident memory of the daemon and of each process of a worker."""
    times = []
    for _ in range(STARTS):
        command = [sys.executable, "-c", FIRST_CALL]
        times.append(float(subprocess.run(command, capture_output=True, check=True).stdout))
    report(
        "import to first answered call", median(times), 0.4, "s", f"median of {STARTS} processes"
    )
    with Runtime.get() as rt:
        a = rt.zeros(2, "f32")
        rt.operator_registry.aten.add.out(a, a, out=a)
        daemon = rt.info.pid
        report("idle daemon", resident(daemon), 20, "MiB", "resident")
        # A worker is a monitor and its runner; the largest pair counts.
        monitors = [pid for pid in descendants(daemon) if parent(pid) == daemon]
        workers = [[pid, *descendants(pid)] for pid in monitors]
        sizes = [[resident(pid) for pid in pids] for pids in workers]
        largest = max(sizes, key=sum)
        each = " + ".join(f"{size:.1f}" for size in largest)
        report("idle worker", sum(largest), 8, "MiB", f"resident: {each}, monitor and runner")


def parent(pid: int) -> int:
    """The parent of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


if __name__ == "__main__":
    main()
