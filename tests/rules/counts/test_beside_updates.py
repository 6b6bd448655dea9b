"""G5: files that are written under a test that goes with updates; events within such a one."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4)\n"
LOOP = "for i, (x, y) in enumerate(ds.take(1000)):\n    step(x, y)\n"


def notes(body: str) -> list[str]:
    return [n.message for n in plan_of(HEAD + LOOP + body).notes if n.rule == "G5"]


@pytest.mark.parametrize(
    "body",
    [
        "    if i % 8 == 0:\n        step(x, y)\n        model.save('m')\n",
        "    if not i % 8:\n        model.save('m')\n        step(x, y)\n",
    ],
)
def test_what_is_written_beside_an_update_is_said(body: str) -> None:
    (note,) = notes(body)
    assert "comes after size() times as many rows: give it a test of its own, by `8 // hvd.size()`" in note


def test_what_is_written_beside_a_penalty_is_said() -> None:
    body = (
        "for i, (x, y) in enumerate(ds.take(1000)):\n    with tf.GradientTape() as tape:\n        loss = model(x) - y\n"
        "        if i % 16 == 0:\n            loss += penalty\n            model.save('m')\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    )
    made = HEAD[: HEAD.index("def step")] + HEAD[HEAD.index("ds =") :]
    found = [n.message for n in plan_of(made + body).notes if n.rule == "G5"]
    assert any("what is written in line" in message for message in found)


@pytest.mark.parametrize(
    "body",
    [
        "    if i % 8 == 0:\n        step(x, y)\n        print(i)\n",  # shown only
        "    if i % 100 == 0:\n        model.save('m')\n",  # divided
        "    if i % 8 == 0:\n        step(x, y)\n        if i % 80 == 0:\n            model.save('m')\n",
    ],
)
def test_near_misses(body: str) -> None:
    assert not notes(body)


@pytest.mark.parametrize(
    ("inner", "after"),
    [
        ("i % 100 == 0", "i % (5 * max(1, 20 // hvd.size())) == 0"),
        ("i == 700", "i == 5 * max(1, 140 // hvd.size())"),
    ],
)
def test_an_event_in_what_goes_with_updates_is_a_multiple_of_their_number(inner: str, after: str) -> None:
    body = f"    if i % 5 == 0:\n        step(x, y)\n        if {inner}:\n            model.save('m')\n"
    text = plan_of(HEAD + LOOP + body).text
    assert after in text
    assert "if i % 5 == 0:" in text
