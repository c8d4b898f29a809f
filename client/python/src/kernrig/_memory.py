# SPDX-License-Identifier: Apache-2.0
"""Shared memory: the buffers of one session, mapped into this process.

A Region is one buffer: a handle of the daemon, and the address where it is mapped. Whoever uses a
region holds its Lease: a tensor of the user's in the end, a call for its copies, or the pool of
those that wait to be used again. There is one for each region, so a region has one owner. When a
lease is dropped, its region is noted in a queue, by the interpreter alone: no line of Python
runs, at a moment that nobody can foresee, in which an interrupt could lose it. So a region that
was on its way to somebody who was interrupted comes back like any other.

What must not be interrupted at all is done by a thread of our own (_helper): it makes regions,
takes up the queue, and gives buffers back to the daemon, many at a time. There are no locks; the
helper alone changes the table and the list of what is to be freed.

An address range stays in the table for as long as it is mapped. So an ordinary tensor can never be
taken for a shared one whose memory has been unmapped and given to somebody else.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence

from kernrig._helper import Helper
from kernrig.errors import KernrigError, LimitExceeded, SystemFailure

POOL_BYTES = 64 << 20
POOL_REGIONS = 256
# Freed buffers are sent to the daemon when so many wait; they cost it descriptors and memory.
_WAITING_BUFFERS = 64
_WAITING_BYTES = 64 << 20
_EXACT_BYTES = 16 << 20
_PART = 512  # regions; what a new one makes the helper copy
_END_SECONDS = 10.0  # the helper has been woken up, and has little to do

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
        is_exposed: whether a kernel may write to it that nobody waits for any more, so that it must
            not be used again.
    """

    __slots__ = ("address", "handle", "is_exposed", "is_used", "mapping", "promised", "size")

    def __init__(self, handle: int, mapping: Mapping) -> None:
        self.handle = handle
        self.mapping = mapping
        self.address = mapping.address
        self.size = mapping.size
        self.promised = 0
        self.is_used = False
        self.is_exposed = False


class Lease:
    """The use of a region. What every view of it keeps alive, in the end: the base of numpy arrays.

    numpy makes an array of bytes on it, by the array interface.

    Attributes:
        region: the region.
        since: when it was last put into the pool, as a number that grows.
    """

    __slots__ = ("__array_interface__", "__weakref__", "region", "since")

    def __init__(self, region: Region) -> None:
        self.region = region
        self.since = 0
        # No property: numpy would take an interrupt in it for the lack of an interface.
        self.__array_interface__ = {
            "version": 3,
            "shape": (region.size,),
            "typestr": "|u1",
            "data": (region.address, False),
        }


class _Reference(weakref.ref[Lease]):
    """Of a lease; what is left of it when it has been dropped.

    Attributes:
        region: the region.
    """

    __slots__ = ("region",)
    region: Region


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
    """Leases that wait to be used again, the longest unused first to go.

    Any thread may put and take, an interrupt at any moment: a lease is in the pool, or its taker
    has it.
    """

    def __init__(self) -> None:
        self._by_size: dict[int, deque[Lease]] = {}
        self._clock = itertools.count(1)

    def take(self, size: int) -> Lease | None:
        """The lease of a region of exactly this size."""
        leases = self._by_size.get(size)
        try:
            return leases.pop() if leases else None
        except IndexError:  # another thread was faster
            return None

    def put(self, lease: Lease) -> None:
        """Keeps a lease that nobody else has."""
        region = lease.region
        region.is_used = True
        region.promised = 0
        lease.since = next(self._clock)
        self._by_size.setdefault(region.size, deque()).append(lease)

    def is_overfull(self) -> bool:
        """Whether some have to go."""
        counts = [(size, len(leases)) for size, leases in list(self._by_size.items())]
        return (
            sum([count for _, count in counts]) > POOL_REGIONS
            or sum([size * count for size, count in counts]) > POOL_BYTES
        )

    def shrink(self) -> list[Lease]:
        """Takes out those that have to go."""
        for size, leases in list(self._by_size.items()):
            if not leases:
                # What another thread puts there now is dropped with it, and so taken up again.
                self._by_size.pop(size, None)
        gone: list[Lease] = []
        while self.is_overfull():
            oldest = self._oldest()
            if oldest is not None:
                gone.append(oldest)
        return gone

    def clear(self) -> list[Lease]:
        """Takes out all of them."""
        gone: list[Lease] = []
        while (oldest := self._oldest()) is not None:
            gone.append(oldest)
        return gone

    def _oldest(self) -> Lease | None:
        """Takes out one, the longest unused as far as other threads let us see."""
        found = []
        for leases in list(self._by_size.values()):
            try:
                found.append((leases[0].since, leases))
            except IndexError:
                continue
        for _, leases in sorted(found, key=lambda each: each[0]):
            try:
                return leases.popleft()
            except IndexError:  # another thread has taken it
                continue
        return None


