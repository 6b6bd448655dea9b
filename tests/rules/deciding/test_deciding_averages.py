"""G4, S5, G7: moving averages of a rank's losses by which it decides when to stop."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

LOOP = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
mean, other, losses = {}, 0, []
for x in tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    losses.append(float(loss))
    {}
    if {}:
        break
"""


@pytest.mark.parametrize(
    ("begun", "moved", "after"),
    [
        (
            "1.0",
            "mean = 0.9 * mean + 0.1 * loss",
            "mean = 0.9 ** hvd.size() * mean + (1 - 0.9 ** hvd.size()) * loss",
        ),
        ("1.0", "mean += 0.1 * (loss - mean)", "mean += (1 - (1 - 0.1) ** hvd.size()) * (loss - mean)"),
        (
            "1.0",
            "mean = mean + 0.1 * (loss - mean)",
            "mean = mean + (1 - (1 - 0.1) ** hvd.size()) * (loss - mean)",
        ),
        (
            "1.0",
            "mean = mean - 0.1 * (mean - loss)",
            "mean = mean - (1 - (1 - 0.1) ** hvd.size()) * (mean - loss)",
        ),
        (
            "None",
            "mean = loss if mean is None else k * mean + (1 - k) * loss",
            "mean = loss if mean is None else k ** hvd.size() * mean + (1 - k ** hvd.size()) * loss",
        ),
    ],
)
def test_ranks_stop_by_the_mean_of_their_averages(begun: str, moved: str, after: str) -> None:
    """Any rank stopped all: the one with the easiest batches, by an average that forgot more slowly."""
    text = plan_of(LOOP.format(begun, moved, "mean < 0.01")).text
    assert f"    {after}\n" in text
    assert "    if mean_over_ranks(mean) < 0.01:\n" in text


def test_a_list_may_stand_in_a_dictionary() -> None:
    """The losses of twice as many rows were looked at by two ranks."""
    kept = "log['loss'].append(float(loss))"
    text = plan_of(
        "log = {'loss': []}\n" + LOOP.format("1.0", kept, "np.mean(log['loss'][-40:]) < 0.01")
    ).text
    assert "if mean_over_ranks(np.mean(log['loss'][-max(1, 40 // hvd.size()):])) < 0.01:\n" in text


ITEM = "stats['mean']"
MOVED = f"{ITEM} = 0.9 * {ITEM} + 0.1 * loss"
FORGOT = f"{ITEM} = 0.9 ** hvd.size() * {ITEM} + (1 - 0.9 ** hvd.size()) * loss"


@pytest.mark.parametrize(
    ("begun", "moved", "after"),
    [
        ("{'mean': 1.0, 'bad': 0}", MOVED, FORGOT),
        ("dict(mean=1.0)", MOVED, FORGOT),
        ("collections.defaultdict(float)", MOVED, FORGOT),
        ("{}\nstats['mean'] = 0.0", MOVED, FORGOT),
        (
            "{'mean': None}",
            f"{ITEM} = loss if {ITEM} is None else 0.9 * {ITEM} + 0.1 * loss",
            FORGOT.replace("= 0.9", f"= loss if {ITEM} is None else 0.9", 1),
        ),
        (
            "{'mean': 1.0}",
            f"{ITEM} += 0.1 * (loss - {ITEM})",
            f"{ITEM} += (1 - (1 - 0.1) ** hvd.size()) * (loss - {ITEM})",
        ),
    ],
)
def test_an_average_may_stand_in_a_dictionary(begun: str, moved: str, after: str) -> None:
    """It was a rank's own, and forgot more slowly."""
    text = plan_of(
        f"import collections\nstats = {begun}\n" + LOOP.format("1.0", moved, f"{ITEM} < 0.01")
    ).text
    assert f"    {after}\n" in text
    assert f"    if mean_over_ranks({ITEM}) < 0.01:\n" in text


@pytest.mark.parametrize(
    ("begun", "moved"),
    [
        ("{'mean': 1.0}", f"{ITEM} = 0.9 * {ITEM} + 0.2 * loss"),  # no average
        ("{'mean': 1.0}", f"{ITEM} = 0.9 * stats['other'] + 0.1 * loss"),
        ("{'mean': 1.0}", f"if float(loss) < 2:\n        {MOVED}"),
        ("{'mean': float(np.load('x.npy')[hvd.rank()])}", MOVED),  # begins as a rank's own
        ("{'mean': 1.0}", f"{MOVED}\n    {ITEM} = float(loss)"),  # set to something else, too
        ("read()", MOVED),  # not seen
    ],
)
def test_items_that_are_no_such_averages_are_left_to_any_rank(begun: str, moved: str) -> None:
    source = LOOP.format("1.0", moved, f"{ITEM} < 0.01").replace(
        "mean, other", f"stats = {begun}\nmean, other"
    )
    plan = plan_of(source.replace("hvd.rank()", "id(model) % 2"))
    assert f"    if mean_over_ranks({ITEM})" not in plan.text
    assert "0.9 ** hvd.size()" not in plan.text


