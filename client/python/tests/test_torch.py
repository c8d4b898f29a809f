# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors; needs PyTorch, and no daemon."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
import torch

from kernrig import _dtypes
from kernrig._factory import empty, tensor
from kernrig._memory import Memory
from kernrig._proto import execute_pb2
from kernrig._tensors import TORCH, Unfit, library_of
from kernrig.errors import (
    ArgumentTypeError,
    AutogradError,
    DeviceError,
    DTypeError,
    InvalidArgument,
    KernelCrashed,
    LimitExceeded,
    ResizeError,
)
from tests.fake import ADD, FakeDaemon, add, resize

POOL = (
    "aten::pool.out(Tensor self, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))"
)


def pool(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
    """Two outputs of one shape, which must not be in one place."""
    _, out, indices = daemon.tensors(call)
    resize(daemon, out, 1, np.full(3, 7), result)
    if not result.HasField("fault"):
        resize(daemon, indices, 2, np.full(3, 9), result)


SPOIL = "aten::spoil.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"


def spoil(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
    """Writes to its output, and fails then."""
    daemon.buffers.array(daemon.tensors(call)[1])[...] = 5
    result.fault.status = KernelCrashed.status


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon({ADD: add, POOL: pool, SPOIL: spoil})


def call(daemon: FakeDaemon, *args: Any, **kwargs: Any) -> Any:
    return daemon.registry.aten.add.out(*args, **kwargs)


@pytest.mark.parametrize("number", sorted(_dtypes.NAMES))
def test_dtypes(memory: Memory, number: int) -> None:
    dtype = _dtypes.to_torch(number)
    assert _dtypes.of_torch(dtype) == number
    assert torch.empty(0, dtype=dtype).element_size() == _dtypes.SIZES[number]
    made = empty(memory, (2, 3), dtype, is_zero=True)
    assert isinstance(made, torch.Tensor)
    assert (made.dtype, tuple(made.shape), made.is_contiguous()) == (dtype, (2, 3), True)
    assert not made._is_view()
    assert not made.any()


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_the_default_device_does_not_matter(daemon: FakeDaemon, device: str) -> None:
    with torch.device(device):
        made = empty(daemon.memory, (2, 3), torch.float32, is_zero=True)
        copied = tensor(daemon.memory, [1, 2, 3], torch.float32)
        out = empty(daemon.memory, 0, torch.float32, is_zero=False)
        call(daemon, made, copied, out=out)
    assert (made.device.type, out.device.type) == ("cpu", "cpu")
    assert out.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_the_dtype_decides_the_library(memory: Memory) -> None:
    source = torch.arange(3.0)
    assert isinstance(tensor(memory, source, None), torch.Tensor)
    assert isinstance(tensor(memory, source, "f64"), np.ndarray)
    assert isinstance(tensor(memory, [1, 2], torch.bfloat16), torch.Tensor)
    assert tensor(memory, source.requires_grad_(), None).requires_grad is False
    last = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert tensor(memory, last, None).stride() == last.stride()


def test_views(daemon: FakeDaemon) -> None:
    base = empty(daemon.memory, (4, 4), torch.float32, is_zero=True)
    out = base[::2, 1::2]
    assert call(daemon, torch.ones(2, 2), torch.ones(2), out=out) is out
    expected = torch.zeros(4, 4)
    expected[::2, 1::2] = 2
    assert torch.equal(base, expected)
    message = daemon.tensors(daemon.requests[0].calls[0])[2]
    assert (message.offset, list(message.strides), message.capacity) == (4, [8, 2], 0)


def test_kinds_of_arguments(daemon: FakeDaemon) -> None:
    from kernrig._arguments import Arguments
    from kernrig._schema import Schema

    message = execute_pb2.Call()
    values = (
        *(torch.float16, torch.complex64, torch.device("cpu", 0), torch.sparse_coo),
        *(torch.channels_last, torch.Size([2, 3])),
    )
    Arguments("f", Schema("a::f() -> ()"), message, daemon.memory).put(values, {}, (), {})
    sent = [argument.value for argument in message.arguments]
    assert [value.WhichOneof("kind") for value in sent[:5]] == [
        *("dtype", "dtype", "device", "layout", "memory_format"),
    ]
    assert (sent[0].dtype, sent[1].dtype, sent[2].device) == (5, 9, "cpu:0")
    assert (sent[3].layout, sent[4].memory_format) == (1, 2)
    assert [item.integer for item in message.arguments[5].list.items] == [2, 3]


@pytest.mark.parametrize(
    ("make", "cls", "words"),
    [
        (lambda: torch.ones(2, dtype=torch.complex64), DTypeError, "complex64"),
        (lambda: torch.ones(2, dtype=torch.uint16), DTypeError, "uint16"),
        (lambda: torch.ones(2, device="meta"), DeviceError, "device 'meta'"),
        (lambda: torch.ones(2, requires_grad=True), AutogradError, "requires grad"),
        (lambda: torch.nn.Parameter(torch.ones(2)), AutogradError, "requires grad"),
        (lambda: torch.ones(2).to_sparse(), ArgumentTypeError, "sparse_coo"),
    ],
)
def test_what_cannot_be_passed(
    daemon: FakeDaemon, make: Any, cls: type[Exception], words: str
) -> None:
    with pytest.raises(cls, match=words):
        call(daemon, make(), torch.ones(2), out=torch.ones(2))
    assert daemon.requests == []


def test_grad_mode_decides(daemon: FakeDaemon) -> None:
    wants = torch.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match=r"add\(\): functions with out=\.\.\. arguments don't"):
        call(daemon, wants, wants, out=torch.ones(2))
    with torch.no_grad():
        assert call(daemon, wants, wants, out=torch.ones(2)).tolist() == [2, 2]


def test_a_negative_bit_is_resolved_for_inputs(daemon: FakeDaemon) -> None:
    negative = torch.view_as_complex(torch.ones(2, 2)).conj().imag
    assert negative.is_neg()
    out = torch.zeros(2)
    call(daemon, negative, torch.zeros(2), out=out)
    assert out.tolist() == [-1, -1]
    with pytest.raises(InvalidArgument, match="negative bit"):
        call(daemon, out, out, out=negative)


def test_a_tensor_without_memory_of_its_own_is_none() -> None:
    from torch._subclasses.fake_tensor import FakeTensor

    assert library_of(FakeTensor) is None
    assert library_of(torch.nn.Parameter) is TORCH


@pytest.mark.parametrize("is_shared", [False, True])
def test_an_output_without_elements_is_resized_silently(
    daemon: FakeDaemon, is_shared: bool
) -> None:
    out = torch.empty(0)
    if is_shared:
        out = empty(daemon.memory, 0, torch.float32, is_zero=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(daemon, torch.ones(2, 3), torch.ones(3), out=out) is out
        assert out.tolist() == [[2, 2, 2], [2, 2, 2]]
        out.resize_(0)
        big = torch.ones(300, 50)
        call(daemon, big, big, out=out)
        assert out.shape == (300, 50)
        assert (out == 2).all()
        call(daemon, big, big, out=out)
    assert (daemon.memory.find(out.data_ptr()) is not None) == is_shared


@pytest.mark.parametrize("is_shared", [False, True])
def test_outputs_without_elements_have_room_of_their_own(
    daemon: FakeDaemon, is_shared: bool
) -> None:
    out, indices = torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    if is_shared:  # two views of one region, whose room only one of them may have
        base = empty(daemon.memory, 0, torch.int64, is_zero=False)
        out, indices = base.view(0), base.view(0)
    daemon.registry.aten.pool.out(torch.ones(1), out=out, indices=indices)
    assert out.tolist() == [7, 7, 7]
    assert indices.tolist() == [9, 9, 9]


@pytest.mark.parametrize("is_shared", [False, True])
def test_autograd_finds_out_that_a_saved_tensor_was_an_output(
    daemon: FakeDaemon, is_shared: bool
) -> None:
    def saved() -> tuple[torch.Tensor, torch.Tensor]:
        x = tensor(daemon.memory, torch.ones(2), None) if is_shared else torch.ones(2)
        return x, (torch.ones(2, requires_grad=True) * x).sum()

    x, y = saved()
    call(daemon, x, x, out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    x, y = saved()
    call(daemon, torch.ones(1), torch.ones(1), out=x[:1])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    x, y = saved()
    with pytest.raises(KernelCrashed):
        daemon.registry.aten.spoil.out(x, out=x)
    if not is_shared:  # what a kernel that fails has written is not copied back
        y.backward()
        return
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    x, y = saved()
    call(daemon, x, x, out=torch.zeros(2))  # inputs are not changed
    y.backward()


def test_a_request_that_ends_otherwise_may_have_written(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tensor(daemon.memory, torch.ones(2), None)
    for error, is_written in ((KeyboardInterrupt, True), (LimitExceeded, False)):

        def fail(request: Any, timeout: float, error: type[BaseException] = error) -> Any:
            raise error

        monkeypatch.setattr(daemon, "execute", fail)
        version = x._version
        with pytest.raises(error):
            call(daemon, x, x, out=x)
        assert (x._version > version) == is_written
    region = daemon.memory.find(x.data_ptr())
    assert region is not None and region.is_exposed  # so it is not used for another tensor


def test_a_pytorch_without_increment_version(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(torch.autograd.graph, "increment_version")
    for shape in ((), (2,), (0, 3)):
        x = torch.ones(shape)
        call(daemon, x, x, out=x)
        assert x._version == 1
    with torch.no_grad():
        wants = torch.ones(2, requires_grad=True)
        call(daemon, wants, wants, out=wants)
    assert wants._version == 1


def test_inference_tensors_are_outputs_in_inference_mode_only(daemon: FakeDaemon) -> None:
    with torch.inference_mode():
        x = torch.ones(2)
        call(daemon, x, x, out=x)
    with pytest.raises(InvalidArgument, match="outside InferenceMode is not allowed"):
        call(daemon, x, x, out=x)
    assert x.tolist() == [2, 2]
    call(daemon, x, x, out=torch.zeros(2))


@pytest.mark.parametrize("is_shared", [False, True])
def test_another_shape_warns_as_pytorch_does(daemon: FakeDaemon, is_shared: bool) -> None:
    out = torch.zeros(1)
    if is_shared:
        out = tensor(daemon.memory, out, None)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized") as seen:
        call(daemon, torch.ones(2), torch.ones(2), out=out)
    assert out.tolist() == [2, 2]
    package = os.path.dirname(_dtypes.__file__)
    assert not seen[0].filename.startswith(package)  # it speaks of the caller's line


def test_the_neighbours_of_a_shared_view_are_left_alone(daemon: FakeDaemon) -> None:
    base = tensor(daemon.memory, torch.full((8,), 7.0), None)
    for view in (base[:2], base[:0], torch.from_numpy(base.numpy()[:2])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(daemon, torch.ones(6), torch.ones(6), out=view)
        assert view.tolist() == [2] * 6
        assert base.tolist() == [7] * 8


def test_memory_that_pytorch_cannot_resize(daemon: FakeDaemon) -> None:
    array = np.zeros(2, np.float32)
    out = torch.from_numpy(array)
    with pytest.raises(ResizeError, match="not PyTorch's own"):
        call(daemon, torch.ones(6), torch.ones(6), out=out)
    assert out.shape == (2,)  # resize_ would have changed it before it failed
    assert not array.any()


def test_an_empty_view_is_found_by_its_storage(memory: Memory) -> None:
    made = empty(memory, 0, torch.float32, is_zero=False)
    view = TORCH.view(made, True)
    assert made.data_ptr() == 0
    assert memory.find(view.address) is not None


def test_dense_tensors_of_any_order_keep_it(daemon: FakeDaemon) -> None:
    last = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    out = torch.empty_like(last)
    call(daemon, last, last, out=out)
    for message in daemon.tensors(daemon.requests[0].calls[0]):
        assert list(message.strides) == list(last.stride())
    assert out.is_contiguous(memory_format=torch.channels_last)
    assert (out == 2).all()


def test_more_dims_than_kernels_take() -> None:
    with pytest.raises(Unfit, match="17 dims"):
        TORCH.view(torch.ones((1,) * 17), False)
