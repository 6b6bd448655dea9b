"""C4 schedule: rates of schedules × size, their steps ÷ size; factors stay."""

from __future__ import annotations

import pytest

from ..pairs import FIT, MODEL, TF, changes, check, plan_of, refused, untouched
from ..sessions import LOSS, RUN

SCHEDULES = "from tensorflow.keras.optimizers import schedules as d\n"
HEAD = MODEL + SCHEDULES
TAIL = "model.compile(o.SGD(s))\n" + FIT
SESSION = LOSS + "step = tf.train.get_or_create_global_step()\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s = d.ExponentialDecay(0.1, 1000, 0.9)", "s = d.ExponentialDecay(0.1 * hvd.size(), 1000 / hvd.size(), 0.9)"),
        ("s = d.ExponentialDecay(decay_rate=0.9, decay_steps=a + b, initial_learning_rate=r, staircase=True)",
         "s = d.ExponentialDecay(decay_rate=0.9, decay_steps=(a + b) / hvd.size()"
         ", initial_learning_rate=r * hvd.size(), staircase=True)"),
        ("s = d.CosineDecay(0.1, 100, alpha=0.01)",
         "s = d.CosineDecay(0.1 * hvd.size(), 100 / hvd.size(), alpha=0.01)"),
        ("s = d.CosineDecayRestarts(0.1, 100, t_mul=2.0)",
         "s = d.CosineDecayRestarts(0.1 * hvd.size(), 100 / hvd.size(), t_mul=2.0)"),
        ("s = d.InverseTimeDecay(0.1, 100, 0.5)", "s = d.InverseTimeDecay(0.1 * hvd.size(), 100 / hvd.size(), 0.5)"),
        ("s = d.PolynomialDecay(0.1, 100, 0.001, power=2)",
         "s = d.PolynomialDecay(0.1 * hvd.size(), 100 / hvd.size(), 0.001 * hvd.size(), power=2)"),
        ("s = d.PiecewiseConstantDecay([10, 20], [1.0, 0.5, 0.1])",
         "s = d.PiecewiseConstantDecay([10 // hvd.size(), 20 // hvd.size()],"
         " [1.0 * hvd.size(), 0.5 * hvd.size(), 0.1 * hvd.size()])"),
        ("s = d.PiecewiseConstantDecay([10, 20, 30, 40], [a + b, *v])",
         "s = d.PiecewiseConstantDecay([10 // hvd.size(), 20 // hvd.size(), 30 // hvd.size(), 40 // hvd.size()],"
         " [rate * hvd.size() for rate in [a + b, *v]])"),
        ("s = d.PiecewiseConstantDecay(boundaries=b, values=v)",
         "s = d.PiecewiseConstantDecay(boundaries=[step // hvd.size() for step in b]"
         ", values=[rate * hvd.size() for rate in v])"),
        ("from tensorflow.keras.optimizers.schedules import ExponentialDecay as E\ns = E(0.1, 10, 0.5)",
         "from tensorflow.keras.optimizers.schedules import ExponentialDecay as E\ns = E(0.1 * hvd.size(), 10"
         " / hvd.size(), 0.5)"),
        ("s = tf.compat.v1.train.exponential_decay(0.1, step, 1000, 0.9)",
         "s = tf.compat.v1.train.exponential_decay(0.1 * hvd.size(), step, 1000 / hvd.size(), 0.9)"),
    ],
)  # fmt: skip
def test_rates_are_multiplied_and_steps_divided(before: str, after: str) -> None:
    check("C4", HEAD, before, after, TAIL)


def test_steps_stay_where_the_data_is_not_split() -> None:
    check(
        "C4",
        HEAD,
        "s = d.ExponentialDecay(0.1, 1000, 0.9)",
        "s = d.ExponentialDecay(0.1 * hvd.size(), 1000, 0.9)",
        TAIL,
        split_data=False,
    )


