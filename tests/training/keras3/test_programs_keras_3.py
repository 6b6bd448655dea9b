"""Keras, tape and session programs of tests/programs (`chosen`) under Keras 3: distributed by the tool, trained in one process
and on ranks, with the contract that they keep under 2.15 (`test_programs`). What Keras 3 does not run is moved to it:
`moved.toml`. Sessions whose layers Keras 2 makes, and MonitoredSessions, are refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.cases import PROGRAMS, Case, cases, read_table, replaced
from tests.training.chosen import chosen
from tests.training.keeping import Refused, distribute, faults_of, runs
from tests.training.running import KERAS_3

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(900)]
ALL = cases()
OF_KERAS_2 = re.compile(
    rb"\btf\.layers\.|\btf\.nn\.rnn_cell\.|\bset_session\b"
)  # what a graph has no more under Keras 3
CASES = [
    case
    for case in ALL
    if case.path.parent.name in ("keras", "tape")
    or (case.path.parent.name == "session" and not OF_KERAS_2.search(case.path.read_bytes()))
]
LEFT = [case for case in ALL if case.path.parent.name in ("session", "monitored") and case not in CASES]
MOVED = {
    f"{kind}/{name}": entry
    for kind, entries in read_table(Path(__file__).with_name("moved.toml")).items()
    for name, entry in entries.items()
}


@pytest.mark.parametrize("case", chosen(CASES, KERAS_3), ids=lambda case: case.name)
def test_a_program_distributed_for_keras_3_keeps_the_contract(case: Case, tmp_path: Path) -> None:
    if case.name in MOVED:
        case = moved(case, MOVED[case.name], tmp_path)
    faults = faults_of(case, tmp_path, KERAS_3)
    assert not faults, "\n".join(map(str, faults))


def moved(case: Case, entry: dict[str, Any], folder: Path) -> Case:
    """A program that Keras 3 doesn't run, which is tried, as one that it runs."""
    as_it_is = runs(case, case.path, folder / "as-it-is", KERAS_3)[-1]
    assert not as_it_is.complete
    assert entry["fails"] in as_it_is.why()
    if entry.get("refused"):
        with pytest.raises(Refused, match="HVD902"):
            distribute(case.path, folder / "refused.py", *KERAS_3.options)
    program = folder / "moved" / case.path.parent.name / case.path.name
    program.parent.mkdir(parents=True)
    program.write_bytes(replaced(case.path.read_bytes(), entry["replace"]))
    return replace(case, path=program)


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.name)
def test_a_session_that_does_not_train_there_is_refused(case: Case, tmp_path: Path) -> None:
    """As people write it who run it on TensorFlow 2: under the name of TensorFlow 1's part."""
    program = tmp_path / case.path.name
    program.write_bytes(
        case.path.read_bytes().replace(b"import tensorflow as tf", b"import tensorflow.compat.v1 as tf")
    )
    with pytest.raises(Refused, match=r"HVD90[12]"):
        distribute(program, tmp_path / "refused.py", *KERAS_3.options)


def test_no_program_is_missing() -> None:
    found = {
        f"{path.parent.name}/{path.stem}"
        for kind in ("keras", "tape")
        for path in (PROGRAMS / kind).glob("*.py")
    }
    assert {case.name for case in CASES if case.path.parent.name != "session"} == found
    assert sum(case.path.parent.name == "session" for case in CASES) >= 18
    assert len(found) >= 80
    assert MOVED.keys() <= found
