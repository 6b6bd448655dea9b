"""G5: where a turn stands in a cycle of steps, by a name."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4)\n"
LOOP = "for i, (x, y) in enumerate(ds.take(1000)):\n    step(x, y)\n"


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (
            "    place = i % 100\n    if place == 0:\n        keep(i)\n",
            "    place = i * hvd.size() % 100\n    if place < hvd.size():\n        keep(i)\n",
        ),
        (
            "    cycle, place = divmod(i, n)\n    if place == n - 1:\n        keep(cycle)\n",
            "    cycle, place = divmod(i * hvd.size(), n)\n    if ((n - 1) - place) % n < hvd.size():\n        keep(cycle)\n",
        ),
        (
            "    place = i % 100\n    if not place:\n        keep(i)\n",
            "    place = i * hvd.size() % 100\n    if not place >= hvd.size():\n        keep(i)\n",
        ),
        (
            "    place = i % 100\n    opt.learning_rate.assign(0.1 * place / 100)\n    if place != 50:\n        keep(i)\n",
            "    place = (i * hvd.size()) % 100\n    opt.learning_rate.assign(0.1 * place / 100 * hvd.size())\n"
            "    if (50 - place) % 100 >= hvd.size():\n        keep(i)\n",
        ),
    ],
)
def test_it_comes_as_often_for_the_rows(body: str, after: str) -> None:
    plan = plan_of(TAPE + "n = 50\n" + DATA + LOOP + body)
    assert after.replace("(i * hvd.size()) %", "i * hvd.size() %") in plan.text.replace(
        "(i * hvd.size()) %", "i * hvd.size() %"
    )
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    "body",
    [
        # what goes with the updates themselves; what is printed alone; what is no count of these steps
        "    place = i % 2\n    if place == 0:\n        step(x, y)\n",
        "    place = i % 100\n    if place == 0:\n        print(i)\n",
        "    place = len(x) % 100\n    if place == 0:\n        keep(i)\n",
    ],
)
def test_near_misses(body: str) -> None:
    assert body.split("\n", maxsplit=1)[0] in plan_of(TAPE + DATA + LOOP + body).text


@pytest.mark.parametrize("times", range(1, 7))
@pytest.mark.parametrize("every", [7, 40])
def test_a_number_is_met_once_in_each_cycle(times: int, every: int) -> None:
    """What stands in the distributed programs, counted."""
    for rest in (0, 3, every - 1):
        met = [(rest - turn * times) % every < times for turn in range(every * 6)]
        assert sum(met) == 6 * times
