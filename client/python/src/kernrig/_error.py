# SPDX-License-Identifier: Apache-2.0
"""The root of all exceptions, and the three families.

The classes themselves are generated from the table of errors (kernrig._status); kernrig.errors
shows the whole tree. What an exception knows about its call is in attributes, so that nobody has to
take a message apart.
"""

from __future__ import annotations

from typing import Any, TypeVar

_Error = TypeVar("_Error", bound="KernrigError")


class KernrigError(RuntimeError):
    """Anything that goes wrong between a Python call and its kernel.

    Attributes:
        code: name of the error in the table, "SHAPE".
        status: its number, -2.
        operator: the operator that was called, "aten::add.out", or "".
        kernel: the kernel that ran, or "".
        provider: whose kernel it is, "portable", or "".
        signal: number of the signal that killed the kernel, or None.
        exit_code: with which the kernel ended its process, or None.
        limit: seconds that the call was allowed, of a KernelTimeout, or None.
        needed: the shape that an output would have to have, of a ResizeError, or None.
        printed: the last that the kernel wrote to its stdout and stderr.
    """

    code: str = "UNKNOWN"
    status: int = 0
    grpc: str = "UNKNOWN"

    def __init__(
        self,
        message: str = "",
        *,
        operator: str = "",
        kernel: str = "",
        provider: str = "",
        signal: int | None = None,
        exit_code: int | None = None,
        limit: float | None = None,
        needed: tuple[int, ...] | None = None,
        printed: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.operator = operator
        self.kernel = kernel
        self.provider = provider
        self.signal = signal
        self.exit_code = exit_code
        self.limit = limit
        self.needed = needed
        self.printed = printed

    def __str__(self) -> str:
        """The message, of classes that are a KeyError or an OSError as well, which change it."""
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the attributes; OSError's own way would take only the arguments."""
        return _rebuild, (type(self), self.__dict__.copy())


def _rebuild(cls: type[_Error], attributes: dict[str, Any]) -> _Error:
    error = cls(attributes["message"])
    error.__dict__.update(attributes)
    return error


class RequestError(KernrigError):
    """The call is wrong: its operator, its arguments or its tensors. It would fail again."""


class KernelError(KernrigError):
    """The kernel, or the worker that ran it, came to grief."""


class DaemonError(KernrigError):
    """The daemon refused the request, or there is none to ask."""
