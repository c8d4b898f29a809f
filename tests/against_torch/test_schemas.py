# SPDX-License-Identifier: Apache-2.0
"""The schema parser reads all that PyTorch has, and the table of known operators is PyTorch's."""

from __future__ import annotations

import subprocess
import sys

import torch
import torch.ao.quantization.fx._decomposed

from harness import ROOT, build_directory


def test_every_schema_of_pytorch_is_read_and_printed_again(notes: list[str]) -> None:
    schemas = [str(schema).replace("\n", "\\n") for schema in torch._C._jit_get_all_schemas()]
    program = build_directory() / "tests/against_torch/print_schema"
    text = "".join(f"{schema}\n" for schema in schemas)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    assert done.stderr == ""
    assert len(printed) == len(schemas)
    same = [a for a, b in zip(schemas, printed, strict=True) if a == b]
    refused = [(a, b) for a, b in zip(schemas, printed, strict=True) if b.startswith("refused: ")]
    assert len(same) + len(refused) == len(schemas)
    # What is refused has types that no kernel can take, and the reason names the type.
    for schema, reason in refused:
        assert "exists in TorchScript only; no kernel can take it" in reason, schema
    assert len(same) > 4000
    notes.append(
        f"{len(schemas)} schemas of PyTorch: {len(same)} are printed as they were, "
        f"{len(refused)} refused for a type of no kernel"
    )


def test_known_operators_have_not_drifted() -> None:
    command = [sys.executable, str(ROOT / "tools/make_operators.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
