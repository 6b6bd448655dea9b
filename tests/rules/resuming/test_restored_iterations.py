"""G6: an optimizer's own count of steps, by which its rate goes, where a checkpoint keeps it."""

from __future__ import annotations

import pytest

from horovodize.rules.resuming.restored_iterations import STORED

from ..pairs import plan_of

PROGRAM = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
step = tf.Variable(0, dtype=tf.int64)
opt = tf.keras.optimizers.Adam({rate})
ck = tf.train.Checkpoint(model=model, opt=opt{beside})
manager = tf.train.CheckpointManager(ck, "ck", 3)
{restore}
for x, y in tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4):
    if step >= 1000:
        break
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step.assign_add(1)
    manager.save()
"""
SCHEDULE = "tf.keras.optimizers.schedules.CosineDecay(0.05, 1000)"
SAID = "count of a rank's steps"


def plan(
    rate: str = SCHEDULE, beside: str = ", step=step", restore: str = "ck.restore('ck/ck-1')"
) -> tuple[str, bool]:
    """The text that comes out, and whether it is said that the count is a rank's."""
    made = plan_of(PROGRAM.format(rate=rate, beside=beside, restore=restore))
    return made.text, any(SAID in note.message for note in made.notes)


@pytest.mark.parametrize(
    ("restore", "of"),
    [
        ("ck.restore('ck/ck-1')", "ck"),
        ("if manager.latest_checkpoint:\n    ck.restore(manager.latest_checkpoint)", "ck"),
        ("manager.restore_or_initialize()", "manager.checkpoint"),
        ("if manager.restore_or_initialize():\n    print('again')", "manager.checkpoint"),
    ],
)
def test_it_is_set_by_the_count_of_all_ranks_that_is_kept_beside(restore: str, of: str) -> None:
    text, said = plan(restore=restore)
    assert f"\n{of}.step.assign(hvd.broadcast_object({of}.step.numpy()))\n" in text
    assert f"\n{of}.opt.iterations.assign(int({of}.step) // hvd.size())\n" in text
    assert text.index("iterations.assign") > text.index("step.assign(hvd")
    assert not said


def test_it_is_said_where_nothing_beside_tells_it() -> None:
    text, said = plan(beside="")
    assert "iterations.assign" not in text
    assert said


@pytest.mark.parametrize(
    "changed",
    [
        {"rate": "0.01", "beside": ""},  # no schedule goes by it
        {"rate": "0.01"},
        {"restore": "pass"},
    ],
)
def test_a_count_that_nothing_goes_by_or_that_begins_again_is_left(changed: dict[str, str]) -> None:
    text, said = plan(**changed)
    assert "iterations.assign" not in text
    assert not said


@pytest.mark.parametrize(
    "reset",
    ["    step.assign(0)\n", "    if step == 500:\n        step.assign(0)\n", "    step.assign_sub(step)\n"],
)
def test_a_count_that_begins_again_is_no_number_of_all_steps(reset: str) -> None:
    source = PROGRAM.format(rate=SCHEDULE, beside=", step=step", restore="ck.restore('ck/ck-1')")
    made = plan_of(source + reset)
    assert "iterations.assign" not in made.text
    assert any(SAID in note.message for note in made.notes)


def test_gradients_that_are_gathered_count_fewer_steps() -> None:
    """The count beside is of batches, which isn't what the optimizer counts."""
    source = PROGRAM.format(rate=SCHEDULE, beside=", step=step", restore="ck.restore('ck/ck-1')")
    seldom = source.replace("    opt.apply", "    if step % 4 == 3:\n        opt.apply")
    made = plan_of(seldom)
    assert "iterations.assign" not in made.text
    assert any(SAID in note.message for note in made.notes)


BY_HAND = PROGRAM.format(rate="0.01", beside="", restore="{restore}").replace(
    "    if step >= 1000:\n", "    if {end}:\n"
)
BY_HAND = BY_HAND.replace("\nfor x, y in", "\n{start}\nfor x, y in")


@pytest.mark.parametrize(
    ("end", "start", "restore", "said"),
    [
        ("opt.iterations >= 1000", "", "ck.restore(manager.latest_checkpoint)", True),
        ("opt.iterations >= 1000", "", "manager.restore_or_initialize()", True),
        ("step > 9", "epoch = int(opt.iterations) // 50", "ck.restore(manager.latest_checkpoint)", True),
        ("opt.iterations >= 1000", "", "", False),  # each run begins at 0
        ("step >= 1000", "", "ck.restore(manager.latest_checkpoint)", False),
        ("step >= 1000", "print(int(opt.iterations))", "ck.restore(manager.latest_checkpoint)", False),
    ],
)
def test_it_is_said_where_training_ends_or_begins_by_it(
    end: str, start: str, restore: str, said: bool
) -> None:
    plan = plan_of(BY_HAND.format(end=end, start=start, restore=restore))
    assert any(SAID in note.message for note in plan.notes) is said


