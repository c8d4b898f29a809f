# SPDX-License-Identifier: Apache-2.0
"""Addresses of daemons: "unix:/path". Parsed in this one place."""

from __future__ import annotations

import os
from typing import NamedTuple

from kernrig.errors import ArgumentTypeError, InvalidArgument

# struct sockaddr_un has 108 bytes for it, one of them the final 0.
PATH_LIMIT = 107


class Address(NamedTuple):
    """Where a daemon listens: the absolute path of its Unix socket."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


def parse(text: str) -> Address:
    """The address that a text means: unix:/path or unix:relative/path.

    Raises:
        InvalidArgument: it has another form, or a path that no socket can have.
        ArgumentTypeError: it is no text.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"an address is a str such as unix:/path, not {text!r}")
    scheme, colon, path = text.partition(":")
    if not colon or "/" in scheme:
        hint = f"; did you mean unix:{text}?" if "/" in text else ""
        raise InvalidArgument(f"{text!r} is no address: it must have the form unix:/path{hint}")
    if scheme != "unix":
        raise InvalidArgument(
            f"{text!r} is no address that this version understands: "
            "it speaks to daemons on this machine, at unix:/path"
        )
    if path.startswith("//"):
        # As gRPC and URLs write it: unix:///path.
        path = path[2:]
    if not path or "\0" in path:
        raise InvalidArgument(f"{text!r} is no address: there must be a path behind unix:")
    path = os.path.abspath(path)
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{text!r} is no address: no file has such a name") from error
    if length > PATH_LIMIT:
        raise InvalidArgument(
            f"the socket path {path} has {length} bytes; Linux takes at most {PATH_LIMIT}. "
            "Choose a shorter one"
        )
    return Address(path)
