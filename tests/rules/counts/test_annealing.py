"""G5: what a step is given that is computed from how many steps were taken."""

from __future__ import annotations

import pytest

from ..pairs import TF, changes, plan_of

HEAD = (
    TF
    + """
import math
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def train_step(x, y, beta=1.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) * beta
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
count = 0
for epoch in range(9):
    for i, (x, y) in enumerate(ds):
        beta = {value}
        train_step(x, y, {given})
        count += 1
"""
)
ALL = "count * hvd.size()"


def line_of(value: str, given: str = "beta") -> tuple[str, str]:
    """What becomes of the value, and of what the step is given."""
    lines = [line.strip() for line in plan_of(HEAD.format(value=value, given=given)).text.splitlines()]
    made = next(line for line in lines if line.startswith("beta = "))
    call = next(line for line in lines if line.startswith("train_step(x"))
    return made.removeprefix("beta = "), call.removeprefix("train_step(x, y, ").removesuffix(")")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("min(1.0, count / 1000)", f"min(1.0, {ALL} / 1000)"),
        ("tf.constant(count / 1000)", f"tf.constant({ALL} / 1000)"),
        ("0.99 ** count", f"0.99 ** ({ALL})"),
        ("1 - math.exp(-count / 500)", f"1 - math.exp(-({ALL}) / 500)"),
        ("math.exp(-rate * count)", f"math.exp(-rate * ({ALL}))"),
        ("max(0.1, 1.0 - 1e-4 * count)", f"max(0.1, 1.0 - 1e-4 * ({ALL}))"),
        ("int(opt.iterations) / 1000", "int(opt.iterations) * hvd.size() / 1000"),
        ("weights[count / 2 > 5]", f"weights[{ALL} / 2 > 5]"),
    ],
)
def test_a_formula_is_told_the_steps_of_all_ranks(value: str, told: str) -> None:
    assert line_of(value)[0] == told


def test_a_formula_where_it_is_given() -> None:
    assert line_of("0", "count / 1000")[1] == f"{ALL} / 1000"
    assert line_of("0", "beta=count / 1000")[1] == f"beta={ALL} / 1000"


@pytest.mark.parametrize(
    "value",
    [
        "epoch / 9",  # epochs are as many as before
        "count",
        "count / len(ds)",  # measured by a rank's own
        "other / 1000",
        "min(1.0, 1000)",
    ],
)
def test_what_goes_by_no_step_is_left(value: str) -> None:
    assert line_of(value)[0] == value


def test_what_is_selected_by_steps_is_a_ranks_own() -> None:
    assert line_of("rows[count]")[0] == "rows[own_count]"
    assert line_of("rows[count // 2]")[0] == "rows[own_count // 2]"


def test_what_no_step_is_given_is_left() -> None:
    plan = plan_of(HEAD.format(value="count / 1000", given="1.0"))
    assert "beta = count / 1000\n" in plan.text
    assert not any("the formula" in c.what for c in changes(plan, "G5"))


def test_what_is_divided_by_a_ranks_steps_is_left() -> None:
    """The number of steps is divided there already, as the average's."""
    head = HEAD[: HEAD.index("count = 0")]
    loop = "n = 1000\nmean = 0.0\nfor k in range(n):\n    mean += train_step(draw(), 1, k / n) / n\n"
    text = plan_of(head + loop).text
    assert "train_step(draw(), 1, k / max(1, n // hvd.size())) / max(1, n // hvd.size())" in text


# ---------------------------------------------------------------------- under `fit`

STEP = """\
class VAE(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.beta = tf.Variable(0.0, trainable=False)
        self.count = tf.Variable(0, trainable=False)
    def train_step(self, data):
        self.count.assign_add(1)
        {}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(data)) + {}
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {{'loss': loss}}
model = VAE()
model.compile(optimizer='sgd')
model.fit(np.load('x.npy'), epochs=20, batch_size=32)
"""
CALLED = """\
class Anneal(tf.keras.callbacks.Callback):
    def {}(self, n, logs=None):
        self.count += 1
        tf.keras.backend.set_value(self.weight, min(1.0, self.count / 5000))
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(x, y, callbacks=[Anneal()])
"""


