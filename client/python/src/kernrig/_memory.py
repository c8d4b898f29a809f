# SPDX-License-Identifier: Apache-2.0
"""Shared memory: the buffers of one session, mapped into this process.

A Region is one buffer: a handle of the daemon, and the address where it is mapped. A tensor that a
user holds keeps a Lease of its region alive; when the last view of it is gone, the lease notes that
in a queue and nothing else, because finalizers run in any thread and at any moment. Whoever next
allocates or calls takes the queue up: small regions go to a pool, by size, others back to the
daemon, many at a time.

An address range stays in the table for as long as it is mapped. So an ordinary tensor can never be
taken for a shared one whose memory has been unmapped and given to somebody else.
"""

from __future__ import annotations

import ctypes
import os
import threading
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any

from kernrig.errors import LimitExceeded, SystemFailure

POOL_BYTES = 64 << 20
POOL_REGIONS = 256
# Freed buffers are sent to the daemon when so many wait; they cost it descriptors and memory.
_WAITING_BUFFERS = 64
_WAITING_BYTES = 64 << 20
_EXACT_BYTES = 16 << 20

_PROT_READ_WRITE = 3
_MAP_SHARED = 1

# mmap.mmap would keep a descriptor for each mapping, and a process has 1024 by default.
_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
    ctypes.c_longlong,
]
_munmap = _libc.munmap
_munmap.restype = ctypes.c_int
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_MAP_FAILED = ctypes.c_void_p(-1).value