def test_a_schedule_that_two_optimizers_share_is_scaled_once() -> None:
    source = HEAD + "s = d.CosineDecay(0.1, 100)\nmodel.compile(o.SGD(s))\n" + FIT
    source += "other = tf.keras.Sequential([])\nother.compile(o.Adam(s))\nother.fit(x, y)\n"
    text = plan_of(source).text
    assert "s = d.CosineDecay(0.1 * hvd.size(), 100 / hvd.size())\n" in text
    assert "Adam(s))" in text


def test_an_inline_schedule_is_scaled_in_place() -> None:
    check(
        "C4",
        HEAD,
        "model.compile(o.SGD(d.CosineDecay(0.1, 100)))",
        "model.compile(o.SGD(d.CosineDecay(0.1 * hvd.size(), 100 / hvd.size())))",
        FIT,
    )


def test_names_of_comprehensions_are_fresh() -> None:
    source = HEAD + "rate, step = [1, 2], [2]\ns = d.PiecewiseConstantDecay(step, rate)\n" + TAIL
    text = plan_of(source).text
    assert "[hvd_step // hvd.size() for hvd_step in step]" in text
    assert "[hvd_rate * hvd.size() for hvd_rate in rate]" in text


def test_a_schedule_class_of_the_users_own_is_scaled_where_it_returns() -> None:
    source = (
        HEAD
        + (
            "class Warm(d.LearningRateSchedule):\n"
            "    def __init__(self, peak):\n        self.peak = peak\n"
            "    def __call__(self, step):\n        if step < 10:\n            return self.peak\n"
            "        return self.peak / step\n"
            "    def get_config(self):\n        return {'peak': self.peak}\n"
            "model.compile(o.Adam(Warm(0.1)))\n"
        )
        + FIT
    )
    plan = plan_of(source)
    assert (
        "        step = step * hvd.size()\n        if step < 10:\n"
        "            return self.peak * hvd.size()\n        return self.peak / step * hvd.size()\n"
    ) in plan.text
    assert "Adam(Warm(0.1))" in plan.text
    assert not [n for n in plan.notes if n.rule == "C4"]


OWN = """\
class Warm(d.LearningRateSchedule):
    def __init__(self, peak, steps=9):
        self.peak, self.steps = peak, steps
    def __call__(self, {}):{}return self.peak / step
    def get_config(self):
        return dict(peak=self.peak, steps=self.steps)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model.compile(o.Adam(Warm({})))
model.fit({})
"""
COUNTS = "step = step * hvd.size()"


def test_a_schedule_that_counts_a_rank_s_steps_is_told_those() -> None:
    """As it is made with a share of the data, and where nothing is divided."""
    body = '\n        "Rate."\n        '
    assert COUNTS not in plan_of(HEAD + OWN.format("step", body, "0.1, len(ds)", "ds")).text
    source = HEAD + OWN.format("step", body, "0.1", "x, y")
    assert COUNTS not in plan_of(source, split_data=False).text
    assert f'"Rate."\n        {COUNTS}\n        return' in plan_of(source).text


def test_a_schedule_that_is_told_all_steps_compares_those() -> None:
    """Also one that the program asks itself, by its optimizer's count."""
    cls = "class Warm(d.LearningRateSchedule):\n    def __call__(self, step):\n        step = tf.cast(step, tf.float32)\n"
    cls += "        if step < 300:\n            return step / 300\n        return 1.0\n"
    loop = "opt = o.SGD(Warm())\nfor a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(8):\n"
    loop += "    with tf.GradientTape() as t:\n        loss = tf.reduce_mean(model(a))\n    w = model.trainable_variables\n"
    loop += "    opt.apply_gradients(zip(t.gradient(loss, w), w))\n    print(Warm()(opt.iterations))\n"
    text = plan_of(HEAD + cls + loop).text
    assert f"        {COUNTS}\n        step = tf.cast(step, tf.float32)\n        if step < 300:\n" in text


