# SPDX-License-Identifier: Apache-2.0
"""What a daemon says about itself, and whether this client can talk to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from kernrig._address import Address
from kernrig._origin import VERSION
from kernrig.errors import VersionMismatch

if TYPE_CHECKING:
    from kernrig._proto import server_pb2

# The protocol that this client speaks: proto/kernrig/v1.
API_MAJOR = 1
API_MINOR = 0


@dataclass(frozen=True)
class Limit:
    """One of the daemon's limits."""

    name: str
    value: int
    unit: str
    meaning: str


@dataclass(frozen=True)
class Provider:
    """Whose kernels the daemon has."""

    name: str
    library: str
    abi: str
    kernels: int


@dataclass(frozen=True)
class ServerInfo:
    """A daemon, as it was when the Runtime connected.

    Attributes:
        version: "0.1.0".
        api_major, api_minor: of the protocol.
        build_id: of the sources that it was built from.
        binary: path of the daemon.
        pid: its process id.
        page_size: bytes.
        embedded: whether it ends with the process that started it.
        sandbox_level: "full", "strong", "partial", "weak" or "none".
        features: what it can do besides.
        limits: by name.
        providers: in the order in which their kernels are met.
        generation: of its registry.
        sessions: that were open.
    """

    version: str
    api_major: int
    api_minor: int
    build_id: str
    binary: str
    pid: int
    page_size: int
    embedded: bool
    sandbox_level: str
    features: tuple[str, ...]
    limits: Mapping[str, Limit]
    providers: tuple[Provider, ...]
    generation: int
    sessions: int


def info_of(message: server_pb2.ServerInfoResponse) -> ServerInfo:
    """The reply to ServerInfo as a value of ours."""
    limits = {
        limit.name: Limit(limit.name, limit.value, limit.unit, limit.meaning)
        for limit in message.limits
    }
    return ServerInfo(
        version=message.version,
        api_major=message.api_major,
        api_minor=message.api_minor,
        build_id=message.build_id,
        binary=message.binary,
        pid=message.pid,
        page_size=message.page_size,
        embedded=message.embedded,
        sandbox_level=message.sandbox_level,
        features=tuple(message.features),
        limits=MappingProxyType(limits),
        providers=tuple(
            Provider(each.name, each.library, each.abi, each.kernels) for each in message.providers
        ),
        generation=message.generation,
        sessions=message.sessions,
    )


def check_version(info: ServerInfo, address: Address) -> None:
    """Whether this client and that daemon speak the same protocol.

    Raises:
        VersionMismatch: they do not; it names both versions and both places.
    """
    if info.api_major == API_MAJOR and info.api_minor >= API_MINOR:
        return
    package = os.path.dirname(os.path.abspath(__file__))
    raise VersionMismatch(
        f"the client {VERSION} in {package} speaks protocol {API_MAJOR}.{API_MINOR}, the daemon "
        f"{info.version} at {address}, {info.binary}, speaks {info.api_major}.{info.api_minor}: "
        "install both from the same sources"
    )
