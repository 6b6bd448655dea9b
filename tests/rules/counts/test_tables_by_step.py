"""G5: what a program keeps by the numbers of steps."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).repeat().batch(4)\n"
LOOP = "for i, (x, y) in enumerate(ds.take(1000)):\n    step(x, y)\n"
LIST = "[k and max(1, k // hvd.size()) for k in {}]"
TABLE = "{{k and max(1, k // hvd.size()): {0}[k] for k in {0}}}"
SET = "        opt.learning_rate.assign({})\n"
ARGS = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--at', type=int, nargs='*')\nargs = p.parse_args()\n"


@pytest.mark.parametrize(
    ("given", "event", "after"),
    [
        (
            "rates = {0: 0.1, 500: 0.01}\n",
            "    if i in rates:\n" + SET.format("rates[i]"),
            f"    if i in {LIST.format('rates')}:\n" + SET.format(f"{TABLE.format('rates')}[i] * hvd.size()"),
        ),
        (
            "cfg = dict(rates={0: 0.1, 500: 0.01})\n",
            "    if i in cfg['rates']:\n" + SET.format("cfg['rates'][i]"),
            f"    if i in {LIST.format(chr(99) + 'fg[' + repr('rates') + ']')}:\n",
        ),
        (
            "rates = {0: 0.1, 500: 0.01}\n",
            "    rate = rates.get(i)\n    if rate is not None:\n" + SET.format("rate"),
            f"    rate = {TABLE.format('rates')}.get(i)\n",
        ),
        (
            ARGS,
            "    if i in args.at:\n        keep(i)\n",
            f"    if i in {LIST.format('args.at')}:\n        keep(i)\n",
        ),
        (
            "at = set(range(0, 1000, 250))\n",
            "    if i in at:\n        keep(i)\n",
            f"    if i in {LIST.format('at')}:\n        keep(i)\n",
        ),
    ],
)
def test_the_numbers_are_divided_where_they_are_looked_up(given: str, event: str, after: str) -> None:
    plan = plan_of(TAPE + given + DATA + LOOP + event)
    assert after in plan.text
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    ("given", "event"),
    [
        # a list that has a rate for each step; numbers of steps that the program itself collects
        ("rates = [0.1, 0.2]\n", "    keep(rates[i])\n"),
        ("seen = []\n", "    if i in seen:\n        keep(i)\n    seen.append(i)\n"),
        ("rates = {}\n", "    if i in rates:\n        keep(rates[i])\n    rates[i + 1] = 0.1\n"),
        ("from plans import made\nat = made(len(a))\n", "    if i in at:\n        keep(i)\n"),
    ],
)
def test_near_misses(given: str, event: str) -> None:
    assert event in plan_of(TAPE + given + DATA + LOOP + event).text


@pytest.mark.parametrize("read", ["rates.get(i, rate)", "rates.get(i, 0.1)"])
def test_a_table_that_a_count_looks_up_selects_no_rows(read: str) -> None:
    """Each rank took every size()-th number, and met other keys of the table than rank 0."""
    loop = "for i in range(600):\n    rate = {}\n    opt.learning_rate.assign(rate)\n"
    loop += "    step(a[np.random.randint(9, size=4)], b)\n"
    text = plan_of(TAPE + "rates, rate = {0: 0.1, 300: 0.01}, 0.1\n" + loop.format(read)).text
    assert "for i in range(600 // hvd.size()):" in text
    assert f"rate = {TABLE.format('rates')}{read.removeprefix('rates')}" in text