def test_a_schedule_whose_body_stands_beside_its_head() -> None:
    assert (
        "return self.peak / (step * hvd.size()) * hvd.size()\n"
        in plan_of(HEAD + OWN.format("step", " ", "0.1", "x, y")).text
    )


def test_a_schedule_whose_step_has_no_name_is_asked_about() -> None:
    plan = plan_of(HEAD + OWN.format("*step", "\n        ", "0.1", "x, y"))
    assert COUNTS not in plan.text
    assert any("counts steps of one process" in c.doubt for c in plan.changes)


NO_CONFIG = """\
class Warm(d.LearningRateSchedule):
    def __init__(self, {}):
        {}
    def __call__(self, step):
        return self.peak / step
model.compile(o.Adam(Warm(0.1)))
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("parameters", "body", "given"),
    [
        ("peak, steps=9", "self.peak, self.n = peak, steps", "{'peak': self.peak, 'steps': self.n}"),
        ("peak", "self.peak = tf.cast(peak, tf.float32)", "self.arguments_given"),
        (
            "peak",
            "self.peak = peak\n        self.peak = tf.cast(self.peak, tf.float32)",
            "self.arguments_given",
        ),
    ],
)
def test_a_schedule_without_a_configuration_is_given_one(parameters: str, body: str, given: str) -> None:
    text = plan_of(HEAD + NO_CONFIG.format(parameters, body)).text.replace('"', "'")
    assert f"    def get_config(self):\n        return {given}\n" in text
    assert ("self.arguments_given = {'peak': peak}\n        self.peak" in text) == (
        given == "self.arguments_given"
    )


def test_a_constructor_in_one_line_keeps_what_it_is_given_there() -> None:
    model = NO_CONFIG.format("peak", "self.peak = tf.cast(peak, tf.float32)")
    text = plan_of(HEAD + model.replace("peak):\n        self", "peak): self")).text.replace('"', "'")
    assert "peak): self.arguments_given = {'peak': peak}; self.peak = tf.cast" in text
    assert "\n    def get_config(self):\n        return self.arguments_given\n" in text


def test_a_schedule_of_any_arguments_is_refused() -> None:
    refused(HEAD + NO_CONFIG.format("*peaks", "self.peak = peaks[0]"), "HVD006", "get_config")


def test_what_is_no_schedule_is_left() -> None:
    untouched("C4", HEAD + "model.compile(o.SGD(0.1))\n" + FIT)


def test_a_schedule_that_nothing_trains_with_is_left() -> None:
    untouched("C4", HEAD + "s = d.CosineDecay(0.1, 100)\nprint(s(3))\nmodel.compile('sgd')\n" + FIT)


def test_a_schedule_whose_call_is_elsewhere_is_refused() -> None:
    refused(
        HEAD + "from mine import Base\n"
        "class Warm(Base, d.LearningRateSchedule):\n    pass\n"
        "model.compile(o.Adam(Warm()))\n" + FIT,
        "HVD006",
    )


def test_a_zero_end_rate_stays() -> None:
    plan = plan_of(HEAD + "s = d.PolynomialDecay(0.1, 100, 0)\n" + TAIL)
    assert "PolynomialDecay(0.1 * hvd.size(), 100 / hvd.size(), 0)" in plan.text
    assert len(changes(plan, "C4")) == 2


@pytest.mark.parametrize(
    "steps",
    [
        "decay_steps=len(ds) * 3",
        "decay_steps=total",
        "decay_steps=ds.cardinality().numpy() * 3",
    ],
)
def test_steps_that_count_a_rank_s_share_are_not_divided_again(steps: str) -> None:
    """A data set that is divided where it is made has a rank's number of batches from there on."""
    head = TF + "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\ntotal = 3 * len(ds)\n"
    made = "s = tf.keras.optimizers.schedules.CosineDecay(0.1{}, " + steps + ")\n"
    tail = "m = tf.keras.Sequential([])\nm.compile(tf.keras.optimizers.SGD(s), 'mse')\nm.fit(ds, epochs=3)\n"
    check("C4", head, made.format(""), made.format(" * hvd.size()"), tail)


