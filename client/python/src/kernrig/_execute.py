# SPDX-License-Identifier: Apache-2.0
"""The execution of calls: arguments into a request, its reply into values or exceptions.

    put arguments -> copy what is not shared -> Execute -> give outputs more room, once each
                  -> new shapes and copies back -> the caller's objects

A list of calls is one request. Each call has its own outcome, and may use what an earlier one has
written. The memory of copies is given back in any case, but not used again where a kernel may still
write to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernrig._arguments import Arguments, Output, place_copy
from kernrig._memory import Lease, Memory
from kernrig._proto import execute_pb2
from kernrig._staging import Staging, copy_back
from kernrig._tensors import contiguous_strides
from kernrig.errors import (
    InternalError,
    KernelError,
    KernelExited,
    KernelTimeout,
    KernrigError,
    LimitExceeded,
    MalformedRequest,
    PermissionDenied,
    RequestError,
    ResizeError,
    SessionBusy,
    class_of,
)

if TYPE_CHECKING:
    from kernrig._channel import Channel
    from kernrig._operator import Operator

# An operator, its positional arguments, and those by name.
Call = tuple["Operator", tuple[Any, ...], dict[str, Any]]

_RESIZE = ResizeError.status
# Of a whole request: no kernel of it has run.
_REFUSALS = (RequestError, LimitExceeded, MalformedRequest, PermissionDenied, SessionBusy)


class CallResult:
    """What became of one call: Operator.try_call.

    Attributes:
        value: what the call returns, the objects that were passed as outputs.
        error: the exception that it raises, or None.
    """

    __slots__ = ("_message", "error", "value")

    def __init__(self, message: execute_pb2.CallResult) -> None:
        self._message = message
        self.value: Any = None
        self.error: KernrigError | None = None

    @property
    def kernel(self) -> str:
        """The name of the kernel that ran, or ""."""
        return self._message.kernel

    @property
    def provider(self) -> str:
        """Whose kernel it is, or ""."""
        return self._message.provider

    @property
    def kernel_ns(self) -> int:
        """Nanoseconds in the kernel, by the worker's own clock."""
        return self._message.kernel_ns

    @property
    def declined(self) -> int:
        """How many kernels were asked before, and declined."""
        return self._message.declined

    @property
    def log(self) -> str:
        """What the kernel logged."""
        return self._message.log

    def __repr__(self) -> str:
        kernel = f"{self.provider}/{self.kernel}" if self.kernel else "no kernel"
        if self.error is not None:
            return f"<CallResult of {kernel}: {self.error!r}>"
        return f"<CallResult of {kernel}: {self.kernel_ns / 1e3:.1f} µs>"


class _Prepared:
    """A call on its way.

    Attributes:
        operator: what is called.
        arguments: as they stand in the request.
        has_grown: whether an output has been given room.
        moves: new places of outputs that had none, by index.
    """

    __slots__ = ("arguments", "has_grown", "moves", "operator")

    def __init__(self, operator: Operator, arguments: Arguments) -> None:
        self.operator = operator
        self.arguments = arguments
        self.has_grown = False
        self.moves: dict[int, Lease] = {}

    def output(self, reshaped: execute_pb2.Reshaped) -> int:
        """The index of the output that the daemon speaks of."""
        for index, output in enumerate(self.arguments.outputs):
            if (output.argument, output.item) == (reshaped.argument, reshaped.item):
                return index
        raise InternalError(
            f"{self.operator._name}: the daemon speaks of output {reshaped.argument}, "
            f"item {reshaped.item}, which was not passed"
        )