class Mapping:
    """A descriptor's memory, mapped for as long as this object lives."""

    __slots__ = ("_munmap", "address", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        address = _mmap(None, size, _PROT_READ_WRITE, _MAP_SHARED, descriptor, 0)
        if address is None or address == _MAP_FAILED:
            reason = os.strerror(ctypes.get_errno())
            raise SystemFailure(f"a buffer of {size} bytes cannot be mapped: {reason}")
        self.address: int = address
        self.size = size
        self._munmap = _munmap  # module globals are gone at the end of the interpreter

    def __del__(self) -> None:
        if hasattr(self, "_munmap"):
            self._munmap(self.address, self.size)


class Region:
    """One buffer.

    Attributes:
        handle: the daemon's name for it.
        address, size: where it is mapped; bytes, a multiple of the page size.
        promised: bytes from its beginning that belong to the tensor it was made for.
        is_used: whether somebody had it before, so that its content is not zero.
    """

    __slots__ = ("address", "handle", "is_used", "mapping", "promised", "size")

    def __init__(self, handle: int, mapping: Mapping) -> None:
        self.handle = handle
        self.mapping = mapping
        self.address = mapping.address
        self.size = mapping.size
        self.promised = 0
        self.is_used = False


class _Queue:
    """Regions whose last view is gone. None once the session is over: nobody takes them up."""

    __slots__ = ("regions",)

    def __init__(self) -> None:
        self.regions: deque[Region] | None = deque()


class Lease:
    """What every view of a region keeps alive, in the end: the base of numpy arrays.

    numpy makes an array of bytes on it, by the array interface.
    """

    __slots__ = ("_queue", "_region", "mapping")

    def __init__(self, region: Region, queue: _Queue) -> None:
        self._region = region
        self._queue = queue
        self.mapping = region.mapping

    @property
    def __array_interface__(self) -> dict[str, Any]:
        mapping = self.mapping
        return {
            "version": 3,
            "shape": (mapping.size,),
            "typestr": "|u1",
            "data": (mapping.address, False),
        }

    def __del__(self) -> None:
        regions = self._queue.regions
        if regions is not None:
            regions.append(self._region)


def size_class(size: int, page: int) -> int:
    """The size of the buffer that is made for size bytes: few sizes, so that they can be pooled.

    A quarter of a power of two apart, and exact where memory would be wasted in earnest.
    """
    pages = max(1, -(-size // page))
    if size > _EXACT_BYTES:
        return pages * page
    shift = max(0, pages.bit_length() - 3)
    return -(-pages >> shift << shift) * page


class _Pool:
    """Regions that wait to be used again, the longest unused first to go."""

    def __init__(self) -> None:
        self._bytes = 0
        self._regions: OrderedDict[int, Region] = OrderedDict()  # by handle, oldest first
        self._by_size: dict[int, list[Region]] = {}

    def take(self, size: int) -> Region | None:
        """A region of exactly this size."""
        regions = self._by_size.get(size)
        if not regions:
            return None
        region = regions.pop()
        del self._regions[region.handle]
        self._bytes -= size
        return region

    def put(self, region: Region) -> list[Region]:
        """Keeps a region; those that have to go for it, perhaps itself."""
        region.is_used = True
        self._regions[region.handle] = region
        self._by_size.setdefault(region.size, []).append(region)
        self._bytes += region.size
        gone: list[Region] = []
        while self._bytes > POOL_BYTES or len(self._regions) > POOL_REGIONS:
            _, oldest = self._regions.popitem(last=False)
            self._by_size[oldest.size].remove(oldest)
            self._bytes -= oldest.size
            gone.append(oldest)
        return gone

    def clear(self) -> list[Region]:
        """All of them."""
        regions = list(self._regions.values())
        self._regions.clear()
        self._by_size.clear()
        self._bytes = 0
        return regions


class Memory:
    """All regions of a session. Thread-safe; makes no RPC while it holds its lock."""

    def __init__(
        self,
        create: Callable[[Sequence[int]], list[tuple[int, int]]],
        fetch: Callable[[Sequence[int]], list[int]],
        free: Callable[[Sequence[int]], None],
        page: int,
    ) -> None:
        """Three requests to the daemon, and its page size.

        Args:
            create: makes buffers of these sizes; handles and true sizes.
            fetch: descriptors of handles.
            free: gives handles back.
            page: bytes.
        """
        self._create = create
        self._fetch = fetch
        self._free = free
        self._page = page
        self._lock = threading.Lock()
        self._pool = _Pool()
        self._queue = _Queue()
        self._waiting: list[int] = []  # handles that the daemon is to be told to free
        self._waiting_bytes = 0
        # Replaced as a whole, so that find needs no lock.
        self._table: tuple[list[int], list[Region]] = ([], [])

    def find(self, address: int) -> Region | None:
        """The region that an address lies in."""
        starts, regions = self._table
        index = bisect_right(starts, address) - 1
        if index < 0:
            return None
        region = regions[index]
        return region if address < region.address + region.size else None

    def allocate(self, sizes: Sequence[int]) -> list[Region]:
        """Regions of at least these sizes, in bytes; 0 gives a page.

        Raises:
            LimitExceeded: the daemon has no more for this session.
            ConnectionLost: it is gone.
        """
        self.tend()
        wanted = [size_class(size, self._page) for size in sizes]
        with self._lock:
            found = [self._pool.take(size) for size in wanted]
        missing = [size for size, region in zip(wanted, found, strict=True) if region is None]
        if missing:
            try:
                fresh = iter(self._make(missing))
            except BaseException:
                self.recycle([region for region in found if region is not None])
                raise
            found = [next(fresh) if region is None else region for region in found]
        return [region for region in found if region is not None]

    def lease(self, region: Region, promised: int) -> Lease:
        """What a user's tensor of so many bytes keeps alive."""
        region.promised = promised
        return Lease(region, self._queue)

    def recycle(self, regions: Sequence[Region]) -> None:
        """Takes regions back that nobody uses any more, and nobody writes to."""
        if not regions:
            return
        with self._lock:
            if self._queue.regions is None:
                return
            for region in regions:
                self._drop(self._pool.put(region))

    def discard(self, regions: Sequence[Region]) -> None:
        """Takes regions back that a kernel may still write to, for a moment."""
        with self._lock:
            if self._queue.regions is not None:
                self._drop(regions)

    def tend(self) -> None:
        """Takes up regions whose views are gone; tells the daemon when there are many."""
        regions = self._queue.regions
        if regions:
            ended = []
            while regions:
                try:
                    ended.append(regions.popleft())
                except IndexError:  # another thread was faster
                    break
            self.recycle(ended)
        if len(self._waiting) > _WAITING_BUFFERS or self._waiting_bytes > _WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Tells the daemon about all buffers that are no longer needed."""
        with self._lock:
            handles, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if handles:
            self._free(handles)

    def close(self) -> None:
        """Forgets everything. What views still show stays mapped until they are gone."""
        with self._lock:
            self._queue.regions = None
            self._pool.clear()
            self._waiting = []
            self._table = ([], [])

    def _drop(self, regions: Sequence[Region]) -> None:
        """Unmaps regions. The caller holds the lock."""
        if not regions:
            return
        gone = {region.handle for region in regions}
        starts, kept = [], []
        for start, region in zip(*self._table, strict=True):
            if region.handle not in gone:
                starts.append(start)
                kept.append(region)
        self._table = (starts, kept)
        self._waiting += gone
        self._waiting_bytes += sum(region.size for region in regions)

    def _make(self, sizes: Sequence[int]) -> list[Region]:
        try:
            made = self._create(sizes)
        except LimitExceeded:
            # What only waits here counts there.
            with self._lock:
                self._drop(self._pool.clear())
            if not self._waiting:
                raise
            self.flush()
            made = self._create(sizes)
        try:
            descriptors = self._fetch([handle for handle, _ in made])
            regions = []
            try:
                for (handle, size), descriptor in zip(made, descriptors, strict=True):
                    regions.append(Region(handle, Mapping(descriptor, size)))
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
        except BaseException:
            with self._lock:
                self._waiting += [handle for handle, _ in made]
                self._waiting_bytes += sum(size for _, size in made)
            raise
        with self._lock:
            starts, table = list(self._table[0]), list(self._table[1])
            for region in regions:
                index = bisect_right(starts, region.address)
                starts.insert(index, region.address)
                table.insert(index, region)
            self._table = (starts, table)
        return regions