def test_boundaries_of_a_rank_s_share_are_not_divided_again() -> None:
    head = TF + "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\nn = len(ds)\n"
    tail = "m = tf.keras.Sequential([])\nm.compile(tf.keras.optimizers.SGD(s), 'mse')\nm.fit(ds, epochs=3)\n"
    made = "s = tf.keras.optimizers.schedules.PiecewiseConstantDecay([n, 2 * n], [0.1, 0.01, 0.001])\n"
    after = made.replace("0.1, 0.01, 0.001", "0.1 * hvd.size(), 0.01 * hvd.size(), 0.001 * hvd.size()")
    check("C4", head, made, after, tail)


def test_steps_of_the_whole_are_divided_where_the_data_are_divided_later() -> None:
    """`fit(shard_dataset(ds))`: what is counted before is all."""
    head = (
        TF
        + "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\nwhole = ds\nn = int(ds.cardinality())\nuse(ds)\n"
    )
    tail = "m = tf.keras.Sequential([])\nm.compile(tf.keras.optimizers.SGD(s), 'mse')\nm.fit(ds, epochs=3)\n"
    made = "s = tf.keras.optimizers.schedules.CosineDecay(0.1, n)\n"
    check(
        "C4",
        head,
        made,
        "s = tf.keras.optimizers.schedules.CosineDecay(0.1 * hvd.size(), n / hvd.size())\n",
        tail,
    )


def test_the_decay_of_an_optimizer_counts_steps_too() -> None:
    """Keras up to 2.10, and its legacy optimizers: `rate / (1 + decay * steps)`."""
    old = "tf.keras.optimizers.legacy."
    tail = "model.compile(opt)\n" + FIT
    decayed = "opt = {}SGD(0.1{}, decay={}, momentum=0.9)\n"
    before, after = decayed.format(old, "", "1e-2"), decayed.format(old, " * hvd.size()", "1e-2 * hvd.size()")
    check(["C4", "C5"], MODEL, before, after, tail)
    before = decayed.format("o.", "", "0.1 / n + c")
    after = decayed.format("o.", " * hvd.size()", "(0.1 / n + c) * hvd.size()")
    check(["C4", "C5"], MODEL, before, after, tail)


@pytest.mark.parametrize(
    "made",
    [
        "o.SGD(0.1, decay=0.0)",
        "o.SGD(0.1, decay=None)",
        "o.SGD(0.1, momentum=0.9)",
        "o.AdamW(0.1, weight_decay=1e-4)",
        "o.SGD(0.1, ema_momentum=0.9)",
    ],
)
def test_what_is_no_decay_of_the_rate_is_left(made: str) -> None:
    untouched("C4", MODEL + f"opt = {made}\nmodel.compile(opt)\n" + FIT)


def test_a_decay_stays_where_every_rank_takes_all_steps() -> None:
    source = MODEL + "opt = o.SGD(0.1, decay=1e-2)\nmodel.compile(opt)\n" + FIT
    untouched("C4", source, split_data=False)


def test_a_decay_by_a_rank_s_number_of_batches_is_left() -> None:
    untouched(
        "C4",
        TF + "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)\n"
        "opt = tf.keras.optimizers.legacy.SGD(0.1, decay=0.1 / len(ds))\n"
        "m = tf.keras.Sequential([])\nm.compile(opt, 'mse')\nm.fit(ds, epochs=3)\n",
    )


def test_the_decay_of_tensorflow_1_s_rmsprop_is_of_its_average() -> None:
    untouched(
        "C4",
        "import tensorflow as tf\nx = tf.placeholder(tf.float32)\nw = tf.Variable(1.0)\n"
        "train = tf.train.RMSPropOptimizer(0.1, decay=0.9).minimize(w * x)\n"
        "with tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())\n"
        "    for i in range(100):\n        sess.run(train, {x: draw()})\n",
    )


