# SPDX-License-Identifier: Apache-2.0
"""What happens between calls: which may begin when another was given up, failed or crashed, and
what becomes of the workers."""

from __future__ import annotations

import mmap
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernrig import errors
from kernrig._proto import execute_pb2

import raw
from harness import Daemon, build_directory, descendants, wait_until

Start = Callable[..., Daemon]
TRIALS = 100
SIDE = 1500
MATRIX = 4 * SIDE * SIDE  # bytes, in float32


def library(name: str) -> tuple[str, str]:
    """The option that loads a test library."""
    folder = "kernels" if name == "behaves" else "hostile"
    return "--test-library", str(build_directory() / folder / f"{name}.so")


def begin(stub: raw.Stub, session: bytes, call: execute_pb2.Call) -> Any:
    """An Execute under way."""
    request = execute_pb2.ExecuteRequest(session=session, calls=[call])
    return stub.begin("Execute", request.SerializeToString())


def test_no_call_begins_while_a_cancelled_one_may_still_write(start_daemon: Start) -> None:
    """Another library's kernel, in another worker, with the same output."""
    daemon = start_daemon(*library("scribbles"))
    with raw.bound_session(daemon.socket) as (stub, session, local):
        ones, shared = stub.create(session, 4096, 4096)
        answer, _, (descriptor,) = raw.exchange(
            local, raw.message(raw.FETCH, shared.to_bytes(8, "little"))
        )
        assert answer == raw.FETCHED
        out = np.frombuffer(mmap.mmap(descriptor, 4096), np.float32)
        os.close(descriptor)
        arguments = [raw.tensor(ones, 4), raw.tensor(shared, 4, name="out")]
        scribbling = execute_pb2.Call(operator="test::scribbles.out", arguments=arguments)
        quiet = execute_pb2.Call(operator="aten::relu.out", arguments=arguments)
        stub.execute(session, quiet)
        for _ in range(TRIALS):
            out[:] = 0
            under_way = begin(stub, session, scribbling)
            wait_until(lambda: bool(out[0] != 0), "the kernel to write")
            seen = daemon.log().count("execute.cancelled")
            under_way.cancel()
            # Without a pause, which would be what the kernel needs to end.
            while daemon.log().count("execute.cancelled") == seen:
                assert under_way.cancelled()
            (result,) = stub.execute(session, quiet)
            assert result.WhichOneof("outcome") == "outputs"
            assert {float(out[0]) for _ in range(1000)} == {0.0}


def test_a_thousand_calls_that_cannot_be_sent(start_daemon: Start) -> None:
    """They fail one after the other, not one within the other: the stack stays as it is."""
    daemon = start_daemon(*("--limit", "frame_bytes=4096", "--limit", "queue=100"))
    with raw.bound_session(daemon.socket) as (stub, session, _):
        (handle,) = stub.create(session, 4 * MATRIX)
        tensors = [execute_pb2.Tensor(buffer=handle, dtype=6, sizes=[1]) for _ in range(100)]
        items = execute_pb2.List(items=[execute_pb2.Value(tensor=each) for each in tensors])
        big = execute_pb2.Call(
            operator="aten::cat.out",
            arguments=[
                execute_pb2.Argument(list=items),
                raw.tensor(handle, 100, offset=4096, name="out"),
            ],
        )
        # Multiplies matrices for a while; the others wait in its lane, and are begun one by one.
        matrices = [raw.tensor(handle, SIDE, SIDE, offset=i * MATRIX) for i in range(3)]
        out = raw.tensor(handle, SIDE, SIDE, offset=3 * MATRIX, name="out")
        slow = execute_pb2.Call(operator="aten::addmm.out", arguments=[*matrices, out])
        under_way = begin(stub, session, slow)
        results: list[str] = []

        def run() -> None:
            for result in stub.execute(session, *[big] * 256, timeout=100):
                results.append(result.fault.message)

        threads = [threading.Thread(target=run) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        under_way.result()
        assert len(results) == 40 * 256
        assert all("'frame_bytes' of 4096" in message for message in results)


def test_a_crash_gives_its_place_among_the_workers_back(start_daemon: Start) -> None:
    daemon = start_daemon(*library("segv"), *("--limit", "workers=1"))
    with daemon.connect() as rt:
        a, out = rt.zeros(2, "f32"), rt.zeros(2, "f32")
        for _ in range(5):
            with pytest.raises(errors.KernelCrashed):
                rt.operator_registry.test.segv.out(a, out=out)
        rt.operator_registry.aten.add.out(a, a, out=out)


def test_a_spare_worker_that_was_killed_is_replaced(start_daemon: Start) -> None:
    daemon = start_daemon()
    spare = [pid for pid in descendants(daemon.pid) if parent(pid) == daemon.pid]
    assert len(spare) == 1
    os.kill(spare[0], signal.SIGKILL)
    wait_until(lambda: "spare.died" in daemon.log(), "the daemon to hear of its end")
    with daemon.connect() as rt:
        a = rt.zeros(2, "f32")
        rt.operator_registry.aten.add.out(a, a, out=a)
        wait_until(lambda: len(descendants(daemon.pid)) == 4, "a worker and a spare one")


def parent(pid: int) -> int:
    """The parent of a process."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unasked", "returned KR_E_RESIZE without having asked for a shape"),
        ("returns_bool", "returned a value of another type than its schema says"),
        ("returns_nothing", "has not set a value that its schema returns"),
    ],
)
def test_mistakes_of_a_kernel_are_named(start_daemon: Start, name: str, words: str) -> None:
    daemon = start_daemon(*library("mistakes"))
    with daemon.connect() as rt:
        a, out = rt.zeros(2, "f32"), rt.zeros(2, "f32")
        op = rt.operator_registry.get_kernel(f"test::{name}.out")
        with pytest.raises(errors.InvalidArgument, match=words) as info:
            op(a, out=out)
        assert info.value.kernel == name and f"test::{name}.out" in str(info.value)
        assert "called with self=float32[2]" in str(info.value)


def test_a_kernel_that_does_not_hear_that_there_is_no_room(start_daemon: Start) -> None:
    """It is its output that has the wrong shape, and nobody has lied."""
    daemon = start_daemon(*library("mistakes"))
    with daemon.connect() as rt:
        a, out = rt.zeros(2, "f32"), np.zeros(2, np.float32)
        with pytest.raises(errors.ResizeError, match=r"'out' has shape \[2\].*\[100\]"):
            rt.operator_registry.test.deaf.out(a, out=out)


def test_a_text_that_no_call_can_carry(start_daemon: Start) -> None:
    daemon = start_daemon(*library("behaves"), *("--limit", "list_items=10000"))
    with daemon.connect() as rt:
        a, out = rt.zeros(2, "f32"), np.zeros(300, np.uint8)
        op = rt.operator_registry.test.describe.out
        with pytest.raises(errors.LimitExceeded, match="a text of 70000 bytes"):
            op(a, None, [a], [None], s="x" * 70000, out=out)
        with pytest.raises(errors.LimitExceeded, match="'list_items' of 4096"):
            op(a, None, [a], [None], ints=[1] * 5000, out=out)
