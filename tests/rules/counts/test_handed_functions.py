"""G5: tests in functions that a program hands on, so that it can't be seen what calls them."""

from __future__ import annotations

import pytest

from ..loops.test_own_numbers import HEAD
from ..pairs import plan_of

LOOP = """\
data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)
step = 0
for epoch in range(3):
    for x, y in data:
        train(x, y)
        step += 1
        for hook in hooks{}:
            hook(step)
"""
UNSEEN = "hooks = {}\n"  # what is put into a list of it can't be followed
PUT = "hooks.setdefault('step', []).append({})\n"
SAVE = "def save({0}):\n    if {1}:\n        model.save_weights('w.h5')\n"


def doubts(program: str) -> list[str]:
    over = "['step']" if program.startswith(UNSEEN) else ""
    return [c.doubt for c in plan_of(HEAD + program + LOOP.format(over)).changes if not c.sure]


@pytest.mark.parametrize("test", ["n % 100 == 0", "n == 300", "300 <= n", "(n + 1) % 50 == 0"])
def test_what_it_is_told_may_be_a_count_of_steps(test: str) -> None:
    found = doubts(UNSEEN + SAVE.format("n", test) + PUT.format("save"))
    assert found == [
        "it can't be seen what `n` is: where it counts the steps of training, a rank takes size() times fewer, so divide what "
        "it is compared with by `hvd.size()`"
    ]


@pytest.mark.parametrize(
    ("parameter", "test", "kept"),
    [
        ("epoch", "epoch % 100 == 0", PUT.format("save")),
        ("n", "n == 0", PUT.format("save")),
        ("n", "n % 100 == 0", "names = list(map(save, range(3)))"),
        ("n", "n in MILESTONES", "table['kept'] = table['number'].map(save)"),
        ("n", "n is None", PUT.format("save")),
    ],
)
def test_what_is_told_is_something_else(parameter: str, test: str, kept: str) -> None:
    assert not doubts(UNSEEN + SAVE.format(parameter, test) + kept + "\n")


def test_what_is_only_printed_is_not_asked() -> None:
    assert not doubts(UNSEEN + "def show(n):\n    if n % 100 == 0:\n        print(n)\n" + PUT.format("show"))


@pytest.mark.parametrize(
    "handed",
    [
        UNSEEN
        + "def on(event, f):\n    "
        + PUT.format("f")
        + SAVE.format("n", "n % 100 == 0")
        + "on('step', save)\n",
        UNSEEN
        + "def on_step(f):\n    "
        + PUT.format("f")
        + "    return f\n@on_step\n"
        + SAVE.format("n", "n % 100 == 0"),
    ],
    ids=["to a function of the program", "by a decorator of the program"],
)
def test_what_keeps_it_is_a_function_of_the_program(handed: str) -> None:
    assert len(doubts(handed)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "if n in seen:\n        raise KeyError(n)",
        "return tf.where(n < 128, n, 255 - n)",
        "return tf.where(n < 128, 255 - n, n)",
    ],
)
def test_what_decides_no_event_is_not_asked(body: str) -> None:
    assert not doubts(UNSEEN + f"seen = []\ndef check(n):\n    {body}\n" + PUT.format("check"))


@pytest.mark.parametrize(
    "body",
    [
        "if n > 128:\n        raise StopIteration",
        "if n > 128:\n        raise Done",
        "if n > 128:\n        raise ValueError(n)\n    else:\n        model.save_weights('w')",
        "model.rate = tf.where(n < 128, 0.1, 0.01)",
    ],
)
def test_what_may_end_a_run_or_set_a_rate_is(body: str) -> None:
    done = "class Done(Exception):\n    pass\n"
    assert doubts(UNSEEN + f"{done}def check(n):\n    {body}\n" + PUT.format("check"))


EVERY_100 = "if n % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:\n"


@pytest.mark.parametrize(
    ("handed", "over"),
    [
        ("hooks = []\n" + SAVE.format("n", "n % 100 == 0") + "hooks.append(save)\n", ""),
        ("hooks = [print]\n" + SAVE.format("n", "n % 100 == 0") + "hooks.insert(0, save)\n", ""),
        (
            "hooks = []\n"
            + SAVE.format("n", "n % 100 == 0")
            + "def add(f):\n    hooks.append(f)\nadd(save)\n",
            "",
        ),
        (
            "hooks = {'step': []}\n" + SAVE.format("n", "n % 100 == 0") + "hooks['step'].append(save)\n",
            "['step']",
        ),
        (
            "hooks = []\nclass Save:\n    def __call__(self, n):\n        if n % 100 == 0:\n"
            "            model.save_weights('w.h5')\nhooks.append(Save())\n",
            "",
        ),
    ],
    ids=["appended", "inserted", "by a function", "in a dictionary", "an object"],
)
def test_what_is_put_into_a_list_is_followed(handed: str, over: str) -> None:
    plan = plan_of(HEAD + handed + LOOP.format(over))
    assert EVERY_100 in plan.text
    assert all(c.sure for c in plan.changes)


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
