"""Generated programs of Keras 3 on real ranks: they come to the weights of one process with the batch of all ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize import runtime
from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from tests.stepwise import comparing, keras_3
from tests.training.chosen import ALL
from tests.training.running import KERAS_3

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(900)]
NUMBER = 30 if ALL else 20  # of 4,410
RANKS = 2


def test_ranks_train_as_one_process_with_the_batch_of_all(tmp_path: Path) -> None:
    chosen = keras_3.some(NUMBER, seed=1)
    plans = [
        distribute(summarize(Document.from_bytes(p.of(1).encode(), "program.py")), Options(tensorflow="2.21"))
        for p in chosen
    ]
    texts = [plan.text for plan in plans if isinstance(plan, Plan) and not plan.to_confirm]
    assert len(texts) == NUMBER
    by_hand, on_ranks = tmp_path / "by_hand", tmp_path / "on_ranks"
    for folder in (by_hand, on_ranks):
        folder.mkdir()
        (folder / runtime.KERAS_3).write_text(runtime.text_of(runtime.KERAS_3), encoding="utf-8")
    wanted = comparing.run_on_ranks([p.of(RANKS) for p in chosen], 1, by_hand, KERAS_3)
    found = comparing.run_on_ranks(texts, RANKS, on_ranks, KERAS_3)
    parted = {
        program.name: [*ones, *ranks]
        for program, ones, ranks in zip(chosen, wanted, found, strict=True)
        if not comparing.are_alike([*ones, *ranks])
    }
    assert not parted
