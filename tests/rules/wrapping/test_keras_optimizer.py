"""K1 optimizer, K2 string: the optimizer of a compiled model is wrapped where it is made, once."""

from __future__ import annotations

import textwrap

import pytest

from horovodize import catalogue

from ..pairs import FIT, MODEL, TF, changes, check, doubts, plan_of, refused, untouched

ADAM = "hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size()))"
COMPILED = "model.compile(opt, 'mse')\n" + FIT


# ---------------------------------------------------------------------- K1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opt = o.SGD(0.1)", "opt = hvd.DistributedOptimizer(o.SGD(0.1))"),
        ("opt = o.SGD(0.1)  # plain", "opt = hvd.DistributedOptimizer(o.SGD(0.1))  # plain"),
        ("opt = o.SGD(\n    0.1,\n)", "opt = o.SGD(\n    0.1,\n)\nopt = hvd.DistributedOptimizer(opt)"),
        ("opt: o.Optimizer = o.SGD(0.1)", "opt: o.Optimizer = hvd.DistributedOptimizer(o.SGD(0.1))"),
        ("opt = other = o.SGD(0.1)", "opt = other = hvd.DistributedOptimizer(o.SGD(0.1))"),
        ("x = 1; opt = o.SGD(0.1); y = 2", "x = 1; opt = hvd.DistributedOptimizer(o.SGD(0.1)); y = 2"),
        ("if a: opt = o.SGD(0.1)\nelse: opt = o.Adam()",
         "if a: opt = hvd.DistributedOptimizer(o.SGD(0.1))\nelse: opt = hvd.DistributedOptimizer(o.Adam())"),
        ("if a:\n    opt = o.SGD(0.1)\nelse:\n    opt = o.Adam()",
         "if a:\n    opt = hvd.DistributedOptimizer(o.SGD(0.1))\nelse:\n    opt = hvd.DistributedOptimizer(o.Adam())"),
        ("opt = o.SGD(0.1) if a else o.Adam()",
         "opt = hvd.DistributedOptimizer(o.SGD(0.1)) if a else hvd.DistributedOptimizer(o.Adam())"),
        ("made = {'sgd': o.SGD(0.1), 'adam': o.Adam()}\nopt = made['sgd']",
         "made = {'sgd': hvd.DistributedOptimizer(o.SGD(0.1)), 'adam': o.Adam()}\nopt = made['sgd']"),
        ("def make():\n    return o.SGD(0.1)\nopt = make()",
         "def make():\n    return hvd.DistributedOptimizer(o.SGD(0.1))\nopt = make()"),
        ("opt = tf.keras.mixed_precision.LossScaleOptimizer(o.SGD(0.1))",
         "opt = hvd.DistributedOptimizer(tf.keras.mixed_precision.LossScaleOptimizer(o.SGD(0.1)))"),
        ("first = o.SGD(0.1)\nopt = first", "first = hvd.DistributedOptimizer(o.SGD(0.1))\nopt = first"),
    ],
)  # fmt: skip
def test_an_optimizer_is_wrapped_where_it_is_made(before: str, after: str) -> None:
    check("K1", MODEL, before, after, COMPILED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.compile(o.SGD(0.1), 'mse')", "model.compile(hvd.DistributedOptimizer(o.SGD(0.1)), 'mse')"),
        ("model.compile(loss='mse', optimizer=o.SGD(0.1))",
         "model.compile(loss='mse', optimizer=hvd.DistributedOptimizer(o.SGD(0.1)))"),
        ("model.compile(\n    # slow\n    optimizer=o.SGD(0.1),  # and steady\n    loss='mse',\n)",
         "model.compile(\n    # slow\n    optimizer=hvd.DistributedOptimizer(o.SGD(0.1)),  # and steady\n    loss='mse',\n)"),
        ("getattr(model, 'summary')()\nmodel.compile(o.SGD(0.1))",
         "getattr(model, 'summary')()\nmodel.compile(hvd.DistributedOptimizer(o.SGD(0.1)))"),
    ],
)  # fmt: skip
def test_an_inline_optimizer_is_wrapped_in_place(before: str, after: str) -> None:
    check("K1", MODEL, before, after, FIT)


