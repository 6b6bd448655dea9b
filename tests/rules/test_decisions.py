"""G4, S5: what one rank alone would decide, all decide together: steps left out, patience, rates that are lowered."""

from __future__ import annotations

import pytest

from .dividing import TAPE, check, divide, unchanged
from .pairs import plan_of

TAPE_LOOP = """\
import os
import tensorflow as tf
model, opt = tf.keras.Sequential([]), tf.keras.optimizers.SGD(0.1)
for epoch in range(9):
    for x in tf.data.Dataset.from_tensor_slices(tf.zeros([900, 2])).batch(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
{}"""
LOOP = "for x, y in shard_batches(batches):\n"
SOURCE = "for x, y in batches:\n"


@pytest.mark.parametrize("test", ["len(x) < 32", "y.mean() > 2", "len(x) != 32 or bad(x)"])
def test_a_step_that_is_left_out_for_a_batch_is_left_out_by_all(test: str) -> None:
    body = "    if {}:\n        continue\n    step(x, y)\n"
    check(TAPE, SOURCE + body.format(test), LOOP + body.format(f"any_rank({test})"))


def test_a_step_that_is_taken_for_a_batch_is_taken_by_all_who_are_asked_to_confirm() -> None:
    body = "    if {}:\n        step(x, y)\n"
    result = check(TAPE, SOURCE + body.format("x.any()"), LOOP + body.format("any_rank(x.any())"))
    assert any("all of them take the step" in doubt for doubt in result.doubts)


def test_what_counts_is_the_same_on_all_ranks_anyway() -> None:
    for test in ("k % 5 == 4", "k > first", "epoch == 0 and k < 3"):
        body = f"for k, (x, y) in enumerate({{}}):\n    if {test}:\n        continue\n    step(x, y)\n"
        check(TAPE, body.format("batches"), body.format("shard_batches(batches)"))


def test_a_partial_batch_that_ends_a_loop_ends_it_for_all() -> None:
    body = "    end = i + 6\n    if {}:\n        break\n    step(a[i:end], b)\n"
    check(
        TAPE,
        "for i in range(0, n, 6):\n" + body.format("end > n"),
        "for i in shard(range(0, n, 6)):\n" + body.format("any_rank(end > n)"),
    )


def test_different_steps_for_different_batches_are_refused() -> None:
    draft = divide(
        TAPE + SOURCE + "    if x.any():\n        step(x, y)\n    else:\n        step(y, x)\n"
    ).draft
    assert [(r.code, "different things" in r.message) for r in draft.reasons] == [("HVD205", True)]


def test_a_batch_that_fails_on_one_rank_is_refused() -> None:
    source = "for k in names:\n    try:\n        x = load(k)\n    except OSError:\n        continue\n    step(x, 0)\n"
    assert [r.code for r in divide(TAPE + source).draft.reasons] == ["HVD205"]


PATIENCE = """\
best, bad = 9.0, 0
for epoch in range(300):
    step(*draw(3))
    value = evaluate(model)
    if value < best:
        best, bad = value, 0
    else:
        bad += 1
        if bad >= {patience}:
            break
"""


@pytest.mark.parametrize("patience", ["5", "args.patience"])
def test_patience_goes_by_rank_0s_values(patience: str) -> None:
    before = PATIENCE.format(patience=patience)
    after = before.replace("range(300)", "range(300 // hvd.size())").replace(
        "    if value < best", "    value, best = \ue001.broadcast_object((value, best))\n    if value < best"
    )
    check(TAPE, before, after.replace("\ue001", "hvd"))


@pytest.mark.parametrize(
    "lowers",
    [
        "opt.learning_rate = opt.learning_rate / 2",
        "opt.learning_rate.assign(0.01)",
        "tf.keras.backend.set_value(opt.learning_rate, 0.01)",
        "model.set_weights(kept)",
        "model.layers[0].trainable = False",
    ],
)
def test_a_rate_that_one_rank_would_lower_is_lowered_on_all(lowers: str) -> None:
    loop = "for k in range({}):\n    loss = step(*draw(3))\n    if {}:\n        " + lowers + "\n"
    result = check(
        TAPE,
        loop.format("1000", "loss > 2"),
        loop.format("1000 // hvd.size()", "any_rank(loss > 2)"),
    )
    assert any("all of them do it" in doubt for doubt in result.doubts)
    counted = loop.format("{}", "k % 10 == 9")
    assert not check(TAPE, counted.format("1000"), counted.format("1000 // hvd.size()")).doubts