def test_a_rate_that_is_a_schedule_in_some_cases_is_scaled_once() -> None:
    """`return rate` of one case and what the schedule of the other starts from are the same number."""
    decide = "def decide(rate, steps=None):\n    if steps is None:\n        return rate\n"
    decide += "    return d.PolynomialDecay(rate, {}, {})\n"
    head = MODEL + SCHEDULES
    run = "model.compile(o.SGD(decide({}, 300)))\n" + FIT + "model.compile(o.SGD(decide({})))\n" + FIT
    plan = plan_of(head + decide.format("steps", "1e-5") + run.format("0.1", "0.2"))
    assert decide.format("steps / hvd.size()", "1e-5 * hvd.size()") in plan.text
    assert "decide(0.1 * hvd.size(), 300)" in plan.text
    assert "decide(0.2 * hvd.size())" in plan.text


@pytest.mark.parametrize(
    ("made", "scaled"),
    [
        (
            "d.PolynomialDecay(rate, steps, rate / 100)",
            "d.PolynomialDecay(rate, steps / hvd.size(), rate / 100)",
        ),
        (
            "d.PiecewiseConstantDecay([steps], [0.001, rate])",
            "d.PiecewiseConstantDecay([steps // hvd.size()], [0.001 * hvd.size(), rate])",
        ),
        (
            "d.PiecewiseConstantDecay([steps], [rate, rate / 10])",
            "d.PiecewiseConstantDecay([steps // hvd.size()], [rate, rate / 10])",
        ),
    ],
)
def test_what_a_schedule_computes_of_a_rate_that_is_scaled_where_it_comes_from_is_not_scaled_again(
    made: str, scaled: str
) -> None:
    """`return rate` in one case scales the number that is handed over: `rate / 100` in another became size()² times it."""
    decide = f"def decide(rate, steps=None):\n    if steps is None:\n        return rate\n    return {made}\n"
    run = "model.compile(o.SGD(decide(0.1, 300)))\n" + FIT
    plan = plan_of(MODEL + SCHEDULES + decide + run)
    assert scaled in plan.text
    assert "decide(0.1 * hvd.size(), 300)" in plan.text


OF_A_GRAPH = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 6])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
gs = tf.train.get_or_create_global_step()
data = load()
n = len(data) // 32
def decayed(step):
    return {schedule}
rate = {rate}
train = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=gs)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for b in range(n):
        sess.run(train, {{x: data[b * 32:(b + 1) * 32]}})
"""
PIECEWISE = "tf.train.piecewise_constant(step, boundaries=[2 * n, 4 * n], values=[0.02, 0.005, 0.001])"
COSINE = "tf.train.cosine_decay(0.1, step, 9000)"


@pytest.mark.parametrize("schedule", [PIECEWISE, COSINE])
@pytest.mark.parametrize(
    ("rate", "after"),
    [
        ("decayed(gs - n)", "decayed(gs * hvd.size() - n)"),
        ("decayed(tf.maximum(gs, 9))", "decayed(tf.maximum(gs * hvd.size(), 9))"),
        (
            "tf.cond(gs < n, lambda: 0.02 * tf.to_float(gs) / n, lambda: decayed(gs - n))",
            "tf.cond(gs * hvd.size() < n, lambda: 0.02 * (tf.to_float(gs) * hvd.size()) / n, "
            "lambda: decayed(gs * hvd.size() - n))",
        ),
    ],
)
def test_what_is_made_of_the_global_step_counts_those_of_all_ranks(
    schedule: str, rate: str, after: str
) -> None:
    """Then the schedule's own numbers stay: either is told, never both."""
    text = plan_of(OF_A_GRAPH.format(schedule=schedule, rate=rate)).text
    assert f"rate = {after}\n" in text
    assert "boundaries=[2 * n, 4 * n]" in text or "step, 9000)" in text