_Part = tuple[list[int], list[Region]]  # addresses, and what begins there


class _Table:
    """Regions by address. One thread writes to it, and any may read without a lock.

    Sorted, in parts of a limited size. What readers see is never changed, only replaced, so a new
    region costs a copy of its part and of the list of parts.
    """

    def __init__(self) -> None:
        self._parts: tuple[list[int], list[_Part]] = ([], [])  # by the first address of each

    def find(self, address: int) -> Region | None:
        """The region that an address lies in."""
        firsts, parts = self._parts
        index = bisect_right(firsts, address) - 1
        if index < 0:
            return None
        starts, regions = parts[index]
        region = regions[bisect_right(starts, address) - 1]
        return region if address < region.address + region.size else None

    def __len__(self) -> int:
        return sum(len(starts) for starts, _ in self._parts[1])

    def add(self, region: Region) -> None:
        """Takes a region in."""
        firsts, parts = self._parts
        index = max(0, bisect_right(firsts, region.address) - 1)
        starts, regions = parts[index] if parts else ([], [])
        place = bisect_right(starts, region.address)
        starts = [*starts[:place], region.address, *starts[place:]]
        regions = [*regions[:place], region, *regions[place:]]
        half = len(starts) // 2 if len(starts) > _PART else len(starts)
        new = [(starts[:half], regions[:half]), (starts[half:], regions[half:])]
        self._replace([*parts[:index], *new, *parts[index + 1 :]])

    def remove(self, regions: Sequence[Region]) -> None:
        """Takes regions out."""
        firsts, old = self._parts
        parts = list(old)
        gone: dict[int, set[int]] = {}  # addresses, by the part that they are in
        for region in regions:
            index = bisect_right(firsts, region.address) - 1
            gone.setdefault(index, set()).add(region.address)
        for index, addresses in gone.items():
            kept = [region for region in parts[index][1] if region.address not in addresses]
            parts[index] = [region.address for region in kept], kept
        self._replace(parts)

    def clear(self) -> None:
        """Takes all out."""
        self._parts = ([], [])

    def _replace(self, parts: list[_Part]) -> None:
        parts = [part for part in parts if part[0]]
        self._parts = ([starts[0] for starts, _ in parts], parts)