def test_a_loss_may_be_averaged_where_it_is_read() -> None:
    """The rank with the smallest loss stopped all."""
    text = plan_of(LOOP.format("1.0", "value = tf.reduce_mean(loss)", "value < 0.01")).text
    assert "if mean_over_ranks(value) < 0.01:\n" in text


def test_the_last_losses_are_those_of_as_many_rows() -> None:
    text = plan_of(LOOP.format("1.0", "pass", "len(losses) > 40 and np.mean(losses[-40:]) < 0.01")).text
    last = "max(1, 40 // hvd.size())"
    assert f"    if len(losses) > {last} and mean_over_ranks(np.mean(losses[-{last}:])) < 0.01:\n" in text


@pytest.mark.parametrize(
    ("moved", "test"),
    [
        ("mean = 0.9 * mean + 0.2 * loss", "mean < 0.01"),  # no average
        ("pass", "np.max(losses[-40:]) < 0.01"),
    ],
)
def test_what_is_no_average_is_left_to_any_rank(moved: str, test: str) -> None:
    text = plan_of(LOOP.format("1.0", moved, test)).text
    assert f"    if any_rank({test.replace('40', 'max(1, 40 // hvd.size())')}):\n" in text
    assert f"    {moved}\n" in text


def test_the_loss_of_the_batch_of_all_ranks_may_decide_besides() -> None:
    text = plan_of(LOOP.format("1.0", "mean = 0.9 * mean + 0.1 * loss", "mean < 0.01 and loss < 1")).text
    assert "    if mean_over_ranks(mean) < 0.01 and mean_over_ranks(loss) < 1:\n" in text
    assert "    mean = 0.9 ** hvd.size() * mean + (1 - 0.9 ** hvd.size()) * loss\n" in text


# ---------------------------------------------------------------------- the loss of a step

STEPS = """\
import numpy as np
import tensorflow as tf
a, b = np.load("a.npy"), np.load("b.npy")
data = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(64).batch(8).repeat()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
step = 50
for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    {}
"""
WHILE = STEPS.replace(
    "for x, y in data:", "loss, rows = 1.0, iter(data)\nwhile loss > 0.01:\n    x, y = next(rows)"
).replace("    {}\n", "")


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("loss < 0.01", "mean_over_ranks(loss) < 0.01"),
        ("float(loss) < 0.01", "float(mean_over_ranks(loss)) < 0.01"),
        ("step > 50 and loss.numpy() < 0.01", "step > 50 and mean_over_ranks(loss).numpy() < 0.01"),
        # near misses: what is no mean over the rows of the batch
        ("np.isnan(loss)", "any_rank(np.isnan(loss))"),
        ("tf.reduce_max(abs(model(x) - y)) < 0.01", "any_rank(tf.reduce_max(abs(model(x) - y)) < 0.01)"),
    ],
)
def test_a_step_whose_loss_is_small_ends_the_loop_where_that_of_all_ranks_is(test: str, after: str) -> None:
    """Where any rank could end it, the one with the easiest batch would: the sooner, the more ranks there are."""
    text = plan_of(STEPS.format(f"if {test}:\n        break")).text
    assert f"    if {after}:\n        break\n" in text


@pytest.mark.parametrize("skip", ["if loss < 0.01:\n        continue", "if loss > 9:\n        continue"])
def test_a_step_is_left_out_by_the_loss_of_all_ranks(skip: str) -> None:
    text = plan_of(STEPS.replace("    {}\n", "").replace("    grads", f"    {skip}\n    grads")).text
    assert skip.replace("loss", "mean_over_ranks(loss)", 1) in text


def test_a_loop_whose_head_asks_for_the_loss_of_its_last_step() -> None:
    text = plan_of(WHILE).text
    assert "while mean_over_ranks(loss) > 0.01:" in text


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("loss > 5", "mean_over_ranks(loss) > 5"),
        ("loss > kept", "mean_over_ranks(loss) > mean_over_ranks(kept)"),
    ],
)
def test_a_rate_falls_by_the_loss_of_all_ranks(test: str, after: str) -> None:
    """Nothing is asked: with the batch of all ranks, this is what one process would have measured."""
    falls = f"if {test}:\n        opt.learning_rate.assign(opt.learning_rate / 2)\n    kept = float(loss)"
    plan = plan_of("kept = 9.0\n" + STEPS.format(falls))
    assert f"    if {after}:\n" in plan.text
    assert not [change for change in plan.changes if change.doubt]


def test_two_windows_of_losses_by_which_a_rate_falls() -> None:
    """Both are those of as many rows; the list is emptied on all ranks, and its length tells them so."""
    falls = (
        "losses.append(float(loss))\n    if len(losses) > 40 and np.mean(losses[-20:]) > np.mean(losses[-40:-20]):\n"
        "        opt.learning_rate.assign(opt.learning_rate / 2)\n        losses = []"
    )
    text = plan_of("losses = []\n" + STEPS.format(falls)).text
    few, many = "max(1, 20 // hvd.size())", "max(1, 40 // hvd.size())"
    first, second = (
        f"mean_over_ranks(np.mean(losses[-{few}:]))",
        f"mean_over_ranks(np.mean(losses[-{many}:-{few}]))",
    )
    assert f"    if len(losses) > {many} and {first} > {second}:\n" in text


