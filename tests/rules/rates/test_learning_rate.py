"""C5 rate: each rate that trains is multiplied once, wherever it is written."""

from __future__ import annotations

import pytest

from ..pairs import FIT, MODEL, STEP, TF, changes, check, doubts, only, plan_of, refused, untouched

COMPILED = "model.compile(opt, 'mse')\n" + FIT
LOOP = "for x in data:\n    " + STEP.replace("\n", "\n    ").rstrip() + "\n"


@pytest.mark.parametrize("tail", [COMPILED, LOOP], ids=["fit", "tape"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opt = o.SGD(0.1)", "opt = o.SGD(0.1 * hvd.size())"),
        ("opt = o.SGD(learning_rate=0.1)", "opt = o.SGD(learning_rate=0.1 * hvd.size())"),
        ("opt = o.Adam(lr=1e-3, beta_1=0.5)", "opt = o.Adam(lr=1e-3 * hvd.size(), beta_1=0.5)"),
        ("opt = o.Adam(beta_1=0.5, learning_rate=rate)",
         "opt = o.Adam(beta_1=0.5, learning_rate=rate * hvd.size())"),
        ("opt = o.SGD(a + b)", "opt = o.SGD((a + b) * hvd.size())"),
        ("opt = o.SGD(learning_rate=a - b)", "opt = o.SGD(learning_rate=(a - b) * hvd.size())"),
        ("opt = o.SGD((a + b))", "opt = o.SGD((a + b) * hvd.size())"),
        ("opt = o.SGD(\n    a\n    + b,\n)", "opt = o.SGD(\n    (a\n    + b) * hvd.size(),\n)"),
        ("opt = o.SGD(a / b)", "opt = o.SGD(a / b * hvd.size())"),
        ("opt = o.SGD(a ** 2)", "opt = o.SGD(a ** 2 * hvd.size())"),
        ("opt = o.SGD(-a)", "opt = o.SGD(-a * hvd.size())"),
        ("opt = o.SGD(a or 0.1)", "opt = o.SGD((a or 0.1) * hvd.size())"),
        ("opt = o.SGD(a if b else c)", "opt = o.SGD(a * hvd.size() if b else c * hvd.size())"),
        ("opt = o.SGD(float(a))", "opt = o.SGD(float(a) * hvd.size())"),
        ("opt = o.SGD(args.lr)", "opt = o.SGD(args.lr * hvd.size())"),
        ("opt = o.SGD(rates['sgd'])", "opt = o.SGD(rates['sgd'] * hvd.size())"),
        ("opt = o.SGD()", "opt = o.SGD(learning_rate=0.01 * hvd.size())"),
        ("opt = o.Adam()", "opt = o.Adam(learning_rate=0.001 * hvd.size())"),
        ("opt = o.Adam(epsilon=1e-8)", "opt = o.Adam(learning_rate=0.001 * hvd.size(), epsilon=1e-8)"),
        ("opt = o.SGD(\n    momentum=0.9,\n)",
         "opt = o.SGD(\n    learning_rate=0.01 * hvd.size(), momentum=0.9,\n)"),
        ("opt = tf.optimizers.Nadam()", "opt = tf.optimizers.Nadam(learning_rate=0.001 * hvd.size())"),
        ("rate = 0.1\nopt = o.SGD(rate)", "rate = 0.1\nopt = o.SGD(rate * hvd.size())"),
        ("from tensorflow.keras.optimizers import Adam as A\nopt = A(1e-3)",
         "from tensorflow.keras.optimizers import Adam as A\nopt = A(1e-3 * hvd.size())"),
        ("Chosen = o.SGD\nopt = Chosen(1e-3)", "Chosen = o.SGD\nopt = Chosen(1e-3 * hvd.size())"),
        ("rate = tf.Variable(0.1)\nopt = o.SGD(rate)", "rate = tf.Variable(0.1 * hvd.size())\nopt = o.SGD(rate)"),
        ("rate = tf.Variable(initial_value=a + b, trainable=False)\nopt = o.SGD(learning_rate=rate)",
         "rate = tf.Variable(initial_value=(a + b) * hvd.size(), trainable=False)\nopt = o.SGD(learning_rate=rate)"),
        ("def make(rate):\n    return o.SGD(rate)\nopt = make(0.1)",
         "def make(rate):\n    return o.SGD(rate * hvd.size())\nopt = make(0.1)"),
        ("if a:\n    opt = o.SGD(0.1)\nelse:\n    opt = o.Adam()",
         "if a:\n    opt = o.SGD(0.1 * hvd.size())\nelse:\n    opt = o.Adam(learning_rate=0.001 * hvd.size())"),
    ],
)  # fmt: skip
def test_a_rate_is_multiplied(before: str, after: str, tail: str) -> None:
    check("C5", MODEL, before, after, tail)


