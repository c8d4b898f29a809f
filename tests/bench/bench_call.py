# SPDX-License-Identifier: Apache-2.0
"""What a call costs beyond its kernel: op(a, b, out=c) on 2x2, beside an RPC that does nothing.

Both go through the daemon's thread of libuv and through the same client. `--pin` keeps client,
daemon and worker on one core.
"""

from __future__ import annotations

import argparse
import os
from statistics import median

from kernrig.runtime import Runtime

from blocks import BLOCKS, interleaved, report

CALLS = 200


def main() -> None:
    """Prints the ratio, and both in microseconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pin", action="store_true", help="everything on one core")
    pin = parser.parse_args().pin
    if pin:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # inherited by what is started
    with Runtime.get() as rt:
        op = rt.operator_registry.aten.add.out
        a, b, c = (rt.tensor([[1, 2], [3, 4]], "f32") for _ in range(3))
        calls, infos = interleaved(CALLS, lambda: op(a, b, out=c), rt._server_info)
        kernel = median([op.try_call(a, b, out=c).kernel_ns for _ in range(CALLS)]) / 1e9
    ratio = median([call / info for call, info in zip(calls, infos, strict=True)])
    report(
        f"add.out 2x2 / ServerInfo, {'one core' if pin else 'default'}",
        ratio,
        2.5,
        "x",
        f"{median(calls) * 1e6:.0f} µs / {median(infos) * 1e6:.0f} µs, "
        f"{kernel * 1e6:.1f} µs of it in the kernel; {BLOCKS} blocks of {CALLS}",
    )


if __name__ == "__main__":
    main()
