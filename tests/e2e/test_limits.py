# SPDX-License-Identifier: Apache-2.0
"""Each limit of server/base/limits.def is reached by a test, and its error names it.

Where a test elsewhere reaches a limit, the table at the end says which.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import grpc
import numpy as np
import pytest
from kernrig import errors
from kernrig._proto import execute_pb2
from kernrig.runtime import Runtime

import raw
from harness import ROOT, Daemon, DaemonFailed, build_directory, wait_until

Start = Callable[..., Daemon]


def hostile(name: str) -> list[str]:
    """Options that load one hostile library."""
    return ["--test-library", str(build_directory() / "hostile" / f"{name}.so")]


def test_sessions(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "sessions=2")
    expected = pytest.raises(errors.LimitExceeded, match=r"'sessions'.*--limit sessions=N")
    with daemon.connect(), daemon.connect(), expected:
        daemon.connect()
    wait_until(daemon.is_as_before, "the sessions to end")
    daemon.connect().close()


def test_connections(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "connections=8")
    opened = [raw.connect(daemon.socket) for _ in range(8)]
    with raw.connect(daemon.socket) as ninth:
        assert raw.is_closed(ninth)
    for connection in opened:
        connection.close()
    wait_until(daemon.is_as_before, "the places to be free again")
    daemon.connect().close()


def test_buffers(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "buffers=3")
    with daemon.connect() as rt:
        held = [rt.empty(1, "f32") for _ in range(3)]
        with pytest.raises(errors.LimitExceeded, match="'buffers' of 3, of which 3"):
            rt.empty(1, "f32")
        del held
        rt.empty(1, "f32")  # what is freed can be had again
    with raw.bound_session(daemon.socket) as (stub, session, _):
        with pytest.raises(grpc.RpcError) as info:
            stub.create(session, 1, 1, 1, 1)
        assert raw.status_of(info.value) == errors.LimitExceeded.status
        assert len(stub.create(session, 1, 1, 1)) == 3  # all or none: none was kept before


def test_total_buffers(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "total_buffers=3")
    with daemon.connect() as one, daemon.connect() as two:
        held = [one.empty(1, "f32"), one.empty(1, "f32"), two.empty(1, "f32")]
        with pytest.raises(errors.LimitExceeded, match="'total_buffers' of 3, of which 3"):
            two.empty(1, "f32")
        del held[0]
        one.empty(1, "f32")  # what is freed can be had again


def test_buffers_leave_descriptors_for_others(
    start_daemon: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system allows few descriptors, one client takes all the buffers there are: another
    one connects, and has its buffers when there are some again."""
    few = tmp_path / "kernrigd"
    few.write_text(f'#!/bin/sh\nulimit -n 400\nexec {os.environ["KERNRIG_DAEMON"]} "$@"\n')
    few.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("KERNRIG_DAEMON", str(few))
        daemon = start_daemon()
    with raw.bound_session(daemon.socket) as (stub, session, _):
        made: list[int] = []
        with pytest.raises(grpc.RpcError) as info:
            while len(made) < 400:
                made += stub.create(session, 1)
        assert raw.status_of(info.value) == errors.LimitExceeded.status
        assert "'total_buffers' of 100, of which 100" in raw.details(info.value)
        others = [raw.connect(daemon.socket) for _ in range(50)]
        with daemon.connect() as rt:
            assert rt.info.limits["total_buffers"].value == 100
            stub.free(session, *made[:10])
            a = rt.zeros(2, "f32")
            rt.operator_registry.aten.add.out(a, a, out=a)
        for connection in others:
            connection.close()


def test_bytes(start_daemon: Start) -> None:
    daemon = start_daemon(
        *("--limit", "buffer_bytes=65536", "--limit", "session_bytes=131072"),
        *("--limit", "total_bytes=196608"),
    )
    with daemon.connect() as one, daemon.connect() as two:
        with pytest.raises(errors.LimitExceeded, match="'buffer_bytes' of 65536"):
            one.empty(65537, "u8")
        held = [one.empty(65536, "u8") for _ in range(2)]
        with pytest.raises(errors.LimitExceeded, match="'session_bytes' of 131072"):
            one.empty(1, "u8")
        held.append(two.empty(65536, "u8"))
        with pytest.raises(errors.LimitExceeded, match="'total_bytes' of 196608"):
            two.empty(1, "u8")


