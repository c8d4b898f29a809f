# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernrig._memory import Memory
from kernrig._staging import Copy, Staging, copy_back, plan, squeezed_strides
from kernrig._tensors import NUMPY
from tests.fake import FakeBuffers, bytes_of

as_strided = np.lib.stride_tricks.as_strided


def copy_of(array: Any, is_output: bool = False) -> Copy:
    return Copy(NUMPY.view(array, is_output), is_output)


def staged(memory: Memory, *copies: Copy) -> list[np.ndarray[Any, Any]]:
    """The copies as a kernel would see them."""
    Staging(memory).stage(copies)
    seen = []
    for copy in copies:
        assert copy.region is not None
        seen.append(
            np.ndarray(
                copy.view.sizes,
                copy.view.owner.dtype,
                buffer=bytes_of(copy.region.mapping),
                offset=copy.offset,
                strides=copy.strides,
            )
        )
    return seen


CASES = {
    "contiguous": np.arange(24.0).reshape(2, 3, 4),
    "transposed": np.arange(24.0).reshape(4, 3, 2).T,
    "channels last": np.arange(120.0).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2),
    "sliced": np.arange(24.0).reshape(4, 6)[::2, 1::2],
    "far apart": np.arange(4_000_000.0).reshape(2000, 2000)[::500, ::500],
    "reversed": np.arange(5.0)[::-1],
    "reversed rows": np.arange(12.0).reshape(3, 4)[::-1],
    "expanded": np.broadcast_to(np.arange(3.0), (1000, 3)),
    "windows": as_strided(np.arange(6.0), (4, 3), (8, 8)),
    "0-d": np.array(3.0),
    "empty": np.zeros((2, 0, 3)),
    "one of many dims": np.ones((1, 1, 1)),
    "odd address": np.zeros(41, np.uint8)[1:].view(np.float64),
    "field": np.ones(3, [("a", "f8"), ("b", "f4")])["a"],
    "bool": np.array([True, False]),
    "f16": np.arange(6, dtype=np.float16).reshape(2, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_a_copy_has_the_elements_and_may_be_passed(memory: Memory, name: str) -> None:
    array = CASES[name]
    copy = copy_of(array)
    (seen,) = staged(memory, copy)
    assert np.array_equal(seen, array)
    item = array.itemsize
    assert all(stride >= 0 and stride % item == 0 for stride in copy.strides)
    assert copy.offset % item == 0


@pytest.mark.parametrize("name", ["contiguous", "transposed", "channels last", "sliced", "windows"])
def test_strides_are_kept_where_that_is_cheap(memory: Memory, name: str) -> None:
    copy = copy_of(CASES[name])
    staged(memory, copy)
    assert copy.strides == CASES[name].strides


def test_repeated_elements_are_not_copied_out(memory: Memory, buffers: FakeBuffers) -> None:
    staged(memory, copy_of(np.broadcast_to(np.zeros((1, 1)), (10_000, 10_000))))
    assert buffers.made == [4096]


def test_wide_gaps_become_small_and_stay_gaps() -> None:
    view = NUMPY.view(np.zeros((40, 60, 80), "f4")[::2, ::20, ::20], False)
    assert view.sizes == (20, 3, 4)
    strides = squeezed_strides(view)
    assert strides == (4 * 28, 4 * 9, 8)  # each dim leaves one element between its steps
    dense = NUMPY.view(np.zeros((2, 3, 4), "f4").transpose(2, 0, 1), False)
    assert squeezed_strides(dense) == dense.strides


def test_far_apart_elements_cost_little(memory: Memory, buffers: FakeBuffers) -> None:
    staged(memory, copy_of(CASES["far apart"]))
    assert sum(buffers.made) == 4096


def test_an_output_is_copied_back_through_the_view_only(memory: Memory) -> None:
    base = np.arange(24.0).reshape(4, 6)
    expected = base.copy()
    expected[:, 1:4] = -1
    copy = copy_of(base[:, 1:4], is_output=True)
    (seen,) = staged(memory, copy)
    assert np.array_equal(seen, base[:, 1:4])  # what a kernel leaves alone keeps its value
    seen[:] = -1
    copy_back(copy)
    assert np.array_equal(base, expected)


@pytest.mark.parametrize("name", ["reversed", "far apart", "odd address", "field", "transposed"])
def test_every_kind_of_output_is_copied_back(memory: Memory, name: str) -> None:
    array = CASES[name].copy() if name != "odd address" else CASES[name]
    copy = copy_of(array, is_output=True)
    (seen,) = staged(memory, copy)
    seen += 1
    expected = array + 1
    copy_back(copy)
    assert np.array_equal(array, expected)


def test_equal_tensors_are_copied_once(memory: Memory) -> None:
    array = np.arange(4.0)
    copies = [copy_of(array), copy_of(array[:]), copy_of(array[1:])]
    assert [len(block.copies) for block in plan(copies)] == [2, 1]
    staged(memory, *copies)
    assert copies[0].region is copies[1].region
    assert copies[0].offset == copies[1].offset
    assert copies[0].region is not copies[2].region


def test_overlap_with_an_output_stays_overlap(memory: Memory) -> None:
    array = np.arange(8.0)
    source, out = copy_of(array[:5]), copy_of(array[3:], is_output=True)
    seen = staged(memory, source, out)
    assert source.region is out.region
    assert out.offset - source.offset == 3 * 8
    assert np.shares_memory(seen[0], seen[1])
    assert out.room == 0  # a tensor beside it must not be written over


def test_tensors_without_elements_share_nothing(memory: Memory) -> None:
    """Wherever they are, each may be given room of its own."""
    base = np.zeros(8, np.float32)
    for views in ((base[:0], base[:0]), (base[2:2], base[:0].reshape(0, 3)), (base[3:3], base)):
        copies = [copy_of(view, is_output=True) for view in views]
        staged(memory, *copies)
        assert copies[0].region is not copies[1].region
        for copy in copies:
            assert copy.region is not None
            assert copy.room == copy.region.size - copy.offset


def test_interleaved_tensors_are_copied_together(memory: Memory) -> None:
    array = np.arange(16.0).reshape(4, 4)
    left, right = copy_of(array[:, :2]), copy_of(array[:, 2:], is_output=True)
    seen = staged(memory, left, right)
    assert left.region is right.region
    assert not np.shares_memory(seen[0], seen[1])
    seen[1][:] = seen[0]
    copy_back(right)
    assert np.array_equal(array[:, 2:], array[:, :2])


def test_overlap_goes_on_over_a_third_tensor(memory: Memory) -> None:
    array = np.arange(9.0)
    copies = [copy_of(array[:4]), copy_of(array[3:7], True), copy_of(array[6:]), copy_of(array[:4])]
    (block,) = plan(copies)
    assert len(block.copies) == 4


def test_inputs_that_overlap_need_not_be_together() -> None:
    array = np.arange(8.0)
    assert len(plan([copy_of(array[:5]), copy_of(array[3:])])) == 2


def test_columns_far_apart_are_apart(memory: Memory, buffers: FakeBuffers) -> None:
    array = np.zeros((2000, 2000))
    staged(memory, copy_of(array[:, 0]), copy_of(array[:, 1000], is_output=True))
    assert sum(buffers.made) < 200_000


def test_columns_far_apart_that_share_elements_are_together(memory: Memory) -> None:
    array = np.zeros((200, 2000))
    source, out = copy_of(array[:, 0]), copy_of(array[:100, 0], is_output=True)
    staged(memory, source, out)
    assert source.region is out.region


def test_a_reversed_input_of_its_own_output_is_a_copy(memory: Memory) -> None:
    """No strides can say it; the result is as if the input had been copied before."""
    array = np.arange(5.0)
    source, out = copy_of(array[::-1]), copy_of(array, is_output=True)
    seen = staged(memory, source, out)
    assert source.region is not out.region
    seen[1][:] = seen[0]
    copy_back(out)
    assert array.tolist() == [4, 3, 2, 1, 0]


def test_memory_is_given_back_but_not_used_again_if_a_kernel_may_write(memory: Memory) -> None:
    for is_over in (True, False):
        staging = Staging(memory)
        copy = copy_of(np.zeros(4))
        staging.stage([copy])
        region = copy.region
        assert region is not None
        staging.close(is_over)
        (again,) = memory.allocate([32])
        assert (again.region is region) == is_over


def cut(random: np.random.Generator, size: int) -> slice:
    low, high = sorted(random.integers(0, size + 1, 2).tolist())
    return slice(low, high, int(random.integers(1, 3)))


def test_a_random_mix_of_views_agrees_with_numpy(memory: Memory) -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        base = random.random((4, 5, 6))
        arrays = []
        for _ in range(3):
            cuts = tuple(
                cut(random, n) if random.random() < 0.8 else slice(None, None, -1)
                for n in base.shape
            )
            arrays.append(base[cuts].transpose(random.permutation(3)))
        copies = [copy_of(array, index == 0) for index, array in enumerate(arrays)]
        seen = staged(memory, *copies)
        for array, one in zip(arrays, seen, strict=True):
            assert np.array_equal(array, one)
        seen[0][...] = 7
        expected = base.copy()
        offset = arrays[0].ctypes.data - base.ctypes.data
        np.ndarray(arrays[0].shape, base.dtype, expected.data, offset, arrays[0].strides)[...] = 7
        copy_back(copies[0])
        assert np.array_equal(base, expected)