OPEN = BY_HAND.replace("for x, y in", "rows = iter(").replace(
    ".batch(4):", ".batch(4))\nwhile {end}:\n    x, y = next(rows)"
)
OPEN = OPEN.replace("    if {end}:\n        break\n", "")


@pytest.mark.parametrize(
    "restore", ["ck.restore(manager.latest_checkpoint)", "manager.restore_or_initialize()"]
)
def test_it_is_said_of_a_loop_that_ends_by_it(restore: str) -> None:
    plan = plan_of(OPEN.format(end="opt.iterations < 1000", start="", restore=restore))
    assert any(SAID in note.message for note in plan.notes)


@pytest.mark.parametrize(
    ("counter", "interval", "became"),
    [
        ("opt.iterations", "50", "max(1, 50 // hvd.size())"),
        ("step", "50", "max(1, 50 // hvd.size())"),
        ("opt.iterations", "1", "1"),
        ("opt.iterations", "None", "None"),
        ("written", "50", "50"),  # counts something else
    ],
)
def test_a_manager_saves_as_often_for_the_rows_that_are_seen(
    counter: str, interval: str, became: str
) -> None:
    """It went by a rank's steps, and saved size() times more seldom."""
    source = PROGRAM.format(rate="0.01", beside="", restore="written = tf.Variable(0)")
    source = source.replace(
        '(ck, "ck", 3)', f'(ck, "ck", 3, step_counter={counter}, checkpoint_interval={interval})'
    )
    source = source.replace("manager = ", "written = tf.Variable(0)\nmanager = ")
    assert f"checkpoint_interval={became})" in plan_of(source).text


def test_a_manager_by_a_count_of_all_ranks_is_left() -> None:
    source = PROGRAM.format(
        rate="0.01", beside=", step=step", restore="ck.restore(manager.latest_checkpoint)"
    )
    source = source.replace('(ck, "ck", 3)', '(ck, "ck", 3, step_counter=step, checkpoint_interval=50)')
    text = plan_of(source).text
    assert "step.assign_add(hvd.size())" in text
    assert "checkpoint_interval=50)" in text


COUNTED = BY_HAND.replace("    manager.save()", "    seen += 1\n    manager.save()")


@pytest.mark.parametrize(
    ("start", "restore", "said"),
    [
        ("seen = int(opt.iterations)", "ck.restore(manager.latest_checkpoint)", True),
        (
            "seen = opt.iterations.numpy() if manager.latest_checkpoint else 0",
            "manager.restore_or_initialize()",
            True,
        ),
        ("seen = max(0, int(opt.iterations)) + 1", "manager.restore_or_initialize()", True),
        (
            "seen = 0\nif manager.latest_checkpoint:\n    seen = int(opt.iterations)",
            "manager.restore_or_initialize()",
            True,
        ),
        ("seen = int(opt.iterations)", "pass", False),  # each run begins at 0
        ("seen = 0", "manager.restore_or_initialize()", False),
    ],
)
def test_it_is_said_of_a_number_that_begins_with_it(start: str, restore: str, said: bool) -> None:
    plan = plan_of(COUNTED.format(end="seen >= 1000", start=start, restore=restore))
    assert (
        "if seen >= 1000 // hvd.size():" in plan.text or "any_rank(seen >= 1000 // hvd.size())" in plan.text
    )
    assert sum(note.message == STORED for note in plan.notes) == int(said)


def test_such_a_number_is_no_count_of_all_ranks_because_a_checkpoint_is_found_beside() -> None:
    """It was counted on by size(), and a run that was through took half of the steps again."""
    start = "last = tf.train.latest_checkpoint('ck')\nseen = int(opt.iterations) if last else 0"
    plan = plan_of(COUNTED.format(end="seen >= 1000", start=start, restore="manager.restore_or_initialize()"))
    assert "seen += 1\n" in plan.text
    assert any(note.message == STORED for note in plan.notes)


SKIPPED = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 4])
global_step = tf.train.get_or_create_global_step()
loss = tf.reduce_mean(tf.layers.dense(x, 1))
op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    saver.restore(session, tf.train.latest_checkpoint("d"))
    done = {done}
    for epoch in range(9):
        for k in range(16):
            if epoch * 16 + k < done:
                continue
            session.run(op, {{x: rows[k * 8 : (k + 1) * 8]}})
"""


@pytest.mark.parametrize(
    ("done", "after", "said"),
    [
        ("session.run(global_step)", "< done * hvd.size():", True),
        ("tf.train.global_step(session, global_step)", "< done * hvd.size():", True),
        ("80", "< done:", False),
    ],
)
def test_steps_that_are_left_out_are_compared_with_those_of_all_ranks(
    done: str, after: str, said: bool
) -> None:
    """A run that was through left out half of the steps, and trained the rest again."""
    plan = plan_of(SKIPPED.format(done=done))
    assert f"epoch * 16 + min(k * hvd.size(), 16 - 1) {after}" in plan.text
    assert any(n.message == STORED for n in plan.notes) is said
