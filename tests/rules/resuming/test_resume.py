"""G6: programs that go on from a checkpoint."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import changes, check, plan_of, untouched

HEAD = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4)\nbatches = iter(ds)\n"
KEPT = "ck = tf.train.Checkpoint(step=tf.Variable(0), model=model)\nck.restore(tf.train.latest_checkpoint('d'))\n"
AGREED = KEPT + "ck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n"
LOOP = "while int(ck.step) < 1000:\n    step(*next(batches))\n    ck.step.assign_add(1)\n"
STRIDED = LOOP.replace("assign_add(1)", "assign_add(hvd.size())")
SPELT_OUT = LOOP.replace("assign_add(1)", "assign(ck.step + 1)")
RULES = ("G4", "G5", "G6", "C5")


def test_counts_that_nothing_keeps_are_left() -> None:
    plain = "n = tf.Variable(0)\nfor x, y in ds.take(1000):\n    step(x, y)\n    n.assign_add(1)\n"
    untouched("G6", HEAD + plain)


def test_epochs_that_are_kept_are_left() -> None:
    epochs = "for e in range(int(ck.step), 9):\n    for x, y in ds.take(100):\n        step(x, y)\n    ck.step.assign_add(1)\n"
    untouched("G6", HEAD + KEPT + epochs)


def test_where_nothing_is_divided_all_only_agree_on_where_to_begin() -> None:
    check("G6", HEAD, KEPT + LOOP, AGREED + LOOP, split_data=False)


def test_a_count_that_is_kept_goes_on_by_the_steps_of_all_ranks() -> None:
    check(("G4", "G5", "G6"), HEAD, KEPT + LOOP, AGREED + STRIDED)
    spelt_out = SPELT_OUT.replace("+ 1", "+ hvd.size()")
    check(("G4", "G5", "G6"), HEAD, KEPT + SPELT_OUT, AGREED + spelt_out)


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("int(ck.step) >= 500", "int(ck.step) >= 500"),
        ("int(ck.step) % 100 == 0", "int(ck.step) % 100 < hvd.size()"),
        ("ck.step % 100 != 0", "ck.step % 100 >= hvd.size()"),
        ("not ck.step.numpy() % every", "not ck.step.numpy() % every >= hvd.size()"),
        ("int(ck.step) % 100 == 1", "(int(ck.step) - 1) % 100 < hvd.size()"),
        ("(int(ck.step) + 1) % 100 == 0", "(int(ck.step) + hvd.size()) % 100 < hvd.size()"),
        ("tf.equal(ck.step % 100, 0)", "tf.less(ck.step % 100, hvd.size())"),
        ("int(ck.step) == 500", "500 <= int(ck.step) < 500 + hvd.size()"),
        ("int(ck.step) + 1 == 500", "int(ck.step) < 500 <= int(ck.step) + hvd.size()"),
        ("int(ck.step) + 1 != last", "not (int(ck.step) < last <= int(ck.step) + hvd.size())"),
        ("int(ck.step) + 1 >= 500", "int(ck.step) + hvd.size() >= 500"),
    ],
)
def test_such_a_count_may_step_over_a_number(test: str, after: str) -> None:
    then = "    if {}:\n        keep(model)\n"
    check(("G4", "G5", "G6"), HEAD, KEPT + LOOP + then.format(test), AGREED + STRIDED + then.format(after))


SCHEDULE = "rate = tf.keras.optimizers.schedules.CosineDecay(0.1, 1000)\n"


def test_a_schedule_that_is_asked_by_hand_keeps_its_steps_and_is_told_those_of_all_ranks() -> None:
    """It was told a rank's steps, and ended size() times too late: only what an optimizer has is divided (C4)."""
    asked = LOOP.replace("    step(", "    opt.learning_rate = rate(ck.step)\n    step(")
    text = plan_of(HEAD + KEPT + SCHEDULE + asked).text
    assert "CosineDecay(0.1, 1000)" in text
    assert "opt.learning_rate = rate(ck.step) * hvd.size()" in text


def test_a_schedule_of_an_optimizer_is_asked_by_a_ranks_steps() -> None:
    held = SCHEDULE + "opt = tf.keras.optimizers.SGD(rate)\n" + LOOP + "    print(rate(ck.step))\n"
    text = plan_of(HEAD + KEPT + held).text
    assert "CosineDecay(0.1 * hvd.size(), 1000 / hvd.size())" in text
    assert "rate(ck.step // hvd.size())" in text


@pytest.mark.parametrize("asked", ["opt.lr({})", "opt.learning_rate({})"])
def test_an_optimizer_is_asked_by_a_ranks_steps(asked: str) -> None:
    held = SCHEDULE + "opt = tf.keras.optimizers.SGD(rate)\n" + LOOP + "    print({})\n"
    text = plan_of(HEAD + KEPT + held.format(asked.format("ck.step"))).text
    assert asked.format("ck.step // hvd.size()") in text


@pytest.mark.parametrize("asked", ["other.lr(ck.step)", "opt.variables(ck.step)"])
def test_what_is_no_schedule_is_asked_as_before(asked: str) -> None:
    own = "class Other:\n    def lr(self, step):\n        return step\nother = Other()\n"
    held = own + SCHEDULE + "opt = tf.keras.optimizers.SGD(rate)\n" + LOOP + f"    print({asked})\n"
    assert f"print({asked})\n" in plan_of(HEAD + KEPT + held).text


