# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors in real calls: what is shared, what copied, what resized, and what refused."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from kernrig import errors
from kernrig.runtime import Operator, Runtime

import oracle

Maker = Callable[[tuple[int, ...]], torch.Tensor]


@pytest.fixture
def add(rt: Runtime) -> Operator:
    """aten::add.out."""
    return rt.operator_registry.get_kernel("aten::add.out")


@pytest.fixture(params=["shared", "private"])
def make(rt: Runtime, request: pytest.FixtureRequest) -> Maker:
    """Makes float32 tensors, in shared memory or in PyTorch's own."""

    def shared(shape: tuple[int, ...]) -> torch.Tensor:
        return rt.empty(shape, torch.float32)

    return shared if request.param == "shared" else lambda shape: torch.empty(shape)


def test_the_output_is_returned_and_is_the_same_object(add: Operator, make: Maker) -> None:
    a, out = make((2, 2)).fill_(1), make((2, 2))
    assert add(a, a, alpha=3, out=out) is out
    assert torch.equal(out, torch.full((2, 2), 4.0))


@pytest.mark.parametrize("dtype", oracle.DTYPES, ids=oracle.DTYPES.values())
def test_every_dtype(rt: Runtime, add: Operator, dtype: torch.dtype) -> None:
    for tensor in (torch.tensor([1, 0], dtype=dtype), rt.tensor([1, 0], dtype)):
        assert tensor.dtype == dtype
        out = add(tensor, tensor, out=torch.empty(0, dtype=dtype))
        assert torch.equal(out, torch.tensor([2, 0]).to(dtype))


def test_views_keep_their_neighbours(rt: Runtime, add: Operator) -> None:
    for base in (rt.zeros((4, 4), torch.float32), torch.zeros(4, 4)):
        add(torch.ones(2, 2), torch.ones(2, 2), out=base[::2, ::2])
        right = torch.zeros(4, 4)
        right[::2, ::2] = 2
        assert torch.equal(base, right)
        add(base.t(), 1, out=base.t())
        assert torch.equal(base, right + 1)


def test_shared_memory_is_recognized_through_numpy(rt: Runtime, add: Operator) -> None:
    base = rt.zeros((2, 3), torch.float32)
    array = base.numpy()
    assert add(array, 1, out=array) is array
    assert torch.equal(base, torch.ones(2, 3))
    assert rt._memory.find(torch.from_numpy(array).data_ptr()) is not None


def test_numpy_and_pytorch_in_one_call(add: Operator) -> None:
    out = np.zeros(2, np.float32)
    assert add(torch.ones(2), np.ones(2, np.float32), out=out) is out
    assert out.tolist() == [2, 2]


def test_channels_last_outputs_stay_so(rt: Runtime, add: Operator) -> None:
    a = torch.randn(2, 3, 4, 5)
    for out in (torch.empty(a.shape), rt.empty(a.shape, torch.float32)):
        out = out.to(memory_format=torch.channels_last)
        add(a, a, out=out)
        assert out.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(out, a + a)


def test_an_empty_output_is_resized_silently(add: Operator, make: Maker) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (6, 1_000_000):
            a, out = torch.ones(size), make((0,))
            assert add(a, a, out=out) is out
            assert torch.equal(out, a + a)
            out.resize_(0)
            add(a[:4], a[:4], out=out)
            assert torch.equal(out, torch.full((4,), 2.0))


def test_another_shape_warns_as_pytorch_does(add: Operator, make: Maker) -> None:
    for before in [(1,), (4, 4)]:
        a, out = torch.ones(2, 3), make(before)
        with pytest.warns(
            UserWarning, match="An output with one or more elements was resized"
        ) as w:
            add(a, a, out=out)
        assert w[0].filename == __file__
        assert torch.equal(out, torch.full((2, 3), 2.0))


def test_several_outputs_grow(rt: Runtime, make: Maker) -> None:
    op = rt.operator_registry.aten.max_pool2d_with_indices.out
    x, out, indices = torch.randn(1, 3, 8, 8), make((0,)), torch.empty(0, dtype=torch.int64)
    returned = op(x, [2, 2], out=out, indices=indices)
    assert returned[0] is out
    assert returned[1] is indices
    right = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(out, right[0])
    assert torch.equal(indices, right[1])


def test_memory_that_numpy_owns_is_not_resized(add: Operator) -> None:
    array = np.zeros(2, np.float32)
    with pytest.raises(errors.ResizeError, match=r"aten::add.out: .*'out'.*\[6\]") as raised:
        add(torch.ones(6), 1, out=torch.from_numpy(array))
    assert raised.value.needed == (6,)
    assert array.tolist() == [0, 0]