def sleeping(stub: raw.Stub, session: bytes) -> execute_pb2.Call:
    """A call that ends at its limit, a second."""
    (handle,) = stub.create(session, 4096)
    return execute_pb2.Call(
        operator="test::sleeps.out",
        arguments=[raw.tensor(handle, 2), raw.tensor(handle, 2, offset=64, name="out")],
        timeout_us=1_000_000,
    )


def test_queue(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "queue=2", *hostile("sleeps"))
    with raw.bound_session(daemon.socket) as (stub, session, _):
        call = sleeping(stub, session)
        outcomes: list[object] = []

        def run() -> None:
            outcomes.append(stub.execute(session, call)[0].fault.status)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        refused: list[int] = []

        def is_refused() -> bool:
            try:
                stub.execute(session, execute_pb2.Call(operator="aten::nope"))
            except grpc.RpcError as error:
                refused.append(raw.status_of(error))
                assert "'queue'" in raw.details(error)
                assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            return bool(refused)

        wait_until(is_refused, "the queue to be full")
        assert refused == [errors.SessionBusy.status]
        for thread in threads:
            thread.join()
        assert outcomes == [errors.KernelTimeout.status] * 2


def test_rpcs(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "rpcs=1", *hostile("sleeps"))
    with raw.bound_session(daemon.socket) as (stub, session, _):
        call = sleeping(stub, session)
        thread = threading.Thread(target=lambda: stub.execute(session, call))
        thread.start()
        refused: list[int] = []

        def is_refused() -> bool:
            try:
                stub.server_info()
            except grpc.RpcError as error:
                refused.append(raw.status_of(error))
                assert "'rpcs'" in raw.details(error)
            return bool(refused)

        wait_until(is_refused, "the RPCs to be at their limit")
        assert refused == [errors.LimitExceeded.status]
        with raw.stub(daemon.socket) as other:
            other.server_info()  # a connection that has none under way has one
        thread.join()
        stub.server_info()


def test_one_client_does_not_lock_out_others(start_daemon: Start) -> None:
    """Two sessions on two connections fill all places with Executes that wait."""
    daemon = start_daemon("--limit", "rpcs=64", "--limit", "queue=64", *hostile("sleeps"))
    with (
        raw.bound_session(daemon.socket) as (one, first, _),
        raw.bound_session(daemon.socket) as (two, second, _),
    ):
        waiting = []
        for stub, session in ((one, first), (two, second)):
            (handle,) = stub.create(session, 4096)
            call = execute_pb2.Call(
                operator="test::sleeps.out",
                arguments=[raw.tensor(handle, 2), raw.tensor(handle, 2, offset=64, name="out")],
                timeout_us=60_000_000,
            )
            request = execute_pb2.ExecuteRequest(session=session, calls=[call])
            data = request.SerializeToString()
            waiting += [stub.begin("Execute", data) for _ in range(60)]
        wait_until(lambda: any(future.done() for future in waiting), "the places to be taken")
        with pytest.raises(grpc.RpcError, match="'rpcs' is 64"):
            one.server_info()
        with daemon.connect() as rt:
            a = rt.zeros(2, "f32")
            for _ in range(10):
                rt.operator_registry.aten.add.out(a, a, out=a)
        for future in waiting:
            future.cancel()


def test_streams(start_daemon: Start) -> None:
    """Each connection has its own; they take no RPC's place."""
    daemon = start_daemon("--limit", "streams=2", "--limit", "rpcs=1")
    with raw.stub(daemon.socket) as stub, raw.stub(daemon.socket) as other:
        watches = []
        for each in (stub, other):
            for _ in range(2):
                watches.append(each.watch_health())
                assert next(watches[-1]) == b"\x08\x01"  # SERVING
            with pytest.raises(grpc.RpcError) as info:
                next(each.watch_health())
            assert info.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "the limit 'streams' is 2" in raw.details(info.value)
        stub.server_info()
        for watch in watches:
            watch.cancel()

        def is_taken() -> bool:
            watch = stub.watch_health()
            try:
                return bool(next(watch))
            except grpc.RpcError:
                return False
            finally:
                watch.cancel()

        wait_until(is_taken, "the streams to be over")


