# SPDX-License-Identifier: Apache-2.0
"""The known hard cases that are scenarios in words, "client" and "rpc": which test plays each.

Parts of a scenario that need what kernrig does not have yet are told here.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness import ROOT

PLAYED_BY = {
    "c01": ["test_tensors.py::test_an_output_that_is_a_strided_view"],
    "c03": ["test_sessions.py::test_a_forked_child"],
    "c05": [
        "test_tensors.py::test_scalar_kinds",
        "test_bad_calls.py::test_integers_beyond_int64",
    ],
    "c06": ["test_sessions.py::test_eight_threads_share_a_runtime"],
    "c07": [
        "test_tensors.py::test_bfloat16_and_float16_are_not_mixed_up",
        "test_bad_calls.py::test_a_dtype_that_no_kernel_takes",
    ],
    # Sources and programs are not registered yet; the list of 5,000 tensors is refused by name.
    "p01": [
        "test_bad_calls.py::test_too_many_tensors_for_one_call",
        "test_peers.py::test_a_message_over_the_limit",
    ],
    "p03": [
        "test_peers.py::test_silent_and_half_spoken_peers_are_dropped",
        "test_peers.py::test_a_peer_that_never_reads_its_replies_is_dropped",
    ],
    "p04": ["test_peers.py::test_random_bytes_a_thousand_times"],
    "p05": [
        "test_faults.py::test_a_stopped_worker_is_a_time_out",
        "test_sessions.py::test_a_stopped_daemon_is_a_time_out",
    ],
    "p07": ["test_sessions.py::test_a_daemon_that_dies_is_noticed_at_once"],
}


def test_every_visible_scenario_is_played() -> None:
    lines = (ROOT / "tests/cases/visible.jsonl").read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    scenarios = {case["id"] for case in cases if case["area"] in ("client", "rpc")}
    assert scenarios == set(PLAYED_BY)
    for tests in PLAYED_BY.values():
        for test in tests:
            file, _, name = test.partition("::")
            assert f"def {name}(" in (Path(__file__).parent / file).read_text(), test
