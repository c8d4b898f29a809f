# SPDX-License-Identifier: Apache-2.0
"""kernrig ops: which operators have kernels."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernrig._cli._common import (
    AddressOption,
    Format,
    FormatOption,
    connected,
    print_json,
    print_table,
    reporting,
)

if TYPE_CHECKING:
    from kernrig._registry import Catalogue


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern means an operator: aten::add.out is "add*", "aten.add*", "aten::add*"."""
    spellings = (name, name.replace("::", ".", 1), name.partition("::")[2])
    if not any(character in pattern for character in "*?["):
        return any(pattern in spelling for spelling in spellings)
    return any(fnmatch.fnmatchcase(spelling, pattern) for spelling in spellings)


def _described(catalogue: Catalogue, name: str) -> dict[str, Any]:
    from kernrig import _dtypes

    kernels = catalogue.kernels(name)
    dtypes = {number for kernel in kernels for number in kernel.dtypes}
    return {
        "name": name,
        "schema": catalogue.schema(name),
        "tags": list(catalogue.tags(name)),
        "kernels": [kernel.provider for kernel in kernels],
        "dtypes": [text for number, text in _dtypes.NAMES.items() if number in dtypes],
    }


def ops(
    pattern: Annotated[
        str, typer.Argument(help="Part of a name, or a pattern with * and ?.", show_default=False)
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also operators that have no kernel.")
    ] = False,
    form: FormatOption = Format.table,
    address: AddressOption = "",
) -> None:
    """List operators, and whose kernels they have.

    \b
    Examples:
      kernrig ops
      kernrig ops 'aten::a*'
      kernrig ops softmax --all --format json
    """
    with reporting(form), connected(address) as runtime:
        catalogue = runtime.operator_registry._catalogue
        names = catalogue.known() if everything else catalogue.names()
        found = [_described(catalogue, name) for name in names if matches(name, pattern)]
        if form is Format.json:
            print_json(found)
            return
        if not found:
            hint = "" if everything else "; --all lists those without kernels too"
            typer.echo(f"kernrig: no operator matches {pattern!r}{hint}", err=True)
            return
        print_table(
            ["OPERATOR", "KERNELS", "DTYPES", "SCHEMA"],
            [
                [
                    each["name"],
                    " ".join(each["kernels"]) or "-",
                    " ".join(each["dtypes"]) or "-",
                    each["schema"].partition("(")[1] + each["schema"].partition("(")[2],
                ]
                for each in found
            ],
        )
        kernels = sum(len(each["kernels"]) for each in found)
        typer.echo(f"{len(found)} operators, {kernels} kernels", err=True)