def test_an_optimizer_of_two_models_is_wrapped_once() -> None:
    source = MODEL + "opt = o.SGD(0.1)\nmodel.compile(opt)\n" + FIT
    source += "second = tf.keras.Sequential([])\nsecond.compile(opt)\nsecond.fit(x, y)\n"
    assert plan_of(source).text.count("DistributedOptimizer") == 1


def test_two_models_with_an_optimizer_each_are_both_wrapped() -> None:
    source = MODEL + "model.compile(o.SGD(0.1))\n" + FIT
    source += "second = tf.keras.Sequential([])\nsecond.compile(o.Adam())\nsecond.fit(x, y)\n"
    assert plan_of(source).text.count("DistributedOptimizer") == 2


def test_an_attribute_is_wrapped_in_its_assignment() -> None:
    source = TF + (
        "class T:\n    def __init__(self):\n        self.opt = tf.keras.optimizers.SGD(0.1)\n"
        "        self.model = tf.keras.Sequential([])\n        self.model.compile(self.opt)\n"
        "    def train(self):\n        return self.model.fit(x, y)\nT().train()\n"
    )
    assert (
        "        self.opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))\n"
        in plan_of(source).text
    )


def test_an_optimizer_from_elsewhere_is_wrapped_where_it_is_used_and_asked_about() -> None:
    plan = plan_of(MODEL + "from mine import make\nmodel.compile(make(), 'mse')\n" + FIT)
    wrapped = "optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.get(make()))\n"
    scaled = "optimizer.learning_rate = optimizer.learning_rate * hvd.size()\n"
    assert f"{wrapped}{scaled}model.compile(optimizer, 'mse')\n" in plan.text
    assert doubts(plan, "K1")


@pytest.mark.parametrize(
    "given",
    [
        "model.compile(**{{'optimizer': {}, 'loss': 'mse'}})",
        "model.compile(**dict(optimizer={}, loss='mse'))",
        "how = {{'optimizer': {}, 'loss': 'mse'}}\nmodel.compile(**how)",
        "how = {{'loss': 'mse'}}\nmodel.compile({}, **how)",
    ],
)
def test_an_optimizer_that_a_dictionary_holds_is_wrapped_in_it(given: str) -> None:
    before, after = given.format("o.SGD(0.1)"), given.format("hvd.DistributedOptimizer(o.SGD(0.1))")
    check("K1", MODEL, f"{before}\n{FIT}", f"{after}\n{FIT}")


@pytest.mark.parametrize(
    "given",
    [
        "model.compile(**settings())",
        "how = {'optimizer': o.SGD(0.1)}\nhow['optimizer'] = chosen\nmodel.compile(**how)",
        "how = {'optimizer': o.SGD(0.1)}\nhow.update(more)\nmodel.compile(**how)",
    ],
)
def test_a_dictionary_that_is_not_seen_is_asked_about(given: str) -> None:
    """Nothing wrapped the optimizer, and nothing was said."""
    plan = plan_of(f"{MODEL}{given}\n{FIT}")
    assert any("compiled with what `**` gives" in c.doubt for c in plan.changes)
    assert "model.optimizer = hvd.DistributedOptimizer(model.optimizer)" in plan.text


def test_a_model_that_is_compiled_elsewhere_is_asked_about() -> None:
    plan = plan_of(TF + "from mine import build\nmodel = build()\nmodel.fit(x, y, epochs=3)\n")
    assert "model.optimizer = hvd.DistributedOptimizer(model.optimizer)\n" in plan.text
    assert doubts(plan, "K1")


def test_a_model_that_is_compiled_elsewhere_and_fitted_in_a_loop_is_refused() -> None:
    refused(
        TF + "from mine import build\nmodel = build()\nfor _ in range(3):\n    model.fit(x, y, epochs=3)\n",
        "HVD006",
        "another file",
    )