def test_inline_optimizers_are_scaled_where_they_are() -> None:
    check(
        "C5",
        MODEL,
        "model.compile(optimizer=o.Adam(1e-4), loss='mse')",
        "model.compile(optimizer=o.Adam(1e-4 * hvd.size()), loss='mse')",
        FIT,
    )


def test_one_variable_that_feeds_two_optimizers_is_scaled_once() -> None:
    step = STEP.replace("\n", "\n    ").rstrip()
    check(
        "C5",
        MODEL,
        "rate = tf.Variable(5e-5, trainable=False)\nopt = o.SGD(rate)\nother = o.SGD(rate)\n",
        "rate = tf.Variable(5e-5 * hvd.size(), trainable=False)\nopt = o.SGD(rate)\nother = o.SGD(rate)\n",
        f"for x in data:\n    {step}\n    {step.replace('opt.', 'other.')}\n",
    )


def test_a_number_that_feeds_two_optimizers_is_scaled_at_each() -> None:
    step = STEP.replace("\n", "\n    ").rstrip()
    check(
        "C5",
        MODEL,
        "rate = 5e-5\nopt = o.SGD(rate)\nother = o.SGD(rate)\n",
        "rate = 5e-5\nopt = o.SGD(rate * hvd.size())\nother = o.SGD(rate * hvd.size())\n",
        f"for x in data:\n    {step}\n    {step.replace('opt.', 'other.')}\n",
    )


def test_an_optimizer_compiled_twice_is_scaled_once() -> None:
    plan = plan_of(MODEL + "opt = o.SGD(0.1)\nmodel.compile(opt)\nother = tf.keras.Sequential([])\n"
                   "other.compile(opt)\nother.fit(x, y)\n" + FIT)  # fmt: skip
    assert len(changes(plan, "C5")) == 1


@pytest.mark.parametrize(
    "made",
    [
        "opt = o.SGD(o.schedules.ExponentialDecay(0.1, 100, 0.9))",
        "s = o.schedules.CosineDecay(0.1, 100)\nopt = o.SGD(s)",
        "s = o.schedules.PiecewiseConstantDecay([1], [0.1, 0.2])\nopt = o.Adam(learning_rate=s)",
    ],
)
@pytest.mark.parametrize("tail", [COMPILED, LOOP], ids=["fit", "tape"])
def test_a_schedule_is_not_multiplied(made: str, tail: str) -> None:
    plan = untouched("C5", MODEL + made + "\n" + tail)
    assert changes(plan, "C4")


# ---------------------------------------------------------------------- rates that are set later


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.optimizer.lr = 0.01", "model.optimizer.lr = 0.01 * hvd.size()"),
        ("opt.learning_rate = a + b", "opt.learning_rate = (a + b) * hvd.size()"),
        (
            "tf.keras.backend.set_value(model.optimizer.lr, 0.01)",
            "tf.keras.backend.set_value(model.optimizer.lr, 0.01 * hvd.size())",
        ),
        (
            "from somewhere import K\nK.set_value(model.optimizer.lr, 0.01)",
            "from somewhere import K\nK.set_value(model.optimizer.lr, 0.01 * hvd.size())",
        ),
        ("opt.learning_rate.assign(1e-3)", "opt.learning_rate.assign(1e-3 * hvd.size())"),
    ],
)
def test_a_rate_that_is_set_later_is_multiplied(before: str, after: str) -> None:
    head = MODEL + "opt = o.SGD(0.1)\nmodel.compile(opt)\n" + FIT
    plan = plan_of(head + before + "\n" + FIT)
    assert after in plan.text
    assert before + "\n" not in plan.text


