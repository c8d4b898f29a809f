# SPDX-License-Identifier: Apache-2.0
"""kernrig: tensor kernels, called from Python and run in a daemon's worker processes.

`import kernrig` costs next to nothing: what it offers is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kernrig._origin import VERSION as __version__

if TYPE_CHECKING:
    from kernrig import errors, runtime
    from kernrig._error import KernrigError
    from kernrig.runtime import Kernel, Operator, OperatorRegistry, Runtime

_HOMES = {
    "Kernel": "kernrig.runtime",
    "KernrigError": "kernrig.errors",
    "Operator": "kernrig.runtime",
    "OperatorRegistry": "kernrig.runtime",
    "Runtime": "kernrig.runtime",
}
_MODULES = ("errors", "runtime")

__all__ = [
    "Kernel",
    "KernrigError",
    "Operator",
    "OperatorRegistry",
    "Runtime",
    "__version__",
    "errors",
    "runtime",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"kernrig.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kernrig' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
