"""`verify` under Keras 3: it sees the steps there, and tells what averages from what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize import runtime
from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from horovodize.verifying.runs import Run
from horovodize.verifying.verdict import verify
from tests.training.running import KERAS_3
from tests.verifying.warm import WarmTrainer

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(900)]
PROGRAM = Path(__file__).parent / "programs" / "fit.py"
ALONE: dict[str, Run] = {}


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("hvd.init()", "hvd.init()", True),
        ("hvd.DistributedOptimizer", "", False),
        ("        hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n", "", False),
    ],
    ids=["right", "not averaged", "not broadcast"],
)
def test_what_trains_alike_is_told_from_what_does_not(
    old: str, new: str, alike: bool, tmp_path: Path
) -> None:
    original = PROGRAM.read_text(encoding="utf-8")
    plan = distribute(summarize(Document(original)), Options(tensorflow="2.21"))
    assert isinstance(plan, Plan)
    assert plan.text.count(old) == 1
    trainer = WarmTrainer(
        original, plan.text.replace(old, new), tmp_path, ALONE, world=KERAS_3, beside=(runtime.KERAS_3,)
    )
    found = verify("fit.py", trainer, [2], seeds=1)
    assert found.alike is alike, found.as_json()