@pytest.mark.parametrize(
    ("set_to", "weight"),
    [
        ("self.beta.assign({} / 1000)", "self.beta"),
        ("beta = {} / 1000", "beta"),
        ("pass", "{} / 1000 * tf.nn.l2_loss(self.w)"),
    ],
)
def test_weights_of_a_loss_that_go_by_the_steps_of_fit(set_to: str, weight: str) -> None:
    text = plan_of(
        "import numpy as np\n" + TF + STEP.format(set_to.format("self.count"), weight.format("self.count"))
    ).text
    told = "self.count * hvd.size()"
    assert set_to.format(told) in text
    assert weight.format(told) in text


def test_what_counts_what_else_is_left() -> None:
    text = plan_of(
        "import numpy as np\n" + TF + STEP.format("self.beta.assign(self.other / 1000)", "self.beta")
    ).text
    assert "self.beta.assign(self.other / 1000)" in text


@pytest.mark.parametrize(("name", "told"), [("on_train_batch_end", True), ("on_epoch_end", False)])
def test_a_weight_that_a_callback_sets(name: str, told: bool) -> None:
    text = plan_of(TF + CALLED.format(name)).text
    assert ("self.count * hvd.size() / 5000" in text) is told


# ---------------------------------------------------------------------- variables, and counts that a schedule is asked by

KEPT = (
    TF
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
heat, other, pair = tf.Variable(1.0), tf.Variable(1.0), tf.Variable([1.0, 2.0])
seen = tf.Variable(0, dtype=tf.int64)
weight = tf.keras.optimizers.schedules.ExponentialDecay(1.0, 100, 0.9)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) * heat * pair[0] {more}
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    {step}


for epoch in range(9):
    for x, y in ds:
        train_step(x, y)
    {epoch}
"""
)


OF_MODEL = """\
class Cool(tf.keras.callbacks.Callback):
    def {}(self, n, logs=None):
        {}
class Other(tf.keras.layers.Layer):
    pass
"""


@pytest.mark.parametrize(
    ("hook", "sets", "told"),
    [
        ("on_train_batch_end", "self.model.beta.assign(self.model.beta * 0.99)", "* 0.99 ** hvd.size())"),
        ("on_train_batch_end", "self.model.beta.assign_add(0.01)", "assign_add(0.01 * hvd.size())"),
        ("on_epoch_end", "self.model.beta.assign(self.model.beta * 0.99)", "* 0.99)\n"),
        ("on_train_batch_end", "self.other.beta.assign(self.other.beta * 0.99)", "* 0.99)\n"),
        (
            "on_train_batch_end",
            "tf.keras.backend.set_value(self.model.beta, tf.keras.backend.get_value(self.model.beta) * 0.99)",
            "* 0.99 ** hvd.size())",
        ),
    ],
)
def test_what_a_callback_changes_of_the_model_that_it_is_given(hook: str, sets: str, told: str) -> None:
    model = STEP.format("pass", "self.beta").replace("epochs=20", "epochs=20, callbacks=[Cool()]")
    text = plan_of("import numpy as np\n" + TF + OF_MODEL.format(hook, sets) + model).text
    assert told in text[text.index("class Cool") : text.index("class Other")]


def kept(step: str = "pass", epoch: str = "pass", more: str = "") -> str:
    return plan_of(KEPT.format(step=step, epoch=epoch, more=more)).text


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            "heat.assign(tf.maximum(heat * 0.9995, 0.1))",
            "heat.assign(tf.maximum(heat * 0.9995 ** hvd.size(), 0.1))",
        ),
        ("heat.assign_sub(0.001)", "heat.assign_sub(0.001 * hvd.size())"),
    ],
)
def test_a_variable_that_goes_on_with_each_step(step: str, told: str) -> None:
    assert f"    {told}\n" in kept(step)


@pytest.mark.parametrize(
    "step",
    [
        "other.assign(other * 0.9995)",  # the loss is made without
        "heat.assign(0.5)",
        "pair.assign(pair * 0.9)",  # no number
        "heat.assign_add(heat * 0.5 + 0.1)",
    ],
)
def test_a_variable_that_is_left(step: str) -> None:
    assert f"    {step}\n" in kept(step)


def test_a_variable_that_goes_on_with_each_epoch_is_left() -> None:
    assert "    heat.assign(heat * 0.9)\n" in kept(epoch="heat.assign(heat * 0.9)")


def test_a_schedule_that_a_loss_asks_by_a_count_of_its_own() -> None:
    divided = "ExponentialDecay(1.0, 100 / hvd.size(), 0.9)"
    assert divided in kept("seen.assign_add(1)", more="* weight(seen)")
    assert divided not in kept("pass", "seen.assign_add(1)", "* weight(seen)")


@pytest.mark.parametrize(
    "update",
    [
        "opt.minimize(tf.reduce_mean(model(x) - y) * beta, model.trainable_variables, tape=tape)",
        "opt.minimize(lambda: tf.reduce_mean(model(x) - y) * beta, model.trainable_variables)",
    ],
)
def test_a_weight_of_what_is_minimized(update: str) -> None:
    beta = "    beta = min(1.0, count / 1000)\n    count += 1\n"
    body = f"{beta}    with tf.GradientTape() as tape:\n        model(x)\n    {update}\n"
    text = plan_of(HEAD[: HEAD.index("def train_step")] + f"count = 0\nfor x, y in ds:\n{body}").text
    assert f"    beta = min(1.0, {ALL} / 1000)\n" in text


SAMPLER = """\
class Sampler:
    def __init__(self):
        self.n = 0

    def {name}(self):
        self.n += 1
        return max(0.2, 1.0 - self.n / 500)

