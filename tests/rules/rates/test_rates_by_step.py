"""C5: rates that are set anew by the number of a batch or step."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import TF, plan_of

CALLBACK = """\
class Rate(tf.keras.callbacks.Callback):
    def {}(self, n, logs=None):
        {}
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(x, y, callbacks=[Rate()])
"""
SET = "tf.keras.backend.set_value(self.model.optimizer.lr, self.rate(n))"
EPOCHS = "count = 0\nfor epoch in range(9):\n    opt.learning_rate = {}\n    for k, (x, y) in enumerate(ds):\n        {}\n"
STEP = "step(x, y)\n        count += 1"


def said(source: str, **options: bool) -> bool:
    """Whether a plan asks about a rate that goes by a count of steps."""
    return any("goes by a count of steps" in c.doubt for c in plan_of(source, **options).changes)


def test_epochs_are_as_many_as_before() -> None:
    assert not said(TF + CALLBACK.format("on_epoch_begin", SET))
    assert not said(TAPE + EPOCHS.format("0.1 / (1 + epoch)", STEP))
    assert not said(TAPE + EPOCHS.format("0.1", STEP + "\n        opt.learning_rate = 0.1 / (1 + epoch)"))


def test_what_a_callback_does_with_batches_besides() -> None:
    assert not said(TF + CALLBACK.format("on_train_batch_end", "self.rates.append(self.model.optimizer.lr)"))


def test_where_nothing_is_divided_all_steps_are_taken() -> None:
    assert not said(TF + CALLBACK.format("on_train_batch_end", SET), split_data=False)


@pytest.mark.parametrize("method", ["on_batch_begin", "on_train_batch_begin", "on_train_batch_end"])
def test_the_number_of_a_batch_is_told_as_all_ranks_count(method: str) -> None:
    text = plan_of(TF + CALLBACK.format(method, SET)).text
    assert "self.rate(n * hvd.size()) * hvd.size())" in text


RATE = "opt.learning_rate"


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (f"{RATE} * 0.99", f"{RATE} * 0.99 ** hvd.size()"),
        (f"{RATE} / 1.01", f"{RATE} / 1.01 ** hvd.size()"),
        (f"float({RATE}.numpy()) * 0.99", f"float({RATE}.numpy()) * 0.99 ** hvd.size()"),
    ],
)
def test_a_rate_that_decays_with_each_step_decays_as_fast(rate: str, told: str) -> None:
    text = plan_of(TAPE + EPOCHS.format("0.1", f"{STEP}\n        {RATE} = {rate}")).text
    assert f"        {RATE} = {told}\n" in text


@pytest.mark.parametrize(
    "decay",
    [
        "if loss > 9:\n            opt.learning_rate = opt.learning_rate * 0.5",
        "if count % 100 == 0:\n            opt.learning_rate = opt.learning_rate * 0.5",
    ],
)
def test_a_rate_that_decays_now_and_then_is_left(decay: str) -> None:
    assert "* 0.5\n" in plan_of(TAPE + EPOCHS.format("0.1", f"{STEP}\n        {decay}")).text


def test_a_rate_that_decays_with_each_epoch_is_left() -> None:
    text = plan_of(TAPE + EPOCHS.format("opt.learning_rate * 0.5", STEP)).text
    assert "opt.learning_rate = opt.learning_rate * 0.5\n" in text


def test_a_rate_that_a_callback_decays_with_each_batch_decays_as_fast() -> None:
    relative = "self.model.optimizer.learning_rate = self.model.optimizer.learning_rate * 0.99"
    text = plan_of(TF + CALLBACK.format("on_train_batch_end", relative)).text
    assert relative + " ** hvd.size()\n" in text


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ("0.1 / (1 + k)", "0.1 / (1 + k * hvd.size()) * hvd.size()"),
        ("0.1 * 0.9 ** count", "0.1 * 0.9 ** (count * hvd.size()) * hvd.size()"),
        ("0.1 / (1 + int(opt.iterations))", "0.1 / (1 + int(opt.iterations) * hvd.size()) * hvd.size()"),
        ("rate_at(count)", "rate_at(count * hvd.size()) * hvd.size()"),
        ("0.1 if count < 99 else 0.01", "(0.1 if count * hvd.size() < 99 else 0.01) * hvd.size()"),
    ],
)
def test_turns_of_a_loop_are_told_as_all_ranks_count_them(rate: str, told: str) -> None:
    text = plan_of(TAPE + EPOCHS.format("0.1", f"{STEP}\n        opt.learning_rate = {rate}")).text
    assert f"opt.learning_rate = {told}\n" in text


def test_what_a_function_is_given_in_steps_of_all_ranks_it_compares_as_it_did() -> None:
    function = "def rate_at(n):\n    if n < 500:\n        return 0.1 * n / 500\n    return 0.1\n"
    text = plan_of(
        TAPE + function + EPOCHS.format("0.1", STEP + "\n        opt.learning_rate = rate_at(count)")
    ).text
    assert function in text
    assert "rate_at(count * hvd.size())" in text


def test_a_rate_in_a_traced_function_goes_by_its_variable() -> None:
    source = TAPE.replace("def step(x, y):\n", "n = tf.Variable(0)\n@tf.function\ndef step(x, y):\n").replace(
        "    return loss\n",
        "    opt.learning_rate.assign(0.1 * tf.cos(tf.cast(n, tf.float32)))\n    n.assign_add(1)\n    return loss\n",
    )
    text = plan_of(source + EPOCHS.format("0.1", STEP)).text
    assert "assign(0.1 * tf.cos(tf.cast(n, tf.float32) * hvd.size()) * hvd.size())" in text


def test_a_count_that_is_measured_by_a_ranks_batches_is_left() -> None:
    source = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
    text = plan_of(
        source + EPOCHS.format("0.1", STEP + "\n        opt.learning_rate = 0.1 * k / len(ds)")
    ).text
    assert "opt.learning_rate = 0.1 * k / len(ds) * hvd.size()\n" in text
    assert not said(source + EPOCHS.format("0.1", STEP + "\n        opt.learning_rate = 0.1 * k / len(ds)"))


def test_a_variable_that_something_else_moves_on_too_is_no_count_of_steps() -> None:
    moved = STEP + "\n        opt.learning_rate = 0.1 / (1 + count)\n    count += 10"
    assert said(TAPE + EPOCHS.format("0.1", moved))


def test_what_a_session_feeds_a_rate_goes_by_the_steps_of_all_ranks() -> None:
    source = """\