@pytest.mark.parametrize("rate", ["decayed(gs)", "decayed(tf.cast(gs, tf.int32))"])
def test_the_global_step_itself_is_left_and_the_schedule_divided(rate: str) -> None:
    text = plan_of(OF_A_GRAPH.format(schedule=PIECEWISE, rate=rate)).text
    assert f"rate = {rate}\n" in text
    assert "boundaries=[2 * n // hvd.size(), 4 * n // hvd.size()]" in text


BY_VARIABLE = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 6])
number = {number}
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
rate = tf.train.exponential_decay(0.1, number, 20, 0.5)
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
more = number.assign_add(1) if {moves} else None
data = load()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for e in range(9):
        for b in range(0, len(data), 32):
            sess.run({step}, {{x: data[b:b + 32], **{fed}}})
        {after}
"""
COUNTING = "tf.Variable(0, trainable=False)"
FED = "tf.placeholder(tf.int32, [])"
GLOBAL = "tf.train.get_or_create_global_step()"


@pytest.mark.parametrize(
    ("number", "moves", "step", "fed", "after"),
    [
        (COUNTING, True, "train", "{}", "sess.run(more)"),  # epochs
        (COUNTING, True, "train", "{}", "sess.run(number.assign(e))"),
        (FED, False, "train", "{number: e}", "pass"),
        (GLOBAL, True, "train", "{}", "sess.run(more)"),
        (GLOBAL, False, "train", "{}", "sess.run(tf.assign(number, e))"),
    ],
)
def test_a_schedule_of_epochs_is_not_divided(
    number: str, moves: bool, step: str, fed: str, after: str
) -> None:
    source = BY_VARIABLE.format(number=number, moves=moves, step=step, fed=fed, after=after).replace(
        "**{number", "number"
    )
    text = plan_of(source.replace(": e}}", ": e}")).text
    assert "tf.train.exponential_decay(0.1 * hvd.size(), number, 20, 0.5)" in text


def test_a_schedule_of_steps_that_a_variable_counts_is_divided() -> None:
    text = plan_of(
        BY_VARIABLE.format(number=COUNTING, moves=True, step="[train, more]", fed="{}", after="pass")
    ).text
    assert "tf.train.exponential_decay(0.1 * hvd.size(), number, 20 / hvd.size(), 0.5)" in text


@pytest.mark.parametrize("number", [COUNTING, GLOBAL])
def test_a_schedule_of_a_variable_that_is_set_to_a_count_of_steps_is_divided(number: str) -> None:
    """P2: it was taken for one of epochs, and the rate fell size() times too late."""
    source = BY_VARIABLE.format(number=number, moves=False, step="train", fed="{}", after="pass")
    source = source.replace("    for e in", "    n = 0\n    for e in").replace(
        "            sess.run(train",
        "            n += 1\n            sess.run(tf.assign(number, n))\n            sess.run(train",
    )
    text = plan_of(source).text
    assert "tf.train.exponential_decay(0.1 * hvd.size(), number, 20 / hvd.size(), 0.5)" in text


def test_a_schedule_of_a_global_step_that_a_train_op_counts_is_divided() -> None:
    """A near miss: the program only sets it, where it begins."""
    source = BY_VARIABLE.format(
        number=GLOBAL, moves=False, step="train", fed="{}", after="sess.run(tf.assign(number, 0))"
    )
    text = plan_of(source.replace("minimize(loss)", "minimize(loss, number)")).text
    assert "tf.train.exponential_decay(0.1 * hvd.size(), number, 20 / hvd.size(), 0.5)" in text


def test_a_rate_that_asks_a_variable_which_counts_steps() -> None:
    source = BY_VARIABLE.format(number=COUNTING, moves=True, step="[train, more]", fed="{}", after="pass")
    text = plan_of(
        source.replace("tf.train.exponential_decay(0.1, number, 20, 0.5)", "tf.where(number < 80, 0.1, 0.01)")
    ).text
    assert "tf.where(number * hvd.size() < 80, 0.1, 0.01)" in text


def test_a_decay_of_something_else_than_the_rate() -> None:
    source = OF_A_GRAPH.replace("rate = {rate}", "rate = 0.1\nnoise = {rate}")
    text = plan_of(source.format(schedule="step", rate="tf.train.exponential_decay(1.0, gs, 40, 0.5)")).text
    assert "noise = tf.train.exponential_decay(1.0, gs, 40 / hvd.size(), 0.5)" in text


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        ("s.ExponentialDecay(**given)", True),
        ("s.ExponentialDecay(0.1, **given)", True),
        ("s.ExponentialDecay(0.1, 100, 0.9, **given)", False),  # a name, at most
        ("s.ExponentialDecay(*given)", True),
    ],
)
def test_what_a_schedule_gets_unpacked_is_asked_about(made: str, asked: bool) -> None:
    source = (
        "import tensorflow as tf\nfrom own import given, x, y\ns = tf.keras.optimizers.schedules\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        f'model.compile(tf.keras.optimizers.SGD({made}), "mse")\nmodel.fit(x, y)\n'
    )
    assert any("`*` or `**`" in c.doubt for c in plan_of(source).changes) is asked


@pytest.mark.parametrize(
    "warmed",
    [
        "    rate = (1.0 - early) * rate + early * 0.1 * tf.cast(step, tf.float32) / 50.0\n",
        "    rate = tf.cond(step < 50, lambda: tf.cast(step, tf.float32) * 0.002, lambda: rate)\n",
        "    rate = tf.maximum(rate, 1e-5)\n",
        "    rate = tf.train.exponential_decay(rate, step, 10, 0.5)\n",
    ],
)
def test_a_decayed_rate_that_becomes_another_under_a_condition_is_scaled_where_it_is_used(
    warmed: str,
) -> None:
    """BERT's warm-up: in one case the optimizer gets the schedule itself, in the other what is made of it."""
    text = plan_of(
        SESSION
        + "rate = tf.train.polynomial_decay(0.1, step, 1000)\n"
        + f"if flags.warmup:\n    early = tf.cast(step < 50, tf.float32)\n{warmed}"
        + "train = tf.train.AdamOptimizer(rate).minimize(loss, step)\n"
        + RUN
    ).text
    assert "polynomial_decay(0.1, step, 1000 / hvd.size())" in text
    assert "tf.train.AdamOptimizer(rate * hvd.size())" in text