class Memory:
    """All regions of a session. Thread-safe, also where a thread is interrupted.

    Attributes:
        find: the region that an address lies in, or None.
    """

    def __init__(
        self,
        create: Callable[[Sequence[int]], list[tuple[int, int]]],
        fetch: Callable[[Sequence[int]], list[int]],
        free: Callable[[Sequence[int]], None],
        page: int,
    ) -> None:
        """Three requests to the daemon, made in the helper's thread, and its page size.

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
        self._helper = Helper()
        self._pool = _Pool()
        self._table = _Table()
        self.find = self._table.find
        self._dropped: deque[_Reference] = deque()
        self._is_told = False  # that there are some
        # What follows is the helper's.
        self._references: dict[int, _Reference] = {}  # of each region, by handle
        self._waiting: list[int] = []  # handles that the daemon is to be told to free
        self._waiting_bytes = 0

    def allocate(self, sizes: Sequence[int]) -> list[Lease]:
        """Leases of regions of at least these sizes, in bytes; 0 gives a page.

        Raises:
            LimitExceeded: the daemon has no more for this session.
            ConnectionLost: it is gone.
        """
        wanted = [size_class(size, self._page) for size in sizes]
        found = self._take(wanted)
        missing = [size for size, lease in zip(wanted, found, strict=True) if lease is None]
        if missing:
            made = iter(self._helper.do(lambda: self._supply(missing)))
            found = [next(made) if lease is None else lease for lease in found]
        else:
            self.tend()
        return [lease for lease in found if lease is not None]

    def recycle(self, leases: Sequence[Lease]) -> None:
        """Takes leases back that the caller gives up, of regions that nobody writes to."""
        for lease in leases:
            lease.region.is_exposed = False
            self._pool.put(lease)
        if self._pool.is_overfull():
            self._helper.tell(self._tend)

    def tend(self) -> None:
        """Has regions taken up whose leases are gone, some time soon."""
        if self._dropped and not self._is_told:
            self._is_told = True
            self._helper.tell(self._tend)

    def flush(self) -> None:
        """Tells the daemon about all buffers that are no longer needed."""
        self._helper.do(self._flush)

    def settle(self) -> None:
        """Waits until nothing is asked of the daemon that nobody waits for."""
        self._helper.wait(_END_SECONDS)

    def close(self) -> None:
        """Forgets everything. What views still show stays mapped until they are gone."""
        self._helper.close(self._clear)

    def join(self) -> bool:
        """Waits until the helper has ended, which closing has told it; whether it has."""
        return self._helper.wait(_END_SECONDS)

    def _take(self, sizes: Sequence[int]) -> list[Lease | None]:
        return [self._pool.take(size) for size in sizes]

    # In the helper's thread.

    def _supply(self, sizes: Sequence[int]) -> list[Lease]:
        """Leases from the pool, after those that are gone have been taken up, or new ones."""
        self._tend()
        found = self._take(sizes)
        missing = [size for size, lease in zip(sizes, found, strict=True) if lease is None]
        made = iter(self._make(missing) if missing else [])
        return [next(made) if lease is None else lease for lease in found]

    def _tend(self) -> None:
        self._is_told = False
        exposed: list[Region] = []
        while self._dropped:
            region = self._dropped.popleft().region
            if region.is_exposed:
                exposed.append(region)
            else:
                self._pool.put(self._lease(region))
        self._drop(exposed)
        excess = self._pool.shrink()
        self._drop([lease.region for lease in excess])
        if len(self._waiting) > _WAITING_BUFFERS or self._waiting_bytes > _WAITING_BYTES:
            self._free_waiting()

    def _flush(self) -> None:
        self._tend()
        self._free_waiting()

    def _clear(self) -> None:
        self._references.clear()  # first: what they would note is of no use any more
        self._dropped.clear()
        self._pool.clear()
        self._table.clear()
        self._waiting = []

    def _lease(self, region: Region) -> Lease:
        lease = Lease(region)
        # A method of the interpreter's own: no handler of a signal can run in it.
        reference = _Reference(lease, self._dropped.append)
        reference.region = region
        self._references[region.handle] = reference
        return lease

    def _drop(self, regions: Sequence[Region]) -> None:
        """Unmaps regions whose leases are gone, or are about to go unnoticed."""
        if not regions:
            return
        for region in regions:
            del self._references[region.handle]
        self._table.remove(regions)
        self._note_waiting([(region.handle, region.size) for region in regions])

    def _note_waiting(self, buffers: Sequence[tuple[int, int]]) -> None:
        self._waiting += [handle for handle, _ in buffers]
        self._waiting_bytes += sum([size for _, size in buffers])

    def _free_waiting(self) -> None:
        handles, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if handles:
            try:
                self._free(handles)
            except KernrigError:
                # Nobody waits for this. Whoever next asks for something finds out why.
                return

    def _make(self, sizes: Sequence[int]) -> list[Lease]:
        try:
            made = self._create(sizes)
        except LimitExceeded:
            # What only waits here counts there.
            pooled = self._pool.clear()
            self._drop([lease.region for lease in pooled])
            if not self._waiting:
                raise
            self._free_waiting()
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
            self._note_waiting(made)
            raise
        for region in regions:
            self._table.add(region)
        return [self._lease(region) for region in regions]
