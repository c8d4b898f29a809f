# SPDX-License-Identifier: Apache-2.0
"""Kernels that fork: nothing of theirs outlives their worker."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from kernrig import errors
from kernrig.runtime import Runtime

from harness import Daemon, build_directory, descendants, is_alive, is_dead, wait_until

CHILD, ORPHAN, SHORT_ORPHAN, ORPHAN_AND_CRASH, RUNAWAY, FLOOD = range(6)


@pytest.fixture
def daemon(start_daemon: Callable[..., Daemon]) -> Daemon:
    """A daemon of each test's own: some kill it."""
    return start_daemon("--test-library", str(build_directory() / "hostile" / "forks.so"))


def fork(rt: Runtime, how: int) -> int:
    """Has the kernel fork.

    Returns:
        The process id that it has left.
    """
    out = rt.zeros(1, "f32")
    op = rt.operator_registry.test.forks.out.with_options(timeout=20)
    try:
        op(rt.tensor([float(how)], "f32"), out=out)
    finally:
        pid = int(out[0])
    return pid


def check(rt: Runtime) -> None:
    """The session goes on."""
    a, c = rt.tensor([1.0, 2.0], "f32"), rt.zeros(2, "f32")
    rt.operator_registry.aten.add.out(a, a, out=c)
    np.testing.assert_array_equal(c, [2, 4])


@pytest.mark.parametrize("how", [CHILD, ORPHAN])
def test_what_a_kernel_forks_ends_with_its_session(daemon: Daemon, how: int) -> None:
    with daemon.connect() as rt:
        pid = fork(rt, how)
        assert is_alive(pid) and pid in descendants(daemon.pid)
        check(rt)
    wait_until(partial(is_dead, pid), "the kernel's process to end")


def test_what_a_kernel_forks_ends_with_its_runner(daemon: Daemon) -> None:
    """The runner crashes; what became of it is told all the same."""
    with daemon.connect() as rt:
        out = rt.zeros(1, "f32")
        with pytest.raises(errors.KernelCrashed, match="SIGABRT"):
            rt.operator_registry.test.forks.out(
                rt.tensor([float(ORPHAN_AND_CRASH)], "f32"), out=out
            )
        assert out[0] > 1
        assert is_dead(int(out[0]))  # before the error was told
        check(rt)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_kernel_forks_ends_with_the_daemon(daemon: Daemon, number: int) -> None:
    with daemon.connect() as rt:
        pids = [fork(rt, CHILD), fork(rt, ORPHAN), *descendants(daemon.pid)]
        daemon.process.send_signal(number)
        daemon.process.wait(20)
        for pid in pids:
            wait_until(partial(is_dead, pid), "the processes below the daemon to end")


def test_orphans_that_end_are_reaped(daemon: Daemon) -> None:
    """Not even a zombie is left while the worker lives."""
    with daemon.connect() as rt:
        pids = [fork(rt, SHORT_ORPHAN) for _ in range(20)]
        for pid in pids:
            wait_until(partial(is_gone, pid), "the zombie to be reaped")
        check(rt)


def is_gone(pid: int) -> bool:
    """Whether there is not even a zombie."""
    return not Path(f"/proc/{pid}").exists()


def test_a_process_that_runs_away(daemon: Daemon) -> None:
    """It is another process each time one looks, and is caught nevertheless."""
    with daemon.connect() as rt:
        fork(rt, RUNAWAY)
        check(rt)
    wait_until(daemon.is_as_before, "everything to end")
    assert len(descendants(daemon.pid)) == 2


def test_a_runner_whose_frames_go_on_after_its_end(daemon: Daemon) -> None:
    """Its children send in its name: they are ended, and the call is."""
    with daemon.connect() as rt:
        with pytest.raises((errors.KernelTampered, errors.KernelExited), match="forks"):
            fork(rt, FLOOD)
        check(rt)