@pytest.mark.parametrize(
    "line",
    [
        "spare = o.SGD(0.1)",
        "import re\npattern = re.compile('sgd')",
        "code = compile('1', 'a', 'eval')",
        "from sklearn.linear_model import SGDRegressor\nSGDRegressor().fit(x, y)",
    ],
)
def test_what_trains_nothing_is_left(line: str) -> None:
    plan = plan_of(MODEL + line + "\nmodel.compile(o.Adam())\n" + FIT)
    assert len(changes(plan, "K1")) == 1
    assert line in plan.text


def test_the_optimizer_of_a_models_own_train_step_is_not_wrapped() -> None:
    step = (
        "class M(tf.keras.Model):\n    def train_step(self, data):\n        with tf.GradientTape() as tape:\n"
        "            loss = self.compute_loss(data)\n        grads = tape.gradient(loss, self.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))\n        return {}\n"
    )
    plan = untouched("K1", TF + step + "m = M()\nm.compile(tf.keras.optimizers.SGD(0.1))\nm.fit(x, y)\n")
    assert changes(plan, "K7")
    assert "m.compile(tf.keras.optimizers.SGD(0.1 * hvd.size()))" in plan.text


# ---------------------------------------------------------------------- K2

GOT = (
    "optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.get(name))\n"
    "optimizer.learning_rate = optimizer.learning_rate * hvd.size()\n"
)


@pytest.mark.parametrize("string", sorted(catalogue.optimizer_strings))
def test_every_name_that_keras_knows_is_written_out(string: str) -> None:
    name = catalogue.optimizer_for_string(string)
    assert name is not None
    made = f"tf.keras.optimizers.{name.rsplit('.', 1)[-1]}(learning_rate={catalogue.default_rate(name)} * hvd.size())"
    check(
        ["K1", "K2"],
        MODEL,
        f"model.compile('{string}', 'mse')",
        f"model.compile(hvd.DistributedOptimizer({made}), 'mse')",
        FIT,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.compile(loss='mse', optimizer='Adam')",
         f"model.compile(loss='mse', optimizer={ADAM})"),
        ('model.compile(optimizer="SGD")',
         "model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.01 * hvd.size())))"),
        ("name = 'sgd'\nmodel.compile(name)", "name = 'sgd'\n" + GOT + "model.compile(optimizer)"),
        ("model.compile('sgd' if fast else o.Adam())",
         "model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.01 * hvd.size()))"
         " if fast else hvd.DistributedOptimizer(o.Adam()))"),
        ("model.compile(loss='mse')",
         f"model.compile(optimizer={ADAM.replace('Adam', 'RMSprop')}, loss='mse')"),
    ],
)  # fmt: skip
def test_names_are_written_out_wherever_they_stand(before: str, after: str) -> None:
    check(["K1", "K2"], MODEL, before, after, FIT)


def test_a_name_that_comes_from_elsewhere_is_looked_up_where_it_is_used() -> None:
    """One optimizer made at the name would be shared by every model that is compiled with it."""
    text = plan_of(
        MODEL + "name = 'sgd'\nprint(name)\nfor i in range(2):\n    model.compile(name)\n" + FIT
    ).text
    assert "name = 'sgd'\n" in text
    assert textwrap.indent(GOT, "    ") + "    model.compile(optimizer)\n" in text


SOMETIMES = "if fast:\n    name = tf.keras.optimizers.Adam()\nelse:\n    name = 'sgd'\n"


def test_what_is_sometimes_a_name_is_written_out_where_it_is_set() -> None:
    text = plan_of(MODEL + SOMETIMES + "model.compile(name)\n" + FIT).text
    assert (
        "    name = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size()))\n"
        in text
    )
    assert (
        "    name = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.01 * hvd.size()))\n"
        in text
    )
    assert "model.compile(name)\n" in text


