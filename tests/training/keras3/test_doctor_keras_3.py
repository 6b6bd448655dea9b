"""`horovodize doctor` under a real Keras 3, where Horovod's own optimizer averages nothing: it sees that, and ours does."""

from __future__ import annotations

import os

import pytest

from horovodize.diagnosing import State, diagnose

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(900)]


def test_what_averages_under_keras_3() -> None:
    found = diagnose(os.environ["HOROVODIZE_KERAS3_PYTHON"])
    assert found.ok, found.text
    said = [(line.state, line.text) for line in found.lines if line.topic == "two ranks"]
    assert [state for state, _ in said] == [State.OK, State.OK, State.NOTE]
    assert "horovod_keras3.py from different data: equal weights" in said[1][1]
    assert "nothing is averaged" in said[2][1]
