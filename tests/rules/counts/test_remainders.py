"""G5: where a turn stands in a cycle of steps, by a name."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

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


ROUND = "place = 0\nfor x, y in ds.take(1000):\n"
BEFORE = [
    ("    if place == 0:\n        keep(1)\n", "    if place < hvd.size():\n"),
    ("    if not place:\n        keep(1)\n", "    if not place >= hvd.size():\n"),
    (
        "    if place == 7 and x[0] > 1:\n        keep(1)\n",
        "    if (7 - place) % 10 < hvd.size() and x[0] > 1:\n",
    ),
]


@pytest.mark.parametrize(("test", "after"), BEFORE)
@pytest.mark.parametrize("is_first", [True, False])
def test_one_that_goes_round_is_tested_before_it_goes_on(test: str, after: str, is_first: bool) -> None:
    step = "    step(x, y)\n"
    body = test + step if is_first else step + test
    text = plan_of(TAPE + DATA + ROUND + body + "    place = (place + 1) % 10\n").text
    assert after in text
    assert "place = (place + hvd.size()) % 10" in text


@pytest.mark.parametrize("times", range(1, 7))
@pytest.mark.parametrize("rest", [0, 7, 9])
def test_before_it_goes_on_a_number_is_met_once_in_each_cycle(times: int, rest: int) -> None:
    """What stands in the distributed programs, counted."""
    met, place = 0, 0
    for _ in range(600 // times):
        met += (rest - place) % 10 < times
        place = (place + times) % 10
    assert abs(met - 60) <= 1


@pytest.mark.parametrize(
    "body",
    [
        "    if place == 0:\n        step(x, y)\n    step(x, y)\n",  # a ratio between updates
        "    if place == 0:\n        print(1)\n    step(x, y)\n",
        "    step(rows[place], y)\n",
    ],
)
def test_one_that_goes_round_beside_events_stays(body: str) -> None:
    plan = plan_of(
        TAPE + "rows = np.ones((10, 4))\n" + DATA + ROUND + body + "    place = (place + 1) % 10\n"
    )
    assert "place = (place + 1) % 10" in plan.text
    assert not [c for c in plan.to_confirm if c.rule == "G5"]


def test_one_that_is_set_back_in_a_turn_is_asked() -> None:
    body = "    if place == 0:\n        keep(1)\n    step(x, y)\n    place = (place + 1) % 10\n"
    plan = plan_of(TAPE + DATA + ROUND + body + "    if x[0] > 1:\n        place = 0\n")
    assert [c.doubt for c in plan.to_confirm if c.rule == "G5"]


@pytest.mark.parametrize(
    ("event", "after"),
    [
        ("keep(k)", "if k == max(1, 10 // hvd.size()):"),
        ("step(x, y)", "if k == 10:"),  # an update more in ten
    ],
)
def test_a_small_count_that_begins_again_is_no_look_at_the_first_steps(event: str, after: str) -> None:
    head = "k = 0\nfor x, y in ds.take(1000):\n"
    body = f"    if k == 0:\n        {event}\n    step(x, y)\n    k += 1\n    if k == 10:\n        k = 0\n"
    assert after in plan_of(TAPE + DATA + head + body).text


def test_a_look_at_the_first_steps_stays() -> None:
    body = "k = 0\nfor x, y in ds.take(1000):\n    step(x, y)\n    k += 1\n    if k == 10:\n        keep(k)\n"
    assert "if k == 10:" in plan_of(TAPE + DATA + body).text


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


@pytest.mark.parametrize("goes_on", ["0 if k == 9 else k + 1", "k + 1 if k < 9 else 0"])
def test_a_place_that_begins_again_by_a_choice_is_asked_about(goes_on: str) -> None:
    loop = f"k = 0\nfor x, y in ds:\n    step(x, y)\n    k = {goes_on}\n    {{}}\n"
    asked = plan_of(
        TAPE + DATA.replace(".repeat()", "") + loop.format("if k == 0:\n        model.save_weights('w')")
    ).to_confirm
    assert any("where a rank's step stands among so many" in c.doubt for c in asked)
    for other in ("print(k)", "if k == 0:\n        step(x * 2, y)"):
        assert not any(
            "stands among" in c.doubt
            for c in plan_of(TAPE + DATA.replace(".repeat()", "") + loop.format(other)).to_confirm
        )


def test_one_that_counts_epochs_by_a_choice_is_none() -> None:
    loop = (
        "k = 0\nfor e in range(9):\n    for x, y in ds:\n        step(x, y)\n    k = k + 1 if k < 3 else 0\n"
    )
    assert not plan_of(
        TAPE + DATA.replace(".repeat()", "") + loop + "    if k == 0:\n        model.save_weights('w')\n"
    ).to_confirm
