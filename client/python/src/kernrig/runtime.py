# SPDX-License-Identifier: Apache-2.0
"""Operators called from Python and run by kernrig's kernels; named as executorch.runtime.

    from kernrig.runtime import Runtime

    runtime = Runtime.get()
    op = runtime.operator_registry.aten.add.out
    op(a, b, out=c)

Importing this module imports neither numpy nor gRPC; connecting does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kernrig._runtime import Runtime

if TYPE_CHECKING:
    from kernrig._execute import CallResult
    from kernrig._info import Limit, Provider, ServerInfo
    from kernrig._operator import Kernel, Operator
    from kernrig._registry import OperatorNamespace, OperatorPacket, OperatorRegistry

_HOMES = {
    "CallResult": "kernrig._execute",
    "Kernel": "kernrig._operator",
    "Limit": "kernrig._info",
    "Operator": "kernrig._operator",
    "OperatorNamespace": "kernrig._registry",
    "OperatorPacket": "kernrig._registry",
    "OperatorRegistry": "kernrig._registry",
    "Provider": "kernrig._info",
    "ServerInfo": "kernrig._info",
}

__all__ = [
    "CallResult",
    "Kernel",
    "Limit",
    "Operator",
    "OperatorNamespace",
    "OperatorPacket",
    "OperatorRegistry",
    "Provider",
    "Runtime",
    "ServerInfo",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kernrig.runtime' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
