"""Lists that a dictionary holds and that get an item with each step: their lengths count steps."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

LOOP = """\
from collections import defaultdict
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
history = {begun}
for epoch in range(9):
    {epoch}
    for x, y in ds:
        {turn}
        history["loss"].append(step(x, y))
        if len(history["loss"]) % 20 == 0:
            keep(model)
"""


def text(begun: str, epoch: str = "pass", turn: str = "pass") -> str:
    return plan_of(TAPE + LOOP.format(begun=begun, epoch=epoch, turn=turn)).text


@pytest.mark.parametrize(
    "begun", ['{"loss": [], "rate": []}', "defaultdict(list)", "dict(loss=[]) if 0 else {'loss': []}"]
)
@pytest.mark.parametrize("epoch", ["pass", 'history["loss"] = []'])
def test_a_length_that_counts_steps(begun: str, epoch: str) -> None:
    is_seen = begun[0] in "{d" and "if" not in begun
    assert ('if len(history["loss"]) % max(1, 20 // hvd.size()) == 0:' in text(begun, epoch)) is is_seen


@pytest.mark.parametrize(
    ("begun", "epoch", "turn"),
    [
        ('{"loss": [1.0]}', "pass", "pass"),
        ("load()", "pass", "pass"),
        ('{"rate": []}', "pass", "pass"),
        ('{"loss": []}', 'history["loss"] = [0.0]', "pass"),
        ('{"loss": []}', "pass", 'history["loss"] = []'),
        ('{"loss": []}', "pass", 'history["loss"].pop()'),
        ('{"loss": []}', "pass", "history = load()"),
    ],
)
def test_a_length_that_counts_something_else_too(begun: str, epoch: str, turn: str) -> None:
    assert 'if len(history["loss"]) % 20 == 0:' in text(begun, epoch, turn)
