# SPDX-License-Identifier: Apache-2.0
"""Tests of the client without a daemon; tests/e2e of the checkout has those with one."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from kernrig._memory import Memory
from tests.fake import FakeBuffers

HAS_TORCH = find_spec("torch") is not None
collect_ignore = [] if HAS_TORCH else ["test_torch.py"]


def pytest_report_header() -> str:
    """Says which tests are not there, so that nobody takes them for passed."""
    return f"PyTorch: {'here' if HAS_TORCH else 'not here, test_torch.py is left out'}"


@pytest.fixture
def buffers() -> FakeBuffers:
    """Buffers as a daemon makes them."""
    return FakeBuffers()


@pytest.fixture
def memory(buffers: FakeBuffers) -> Memory:
    """The memory of a session."""
    return buffers.memory()
