# SPDX-License-Identifier: Apache-2.0
"""Tensors on shared memory, views of them, and ordinary arrays that are copied; numpy alone."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernrig import errors
from kernrig.runtime import Runtime

from harness import Daemon, build_directory, descendants, wait_until

DTYPES = {
    "u8": np.uint8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_by_name_and_by_class(runtime: Runtime, name: str) -> None:
    dtype = np.dtype(DTYPES[name])
    for spelling in (name, DTYPES[name], dtype, dtype.name):
        made = runtime.zeros((2, 3), spelling)
        assert isinstance(made, np.ndarray) and made.dtype == dtype and not made.any()
    a = runtime.tensor(np.array([1, 0, 1]), name)
    out = runtime.empty(3, name)
    runtime.operator_registry.aten.add.out(a, a, out=out)
    want = [1, 0, 1] if name == "bool" else [2, 0, 2]
    np.testing.assert_array_equal(out.astype(np.float64), want)


def test_bfloat16_and_float16_are_not_mixed_up(runtime: Runtime) -> None:
    """The values that a report gave: sixteen bits are not just sixteen bits."""
    for dtype in (ml_dtypes.bfloat16, np.float16):
        for make in (runtime.tensor, np.asarray):
            a = make(np.array([1.5, -2], dtype))
            out = make(np.zeros(2, dtype))
            runtime.operator_registry.aten.add.out(a, a, out=out)
            assert out.dtype == dtype
            np.testing.assert_array_equal(out.astype(np.float32), [3, -4])


def test_shapes(runtime: Runtime) -> None:
    for shape in ((), (0,), (3, 0, 2), 5, [2, 3], np.array([4]), (1,) * 16):
        made = runtime.zeros(shape, "f32")
        assert made.shape == np.zeros(shape).shape
        runtime.operator_registry.aten.add.out(made, made, out=made)
    with pytest.raises(ValueError, match="-1"):
        runtime.empty((2, -1), "f32")
    with pytest.raises(errors.KernrigError):
        runtime.empty((2**40, 2**40), "f32")


def test_data_of_every_kind(runtime: Runtime) -> None:
    assert runtime.tensor(3.5).dtype == np.float64 and runtime.tensor(3.5).shape == ()
    assert runtime.tensor([[1, 2], [3, 4]]).dtype == np.int64
    assert runtime.tensor([True, False]).dtype == np.bool_
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    made = runtime.tensor(fortran)
    np.testing.assert_array_equal(made, fortran)
    assert made.strides == fortran.strides  # the order of dims is kept
    with pytest.raises(NotImplementedError):
        runtime.tensor(np.array([1j]))
    with pytest.raises(NotImplementedError):
        runtime.tensor(["a"])


def test_zeros_are_zero_on_memory_that_was_used(runtime: Runtime) -> None:
    for _ in range(20):
        dirty = runtime.empty(1000, "f32")
        dirty[:] = 7
        del dirty
        assert not runtime.zeros(1000, "f32").any()


# No copy


def test_nothing_is_copied_and_the_daemon_maps_nothing(daemon: Daemon, runtime: Runtime) -> None:
    """The inodes of the client's memfds are in the runner's maps, an input read-only."""
    a, c = runtime.zeros(1 << 20, "f32"), runtime.zeros(1 << 20, "f32")
    ours = descendants(daemon.pid)
    runtime.operator_registry.aten.relu.out(a, out=c)
    inodes = {array.ctypes.data: _inode("/proc/self/maps", array.ctypes.data) for array in (a, c)}
    runner = next(pid for pid in ours if b"\0runner\0" in Path(f"/proc/{pid}/cmdline").read_bytes())
    maps = [line.split() for line in Path(f"/proc/{runner}/maps").read_text().splitlines()]
    access = {line[4]: line[1] for line in maps if "memfd:kernrig" in " ".join(line)}
    assert access[inodes[a.ctypes.data]] == "r--s"
    assert access[inodes[c.ctypes.data]] == "rw-s"
    assert "memfd:kernrig" not in Path(f"/proc/{daemon.pid}/maps").read_text()


def _inode(maps: str, address: int) -> str:
    for line in Path(maps).read_text().splitlines():
        fields = line.split()
        low, high = (int(part, 16) for part in fields[0].split("-"))
        if low <= address < high:
            return fields[4]
    raise AssertionError(f"{address:#x} is not mapped")


def test_freed_tensors_are_unmapped_everywhere(daemon: Daemon, runtime: Runtime) -> None:
    """Large ones go back to the system, from the client, the daemon and the runner."""
    big = 128 << 20
    before = _memfd_bytes(daemon.pid)
    for _ in range(3):
        a = runtime.zeros(big // 4, "f32")
        runtime.operator_registry.aten.relu.out(a, out=a)
        del a
        gc.collect()
    runtime.zeros(1, "f32")  # whoever allocates next gives back what was freed
    wait_until(lambda: _memfd_bytes(daemon.pid) - before < big, "the buffers to be closed")
    wait_until(
        lambda: all(_mapped_bytes(pid) < big for pid in descendants(daemon.pid)),
        "the runner to unmap them",
    )


def _memfd_bytes(pid: int) -> int:
    total = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if "memfd:kernrig" in os.readlink(entry):
                total += entry.stat().st_size
        except OSError:
            continue
    return total


def _mapped_bytes(pid: int) -> int:
    total = 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "memfd:kernrig" in line:
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            total += high - low
    return total


def test_a_tensor_outlives_its_runtime(daemon: Daemon) -> None:
    rt = daemon.connect()
    a = rt.tensor([1.0, 2.0], "f32")
    view = a[1:]
    rt.close()
    del a
    assert view[0] == 2
    with daemon.connect() as other:  # for another session it is ordinary memory
        out = other.zeros(1, "f32")
        other.operator_registry.aten.add.out(view, view, out=out)
        assert out[0] == 4


# Views and strides; what is shared is not copied, what is ordinary is: both are right


def both(rt: Runtime) -> list[Callable[[np.ndarray], np.ndarray]]:
    """Ways to make a tensor of data."""
    return [rt.tensor, lambda data: data.copy()]


def test_an_output_that_is_a_strided_view(runtime: Runtime) -> None:
    """Only the elements of the view are written."""
    for make in both(runtime):
        base = make(np.zeros((4, 4), np.float32))
        ones = make(np.ones((2, 2), np.float32))
        runtime.operator_registry.aten.add.out(ones, ones, out=base[::2, ::2])
        want = np.zeros((4, 4))
        want[::2, ::2] = 2
        np.testing.assert_array_equal(base, want)


def test_views_of_every_kind(runtime: Runtime) -> None:
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    views: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[:, 1:, ::2],
        lambda x: x[::-1],
        lambda x: x[:, ::-2, ::-1],
        lambda x: x[1, 2, 3],
        lambda x: x[..., None, :],
        lambda x: x[:, :0],
        lambda x: np.broadcast_to(x[0, 0], (5, 4)),
        lambda x: x.reshape(-1)[3:17],
        lambda x: np.lib.stride_tricks.sliding_window_view(x.reshape(-1), 5),
    ]
    for make in both(runtime):
        for view in views:
            base = make(data)
            seen = view(base)
            for out in (np.zeros(seen.shape, np.float32), runtime.zeros(seen.shape, "f32")):
                runtime.operator_registry.aten.add.out(seen, 1, out=out)
                np.testing.assert_array_equal(out, view(data) + 1)


def test_misaligned_and_swapped_arrays(runtime: Runtime) -> None:
    packed = np.zeros(3, np.dtype([("a", "u1"), ("b", "<f4")]))
    packed["b"] = [1, -2, 3]
    out = np.zeros(3, np.float32)
    runtime.operator_registry.aten.relu.out(packed["b"], out=out)
    np.testing.assert_array_equal(out, [1, 0, 3])
    runtime.operator_registry.aten.relu.out(out - 2, out=packed["b"])
    np.testing.assert_array_equal(packed["b"], [0, 0, 1])
    np.testing.assert_array_equal(packed["a"], [0, 0, 0])
    runtime.operator_registry.aten.relu.out(np.array([1, -1], ">f8"), out=out[:2].astype("f8"))


def test_a_failed_call_leaves_ordinary_outputs_alone(runtime: Runtime) -> None:
    out = np.full((2, 2), 7, np.float32)
    with pytest.raises(ValueError):
        runtime.operator_registry.aten.add.out(
            np.ones((2, 3), "f4"), np.ones((2, 4), "f4"), out=out
        )
    np.testing.assert_array_equal(out, np.full((2, 2), 7))


def test_wrapped_numbers_promote_as_numbers(runtime: Runtime) -> None:
    add = runtime.operator_registry.aten.add.out
    halves, ints = np.array([1, 2], np.float16), np.array([1, 2], np.int32)
    out = np.zeros(2, np.float16)
    add(halves, 0.5, out=out)  # a float does not lift float16
    np.testing.assert_array_equal(out, [1.5, 2.5])
    singles = np.zeros(2, np.float32)
    add(ints, 0.5, out=singles)  # but it lifts integers, to the default dtype
    np.testing.assert_array_equal(singles, [1.5, 2.5])
    with pytest.raises(RuntimeError, match="Float can't be cast"):
        add(ints, 0.5, out=np.zeros(2, np.int32))
    add(True, ints, out=ints)
    np.testing.assert_array_equal(ints, [2, 3])


def test_scalar_kinds(runtime: Runtime) -> None:
    """numpy's and Python's kinds of numbers as a Scalar argument."""
    a, b, o = (runtime.tensor([float(n)], "f32") for n in (3, 5, 0))
    add = runtime.operator_registry.aten.add.out
    for alpha, want in [
        (True, 8),
        (np.float32(2), 13),
        (np.int64(3), 18),
        (np.float16(0.5), 5.5),
        (np.uint8(255), 1278),
        (float("inf"), np.inf),
        (-0.0, 3),
        (2**62, 3 + 5.0 * 2**62),
    ]:
        add(a, b, alpha=alpha, out=o)
        assert o[0] == np.float32(want), (alpha, o)
    flags = runtime.tensor([True, False])
    add(flags, flags, alpha=np.True_, out=flags)
    np.testing.assert_array_equal(flags, [True, False])
    for mul in (runtime.operator_registry.aten.mul.Scalar_out, runtime.operator_registry.aten.mul):
        o[0] = 0
        mul(a, float("inf"), out=o)
        assert o[0] == np.inf
    full = runtime.operator_registry.aten.full.out
    with pytest.raises(OverflowError, match="fill_value"):
        full([2], 2**63, out=runtime.empty(2, "i64"))
    with pytest.raises(OverflowError, match="int64_t without overflow"):
        full([2], 2.0**63, out=runtime.empty(2, "i64"))
    two = full([2], 2**63 - 1, out=runtime.empty(2, "i64"))
    np.testing.assert_array_equal(two, [2**63 - 1] * 2)


# What the kernel gets


@pytest.fixture
def behaves(start_daemon: Callable[..., Daemon]) -> Runtime:
    """A session of a daemon with the well-behaved test kernels."""
    daemon = start_daemon("--test-library", str(build_directory() / "kernels" / "behaves.so"))
    return daemon.connect()


def test_contiguous_kernels_get_contiguous_tensors(behaves: Runtime) -> None:
    with behaves as rt:
        op = rt.operator_registry.test.add_one.out
        data = np.arange(12, dtype=np.float32).reshape(3, 4)
        for make in both(rt):
            base, gap = make(data), make(np.zeros((6, 8), np.float32))
            op(base.T, out=gap[:4, :6:2])
            np.testing.assert_array_equal(gap[:4, :6:2], data.T + 1)
            assert gap.sum() == (data + 1).sum()
            op(base, out=base)
            np.testing.assert_array_equal(base, data + 1)


def test_the_dim_order_that_a_kernel_sees(behaves: Runtime) -> None:
    with behaves as rt:
        x = rt.zeros((2, 3, 4, 5), "f32")
        out = rt.zeros(4, "i64")
        for name, view, want in [
            ("dim_order", x, [0, 1, 2, 3]),
            ("dim_order", x.transpose(0, 3, 1, 2), [0, 2, 3, 1]),
            ("dim_order", x[..., :2], [-1] * 4),
            ("dim_order_dense", x.transpose(0, 3, 1, 2), [0, 2, 3, 1]),
            ("dim_order_dense", x[..., :2], [0, 1, 2, 3]),
        ]:
            getattr(rt.operator_registry.test, name).out(view, out=out)
            np.testing.assert_array_equal(out, want)
            ordinary = np.lib.stride_tricks.as_strided(
                np.zeros(200, np.float32), view.shape, view.strides
            )
            getattr(rt.operator_registry.test, name).out(ordinary, out=out)
            np.testing.assert_array_equal(out, want)


def test_every_kind_of_argument_arrives(behaves: Runtime) -> None:
    with behaves as rt:
        op = rt.operator_registry.test.describe.out

        def describe(*args: object, **kwargs: object) -> str:
            # A first call says how long the text is; numpy cannot be resized.
            out = rt.empty(0, "u8")
            with pytest.raises(errors.ResizeError) as info:
                op(*args, **kwargs, out=out)
            assert info.value.needed is not None
            out = rt.empty(info.value.needed, "u8")
            op(*args, **kwargs, out=out)
            return bytes(out).decode()

        t = rt.zeros((2, 2), "f32")
        assert describe(t, None, [], [None]) == (
            "a=2 b=none list=0 optionals=1:none i=3 f=0.5 t=1 s=none ints=2:1 dtype=-1 scalar=4 "
            "bools=3"
        )
        assert describe(
            *(t, t, [t, t], (t, None), -7, 2, False, "text", [8, 9], np.float16, 1.5),
            bools=(True, True, False),
        ) == (
            "a=2 b=tensor list=2 optionals=2:tensor i=-7 f=2 t=0 s=text ints=2:8 dtype=5 scalar=3 "
            "bools=3"
        )
        assert "dtype=15 " in describe(t, None, [], [None], dtype="bfloat16")
        assert "dtype=7 " in describe(t, None, [], [None], dtype=np.dtype("f8"))
        assert "i=12 " in describe(t, None, [], [None], i=np.int8(12))
        for wrong in ({"i": 1.5}, {"t": 1}, {"s": 3}, {"list": [t, None]}, {"ints": [1.5]}):
            given = {"list": [], **wrong}
            with pytest.raises(TypeError, match=f"'{next(iter(wrong))}'"):
                op(t, None, optionals=[None], out=rt.empty(0, "u8"), **given)
