"""Statements that are taken apart do what they did: each form runs as it was and as it becomes, with steps that only say so."""

from __future__ import annotations

import pytest

from horovodize.source import Document
from horovodize.summary import summarize
from horovodize.taking_apart import take_apart

HEAD = """\
from collections import deque
import functools
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


"""
STUB = """\
from collections import deque
import functools


def step(x):
    log.append(("step", x))
    return x * 10


"""
FORMS = {
    "list": "losses = [step(x) for x in ds]\n",
    "in a call": "losses = [float(step(x)) for x in ds]  # one epoch\n",
    "filters": "losses = [step(x) for x in ds if x % 2 if x > 1]\n",
    "clauses": "losses = [step(x + n) for n in range(2) for x in ds if x != n]\n",
    "nested": "losses = [[step(x) for x in ds] for n in range(2)]\n",
    "set": "losses = {step(x) for x in ds}\n",
    "dict": "losses = {str(x): step(x) for x in ds}\n",
    "sum": "mean = sum(step(x) for x in ds) / 4\n",
    "sum from": "mean = sum((step(x) for x in ds), 100)\n",
    "max": "best = max(step(x) for x in ds)\n",
    "any": "found = any(step(x) > 15 for x in ds)\nlog.append(found)\n",
    "all": "good = all(step(x) < 25 for x in ds)\nlog.append(good)\n",
    "if any": "if any(step(x) > 15 for x in ds):\n    log.append('found')\nelse:\n    log.append('not')\n",
    "any dropped": "any(step(x) > 15 for x in ds)\n",
    "join": "text = ', '.join(str(step(x)) for x in ds)\n",
    "extend": "losses = [0]\nlosses.extend(step(x) for x in ds)\n",
    "map": "losses = list(map(step, ds))\n",
    "map two": "def both(a, b):\n    return step(a + b)\n\n\nlosses = list(map(both, ds, ds))\n",
    "map lambda": "losses = list(map(lambda x: step(x) + 1, ds))\n",
    "map dropped": "deque(map(step, ds), maxlen=0)\n",
    "reduce": "total = functools.reduce(lambda t, x: t + step(x), ds, 0)\n",
    "reduce in a call": "t = 5\nlog.append(functools.reduce(lambda t, x: t + step(x), ds, 0))\nlog.append(t)\n",
    "dropped": "_ = [step(x) for x in ds]\n",
    "statement": "[step(x) for x in ds]\n",
    "starred": "first, *rest = [step(x) for x in ds]\n",
    "starred argument": "log.extend([*(step(x) for x in ds)])\n",
    "for over list": "for loss in [step(x) for x in ds]:\n    log.append(loss)\n",
    "for over generator": (
        "for loss in (step(x) for x in ds if x > 1):\n    log.append(loss)\n    if loss > 20:\n"
        "        break\n"
    ),
    "for over map": (
        "for loss in map(step, ds):\n    log.append(loss)\n    if loss > 20:\n        continue\n"
        "    log.append(0)\n"
    ),
    "for else": "for loss in (step(x) for x in ds):\n    log.append(loss)\nelse:\n    log.append('end')\n",
    "for on one line": "for loss in map(step, ds): log.append(loss)\n",
    "the name is used around": "x = 5\nlosses = [step(x) for x in ds]\nlog.append(x)\n",
    "the name is used in what is gone through": "x = [1, 2]\nlosses = [step(x) for x in x]\nlog.append(x)\n",
    "a function reads the name": "x = 7\ndef f():\n    return x\nlosses = [step(x) + f() for x in ds]\n",
    "two of a name": "a = [step(x) for x in ds]\nb = [step(x) + 1 for x in ds]\n",
    "the list is read meanwhile": "losses = [9]\nlosses = [step(x) + len(losses) for x in ds]\n",
    "in try": "try:\n    losses = [step(x) for x in ds]\nexcept ValueError:\n    pass\n",
    "keywords and attributes": "x = 1\nlosses = [step(x=int(x.real)) for x in ds]\nlog.append(x)\n",
    "walrus": "losses = [l for x in ds if (l := step(x)) > 10]\nlog.append(l)\n",
    "in a function": (
        "def train(ds):\n    return [step(x) for x in ds]\n\n\nfor n in range(2):\n"
        "    log.append(train(ds))\n"
    ),
    "in with": "with open('/dev/null') as f:\n    losses = [step(x) for x in ds]\n",
    "lambda": "run = lambda x, k=1: step(x * k)\nfor x in ds:\n    run(x)\n    run(x, k=2)\n",
    "lambda in a dict": "runs = [0]\nruns[0] = lambda x: step(x)\nfor x in ds:\n    runs[0](x)\nruns = None\n",
    "lambda with a comprehension": "run = lambda: [step(x) for x in ds]\nfor n in range(2):\n    log.append(run())\n",
    "if": "for x in ds:\n    if step(x) > 15:\n        log.append(x)\n",
    "elif": (
        "for x in ds:\n    if x == 2:\n        log.append('''two\n  lines''')\n    # not two\n    elif step(x) > 15:\n"
        "        log.append(x)\n    elif x:\n        log.append(0)\n    else:\n        log.append(-1)\n"
    ),
    "while": "it = iter(ds)\nwhile step(next(it)) < 25:\n    log.append('on')\n",
    "while and": (
        "it, n = iter(ds), 0\nwhile n < 2 and step(next(it)) < 35 and n >= 0:\n    n += 1\n"
        "    if n == 1:\n        continue\n    log.append(n)\n"
    ),
    "while walrus": "it = iter(ds)\nwhile (loss := step(next(it))) < 25: log.append(loss)\n",
    "return": "def first(ds):\n    for x in ds:\n        return step(x) + 1\n\n\nlog.append(first(ds))\n",
    "assert": "for x in ds:\n    assert step(x) > 5, 'too small'\n",
    "arms": "for x in ds:\n    loss = step(x) if x > 1 else None\n    log.append(loss)\n",
    "and": "for x in ds:\n    x > 1 and step(x)\n",
    "or": "for x in ds:\n    x > 1 or step(x)\n",
    "for over a step": "for x in ds:\n    for digit in str(step(x)):\n        log.append(digit)\n",
    "augmented": "total = 5\ntotal += sum(step(x) for x in ds)\n",
    "semicolons": "for x in ds:\n    n = 1; losses = [step(x + i) for i in range(2)]; log.append(n)  # all\n",
    "suite": "for n in range(2): losses = [step(x) for x in ds]; log.append(losses)\n",
    "backslash": "for x in ds:\n    n = x; step(x); \\\n    log.append(n)\n",
    "broken lines": (
        "losses = [  # all\n    # a step\n    step(\n        x\n    )  # its loss\n    + 1\n"
        "    for x in ds  # batches\n"
        "    # but not\n    if x\n    != 2\n]\n"
    ),
}  # fmt: skip
KEPT = {
    "no step": "names = [str(x) for x in ds]\nfor x in ds:\n    step(x)\n",
    "a statement": "for x in ds:\n    loss = step(x)\n",
    "an argument": "for x in ds:\n    log.append(step(x))\n",
    "a line of several": "for x in ds: step(x); log.append(x)\n",
    "a generator for later": "losses = (step(x) for x in ds)\nfor loss in losses:\n    log.append(loss)\n",
    "a generator given away": "def use(g):\n    return next(g)\n\n\nuse(step(x) for x in ds)\n",
    "zip": "for a, b in zip((step(x) for x in ds), ds):\n    log.append(a)\n",
    "two clauses and a break": "for loss in (step(x) for n in ds for x in ds):\n    break\n",
    "after a call": "log.append((len(log), [step(x) for x in ds]))\n",
    "after what it may change": (
        "class Run:\n    def __init__(self):\n        self.n = 0\n\n    def step(self, x):\n"
        "        self.n += 1\n        return step(x)\n\n\n"
        "run = Run()\nlog.append((run.n, [run.step(x) for x in ds]))\n"
    ),
    "behind and": "for x in ds:\n    if x > 1 and step(x) > 2:\n        log.append(x)\n",
    "in a class": "class Run:\n    losses = [step(x) for x in ds]\n",
    "while else": "it = iter(ds)\nwhile step(next(it)) < 15:\n    pass\nelse:\n    log.append('end')\n",
    "a default that is made each time": "for x in ds:\n    run = lambda k=log.append(1): step(x)\n    run()\n",
    "a target that is no name": "class A: pass\na = A()\nlosses = [step(a.x) for a.x in ds]\n",
    "within a graph": "@tf.function\ndef epoch(ds):\n    return [step(x) for x in ds]\n\n\nepoch(ds)\n",
    "async": "async def train():\n    return [step(x) async for x in ds]\n",
    "variables": (
        "def by_hand(x):\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x))\n"
        "    v = model.trainable_variables\n"
        "    [w.assign_sub(0.1 * g) for w, g in zip(v, tape.gradient(loss, v))]\n\n\nfor x in ds:\n    by_hand(x)\n"
    ),
}  # fmt: skip


