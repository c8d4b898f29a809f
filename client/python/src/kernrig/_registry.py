# SPDX-License-Identifier: Apache-2.0
"""Look-up of operators by attribute: registry.aten.add.out.

The catalogue – every known operator and its kernels – is fetched once, when the Runtime connects.
Attribute look-up, hasattr, dir and completion read it and never ask the daemon. When a reply says
that the daemon's registry has changed, the next call, get_kernel, operator_names or kernels fetches
the catalogue anew.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar

from kernrig._operator import Operator
from kernrig._overloads import accepts
from kernrig._schema import Schema
from kernrig.errors import (
    ArgumentTypeError,
    MissingKernelAttribute,
    MissingKernelKey,
    MissingOperatorAttribute,
    MissingOperatorKey,
)

if TYPE_CHECKING:
    from kernrig._execute import Call, CallResult
    from kernrig._proto import operator_pb2

_Self = TypeVar("_Self")


def _split(name: str) -> tuple[str, str, str]:
    """Namespace, base and overload of "aten::add.out"; "" where there is none."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return namespace, base, overload


def _close(name: str, known: Iterable[str]) -> list[str]:
    """The name itself if it is known, else those that are spelled nearly so."""
    names = list(known)
    return [name] if name in names else difflib.get_close_matches(name, names, n=3)


def _did_you_mean(names: Iterable[str]) -> str:
    text = " or ".join(names)
    return f"; did you mean {text}?" if text else ""


class Catalogue:
    """What the daemon's registry holds, at one generation."""

    def __init__(self, reply: operator_pb2.ListOperatorsResponse) -> None:
        self.generation = reply.generation
        self._operators = {operator.name: operator for operator in reply.operators}
        # Namespace -> base -> overloads, with "" for the default one.
        self._tree: dict[str, dict[str, list[str]]] = {}
        for name in self._operators:
            namespace, base, overload = _split(name)
            self._tree.setdefault(namespace, {}).setdefault(base, []).append(overload)

    def has_kernel(self, name: str) -> bool:
        """Whether the operator of this full name has a kernel."""
        operator = self._operators.get(name)
        return operator is not None and len(operator.kernels) > 0

    def names(self) -> list[str]:
        """The operators that have a kernel."""
        return [name for name in self._operators if self.has_kernel(name)]

    def known(self) -> list[str]:
        """All operators."""
        return list(self._operators)

    def schema(self, name: str) -> str:
        """The text of an operator's schema."""
        return self._operators[name].schema

    def tags(self, name: str) -> tuple[str, ...]:
        """An operator's tags."""
        operator = self._operators.get(name)
        return tuple(operator.tags) if operator is not None else ()

    def kernels(self, name: str) -> Sequence[operator_pb2.Kernel]:
        """An operator's kernels, in the order in which they are asked."""
        operator = self._operators.get(name)
        return list(operator.kernels) if operator is not None else []

    def namespaces(self) -> list[str]:
        """The namespaces that have kernels."""
        return [namespace for namespace in self._tree if self.bases(namespace)]

    def bases(self, namespace: str) -> list[str]:
        """The names in a namespace that have kernels: "add"."""
        return [base for base in self._tree.get(namespace, {}) if self.overloads(namespace, base)]

    def overloads(self, namespace: str, base: str, with_kernels: bool = True) -> list[str]:
        """The overloads of a name: "out", with "" for the default one."""
        overloads = self._tree.get(namespace, {}).get(base, [])
        if not with_kernels:
            return list(overloads)
        return [each for each in overloads if self.has_kernel(_full(namespace, base, each))]

    def knows_namespace(self, namespace: str) -> bool:
        """Whether there is an operator in this namespace, with a kernel or without."""
        return namespace in self._tree

    def all_bases(self, namespace: str) -> Iterable[str]:
        """The names in a namespace, with kernels or without."""
        return self._tree.get(namespace, {}).keys()

    # Why something is not there.

    def no_namespace(self, namespace: str) -> str:
        """Why a namespace is not found."""
        known = self.namespaces()
        guess = _did_you_mean(_close(namespace, known))
        return f"there is no namespace {namespace!r} with kernels{guess or '; there are'}" + (
            "" if guess else f" {', '.join(known) or 'none'}"
        )

    def no_base(self, namespace: str, base: str) -> str:
        """Why a name is not found in its namespace."""
        known = self._tree[namespace]
        if base in known:
            overloads = ", ".join(each or "default" for each in known[base])
            return f"{namespace}::{base} is known, but has no kernel in any overload ({overloads})"
        close = _close(base, self.bases(namespace)) or _close(base, known)
        guess = _did_you_mean(f"{namespace}::{each}" for each in close)
        return f"there is no operator {namespace}::{base}{guess}"

    def no_name(self, text: str) -> str:
        """Why a text is no name: it says no namespace, "add.out"."""
        meant = [
            name
            for namespace in self.namespaces()
            for name in self._nearest(f"{namespace}::{text}", True)
        ]
        guess = _did_you_mean(meant[:3])
        return f"there is no operator {text!r}: a name has the form aten::add.out{guess}"

    def no_operator(self, name: str) -> str:
        """Why a full name is not found."""
        guess = _did_you_mean(self._nearest(name, True) or self._nearest(name, False))
        return f"there is no operator {name}{guess}"

    def _nearest(self, name: str, with_kernels: bool) -> list[str]:
        """Operators that a wrong name may mean, compared part by part: all names look alike."""
        namespace, base, overload = _split(name)
        found = []
        for near in _close(namespace, self.namespaces() if with_kernels else self._tree):
            for near_base in _close(base, self.bases(near) if with_kernels else self._tree[near]):
                overloads = self.overloads(near, near_base, with_kernels)
                chosen = (_close(overload, overloads) or overloads)[0]
                found.append(_full(near, near_base, chosen))
        return found[:3]

    def no_overload(self, namespace: str, base: str, overload: str) -> str:
        """Why an overload is not found, or has no kernel."""
        name = _full(namespace, base, overload)
        if name in self._operators:
            return f"{name} has no kernel; {self._those_with_kernels(namespace, base)}"
        overloads = [each or "default" for each in self.overloads(namespace, base, False)]
        guess = _did_you_mean(_close(overload or "default", overloads))
        return f"{namespace}::{base} has no overload {overload or 'default'!r}" + (
            guess or f"; {self._those_with_kernels(namespace, base)}"
        )

    def _those_with_kernels(self, namespace: str, base: str) -> str:
        found: list[str] = []
        for overload in self.overloads(namespace, base):
            name = _full(namespace, base, overload)
            providers = ", ".join(dict.fromkeys(k.provider for k in self._operators[name].kernels))
            found.append(f"{name} has {'one' if not found else 'too'} ({providers})")
        return ", ".join(found) or f"no overload of {namespace}::{base} has one"


