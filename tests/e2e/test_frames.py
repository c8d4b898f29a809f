# SPDX-License-Identifier: Apache-2.0
"""Kernels that write to the worker's socket what no reader expects."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from kernrig import errors
from kernrig.runtime import Runtime

from harness import Daemon, build_directory


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon with the libraries of this file."""
    running = Daemon("--test-library", str(build_directory() / "hostile" / "sends_nothing.so"))
    yield running
    running.stop()


@pytest.mark.parametrize("with_descriptor", [False, True])
def test_an_empty_frame_is_no_end(runtime: Runtime, with_descriptor: bool) -> None:
    """It is told from the end of the connection, at once and not at the time limit."""
    a, out = runtime.tensor([float(with_descriptor)], "f32"), runtime.zeros(1, "f32")
    with pytest.raises(errors.KernelTampered, match=r"test::sends_nothing.out.*empty"):
        runtime.operator_registry.test.sends_nothing.out(a, out=out)
    runtime.operator_registry.aten.relu.out(a, out=out)
    np.testing.assert_array_equal(out, a)