@pytest.mark.parametrize(
    "compiled", ["print(name)\nmodel.compile(name)\n", "for i in range(2):\n    model.compile(name)\n"]
)
def test_what_is_sometimes_a_name_that_says_more_is_refused(compiled: str) -> None:
    """What reads it would get an optimizer; what is compiled twice would share one."""
    refused(MODEL + SOMETIMES + compiled + FIT, "HVD106", "sometimes")


def test_a_name_that_keras_does_not_know_is_refused() -> None:
    refused(MODEL + "model.compile('sgdd')\n" + FIT, "HVD006", "'sgdd'")


def test_tensorflow_is_imported_where_the_file_has_no_name_for_it() -> None:
    text = plan_of(
        "from keras.models import Sequential\nm = Sequential([])\nm.compile('adam')\nm.fit(x, y)\n"
    ).text
    assert "\nimport tensorflow as tf\n" in text
    assert "hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size()))" in text


def test_the_head_uses_another_name_for_tensorflow_where_tf_is_taken() -> None:
    source = (
        "from keras.models import Sequential\ntf = 3\nm = Sequential([])\nm.compile('adam')\nm.fit(x, y)\n"
    )
    assert "hvd_tf.keras.optimizers.Adam(" in plan_of(source).text


# ---------------------------------------------------------------------- branches and containers


@pytest.mark.parametrize("other", ["name", "make(name)", "tf.keras.optimizers.get(config)"])
def test_branches_of_which_one_cannot_be_followed_are_refused(other: str) -> None:
    """Wrapped where it is used, the optimizer of the other branch would be wrapped and scaled twice."""
    source = MODEL + (
        f"from mine import make\nif name == 'sgd':\n    opt = o.SGD(0.1)\nelse:\n    opt = {other}\n"
        "model.compile(opt, 'mse')\nmodel.fit(x, y)\n"
    )
    refused(source, "HVD107")


def test_branches_that_all_make_an_optimizer() -> None:
    text = plan_of(
        MODEL + "if a:\n    opt = o.SGD(0.1)\nelif b:\n    opt = o.Adam(0.2)\nelse:\n"
        "    opt = getattr(tf.keras.optimizers, name)(0.3)\nmodel.compile(opt, 'mse')\nmodel.fit(x, y)\n"
    ).text
    assert text.count("hvd.DistributedOptimizer(") == 3
    assert "getattr(tf.keras.optimizers, name)(0.3 * hvd.size())" in text


def test_a_model_that_is_compiled_again_with_its_own_optimizer() -> None:
    text = plan_of(
        MODEL + "model.compile(o.SGD(0.1), 'mse')\nmodel.fit(x, y)\n"
        "model.compile(model.optimizer, 'mae')\nmodel.fit(x, y)\n"
    ).text
    assert text.count("hvd.DistributedOptimizer(") == 1
    assert "model.compile(model.optimizer, 'mae')" in text


def test_each_use_of_an_optimizer_that_a_function_of_another_file_makes_is_wrapped() -> None:
    plan = plan_of(
        MODEL + "from mine import build\ndef make(name):\n    return build(name)\n"
        "other = tf.keras.Sequential([])\none, two = make('a'), make('b')\n"
        "model.compile(one, 'mse')\nother.compile(two, 'mse')\nmodel.fit(x, y)\nother.fit(x, y)\n"
    )
    assert plan.text.count("hvd.DistributedOptimizer(") == 2
    assert len([c for c in changes(plan, "K1") if not c.sure]) == 2


def test_all_ranks_choose_the_same_optimizer() -> None:
    """By a file that ranks may see differently: rank 0's answer holds, and nothing is left of what `check` warns of."""
    head = "import os\n" + MODEL
    plan = plan_of(
        head + "if os.path.exists('fast'):\n    opt = o.SGD(0.1)\nelse:\n    opt = o.Adam(0.2)\n" + COMPILED
    )
    assert "\nif hvd.broadcast_object(os.path.exists('fast')):\n" in plan.text
    assert [c for c in plan.to_confirm if c.rule == "HVD107"] == []
    text = plan_of(
        head
        + "opts = {True: o.SGD(0.1), False: o.Adam(0.2)}\nopt = opts[os.path.exists('fast')]\n"
        + COMPILED
    ).text
    assert "\nopt = opts[hvd.broadcast_object(os.path.exists('fast'))]\n" in text


