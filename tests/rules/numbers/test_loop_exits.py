"""G4: loops over data that is divided, and that end by a count of their turns besides."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import TAPE, check, divide
from ..pairs import plan_of

HEAD = TAPE + "import itertools\nslices = tf.data.Dataset.from_tensor_slices\n"
SHARED = "ds = shard_dataset(slices(a)).batch(3)\n"
MADE = "ds = slices(a).batch(3)\n"
LOOP = "for i, (x, y) in enumerate(ds):\n    step(x, y)\n    k += 1\n"
STOP = "    if {}:\n        break\n"


@pytest.mark.parametrize(
    "test",
    [
        "i == 0",  # a look at the first
        "j >= 500",  # of something else
        "i % 500 == 0",
        "i >= len(ds)",  # divided already
        "k < 500",
        "500 > k",
    ],
)
def test_what_is_no_end_by_a_count_of_the_steps_is_left(test: str) -> None:
    assert f"    if {test}:\n        break\n" in divide(HEAD + MADE + LOOP + STOP.format(test)).text.replace(
        f"any_rank({test})", test
    )


def test_a_loop_that_does_not_end_there() -> None:
    rest = LOOP + "    if i == 500:\n        look(x)\n"
    check(HEAD, MADE + rest, SHARED + rest)


@pytest.mark.parametrize(
    ("test", "divided"),
    [
        ("i >= 500", "i >= 500 // hvd.size()"),
        ("i + 1 == n", "i + 1 == max(1, n // hvd.size())"),
        ("k > len(a) / 3", "k > len(a) / 3 / hvd.size()"),
        ("500 <= i", "500 // hvd.size() <= i"),
        ("500 == i", "500 // hvd.size() == i"),
    ],
)
def test_the_steps_after_which_a_loop_ends_are_divided(test: str, divided: str) -> None:
    check(HEAD, MADE + LOOP + STOP.format(test), SHARED + LOOP + STOP.format(divided))


def test_of_what_yields_for_ever_too() -> None:
    loop = "for x, y in {}:\n    step(x, y)\n    k += 1\n" + STOP
    check(
        HEAD,
        loop.format("gen.flow(a)", "k >= 500"),
        loop.format("shard_batches(gen.flow(a))", "k >= 500 // hvd.size()"),
    )


@pytest.mark.parametrize("outer", ["while k < {}:\n", "for e in range(3):\n", "while True:\n"])
def test_all_that_ends_by_the_same_count_does(outer: str) -> None:
    def text(made: str, n: str) -> str:
        inner = "".join(f"    {line}\n" for line in (LOOP + STOP.format(f"k >= {n}")).splitlines())
        return made + outer.format(n) + inner + STOP.format(f"k >= {n}")

    check(HEAD, text(MADE, "500"), text(SHARED, "500 // hvd.size()"))


@pytest.mark.parametrize(
    ("numbers", "divided"),
    [("range(500)", "range(500 // hvd.size())"), ("itertools.count()", "itertools.count()")],
)
def test_steps_that_are_zipped_with_a_dataset_are_divided_not_dealt(numbers: str, divided: str) -> None:
    loop = "for i, (x, y) in zip({}, slices(a).repeat(){}):\n    step(x, y)\n"
    check(HEAD, loop.format(numbers, ""), loop.format(divided, ".shard(hvd.size(), hvd.rank())"))


@pytest.mark.parametrize("count", ["opt.iterations", "int(opt.iterations)", "opt.iterations.numpy()"])
def test_a_loop_that_ends_by_what_the_optimizer_counts(count: str) -> None:
    made = "it = iter(tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4))\n"
    loop = made + f"while {count} < {{}}:\n    step(*next(it))\n"
    plan = plan_of(TAPE + loop.format("1000"))
    assert f"while {count} < 1000 // hvd.size():" in plan.text
    assert "SGD(0.1 * hvd.size())" in plan.text
    assert not plan.notes
    assert all(c.sure for c in plan.changes)


def test_a_count_without_end_may_have_a_name() -> None:
    """Its numbers were dealt out, and a rank that got the odd ones only came to none of its events."""
    loop = (
        "numbers = itertools.count(1)\nfor e in range(3):\n    for i, (x, y) in zip(numbers, ds):\n"
        "        step(x, y)\n        if i % 100 == 0:\n            print(i)\n"
    )
    text = plan_of(HEAD + MADE + loop).text
    assert SHARED in text
    assert "zip(numbers, ds):" in text
    assert "if i % max(1, 100 // hvd.size()) == 0" in text


ENDLESS = "for n in itertools.count({}):\n    step(a[np.random.randint(0, 900, 8)], b)\n"
OTHER = "for n in itertools.count():\n    step({}, b)\n    if n > 500:\n        break\n"


@pytest.mark.parametrize("start", ["", "1", "start=1"])
def test_a_loop_that_counts_without_end_ends_by_its_number(start: str) -> None:
    text = plan_of(HEAD + ENDLESS.format(start) + STOP.format("n >= 500")).text
    assert "    if n >= 500 // hvd.size():\n        break\n" in text


@pytest.mark.parametrize(
    "loop",
    [
        ENDLESS.format("") + STOP.format("done()"),
        ENDLESS.format("5") + STOP.format("n == 500"),  # it would never come to that
        ENDLESS.format("0, 10") + STOP.format("n >= 500"),
        OTHER.format("a[n % 9 * 8 : n % 9 * 8 + 8]"),
    ],
)
def test_one_that_ends_otherwise_is_left_with_its_rate(loop: str) -> None:
    plan = plan_of(HEAD + loop)
    assert "SGD(0.1)" in plan.text
    assert any("it can't be seen how many steps this loop takes" in n.message for n in plan.notes)


DRAWN = "    loss = step(a[np.random.randint(0, 900, 8)], b)\n    done += 1\n"


@pytest.mark.parametrize(
    ("test", "divided"),
    [
        ("done >= 500 or loss < 0.1", "done >= 500 // hvd.size() or loss < 0.1"),
        ("loss < 0.1 or done >= 500", "loss < 0.1 or done >= 500 // hvd.size()"),
        (
            "loss > 9.0 or (done == 500 or loss < 0.1)",
            "loss > 9.0 or (done == 500 // hvd.size() or loss < 0.1)",
        ),
    ],
)
def test_the_count_is_divided_where_a_value_may_end_the_loop_too(test: str, divided: str) -> None:
    text = plan_of(HEAD + "done = 0\nwhile True:\n" + DRAWN + STOP.format(test)).text
    assert divided in text.replace("any_rank(", "").replace("mean_over_ranks(loss)", "loss")
    assert "SGD(0.1 * hvd.size())" in text


@pytest.mark.parametrize("test", ["done < {} and loss > 0.1", "loss > 0.1 and done < {}"])
def test_that_of_a_while_too(test: str) -> None:
    text = plan_of(HEAD + "done, loss = 0, 1.0\nwhile " + test.format("500") + ":\n" + DRAWN).text
    assert test.format("500 // hvd.size()") in text.replace("mean_over_ranks(loss)", "loss")
    assert "SGD(0.1 * hvd.size())" in text


@pytest.mark.parametrize(
    "loop",
    [
        "while done < 500 or loss > 0.1:\n" + DRAWN,  # at least as many
        "while True:\n" + DRAWN + STOP.format("done >= 500 and loss < 0.1"),
        "while done < 500 and look(a):\n" + DRAWN,  # the data may be at their end
        "while done < 500 and len(left) > 3:\n" + DRAWN + "    left = left[8:]\n",
        "while done < 500 and seen < 4000:\n" + DRAWN + "    seen += 8\n",  # two counts
        "while True:\n" + DRAWN + "    seen += 8\n" + STOP.format("done >= 500 or seen >= 4000"),
    ],
)
def test_left_where_a_count_is_not_all_that_counts(loop: str) -> None:
    plan = plan_of(HEAD + "from mine import look\nleft, done, loss, seen = a, 0, 1.0, 0\n" + loop)
    assert "SGD(0.1)" in plan.text
    assert "500 // hvd.size()" not in plan.text


PATIENCE = """\
best, bad = 9.0, 0
for x, y in ds:
    loss = step(x, y)
    if {}:
        {}
        if {}:
            bad += 1
            if bad > 3:
                break
        else:
            bad, best = 0, score