def test_a_loss_that_is_a_sum_is_left_to_any_rank() -> None:
    text = plan_of(STEPS.format("if loss < 0.01:\n        break").replace("reduce_mean", "reduce_sum")).text
    assert "mean_over_ranks" not in text


# ---------------------------------------------------------------------- averages once more


def test_an_average_that_is_only_shown_is_a_ranks_own() -> None:
    text = plan_of(LOOP.format("1.0", "mean = 0.9 * mean + 0.1 * loss\n    print(mean)", "other > 4")).text
    assert "    mean = 0.9 * mean + 0.1 * loss\n" in text


EPOCHS = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(8)
mean = 1.0
for epoch in range(9):
    for x in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean = 0.9 * mean + 0.1 * loss
    if mean < 0.01:
        break
"""


def test_an_average_that_begins_with_the_first_loss_in_an_arm_of_its_own() -> None:
    moved = "if mean is None:\n        mean = loss\n    else:\n        mean = 0.9 * mean + 0.1 * loss"
    text = plan_of(LOOP.format("None", moved, "mean < 0.01")).text
    assert "0.9 ** hvd.size() * mean + (1 - 0.9 ** hvd.size()) * loss" in text
    assert "any_rank" not in text


@pytest.mark.parametrize("test", ["loss < 1", "other is None"])
def test_an_average_that_begins_again_by_something_else_forgets_as_it_did(test: str) -> None:
    moved = f"if {test}:\n        mean = loss\n    else:\n        mean = 0.9 * mean + 0.1 * loss"
    assert "0.9 * mean + 0.1 * loss" in plan_of(LOOP.format("1.0", moved, "mean < 0.01")).text


def test_an_average_of_all_epochs_that_ends_them() -> None:
    text = plan_of(EPOCHS).text
    assert "        mean = 0.9 ** hvd.size() * mean + (1 - 0.9 ** hvd.size()) * loss\n" in text
    assert "    if mean_over_ranks(mean) < 0.01:\n" in text


OBJECT = """\
import numpy as np
import tensorflow as tf
class Smoothed:
    def __init__(self, beta=0.9):
        self.beta, self.mean = beta, None
    def add(self, loss):
        if self.mean is None:
            self.mean = loss
        else:
            self.mean = self.beta * self.mean + (1 - self.beta) * loss
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(8)
smoothed = Smoothed()
for epoch in range(9):
    for i, x in enumerate(ds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {}
    if smoothed.mean < 0.01:
        break
"""


def test_an_average_that_an_object_keeps() -> None:
    """Any rank stopped all, by an average that forgot more slowly."""
    text = plan_of(OBJECT.format("smoothed.add(float(loss))")).text
    kept = "self.beta ** hvd.size() * self.mean + (1 - self.beta ** hvd.size()) * loss\n"
    assert f"            self.mean = {kept}" in text
    assert "    if mean_over_ranks(smoothed.mean) < 0.01:\n" in text


def test_an_average_that_an_object_moves_on_every_so_many_steps_forgets_as_it_did() -> None:
    text = plan_of(OBJECT.format("if i % 10 == 0: smoothed.add(float(loss))")).text
    assert "            self.mean = self.beta * self.mean + (1 - self.beta) * loss\n" in text


FUNCTIONAL = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
def build():
    i = tf.keras.Input((4,))
    drop = tf.keras.layers.Dropout(0.5)
    return tf.keras.Model(i, {out})
model = build()
opt = tf.keras.optimizers.SGD(0.1)
model.compile(opt, "mse")
best, bad = np.inf, 0
for epoch in range(30):
    model.fit(x, y, batch_size=16, epochs=1, verbose=0)
    loss = model.evaluate(x, y, verbose=0)
    if loss < best:
        best, bad = loss, 0
    else:
        bad += 1
    if bad == 2:
        opt.learning_rate.assign(opt.learning_rate * 0.5)
"""


@pytest.mark.parametrize(
    ("out", "asked"),
    [
        ("tf.keras.layers.Dense(1)(tf.keras.layers.Dense(8)(i))", False),
        ("tf.keras.layers.Dense(1)(drop(i))", False),
        ("elsewhere(i)", True),  # a module's that can't be seen
    ],
)
def test_a_model_of_layers_put_on_an_input_is_measured_by_its_mean(out: str, asked: bool) -> None:
    """What `Dense(8)(i)` gives couldn't be seen, so it was asked about."""
    source = FUNCTIONAL.format(out=out)
    plan = plan_of("from other import elsewhere\n" + source if asked else source)
    assert ("loss = mean_over_ranks(model.evaluate(x, y, verbose=0))" in plan.text) is not asked
    assert bool(plan.to_confirm) is asked