import tensorflow.compat.v1 as tf
x, lr = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
train = tf.train.GradientDescentOptimizer(lr).minimize(tf.square(x - tf.Variable(1.0)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1000):
        sess.run(train, {x: data.next_batch(8), lr: 0.1 * 0.9 ** (i / 100)})
"""
    assert "lr: 0.1 * 0.9 ** (i * hvd.size() / 100)}" in plan_of(source).text


ROWS = """\
x = np.zeros((1000, 4), np.float32)
seen = 0
for epoch in range(9):
    for i in range(0, len(x), 10):
        rows = x[i:i + 10]
        seen += len(rows)
        opt.learning_rate = 0.1 * (1 - {} / 9000)
        step(rows, rows)
"""


def test_a_count_of_rows_counts_those_of_all_ranks() -> None:
    plan = plan_of(TAPE + ROWS.format("seen"))
    assert "rows = x[i:i + 10]\n" in plan.text
    assert "seen += len(rows) * hvd.size()\n" in plan.text
    assert "(0.1 * (1 - seen / 9000)) * hvd.size()\n" in plan.text
    assert not any(c.doubt for c in plan.changes)


def test_the_number_that_selects_rows_is_told_in_a_rate() -> None:
    text = plan_of(TAPE + ROWS.format("i")).text
    assert "rows = x[own_i:own_i + 10]\n" in text
    assert "0.1 * (1 - min(i * hvd.size(), range(0, len(x), 10)[-1]) / 9000)" in text


MADE_BY = (
    TAPE
    + """\
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
{made}
for epoch in range(9):
    for x, y in ds:
        {begin}
        step(x, y)
        {end}
"""
)
SCHEDULER = """\
class Cosine:
    def __init__(self, total):
        self.t, self.total = 0, total
        self.step()
    def step(self):
        opt.learning_rate = 0.1 * (1 - self.t / self.total)
        self.t += 1
cosine = Cosine(900)"""
PROPERTY = """\
class State:
    def __init__(self):
        self.step = 0
    @property
    def lr(self):
        return 0.1 * 0.5 ** (self.step // 50)
state = State()"""
ASKED = "schedule = tf.keras.optimizers.schedules.PolynomialDecay(0.02, 200, 0.0)\ncount = tf.Variable(0)"
KEPT = "state = {'step': 0, 'epoch': 0}"
KEPT_BY = """\
class Run:
    def __init__(self):
        self.state = {'step': 0, 'epoch': 0}
    def count(self):
        self.state['step'] += 1
run = Run()"""


@pytest.mark.parametrize(
    ("made", "begin", "end", "told"),
    [
        (SCHEDULER, "pass", "cosine.step()", "0.1 * (1 - self.t * hvd.size() / self.total) * hvd.size()"),
        (
            PROPERTY,
            "opt.learning_rate = state.lr",
            "state.step += 1",
            "0.5 ** (self.step * hvd.size() // 50)",
        ),
        (
            ASKED,
            "opt.learning_rate.assign(schedule(count))",
            "count.assign_add(1)",
            "schedule(count * hvd.size()) * hvd.size()",
        ),
        (
            KEPT,
            "opt.learning_rate = 0.1 / (1 + state['step'])",
            "state['step'] += 1",
            "0.1 / (1 + state['step'] * hvd.size()) * hvd.size()",
        ),
        (
            KEPT,
            "opt.learning_rate = 0.1 / (1 + state['step'])",
            "state['step'] = state['step'] + 1",
            "0.1 / (1 + state['step'] * hvd.size()) * hvd.size()",
        ),
        (
            KEPT_BY.partition("    def count")[0] + "run = Run()",
            "opt.learning_rate = 0.1 / (1 + run.state['step'])",
            "run.state['step'] += 1",
            "0.1 / (1 + run.state['step'] * hvd.size()) * hvd.size()",
        ),
        (
            KEPT_BY,
            "opt.learning_rate = 0.1 / (1 + run.state['step'])",
            "run.count()",
            "0.1 / (1 + run.state['step'] * hvd.size()) * hvd.size()",
        ),
    ],
)
def test_a_count_that_something_else_keeps_is_told(made: str, begin: str, end: str, told: str) -> None:
    plan = plan_of(MADE_BY.format(made=made, begin=begin, end=end))
    assert told in plan.text
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    ("made", "begin", "end", "same"),
    [
        (
            KEPT,
            "opt.learning_rate = 0.1 / (1 + state['epoch'])",
            "pass\n    state['epoch'] += 1",
            "(1 + state['epoch'])",
        ),
        (KEPT, "opt.learning_rate = 0.1 / (1 + state['step'])", "state['step'] -= 1", "(1 + state['step'])"),
        (
            KEPT_BY,
            "opt.learning_rate = 0.1 / (1 + run.state['epoch'])",
            "pass\n    run.state['epoch'] += 1",
            "(1 + run.state['epoch'])",
        ),
        (
            KEPT_BY.replace("run = Run()", "run, other = Run(), {'step': 0}"),
            "opt.learning_rate = 0.1 / (1 + other['step'])",
            "run.count()",
            "(1 + other['step'])",
        ),
        (PROPERTY, "opt.learning_rate = state.lr", "pass\n    state.step += 1", "0.5 ** (self.step // 50)"),
    ],
)
def test_a_count_of_epochs_that_something_else_keeps_is_left(
    made: str, begin: str, end: str, same: str
) -> None:
    assert same in plan_of(MADE_BY.format(made=made, begin=begin, end=end)).text


# ---------------------------------------------------------------------- rates that an iterator gives

CYCLE = "import itertools\ncycle = itertools.cycle([0.1, 0.2, 0.3])\n"


@pytest.mark.parametrize("rate", ["next(cycle)", "0.5 * next(cycle)", "float(next(cycle))"])
def test_each_step_takes_as_many_rates_as_the_steps_of_all_ranks(rate: str) -> None:
    text = plan_of(TAPE + CYCLE + EPOCHS.format("0.1", f"{RATE} = {rate}\n        {STEP}")).text
    told = rate.replace("next(cycle)", "[next(cycle) for _ in range(hvd.size())][0]")
    assert f"        {RATE} = {told} * hvd.size()\n" in text
    assert "size())][hvd.rank()]" not in text


def test_a_rate_that_is_drawn_under_a_name_or_passed_is_told_too() -> None:
    named = f"rate = next(cycle)\n        {RATE}.assign(rate)\n        {STEP}"
    text = plan_of(TAPE + CYCLE + EPOCHS.format("0.1", named)).text
    assert "        rate = [next(cycle) for _ in range(hvd.size())][0]\n" in text
    passed = f"def change(rate):\n    {RATE}.assign(rate)\n" + EPOCHS.format(
        "0.1", f"change(next(cycle))\n        {STEP}"
    )
    text = plan_of(TAPE + CYCLE + passed).text
    assert "change([next(cycle) for _ in range(hvd.size())][0])" in text


def test_rates_of_a_loop_that_takes_its_batches_itself_are_not_dealt_out() -> None:
    loop = f"for number in range(1000):\n    {RATE} = next(cycle)\n    x, y = next(batches)\n    step(x, y)\n"
    text = plan_of(TAPE + CYCLE + "from data import batches\n" + loop).text
    assert f"    {RATE} = [next(cycle) for _ in range(hvd.size())][0] * hvd.size()\n" in text
    assert "    x, y = [next(batches) for _ in range(hvd.size())][hvd.rank()]\n" in text


@pytest.mark.parametrize(
    "body",
    [
        "opt.learning_rate = 0.1\n        " + STEP,  # the iterator gives something else
        f"if count % 100 == 0:\n            {RATE} = next(cycle)\n        {STEP}",  # events come as often as before
    ],
)
def test_other_iterators_go_on_as_they_did(body: str) -> None:
    text = plan_of(TAPE + CYCLE + EPOCHS.format("0.1", "print(next(cycle))\n        " + body)).text
    assert "hvd.size())][0]" not in text
    by_epoch = plan_of(TAPE + CYCLE + EPOCHS.format("next(cycle)", STEP)).text
    assert f"    {RATE} = next(cycle) * hvd.size()\n" in by_epoch


# ---------------------------------------------------------------------- rates that are read, changed and set


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("rate *= factor", "rate *= factor ** hvd.size()"),
        ("rate /= 1.01", "rate /= 1.01 ** hvd.size()"),
        ("rate -= 1e-5", "rate -= 1e-5 * hvd.size() ** 2"),
    ],
)
def test_a_rate_that_is_read_and_changed_before_it_is_set_goes_on_as_fast(change: str, told: str) -> None:
    body = f"{STEP}\n        rate = float({RATE}.numpy())\n        {change}\n        {RATE}.assign(rate)"
    text = plan_of("factor = 1.1\n" + TAPE + EPOCHS.format("0.1", body)).text
    assert f"        {told}\n        {RATE}.assign(rate)\n" in text


def test_one_that_is_changed_only_now_and_then_is_not() -> None:
    changed = "if k == 9:\n            rate *= 0.5"
    seldom = f"{STEP}\n        rate = float({RATE}.numpy())\n        {changed}\n        {RATE}.assign(rate)"
    assert "rate *= 0.5\n" in plan_of(TAPE + EPOCHS.format("0.1", seldom)).text
    by_epoch = f"0.1\n    rate = float({RATE}.numpy())\n    rate *= 0.5\n    {RATE}.assign(rate)"
    assert "rate *= 0.5\n" in plan_of(TAPE + EPOCHS.format(by_epoch, STEP)).text


LOOKED_UP = """\
rates = {made}
for i, (x, y) in enumerate(tf.data.Dataset.from_tensor_slices((a, b)).batch(4)):
    if i in rates:
        opt.learning_rate = rates[i]
    step(x, y)
"""


def test_a_count_that_is_looked_up_among_a_few_finds_them() -> None:
    text = plan_of(TAPE + LOOKED_UP.format(made="{0: 0.1, 500: 0.01}")).text
    assert "if i in [k and max(1, k // hvd.size()) for k in rates]:" in text
    assert (
        "opt.learning_rate = {k and max(1, k // hvd.size()): rates[k] for k in rates}[i] * hvd.size()" in text
    )


def test_among_numbers_that_cannot_be_seen_it_is_asked_about() -> None:
    plan = plan_of(TAPE + LOOKED_UP.format(made="read_rates(b)"))
    assert "opt.learning_rate = rates[i] * hvd.size()" in plan.text
    assert any("goes by a count of steps" in c.doubt for c in plan.changes)


GOT = """\
count, lr, changes = 0, 0.1, {{500: 0.01}}
for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4):
    lr = {}
    opt.learning_rate = lr
    step(x, y)
    count += 1
"""


def test_so_is_one_by_which_a_change_is_got() -> None:
    text = plan_of(TAPE + GOT.format("changes.get(count, lr)")).text
    assert "lr = {k and max(1, k // hvd.size()): changes[k] for k in changes}.get(count, lr)\n" in text


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ("0.01 if count == 500 else lr", "0.01 if count == max(1, 500 // hvd.size()) else lr"),
        ("0.01 if count + 1 == 500 else lr", "0.01 if count + 1 == max(1, 500 // hvd.size()) else lr"),
        ("0.01 if count % 500 == 0 else lr", "0.01 if count * hvd.size() % 500 < hvd.size() else lr"),
        ("0.01 if count > 500 else lr", "0.01 if count * hvd.size() > 500 else lr"),
        ("0.01 if count % 500 > 250 else lr", "0.01 if count * hvd.size() % 500 > 250 else lr"),
    ],
)
def test_a_count_that_is_to_equal_a_number_does_so_on_any_number_of_ranks(rate: str, told: str) -> None:
    """Twice 7 times 8 is never 500."""
    plan = plan_of(TAPE + GOT.format(rate))
    assert f"lr = {told}\n" in plan.text
    assert all(c.sure for c in plan.changes)


FINDER = """\
rates = np.geomspace(1e-5, 1.0, 50)
losses = []
for i, (x, y) in enumerate(ds.repeat().take(50)):
    opt.learning_rate.assign({})
    losses.append(float(step(x, y)))
best = {}
"""


def picked(rate: str, best: str) -> list[str]:
    """What is asked of a rate that is picked among those that were tried."""
    source = "import numpy as np\n" + TAPE + FINDER.format(rate, best)
    return [c.doubt for c in plan_of(source).changes if c.what.startswith("Pick by the steps")]


@pytest.mark.parametrize(
    ("rate", "best"),
    [
        ("rates[i]", "rates[0]"),
        ("rates[i]", "rates[len(rates) // 2]"),
        ("rates[i]", "losses[int(np.argmin(losses))]"),  # a loss of the same steps
        ("rates[10]", "rates[int(np.argmin(losses))]"),  # no rate goes by the steps
    ],
)
def test_what_is_picked_otherwise_is_not_asked_about(rate: str, best: str) -> None:
    assert picked(rate, best) == []


@pytest.mark.parametrize(
    "best",
    [
        "rates[int(np.argmin(losses))] / 10",
        "rates[losses.index(min(losses))]",
        "rates[np.argsort(losses)[0]]",
    ],
)
def test_a_rate_that_is_picked_by_the_number_of_a_step_is_asked_about(best: str) -> None:
    (doubt,) = picked("rates[i]", best)
    assert "`rates` has a value for each step of all ranks" in doubt


def noted(setting: str) -> bool:
    """Whether it is said that a rate goes on beyond its last step."""
    source = TF + CALLBACK.format("on_train_batch_begin", f"self.model.optimizer.learning_rate = {setting}")
    return any("keep the rate at its end" in note.message for note in plan_of(source).notes)


@pytest.mark.parametrize(
    "setting",
    ["0.1 * 0.99 ** n", "0.1 / (1 + n)", "0.1 * max(0.0, 1 - n / 500)", "0.1 * (1 - min(n / 500, 1.0))"],
)
def test_a_rate_that_goes_on_as_it_did_may_go_beyond_its_last_step(setting: str) -> None:
    assert not noted(setting)


@pytest.mark.parametrize("setting", ["0.1 * (1 - n / 500)", "0.05 * (1 + np.cos(np.pi * n / 500))"])
def test_a_line_or_a_cosine_that_goes_on_beyond_its_last_step_is_said(setting: str) -> None:
    """800 rows in batches of 16 are 50 on one process and 13 on each of four: 52. At the end the rate would be negative."""
    assert noted(setting)


def test_a_loop_of_so_many_steps_ends_with_them() -> None:
    text = TAPE + "for n in range(500):\n    opt.learning_rate = 0.1 * (1 - n / 500)\n    step(x, y)\n"
    assert not any("keep the rate at its end" in note.message for note in plan_of(text).notes)


DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\ntotal = 9 * len(ds)\n"


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (
            "0.1 * np.cos((count - 10) / (total - 10))",
            "0.1 * np.cos((count * hvd.size() - 10) / (total * hvd.size() - 10)) * hvd.size()",
        ),
        (
            "0.1 * count / 10 if count < 10 else 0.1 * (1 - count / total)",
            "(0.1 * (count * hvd.size()) / 10 if count * hvd.size() < 10 "
            "else 0.1 * (1 - count * hvd.size() / (total * hvd.size()))) * hvd.size()",
        ),
        (
            "min(0.1, count / 50) * (1 - count / len(ds))",
            "min(0.1, count * hvd.size() / 50) * (1 - count * hvd.size() / (len(ds) * hvd.size())) * hvd.size()",
        ),
    ],
)
def test_lengths_of_a_ranks_data_are_told_where_a_number_stands_beside_them(rate: str, told: str) -> None:
    text = plan_of(TAPE + DATA + EPOCHS.format("0.1", f"{STEP}\n        opt.learning_rate = {rate}")).text
    assert f"opt.learning_rate = {told}\n" in text


@pytest.mark.parametrize(
    "rate",
    [
        "0.1 * (1 - (count + 1) / total)",
        "0.1 * np.cos(np.pi * float(count) / float(total))",
        "0.1 * (1 - min(count, total) / total)",
        "0.1 * (count - warm) / (total - warm) if count > warm else 0.1 * count / warm",
    ],
)
def test_a_formula_of_a_ranks_numbers_alone_is_left(rate: str) -> None:
    data = DATA + "warm = total // 10\n"
    text = plan_of(TAPE + data + EPOCHS.format("0.1", f"{STEP}\n        opt.learning_rate = {rate}")).text
    assert "count * hvd.size()" not in text
    assert "total * hvd.size()" not in text
    assert "opt.learning_rate = " + rate.split(" if ", maxsplit=1)[0] in text.replace("= (", "= ")


def test_a_function_of_the_step_is_told_the_length_that_it_takes() -> None:
    function = "def rate_at(n):\n    return 0.1 * n / 50 if n < 50 else 0.1 * (1 - (n - 50) / (total - 50))\n"
    text = plan_of(
        TAPE + DATA + function + EPOCHS.format("0.1", STEP + "\n        opt.learning_rate = rate_at(count)")
    ).text
    assert "rate_at(count * hvd.size())" in text
    assert "(total * hvd.size() - 50)" in text


GIVEN = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(4)
total = 9 * len(ds)
def rate(at, of):
    {convert}
    return 0.1 * at / 20 if at < 20 else 0.1 * (1 - (at - 20) / (of - 20))
step = 0
for epoch in range(9):
    for x, y in ds:
        opt.learning_rate.assign(rate({count}, total))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        weights = model.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
        step += 1
"""


@pytest.mark.parametrize("convert", ["pass", "at = float(at)", "at, of = float(at), float(of)"])
@pytest.mark.parametrize("count", ["step", "opt.iterations"])
def test_what_a_function_is_given_is_told_once(convert: str, count: str) -> None:
    """Beside a number of steps the count and the length are told, where they are passed; not once more where they are read."""
    text = plan_of(GIVEN.format(convert=convert, count=count)).text
    assert f"rate({count} * hvd.size(), total * hvd.size()) * hvd.size())\n" in text
    assert "    return 0.1 * at / 20 if at < 20 else 0.1 * (1 - (at - 20) / (of - 20))\n" in text


SWITCH = """\
class Switch(tf.keras.callbacks.Callback):
    def __init__(self, after):
        super().__init__()
        self.after, self.steps, self.done = after, 0, False
    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if {}:
            self.model.optimizer.learning_rate = self.model.optimizer.learning_rate * 0.5
            self.done = True
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(x, y, callbacks=[Switch(60)])
"""


@pytest.mark.parametrize(
    "test",
    [
        "self.steps == self.after",
        "self.steps == 60",
        "batch == 10",
        "self.steps % 60 == 0",
        "self.steps in (60, 90)",
    ],
)
def test_a_callback_that_changes_the_rate_at_certain_steps_changes_it_as_much(test: str) -> None:
    source = TF + SWITCH.format(test)
    assert "learning_rate * 0.5\n" in plan_of(source).text
    assert not said(source)


def test_a_callback_that_does_so_once_by_a_flag_is_asked_about() -> None:
    source = TF + SWITCH.format("self.steps >= self.after and not self.done")
    assert "learning_rate * 0.5\n" in plan_of(source).text
    assert said(source)


def test_a_callback_that_does_so_with_each_step_goes_on_as_fast() -> None:
    source = TF + SWITCH.format("self.after").replace("0.5", "0.999")
    assert "learning_rate * 0.999 ** hvd.size()\n" in plan_of(source).text


@pytest.mark.parametrize("below", ["step < 10", "10 > step"])
def test_a_count_that_a_method_gives_is_told_once_where_the_formula_compares_it_too(below: str) -> None:
    source = f"""\
class Later(tf.keras.callbacks.Callback):
    n = 0
    def count(self):
        self.n += 1
        return self.n
    def rate(self, step):
        if {below}:
            return 0.005 * step
        return 0.05 * 0.99 ** step
    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate.assign(self.rate(self.count()))
model = tf.keras.Sequential([])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse')
model.fit(x, y, callbacks=[Later()])
"""
    text = plan_of(TF + source).text
    assert "return self.n\n" in text
    assert "assign(self.rate(self.count() * hvd.size()) * hvd.size())" in text


def test_the_steps_of_an_optimizer_by_another_name_are_those_of_a_rank() -> None:
    source = """\
class Later(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        optimizer = self.model.optimizer
        step = int(optimizer.iterations.numpy())
        optimizer.learning_rate = 0.1 * 0.99 ** step
        if step % 20 == 0:
            self.model.save_weights("w.weights.h5")
model = tf.keras.Sequential([])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse')
model.fit(x, y, callbacks=[Later()])
"""
    text = plan_of(TF + source).text
    assert "optimizer.learning_rate = 0.1 * 0.99 ** (step * hvd.size()) * hvd.size()" in text
    assert "if step % max(1, 20 // hvd.size()) == 0 and hvd.rank() == 0:" in text


ASSIGNED = """\
import numpy as np
import tensorflow.compat.v1 as tf
x, new = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [])
lr = tf.Variable(0.1, trainable=False)
to, half = tf.assign(lr, new), tf.assign(lr, lr * 0.5)
train = tf.train.GradientDescentOptimizer(lr).minimize(tf.square(x - tf.Variable(1.0)))
cur = 0.1
rates = np.load("rates.npy")
def set_rate(session, rate):
    session.run(to, {{new: rate}})
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1000):
        {before}
        sess.run(train, {{x: data.next_batch(8)}})
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sess.run(to, {new: 0.1 * 0.9 ** (i / 100)})", "0.1 * 0.9 ** (i * hvd.size() / 100)"),
        ("sess.run(tf.assign(lr, 0.1 * 0.9 ** (i // 100)))", "0.1 * 0.9 ** (i * hvd.size() // 100)"),
        ("lr.load(0.1 * 0.9 ** (i // 100), sess)", "lr.load(0.1 * 0.9 ** (i * hvd.size() // 100), sess)"),
        ("set_rate(sess, 0.1 * 0.9 ** (i / 100))", "set_rate(sess, 0.1 * 0.9 ** (i * hvd.size() / 100))"),
        ("cur *= 0.99; sess.run(to, {new: cur})", "cur *= 0.99 ** hvd.size(); sess.run(to, {new: cur})"),
        (
            "if i in (300, 600): lr.load(0.01 if i == 300 else 0.001, sess)",
            "lr.load(0.01 if i == max(1, 300 // hvd.size()) else 0.001, sess)",
        ),
        ("sess.run(to, {new: rates[i]})", "sess.run(to, {new: rates[i * hvd.size()]})"),
        ("r = rates[i]; sess.run(to, {new: r}); print(r)", "r = rates[i * hvd.size()]"),
        ("if i % 100 == 0: sess.run(half)", "if i * hvd.size() % 100 < hvd.size(): sess.run(half)"),
    ],
)
def test_what_a_session_sets_a_rate_to_goes_by_the_steps_of_all_ranks(before: str, after: str) -> None:
    text = plan_of(ASSIGNED.format(before=before)).text
    assert after in text
    assert "for i in range(1000 // hvd.size()):\n" in text


@pytest.mark.parametrize("before", ["sess.run(to, {new: 0.1})", "lr.load(0.1, sess)", "sess.run(half)"])
def test_a_rate_that_a_session_sets_by_no_count_is_left_alone(before: str) -> None:
    assert f"        {before}\n" in plan_of(ASSIGNED.format(before=before)).text


def test_a_load_that_reads_rows_selects_by_its_number() -> None:
    text = plan_of(ASSIGNED.format(before="reader.load(i)")).text
    assert "for i in range(hvd.rank(), 1000 // hvd.size() * hvd.size(), hvd.size()):\n" in text


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
x, lr, w = tf.placeholder(tf.float32), tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
train = tf.train.GradientDescentOptimizer(lr).minimize(w * tf.square(x - tf.Variable(1.0)))
data, rates = np.load("rows.npy"), [0.1] * 500 + [0.01] * 500
def draw():
    return data[np.random.randint(0, 9, 4)]
def rate_at(i):
    return rates[i]
def step(sess, rows, rate):
    sess.run(train, {{x: rows, lr: rate, w: 1.0}})
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1000):
        {body}
"""


def test_a_rate_of_a_table_is_the_same_on_all_ranks() -> None:
    """By a number of each rank's own their weights would part."""
    drawn = "sess.run(train, {x: data[np.random.randint(0, 9, 4)], lr: rates[i], w: 1.0})"
    text = plan_of(FED.format(body=drawn)).text
    assert "lr: rates[i * hvd.size()]," in text
    assert "for i in range(1000 // hvd.size()):\n" in text
    for body in (
        "sess.run(train, {x: draw(), lr: rate_at(i), w: 1.0})",
        "step(sess, draw(), rates[i])",
        "feed = {x: draw(), w: 1.0}; feed[lr] = rates[i]; sess.run(train, feed)",
        "r = rate_at(i); sess.run(train, {x: draw(), lr: r, w: 1.0})",
    ):
        text = plan_of(FED.format(body=body)).text
        assert "for i in range(1000 // hvd.size()):\n" in text
        assert "rates[i * hvd.size()]" in text or "rate_at(i * hvd.size())" in text
    sliced = "sess.run(train, {x: data[i * 4:i * 4 + 4], lr: rates[i], w: 1.0})"
    text = plan_of(FED.format(body=sliced)).text
    assert "x: data[own_i * 4:own_i * 4 + 4], lr: rates[min(i * hvd.size(), 1000 - 1)]," in text


@pytest.mark.parametrize(
    "body",
    [
        "sess.run(train, {x: data[i], lr: 0.1, w: 1.0})",
        "sess.run(train, {x: data[i], lr: 0.1, w: rates[i]})",  # the weight of its rows
        "r = data[i]; sess.run(train, {x: r, lr: 0.1, w: 1.0})",
        "step(sess, data[i], 0.1)",
        "feed = {lr: 0.1, w: 1.0}; feed[x] = data[i]; sess.run(train, feed)",
        "sess.run(train, {x: rate_at(i), lr: 0.1, w: 1.0})",
    ],
)
def test_what_is_fed_to_no_rate_is_a_ranks_own(body: str) -> None:
    text = plan_of(FED.format(body=body)).text
    assert "for i in range(hvd.rank(), 1000 // hvd.size() * hvd.size(), hvd.size()):\n" in text


@pytest.mark.parametrize("read", ["sess.run(count)", "tf.train.global_step(sess, count)"])
def test_a_staircase_by_the_step_of_a_graph_falls_once_as_fast(read: str) -> None:
    """Both sides of the quotient were told of the ranks: the rate fell N * N times as fast."""
    source = ASSIGNED.format(
        before=f"step = {read}\n        sess.run(to, {{new: 0.1 * 0.5 ** (step // 40)}})"
    )
    source = source.replace("lr = tf.V", "count = tf.train.get_or_create_global_step()\nlr = tf.V")
    source = source.replace("tf.Variable(1.0)))", "tf.Variable(1.0)), global_step=count)")
    told = ("step // max(1, 40 // hvd.size())", "step * hvd.size() // 40")
    text = plan_of(source).text
    assert any(f"0.5 ** ({t})}}" in text for t in told)


def test_a_rate_that_is_drawn_where_a_session_is_fed_it_is_drawn_once_for_all_ranks() -> None:
    """It was dealt out like batches, too: each step drew size() * size() rates, and took another one on each rank."""
    text = plan_of("""\
import numpy as np
import tensorflow.compat.v1 as tf
x, rate = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [])
train = tf.train.GradientDescentOptimizer(rate).minimize(tf.reduce_mean(tf.layers.dense(x, 1) ** 2))
data, rates = np.load("rows.npy"), iter(np.linspace(0.1, 0.01, 160))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(160):
        i = np.random.randint(0, 256, 16)
        sess.run(train, {x: data[i], rate: next(rates)})
""").text
    assert "rate: [next(rates) for _ in range(hvd.size())][0]}" in text
