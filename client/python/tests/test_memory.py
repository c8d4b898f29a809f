# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import random
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from kernrig import _execute, _factory, _helper, _memory, _staging, _tensors
from kernrig._factory import empty, tensor
from kernrig._memory import Lease, Memory, size_class
from kernrig.errors import ConnectionLost, LimitExceeded, SystemFailure
from tests.fake import ADD, PAGE, FakeBuffers, FakeDaemon, add
from tests.interrupt import interrupted_at


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
    leases = memory.allocate([10, PAGE + 1, 3 * PAGE])
    regions = [lease.region for lease in leases]
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
    (lease,) = memory.allocate([64])
    region = lease.region
    view = np.asarray(lease)[10:20].reshape(2, 5).T
    del lease
    gc.collect()
    (other,) = memory.allocate([64])
    assert other.region.handle != region.handle
    del view
    gc.collect()
    (again,) = memory.allocate([64])
    assert again.region is region  # from the pool
    assert again.region.is_used


def test_a_region_on_its_way_comes_back(memory: Memory) -> None:
    """Whoever was to have it was interrupted, and it has been made by then."""
    memory._helper.do(lambda: memory._supply([PAGE, 2 * PAGE]))
    made = len(memory._table)
    memory.allocate([PAGE])
    memory.allocate([2 * PAGE])
    assert len(memory._table) == made


def test_an_interrupt_at_any_line_loses_nothing(buffers: FakeBuffers) -> None:
    daemon = FakeDaemon({ADD: add})
    memory = daemon.memory

    def work() -> None:
        a, out = tensor(memory, [1.0, 2.0], "f32"), empty(memory, 3000, "f32", is_zero=True)
        daemon.registry.aten.add.out(np.ones(2, np.float32), a, out=out[:2])
        daemon.registry.aten.add.out(np.ones(9000, np.float32), a[:1], out=np.ones(9000, "f4"))

    modules = (_execute, _factory, _helper, _memory, _staging, _tensors)
    line = 1
    while interrupted_at(line, work, *modules):
        line += 1
        memory.flush()
        # Whatever has been made waits to be used again.
        waiting = sum(map(len, memory._pool._by_size.values()))
        assert waiting == len(memory._table) == len(daemon.buffers.mappings)
    assert line > 100


def test_nothing_of_python_runs_when_a_lease_is_dropped(memory: Memory) -> None:
    """A signal handler would run in it, and an exception of that would be lost, or the region."""
    (lease,) = memory.allocate([64])
    called: list[str] = []
    sys.setprofile(lambda frame, event, argument: called.append(event))
    del lease
    sys.setprofile(None)
    assert "call" not in called
    assert len(memory._dropped) == 1