def test_calls(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "calls=3")
    with raw.bound_session(daemon.socket) as (stub, session, _):
        assert len(stub.execute(session, *[execute_pb2.Call(operator="x")] * 3)) == 3
        with pytest.raises(grpc.RpcError) as info:
            stub.execute(session, *[execute_pb2.Call(operator="x")] * 4)
        assert raw.status_of(info.value) == errors.LimitExceeded.status
        assert "'calls'" in raw.details(info.value)


def test_workers(start_daemon: Start) -> None:
    """A stock worker takes the only place, and the spare one none; another library finds none."""
    daemon = start_daemon("--limit", "workers=1", *hostile("sleeps"))
    with daemon.connect() as rt:
        a = rt.zeros(2, "f32")
        rt.operator_registry.aten.add.out(a, a, out=a)
        with pytest.raises(errors.LimitExceeded, match="'workers'"):
            rt.operator_registry.test.sleeps.out(a, out=rt.zeros(2, "f32"))
        rt.operator_registry.aten.add.out(a, a, out=a)


def test_message_bytes(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "message_bytes=1000")
    with raw.bound_session(daemon.socket) as (stub, session, _):
        with pytest.raises(grpc.RpcError) as info:
            stub.execute(session, execute_pb2.Call(operator="x" * 1000))
        assert info.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_decoded_bytes(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "decoded_bytes=20000")
    with raw.bound_session(daemon.socket) as (stub, session, _):
        with pytest.raises(grpc.RpcError) as info:
            stub.execute(session, *[execute_pb2.Call(operator="x" * 100)] * 100)
        assert "'decoded_bytes' of 20000" in raw.details(info.value)


def test_calls_that_have_run_are_answered(start_daemon: Start) -> None:
    """Wherever the memory of a request ends: a call that has written its output is no refusal."""
    daemon = start_daemon("--limit", "decoded_bytes=20000")
    with raw.bound_session(daemon.socket) as (stub, session, connection):
        (handle,) = stub.create(session, 4096)
        fetch = raw.message(raw.FETCH, struct.pack("<Q", handle))
        _, _, (fd,) = raw.exchange(connection, fetch)
        with mmap.mmap(fd, 4096) as memory:
            os.close(fd)
            floats = np.frombuffer(memory, np.float32)
            floats[0] = 1
            seen = set()
            for n_calls in range(1, 40):
                for length in range(0, 400, 16):  # moves the end in small steps
                    floats[16:] = 0
                    calls = [
                        raw.add(*[raw.tensor(handle, 1, offset=4 * o) for o in (0, 0, 16 + n)])
                        for n in range(n_calls)
                    ]
                    calls[-1].provider = "x" * length
                    try:
                        results = stub.execute(session, *calls)
                    except grpc.RpcError as error:
                        assert "memory" in raw.details(error) or "decode" in raw.details(error)
                        assert not floats[16:].any()
                        seen.add("refused")
                        continue
                    assert len(results) == n_calls
                    for n, result in enumerate(results):
                        if not result.HasField("fault"):
                            assert floats[16 + n] == 2
                            seen.add("ran")
                        else:
                            seen.add("fault")
            assert seen == {"refused", "ran", "fault"}
            del floats


def test_tensors_items_frames_and_timeouts(start_daemon: Start) -> None:
    daemon = start_daemon(
        *("--limit", "tensors=4", "--limit", "list_items=3", "--limit", "timeout_ms=70000"),
    )
    with daemon.connect() as rt:
        one, out = rt.zeros(1, "f32"), rt.empty(3, "f32")
        cat = rt.operator_registry.aten.cat.out
        cat([one] * 3, out=out)
        with pytest.raises(errors.LimitExceeded, match="'list_items' of 3"):
            cat([one] * 4, out=out)
        with pytest.raises(errors.LimitExceeded, match="'timeout_ms' of 70000"):
            cat.with_options(timeout=71)([one], out=out)
    small = start_daemon("--limit", "tensors=2")
    with small.connect() as rt:
        a = rt.zeros(1, "f32")
        with pytest.raises(errors.LimitExceeded, match=r"3 tensors.*'tensors' of 2"):
            rt.operator_registry.aten.add.out(a, a, out=rt.zeros(1, "f32"))