def test_a_rate_by_such_a_count_is_right_as_it_is() -> None:
    rate = "    opt.learning_rate = 0.1 * 0.9 ** int(ck.step)\n"
    text = plan_of(HEAD + KEPT + LOOP + rate).text
    assert "opt.learning_rate = 0.1 * 0.9 ** int(ck.step) * hvd.size()\n" in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "for x, y in ds.take(1000 - int(ck.step)):",
            "for x, y in ds.take((1000 - int(ck.step)) // hvd.size()):",
        ),
        ("for k in range(int(ck.step), 1000):", "for k in range(int(ck.step), 1000, hvd.size()):"),
        ("for k in range(1000 - int(ck.step)):", "for k in range((1000 - int(ck.step)) // hvd.size()):"),
        (
            "left = max(1000 - int(ck.step), 0)\nfor x, y in ds.take(left):",
            "left = max(1000 - int(ck.step), 0)\nfor x, y in ds.take(left // hvd.size()):",
        ),
        # a near miss: nothing is left out of it, and no rank takes none
        ("for x, y in ds.take(steps):", "for x, y in ds.take(max(1, steps // hvd.size())):"),
    ],
)
def test_a_run_that_is_through_takes_no_step(before: str, after: str) -> None:
    body = "\n    step(*next(batches))\n    ck.step.assign_add(1)\n"
    check(("G4", "G6"), HEAD, KEPT + before + body, AGREED + after + body.replace("1)", "hvd.size())"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for x, y in ds.take(1000 - done):", "for x, y in ds.take(max(0, 1000 // hvd.size() - done)):"),
        ("for x, y in ds.take(a + b - done):", "for x, y in ds.take(max(0, (a + b) // hvd.size() - done)):"),
        (
            "left = 1000 - done\nfor k in range(left):",
            "left = max(0, 1000 // hvd.size() - done)\nfor k in range(left):",
        ),
        # near misses: nothing that was counted is left out, or it is added
        ("for x, y in ds.take(1000 - 10):", "for x, y in ds.take(max(1, (1000 - 10) // hvd.size())):"),
        ("for x, y in ds.take(1000 - skip):", "for x, y in ds.take(max(1, (1000 - skip) // hvd.size())):"),
    ],
)
def test_what_is_left_of_a_ranks_share(before: str, after: str) -> None:
    """An optimizer counts a rank's steps: they are taken from its share, not from the steps of all."""
    kept = (
        "ck = tf.train.Checkpoint(opt=opt, model=model)\nck.restore(tf.train.latest_checkpoint('d'))\nskip = 7\n"
        "done = int(opt.iterations)\n"
    )
    body = "\n    step(*next(batches))\n"
    text = plan_of(HEAD + kept + before + body).text
    assert all(line in text for line in after.split("\n"))


def test_a_count_that_is_set_from_a_turn() -> None:
    loop = "for k in range(int(ck.step), n):\n    step(*next(batches))\n    ck.step.assign(k + 1)\n    if (k + 1) % 100 == 0:\n"
    check(
        ("G4", "G5", "G6"),
        HEAD,
        f"{KEPT}{loop}        keep(model)\n",
        KEPT + "for k in range(hvd.broadcast_object(int(ck.step)), n, hvd.size()):\n    step(*next(batches))\n"
        "    ck.step.assign(k + hvd.size())\n"
        "    if (k + hvd.size()) % 100 < hvd.size():\n        keep(model)\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("begins", "after"), [("k = start\n", "k + hvd.size()"), ("", "k + hvd.size()"), ("k = 7\n", "k + 1")]
)
def test_a_turn_that_is_set_to_where_the_turns_begin(begins: str, after: str) -> None:
    """A run that took no turn has the number, too, and one that took them stores the step after the last one of all ranks."""
    start = f"start = int(tf.train.latest_checkpoint('d').split('-')[-1])\n{begins}"
    text = plan_of(
        f"{HEAD}{start}for k in range(start, n):\n    step(*next(batches))\nkeep(model, k + 1)\n"
    ).text
    assert "for k in range(start, n, hvd.size()):\n" in text
    assert f"keep(model, {after})\n" in text


def test_the_step_after_one_that_was_stored() -> None:
    start = "last = int(tf.train.latest_checkpoint('d').split('-')[-1])\nstart = last + 1\n"
    loop = "for k in range(start, n):\n    step(*next(batches))\n    keep(model, k)\n"
    check(
        ("G4", "G6"),
        HEAD,
        start + loop,
        start.replace("+ 1", "+ hvd.size()")
        + "start = hvd.broadcast_object(start)\n"
        + loop.replace("(start, n)", "(start, n, hvd.size())"),
    )


def test_a_number_from_the_name_of_a_checkpoint() -> None:
    """As in programs that compute epoch and batch from it."""
    source = """\
def load():
    return int(tf.train.latest_checkpoint('d').split('-')[-1])
count = load()
first = count // 100
begin = count - first * 100
for e in range(first, 9):
    for k in range(begin, 100):
        step(*next(batches))
        count += 1
        if count % 50 == 0:
            keep(model, count)
    begin = 0
"""
    after = source.replace("count = load()", "count = hvd.broadcast_object(load())")
    after = after.replace("range(begin, 100)", "range(begin, 100, hvd.size())").replace(
        "count += 1", "count += hvd.size()"
    )
    after = after.replace(
        "    for k in", "    epoch_end = count + len(range(begin, 100))\n    for k in"
    ).replace("    begin = 0", "    count = epoch_end\n    begin = 0")
    check(("G4", "G5", "G6"), HEAD, source, after.replace("count % 50 == 0", "count % 50 < hvd.size()"))


LOADED = """\
def load():
    kept = tf.train.latest_checkpoint('d')
    if kept:
        return {found}
    return False, 0
{start}
for k in range(500):
    step(*next(batches))
    count += 1
    if count % 50 == 0:
        keep(model, count)
"""
NUMBER = "int(kept.split('-')[-1])"


@pytest.mark.parametrize(
    ("found", "start"),
    [
        (f"{NUMBER}, 0", "at, count = load()"),  # the other part is read from the name
        ("True, 7", "found, count = load()"),
        (f"True, {NUMBER}", "found, at = load()\ncount = 0"),
        (f"True, {NUMBER}", "found, at = load()\ncount, turns = 0, at"),
    ],
)
def test_a_number_that_comes_back_beside_one_from_a_checkpoint(found: str, start: str) -> None:
    text = plan_of(HEAD + LOADED.format(found=found, start=start)).text
    assert "    count += 1\n    if count % max(1, 50 // hvd.size()) == 0:\n" in text


@pytest.mark.parametrize(
    ("found", "start"),
    [
        (f"True, {NUMBER}", "found, count = load()"),
        (f"({NUMBER}, kept), True", "(count, path), found = load()"),
        (f"True, {NUMBER}", "found, at = load()\ncount = at if found else 0"),
        (f"True, {NUMBER}", "found, at = load()\nturns, count = 0, at"),
    ],
)
def test_a_number_that_a_function_returns_with_others(found: str, start: str) -> None:
    text = plan_of(HEAD + LOADED.format(found=found, start=start)).text
    assert "    count += hvd.size()\n    if count % 50 < hvd.size():\n" in text


def test_all_ranks_go_on_from_a_number_that_is_returned_with_others() -> None:
    source = LOADED.format(found=f"True, {NUMBER}", start="found, count = load()")
    assert "found, count = hvd.broadcast_object(load())\n" in plan_of(HEAD + source).text


BY_COUNT = """\
import numpy as np
rows = np.load('rows.npy')
def load():
    return int(tf.train.latest_checkpoint('d').split('-')[-1])
turns = len(rows) // 32
count = load()
first = {first}
for e in range(first, 9):
    for k in range({steps}):
        step(rows[k * 32 : k * 32 + 32], 0)
{counted}
    keep(model, count)
"""
ONE = "        count += 1"
LEFT_OVER = "an epoch may leave out up to size() - 1 batches"


def by_count(first: str = "count // turns", steps: str = "turns", counted: str = ONE) -> tuple[str, bool]:
    """What becomes of a program whose count of steps is kept over epochs, and whether it is said that it may fall behind."""
    plan = plan_of(HEAD + BY_COUNT.format(first=first, steps=steps, counted=counted))
    return plan.text, any(LEFT_OVER in n.message for n in plan.notes)


@pytest.mark.parametrize("first", ["0", "3", "turns // 4"])
def test_a_count_by_which_no_epoch_is_found_is_that_of_the_rows(first: str) -> None:
    text, said = by_count(first)
    assert "epoch_end" not in text
    assert not said


def test_a_loop_without_epochs_counts_what_it_takes() -> None:
    loop = "for k in range(first, turns):\n    step(rows[k * 32 : k * 32 + 32], 0)\n    count += 1\n"
    head = BY_COUNT[: BY_COUNT.index("for e")].format(first="count // 2")
    assert "epoch_end" not in plan_of(HEAD + head + loop).text


@pytest.mark.parametrize("first", ["count // turns", "int(count / turns)"])
@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        ("turns", "turns"),
        ("len(rows) // 32", "len(rows) // 32"),
        ("0, turns", "len(range(0, turns))"),
    ],
)
def test_an_epoch_counts_as_many_steps_as_alone(first: str, steps: str, counts: str) -> None:
    text, said = by_count(first, steps)
    assert f"    epoch_end = count + {counts}\n    for k" in text
    assert "        count += hvd.size()\n    count = epoch_end\n" in text
    assert not said


