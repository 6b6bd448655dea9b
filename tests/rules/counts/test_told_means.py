"""G5: a function that an event tells a sum and how many steps it is of divides it by a rank's steps."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from ..sessions import BUILT, INIT

PROGRAM = (
    BUILT
    + "EVERY = 100\ndef show(what, total, n):\n    print(what, {ratio})\nsess = tf.Session()\n"
    + INIT
    + "total = 0\nfor i in range(9000):\n    total += sess.run([loss, train], {{x: draw()}})[0]\n"
    "    if (i + 1) % {every} == 0:\n        {shown}\n        total = 0\n"
)


@pytest.mark.parametrize(
    ("every", "shown", "after"),
    [
        ("EVERY", "show('loss', total, EVERY)", "show('loss', total, max(1, EVERY // hvd.size()))"),
        ("200", "show('loss', total, 200)", "show('loss', total, 200 // hvd.size())"),
        (
            "EVERY",
            "show('loss', n=EVERY, total=total)",
            "show('loss', n=max(1, EVERY // hvd.size()), total=total)",
        ),
    ],
)
def test_the_mean_stays_one(every: str, shown: str, after: str) -> None:
    text = plan_of(PROGRAM.format(every=every, shown=shown, ratio="total / n")).text
    assert after in text or after.replace("200 // hvd.size()", "max(1, 200 // hvd.size())") in text


@pytest.mark.parametrize(
    ("shown", "ratio"),
    [
        ("show('loss', total, EVERY)", "total, n"),  # no mean
        ("show('loss', total, EVERY)", "total / 100, n"),
        ("show('loss', other, EVERY)", "total / n"),  # no sum that begins again
        ("show('loss', total, EVERY - 1)", "total / n"),
    ],
)
def test_near_misses(shown: str, ratio: str) -> None:
    assert shown in plan_of(PROGRAM.format(every="EVERY", shown=shown, ratio=ratio)).text
