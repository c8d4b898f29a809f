# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest

from kernrig import _memory
from kernrig._memory import Memory, Region, size_class
from kernrig.errors import LimitExceeded
from tests.fake import PAGE, FakeBuffers


def is_mapped(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        if low <= address < high:
            return True
    return False


def test_size_classes_waste_little() -> None:
    previous = 0
    for pages in range(1, 5000):
        size = size_class(pages * PAGE - 1, PAGE)
        assert size % PAGE == 0
        assert size >= pages * PAGE
        assert size <= max(pages * PAGE * 5 // 4, 8 * PAGE)
        assert size >= previous
        previous = size
    assert size_class(0, PAGE) == PAGE
    assert size_class((64 << 20) + 1, PAGE) == (64 << 20) + PAGE  # exact where it is large


def test_an_address_is_found_in_its_region_only(memory: Memory) -> None:
    regions = memory.allocate([10, PAGE + 1, 3 * PAGE])
    for region in regions:
        assert memory.find(region.address) is region
        assert memory.find(region.address + region.size - 1) is region
    own = {region.handle for region in regions}
    for region in regions:
        for outside in (region.address - 1, region.address + region.size):
            found = memory.find(outside)
            assert found is None or (found is not region and found.handle in own)
    assert memory.find(np.zeros(1).ctypes.data) is None


def test_a_region_lives_while_any_view_does(memory: Memory, buffers: FakeBuffers) -> None:
    (region,) = memory.allocate([64])
    array = np.asarray(memory.lease(region, 64))
    view = array[10:20].reshape(2, 5).T
    del array
    gc.collect()
    memory.tend()
    (other,) = memory.allocate([64])
    assert other.handle != region.handle
    del view
    gc.collect()
    (again,) = memory.allocate([64])
    assert again is region  # from the pool
    assert again.is_used


def test_a_finalizer_only_notes(memory: Memory, buffers: FakeBuffers) -> None:
    (region,) = memory.allocate([64])
    lease = memory.lease(region, 64)
    with memory._lock:  # a finalizer that took the lock would never return
        del lease
    assert memory.find(region.address) is region


def test_large_pools_shrink_the_oldest_first(buffers: FakeBuffers) -> None:
    memory = buffers.memory()
    regions = memory.allocate([_memory.POOL_BYTES // 4] * 6)
    addresses = [region.address for region in regions]
    memory.recycle(regions)
    handles = [region.handle for region in regions]
    del regions
    memory.flush()
    assert buffers.freed == handles[:2]
    assert memory.find(addresses[0]) is None
    assert memory.find(addresses[5]) is not None


def test_the_pool_holds_few_regions(buffers: FakeBuffers) -> None:
    memory = buffers.memory()
    memory.recycle(memory.allocate([1] * (_memory.POOL_REGIONS + 10)))
    memory.flush()
    assert len(buffers.freed) == 10


def test_a_discarded_region_is_not_used_again(memory: Memory, buffers: FakeBuffers) -> None:
    (region,) = memory.allocate([64])
    handle, address = region.handle, region.address
    memory.discard([region])
    del region
    assert not is_mapped(address)
    assert memory.find(address) is None
    (other,) = memory.allocate([64])
    assert other.handle != handle
    memory.flush()
    assert buffers.freed == [handle]


def test_many_waiting_buffers_are_freed_together(memory: Memory, buffers: FakeBuffers) -> None:
    regions = memory.allocate([1] * 100)
    for region in regions[:50]:
        memory.discard([region])
    memory.tend()
    assert buffers.freed == []
    memory.discard(regions[50:])
    memory.tend()
    assert len(buffers.freed) == 100


def test_a_full_session_gives_up_what_only_waits() -> None:
    buffers = FakeBuffers(limit=10)
    memory = buffers.memory()
    memory.recycle(memory.allocate([1] * 10))
    regions = memory.allocate([2 * PAGE] * 8)
    assert len(regions) == 8
    with pytest.raises(LimitExceeded):
        memory.allocate([2 * PAGE] * 8)
    assert memory.find(regions[0].address) is regions[0]


def test_a_failed_allocation_keeps_what_it_took_from_the_pool() -> None:
    buffers = FakeBuffers(limit=2)
    memory = buffers.memory()
    kept = memory.allocate([PAGE])
    memory.recycle(memory.allocate([PAGE]))
    with pytest.raises(LimitExceeded):
        memory.allocate([PAGE, PAGE])
    assert len(memory.allocate([PAGE])) == len(kept)


def test_views_outlive_the_session(memory: Memory) -> None:
    (region,) = memory.allocate([64])
    array = np.asarray(memory.lease(region, 64))
    address = region.address
    del region
    memory.close()
    array[:] = 7
    assert memory.find(address) is None
    del array
    gc.collect()
    assert not is_mapped(address)


def test_allocating_from_many_threads_gives_each_its_own(memory: Memory) -> None:
    found: list[Region] = []

    def work() -> None:
        for _ in range(50):
            regions = memory.allocate([100, 5000])
            found.extend(regions)
            memory.recycle(memory.allocate([100]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({region.handle for region in found}) == len(found) == 400
    for region in found:
        assert memory.find(region.address + 7) is region
