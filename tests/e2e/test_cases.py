# SPDX-License-Identifier: Apache-2.0
"""Every known hard case whose operator has a kernel is right, and how many those are."""

from __future__ import annotations

import numpy as np
import pytest
from kernrig.runtime import Runtime

import replay
from harness import ROOT
from kernrig_backend import Kernrig

CASES = [
    case for case in replay.load(ROOT / "tests/cases/visible.jsonl") if case["area"] == "kernel"
]


def test_the_cases_with_a_kernel(runtime: Runtime, notes: list[str]) -> None:
    names = runtime.operator_registry.operator_names
    backend = Kernrig(runtime)
    played = [case for case in CASES if case["op"] in names]
    problems = {case["id"]: replay.run_case(case, backend) for case in played}
    assert {key: problem for key, problem in problems.items() if problem} == {}
    assert len(played) >= 28
    notes.append(
        f"{len(played)} of {len(CASES)} known cases have a kernel, and all of them are right"
    )


@pytest.mark.parametrize(
    ("expect", "got"),
    [
        ({"dtype": "float32", "shape": [2], "data": [1, 2]}, [1.0, 2.5]),
        ({"dtype": "float32", "shape": [2], "data": [1, "nan"]}, [1.0, 2.5]),
        ({"dtype": "float32", "shape": [2], "data": [1, "inf"]}, [1.0, -float("inf")]),
        ({"dtype": "float32", "shape": [1, 2], "data": [1, 2]}, [1.0, 2.0]),
        ({"dtype": "int32", "shape": [2], "data": [1, 2]}, [1.0, 2.0]),
    ],
)
def test_that_a_wrong_result_is_seen(expect: replay.Json, got: list[float]) -> None:
    class Wrong:
        def run(self, *_: object) -> list[replay.Tensor]:
            return [replay.Tensor("float32", np.array(got, "float32"))]

    case = {"op": "aten::add.out", "args": [], "kwargs": {}, "expect": {"outputs": [expect]}}
    assert replay.run_case(case, Wrong()) != ""