def test_a_grown_output_is_shared_from_then_on(rt: Runtime, add: Operator) -> None:
    out = rt.empty((0,), torch.float32)
    add(torch.ones(100_000), 1, out=out)
    place = out.data_ptr()
    assert rt._memory.find(place) is not None
    add(out, out, out=out)
    assert out.data_ptr() == place
    assert torch.equal(out, torch.full((100_000,), 4.0))


def test_memory_lives_as_long_as_a_view_of_it(rt: Runtime) -> None:
    tensor = rt.tensor(torch.arange(10.0))
    view = tensor[5:].numpy()
    del tensor
    gc.collect()
    for _ in range(20):
        rt.zeros((10,), torch.float32)
    assert view.tolist() == [5, 6, 7, 8, 9]


def test_overlap(add: Operator, make: Maker) -> None:
    x = make((8,)).copy_(torch.arange(8.0))
    add(x, x, out=x)
    assert torch.equal(x, 2 * torch.arange(8.0))
    with pytest.raises(errors.OverlapError, match=r"aten::add.out.*'out'.*'self'"):
        add(x[:4], 1, out=x[1:5])
    with pytest.raises(errors.OverlapError, match=r"aten::add.out.*'out'"):
        add(x, 1, out=make((1,)).expand(8))
    assert torch.equal(x, 2 * torch.arange(8.0))


def test_requires_grad(add: Operator) -> None:
    a, out = torch.ones(2, requires_grad=True), torch.zeros(2)
    text = r"aten::add.out.*'self'.*requires.grad|requires.grad.*'self'"
    for tensor in (a, torch.nn.Parameter(torch.ones(2))):
        with pytest.raises(errors.AutogradError, match=text):
            add(tensor, a.detach(), out=out)
    with torch.no_grad():
        add(a, a, out=out)
    assert out.tolist() == [2, 2]
    with torch.inference_mode():
        add(torch.ones(2), 1, out=torch.zeros(2))


def test_requires_grad_in_a_list(rt: Runtime) -> None:
    cat = rt.operator_registry.aten.cat.out
    tensors = [torch.ones(2), torch.ones(2, requires_grad=True)]
    with pytest.raises(errors.AutogradError, match=r"tensors\[1\]|'tensors'"):
        cat(tensors, out=torch.zeros(4))


def test_another_device(add: Operator) -> None:
    here, elsewhere = torch.ones(2), torch.ones(2, device="meta")
    with pytest.raises(errors.DeviceError, match=r"aten::add.out.*'self'.*meta"):
        add(elsewhere, here, out=here)
    with pytest.raises(errors.DeviceError, match=r"aten::add.out.*'out'.*meta"):
        add(here, here, out=elsewhere)


@pytest.mark.parametrize(
    ("make_tensor", "word"),
    [
        (lambda: torch.ones(2).to_sparse(), "sparse"),
        (lambda: torch.eye(2).to_sparse_csr(), "sparse_csr"),
        (lambda: torch.nested.nested_tensor([torch.ones(2)]), "nested"),
    ],
    ids=["coo", "csr", "nested"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_layouts(add: Operator, make_tensor: Callable[[], torch.Tensor], word: str) -> None:
    with pytest.raises(TypeError, match=f"aten::add.out.*'self'.*{word}"):
        add(make_tensor(), 1, out=torch.zeros(2))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.uint16, torch.float8_e5m2])
def test_dtypes_of_no_kernel(rt: Runtime, add: Operator, dtype: torch.dtype) -> None:
    with pytest.raises(errors.DTypeError, match=r"aten::add.out.*'self'"):
        add(torch.zeros(2, dtype=dtype), 1, out=torch.zeros(2))
    with pytest.raises(errors.DTypeError):
        rt.empty((2,), dtype)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_quantized_tensor(add: Operator) -> None:
    tensor = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    with pytest.raises(errors.DTypeError, match=r"aten::add.out.*'self'.*qint8"):
        add(tensor, 1, out=torch.zeros(2))


def test_a_negative_bit(add: Operator) -> None:
    tensor = torch.view_as_complex(torch.ones(2, 2)).conj().imag
    assert tensor.is_neg()
    out = torch.zeros(2)
    add(tensor, 0, out=out)
    assert out.tolist() == [-1, -1]
    with pytest.raises(ValueError, match=r"aten::add.out.*'out'.*negative bit"):
        add(out, out, out=tensor)


def test_through_dlpack(rt: Runtime, add: Operator) -> None:
    class Foreign:
        """A tensor of a library that only DLPack knows."""

        def __init__(self, tensor: torch.Tensor) -> None:
            self._tensor = tensor

        def __dlpack__(self, **options: object) -> object:
            return self._tensor.__dlpack__(**options)

        def __dlpack_device__(self) -> object:
            return self._tensor.__dlpack_device__()

    base = torch.zeros(4)
    out = Foreign(base)
    assert add(Foreign(torch.arange(4.0)), Foreign(torch.ones(4)), out=out) is out
    assert base.tolist() == [1, 2, 3, 4]
