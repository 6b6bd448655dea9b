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


SHOWN = "it can't be seen what `n` is"
HOOK = "class Hook:\n    def after(self, n):\n        if {0}:\n            model.save_weights('w.h5')\n"


@pytest.mark.parametrize(
    "kept",
    [
        "events = {'step': []}\nfor h in make_hooks():\n    events['step'].append(h.after)\nhooks = events['step']\n",
        "hooks = [h.after for h in make_hooks()]\nlisteners = [Hook().after]\n",
        "hooks = [lambda n: [getattr(h, name)(n) for h in make_hooks() for name in ('before', 'after')]]\n",
        "hooks = []\ndef fire(n, event):\n    for h in make_hooks():\n        f = getattr(h, event, None)\n        f(n)\n",
    ],
)
@pytest.mark.parametrize("test", ["n % 100 == 0", "n in MILESTONES", "n in (100, 200)"])
def test_methods_that_are_called_through_a_list_or_by_name(kept: str, test: str) -> None:
    assert [d for d in doubts(HOOK.format(test) + kept) if d.startswith(SHOWN)]


@pytest.mark.parametrize(
    "kept",
    [
        "hooks = []\nopt = getattr(tf.keras.optimizers, NAME)(0.1)\n",  # a library's
        "hooks = []\nclass Other:\n    pass\ngetattr(Other(), NAME)(1)\n",  # of another class
        "hooks = []\nprint(getattr(args, NAME))\n",  # no method
    ],
)
def test_methods_that_nothing_hands_on(kept: str) -> None:
    assert not [d for d in doubts(HOOK.format("n % 100 == 0") + kept) if d.startswith(SHOWN)]


REGISTRY = """\
hooks = []
def on(event):
    def register(f):
        {}
        return f
    return register
@on("step")
def save(n):
    if n % 100 == 0:
        model.save_weights('w.h5')
"""


@pytest.mark.parametrize("kept", ["hooks.append(f)", "table[event] = f", "table[event].append((f, 1))"])
def test_functions_that_a_decorator_of_the_program_keeps(kept: str) -> None:
    assert [d for d in doubts(REGISTRY.format(kept)) if d.startswith(SHOWN)]


def test_functions_that_a_decorator_does_not_keep() -> None:
    assert not [d for d in doubts(REGISTRY.format("print(event)")) if d.startswith(SHOWN)]