@pytest.mark.parametrize(
    "counted",
    [
        "        if e > 2:\n            count += 1",
        "        count += 1\n        if count > 900:\n            break",
        "        if rows[k].max() > 9:\n            continue\n        count += 1",
        "        count += 2",
    ],
)
def test_an_epoch_that_may_count_otherwise_is_said(counted: str) -> None:
    text, said = by_count(counted=counted)
    assert "epoch_end" not in text
    assert "hvd.size()\n" in text[text.index("count +=") :]
    assert said


@pytest.mark.parametrize(("steps", "size"), [(35, 2), (36, 2), (35, 16), (3, 4), (0, 2)])
def test_where_an_epoch_ends_the_count_is_that_of_one_process(steps: int, size: int) -> None:
    """Whether the last batches are left out, or there are too few to be shared."""
    after = by_count()[0]
    epoch = after[after.index("    epoch_end =") : after.index("    keep(")].replace("hvd.size()", str(size))
    epoch = epoch.replace("hvd.rank()", "0")
    known = {"turns": steps, "shard": lambda turns: turns[: steps // size or steps], "step": lambda *_: None}
    known |= {"count": 0, "rows": [], "first_batch": False}
    exec("for e in range(8):\n" + epoch, known)
    assert known["count"] == 8 * steps


BY_TURNS = """\
import numpy as np
rows = np.load('rows.npy')
def load():
    return int(tf.train.latest_checkpoint('d').split('-')[-1])
def train(turns, other):
    count = load()
    first, start = count // turns, count % turns
    for e in range(first, 9):
        for k in range(start, turns):
            step(*draw(32))
            count += 1
{more}
        start = 0
        keep(model, count)
train(len(rows) // 32, 3)
"""


@pytest.mark.parametrize("more", ["", "            keep(model, count)", "            print(e, count)"])
def test_turns_that_begin_somewhere_count_what_is_left(more: str) -> None:
    text = plan_of(HEAD + BY_TURNS.format(more=more)).text
    assert "            count += min(hvd.size(), turns - k)\n" in text
    assert "epoch_end" not in text


@pytest.mark.parametrize(
    "more",
    [
        "            if count % 10 == 0:\n                model.save('m')",  # it would come twice at an epoch's end
        "            last = count",
        "            turns = other",  # another number than the loop's
        "            k = other",
    ],
)
def test_turns_whose_count_decides_something_are_counted_at_the_end_of_an_epoch(more: str) -> None:
    text = plan_of(HEAD + BY_TURNS.format(more=more)).text
    assert "count += hvd.size()\n" in text
    assert "        count = epoch_end\n" in text


@pytest.mark.parametrize(("turns", "size"), [(35, 2), (36, 2), (35, 16), (3, 4), (1, 2)])
def test_turns_count_as_many_as_one_process(turns: int, size: int) -> None:
    text = plan_of(HEAD + BY_TURNS.format(more="")).text
    loop = text[text.index("        for k in") : text.index("        start = 0")].replace(
        "hvd.size()", str(size)
    )
    known = {
        "turns": turns,
        "start": 0,
        "count": 5,
        "rows": [],
        "first_batch": False,
        "step": lambda *_: None,
        "draw": lambda n: [],
    }
    exec("if True:\n" + loop, known)
    assert known["count"] == 5 + turns


def test_an_epoch_from_what_an_optimizer_has_counted() -> None:
    epochs = "for e in range(first, 9):\n    for x, y in ds.take(100):\n        step(x, y)\n"
    check(
        "G6",
        HEAD,
        "first = int(opt.iterations) // 100\n" + epochs,
        "first = int(opt.iterations) // max(1, 100 // hvd.size())\n" + epochs,
    )


GRAPH = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32)
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(x - tf.Variable(1.0)), global_step=count)
data = load()
with tf.Session() as sess:
    tf.train.Saver().restore(sess, tf.train.latest_checkpoint('d'))
    for e in range({}, 9):
        for i in range(0, len(data), 8):
            sess.run(train, {{x: data[i : i + 8]}})