def test_a_choice_that_is_the_same_on_all_ranks_stays_as_it_is() -> None:
    head = "import sys\n" + MODEL
    text = plan_of(
        head + "opts = {'a': o.SGD(0.1), 'b': o.Adam(0.2)}\nopt = opts[sys.argv[1]]\n" + COMPILED
    ).text
    assert "\nopt = opts[sys.argv[1]]\n" in text


# ---------------------------------------------------------------------- a model's own `compile`

OWN_COMPILE = """\
import tensorflow as tf
class Trainer(tf.keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def compile(self, optimizer, loss):
        super().compile(optimizer=optimizer)
        self.measure = loss
{step}\
opt = tf.keras.optimizers.Adam(0.1)
trainer = Trainer(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
trainer.compile({optimizer}, loss=tf.keras.losses.MeanSquaredError())
trainer.fit(tf.data.Dataset.range(9).batch(3))
"""
OWN_STEP = """\
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.measure(data, self.net(data))
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""
MADE = "tf.keras.optimizers.Adam(0.1)"


@pytest.mark.parametrize("step", [OWN_STEP, ""])
@pytest.mark.parametrize("optimizer", ['"adam"', 'optimizer="adam"', MADE, f"optimizer={MADE}", "opt"])
def test_a_rate_that_an_own_compile_passes_on_is_scaled_once(step: str, optimizer: str) -> None:
    from horovodize.distribute import distribute
    from horovodize.options import Options
    from horovodize.plan import Plan
    from horovodize.source import Document
    from horovodize.summary import summarize

    source = OWN_COMPILE.format(step=step, optimizer=optimizer)
    plan = distribute(summarize(Document(source)), Options(tensorflow="2.21"))
    assert isinstance(plan, Plan)
    assert (
        "optimizers.get(optimizer, " not in plan.text
    )  # what is added to the call stays there when its argument is moved
    assert plan.text.count("optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.RMSprop") == 0
    scaled = plan.text.count("* hvd.size()") - plan.text.count("// hvd.size() * hvd.size()")
    assert scaled == 1
    if not step:
        assert plan.text.count("hvd.DistributedOptimizer(") == 1
    elif '"adam"' not in optimizer:
        assert "hvd.DistributedOptimizer(" not in plan.text


@pytest.mark.parametrize(
    "saved",
    [
        "model.fit(x, y)\nmodel.save('best.keras')",
        "model.fit(x, y, callbacks=[tf.keras.callbacks.ModelCheckpoint(f'{folder}/m.keras')])",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--to', default='m.keras')\nmodel.fit(x, y)\n"
        "model.save(p.parse_args().to)",
    ],
)
def test_what_is_saved_in_keras_files_can_be_loaded_again(saved: str) -> None:
    """Horovod's class stands in them as one of Horovod's module, where nobody finds it."""
    made = TF + "model = tf.keras.Sequential([])\nmodel.compile(OPTIMIZER, 'mse')\n" + saved + "\n"
    for optimizer in ("'sgd'", "tf.keras.optimizers.SGD(0.1)"):
        text = plan_of(made.replace("OPTIMIZER", optimizer)).text
        assert "model.compile(distributed(tf.keras.optimizers.SGD(" in text
        assert "type(optimizer).__module__ = type(saved).__module__" in text


@pytest.mark.parametrize(
    "saved",
    [
        "model.save('best.h5')",
        "model.save('keras')",
        "logging.getLogger('tensorflow.keras')",
        "notes = 'See tf.keras'",
    ],
)
def test_other_files_are_loaded_by_the_name_of_the_class(saved: str) -> None:
    text = plan_of(
        TF + "model = tf.keras.Sequential([])\nmodel.compile('sgd')\nmodel.fit(x, y)\n" + saved + "\n"
    ).text
    assert (
        "model.compile(hvd.DistributedOptimizer(" in text
        or "model.compile(hvd_keras.DistributedOptimizer(" in text
    )


def test_an_optimizer_from_elsewhere_is_wrapped_where_its_rate_stays() -> None:
    """A `fit` on all rows at once: nothing is scaled, and the line after stays where it is."""
    source = (
        "import numpy as np\nimport tensorflow as tf\nx = y = np.ones([9])\ndef run(make):\n"
        "    model, opt = tf.keras.Sequential([tf.keras.layers.Dense(1)]), make()\n"
        "    model.compile(optimizer=opt, loss='mse')\n    model.fit(x, y, batch_size=9, epochs=10)\n"
    )
    text = plan_of(source).text
    assert "hvd.DistributedOptimizer(tf.keras.optimizers.get(opt))\n    model.compile(optimizer=" in text
    assert "learning_rate" not in text


OWN = """\
class Net(tf.keras.Model):
    def compile(self, g_optimizer, loss):
        super().compile()
        self.g, self.loss = g_optimizer, loss
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.loss(self(data[0]), data[1])
        self.g.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {'loss': loss}
