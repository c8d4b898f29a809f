# SPDX-License-Identifier: Apache-2.0
"""The command line. Each file in commands/ is a command, and is found by being there.

Results go to stdout, everything else to stderr. The exit code says whose fault a failure is:

    0    it worked
    1    a kernel refused, crashed or hung
    2    the command line is wrong, so that no kernel ran: no such operator, or none of its kernels
         takes this call; an argument that does not fit
    4    infrastructure: no daemon, lost, out of memory; trying again may help
    130  Ctrl-C
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated

import typer

from kernrig._cli import commands
from kernrig._origin import VERSION

HELP = """Run tensor kernels in a daemon's worker processes.

Exit codes: 0 worked, 1 a kernel refused, crashed or hung, 2 wrong usage, 4 infrastructure (no
daemon, lost connection), 130 interrupted.

\b
Examples:
  kernrig ops 'aten::a*'
  kernrig show aten::add.out
  kernrig call aten::add.out randn:2x3 ones:3 alpha=2
"""


def _version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"kernrig {VERSION}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of `kernrig` itself."""


def build() -> typer.Typer:
    """The application, with every command that there is a file for."""
    app = typer.Typer(
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for module in pkgutil.iter_modules(commands.__path__):
        loaded = importlib.import_module(f"{commands.__name__}.{module.name}")
        settings = getattr(loaded, "CONTEXT_SETTINGS", {})
        app.command(module.name, context_settings=settings)(getattr(loaded, module.name))
    return app


def main() -> None:
    """The entry point."""
    build()(prog_name="kernrig")