def test_frame_bytes(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", "frame_bytes=300")
    with daemon.connect() as rt:
        a, c = rt.zeros(1, "f32"), rt.zeros(1, "f32")
        rt.operator_registry.aten.relu.out(a, out=c)
        with pytest.raises(errors.LimitExceeded, match=r"aten::cat.out.*'frame_bytes' of 300"):
            rt.operator_registry.aten.cat.out([a] * 9, out=rt.zeros(9, "f32"))


def behaves() -> list[str]:
    """Options that load the well-behaved test kernels."""
    return ["--test-library", str(build_directory() / "kernels" / "behaves.so")]


def scratch(rt: Runtime, mib: int) -> None:
    """A call that takes so much scratch memory."""
    out = rt.zeros(1, "f32")
    rt.operator_registry.test.scratch.out(rt.zeros(1, "f32"), mib, out=out)
    assert out[0] == 1


def test_worker_memory(start_daemon: Start) -> None:
    if build_directory().name != "release":
        pytest.skip("a sanitizer's shadow memory cannot live with the limit: sandbox/resources.c")
    daemon = start_daemon("--limit", f"worker_memory={64 << 20}", *behaves())
    with daemon.connect() as rt:
        scratch(rt, 16)
        with pytest.raises(MemoryError, match="no 134217728 bytes of scratch memory left"):
            scratch(rt, 128)
        scratch(rt, 16)


def test_scratch_bytes(start_daemon: Start) -> None:
    daemon = start_daemon("--limit", f"scratch_bytes={16 << 20}", *behaves())
    with daemon.connect() as rt:
        scratch(rt, 16)
        with pytest.raises(MemoryError, match=f"at most {16 << 20} in one call"):
            scratch(rt, 17)


def test_load_ms() -> None:
    with pytest.raises(DaemonFailed, match=r"did not end within 1 s while it loaded"):
        Daemon("--limit", "load_ms=1000", *hostile("load_loops"))


def test_library_kernels() -> None:
    with pytest.raises(DaemonFailed, match="12 kernels; at most 5"):
        Daemon("--limit", "library_kernels=5")


def test_grace_ms(start_daemon: Start) -> None:
    """A call under way has so long to end when the daemon is told to stop."""
    daemon = start_daemon("--limit", "grace_ms=200", *hostile("sleeps"))
    with daemon.connect() as rt:
        a = rt.zeros(2, "f32")
        ended: list[BaseException] = []

        def run() -> None:
            try:
                rt.operator_registry.test.sleeps.out(a, out=rt.zeros(2, "f32"))
            except errors.KernrigError as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        wait_until(
            lambda: "sleeps.so" in daemon.log().split("daemon.ready")[1], "the call to begin"
        )
        daemon.process.terminate()
        assert daemon.process.wait(20) == 0
        thread.join()
        assert len(ended) == 1 and isinstance(ended[0], ConnectionError)


def test_an_impossible_limit_is_refused() -> None:
    for text, words in {
        "nope=1": "there is no limit nope",
        "queue=x": "whole number",
        "queue": "whole number",
    }.items():
        with pytest.raises(DaemonFailed, match=words) as info:
            Daemon("--limit", text)
        assert info.value.args[1] == 2


# Reached elsewhere: by which test.
ELSEWHERE = {
    "rpc_bytes": "test_http2.py::test_messages_that_do_not_end",
    "hello_ms": "test_peers.py::test_silent_and_half_spoken_peers_are_dropped",
    "local_idle_ms": "test_peers.py::test_silent_and_half_spoken_peers_are_dropped",
    "session_bind_ms": "test_peers.py::test_a_session_that_is_never_bound_ends",
}


def test_every_limit_has_a_test() -> None:
    """The table of limits, against what this folder sets by --limit."""
    names = re.findall(
        r"^KR_LIMIT\((\w+),", (ROOT / "server/base/limits.def").read_text(), re.MULTILINE
    )
    text = Path(__file__).read_text()
    assert len(names) == len(set(names)) > 20
    for name in names:
        if name in ELSEWHERE:
            file, _, test = ELSEWHERE[name].partition("::")
            assert f"def {test}(" in (Path(__file__).parent / file).read_text()
            assert f"{name}=" in (Path(__file__).parent / file).read_text()
        else:
            assert re.search(rf"\"{name}=|f\"{name}=", text), f"no test reaches the limit {name}"


def test_numpy_is_all_that_is_needed() -> None:
    """This environment has no torch, so nothing here can lean on it."""
    with pytest.raises(ModuleNotFoundError):
        __import__("torch")
    assert np.__version__
