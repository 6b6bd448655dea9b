"""Steps that come to their loop as values: held ready by `functools.partial`, made by a function, handed to someone else."""

from __future__ import annotations

import pytest

from .pairs import TF, changes, check, plan_of, refused

STEP = """\
def step(model, opt, x):
    with tf.GradientTape() as tape:
        loss = model(x)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
MAKER = """\
def make_step(model, opt):
    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = model(x)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return step
"""
MADE = "net = tf.keras.Sequential([])\nsgd = tf.keras.optimizers.SGD(0.1)\n"
BLOCK = """\
    if first_batch:
        hvd.broadcast_variables([*net.variables, *sgd.variables()], root_rank=0)
        first_batch = False
"""
LOOP = "for x in data:\n    do(x)\n"


@pytest.mark.parametrize(
    "handed",
    [
        "import functools\ndo = functools.partial(step, net, sgd)\n",
        "import functools\ndo = tf.function(functools.partial(step, net, opt=sgd))\n",
        "from functools import partial\nhalf = partial(step, net)\ndo = partial(half, sgd)\n",
    ],
)
def test_what_a_partial_holds_ready_is_passed(handed: str) -> None:
    head = TF + STEP + MADE + handed
    plan = check("G2", head, LOOP, "first_batch = True\n" + LOOP + BLOCK)
    assert [plan.document.text[c.span.start : c.span.end] for c in changes(plan, "C5")] == ["0.1"]


def test_what_the_maker_of_a_step_was_given_is_said_in_the_loop() -> None:
    head = TF + MAKER + MADE + "do = make_step(net, sgd)\n"
    plan = check("G2", head, LOOP, "first_batch = True\n" + LOOP + BLOCK)
    assert len(changes(plan, "C5")) == 1


def test_a_step_made_in_another_method_of_the_object() -> None:
    text = (
        TF
        + MAKER
        + "class Trainer:\n    def __init__(self, net, sgd):\n        self.net, self.sgd = net, sgd\n"
        "        self.do = make_step(self.net, self.sgd)\n    def fit(self, data):\n        for x in data:\n"
        "            self.do(x)\n" + MADE + "Trainer(net, sgd).fit(data)\n"
    )
    plan = plan_of(text)
    assert "hvd.broadcast_variables([*self.net.variables, *self.sgd.variables()], root_rank=0)" in plan.text
    assert "SGD(0.1 * hvd.size())" in plan.text


def test_a_maker_whose_model_has_no_name_in_the_loop_is_refused() -> None:
    maker = MAKER.replace("(model, opt)", "()", 1).replace(
        "    @tf.function",
        "    model = tf.keras.Sequential([])\n    opt = tf.keras.optimizers.SGD(0.1)\n    @tf.function",
    )
    refused(TF + maker + "do = make_step()\n" + LOOP, "HVD006", "can't be named in the loop")


def test_a_maker_that_is_called_twice_is_not_mixed_up() -> None:
    other = "other = tf.keras.Sequential([])\n"
    text = (
        TF
        + MAKER
        + MADE
        + other
        + "do = make_step(net, sgd)\nif big:\n    do = make_step(other, sgd)\n"
        + LOOP
    )
    refused(text, "HVD006", "can't be named in the loop")


def test_an_optimizer_class_held_ready_keeps_the_rate_that_is_held() -> None:
    text = (
        TF
        + "import functools\nSgd = functools.partial(tf.keras.optimizers.SGD, learning_rate=0.3)\n"
        + "model = tf.keras.Sequential([])\nmodel.compile(Sgd(), 'mse')\nmodel.fit(x, y)\n"
    )
    refused(text, "HVD006", "learning rate of this optimizer can't be seen")


@pytest.mark.parametrize(
    "handed",
    [
        "steps = {'plain': step}\nfor x in data:\n    steps[kind](net, sgd, x)\n",
        "import threading\nthreading.Thread(target=step, args=(net, sgd, x)).start()\n",
    ],
)
def test_a_step_that_is_handed_on_is_refused(handed: str) -> None:
    """Nobody's calls of it are seen: its optimizer's rate would stay as it is, and every call would broadcast."""
    refused(TF + STEP + MADE + handed, "HVD006", "passed on as a value")


def test_a_program_that_is_handed_on_whole_is_followed() -> None:
    program = """\
import tensorflow as tf
import fire

def main(epochs=2):
    net = tf.keras.Sequential([])
    sgd = tf.keras.optimizers.SGD(0.1)
    for x in data:
        with tf.GradientTape() as tape:
            loss = net(x)
        sgd.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

fire.Fire(main)
"""
    assert "SGD(0.1 * hvd.size())" in plan_of(program).text


def test_a_traced_step_that_stands_there_to_be_read() -> None:
    """Others train; this one nothing names: no reason to refuse."""
    unused = "@tf.function\n" + STEP.replace("def step(model, opt, x)", "def later(model, opt, x)")
    own = STEP.replace("(model, opt, x)", "(x)").replace("model", "net").replace("opt.", "sgd.")
    head = TF + unused + MADE + own
    loop = "for x in data:\n    step(x)\n"
    check("G2", head, loop, "first_batch = True\n" + loop + BLOCK)


def test_a_module_that_gets_its_optimizer_is_told_of_the_rate() -> None:
    text = TF + STEP + "def fit(model, opt, data):\n    for x in data:\n        step(model, opt, x)\n"
    assert any("made in another file" in n.message for n in plan_of(text).notes if n.rule == "C5")