"""


@pytest.mark.parametrize(
    ("epoch", "divided"),
    [
        ("sess.run(count) // (len(data) // 8)", "sess.run(count) // (max(1, len(data) // 8 // hvd.size()))"),
        (
            "sess.run(count) // int(len(data) / 8)",
            "sess.run(count) // max(1, int(len(data) / 8) // hvd.size())",
        ),
        # Where an epoch may have a part of a step:
        ("int(sess.run(count) // (len(data) / 8))", "int(sess.run(count) * hvd.size() // (len(data) / 8))"),
    ],
)
def test_the_epoch_of_a_graphs_steps_leaves_out_what_its_ranks_leave_out(epoch: str, divided: str) -> None:
    """Of 15 batches, two ranks take 7 each: 7 * 2 // 15 would be the epoch before, again and again."""
    assert f"range({divided}, 9)" in plan_of(GRAPH.format(epoch)).text


def test_what_is_shown_of_it_is_left() -> None:
    shown = "for x, y in ds.take(100):\n    step(x, y)\n    print(f'{int(opt.iterations) // 100}')\n"
    assert changes(plan_of(HEAD + shown), "G6") == []


def test_a_graphs_global_step_counts_a_ranks_steps_and_it_is_said() -> None:
    source = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32)
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(x - tf.Variable(1.0)), global_step=count)
with tf.Session() as sess:
    tf.train.Saver().restore(sess, tf.train.latest_checkpoint('d'))
    start = sess.run(count)
    for i in range(start, 1000):
        sess.run(train, {x: data.next_batch(8)})
"""
    plan = plan_of(source)
    assert "range(start, max(start, 1000 // hvd.size())):" in plan.text
    said = [n.message for n in plan.notes]
    assert sum("count of a rank's steps" in message for message in said) == 1


@pytest.mark.parametrize(
    ("stop", "divided", "last", "met"),
    [
        ("n + 1", "n // hvd.size() + 1", "n", "min(n, max(1, n // hvd.size()))"),
        ("n", "n // hvd.size()", "n - 1", "max(1, n // hvd.size()) - 1"),
        ("2 * n + 1", "2 * n // hvd.size() + 1", "2 * n", "min(2 * n, max(1, 2 * n // hvd.size()))"),
    ],
)
def test_the_last_turn_after_a_graphs_global_step_still_comes(
    stop: str, divided: str, last: str, met: str
) -> None:
    source = f"""\
import tensorflow.compat.v1 as tf
from settings import n
x = tf.placeholder(tf.float32)
count = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(x - tf.Variable(1.0)), global_step=count)
with tf.Session() as sess:
    saver = tf.train.Saver()
    saver.restore(sess, tf.train.latest_checkpoint('d'))
    for i in range(sess.run(count), {stop}):
        sess.run(train, {{x: data.next_batch(8)}})
        if i == {last}:
            saver.save(sess, 'd/m', global_step=i)