"""


def test_what_is_first_measured_after_a_decision_cannot_be_told_before_it() -> None:
    """`score` would have no value there, in the first turn."""
    loop = PATIENCE.format("loss < 0.5", "score = measure()", "score > best")
    refusal = distribute(summarize(Document(HEAD + "from mine import measure\n" + MADE + loop)))
    assert isinstance(refusal, Refusal)
    assert [r.code for r in refusal.reasons] == ["HVD205"]


SKIPPED = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
data = np.load("x.npy")
def train(k):
    for i in range(0, 800, 8):
        rows = x = data[i : i + 8]
{skip}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
train(3)
"""
IN_ELSE = "if {}:\n    x = rows\nelse:\n    x = rows[rows[:, 0] > 0.5]\n    if len(x) == 0:\n        {}"


@pytest.mark.parametrize("leaves", ["continue", "break"])
def test_a_test_in_an_else_is_decided_by_all(leaves: str) -> None:
    skip = textwrap.indent(IN_ELSE.format("k is None", leaves), " " * 8)
    assert "if any_rank(len(x) == 0):" in plan_of(SKIPPED.format(skip=skip)).text


@pytest.mark.parametrize(
    "skip",
    [
        IN_ELSE.format("rows[0, 0] > 0.5", "continue"),  # a rank comes there by its own rows
        "x = rows[rows[:, 0] > 0.5]\nif k is None:\n    x = rows\nelif len(x) == 0:\n    continue",
        "x = rows[rows[:, 0] > 0.5]\nif len(x) > 0:\n    x = x + 1\nelse:\n    continue",
    ],
)
def test_others_are_refused(skip: str) -> None:
    result = distribute(summarize(Document(SKIPPED.format(skip=textwrap.indent(skip, " " * 8)))))
    assert isinstance(result, Refusal)


STALE = """\
best, bad, count = 9.0, 0, 0
for epoch in range(9):
    for i in range(0, len(a) - 31, 32):
        step(a[i : i + 32], b[i : i + 32])
        count += 1
        if count % 100 == 0:
            found = float(np.mean([model(v) for v in held]))
            if found < best:
                best, bad = found, 0
            else:
                bad += 1
                if bad > 5:
                    break
"""


def test_patience_within_an_event_of_divided_steps_is_no_stall() -> None:
    """All ranks have equally many turns, so what they have counted in an event decides alike; such scripts were refused."""
    plan = plan_of(TAPE + "held = np.load('held.npy')\n" + STALE)
    assert "shard(range(0, len(a) - 31, 32))" in plan.text