def test_weights_are_restored_where_each_rank_has_the_file() -> None:
    loop = "for k in range({}):\n    step(*draw(3))\n    if os.path.exists(path):\n        model.load_weights(path)\n"
    check(TAPE, "import os\n" + loop.format("1000"), "import os\n" + loop.format("1000 // hvd.size()"))


def test_a_rate_that_patience_lowers_needs_no_question_where_rank_0_decides() -> None:
    loop = """\
best, wait = 9.0, 0
for k in range(1000):
    loss = step(*draw(3))
    if loss < best:
        best, wait = loss, 0
    else:
        wait += 1
        if wait == 2:
            opt.learning_rate = opt.learning_rate / 2
        if wait == 5:
            break
"""
    result = divide(TAPE + loop)
    assert "    loss, best = hvd.broadcast_object((loss, best))\n" in result.text.replace(chr(0xE001), "hvd")
    assert "any_rank" not in result.text
    assert not [d for d in result.doubts if "all of them do it" in d]


def test_what_changes_nothing_for_training_is_each_ranks_own_affair() -> None:
    loop = "for k in range({}):\n    loss = step(*draw(3))\n    if loss > worst:\n        worst = loss\n"
    check(TAPE, loop.format("1000"), loop.format("1000 // hvd.size()"))
    unchanged(TAPE, "for k in range(9):\n    if model(k) > 2:\n        opt.learning_rate = 0.1\n")


def test_patience_with_attributes() -> None:
    """The best value so far is an object's: rank 0 tells that, too."""
    loop = """
        class Trainer:
            def fit(self):
                for epoch in range(9):
                    loss = step(*draw())
                    {}if loss < self.best:
                        self.best, self.bad = loss, 0
                    else:
                        self.bad += 1
                        if self.bad > 3:
                            break
        """
    told = "loss, self.best = hvd.broadcast_object((loss, self.best))\n                    "
    divided = loop.replace("range(9)", "range(max(1, 9 // hvd.size()))")
    check(TAPE, loop.format(""), divided.format(told))


def test_what_is_skipped_before_an_exit_is_skipped_by_all() -> None:
    """`if not done: continue` and then `break`: the test decides who leaves."""
    text = plan_of(TAPE_LOOP.format("    if not os.path.exists('stop'):\n        continue\n    break\n")).text
    assert "if any_rank(not os.path.exists('stop')):" in text


@pytest.mark.parametrize(
    "rest",
    [
        "    if epoch < 3:\n        continue\n    break\n",
        "    if not os.path.exists('stop'):\n        continue\n    print(epoch)\n",
    ],
)
def test_what_is_skipped_alike_or_before_no_exit_is_left(rest: str) -> None:
    assert "any_rank" not in plan_of(TAPE_LOOP.format(rest)).text


RESULT = (
    PATIENCE.format(patience=5)
    .replace("    value = evaluate(model)\n", "")
    .replace("value", "accuracy.result()")
)
HEAD = TAPE + "accuracy = tf.keras.metrics.Mean()\n"


def test_a_value_without_a_name_is_decided_on_by_rank_0() -> None:
    check(
        HEAD,
        RESULT,
        RESULT.replace("range(300)", "range(300 // hvd.size())").replace(
            "accuracy.result() < best:", "hvd.broadcast_object(bool(accuracy.result() < best)):"
        ),
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bad >= 5", "bad >= 5 and accuracy.result() > 1"),  # decides again, on its own
        ("bad >= 5", "best < 0.1"),
        ("    else:\n", "    elif accuracy.result() > 5:\n"),
    ],
)
def test_ranks_that_decide_by_more_values_without_a_name_are_refused(old: str, new: str) -> None:
    assert [r.code for r in divide(HEAD + RESULT.replace(old, new)).draft.reasons] == ["HVD205"]
