"""G6: counts of rows go on by those of all ranks, whose budgets, rates and events stay as they are."""

from __future__ import annotations

import textwrap

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

LOOP = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=16)
args = parser.parse_args()
ds = iter(tf.data.Dataset.from_tensor_slices((a, b)).shuffle(99).repeat().batch(args.batch_size))
seen, total = 0, 9000
while {until}:
    x, y = next(ds)
    step(x, y)
    {adds}
    {more}
"""


def text(adds: str, more: str = "pass", until: str = "seen < total") -> str:
    return plan_of(TAPE + LOOP.format(adds=adds, more=more, until=until)).text


@pytest.mark.parametrize(
    "rows", ["args.batch_size", "len(x)", "x.shape[0]", "int(x.shape[0])", "tf.shape(x)[0].numpy()"]
)
def test_the_rows_of_all_ranks_are_counted(rows: str) -> None:
    assert f"seen += {rows} * hvd.size()\n" in text(f"seen += {rows}")
    assert f"seen = seen + {rows} * hvd.size()\n" in text(f"seen = seen + {rows}")


def test_what_they_are_compared_with_stays() -> None:
    """Ranks whose batches have other numbers of rows than others' leave the loop together."""
    assert "while seen < total:\n" in text("seen += args.batch_size")
    assert "while any_rank(seen < total):\n" in text("seen += len(x)")
    leaving = "if seen >= total: break"
    assert f"    {leaving}\n" in text("seen += args.batch_size", leaving, "True")
    assert "    if any_rank(seen >= total): break\n" in text("seen += len(x)", leaving, "True")


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            "if seen % 160 == 0: model.save('m')",
            "if seen % 160 < args.batch_size * hvd.size() and hvd.rank() == 0:",
        ),
        (
            "if seen == 160: model.save('m')",
            "if 160 <= seen < 160 + args.batch_size * hvd.size() and hvd.rank() == 0:",
        ),
        (  # in one step of a cycle, whose rows go on by a batch of each rank
            "if seen % 160 < args.batch_size: model.save('m')",
            "if seen % 160 < args.batch_size * hvd.size() and hvd.rank() == 0:",
        ),
        ("if seen >= 160: model.save('m')", "if seen >= 160 and hvd.rank() == 0:"),
        (
            "opt.learning_rate = 0.1 * min(seen / 500, 1)",
            "opt.learning_rate = 0.1 * min(seen / 500, 1) * hvd.size()",
        ),
    ],
)
def test_events_and_rates_go_by_the_rows_of_all_ranks(event: str, told: str) -> None:
    plan = plan_of(TAPE + LOOP.format(adds="seen += args.batch_size", more=event, until="seen < total"))
    assert told in plan.text
    assert not any(c.doubt for c in plan.changes)


def test_a_part_of_a_cycle_that_is_no_batch_is_said() -> None:
    event = "if seen % 160 < 16: model.save('m')"
    plan = plan_of(TAPE + LOOP.format(adds="seen += args.batch_size", more=event, until="seen < total"))
    assert "if seen % 160 < 16 and hvd.rank() == 0:" in plan.text
    assert any("may step over the number" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "adds",
    ["seen += args.delta", "seen += float(args.batch_size_scale())", "seen += len(x) / 2", "seen += x[0]"],
)
def test_what_is_no_number_of_rows_is_not_counted_so(adds: str) -> None:
    assert f"    {adds}\n" in text(adds, until="True")


def test_rows_of_a_loop_that_is_not_divided_are_counted_as_before() -> None:
    whole = "n = 0\nfor x, y in data:\n    evaluate(x, y)\n    n += len(x)\nprint(total / n)\n"
    assert "n += len(x)\n" in plan_of(TAPE + whole + LOOP.format(adds="pass", more="pass", until="True")).text


def test_means_over_the_rows_of_a_rank_are_divided_by_those() -> None:
    """`total / n` is a mean of what a rank has added up."""
    epoch = "for epoch in range(9):\n    total, n = 0.0, 0\n    for x, y in ds:\n        total += float(step(x, y)) * len(x)\n"
    epoch += "        n += len(x)\n    print(total / n)\n"
    made = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
    assert "n += len(x)\n" in plan_of(TAPE + made + epoch).text


@pytest.mark.parametrize(
    "shown",
    [
        "print(seen)",
        "print(f'{step} rows {seen} {seen / 10:.0f} a second')",
        "print('%d rows, loss %.3f' % (seen, all_losses / steps))",
        "logging.info('%d of %d rows', seen, total)",
    ],
)
def test_what_is_only_shown_is_what_all_ranks_have_seen(shown: str) -> None:
    """Each showed 1/size() of the rows and of their rate."""
    more = f"all_losses += 0.1 * x[0]; steps += 1\n    {shown}"
    assert "    seen += len(x) * hvd.size()\n" in text("seen += len(x)", more, until="True")


@pytest.mark.parametrize(
    "shown", ["print(right, 'of', seen)", "print(f'{right}/{seen}')", "print(right / seen)"]
)
def test_what_is_shown_beside_a_sum_of_a_rank_is_of_the_same_rows(shown: str) -> None:
    more = f"right += int(tf.reduce_sum(y))\n    {shown}"
    assert "    seen += len(x)\n" in text("seen += len(x)", more, until="True")