sampler = Sampler()
"""


@pytest.mark.parametrize("name", ["__call__", "share"])
def test_an_object_that_is_called_with_each_step(name: str) -> None:
    """A share of teacher forcing: by the steps of a rank it went down too slowly."""
    called = "sampler()" if name == "__call__" else "sampler.share()"
    source = HEAD.format(value=called, given="beta").replace(
        "count = 0\n", SAMPLER.format(name=name) + "count = 0\n"
    )
    assert "1.0 - self.n * hvd.size() / 500" in plan_of(source).text


DRAWN = (
    TF
    + """
import numpy as np
rng = np.random.RandomState(3)
def length(n):
    return min(4 + n // 15, 10)
def problems(rows, n):
    x = rng.rand(rows, n, 1)
    return x, x.sum(1)
def rows_of(rows, n):
    return a[n : n + rows], b[n : n + rows]
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
step = 0
while step < 1000:
    x, y = {}
    shown = problems(1, length(step))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
"""
)


@pytest.mark.parametrize(
    ("drawn", "told"),
    [
        ("problems(16, length(step))", "problems(16, length(step * hvd.size()))"),
        ("problems(16, n=4 + step // 15)", "problems(16, n=4 + step * hvd.size() // 15)"),
        ("problems(16, 10)", "problems(16, 10)"),
        ("rows_of(16, length(step))", "rows_of(16, length(own_step))"),  # the number selects
    ],
)
def test_what_rows_are_drawn_by_goes_by_the_steps_of_all(drawn: str, told: str) -> None:
    text = plan_of(DRAWN.format(drawn)).text
    assert f"    x, y = {told}\n" in text
    by_all = (
        "step * hvd.size()" if "step" in told else "step"
    )  # a function goes by the steps of all ranks in each call
    assert f"    shown = problems(1, length({by_all}))\n" in text


CHANCE = HEAD.replace(
    "        beta = {value}\n", "        target = y\n        if {test}:\n            target = model(x)\n"
).replace("train_step(x, y, {given})", "train_step(x, target)")


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("np.random.rand() < max(0.1, 1 - count / 1000)", f"np.random.rand() < max(0.1, 1 - {ALL} / 1000)"),
        ("0.99**count > rng.random()", f"0.99**({ALL}) > rng.random()"),
        ("np.random.rand() < 0.5", "np.random.rand() < 0.5"),
    ],
)
def test_a_chance_goes_by_the_steps_of_all_ranks(test: str, told: str) -> None:
    plan = plan_of("import numpy as np\nrng = np.random.default_rng()\n" + CHANCE.replace("{test}", test))
    assert f"        if {told}:\n            target = model(x)\n" in plan.text
    assert not any("read their number" in c.doubt for c in plan.changes)


def test_a_chance_that_falls_with_each_step_falls_as_fast() -> None:
    falls = CHANCE.replace("count += 1", "eps = max(0.1, eps * 0.99)").replace("count = 0", "eps = 1.0")
    text = plan_of("import numpy as np\n" + falls.replace("{test}", "np.random.rand() < eps")).text
    assert "eps = max(0.1, eps * 0.99 ** hvd.size())\n" in text
    shown = plan_of("import numpy as np\n" + falls.replace("{test}", "np.random.rand() < 0.5")).text
    assert "eps = max(0.1, eps * 0.99)\n" in shown


SLICED = """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
count = 0
for epoch in range(9):
    for i in range(0, 6000, 20):
        rows = x[i : i + 20]
        beta = min(1.0, count / 1000)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(rows)) + beta * tf.reduce_mean(rows)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        count += 1