@pytest.mark.parametrize(
    "statement",
    [
        "model.optimizer.lr = model.optimizer.lr * 0.1",
        "opt.learning_rate = opt.learning_rate / 2",
        "opt.learning_rate.assign(opt.learning_rate * 0.9)",
        "old = tf.keras.backend.get_value(model.optimizer.lr)\ntf.keras.backend.set_value(model.optimizer.lr, old * 0.5)",
        "settings.lr = 0.1",
        "lr = 0.1",
        "model.threshold.assign(0.5)",
    ],
)
def test_a_rate_made_from_the_optimizers_own_is_left(statement: str) -> None:
    head = MODEL + "opt = o.SGD(0.1)\nmodel.compile(opt)\n" + FIT
    assert len(changes(plan_of(head + statement + "\n" + FIT), "C5")) == 1


@pytest.mark.parametrize("made", ["opt.learning_rate = {}", "s = {}\nopt.learning_rate = s"])
def test_a_schedule_that_is_set_later_is_scaled_where_it_is_made(made: str) -> None:
    head = MODEL + "opt = o.SGD(0.1)\nmodel.compile(opt)\n"
    plan = plan_of(head + made.format("o.schedules.ExponentialDecay(0.1, 100, 0.9)") + "\n" + FIT)
    assert made.format("o.schedules.ExponentialDecay(0.1 * hvd.size(), 100 / hvd.size(), 0.9)") in plan.text
    assert len(changes(plan, "C5")) == 1  # of the rate that it begins with


def test_a_variable_that_feeds_a_rate_is_scaled_where_it_is_set() -> None:
    source = MODEL + "rate = tf.Variable(0.1)\nopt = o.SGD(rate)\n" + LOOP + "rate.assign(0.01)\n" + LOOP
    text = plan_of(source).text
    assert "rate = tf.Variable(0.1 * hvd.size())\n" in text
    assert "rate.assign(0.01 * hvd.size())" in text


# ---------------------------------------------------------------------- near misses


def test_an_optimizer_that_never_trains_is_left() -> None:
    plan = plan_of(MODEL + "spare = o.Adam(0.5)\nmodel.compile('sgd')\n" + FIT)
    assert "spare = o.Adam(0.5)\n" in plan.text


def test_other_functions_of_that_name_are_left() -> None:
    untouched("C5", MODEL + "from mine import SGD\nSGD(0.1)\nmodel.compile('sgd')\n" + FIT)


def test_a_rate_behind_keywords_is_asked_about() -> None:
    plan = plan_of(MODEL + "opt = o.SGD(**options)\n" + COMPILED)
    assert "opt.learning_rate = opt.learning_rate * hvd.size()" in plan.text
    assert doubts(plan, "C5")


def test_a_rate_behind_keywords_inline_is_refused() -> None:
    refused(MODEL + "model.compile(o.SGD(**options))\n" + FIT, "HVD006", "learning rate")


def test_a_subclass_of_an_optimizer_counts() -> None:
    source = MODEL + "class Mine(o.SGD):\n    pass\nopt = Mine(0.1)\n" + COMPILED
    assert "Mine(0.1 * hvd.size())" in plan_of(source).text


def test_an_attribute_of_an_object_is_followed() -> None:
    source = MODEL + (
        "class T:\n    def __init__(self, rate):\n        self.opt = o.SGD(rate)\n"
        "        self.model = tf.keras.Sequential([])\n    def train(self):\n        self.model.compile(self.opt)\n"
        "        self.model.fit(x, y)\nT(0.1).train()\n"
    )
    assert "o.SGD(rate * hvd.size())" in plan_of(source).text


