"""G6: where a run goes on within an epoch, by what a graph or an optimizer has counted of a rank's steps."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 4])
rows = np.load('x.npy')
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(x * tf.Variable(1.0)), global_step=count)
saver = tf.train.Saver()
sess = tf.Session()
sess.run(tf.global_variables_initializer())
"""
RESTORED = (
    "saver.restore(sess, tf.train.latest_checkpoint('d'))\nstep = sess.run(count)\nbatches = len(rows) // 8\n"
)
STEP = "sess.run(train, {x: rows[i * 8:i * 8 + 8]})\n"
LOOP = f"for epoch in range(first, 10):\n    for i in range(begin, batches):\n        {STEP}    begin = 0\n"
SAVE = "    saver.save(sess, 'd/m', global_step=count)\n"
TURNS = "((batches - 1) // hvd.size() + 1)"
ASKED = "this is how many steps an epoch has had"


def text(body: str) -> str:
    plan = plan_of(HEAD + RESTORED + body)
    assert not plan.to_confirm
    assert any("as many ranks as the run had" in note.message for note in plan.notes)
    return plan.text


def is_asked(body: str, begun: str = RESTORED) -> bool:
    return any(ASKED in change.doubt for change in plan_of(HEAD + begun + body).to_confirm)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "first = step // batches\nbegin = step % batches\n",
            f"first = step // {TURNS}\nbegin = step % {TURNS}\n",
        ),
        ("first, begin = divmod(step, batches)\n", f"first, begin = divmod(step, {TURNS})\n"),
        (
            "first = step // batches\nbegin = step - first * batches\n",
            f"first = step // {TURNS}\nbegin = step - first * {TURNS}\n",
        ),
        (
            "first = int(step / batches)\nbegin = int(step % batches)\n",
            f"first = int(step / {TURNS})\nbegin = int(step % {TURNS})\n",
        ),
        (
            "total = batches\nfirst = step // total\nbegin = step % total\n",
            f"first = step // {TURNS.replace('batches', 'total')}\nbegin = step % {TURNS.replace('batches', 'total')}\n",
        ),
    ],
)
def test_the_place_in_an_epoch_is_found_by_the_steps_that_a_rank_takes_in_one(
    before: str, after: str
) -> None:
    """P4: of 16 batches, two ranks take 8 steps an epoch: step 12 is the fourth of the second, not beyond its end."""
    made = text(before + LOOP + SAVE)
    assert after in made
    assert "for i in range(begin * hvd.size(), batches, hvd.size()):" in made


def test_it_is_found_in_the_head_of_the_loop_itself() -> None:
    loop = (
        "for epoch in range(step // batches, 10):\n    for i in range(step % batches, batches):\n"
        f"        {STEP}    step = 0\n"
    )
    made = text(loop + SAVE)
    assert f"range(step % {TURNS} * hvd.size(), batches, hvd.size())" in made


def test_batches_that_are_written_out() -> None:
    made = text(("first, begin = divmod(step, 16)\n" + LOOP + SAVE).replace("batches)", "16)"))
    assert "divmod(step, (15 // hvd.size() + 1))" in made


def test_turns_that_are_left_out_are_counted_as_equally_many_on_each_rank() -> None:
    body = (
        "first = step // batches\nskip = step % batches\nfor epoch in range(first, 10):\n    for i in range(batches):\n"
        f"        if epoch == first and i < skip:\n            continue\n        {STEP}"
    )
    made = text(body + SAVE)
    share = "max(1, batches // hvd.size())"
    assert f"first = step // {share}\nskip = step % {share}\n" in made


def test_steps_that_are_left_out_by_a_number_of_all_ranks_are_compared_with_those_of_all() -> None:
    body = (
        "for epoch in range(10):\n    for i in range(batches):\n        n = epoch * batches + i\n"
        f"        if n < step:\n            continue\n        {STEP}"
    )
    assert "if n < step * hvd.size():" in text(body + SAVE)


def test_what_is_left_of_the_steps_of_all_ranks() -> None:
    """The place where a loop begins is the same on all ranks: its number is a rank's own already."""
    made = text("todo = 160 - step\nfor k in range(todo):\n    i = (step + k) % batches\n    " + STEP + SAVE)
    assert "todo = 160 - step * hvd.size()\n" in made
    assert "i = ((step * hvd.size()) + k) % batches" in made


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "uses",
    [
        "data = tf.data.Dataset.range(9).skip(step % batches)\n",
        "at = step % batches\nlater = rows[at]\n",
        "at = (step % batches) * 8\nprint(rows[at:])\n",
    ],
)
def test_a_place_that_is_used_otherwise_is_asked(uses: str) -> None:
    assert is_asked(uses + "first, begin = 0, 0\n" + LOOP + SAVE)


@pytest.mark.parametrize(
    "uses",
    [
        "print(step % batches)\n",
        "if step % batches == 0:\n    print('an epoch')\n",
        "if not step % 100:\n    print('round')\n",
        "np.random.seed(step % 1000)\n",
        "name = 'run-%d' % step\n",
    ],
)
def test_what_is_shown_or_tested_or_a_seed_is_no_place(uses: str) -> None:
    assert not is_asked(uses + "first, begin = 0, 0\n" + LOOP + SAVE)


def test_a_run_that_goes_on_from_nothing_is_not_asked() -> None:
    begun = RESTORED[RESTORED.index("step =") :]
    assert not is_asked("at = step % batches\nprint(rows[at])\nfirst, begin = 0, 0\n" + LOOP, begun)


@pytest.mark.parametrize("start", ["step", "step + 1", "max(0, step - 5)", "int(step)"])
def test_a_loop_over_all_steps_begins_with_their_number(start: str) -> None:
    made = text(f"begin = {start}\nfor i in range(begin, 1000):\n    {STEP}" + SAVE)
    assert "range(begin * hvd.size(), 1000, hvd.size())" in made


@pytest.mark.parametrize("start", ["step // 2", "1000 - step", "steps_of[step]"])
def test_a_loop_that_begins_otherwise_is_asked(start: str) -> None:
    body = f"steps_of = list(range(2000))\nbegin = {start}\nfor i in range(begin, 1000):\n    {STEP}" + SAVE
    asked = [change.doubt for change in plan_of(HEAD + RESTORED + body).to_confirm]
    assert any("multiply the number by `hvd.size()`" in doubt for doubt in asked)


def test_a_place_by_another_number_than_the_loops_is_asked() -> None:
    assert is_asked("first, begin = step // 20, step % 20\n" + LOOP + SAVE)


def test_an_epoch_counted_in_a_loop_of_strides_has_a_ranks_number_of_steps() -> None:
    body = (
        "first, begin = divmod(step, batches)\nfor epoch in range(first, 10):\n    for i in range(begin, batches):\n"
        f"        {STEP}        step = sess.run(count)\n        print('epoch', step // batches)\n    begin = 0\n"
    )
    made = text(body + SAVE)
    assert f"print('epoch', step // {TURNS})" in made


def test_an_epoch_of_a_share_without_the_rest_is_counted_by_it() -> None:
    body = (
        "first = int(step / batches)\nfor epoch in range(first, 10):\n    for i in range(batches):\n        "
        + STEP
    )
    assert "first = int(step / max(1, batches // hvd.size()))" in text(body + SAVE)