"""
    text = plan_of(source).text
    assert f"range(sess.run(count), max(sess.run(count), {divided})):" in text
    assert f"if i == {met} and hvd.rank() == 0:" in text


def test_updates_go_with_each_other_by_their_own_number() -> None:
    other = "def other(x, y):\n    with tf.GradientTape() as tape:\n        loss = model(x) + y\n"
    other += "    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
    ratio = "    if {} % 5 == 0:\n        other(1, 2)\n"
    check(
        ("G4", "G5", "G6"),
        HEAD + other,
        KEPT + LOOP + ratio.format("int(ck.step)"),
        AGREED + STRIDED + ratio.format("int(ck.step) // hvd.size()"),
    )


def test_what_all_ranks_come_to_is_where_they_agree() -> None:
    maybe = KEPT.replace("ck.restore", "last = tf.train.latest_checkpoint('d')\nif last:\n    ck.restore")
    before = maybe.replace("tf.train.latest_checkpoint('d'))", "last)")
    check(
        "G6",
        HEAD,
        before + LOOP,
        before + "ck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n" + STRIDED,
    )


def test_a_dataset_is_not_sent_to_the_other_ranks() -> None:
    text = plan_of(
        HEAD + KEPT + "for x, y in ds.take(1000 - int(ck.step)):\n    step(x, y)\n    ck.step.assign_add(1)\n"
    ).text
    assert "for x, y in ds.take((1000 - int(ck.step)) // hvd.size()):" in text


KEEPER = (
    "class Keeper:\n    def __init__(self, held, folder):\n        self.kept = tf.train.Checkpoint(**held)\n"
    "        self.manager = tf.train.CheckpointManager(self.kept, folder, 3)\n"
    "    def restore(self):\n        return self.kept.restore(self.manager.latest_checkpoint)\n"
)
EPOCHS = (
    "for e in range(9):\n    if e < done:\n        continue\n    done.assign_add(1)\n"
    "    for x, y in ds.take(100):\n        step(x, y)\n"
)
LAST = "tf.train.latest_checkpoint('d')"
KEEPERS = {
    "plain": f"keeper = tf.train.Checkpoint(model=model, done=done)\ntry:\n    keeper.restore({LAST})\n",
    "in a class": KEEPER + "keeper = Keeper(dict(model=model, done=done), 'd')\ntry:\n    keeper.restore()\n",
    "in a dict": KEEPER
    + "held = {'model': model, 'done': done}\nkeeper = Keeper(held, 'd')\ntry:\n    keeper.restore()\n",
}


@pytest.mark.parametrize(
    ("keeper", "name"), [("plain", "keeper.done"), ("in a class", "done"), ("in a dict", "done")]
)
def test_epochs_that_a_run_has_behind_it_are_rank_0s(keeper: str, name: str) -> None:
    """After the `try`: where one rank fails to restore, it would not come to a place inside."""
    restored = f"done = tf.Variable(0, dtype=tf.int64)\n{KEEPERS[keeper]}except Exception as e:\n    pass\n"
    agreed = f"{name}.assign(hvd.broadcast_object({name}.numpy()))\n"
    check("G6", HEAD, restored + EPOCHS, restored + agreed + EPOCHS)


@pytest.mark.parametrize(
    "made", ["tf.Variable(0.5)", "tf.Variable(0, dtype=tf.float32)", "tf.Variable(start())"]
)
def test_what_may_be_no_number_of_turns_is_not_sent(made: str) -> None:
    restored = f"done = {made}\n{KEEPERS['in a class']}except Exception as e:\n    pass\n"
    untouched("G6", HEAD + restored + EPOCHS.replace("    if e < done:\n        continue\n", ""))


@pytest.mark.parametrize("test", ["int(ck.step) % 100 == 0", "not int(ck.step) % 100"])
def test_what_was_added_up_since_such_an_event_is_that_of_a_rank_s_steps(test: str) -> None:
    added = LOOP.replace("step(*next(batches))", "total += step(*next(batches))")
    event = f"    if {test}:\n        print(total / 100)\n        total, began = 0.0, now()\n"
    text = plan_of(HEAD + "total = 0.0\n" + KEPT + added + event).text
    assert "print(total / max(1, 100 // hvd.size()))\n" in text


def test_a_rate_that_a_function_makes_of_such_a_count_is_not_asked_about() -> None:
    loop = "for k in range(int(ck.step), n):\n    opt.learning_rate = rate_at(k)\n    step(*next(batches))\n"
    loop += "    ck.step.assign_add(1)\n"
    plan = plan_of(HEAD + KEPT + "def rate_at(k):\n    return 0.1 / (k + 1)\n" + loop)
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_the_last_step_comes_whatever_the_number_of_ranks(size: int) -> None:
    """`i + 1 == 1500` where the turns go on by size()."""
    met = [i for i in range(0, 1500, size) if i < 1500 <= i + size]
    assert len(met) == 1


THEN_ON = "        keep(model)\n    ck.step.assign_add(1)\n"


@pytest.mark.parametrize(
    ("loop", "after"),
    [
        ("    if {n} % 100 == 0:\n" + THEN_ON, "({n} + hvd.size() - 1) % 100 < hvd.size()"),
        ("    if not {n} % 100:\n" + THEN_ON, "not ({n} + hvd.size() - 1) % 100 >= hvd.size()"),
        # a near miss: counted on before, it says how many steps there were, and one, as alone
        ("    ck.step.assign_add(1)\n    if {n} % 100 == 0:\n        keep(model)\n", "{n} % 100 < hvd.size()"),
        ("    it = int(ck.step.assign_add(1))\n    if it % 100 == 0:\n        keep(model)\n", "it % 100 < hvd.size()"),
    ],
)  # fmt: skip
def test_a_turn_that_is_numbered_from_one(loop: str, after: str) -> None:
    """By the number of the first rank's batch an event of every 100 steps came with the first step, and not with the last."""
    kept = KEPT.replace("Variable(0)", "Variable(1)")
    whole = "while int(ck.step) <= 1000:\n    step(*next(batches))\n" + loop.format(n="int(ck.step)")
    text = plan_of(HEAD + kept + whole).text
    assert f"    if {after.format(n='int(ck.step)')}:\n" in text


@pytest.mark.parametrize(
    ("shuffled", "kept", "asks"),
    [
        (".shuffle(100)", ", batches=batches", True),
        (
            "",
            ", batches=batches",
            False,
        ),  # near misses: without a buffer it is a place, the same on each rank
        (".shuffle(100)", "", False),
    ],
)
def test_an_iterator_whose_buffer_is_kept(shuffled: str, kept: str, asks: bool) -> None:
    head = HEAD.replace(".repeat()", f"{shuffled}.repeat()")
    plan = plan_of(head + KEPT.replace(", model=model", f", model=model{kept}") + LOOP)
    found = [c for c in changes(plan, "G6") if not c.sure]
    assert [plan.document.text[c.span.start : c.span.end] for c in found] == ["batches"] * asks
    assert "while int(ck.step) < 1000:" in plan.text


