# SPDX-License-Identifier: Apache-2.0
"""Tests that need PyTorch: one daemon and one session for all tests of a process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from kernrig.runtime import Runtime

import denominators
from harness import Daemon


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `make full` adds."""
    parser.addoption("--full", action="store_true", help="every sample of every OpInfo, in full")


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    """A daemon with default options."""
    running = Daemon()
    yield running
    running.check()
    running.stop()


@pytest.fixture(scope="session")
def rt(daemon: Daemon) -> Iterator[Runtime]:
    """A session of it."""
    with daemon.connect() as runtime:
        yield runtime


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PyTorch warns of what its own samples do; that is not the matter here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch")
        warnings.filterwarnings("ignore", message="An output with one or more elements was resized")
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Counts what is compared."""
    config.pluginmanager.register(denominators)
