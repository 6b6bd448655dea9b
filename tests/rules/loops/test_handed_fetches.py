"""S5: a method that runs what it is handed trains for one caller, and evaluates for another."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from ..sessions import BUILT, INIT

DATA = "import numpy as np\nfrom unseen import get\nrows, others = [np.ones((8, 1))] * 40, [np.ones((8, 1))] * 8\n"
RUN = "def run(fetches, batch):\n    {body}\n"
PLAIN = "return sess.run(fetches, {x: batch})"
LOOPS = """\
for epoch in range(5):
    trained = {on}
    for batch in rows:
        run(trained, batch)
    total = 0
    for batch in others:
        total += run({off}, batch)[0]
    print(total / len(others))
"""


def planned(off: str, body: str = PLAIN, on: str = "[train, loss]") -> str:
    program = DATA + BUILT + "sess = tf.Session()\n" + INIT + RUN.replace("{body}", body)
    text = plan_of(program + LOOPS.format(on=on, off=off)).text
    assert "for batch in rows:" not in text
    return text


@pytest.mark.parametrize("off", ["[loss]", "(loss, w)", "{'loss': loss}"])
def test_what_is_handed_no_train_op_is_not_divided(off: str) -> None:
    assert "for batch in others:" in planned(off)


@pytest.mark.parametrize(("body", "on"), [("return sess.run([loss, fetches], {x: batch})", "train")])
def test_one_of_what_is_fetched_may_be_handed(body: str, on: str) -> None:
    assert "for batch in others:" in planned("w", body, on=on)


def test_it_may_be_handed_on() -> None:
    body = "return inner(fetches, batch)\ndef inner(operations, rows):\n    return sess.run(operations, {x: rows})"
    assert "for batch in others:" in planned("[loss]", body)


@pytest.mark.parametrize(
    "off", ["[train, loss]", "get(loss)", "[get(1)]", "trained", "trained if epoch else [loss]"]
)
def test_what_may_be_a_train_op_is_divided(off: str) -> None:
    assert "for batch in others:" not in planned(off)


def test_a_run_that_trains_whatever_it_is_handed_is_divided() -> None:
    assert "for batch in others:" not in planned(
        "w", "return sess.run([train, fetches], {x: batch})", on="loss"
    )


def test_what_the_function_fetches_beside_what_it_is_handed_counts() -> None:
    body = "fetches = [train, *fetches]\n    return sess.run(fetches, {x: batch})"
    assert "for batch in others:" not in planned("[loss]", body)