class Executor:
    """Executes calls of one session. Thread-safe."""

    def __init__(
        self, channel: Channel, session: bytes, memory: Memory, limits: Mapping[str, int]
    ) -> None:
        self._channel = channel
        self._session = session
        self._memory = memory
        self._limits = limits
        self.generation = 0  # of the daemon's registry, as of the last reply

    def run(self, calls: Sequence[Call]) -> list[CallResult]:
        """Executes a list of calls in one request.

        Outputs of a single call are given more room where they need it. In a longer list a later
        call may have used the output already, so there ResizeError is that call's outcome.

        Raises:
            KernrigError: an argument cannot be sent, or the request failed as a whole.
        """
        request = execute_pb2.ExecuteRequest()
        request.session = self._session
        prepared = [self._prepare(request.calls.add(), call) for call in calls]
        timeout = sum([each.operator._timeout for each in prepared])
        if not any([each.arguments.copies for each in prepared]):
            return self._exchange(request, prepared, timeout, None)
        self._check_limits(prepared)
        staging = Staging(self._memory)
        is_over = False
        try:
            copies = [pair for each in prepared for pair in each.arguments.copies]
            staging.stage([copy for copy, _ in copies])
            for copy, message in copies:
                place_copy(copy, message)
            results = self._exchange(request, prepared, timeout, staging)
            is_over = not any([isinstance(result.error, KernelError) for result in results])
        finally:
            staging.close(is_over)
        return results

    def _prepare(self, message: execute_pb2.Call, call: Call) -> _Prepared:
        operator, args, kwargs = call
        message.operator = operator._name
        message.timeout_us = operator._timeout_us
        if operator._provider:
            message.provider = operator._provider
        kwargs = operator._spread(kwargs)
        operator._check_outputs(kwargs)
        arguments = Arguments(operator._name, operator._schema, message, self._memory)
        arguments.put(args, kwargs, operator._positions, operator._names)
        return _Prepared(operator, arguments)

    def _check_limits(self, prepared: Sequence[_Prepared]) -> None:
        """Refuses what the daemon would refuse, before thousands of tensors are copied for it."""
        most = self._limits.get("tensors")
        for each in prepared:
            count = len(each.arguments.copies)
            if most is not None and count > most:
                raise LimitExceeded(
                    f"{each.operator._name}: {count} tensors in one call exceed the daemon's limit "
                    f"'tensors' of {most}",
                    operator=each.operator._name,
                )

    # Request and reply.

    def _exchange(
        self,
        request: execute_pb2.ExecuteRequest,
        prepared: Sequence[_Prepared],
        timeout: float,
        staging: Staging | None,
    ) -> list[CallResult]:
        while True:
            try:
                reply = self._channel.execute(request, timeout)
            except BaseException as error:
                if not isinstance(error, _REFUSALS):
                    # Nobody knows how far the kernels have come.
                    for each in prepared:
                        _wrote(each, is_over=False)
                if not isinstance(error, KernelTimeout):
                    raise
                names = ", ".join(dict.fromkeys(each.operator._name for each in prepared))
                raise KernelTimeout(
                    f"{names}: {error}", operator=names, limit=error.limit
                ) from error.__cause__
            self.generation = reply.generation
            if len(reply.results) != len(prepared):
                raise InternalError(
                    f"{len(reply.results)} results for {len(prepared)} calls: the daemon is wrong"
                )
            if len(prepared) > 1 or not self._was_given_room(prepared, reply.results, staging):
                break
        return [
            self._result(each, message)
            for each, message in zip(prepared, reply.results, strict=True)
        ]

    def _was_given_room(
        self,
        prepared: Sequence[_Prepared],
        results: Sequence[execute_pb2.CallResult],
        staging: Staging | None,
    ) -> bool:
        """Whether the call failed for want of room, and has it now."""
        for call, message in zip(prepared, results, strict=True):
            if message.HasField("fault") and message.fault.status == _RESIZE:
                return self._give_room(call, message.fault.needed, staging)
        return False

    def _result(self, call: _Prepared, message: execute_pb2.CallResult) -> CallResult:
        result = CallResult(message)
        if message.log:
            import logging

            logging.getLogger("kernrig.kernel").info("%s: %s", call.operator._name, message.log)
        if message.HasField("fault"):
            result.error = self._fault(call, message)
            if message.kernel:
                _wrote(call, is_over=not isinstance(result.error, KernelError))
            return result
        try:
            self._take_outputs(call, message.outputs)
        except ResizeError as error:
            error.kernel, error.provider = result.kernel, result.provider
            result.error = error
            return result
        result.value = call.operator._value(call.arguments.given, message.outputs.returns)
        return result

    def _fault(self, call: _Prepared, message: execute_pb2.CallResult) -> KernrigError:
        fault = message.fault
        if fault.status == _RESIZE and fault.HasField("needed"):
            output = call.arguments.outputs[call.output(fault.needed)]
            if not output.view.library.can_resize:
                error: KernrigError = _misshapen(call, output, tuple(fault.needed.sizes))
                error.kernel, error.provider = message.kernel, message.provider
                return error
        error = class_of(fault.status)(
            fault.message,
            operator=fault.operator or call.operator._name,
            kernel=message.kernel,
            provider=message.provider,
            signal=fault.signal or None,
            exit_code=fault.exit_code if fault.status == KernelExited.status else None,
            limit=fault.limit_us / 1e6 if fault.limit_us else None,
            needed=tuple(fault.needed.sizes) if fault.HasField("needed") else None,
            printed=fault.printed,
        )
        if error.status != fault.status:
            error.status = fault.status  # of a daemon that knows more errors than this client
        return error

    # Outputs.

    def _give_room(
        self, call: _Prepared, needed: execute_pb2.Reshaped, staging: Staging | None
    ) -> bool:
        """Gives an output the room that it needs; False if it cannot have it, or had it before."""
        index = call.output(needed)
        output = call.arguments.outputs[index]
        if output.is_grown or not output.view.library.can_resize:
            return False
        output.is_grown = call.has_grown = True
        message = output.message
        size = output.view.itemsize
        for length in needed.sizes:
            size *= length
        if output.copy is not None:
            assert staging is not None
            staging.enlarge(output.copy, size)
            place_copy(output.copy, message)
        elif (
            output.region is not None
            and size <= output.region.size
            and output.view.library.owns(output.tensor, output.region)
        ):
            message.capacity = output.region.size
            return True
        else:
            (lease,) = self._memory.allocate([size])
            region = lease.region
            region.promised = size
            call.moves[index] = lease
            message.buffer, message.offset, message.capacity = region.handle, 0, region.size
        # What it held is given up, as resize_ does. Its old sizes may be larger than the new place.
        output.is_emptied = True
        del message.sizes[:], message.strides[:]
        message.sizes.append(0)
        message.strides.append(1)
        return True

    def _take_outputs(self, call: _Prepared, outputs: execute_pb2.Outputs) -> None:
        """Gives the caller's outputs their new shapes, and their elements if they were copied."""
        if outputs.reshaped or call.has_grown:
            shapes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
            for index, output in enumerate(call.arguments.outputs):
                if output.is_emptied:
                    shapes[index] = (0,), (1,)
            for reshaped in outputs.reshaped:
                shapes[call.output(reshaped)] = tuple(reshaped.sizes), tuple(reshaped.strides)
            for index, (sizes, strides) in shapes.items():
                self._reshape(call, index, sizes, strides)
        for output in call.arguments.outputs:
            if output.copy is not None:
                copy_back(output.copy)
            output.view.library.wrote(output.tensor)

    def _reshape(
        self, call: _Prepared, index: int, sizes: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        output = call.arguments.outputs[index]
        library = output.view.library
        if not library.can_resize:
            raise _misshapen(call, output, sizes)
        try:
            lease = call.moves.get(index)
            if lease is not None:
                library.move(output.tensor, lease, output.view.dtype, sizes)
            elif output.copy is None:
                library.reshape(output.tensor, sizes, strides)
            else:
                library.make_room(output.tensor, sizes)
        except ResizeError as error:
            raise ResizeError(
                f"{call.operator._name}: argument '{_name(call, output)}' {error}",
                operator=call.operator._name,
                needed=sizes,
            ) from error
        if output.copy is not None:
            item = output.view.itemsize
            output.copy.view = library.view(output.tensor, True)
            output.copy.strides = tuple([stride * item for stride in strides])
        elif lease is None and output.region is not None:
            size = output.view.itemsize
            for length in sizes:
                size *= length
            output.region.promised = max(output.region.promised, size)
        if lease is not None and strides != contiguous_strides(sizes, 1):
            library.reshape(output.tensor, sizes, strides)


def _wrote(call: _Prepared, is_over: bool) -> None:
    """Notes that a call that has failed may have written to its outputs, where they are.

    If it is not over for certain, it may even write to what is made in their place.
    """
    for output in call.arguments.outputs:
        if output.copy is None:
            if output.region is not None and not is_over:
                output.region.is_exposed = True
            output.view.library.wrote(output.tensor)
    if not is_over:
        for lease in call.moves.values():
            lease.region.is_exposed = True


def _name(call: _Prepared, output: Output) -> str:
    argument = call.operator._schema.arguments[output.argument]
    return f"{argument.name}[{output.item}]" if argument.is_list else argument.name


def _misshapen(call: _Prepared, output: Output, needed: tuple[int, ...]) -> ResizeError:
    name = _name(call, output)
    have = list(output.view.sizes)
    return ResizeError(
        f"{call.operator._name}: argument '{name}' has shape {have}, and the result has shape "
        f"{list(needed)}: {output.view.library.noun} cannot be resized in place. "
        "Pass one of that shape",
        operator=call.operator._name,
        needed=needed,
    )