def test_an_end_in_parentheses_gets_no_second_part() -> None:
    """`(b)` must not become `(b, hvd.size())`."""
    text = plan_of(
        TAPE + "for e in range(3):\n    for i in range((e * n), ((e + 1) * n)):\n        step(*draw(3))\n"
    ).text
    assert "range((e * n), ((e + 1) * n), hvd.size())" in text


SAVED = """\
import json, os
{begins}
if os.path.exists("{read}.json"):
    with open("{read}.json") as f:
        {loads}
while {count} < 1000:
    step(*next(batches))
    {count} += {by}
    with open("state.json", "w") as f:
        json.dump({count}, f)
"""


@pytest.mark.parametrize(
    ("count", "begins", "loads"),
    [
        ("n", "n = 0", "n = json.load(f)['step']"),
        ("n", "n = 0", "n = int(f.read())"),
        ("state['step']", "state = {'step': 0, 'best': 9.0}", "state = json.load(f)"),
        ("state['step']", "state = {'step': 0, 'best': 9.0}", "state.update(json.load(f))"),
        ("state['step']", "state = {'step': 0, 'best': 9.0}", "state['step'] = json.load(f)"),
        ("state.n['step']", "state.n = {'step': 0, 'best': 9.0}", "state.n = json.load(f)"),
    ],
)
def test_a_count_that_the_program_keeps_in_a_file_of_its_own(count: str, begins: str, loads: str) -> None:
    kept = {"count": count, "begins": begins, "loads": loads}
    name = count.partition("[")[0]
    text = plan_of(HEAD + SAVED.format(**kept, read="state", by="1")).text
    assert f"    {count} += hvd.size()\n" in text
    assert f"{name} = hvd.broadcast_object({name})\n" in text
    assert f"while {count} < 1000:\n" in text
    other = plan_of(
        HEAD + SAVED.format(**kept, read="settings", by="1")
    ).text  # what it is told, not what it has kept
    assert f"    {count} += 1\n" in other
    assert f"while {count} < 1000 // hvd.size():\n" in other


OBJECT = """\
import dataclasses, pickle, types
{kind}
class State:
    n: int = 0
    epoch: int = 0
{more}
state = State()
"""
_LOADED, _MADE = (
    "    def load(self, saved):\n        ",
    "    @classmethod\n    def made(cls, saved):\n        ",
)


@pytest.mark.parametrize(
    ("kind", "more", "loads", "stored"),
    [
        ("@dataclasses.dataclass", "", "state = State(**json.load(f))", True),
        ("", "", "state.__dict__.update(json.load(f))", True),
        ("", "", "vars(state).update(json.load(f))", True),
        ("", "    def load(self, f): self.__dict__.update(json.load(f))", "state.load(f)", True),
        ("", "", "state = pickle.load(f)", True),
        ("", "", "state = pickle.loads(f.read())", True),
        ("", "", "state = types.SimpleNamespace(**json.load(f))", True),
        ("", "", "for k, v in json.load(f).items(): setattr(state, k, v)", True),
        ("", f"{_LOADED}for k, v in saved.items(): setattr(self, k, v)", "state.load(json.load(f))", True),
        (
            "",
            f"{_MADE}state = cls(); state.n = saved['n']; return state",
            "state = State.made(json.load(f))",
            True,
        ),
        (
            "",
            f"{_MADE}state = cls(); state.n, _ = saved; return state",
            "state = State.made(json.load(f))",
            True,
        ),
        ("@dataclasses.dataclass", f"{_MADE}return cls(**saved)", "state = State.made(json.load(f))", True),
        # near misses: something else is read
        ("", "    def __init__(self, name=''): self.name = name", "state = State(**json.load(f))", False),
        ("", "", "vars(opt).update(json.load(f))", False),
        ("", "", "for k, v in json.load(f).items(): setattr(opt, k, v)", False),
        ("", "", "setattr(state, 'best', json.load(f))", False),
        ("", "", "for k, v in vars(opt).items(): setattr(state, k, v)", False),
        (
            "",
            f"{_MADE}other = dict(); other['n'] = saved['n']; return cls()",
            "state = State.made(json.load(f))",
            False,
        ),
        ("", "", "seen.update(json.load(f))", False),
        ("", "", "state.best = pickle.load(f)", False),
        ("", "", "other = pickle.load(f)", False),
    ],
)
def test_a_count_of_an_object_that_is_given_all_it_has_at_once(
    kind: str, more: str, loads: str, stored: bool
) -> None:
    begins = OBJECT.format(kind=kind, more=more) + "seen = {}"
    text = plan_of(
        HEAD + SAVED.format(count="state.n", begins=begins, loads=loads, read="state", by="1")
    ).text
    assert ("    state.n += hvd.size()\n" in text) == stored
    assert ("while state.n < 1000:\n" in text) == stored
    assert ("state.n = hvd.broadcast_object(state.n)\n" in text) == stored


def test_where_a_run_goes_on_from_a_file_all_ranks_still_shuffle_alike() -> None:
    """All of them take the turns of a loop that ends by a number which they have agreed on before it."""
    resumed = SAVED.format(count="n", begins="n = 0", read="state", loads="n = json.load(f)", by="1").replace(
        "    step(*next(batches))\n    n += 1\n",
        "    order = np.random.permutation(900)\n    for i in range(0, 900, 4):\n"
        "        step(a[order[i : i + 4]], b)\n        n += 1\n",
    )
    plan = plan_of(HEAD + resumed)
    assert "n = hvd.broadcast_object(n)\n" in plan.text
    assert "order = hvd.broadcast_object(np.random.permutation(900))\n" in plan.text
    assert not any("some rows are seen twice" in note.message for note in plan.notes)