"""


def test_a_formula_beside_rows_that_are_sliced_there() -> None:
    assert f"beta = min(1.0, {ALL} / 1000)\n" in plan_of(TF + SLICED).text


def test_the_number_of_a_rank_s_own_rows_is_that_of_all_already() -> None:
    """A call that is named as if it selected rows by the number gets the rank's own one, and nothing more."""
    text = plan_of(
        DRAWN.replace("problems(rows, n)", "get_batch(rows, n)").format("get_batch(16, length(step))")
    ).text
    assert "    x, y = get_batch(16, length(own_step))\n" in text


BY_HAND = """\
import numpy as np
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices((np.load("x.npy"), np.load("y.npy"))).batch(32)
w, b = tf.Variable(tf.ones([4, 3])), tf.Variable(tf.zeros([3]))
m, v, t, beta, seen = 0, 0, 0, 0.9, 0
for epoch in range(50):
    for x, y in ds:
        t += 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b - y) ** 2)
        g, h = tape.gradient(loss, [w, b])
        seen = beta * seen + (1 - beta) * loss
        m = beta * m + (1 - beta) * g
        v = v * beta + (1 - beta) * h
        {}
"""


@pytest.mark.parametrize(
    "update",
    [
        "n = m / (1 - tf.pow(beta, t))\n        k = v / (1 - tf.pow(beta, int(t)))\n"
        "        w.assign_sub(0.1 * n)\n        b.assign_sub(0.1 * k)",
        "rate = 0.1 / (1 - beta ** t)\n        w.assign_sub(rate * m)\n        b.assign_sub(rate * v)",
    ],
)
def test_what_makes_up_for_the_beginning_of_an_average_of_gradients_counts_a_ranks_own(update: str) -> None:
    """The averages go on by a rank's steps, as those of `Adam` do; told all ranks', some were made up for twice."""
    text = plan_of(BY_HAND.format(update)).text
    assert "t * hvd.size()" not in text
    assert "t) * hvd.size()" not in text.replace("int(t))", "")


@pytest.mark.parametrize("factor", ["0.99 ** t", "(1 - 0.5 ** t)", "1 / (1 + 0.01 * t)"])
def test_a_rate_by_hand_goes_by_the_steps_of_all_ranks(factor: str) -> None:
    text = plan_of(BY_HAND.format(f"rate = 0.1 * {factor}\n        w.assign_sub(rate * g)")).text
    assert "t * hvd.size()" in text


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("tf.Variable(0.0, trainable=False)", " * hvd.size()"),
        ("self.add_weight(name='steps', shape=(), initializer='zeros', trainable=False)", " * hvd.size()"),
        ("self.add_weight(name='steps', shape=(), initializer='zeros')", ""),  # it may be trained
    ],
)
def test_a_count_that_a_model_keeps_as_a_weight_is_told(made: str, told: str) -> None:
    source = f"""\
import numpy as np
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.layers.Dense(1)
        self.steps = {made}

    def call(self, x):
        return self.body(x)

    def train_step(self, data):
        x, y = data
        self.steps.assign_add(1.0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2) * tf.exp(-self.steps / 50.0)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}


net = Net()
net.compile(tf.keras.optimizers.SGD(0.02))
net.fit(np.load("x.npy"), np.load("y.npy"), batch_size=8)
"""
    assert f"self.steps.assign_add(1.0{told})" in plan_of(source).text


