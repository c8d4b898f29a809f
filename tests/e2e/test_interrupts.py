# SPDX-License-Identifier: Apache-2.0
"""Signal handlers that raise, as Ctrl-C does, or that use the Runtime that they interrupt."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from harness import Daemon

PREAMBLE = """
    import gc, os, random, signal
    import numpy as np
    from kernrig.runtime import Runtime

    class Interrupt(Exception):
        pass

    def alarm(seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def on_alarm(number, frame):
        raise Interrupt

    signal.signal(signal.SIGALRM, on_alarm)
    generator = random.Random(7)
    rt = Runtime.get()
    op = rt.operator_registry.aten.add.out

    def work():
        n = generator.choice([1, 700, 3000, 40_000])
        a, b, c = rt.zeros(n, "f32"), rt.tensor(np.ones(n, np.float32)), rt.empty(n, "f32")
        op(a, b, out=c)
        assert (c == 1).all()
        mine = np.zeros(n, np.float32)
        op(c, np.ones(n, np.float32), out=mine)
        assert (mine == 2).all()

    def buffers():
        links = []
        for name in os.listdir(f"/proc/{rt.info.pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{rt.info.pid}/fd/{name}"))
            except OSError:
                pass
        return sum("memfd" in link for link in links)
"""

STORM = """
    before = buffers()
    hits = 0
    while hits < {hits}:
        try:
            alarm(generator.uniform(1e-5, 3e-3))
            for _ in range(20):
                work()
            alarm(0)
        except Interrupt:
            hits += 1
    gc.collect()
    for _ in range(50):
        work()
    gc.collect()
    rt._memory.flush()
    pool = rt._memory._pool
    waiting = sum(len(leases) for leases in pool._by_size.values())
    # Every region is in the table, and waits to be used again; nobody holds or has lost one.
    assert waiting == len(rt._memory._table) == buffers() - before, (
        waiting, len(rt._memory._table), buffers(), before)
    assert not rt.closed
    rt.close()
    print("right")
"""


def run(script: str, **environment: str) -> tuple[str, str]:
    """What a client prints to stdout and stderr."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as client:
        try:
            return client.communicate(timeout=120)
        finally:
            client.kill()


@pytest.mark.parametrize("is_embedded", [False, True])
def test_a_storm_of_interrupts_loses_nothing(daemon: Daemon, is_embedded: bool) -> None:
    """Neither the session nor a region, nor a descriptor of the daemon's."""
    script = PREAMBLE + STORM.replace("{hits}", "300")
    address = "" if is_embedded else daemon.address
    assert run(script, KERNRIG_ADDRESS=address) == ("right\n", "")


def test_threads_go_on_while_the_main_thread_is_interrupted(daemon: Daemon) -> None:
    script = (
        PREAMBLE
        + """
    import threading

    def call():
        a, c = np.ones(5, np.float32), rt.zeros(5, "f32")
        for n in range(400):
            op(a, a, alpha=n, out=c)
            assert (c == 1 + n).all()
            rt.empty(3000, "f32")
        ended.append(1)

    ended = []
    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        try:
            alarm(generator.uniform(1e-5, 3e-3))
            work()
            alarm(0)
        except Interrupt:
            pass
    rt.close()
    print(len(ended))
    """
    )
    assert run(script, KERNRIG_ADDRESS=daemon.address) == ("3\n", "")


def test_a_handler_may_use_the_runtime_that_it_interrupts(daemon: Daemon) -> None:
    script = (
        PREAMBLE
        + """
    calls = 0

    def on_alarm(number, frame):
        global calls
        calls += 1
        a, c = rt.tensor([1.0, 2.0], "f32"), rt.empty(2, "f32")
        op(a, np.ones(2, np.float32), out=c)
        assert c.tolist() == [2, 3]
        assert Runtime.get() is rt

    signal.signal(signal.SIGALRM, on_alarm)
    while calls < 300:
        alarm(generator.uniform(1e-5, 3e-3))
        work()
    alarm(0)
    rt.close()
    print("right")
    """
    )
    assert run(script, KERNRIG_ADDRESS=daemon.address) == ("right\n", "")


def test_a_handler_may_close_the_runtime_that_it_interrupts(daemon: Daemon) -> None:
    """And one that interrupts close() leaves it to be closed again."""
    script = (
        PREAMBLE
        + """
    from kernrig.errors import KernrigError
    rt.close()

    def on_alarm(number, frame):
        rt.close()
        raise Interrupt

    signal.signal(signal.SIGALRM, on_alarm)
    for n in range(60):
        rt = Runtime.get()
        op = rt.operator_registry.aten.add.out
        try:
            alarm(generator.uniform(1e-5, 2e-3))
            if n % 2:
                rt.empty(3000, "f32")
                rt.close()
            else:
                while True:
                    work()
        except Interrupt:
            assert rt.closed
        alarm(0)
        rt.close()
    print("right")
    """
    )
    assert run(script, KERNRIG_ADDRESS=daemon.address) == ("right\n", "")


def test_a_handler_may_ask_for_the_runtime_that_is_being_made(daemon: Daemon) -> None:
    script = (
        PREAMBLE
        + """
    found = []

    def on_alarm(number, frame):
        found.append(Runtime.get())

    signal.signal(signal.SIGALRM, on_alarm)
    for _ in range(30):
        rt.close()
        alarm(generator.uniform(1e-5, 5e-3))
        rt = Runtime.get()
        alarm(0)
        assert not rt.closed and Runtime.get() is rt
        assert all(each is rt or each.closed for each in found)
        found.clear()
    rt.close()
    print("right")
    """
    )
    assert run(script, KERNRIG_ADDRESS=daemon.address) == ("right\n", "")
