# SPDX-License-Identifier: Apache-2.0
"""kernrig show: one operator and its kernels."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from kernrig._cli._common import (
    AddressOption,
    Format,
    FormatOption,
    connected,
    print_json,
    reporting,
)


def _lines(described: dict[str, Any]) -> list[str]:
    """The description of an operator for people."""
    lines = [described["schema"], f"  tags           {' '.join(described['tags']) or '-'}"]
    for kernel in described["kernels"]:
        lines += ["", f"{kernel['provider']}/{kernel['name']}"]
        for name, value in kernel.items():
            if name in ("operator", "provider", "name"):
                continue
            text = " ".join(value) if isinstance(value, (list, tuple)) else str(value)
            lines.append(f"  {name:<14} {text or '-'}")
    return lines


def show(
    operator: Annotated[str, typer.Argument(metavar="OP", help="aten::add.out or aten.add.out")],
    form: FormatOption = Format.table,
    address: AddressOption = "",
) -> None:
    """Show an operator's schema and kernels, in the order in which they are asked.

    \b
    Examples:
      kernrig show aten::add.out
      kernrig show aten.cat.out --format json
    """
    with reporting(form), connected(address) as runtime:
        found = runtime.operator_registry.get_kernel(operator)
        kernels = []
        for kernel in found.kernels:
            fields = dataclasses.asdict(kernel)
            fields["registered_at"] = kernel.registered_at.isoformat()
            kernels.append(fields)
        described = {
            "name": found.name(),
            "schema": str(found._schema),
            "tags": list(found.tags),
            "kernels": kernels,
        }
        if form is Format.json:
            print_json(described)
        else:
            typer.echo("\n".join(_lines(described)))