COUNTED_ON = """\
def load():
    latest = tf.train.latest_checkpoint("d")
    if latest is None:
        return 0
    model.load_weights(latest)
    return int(latest.split("-")[-1])
count = {}
for epoch in range(90):
    for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4):
        step(x, y)
        count += 1
        if count >= {}:
            break
"""


@pytest.mark.parametrize("most", ["5000", "most"])
def test_an_end_that_is_compared_with_the_steps_of_all_ranks_stays(most: str) -> None:
    """Divided besides, it came after 1/size() of the 1/size() of the steps."""
    text = plan_of(TAPE + COUNTED_ON.format("load()", most)).text
    assert "        count += hvd.size()\n" in text
    assert f"        if count >= {most}:\n            break\n" in text


def test_an_end_that_is_compared_with_a_ranks_own_steps_is_divided() -> None:
    text = plan_of(TAPE + COUNTED_ON.format("0", "5000")).text
    assert "        count += 1\n" in text
    assert "        if count >= 5000 // hvd.size():\n            break\n" in text


KEEPER = """\
ck = tf.train.Checkpoint(step=tf.Variable(0), model=model)
manager = tf.train.CheckpointManager(ck, 'd', 2)
def restore():
    if manager.latest_checkpoint:
        ck.restore(manager.latest_checkpoint){}
restore()
"""
SENT = "ck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n"


@pytest.mark.parametrize(
    ("then", "after"),
    [
        (
            "\n        return True\n    return False",
            f"\n        {SENT}        return True\n    {SENT}    return False",
        ),
        (
            "\n        return True\n    else:\n        return False",
            f"\n        {SENT}        return True\n    else:\n        {SENT}        return False",
        ),
        (
            "\n    else:\n        return False",
            f"\n    else:\n        {SENT}        return False\n    {SENT.rstrip()}",
        ),
        ("\n    print('done')", f"\n    {SENT}    print('done')"),
        # a near miss, a way out in one of the branches: nothing is sent
        ("\n        if late:\n            return True\n    return False",) * 2,
    ],
)
def test_ranks_with_a_checkpoint_and_without_one_meet(then: str, after: str) -> None:
    check("G6", HEAD + "late = False\n", KEEPER.format(then) + LOOP, KEEPER.format(after) + STRIDED)


def test_a_variable_that_rank_0_tells_stays_the_one_that_is_kept() -> None:
    source = HEAD + KEPT.replace("model=", "wait=tf.Variable(0), model=") + "late = ck.wait\n"
    loop = "while int(ck.step) < 1000 and late < 3:\n" + LOOP.split("\n", 1)[1]
    assert "late = hvd.broadcast_object(late)" not in plan_of(source + loop).text


READ_AND_MEASURED = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
epochs_done = tf.Variable(0, trainable=False)
count = tf.assign(epochs_done, epochs_done + 1)
loss = tf.reduce_mean(tf.layers.dense(x, 1))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    latest = tf.train.latest_checkpoint('kept')
    if latest:
        saver.restore(sess, latest)
    best = 10.0
    for epoch in range({}, 10):
        for i in range(20):
            sess.run(train, {{x: draw()}})
        sess.run(count)
        measured = sess.run(loss, {{x: held_out}})
        if measured > best:
            break
        best = measured
"""


@pytest.mark.parametrize(
    "start", ["epochs_done.eval(sess)", "sess.run(epochs_done)", "epochs_done.eval()", "0"]
)
def test_a_start_that_is_read_when_all_was_sent_beside_an_end_by_a_mean(start: str) -> None:
    """The helper's session, of a graph of its own, was taken for one that the start may be read in: refused as HVD006."""
    plan = plan_of(READ_AND_MEASURED.format(start))
    assert not plan.notes
    assert "measured = mean_over_ranks(" in plan.text
    assert f"for epoch in range({start}, 10):" in plan.text


OWN_COUNT = """\
import numpy as np
rows = np.load('rows.npy')
class Trainer:
    def __init__(self):
        self.epoch = 0
    def train(self, turns):
        for k in range(self.epoch, self.epoch + turns):
            step(*draw(32))
            {count}
            if {event}:
                keep(self.epoch)
Trainer().train(100)
"""


def test_a_count_that_a_loop_begins_at_goes_on_as_its_number_does() -> None:
    """A GAN counted its steps so and named pictures by them: every picture had the number of a rank's steps."""
    text = plan_of(HEAD + OWN_COUNT.format(count="self.epoch += 1", event="self.epoch % 10 == 0")).text
    assert "range(self.epoch, self.epoch + turns, hvd.size())" in text
    assert "self.epoch += hvd.size()\n" in text
    assert "self.epoch % 10 < hvd.size()" in text


@pytest.mark.parametrize("count", ["self.seen = k", "self.epoch = k", "self.other += 2"])
def test_what_does_not_count_on_from_there_stays(count: str) -> None:
    text = plan_of(HEAD + OWN_COUNT.format(count=count, event="k > 3")).text
    assert f"            {count}\n" in text


def test_a_count_that_other_loops_go_on_with_stays() -> None:
    """Another loop's steps may not be divided."""
    more = """
    def warm_up(self):
        for k in range(3):
            step(x, y)
            self.epoch += 1
"""
    source = OWN_COUNT.format(count="self.epoch += 1", event="k > 3").replace(
        "Trainer().train", more + "Trainer().train"
    )
    text = plan_of(HEAD + source).text
    assert "self.epoch += hvd.size()" not in text


