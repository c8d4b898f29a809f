# SPDX-License-Identifier: Apache-2.0
"""Calls from argument to result, with a daemon whose kernels are Python functions."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest

from kernrig._factory import empty, growing, tensor
from kernrig._proto import execute_pb2
from kernrig.errors import (
    ArgumentTypeError,
    InternalError,
    KernelCrashed,
    KernelTimeout,
    KernrigError,
    LimitExceeded,
    ResizeError,
)
from tests.fake import ADD, FakeDaemon, add, resize

POOL = (
    "aten::pool.out(Tensor self, *, Tensor(a!) out, Tensor(b!) indices) -> "
    "(Tensor(a!), int, Tensor(b!), float)"
)


def pool(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
    _, out, indices = daemon.tensors(call)
    daemon.buffers.array(out)[...] = 1
    daemon.buffers.array(indices)[...] = 2
    result.outputs.returns.add(integer=3)
    result.outputs.returns.add(real=0.5)


SPLIT = "aten::split.out(Tensor self, *, Tensor(a!)[] out) -> ()"


def split(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
    source, *outs = daemon.tensors(call)
    for index, out in enumerate(outs):
        daemon.buffers.array(out)[...] = daemon.buffers.array(source)[index]


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon({ADD: add, POOL: pool, SPLIT: split})


def ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


def test_ordinary_tensors(daemon: FakeDaemon) -> None:
    out = np.zeros((2, 3), np.float32)
    assert daemon.registry.aten.add.out(ones(2, 3), ones(3), out=out) is out
    assert (out == 2).all()


def test_shared_tensors_are_not_copied(daemon: FakeDaemon) -> None:
    a = tensor(daemon.memory, [[1, 2], [3, 4]], "f32")
    out = empty(daemon.memory, (2, 2), "f32", is_zero=True)
    made = len(daemon.buffers.made)
    assert daemon.registry.aten.add.out(a, a.T, out=out) is out
    assert out.tolist() == [[2, 5], [5, 8]]
    assert len(daemon.buffers.made) == made


def test_what_cannot_be_resized_is_called_by_its_name(daemon: FakeDaemon) -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    operator = daemon.registry.aten.add.out
    with pytest.raises(ResizeError, match=r"a numpy array cannot be resized"):
        operator(ones(2), ones(2), out=ones(3))
    with pytest.raises(ResizeError, match=r"passed through DLPack cannot be resized"):
        operator(ones(2), ones(2), out=Foreign(ones(3)))


def test_request(daemon: FakeDaemon) -> None:
    operator = daemon.registry.aten.add.out.with_options(timeout=2.5, provider="mine")
    operator(ones(2), ones(2), out=ones(2))
    (request,) = daemon.requests
    assert request.session == b"s" * 16
    (call,) = request.calls
    assert (call.operator, call.timeout_us, call.provider) == ("aten::add.out", 2_500_000, "mine")


def test_returns_in_the_order_of_the_schema(daemon: FakeDaemon) -> None:
    out, indices = ones(2), np.zeros(2, np.int64)
    result = daemon.registry.aten.pool.out(ones(2), out=out, indices=indices)
    assert result[0] is out
    assert result[2] is indices
    assert result[1::2] == (3, 0.5)
    assert indices.tolist() == [2, 2]


def test_all_outputs_as_one_argument(daemon: FakeDaemon) -> None:
    out, indices = ones(2), np.zeros(2, np.int64)
    result = daemon.registry.aten.pool.out(ones(2), out=(out, indices))
    assert result[0] is out
    assert result[2] is indices
    with pytest.raises(ArgumentTypeError, match=r"2 outputs \(out, indices\), and out has 1"):
        daemon.registry.aten.pool.out(ones(2), out=(out,))
    with pytest.raises(ArgumentTypeError, match="'indices' twice"):
        daemon.registry.aten.pool.out(ones(2), out=(out, indices), indices=indices)


def test_a_list_of_outputs_is_returned_where_the_schema_returns_nothing(daemon: FakeDaemon) -> None:
    outs = [np.zeros(2, np.float32), np.zeros(2, np.float32)]
    assert daemon.registry.aten.split.out(np.array([[1, 2], [3, 4]], np.float32), out=outs) is outs
    assert [each.tolist() for each in outs] == [[1, 2], [3, 4]]


def test_missing_outputs_are_named(daemon: FakeDaemon) -> None:
    with pytest.raises(
        ArgumentTypeError, match="out, indices are missing: call it with out=…, ind"
    ):
        daemon.registry.aten.pool.out(ones(2))
    assert daemon.requests == []


def test_a_wrong_number_of_returns_is_the_daemons_fault(daemon: FakeDaemon) -> None:
    daemon.kernels[POOL] = lambda daemon, call, result: None
    with pytest.raises(InternalError, match="2 values besides"):
        daemon.registry.aten.pool.out(ones(2), out=(ones(2), ones(2)))


def test_an_output_grows_once_and_takes_its_shape(daemon: FakeDaemon) -> None:
    out = growing(daemon.memory, "f32")
    big = ones(300, 50)
    result = daemon.registry.aten.add.out(big, big, out=out)
    assert result is out
    assert out.array.shape == (300, 50)
    assert (out.array == 2).all()
    assert len(daemon.requests) == 2
    daemon.registry.aten.add.out(ones(2), ones(2), out=out)
    assert out.array.tolist() == [2, 2]


def test_a_small_output_needs_no_second_call(daemon: FakeDaemon) -> None:
    out = growing(daemon.memory, "f32")
    daemon.registry.aten.add.out(ones(2, 3), ones(3), out=out)
    assert out.array.shape == (2, 3)
    assert len(daemon.requests) == 1


def test_an_output_grows_at_most_once(daemon: FakeDaemon) -> None:
    def insatiable(
        daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult
    ) -> None:
        result.fault.status = -7
        result.fault.message = "still no room"
        result.fault.needed.argument = 3
        result.fault.needed.sizes.append(10_000 * len(daemon.requests))

    daemon.kernels[ADD] = insatiable
    out = growing(daemon.memory, "f32")
    with pytest.raises(ResizeError, match="still no room") as caught:
        daemon.registry.aten.add.out(ones(2), ones(2), out=out)
    assert len(daemon.requests) == 2
    assert caught.value.needed == (20_000,)
    assert out.array.shape == (0,)


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (3, 2)])
def test_a_numpy_output_is_never_reshaped(
    daemon: FakeDaemon, shape: tuple[int, ...], is_shared: bool
) -> None:
    out = np.full(shape, 7, np.float32)
    if is_shared:
        out = tensor(daemon.memory, out, None)
    with pytest.raises(ResizeError, match=r"has shape \[2, 3\]") as caught:
        daemon.registry.aten.add.out(ones(2, 3), ones(3), out=out)
    assert caught.value.needed == (2, 3)
    assert (caught.value.kernel, caught.value.provider) == ("k", "fake")
    assert out.shape == shape
    if not is_shared:
        assert (out == 7).all()


def test_the_daemon_must_speak_of_outputs_that_were_passed(daemon: FakeDaemon) -> None:
    def confused(
        daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult
    ) -> None:
        result.outputs.reshaped.add(argument=1)

    daemon.kernels[ADD] = confused
    with pytest.raises(InternalError, match="output 1"):
        daemon.registry.aten.add.out(ones(2), ones(2), out=ones(2))


def fault(**fields: Any) -> Any:
    def kernel(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
        for name, value in fields.items():
            setattr(result.fault, name, value)

    return kernel


def test_a_fault_becomes_an_exception(daemon: FakeDaemon) -> None:
    daemon.kernels[ADD] = fault(status=-30, message="it died", signal=11, printed="help\n")
    out = ones(2) * 7
    with pytest.raises(KernelCrashed, match="it died") as caught:
        daemon.registry.aten.add.out(ones(2), ones(2), out=out)
    error = caught.value
    assert (error.code, error.signal, error.exit_code) == ("CRASHED", 11, None)
    assert (error.operator, error.kernel, error.provider) == ("aten::add.out", "k", "fake")
    assert error.printed == "help\n"
    assert (out == 7).all()


def test_a_time_limit_is_told_in_seconds(daemon: FakeDaemon) -> None:
    daemon.kernels[ADD] = fault(status=-32, message="too slow", limit_us=1_500_000)
    with pytest.raises(KernelTimeout) as caught:
        daemon.registry.aten.add.out(ones(2), ones(2), out=ones(2))
    assert caught.value.limit == 1.5


def test_a_fault_of_a_newer_daemon(daemon: FakeDaemon) -> None:
    daemon.kernels[ADD] = fault(status=-999, message="something new")
    with pytest.raises(KernrigError, match="something new") as caught:
        daemon.registry.aten.add.out(ones(2), ones(2), out=ones(2))
    assert type(caught.value) is KernrigError
    assert caught.value.status == -999


def test_copies_are_used_again_but_not_where_a_kernel_may_still_write(daemon: FakeDaemon) -> None:
    operator = daemon.registry.aten.add.out
    for _ in range(5):
        operator(ones(2), ones(3, 2), out=ones(3, 2))
    assert len(daemon.buffers.made) == 3
    daemon.kernels[ADD] = fault(status=-32, message="too slow")
    for count in (3, 6, 9):
        with pytest.raises(KernelTimeout):
            operator(ones(2), ones(3, 2), out=ones(3, 2))
        assert len(daemon.buffers.made) == count


def test_a_list_of_calls_has_outcomes_of_its_own(daemon: FakeDaemon) -> None:
    operator = daemon.registry.aten.add.out
    first, second = np.zeros(2, np.float32), np.zeros(2, np.float32)
    results = daemon.run(
        [
            (operator, (ones(2), ones(2)), {"out": first}),
            (operator, (first, first), {"out": second}),
            (operator, (ones(2, 2), first), {"out": ones(1)}),
        ]
    )
    assert len(daemon.requests) == 1
    assert results[0].value is first
    assert results[0].error is None
    assert (results[0].kernel, results[0].provider, results[0].kernel_ns) == ("k", "fake", 5)
    assert second.tolist() == [4, 4]  # what an earlier call has written
    assert isinstance(results[2].error, ResizeError)


def test_a_list_does_not_grow_outputs(daemon: FakeDaemon) -> None:
    operator = daemon.registry.aten.add.out
    out = growing(daemon.memory, "f32")
    big = ones(300, 50)
    results = daemon.run([(operator, (big, big), {"out": out})] * 2)
    assert [type(result.error) for result in results] == [ResizeError] * 2
    assert len(daemon.requests) == 1


def test_too_many_tensors_are_refused_before_they_are_copied(daemon: FakeDaemon) -> None:
    with pytest.raises(LimitExceeded, match="'tensors' of 64"):
        daemon.registry.aten.split.out(ones(2), out=[ones(1)] * 100)
    assert daemon.buffers.made == []


def test_what_a_kernel_logs(daemon: FakeDaemon, caplog: pytest.LogCaptureFixture) -> None:
    def chatty(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
        add(daemon, call, result)
        result.log = "first is 1"

    daemon.kernels[ADD] = chatty
    with caplog.at_level(logging.INFO, "kernrig.kernel"):
        daemon.registry.aten.add.out(ones(2), ones(2), out=ones(2))
    assert caplog.messages == ["aten::add.out: first is 1"]


def test_an_exact_alias_is_seen_as_one(daemon: FakeDaemon) -> None:
    array = ones(3)
    daemon.registry.aten.add.out(array, array, out=array)
    assert array.tolist() == [2, 2, 2]
    tensors = daemon.tensors(daemon.requests[0].calls[0])
    assert len({(each.buffer, each.offset) for each in tensors}) == 1


def test_tensors_without_elements_or_dims(daemon: FakeDaemon) -> None:
    for shape in ((0,), (2, 0), ()):
        out = np.zeros(shape, np.float32)
        daemon.registry.aten.add.out(np.ones(shape, np.float32), ones(1)[0:1].reshape(()), out=out)
        assert out.shape == shape
        assert (out == 2).all()
    for each in daemon.tensors(daemon.requests[0].calls[0]):
        assert each.buffer > 0
    assert math.prod(daemon.tensors(daemon.requests[0].calls[0])[0].sizes) == 0


def test_the_fake_kernel_resizes_as_a_worker_does(daemon: FakeDaemon) -> None:
    """Within its extent an output is reshaped without a capacity."""
    out = tensor(daemon.memory, np.zeros((2, 2)), "f32")
    daemon.registry.aten.add.out(ones(2, 2), ones(2), out=out)
    message = daemon.tensors(daemon.requests[0].calls[0])[2]
    result = execute_pb2.CallResult()
    resize(daemon, message, 3, ones(3), result)
    assert [list(each.sizes) for each in result.outputs.reshaped] == [[3]]