def test_large_pools_shrink_the_oldest_first(buffers: FakeBuffers) -> None:
    memory = buffers.memory()
    leases = memory.allocate([_memory.POOL_BYTES // 4] * 6)
    addresses = [lease.region.address for lease in leases]
    handles = [lease.region.handle for lease in leases]
    memory.recycle(leases)
    del leases
    memory.flush()
    assert buffers.freed == handles[:2]
    assert memory.find(addresses[0]) is None
    assert memory.find(addresses[5]) is not None


def test_the_pool_holds_few_regions(buffers: FakeBuffers) -> None:
    memory = buffers.memory()
    memory.recycle(memory.allocate([1] * (_memory.POOL_REGIONS + 10)))
    memory.flush()
    assert len(buffers.freed) == 10


def test_an_exposed_region_is_not_used_again(memory: Memory, buffers: FakeBuffers) -> None:
    (lease,) = memory.allocate([64])
    handle, address = lease.region.handle, lease.region.address
    lease.region.is_exposed = True
    del lease
    memory.flush()
    assert not is_mapped(address)
    assert memory.find(address) is None
    assert buffers.freed == [handle]
    (other,) = memory.allocate([64])
    assert other.region.handle != handle


def test_many_waiting_buffers_are_freed_together(memory: Memory, buffers: FakeBuffers) -> None:
    leases = memory.allocate([1] * 100)
    for lease in leases:
        lease.region.is_exposed = True
    del lease, leases[:50]
    memory.tend()
    memory.settle()
    assert buffers.freed == []
    del leases
    memory.tend()
    memory.settle()
    assert len(buffers.freed) == 100


def test_a_full_session_gives_up_what_only_waits() -> None:
    buffers = FakeBuffers(limit=10)
    memory = buffers.memory()
    memory.recycle(memory.allocate([1] * 10))
    leases = memory.allocate([2 * PAGE] * 8)
    assert len(leases) == 8
    with pytest.raises(LimitExceeded):
        memory.allocate([2 * PAGE] * 8)
    assert memory.find(leases[0].region.address) is leases[0].region


def test_a_failed_allocation_keeps_what_it_took_from_the_pool() -> None:
    buffers = FakeBuffers(limit=2)
    memory = buffers.memory()
    kept = memory.allocate([PAGE])
    memory.recycle(memory.allocate([PAGE]))
    with pytest.raises(LimitExceeded):
        memory.allocate([PAGE, PAGE])
    assert len(memory.allocate([PAGE])) == len(kept)


def test_views_outlive_the_session(memory: Memory) -> None:
    (lease,) = memory.allocate([64])
    array = np.asarray(lease)
    address = lease.region.address
    del lease
    memory.close()
    assert memory.join()
    array[:] = 7
    assert memory.find(address) is None
    del array
    gc.collect()
    assert not is_mapped(address)


def test_allocating_from_many_threads_gives_each_its_own(memory: Memory) -> None:
    found: list[Lease] = []

    def work() -> None:
        for _ in range(50):
            found.extend(memory.allocate([100, 5000]))
            memory.recycle(memory.allocate([100]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    regions = [lease.region for lease in found]
    assert len({region.handle for region in regions}) == len(regions) == 400
    for region in regions:
        assert memory.find(region.address + 7) is region


def test_sizes_that_are_not_used_any_more_are_forgotten(memory: Memory) -> None:
    for pages in range(1, 200):
        leases = memory.allocate([_memory._EXACT_BYTES + pages * PAGE])
        leases[0].region.is_exposed = True
        memory.recycle(leases)
    memory.flush()
    assert len(memory._pool._by_size) <= 4


def test_many_regions_are_found(buffers: FakeBuffers) -> None:
    """In more parts than one, however they come and go."""
    buffers.limit = 5000
    memory = buffers.memory()
    leases = memory.allocate([1] * 2000)
    regions = {lease.region.address: lease.region for lease in leases}
    generator = random.Random(3)
    for count in (1500, 20, 0):
        generator.shuffle(leases)
        for lease in leases[count:]:
            lease.region.is_exposed = True
        del lease, leases[count:]
        memory.flush()
        kept = {lease.region.address for lease in leases}
        assert len(memory._table) == len(kept) == count
        for address, region in regions.items():
            assert memory.find(address + 5) is (region if address in kept else None)


def test_a_memory_that_is_forgotten_ends_its_thread(buffers: FakeBuffers) -> None:
    memory = buffers.memory()
    memory.allocate([1])
    state = memory._helper._state
    jobs = memory._helper._jobs
    del memory
    gc.collect()
    last = _helper._Job(lambda: None)
    jobs.put(last)
    if "ended" not in state:
        assert last.done.acquire(timeout=10)
    assert "ended" in state


def test_a_closed_memory_gives_nothing(memory: Memory) -> None:
    memory.allocate([1])
    memory.close()
    assert memory.join()
    with pytest.raises(ConnectionLost, match="closed"):
        memory.allocate([1])
    memory.tend()
    memory.close()
    assert memory.join()


def test_a_finalizer_in_the_helper_is_no_deadlock(memory: Memory) -> None:
    memory.allocate([1])

    def finalizer() -> object:
        with pytest.raises(SystemFailure, match="finalizer"):
            memory.allocate([1])
        memory.close()
        return memory.join()

    assert memory._helper.do(finalizer) is False
    assert memory.join()
