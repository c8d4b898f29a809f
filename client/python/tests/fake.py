# SPDX-License-Identifier: Apache-2.0
"""A daemon's buffers and kernels, in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernrig import _dtypes
from kernrig._execute import Executor
from kernrig._memory import Mapping, Memory
from kernrig._proto import execute_pb2, operator_pb2
from kernrig._registry import OperatorRegistry
from kernrig.errors import LimitExceeded

PAGE = 4096


class FakeBuffers:
    """Makes memfds, as the daemon does, up to a limit; sees them through mappings of its own."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit
        self.descriptors: dict[int, int] = {}
        self.mappings: dict[int, Mapping] = {}
        self.made: list[int] = []
        self.freed: list[int] = []
        self.last = 0
        self.lock = threading.Lock()

    def memory(self) -> Memory:
        return Memory(self.create, self.fetch, self.free, PAGE)

    def create(self, sizes: Sequence[int]) -> list[tuple[int, int]]:
        with self.lock:
            if len(self.mappings) + len(sizes) > self.limit:
                raise LimitExceeded("the limit 'buffers'")
            return self._make(sizes)

    def _make(self, sizes: Sequence[int]) -> list[tuple[int, int]]:
        result = []
        for size in sizes:
            self.last += 1
            whole = max(1, -(-size // PAGE)) * PAGE
            descriptor = os.memfd_create("fake")
            os.ftruncate(descriptor, whole)
            self.descriptors[self.last] = descriptor
            self.mappings[self.last] = Mapping(descriptor, whole)
            self.made.append(whole)
            result.append((self.last, whole))
        return result

    def fetch(self, handles: Sequence[int]) -> list[int]:
        return [self.descriptors.pop(handle) for handle in handles]

    def free(self, handles: Sequence[int]) -> None:
        for handle in handles:
            del self.mappings[handle]
            self.freed.append(handle)

    def array(self, tensor: execute_pb2.Tensor, sizes: Sequence[int] | None = None) -> Any:
        """What a kernel would see of a tensor; with other sizes, contiguous from its offset on."""
        mapping = self.mappings[tensor.buffer]
        whole = bytes_of(mapping)
        dtype = _dtypes.to_numpy(tensor.dtype)
        strides = None if sizes is not None else [s * dtype.itemsize for s in tensor.strides]
        shape = tuple(tensor.sizes if sizes is None else sizes)
        return np.ndarray(shape, dtype, buffer=whole, offset=tensor.offset, strides=strides)


def bytes_of(mapping: Mapping) -> np.ndarray[Any, Any]:
    """All bytes of a mapping."""
    return np.asarray(_Bytes(mapping))


class _Bytes:
    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.__array_interface__ = {
            "version": 3,
            "shape": (mapping.size,),
            "typestr": "|u1",
            "data": (mapping.address, False),
        }


Kernel = Callable[["FakeDaemon", execute_pb2.Call, execute_pb2.CallResult], None]


class FakeDaemon:
    """Answers Execute and ListOperators with kernels that are Python functions."""

    def __init__(self, kernels: dict[str, Kernel], known: Sequence[str] = ()) -> None:
        self.buffers = FakeBuffers()
        self.kernels = kernels
        self.known = known
        self.requests: list[execute_pb2.ExecuteRequest] = []
        self.generation = 1
        self.listed = 0
        self.memory = self.buffers.memory()
        self.limits = {"tensors": 64, "timeout_ms": 90_000_000}
        self.executor = Executor(self, b"s" * 16, self.memory, self.limits)  # type: ignore[arg-type]  # it has the one method that is used
        self.registry = OperatorRegistry(self.list_operators, self.run, self.limits)

    def run(self, calls: Any) -> Any:
        self.registry._fresh()
        results = self.executor.run(calls)
        self.registry._announce(self.executor.generation)
        return results

    def list_operators(self) -> operator_pb2.ListOperatorsResponse:
        self.listed += 1
        reply = operator_pb2.ListOperatorsResponse(generation=self.generation)
        for schema in sorted([*self.kernels, *self.known]):
            operator = reply.operators.add(name=schema.partition("(")[0], schema=schema)
            operator.tags.append("numbers")
            if schema in self.kernels:
                operator.kernels.add(name="k", provider="fake", dtypes=[6], registered_at=1)
        return reply

    def execute(
        self, request: execute_pb2.ExecuteRequest, timeout: float
    ) -> execute_pb2.ExecuteResponse:
        copy = execute_pb2.ExecuteRequest()
        copy.CopyFrom(request)
        self.requests.append(copy)
        reply = execute_pb2.ExecuteResponse(generation=self.generation)
        for call in request.calls:
            result = reply.results.add(kernel="k", provider="fake", kernel_ns=5)
            result.outputs.SetInParent()
            by_name = {schema.partition("(")[0]: kernel for schema, kernel in self.kernels.items()}
            by_name[call.operator](self, call, result)
        return reply

    def tensors(self, call: execute_pb2.Call) -> list[execute_pb2.Tensor]:
        found = []
        for argument in call.arguments:
            values = argument.list.items if argument.HasField("list") else [argument.value]
            found += [value.tensor for value in values if value.HasField("tensor")]
        return found


ADD = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"


def add(daemon: FakeDaemon, call: execute_pb2.Call, result: execute_pb2.CallResult) -> None:
    """add.out, which gives its output the right shape if the capacity has room for it."""
    a, b, out = daemon.tensors(call)
    total = daemon.buffers.array(a) + daemon.buffers.array(b)
    resize(daemon, out, 3, total, result)


def resize(
    daemon: FakeDaemon,
    out: execute_pb2.Tensor,
    argument: int,
    value: np.ndarray[Any, Any],
    result: execute_pb2.CallResult,
) -> None:
    """Writes a value into an output as a worker does, in its own shape if there is room."""
    shape = list(value.shape)
    if list(out.sizes) == shape:
        daemon.buffers.array(out)[...] = value
        return
    strides = [int(np.prod(shape[i + 1 :], dtype=int)) for i in range(len(shape))]
    extent = 0
    if 0 not in out.sizes:
        extent = 1 + sum((n - 1) * s for n, s in zip(out.sizes, out.strides, strict=True))
    item = _dtypes.SIZES[out.dtype]
    if value.size * item > max(out.capacity, extent * item):
        result.fault.status = -7
        result.fault.message = "no room"
        result.fault.needed.argument = argument
        result.fault.needed.sizes.extend(shape)
        result.fault.needed.strides.extend(strides)
        return
    result.outputs.reshaped.add(argument=argument, sizes=shape, strides=strides)
    daemon.buffers.array(out, shape)[...] = value
