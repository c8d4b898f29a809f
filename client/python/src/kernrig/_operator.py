# SPDX-License-Identifier: Apache-2.0
"""Operators and kernels, as the user holds them.

Everything that does not change from call to call is worked out once per operator: which arguments
are outputs, and what a call returns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from kernrig import _dtypes
from kernrig._schema import Schema
from kernrig.errors import ArgumentTypeError, InternalError, InvalidArgument, LimitExceeded

if TYPE_CHECKING:
    import inspect

    from kernrig._execute import CallResult
    from kernrig._proto import execute_pb2, operator_pb2
    from kernrig._registry import OperatorRegistry

DEFAULT_TIMEOUT = 60.0
_TIMEOUT_MS = 86_400_000  # of a daemon that names no limit


@dataclass(frozen=True)
class Kernel:
    """A kernel that is registered for an operator.

    Attributes:
        id: the daemon's number for it.
        operator: "aten::add.out".
        name: of the function in its library.
        provider: "portable", or the name that a user gave.
        scope: "global".
        key: ExecuTorch's kernel key, "v1/6;0,1|6;0,1", or "" for the fallback.
        dtypes: that its first tensor may have; empty if it declares nothing.
        isa: CPU features that it needs, "avx2,fma".
        abi: "kernrig", or "executorch".
        layout: "contiguous", "dense" or "strided": what kernrig need not copy for it.
        in_place: whether an output may be exactly one of the inputs.
        library: the file that it is in.
        source_hash, compiler, cflags: how it was built, as far as the daemon knows.
        registered_at: when it was registered, with time zone.
    """

    id: int
    operator: str
    name: str
    provider: str
    scope: str
    key: str
    dtypes: tuple[str, ...]
    isa: str
    abi: str
    layout: str
    in_place: bool
    library: str
    source_hash: str
    compiler: str
    cflags: str
    registered_at: datetime

    def __repr__(self) -> str:
        key = f" {self.key}" if self.key else ""
        return f"<Kernel {self.operator}/{self.provider}{key}>"


def kernel_of(operator: str, message: operator_pb2.Kernel) -> Kernel:
    """A kernel as the daemon describes it."""
    return Kernel(
        id=message.id,
        operator=operator,
        name=message.name,
        provider=message.provider,
        scope=message.scope,
        key=message.key,
        dtypes=tuple(_dtypes.NAMES.get(number, str(number)) for number in message.dtypes),
        isa=message.isa,
        abi=message.abi,
        layout=message.layout,
        in_place=message.in_place,
        library=message.library,
        source_hash=message.source_hash,
        compiler=message.compiler,
        cflags=message.cflags,
        registered_at=datetime.fromtimestamp(message.registered_at, timezone.utc),
    )


class Operator:
    """An operator that has a kernel: call it as PyTorch's out variant of it.

        op = runtime.operator_registry.aten.add.out
        op(a, b, alpha=2, out=c)

    Tensors are numpy arrays, PyTorch tensors or anything else that DLPack knows, on the CPU. Those
    that the Runtime has made are passed without a copy, and so are views of them. Outputs are given
    under their names in the schema, or all together as `out=(a, b)`, and are returned. An output of
    PyTorch is resized where it must be; one of numpy raises ResizeError.

    An operator is safe to call from several threads. Its Runtime must be open.
    """

    def __init__(
        self,
        registry: OperatorRegistry,
        name: str,
        schema: Schema,
        timeout: float = DEFAULT_TIMEOUT,
        provider: str = "",
    ) -> None:
        self._registry = registry
        self._run = registry._run
        self._name = name
        self._schema = schema
        self._timeout = timeout
        self._timeout_us = max(1, round(timeout * 1e6))
        self._provider = provider
        arguments = schema.arguments
        self._positions = tuple([argument.is_write for argument in arguments])
        self._names = {
            argument.name: (index, argument.is_write) for index, argument in enumerate(arguments)
        }
        self._outs = tuple([a.name for a in arguments if a.is_out])
        self._out_names = frozenset(self._outs)
        self._written = tuple([i for i, a in enumerate(arguments) if a.is_write])
        self._returns = self._plan_returns()
        self._n_values = self._returns.count(-1)
        self.__doc__ = f"{schema}\n\n{type(self).__doc__}"

    def _plan_returns(self) -> tuple[int, ...]:
        """For each return the argument that it is, or -1 for a value of the kernel's own."""
        by_alias = {
            self._schema.arguments[index].alias: index
            for index in self._written
            if self._schema.arguments[index].alias
        }
        plan = [by_alias.get(item.alias, -1) for item in self._schema.returns]
        # Operators such as split_copy.Tensor_out return nothing; their outputs are.
        return tuple(plan or self._written)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs a kernel.

        Args:
            args: in the order of the schema.
            kwargs: by the names of the schema; an argument may be called self.

        Returns:
            The very objects passed as outputs: one, or a tuple in the order of the schema.

        Raises:
            KernrigError: of the class that says what went wrong; see kernrig.errors. A kernel that
                crashes, hangs or refuses raises, and nothing else is harmed.
            KeyboardInterrupt: Ctrl-C; the kernel was ended.
        """
        (result,) = self._run([(self, args, kwargs)])
        if result.error is not None:
            raise result.error
        return result.value

    def try_call(self, /, *args: Any, **kwargs: Any) -> CallResult:
        """Runs a kernel and tells what became of it: which kernel it was, and how long it took.

        Takes what a call takes. What the kernel did, or the daemon refused, is no exception here
        but the result's error.

        Raises:
            KernrigError: an argument cannot be passed, or there is no daemon to pass it to.
            KeyboardInterrupt: Ctrl-C; the kernel was ended.
        """
        (result,) = self._run([(self, args, kwargs)])
        return result

    def name(self) -> str:
        """ "aten::add.out", as PyTorch's OpOverload.name()."""
        return self._name

    @property
    def namespace(self) -> str:
        """ "aten"."""
        return self._name.partition("::")[0]

    @property
    def overload(self) -> str:
        """ "out", or "default"."""
        return self._schema.overload_name or "default"

    @property
    def tags(self) -> tuple[str, ...]:
        """What is known of the operator: "pointwise", "core", "portable"."""
        return self._registry._catalogue.tags(self._name)

    @property
    def kernels(self) -> list[Kernel]:
        """Its kernels, in the order in which they are asked."""
        kernels = self._registry._fresh().kernels(self._name)
        return [kernel_of(self._name, kernel) for kernel in kernels]

    def with_options(self, **options: Any) -> Operator:
        """The same operator with other options.

        Args:
            **options:
                timeout: seconds that a call may take, waiting included; more than 0, and no more
                    than the daemon's limit timeout_ms.
                provider: only this provider's kernels are asked; "" or None: any.

        Raises:
            TypeError: there is no such option.
            InvalidArgument: an option has an impossible value.
            LimitExceeded: the timeout is longer than the daemon allows.
        """
        known = {"timeout": self._timeout, "provider": self._provider}
        for option in options:
            if option not in known:
                raise ArgumentTypeError(
                    f"{self._name}: there is no option {option!r}; there are {', '.join(known)}"
                )
        known.update(options)
        timeout: Any = known["timeout"]
        if not _is_number(timeout):
            raise ArgumentTypeError(f"{self._name}: timeout={timeout!r} is no number of seconds")
        if not (timeout > 0 and timeout != math.inf):
            raise InvalidArgument(f"{self._name}: timeout={timeout!r} must be more than 0 seconds")
        most = self._registry._limits.get("timeout_ms", _TIMEOUT_MS)
        if timeout * 1000 > most:
            raise LimitExceeded(
                f"{self._name}: timeout={timeout!r} exceeds the daemon's limit 'timeout_ms' of "
                f"{most}, {most / 1000:g} s",
                operator=self._name,
            )
        provider = known["provider"] or ""
        if not isinstance(provider, str) or not provider.isprintable():
            raise ArgumentTypeError(f"{self._name}: provider={provider!r} is no name")
        return Operator(self._registry, self._name, self._schema, float(timeout), provider)

    def __getattr__(self, name: str) -> inspect.Signature:
        # A property would be found on the class as well, where inspect expects none.
        if name != "__signature__":
            raise AttributeError(f"an Operator has no attribute {name!r}")
        signature = self._schema.signature()
        self.__dict__[name] = signature
        return signature

    def __copy__(self) -> Operator:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"an Operator cannot be pickled, it belongs to a session: pass its name, and call "
            f"operator_registry.get_kernel({self._name!r}) there"
        )

    def __repr__(self) -> str:
        return f"<Operator {self._name}>"

    # For the execution of calls.

    def _spread(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Outputs given together as out=(a, b), each under its own name."""
        outs = self._outs
        if len(outs) < 2 or not isinstance(kwargs.get("out"), (tuple, list)):
            return kwargs
        together = kwargs["out"]
        if len(together) != len(outs):
            raise ArgumentTypeError(
                f"{self._name}() has {len(outs)} outputs ({', '.join(outs)}), "
                f"and out has {len(together)}",
                operator=self._name,
            )
        spread = {name: value for name, value in kwargs.items() if name != "out"}
        for name, value in zip(outs, together, strict=True):
            if name in spread:
                raise ArgumentTypeError(
                    f"{self._name}() got output '{name}' twice: by its name, and in out",
                    operator=self._name,
                )
            spread[name] = value
        return spread

    def _check_outputs(self, kwargs: dict[str, Any]) -> None:
        """An out variant without its outputs is the commonest mistake: it gets its own words."""
        if not kwargs.keys() >= self._out_names:
            missing = [name for name in self._outs if name not in kwargs]
            raise ArgumentTypeError(
                f"{self._name}() writes into tensors that you pass, and "
                f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: "
                f"call it with {', '.join(f'{name}=…' for name in missing)}",
                operator=self._name,
            )

    def _value(self, given: dict[int, Any], returns: Sequence[execute_pb2.Value]) -> Any:
        """What a call returns: the outputs given, and the kernel's own values."""
        if len(returns) != self._n_values:
            raise InternalError(
                f"{self._name}: the kernel returns {self._n_values} values besides its outputs, "
                f"and the daemon has sent {len(returns)}"
            )
        own = iter(returns)
        values = [
            given[index] if index >= 0 else _python_value(next(own)) for index in self._returns
        ]
        return values[0] if len(values) == 1 else tuple(values) if values else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _python_value(value: execute_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    return None if kind is None else getattr(value, kind)