@pytest.mark.parametrize("tail", [COMPILED, LOOP], ids=["fit", "tape"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opt = kinds[name](0.1)", "opt = kinds[name](0.1 * hvd.size())"),
        (
            "made = kinds[name]\nopt = made(learning_rate=0.1)",
            "made = kinds[name]\nopt = made(learning_rate=0.1 * hvd.size())",
        ),
        (
            "opt = {'a': o.SGD(0.1), 'b': o.Adam(0.2)}[name]",
            "opt = {'a': o.SGD(0.1 * hvd.size()), 'b': o.Adam(0.2 * hvd.size())}[name]",
        ),
    ],
)
def test_optimizers_that_are_picked_from_a_dict(before: str, after: str, tail: str) -> None:
    head = MODEL + "kinds = {'sgd': o.SGD, 'adam': o.Adam}\n"
    check("C5", head, before + "\n", after + "\n", tail)


def test_an_optimizer_that_is_an_item_of_a_dictionary() -> None:
    """What was set there was not looked for, so that a later rate stayed a single process'."""
    source = MODEL + (
        "opts = {}\nopts['a'] = o.SGD(0.1)\nother = {}\nother['a'] = 3\n"
        + LOOP.replace("opt.", "opts['a'].")
        + "opts['a'].learning_rate = 0.01\nother['a'] = 0.01\n"
    )
    text = plan_of(source).text
    assert "opts['a'] = o.SGD(0.1 * hvd.size())\n" in text
    assert "opts['a'].learning_rate = 0.01 * hvd.size()\nother['a'] = 0.01\n" in text


@pytest.mark.parametrize(
    "opt", ["getattr(o, name)({})", "mine.make(learning_rate={})", "mine.make(lr={}, clip=1)"]
)
def test_a_tape_with_an_optimizer_that_something_unseen_makes(opt: str) -> None:
    head = MODEL + "import mine\n"
    check("C5", head, f"opt = {opt.format('0.1')}\n", f"opt = {opt.format('0.1 * hvd.size()')}\n", LOOP)


def test_a_tape_with_an_optimizer_whose_rate_is_not_in_sight() -> None:
    plan = plan_of(MODEL + "import mine\nopt = mine.make(0.1)\n" + LOOP)
    assert "opt = mine.make(0.1)\nopt.learning_rate = opt.learning_rate * hvd.size()\n" in plan.text
    (asked,) = changes(plan, "C5")
    assert asked.doubt.startswith("where this optimizer is made can't be seen")


def test_an_optimizer_that_a_checkpoint_keeps() -> None:
    """Another class has a property of that name."""
    source = TF + (
        "class Trainer:\n    def __init__(self, model, rate):\n"
        "        self.held = tf.train.Checkpoint(optimizer=tf.keras.optimizers.Adam({}), model=model)\n"
        "    @property\n    def optimizer(self):\n        return self.held.optimizer\n"
        "    def step(self, x):\n        with tf.GradientTape() as tape:\n            loss = self.held.model(x)\n"
        "        variables = self.held.model.trainable_variables\n"
        "        self.held.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n"
        "trainer = Trainer(tf.keras.Sequential([]), 0.1)\nfor x in data:\n    trainer.step(x)\n"
    )
    assert only(plan_of(source.format("rate")), "C5") == source.format("rate * hvd.size()")


def test_a_rate_that_was_found_among_those_of_an_optimizer_is_multiplied_already() -> None:
    """A finder of learning rates keeps those that the optimizer had, and training takes one of them."""
    head = (
        TF
        + """
from tensorflow.keras import backend as K
class Finder(tf.keras.callbacks.Callback):
    def __init__(self):
        self.rates = []
    def on_train_batch_end(self, batch, logs=None):
        rate = float(K.get_value(self.model.optimizer.lr))
        self.rates.append({kept})
    def best(self):
        return self.rates[3] / 10
finder = Finder()
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(x, y, callbacks=[finder])
K.set_value(model.optimizer.lr, finder.best())
model.fit(x, y)
"""
    )
    assert "set_value(model.optimizer.lr, finder.best())\n" in plan_of(head.format(kept="rate")).text
    assert (
        "set_value(model.optimizer.lr, finder.best() * hvd.size())\n" in plan_of(head.format(kept="0.1")).text
    )