def test_schedules_of_two_cases_are_scaled_each_where_they_are_made() -> None:
    text = plan_of(
        SESSION
        + "if flags.poly:\n    rate = tf.train.polynomial_decay(0.1, step, 1000)\n"
        + "else:\n    rate = tf.train.exponential_decay(0.2, step, 1000, 0.9)\n"
        + "train = tf.train.AdamOptimizer(rate).minimize(loss, step)\n"
        + RUN
    ).text
    assert "polynomial_decay(0.1 * hvd.size()," in text
    assert "exponential_decay(0.2 * hvd.size()," in text
    assert "AdamOptimizer(rate)" in text


ASKED_BY_HAND = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(256).batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
class Warm(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, base, warm):
        self.base, self.warm = base, warm
    def __call__(self, step):
        {}
        return self.base * s / max(1.0, self.warm)
schedule = Warm(0.01, 100)
opt = tf.keras.optimizers.Adam(schedule)
for epoch in range(10):
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(a) - b))
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        print({})
"""


@pytest.mark.parametrize("asked", ["schedule(opt.iterations)", "schedule(int(opt.iterations))", "1"])
@pytest.mark.parametrize("first", ["s = tf.cast(step, tf.float32)", "s = step\n        s = float(s) + 1"])
def test_a_schedule_of_ones_own_that_the_program_asks_too_counts_once(first: str, asked: str) -> None:
    """Asked for what is shown, `s` was known to count, too, and told the steps of all ranks once more: rates went size() times
    too fast."""
    text = plan_of(ASKED_BY_HAND.format(first, asked)).text
    assert "        step = step * hvd.size()\n" in text
    assert "        return self.base * s / max(1.0, self.warm) * hvd.size()\n" in text