def _full(namespace: str, base: str, overload: str) -> str:
    return f"{namespace}::{base}.{overload}" if overload else f"{namespace}::{base}"


def _is_pythons(name: str, known: Iterable[str]) -> bool:
    """Whether a name is one that Python and its tools ask any object for.

    There are operators of such names as well, aten::__and__.Scalar_out.
    """
    return name.startswith("__") and name.endswith("__") and name not in known


class _OfSession:
    """What is looked up in a session: a copy of it is itself, and it goes nowhere else."""

    __slots__ = ()

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"an {type(self).__name__} cannot be pickled, it belongs to a session: pass the "
            "address of its Runtime and the name of the operator, and call "
            "Runtime.connect(address).operator_registry.get_kernel(name) there"
        )


class OperatorPacket(_OfSession):
    """All overloads of one name: registry.aten.add. Calling it chooses one by its arguments."""

    __slots__ = ("_base", "_namespace", "_registry")

    def __init__(self, registry: OperatorRegistry, namespace: str, base: str) -> None:
        self._registry = registry
        self._namespace = namespace
        self._base = base

    def overloads(self) -> list[str]:
        """The overloads that have kernels; "default" for the one without a name."""
        overloads = self._registry._catalogue.overloads(self._namespace, self._base)
        return [overload or "default" for overload in overloads]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls the first overload that takes such arguments; see Operator.

        Raises:
            ArgumentTypeError: none does.
        """
        operators = [getattr(self, overload) for overload in self.overloads()]
        if len(operators) == 1:
            return operators[0](*args, **kwargs)
        for operator in operators:
            if accepts(operator._schema, operator.tags, args, kwargs):
                return operator(*args, **kwargs)
        schemas = "\n  ".join(str(operator._schema) for operator in operators)
        raise ArgumentTypeError(
            f"no overload of {self._namespace}::{self._base} takes these arguments; there are:\n"
            f"  {schemas}"
        )

    def __getattr__(self, name: str) -> Operator:
        catalogue = self._registry._catalogue
        if _is_pythons(name, catalogue.overloads(self._namespace, self._base, with_kernels=False)):
            raise AttributeError(name)
        overload = "" if name == "default" else name
        full = _full(self._namespace, self._base, overload)
        if catalogue.has_kernel(full):
            return self._registry._operator(full)
        text = catalogue.no_overload(self._namespace, self._base, overload)
        if overload in catalogue.overloads(self._namespace, self._base, with_kernels=False):
            raise MissingKernelAttribute(text, operator=full)
        raise MissingOperatorAttribute(text, operator=full)

    def __dir__(self) -> list[str]:
        return ["overloads", *self.overloads()]

    def __repr__(self) -> str:
        return f"<OperatorPacket {self._namespace}::{self._base}: {', '.join(self.overloads())}>"


class OperatorNamespace(_OfSession):
    """The operators of one namespace: registry.aten."""

    __slots__ = ("_namespace", "_registry")

    def __init__(self, registry: OperatorRegistry, namespace: str) -> None:
        self._registry = registry
        self._namespace = namespace

    def __getattr__(self, name: str) -> OperatorPacket:
        catalogue = self._registry._catalogue
        if _is_pythons(name, catalogue.all_bases(self._namespace)):
            raise AttributeError(name)
        if catalogue.overloads(self._namespace, name):
            return self._registry._packet(self._namespace, name)
        text = catalogue.no_base(self._namespace, name)
        full = f"{self._namespace}::{name}"
        if name in catalogue.all_bases(self._namespace):
            raise MissingKernelAttribute(text, operator=full)
        raise MissingOperatorAttribute(text, operator=full)

    def __dir__(self) -> list[str]:
        return self._registry._catalogue.bases(self._namespace)

    def __repr__(self) -> str:
        return f"<OperatorNamespace {self._namespace}: {len(dir(self))} operators>"


class OperatorRegistry(_OfSession):
    """The operators that have a kernel: by attribute, or by name with get_kernel."""

    def __init__(
        self,
        fetch: Callable[[], operator_pb2.ListOperatorsResponse],
        run: Callable[[Sequence[Call]], list[CallResult]],
        limits: Mapping[str, int],
    ) -> None:
        """Fetches the catalogue.

        Args:
            fetch: asks the daemon for it.
            run: executes calls.
            limits: the daemon's, by their names.
        """
        self._fetch = fetch
        self._run = run
        self._limits = limits
        self._catalogue = Catalogue(fetch())
        self._announced = self._catalogue.generation
        self._operators: dict[str, Operator] = {}
        self._packets: dict[tuple[str, str], OperatorPacket] = {}
        self._namespaces: dict[str, OperatorNamespace] = {}

    @property
    def operator_names(self) -> set[str]:
        """The names of all operators that have a kernel, such as "aten::add.out"."""
        return set(self._fresh().names())

    def get_kernel(self, name: str) -> Operator:
        """The operator of a name, "aten::add.out" or "aten.add.out".

        Raises:
            MissingOperatorKey: there is none; a KeyError.
            MissingKernelKey: it is known, but has no kernel; a KeyError.
            ArgumentTypeError: this is no name; a TypeError.
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"an operator is named by a str such as 'aten::add.out', not {type(name).__name__}"
            )
        catalogue = self._fresh()
        full = name if "::" in name else name.replace(".", "::", 1)
        full = full.removesuffix(".default")
        if catalogue.has_kernel(full):
            return self._operator(full)
        namespace, base, overload = _split(full)
        if not base or ("::" not in name and not catalogue.knows_namespace(namespace)):
            raise MissingOperatorKey(catalogue.no_name(name))
        if full in catalogue.known():
            text = catalogue.no_overload(namespace, base, overload)
            raise MissingKernelKey(text, operator=full)
        raise MissingOperatorKey(catalogue.no_operator(full), operator=full)

    def __getattr__(self, name: str) -> OperatorNamespace:
        if name == "_catalogue" or _is_pythons(name, self._catalogue.namespaces()):
            raise AttributeError(name)
        if not self._catalogue.bases(name):
            raise MissingOperatorAttribute(self._catalogue.no_namespace(name))
        # setdefault: two threads get the same object.
        return self._namespaces.setdefault(name, OperatorNamespace(self, name))

    def __dir__(self) -> list[str]:
        return ["get_kernel", "operator_names", *self._catalogue.namespaces()]

    def __repr__(self) -> str:
        return f"<OperatorRegistry: {len(self._catalogue.names())} operators with kernels>"

    # For the package.

    def _fresh(self) -> Catalogue:
        """The catalogue, fetched anew if the daemon has announced a newer one."""
        if self._announced > self._catalogue.generation:
            self._catalogue = Catalogue(self._fetch())
        return self._catalogue

    def _announce(self, generation: int) -> None:
        """A reply has told the generation of the daemon's registry."""
        if generation > self._announced:
            self._announced = generation

    def _operator(self, name: str) -> Operator:
        operator = self._operators.get(name)
        if operator is None:
            made = Operator(self, name, Schema(self._catalogue.schema(name)))
            operator = self._operators.setdefault(name, made)
        return operator

    def _packet(self, namespace: str, base: str) -> OperatorPacket:
        packet = OperatorPacket(self, namespace, base)
        return self._packets.setdefault((namespace, base), packet)
