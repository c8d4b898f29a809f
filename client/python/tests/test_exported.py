# SPDX-License-Identifier: Apache-2.0
"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kernrig
from kernrig import errors, runtime


@pytest.mark.parametrize("module", [kernrig, errors, runtime], ids=lambda module: module.__name__)
def test_every_public_name_is_there(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(module, name) is not None


def test_the_public_names() -> None:
    assert sorted(kernrig.__all__) == [
        *("Kernel", "KernrigError", "Operator", "OperatorRegistry", "Runtime"),
        *("__version__", "errors", "runtime"),
    ]
    assert set(runtime.__all__) == {
        *("CallResult", "Kernel", "Limit", "Operator", "OperatorNamespace", "OperatorPacket"),
        *("OperatorRegistry", "Provider", "Runtime", "ServerInfo"),
    }


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = kernrig.nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = runtime.nothing


@pytest.mark.parametrize("module", ["kernrig", "kernrig.runtime", "kernrig.errors"])
def test_importing_imports_nothing_heavy(module: str) -> None:
    heavy = ("numpy", "grpc", "google.protobuf", "typer", "rich", "torch", "ml_dtypes")
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
    assert result.stderr == ""


def test_grpc_is_seen_by_one_file_only() -> None:
    from pathlib import Path

    package = Path(kernrig.__file__).parent
    seen = [
        path.name
        for path in package.rglob("*.py")
        if "_proto" not in path.parts and "import grpc" in path.read_text()
    ]
    assert seen == ["_channel.py"]
