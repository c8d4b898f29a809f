# SPDX-License-Identifier: Apache-2.0
"""What commands share: options, the connection, results in two formats, exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernrig import errors

if TYPE_CHECKING:
    from kernrig.runtime import Runtime

KERNEL, USAGE, INFRASTRUCTURE = 1, 2, 4
_BROKEN_PIPE = 141  # as a shell reports SIGPIPE


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How results are written.")]
AddressOption = Annotated[
    str,
    typer.Option(
        "--address",
        envvar="KERNRIG_ADDRESS",
        help="Of a running daemon, unix:/path; else one is started for this command.",
        show_default=False,
    ),
]


class UsageError(Exception):
    """The command line is wrong in a way that typer cannot know."""


def exit_code(error: errors.KernrigError) -> int:
    """Whose fault an error is."""
    if isinstance(error, errors.WorkerError):
        return INFRASTRUCTURE
    if isinstance(error, errors.KernelError):
        return KERNEL
    if isinstance(error, errors.RequestError):
        # Refused by a kernel, or before there was one.
        return KERNEL if error.kernel else USAGE
    return INFRASTRUCTURE


def _complain(text: str) -> None:
    typer.echo(f"kernrig: {text}", err=True)


def _described(error: errors.KernrigError) -> dict[str, Any]:
    names = ("code", "status", "message", "operator", "kernel", "provider")
    optional = ("signal", "exit_code", "limit", "needed", "printed")
    described = {name: getattr(error, name) for name in names}
    described.update({n: getattr(error, n) for n in optional if getattr(error, n)})
    return {"error": described}


@contextlib.contextmanager
def reporting(form: Format) -> Iterator[None]:
    """Turns what goes wrong inside into a message on stderr and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except UsageError as problem:
        _complain(str(problem))
        raise typer.Exit(USAGE) from None
    except errors.KernrigError as error:
        _complain(str(error))
        if error.printed:
            _complain(f"the kernel printed:\n{error.printed.rstrip()}")
        if form is Format.json:
            print_json(_described(error))
        raise typer.Exit(exit_code(error)) from None
    except BrokenPipeError:
        # Whoever read the output has had enough; the interpreter must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_BROKEN_PIPE) from None


@contextlib.contextmanager
def connected(address: str) -> Iterator[Runtime]:
    """A session with the daemon at an address, or with one started for this command."""
    from kernrig import _address
    from kernrig.runtime import Runtime

    if address:
        try:
            _address.parse(address)
        except errors.InvalidArgument as error:
            raise UsageError(str(error)) from error
        with Runtime.connect(address) as runtime:
            yield runtime
        return
    runtime = Runtime.get()
    try:
        yield runtime
    finally:
        runtime.close()


def print_json(value: Any) -> None:
    """Writes one JSON document to stdout."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Writes a table to stdout; as wide as it needs where that is no terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    if sys.stdout.isatty():
        # Without colours rich would still write bold.
        system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        Console(highlight=False, color_system=system).print(table)
        return
    console = Console(width=10_000, highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())