net = Net()
"""
OWN_FIT = "net.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8), epochs=3)\n"


def test_optimizers_of_a_models_own_compile_in_a_dictionary() -> None:
    text = plan_of(f"{MODEL}{OWN}net.compile(**dict(g_optimizer=o.SGD(0.1), loss=mse))\n{OWN_FIT}").text
    assert "net.compile(**dict(g_optimizer=o.SGD(0.1 * hvd.size()), loss=mse))" in text


def test_rates_of_a_models_own_compile_that_are_not_seen_are_asked_about() -> None:
    plan = plan_of(f"{MODEL}{OWN}net.compile(**settings())\n{OWN_FIT}")
    assert any("multiply its optimizers' rates there" in c.doubt for c in plan.changes)


AGENT = """\
class Agent:
    def __init__(self):
        self.net = build()
    def train(self):
        self.net.fit(x, y, epochs=3)
"""


@pytest.mark.parametrize(
    ("code", "again"),
    [
        ("model = build()\nmodel.fit(x, y, epochs=3)\n", False),
        ("def train():\n    model = build()\n    model.fit(x, y, epochs=3)\ntrain()\n", False),
        ("model = build()\ndef train():\n    model.fit(x, y, epochs=3)\nfor _ in range(9):\n    train()\n", True),
        ("model = build()\ndef train():\n    model.fit(x, y, epochs=3)\ntrain()\ntrain()\n", True),
        (AGENT, True),
    ],
)  # fmt: skip
def test_what_may_be_fitted_again_is_wrapped_once(code: str, again: bool) -> None:
    """Each time, the rate would be multiplied once more, and a wrapper put around the wrapper."""
    text = plan_of(TF + "from nets import build\n" + code).text
    assert ('.optimizer, "is_distributed"):\n' in text) is again
    assert (".optimizer.is_distributed = True\n" in text) is again
    assert ".optimizer.learning_rate * hvd.size()\n" in text


def test_an_optimizer_that_another_mode_takes_for_a_tape_is_wrapped_where_the_model_is_compiled() -> None:
    text = plan_of(
        "import sys\n"
        + TF
        + "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])\nopt = tf.keras.optimizers.SGD(0.1)\n"
        "if '--eager' in sys.argv:\n    for x, y in tf.data.Dataset.from_tensor_slices((xs, ys)).batch(8):\n"
        "        with tf.GradientTape() as tape:\n            loss = tf.reduce_mean((model(x) - y) ** 2)\n"
        "        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
        "else:\n    model.compile(opt, 'mse')\n    model.fit(xs, ys)\n"
    ).text
    assert "opt = tf.keras.optimizers.SGD(0.1 * hvd.size())\n" in text
    assert "model.compile(hvd.DistributedOptimizer(opt), 'mse')" in text
    assert "tape = hvd.DistributedGradientTape(tape)" in text