RAMP = """
import numpy as np
def ramp(current, length):
    return min(1.0, current / length)
x = np.random.randn(480, 5).astype("float32")
ds = tf.data.Dataset.from_tensor_slices(x).shuffle(400).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.SGD(0.1)
per_epoch = {steps}
for epoch in range(4):
    for i, rows in enumerate(ds):
        weight = ramp(epoch + i / per_epoch, 3)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(rows) ** 2) * weight
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_a_part_of_an_epoch_by_a_ranks_own_length_is_right_in_a_functions_argument_too() -> None:
    text = plan_of(TF + RAMP.format(steps="len(ds)")).text
    assert "weight = ramp(epoch + i / per_epoch, 3)\n" in text
    text = plan_of(TF + RAMP.format(steps="480 // 10")).text
    assert "weight = ramp(epoch + i * hvd.size() / per_epoch, 3)\n" in text


FORCED = """\
import random
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
class Trainer:
    def __init__(self):
        self.share = 1.0
    def forced(self):
        return random.random() < self.share
    def step(self, x, y):
        {drawn}
        with tf.GradientTape() as tape:
            h = model(x + y) if {used} else model(x)
            loss = tf.reduce_mean((h - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        {inside}
    def look(self):
        if random.random() < self.share:
            print("look")
    def run(self):
        for epoch in range(9):
            for x, y in ds:
                self.step(x, y)
                {turn}
            {after}
Trainer().run()
"""
FALLS = "self.share = max(0.1, self.share * 0.98)"


def forced(drawn: str, used: str, **fallen: str) -> str:
    places = {"inside": "pass", "turn": "pass", "after": "pass", **fallen}
    return plan_of(FORCED.format(drawn=drawn, used=used, **places)).text


@pytest.mark.parametrize(
    ("drawn", "used"),
    [
        ("force = random.random() < self.share", "force"),
        ("force = np.random.rand() < self.share", "force"),
        ("force = self.forced()", "force"),
        ("pass", "random.random() < self.share"),
        ("force = y is not None and random.random() < self.share", "force"),
    ],
)
@pytest.mark.parametrize("where", ["inside", "turn"])
def test_how_often_a_draw_lets_steps_be_given_something_else(drawn: str, used: str, where: str) -> None:
    """Only what an `if` of the loop itself compared with a draw was seen."""
    assert "max(0.1, self.share * 0.98 ** hvd.size())" in forced(drawn, used, **{where: FALLS})


@pytest.mark.parametrize(
    ("drawn", "used", "fallen"),
    [
        ("force = random.random() < self.share", "force", {"after": FALLS}),  # with each epoch
        ("force = random.random() < 0.5", "force", {"turn": FALLS}),
        ("pass", "True", {"after": f"self.look()\n            {FALLS}"}),
    ],
)
def test_what_falls_with_epochs_or_nothing_draws_by_stays(
    drawn: str, used: str, fallen: dict[str, str]
) -> None:
    assert FALLS in forced(drawn, used, **fallen)


POOLED = (
    TF
    + """
import random
import numpy as np
SIZE = 50
pool = np.zeros((SIZE, 16, 4))
def from_pool(n, rows):
    {body}
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
step = 0
while step < 1000:
    x, y = from_pool(step, rng.normal(size=(16, 4))), None
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step += 1
"""
)
FILLED = """if n < SIZE:
        pool[n] = rows
        return rows
    return pool[random.randint(0, SIZE - 1)]"""


def test_where_a_memory_is_written_next_goes_by_a_ranks_own_steps() -> None:
    """By those of all ranks it was filled with gaps, and rows of zeros were drawn from it."""
    assert "from_pool(step, rng" in plan_of(POOLED.format(body=FILLED)).text


def test_a_formula_beside_it_is_told_the_steps_of_all_ranks_where_it_stands() -> None:
    text = plan_of(POOLED.format(body=FILLED.replace("return rows", "return rows * (1 + n / 100)"))).text
    assert "from_pool(step, rng" in text
    assert "rows * (1 + n * hvd.size() / 100)" in text


def test_a_number_that_is_written_into_a_memory_fills_none() -> None:
    """A near miss: it doesn't say where."""
    source = DRAWN.replace("    x = rng", "    lengths[0] = n\n    x = rng")
    assert (
        "problems(16, length(step * hvd.size()))" in plan_of(source.format("problems(16, length(step))")).text
    )


SHIFTED = "def weight(k):\n    {computed}\nfor epoch in range(9):\n    for x, y in ds:\n"
SHIFTED += "        train_step(x, y, {given})\n        count += 1\n"


@pytest.mark.parametrize(
    ("computed", "given"),
    [
        ("return min(1.0, k / 50)", "weight(count - 10)"),
        ("return 1 / (1 + math.exp(-0.1 * (k - 50)))", "weight(count - 10)"),
        ("return k / 50 if k > 0 else 0.0", "weight(max(0, count - 10))"),
        ("return (k % 20) / 20", "weight(count - 10)"),
        ("return at(k)\ndef at(k):\n    return k / 50", "weight(tf.maximum(count - 10, 0))"),
        # handed the count itself by another call: told there, too
        ("return min(1.0, k / 50)", "weight(count) + weight(count - 10)"),
    ],
)
def test_a_function_that_is_handed_what_is_made_of_a_count(computed: str, given: str) -> None:
    head = HEAD[: HEAD.index("for epoch")]
    text = plan_of(head + SHIFTED.format(computed=computed, given=given)).text
    told = given.replace("count", ALL)
    assert f"train_step(x, y, {told})" in text
    assert "k * hvd.size()" not in text


@pytest.mark.parametrize(
    ("computed", "given", "told"),
    [
        # near misses: told where it is computed; no formula at all; what it counts is no step
        ("return k / 50", "weight(count)", "return k * hvd.size() / 50"),
        ("return len(str(k))", "weight(count - 10)", "weight(count - 10)"),
        ("return min(1.0, k / 50)", "weight(epoch - 2)", "weight(epoch - 2)"),
    ],
)
def test_a_function_that_is_not_told_by_the_call(computed: str, given: str, told: str) -> None:
    head = HEAD[: HEAD.index("for epoch")]
    text = plan_of(head + SHIFTED.format(computed=computed, given=given)).text
    assert told in text
    assert f"weight({ALL}" not in text


def test_a_function_that_hands_a_count_on_is_not_told_by_the_call_too() -> None:
    """It is told the steps of all ranks where it hands them on; by the call as well, it would take them for size() times as
    many."""
    source = TF + (
        "model = tf.keras.Sequential([])\nopt = tf.keras.optimizers.SGD(0.1)\n"
        "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
        "def train_step(x, y, w=1.0):\n    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(model(x) - y) * w\n    v = model.trainable_variables\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, v), v))\n"
        "class Weight:\n    def __init__(self, n):\n        self.n = n\n    def __call__(self, step):\n"
        "        return max(0.1, 1.0 - step / self.n)\nweight = Weight(120)\n"
        "def one(step, x, y):\n    opt.learning_rate = 0.02 * weight(step)\n    train_step(x, y, weight(step))\n"
        "n = 0\nfor epoch in range(10):\n    for x, y in ds:\n        one(n, x, y)\n        n += 1\n"
    )
    text = plan_of(source).text
    assert text.count("weight(step * hvd.size())") == 2
    assert "one(n, x, y)" in text


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("x = x + 0.1 * 0.99 ** count * x", f"x = x + 0.1 * 0.99 ** ({ALL}) * x"),
        ("x += (1 - count / 1000) * x", f"x += (1 - {ALL} / 1000) * x"),
        ("y = y * (1.0 / (1 + 0.01 * count))", f"y = y * (1.0 / (1 + 0.01 * ({ALL})))"),
        ("z = x + 0.1 * 0.99 ** count * x; x = z", f"z = x + 0.1 * 0.99 ** ({ALL}) * x; x = z"),
    ],
)
def test_a_batch_that_is_changed_under_its_own_name(rows: str, told: str) -> None:
    assert f"        {told}\n" in plan_of(HEAD.format(value=f"1.0\n        {rows}", given="beta")).text
