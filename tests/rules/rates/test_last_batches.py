"""Rates that are a line to zero, by a count that may come beyond its end: that is said."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

LOOP = """\
ds = tf.data.Dataset.from_tensor_slices((a, b)){batched}
total = 9 * 15
count = 0
for epoch in range(9):
    for x, y in ds:
        opt.learning_rate.assign({rate})
        step(x, y)
        count += 1
"""


def says(batched: str, rate: str) -> bool:
    plan = plan_of(TAPE + LOOP.format(batched=batched, rate=rate))
    return any("beyond the last step that the rate is made for" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    ("batched", "rate", "said"),
    [
        (".batch(64)", "0.1 * (1 - count / total)", True),
        (".batch(64)", "0.1 * (1 - count / total) ** 0.9", True),
        (".shuffle(9).batch(64, drop_remainder=False).prefetch(1)", "0.1 * (total - count) / total", True),
        (".batch(64, drop_remainder=True)", "0.1 * (1 - count / total)", False),
        (".batch(64, True)", "0.1 * (1 - count / total)", False),
        (".batch(64)", "0.1 * max(0.0, 1 - count / total)", False),
        (".batch(64)", "0.1 * 0.9 ** count", False),
        (".batch(64)", "0.1 * (1 - 0.9 ** count)", False),
        (".batch(64)", "0.1 * (1 - count % 15 / 15)", False),
        (".batch(64)", "0.1 / (1 + count)", False),
    ],
)
def test_what_is_said_of_a_line(batched: str, rate: str, said: bool) -> None:
    assert says(batched, rate) is said


def test_a_count_that_a_checkpoint_keeps() -> None:
    loop = LOOP.replace("count = 0", "import json\nkept = json.load(open('k.json'))").replace(
        "count += 1", "kept['n'] += 1"
    )
    end = "    json.dump(kept, open('k.json', 'w'))\n"
    text = TAPE + loop.format(batched=".batch(64)", rate="0.1 * (1 - kept['n'] / total)") + end
    assert any("beyond the last step" in n.message for n in plan_of(text).notes)