def _text(form: str) -> str:
    """What a form becomes, with what stands before it."""
    apart = take_apart(summarize(Document(HEAD + form)))
    assert apart is not None, "nothing is taken apart"
    return apart.summary.document.text


def _run(form: str) -> tuple[list[object], dict[str, object]]:
    space: dict[str, object] = {"log": [], "ds": [1, 2, 3, 4], "__name__": "script"}
    exec(compile(STUB + form, "form.py", "exec"), space)
    log = space["log"]
    assert isinstance(log, list)
    return log, space


@pytest.mark.parametrize("name", FORMS)
def test_it_does_the_same(name: str) -> None:
    form = FORMS[name]
    after = _text(form)
    assert after.startswith(HEAD)
    made = after.removeprefix(HEAD)
    before, now = _run(form), _run(made)
    assert now[0] == before[0]
    plain = (int, list, dict, set, str, float, tuple)
    for key, value in before[1].items():
        if isinstance(value, plain) and not key.startswith("_"):
            assert now[1][key] == value, f"{key} in\n{made}"


@pytest.mark.parametrize("name", FORMS)
def test_comments_stay(name: str) -> None:
    form = FORMS[name]
    for comment in (line.partition("#")[2] for line in form.splitlines() if "#" in line):
        assert f"#{comment}" in _text(form)


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_as_it_is(name: str) -> None:
    assert take_apart(summarize(Document(HEAD + KEPT[name]))) is None


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_tabs_and_line_ends_stay(end: str) -> None:
    text = (HEAD.replace("    ", "\t") + "for n in range(2):\n\tlosses = [step(x) for x in ds]\n").replace(
        "\n", end
    )
    apart = take_apart(summarize(Document(text)))
    assert apart is not None
    expected = "\tlosses = []\n\tfor x in ds:\n\t\tlosses.append(step(x))\n".replace("\n", end)
    assert apart.summary.document.text.endswith("for n in range(2):" + end + expected)