LAST_STEP = (
    "for x in ds:\n    step(x, x)\n    n += 1\n    ck.step.assign(n)\n    if n >= 1000:\n        break\n"
)


@pytest.mark.parametrize(
    "start",
    [
        "int(ck.step) if found else 0",
        "0 if found is None else int(ck.step.numpy())",
        "max(int(ck.step), 0)",
        "int(ck.step) or 0",
    ],
)
def test_a_count_that_begins_with_a_kept_one_where_there_is_one(start: str) -> None:
    """It was told no other's steps, and a run with other ranks went on from a place of its own."""
    plan = plan_of(f"{HEAD}{KEPT}found = tf.train.latest_checkpoint('d')\nn = {start}\n{LAST_STEP}")
    assert "    n += hvd.size()\n" in plan.text
    assert "n >= 1000" in plan.text


@pytest.mark.parametrize("start", ["5 if found else 0", "len(found) if found else 0", "0"])
def test_one_that_begins_with_something_else_is_left(start: str) -> None:
    plan = plan_of(f"{HEAD}{KEPT}found = names()\nn = {start}\n{LAST_STEP}")
    assert "    n += 1\n" in plan.text


@pytest.mark.parametrize("start", ["int(ck.step)", "int(ck.step) if found else 0"])
def test_what_is_left_of_a_kept_count_may_be_nothing(start: str) -> None:
    """One that was through took a step, and turns from there on were told as a rank's."""
    turns = "for n, x in enumerate(ds.take(1000 - first), first):\n    opt.learning_rate = 0.1 * 0.9 ** n\n    step(x, x)\n"
    plan = plan_of(
        f"{HEAD}{KEPT}found = tf.train.latest_checkpoint('d')\nfirst = {start}\n{turns}    ck.step.assign_add(1)\n"
    )
    assert "itertools.count(first, hvd.size()), ds.take((1000 - first) // hvd.size())" in plan.text
    assert "0.1 * 0.9 ** n * hvd.size()" in plan.text


@pytest.mark.parametrize(
    ("start", "goes_on"),
    [
        ("args.first", True),
        ("int(args.first)", True),
        ("flags.FLAGS.first", True),
        ("int(sys.argv[1]) if len(sys.argv) > 1 else 0", True),
        ("0", False),
        ("len(args.names)", False),
        ("args.first * 16", True),  # so many steps in each of the epochs before
    ],
)
def test_a_count_that_begins_where_the_program_is_told(start: str, goes_on: bool) -> None:
    """The user reads it off a file that the program named: the steps of any number of ranks."""
    told = "import argparse, sys\nfrom absl import flags\nargs = argparse.ArgumentParser().parse_args()\n"
    steps = "while n < 1000:\n    opt.learning_rate = 0.1 * 0.9 ** n\n    step(*next(batches))\n    n += 1\n"
    text = plan_of(f"{HEAD}{told}n = {start}\n{steps}    model.save_weights('w-%d' % n)\n").text
    assert ("    n += hvd.size()\n" in text) is goes_on
    assert ("0.1 * 0.9 ** n * hvd.size()" in text) is goes_on
    assert ("while n < 1000:" in text) is goes_on


@pytest.mark.parametrize(
    ("loop", "after"),
    [
        (
            "for e in range(int(ck.save_counter), 9):",
            "for e in range(hvd.broadcast_object(int(ck.save_counter)), 9):",
        ),
        ("while int(ck.save_counter) < 9:", "while hvd.broadcast_object(int(ck.save_counter) < 9):"),
        (
            "first = ck.save_counter.numpy()\nfor e in range(first, 9):",
            "first = hvd.broadcast_object(first)\nfor e in range(first, 9):",
        ),
    ],
)
def test_how_often_was_saved_is_rank_0s_which_alone_saves(loop: str, after: str) -> None:
    epoch = "    for x in tf.data.Dataset.from_tensor_slices(a).batch(4):\n        step(x, x)\n    ck.save('d/ck')\n"
    assert after in plan_of(f"{HEAD}{KEPT}{loop}\n{epoch}").text


STATE = """\
class State({base}):
    def __init__(self):
        super().__init__()
        self.step = tf.Variable(0, dtype=tf.int64)
        self.best = tf.Variable(1e9)
state = State()
ck = tf.train.Checkpoint(model=model, {held}=state)
ck.restore(tf.train.latest_checkpoint('d'))
"""
STATE_LOOP = "while int(state.step) < 1000:\n    step(*next(batches))\n    state.step.assign_add(1)\n"


@pytest.mark.parametrize("base", ["tf.Module", "tf.keras.Model", "tf.keras.layers.Layer"])
@pytest.mark.parametrize("held", ["state", "trainer"])
def test_a_count_that_a_module_of_the_programs_holds(base: str, held: str) -> None:
    """A checkpoint keeps what such an object holds: a rank's count went on from there, on another number of ranks."""
    text = plan_of(HEAD + STATE.format(base=base, held=held) + STATE_LOOP).text
    assert f"ck.{held}.step.assign(hvd.broadcast_object(ck.{held}.step.numpy()))\n" in text
    assert "while int(state.step) < 1000:\n" in text
    assert "state.step.assign_add(hvd.size())\n" in text


def test_a_count_that_no_checkpoint_finds_is_a_ranks_own() -> None:
    """Near misses: an object that TensorFlow can't look into; a module that no checkpoint holds."""
    for source in (
        STATE.format(base="object", held="state"),
        STATE.format(base="tf.Module", held="state").replace("state=state", "other=model"),
    ):
        text = plan_of(HEAD + source + STATE_LOOP).text
        assert "while int(state.step) < 1000 // hvd.size():\n" in text or "max(1, 1000 // hvd.size())" in text
        assert "state.step.assign_add(1)\n" in text
