# SPDX-License-Identifier: Apache-2.0
"""kernrig serve: a daemon in the foreground, for several clients."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from kernrig import _address
from kernrig._cli._common import (
    INFRASTRUCTURE,
    USAGE,
    Format,
    FormatOption,
    UsageError,
    print_json,
    reporting,
)
from kernrig.errors import InvalidArgument

_PR_SET_PDEATHSIG = 1


def default_socket() -> str:
    """Where a daemon of this user listens if nothing else is said."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return f"{runtime}/kernrig.sock" if runtime else f"/tmp/kernrig-{os.getuid()}.sock"


def _die_with_parent() -> None:
    """In the daemon, before it is one: SIGTERM when this command is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _start(command: list[str]) -> tuple[subprocess.Popen[bytes], bool]:
    """Starts the daemon, and waits until it takes calls or ends; whether it takes calls."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        try:
            process = subprocess.Popen(
                [*command, "--ready-fd", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[writing],
                start_new_session=True,  # the terminal's Ctrl-C comes here, and once
                preexec_fn=_die_with_parent,  # noqa: PLW1509  (the command has one thread)
            )
        finally:
            os.close(writing)
        try:
            is_ready = pipe.readline() == b"ready\n"
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
    return process, is_ready


def _pass_signals_on(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM and Ctrl-C end the daemon in good order, and this command with it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: process.send_signal(number))


def serve(
    socket: Annotated[str, typer.Option("--socket", help="Listen here.", show_default=False)] = "",
    mode: Annotated[
        str, typer.Option("--mode", help="Of the socket: 0600, or 0660 for a group.")
    ] = "0600",
    log: Annotated[
        str, typer.Option("--log", help="Write the log there; - is stderr.", show_default=False)
    ] = "",
    log_level: Annotated[
        str, typer.Option("--log-level", help="debug, info, warning, error or off.")
    ] = "info",
    limit: Annotated[
        list[str],
        typer.Option("--limit", metavar="NAME=VALUE", help="Change a limit.", show_default=False),
    ] = [],  # noqa: B006  (typer reads it and does not keep it)
    form: FormatOption = Format.table,
) -> None:
    """Run a daemon until Ctrl-C or SIGTERM; it prints its address when it takes calls.

    Without --socket it listens at $XDG_RUNTIME_DIR/kernrig.sock, or /tmp/kernrig-UID.sock.

    \b
    Examples:
      kernrig serve
      kernrig serve --socket /run/user/1000/rig.sock --log rig.log --limit sessions=8
    """
    with reporting(form):
        from kernrig import _daemon

        try:
            address = _address.parse(f"unix:{socket or default_socket()}")
        except InvalidArgument as error:
            raise UsageError(str(error)) from error
        command = [str(_daemon.find()), "--socket", address.path]
        command += ["--mode", mode, "--log-level", log_level]
        if log:
            command += ["--log", log if log == "-" else str(Path(log).absolute())]
        for each in limit:
            command += ["--limit", each]
        process, is_ready = _start(command)
        if not is_ready:
            # It has said why, on stderr.
            raise typer.Exit(USAGE if process.wait() == USAGE else INFRASTRUCTURE)
        # Before anybody is told that it runs, and may want to end it.
        _pass_signals_on(process)
        if form is Format.json:
            print_json({"address": str(address), "pid": process.pid})
        else:
            typer.echo(f"kernrigd {process.pid} listens at {address}")
            typer.echo(f"export KERNRIG_ADDRESS={address}")
        if process.wait() != 0:
            raise typer.Exit(INFRASTRUCTURE)