@pytest.mark.parametrize(
    "use", ["outputs[seen : seen + len(x)] = x", "last = rows[seen - 1]", "mean = seen and all_losses / seen"]
)
def test_what_a_rank_has_of_them_is_counted_by_its_own_rows(use: str) -> None:
    """Also where something else goes by the same count, which can't be both."""
    own = text("seen += len(x)", f"{use}\n    if seen >= 160: model.save('m')", until="True")
    assert "    seen += len(x)\n" in own


WIDTH = """\
class Bar:
    def __init__(self):
        self.width = 0
    def update(self, info):
        before = self.width
        {set}
        self.width += len(info)
        if before > self.width:
            info += (before - self.width) * " "
bar = Bar()
for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(16):
    step(x, y)
    bar.update("done")
"""


def test_a_length_that_is_set_each_time_before_counts_no_rows() -> None:
    """The width of a line of a progress bar became size() times wider."""
    assert "self.width += len(info)\n" in plan_of(TAPE + WIDTH.format(set="self.width = len(x)")).text


@pytest.mark.parametrize("other", ["before = 3", "if info: self.width = 0"])
def test_a_length_that_goes_on_counts_them(other: str) -> None:
    assert "self.width += len(info) * hvd.size()\n" in plan_of(TAPE + WIDTH.format(set=other)).text


CALLBACK = """\
import argparse
import numpy as np
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--steps_per_batch", type=int, default=16)
args = parser.parse_args()
x, y = np.load("x.npy"), np.load("y.npy")
settings = dict(vars(args))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Stop(tf.keras.callbacks.Callback):
    def __init__(self, n, other=None):
        super().__init__()
        {set}
        self.seen = 0
    def on_train_batch_end(self, batch, logs=None):
        {adds}
        {more}
model.fit(x, y, batch_size=args.batch, epochs=9, callbacks=[Stop({given})])
"""
STOPS = "if self.seen >= 9000: self.model.stop_training = True"


def of_callback(
    set_to: str, adds: str = "self.seen += self.b", given: str = "args.batch", more: str = STOPS
) -> str:
    return plan_of(CALLBACK.format(set=set_to, adds=adds, more=more, given=given)).text


@pytest.mark.parametrize(
    ("set_to", "given"),
    [
        ("self.b = args.batch", "4"),
        ("self.b = n", "args.batch"),
        ("self.b = n", "int(args.batch)"),
        ("self.b = n or 32", "args.batch"),
        ("self.b = n.batch", "args"),
        ("self.b = n['batch_size']", "settings"),
        ("self.b = n.get('batch_size', 32)", "settings"),
    ],
)
def test_the_size_of_batches_is_counted_by_other_names(set_to: str, given: str) -> None:
    """What went by such a count went by the rows of one rank, without a word."""
    told = of_callback(set_to, given=given)
    assert "self.seen += self.b * hvd.size()\n" in told
    assert STOPS.partition(":")[0] in told


@pytest.mark.parametrize("key", ["params.get('batch_size', 32)", "params['batch_size']"])
def test_the_size_of_batches_is_an_entry_of_settings(key: str) -> None:
    assert f"self.seen += self.{key} * hvd.size()\n" in of_callback("pass", f"self.seen += self.{key}")
    assert "stop_training" in of_callback("pass", f"self.seen += self.{key}")


@pytest.mark.parametrize(
    ("set_to", "adds", "given"),
    [
        ("self.b = args.steps_per_batch", "self.seen += self.b", "4"),
        ("self.b = len(x)", "self.seen += self.b", "4"),
        ("self.b = n", "self.seen += self.b", "args.batch if args.steps_per_batch else args.steps_per_batch"),
        ("self.b = other", "self.seen += self.b", "args.batch, args.steps_per_batch"),
        ("self.b = n", "self.seen += batch and self.b / 2", "args.batch"),
        ("self.b = n", "self.seen += self.params.get('batches', 32)", "args.batch"),
        ("self.b = n", "k = batch; self.seen += k", "args.batch"),
    ],
)
def test_other_numbers_under_such_names_are_no_rows(set_to: str, adds: str, given: str) -> None:
    assert f"{adds}\n" in of_callback(set_to, adds, given)


def test_a_mean_over_the_rows_of_a_rank_is_divided_by_those_by_other_names() -> None:
    mean = "self.sum += logs['loss'] * self.b; print(self.sum / self.seen)"
    assert "self.seen += self.b\n" in of_callback("self.b, self.sum = n, 0.0", more=mean)
    assert "self.seen += self.b\n" in of_callback("self.b = n; self.sum = 0.0", more=mean)


@pytest.mark.parametrize("name", ["batch_loss", "loss_batch", "batch_acc", "time_per_batch"])
def test_what_is_measured_of_a_batch_is_no_number_of_rows(name: str) -> None:
    """Its sum over an epoch is a mean when it is divided by a rank's steps, as TensorFlow's tutorial of translation does it."""
    loop = f"""\
    ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(320).batch(16)
    steps = len(a) // 16
    for epoch in range(4):
        total = 0
        for x, y in ds.take(steps):
            {name} = step(x, y)
            total += {name}
        print(total / steps)
    """
    made = plan_of(TAPE + textwrap.dedent(loop)).text
    assert "steps = max(1, len(a) // 16 // hvd.size())\n" in made
    assert f"total += {name}\n" in made
    assert "print(total / steps)\n" in made


@pytest.mark.parametrize(
    "name", ["BATCH", "mini_batch", "batch_sz", "images_per_batch", "train_bs", "batchSize"]
)
def test_names_of_sizes(name: str) -> None:
    assert f"seen += {name} * hvd.size()\n" in text(f"seen += {name}")
