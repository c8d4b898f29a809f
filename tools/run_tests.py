#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_tests.py COMMAND…: runs test programs, prints one line for each, all output of a failing one.

A program that prints nothing, or asserts nothing, would pass unseen: cmocka's summary must say how
many tests ran, and a replay how many inputs. The total is printed, so that it can be compared.
"""

import os
import re
import shlex
import subprocess
import sys
import time

COUNT = re.compile(rb"(\d+) test\(s\) run|(\d+) inputs? replayed")


def run(command: str) -> tuple[int, bool]:
    """The number of tests in a program, and whether all passed."""
    environment = dict(os.environ)
    environment.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0")
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    begin = time.monotonic()
    result = subprocess.run(
        shlex.split(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        timeout=600,
        check=False,
    )
    seconds = time.monotonic() - begin
    count = sum(int(a or b) for a, b in COUNT.findall(result.stdout))
    passed = result.returncode == 0 and count > 0
    name = command.split()[0].split("/tests/")[-1]
    print(f"  {'ok  ' if passed else 'FAIL'}  {name}: {count} in {seconds:.1f} s", flush=True)
    if not passed:
        sys.stdout.buffer.write(result.stdout)
        print(f"  exit code {result.returncode}, {count} tests", flush=True)
    return count, passed


def main() -> int:
    if len(sys.argv) < 2:
        print("run_tests.py: no test programs were given", file=sys.stderr)
        return 2
    results = [run(command) for command in sys.argv[1:]]
    failed = sum(not passed for _, passed in results)
    total = sum(count for count, _ in results)
    print(f"  {len(results)} programs, {total} tests, {failed} programs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