OWN_K = """\
class Backend:
    def set_value(self, kept, value):
        tf.keras.backend.set_value(kept, value)
Backend().set_value(model.optimizer.lr, 0.01)
"""


def test_a_setter_of_the_programs_own_is_given_the_larger_rate() -> None:
    text = plan_of(TF + MODEL + "model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n" + OWN_K + FIT).text
    assert OWN_K.replace("0.01", "0.01 * hvd.size()") in text


def test_a_later_rate_grows_by_the_steps_of_its_own_optimizer() -> None:
    """Another optimizer of the program takes steps on batches: this one's rate stayed at first, and was multiplied later."""
    step = STEP.replace("reduce_sum", "reduce_mean").replace("\n", "\n    ").rstrip()
    whole = step.replace("opt.", "first.").replace("(x)", "(rows)")
    source = (
        "import numpy as np\nrows = np.random.RandomState(0).rand(256, 4)\n"
        + MODEL
        + "first, opt = o.SGD(0.1), o.SGD(0.2)\n"
        + f"for e in range(20):\n    {whole}\n    if e == 10:\n        first.learning_rate = 0.05\n"
        + f"for x in tf.data.Dataset.from_tensor_slices(rows).batch(8):\n    {step}\nopt.learning_rate = 0.01\n"
    )
    text = plan_of(source).text
    assert "first, opt = o.SGD(0.1), o.SGD(0.2 * hvd.size())" in text
    assert "first.learning_rate = 0.05\n" in text
    assert "opt.learning_rate = 0.01 * hvd.size()\n" in text


@pytest.mark.parametrize(
    "made", ["getattr(tf.keras.optimizers, NAME)(learning_rate=0.1)", "build(0.1)", "TABLE[NAME](0.1)"]
)
@pytest.mark.parametrize("setting", ["opt.learning_rate = {}", "opt.learning_rate.assign({})", "opt.lr = {}"])
@pytest.mark.parametrize("tail", [COMPILED, LOOP], ids=["fit", "tape"])
def test_a_later_rate_of_an_optimizer_that_something_unseen_makes(made: str, setting: str, tail: str) -> None:
    program = TF + "from lib import build, TABLE, NAME\n" + MODEL + f"opt = {made}\n"
    text = plan_of(program + setting.format("0.05") + "\n" + tail).text
    assert setting.format("0.05 * hvd.size()") in text


def test_a_rate_of_something_else_that_something_unseen_makes() -> None:
    program = TF + "from lib import build, settings\n" + MODEL + "opt = build(0.1)\nconfig = settings()\n"
    assert "config.lr = 0.05\n" in plan_of(program + "config.lr = 0.05\n" + LOOP).text


GROUPS = {
    "pairs = [(model, o.SGD(0.1)) for _ in range(2)]": ("pairs[0][1]", "for m, opt in pairs:"),
    'parts = [{"net": model, "opt": o.SGD(0.1)} for _ in range(2)]': (
        'parts[-1]["opt"]',
        "for opt in [p['opt'] for p in parts]:",
    ),
    "opts = [o.SGD(0.1), o.SGD(0.2)]": ("opts[k]", "for opt in opts:"),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("setting", ["{}.learning_rate = {}", "{}.learning_rate.assign({})"])
def test_a_later_rate_of_one_of_a_group_of_optimizers(group: str, setting: str) -> None:
    one, each = GROUPS[group]
    steps = "for x in data:\n    " + each + "\n        " + STEP.replace("\n", "\n        ").rstrip() + "\n"
    text = plan_of(TF + MODEL + group + "\n" + setting.format(one, "0.05") + "\n" + steps).text
    assert setting.format(one, "0.05 * hvd.size()") in text


def test_a_rate_in_a_group_of_settings_beside_optimizers() -> None:
    group = 'part = {"opt": o.SGD(0.1), "settings": build()}\nopt = part["opt"]\n'
    text = plan_of(TF + MODEL + group + 'part["settings"].lr = 0.05\n' + LOOP).text
    assert 'part["settings"].lr = 0.05\n' in text
