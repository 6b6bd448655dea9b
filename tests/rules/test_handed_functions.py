"""G5: tests in functions that a program hands on, so that it can't be seen what calls them."""

from __future__ import annotations

import pytest

from .pairs import plan_of
from .test_own_numbers import HEAD

LOOP = """\
data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)
step = 0
for epoch in range(3):
    for x, y in data:
        train(x, y)
        step += 1
        for hook in hooks:
            hook(step)
"""
SAVE = "def save({0}):\n    if {1}:\n        model.save_weights('w.h5')\n"


def doubts(program: str) -> list[str]:
    return [c.doubt for c in plan_of(HEAD + program + LOOP).changes if not c.sure]


@pytest.mark.parametrize("test", ["n % 100 == 0", "n == 300", "300 <= n", "(n + 1) % 50 == 0"])
def test_what_it_is_told_may_be_a_count_of_steps(test: str) -> None:
    found = doubts("hooks = []\n" + SAVE.format("n", test) + "hooks.append(save)\n")
    assert found == [
        "it can't be seen what `n` is: where it counts the steps of training, a rank takes size() times fewer, so divide what "
        "it is compared with by `hvd.size()`"
    ]


@pytest.mark.parametrize(
    ("parameter", "test", "kept"),
    [
        ("epoch", "epoch % 100 == 0", "hooks.append(save)"),
        ("n", "n == 0", "hooks.append(save)"),
        ("n", "n % 100 == 0", "names = list(map(save, range(3)))"),
        ("n", "n is None", "hooks.append(save)"),
    ],
)
def test_what_is_told_is_something_else(parameter: str, test: str, kept: str) -> None:
    assert not doubts("hooks = []\n" + SAVE.format(parameter, test) + kept + "\n")


def test_what_is_only_printed_is_not_asked() -> None:
    assert not doubts(
        "hooks = []\ndef show(n):\n    if n % 100 == 0:\n        print(n)\nhooks.append(show)\n"
    )
