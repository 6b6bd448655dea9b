"""G3 minimize: the optimizer is wrapped where it is made."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, TF, changes, check, plan_of, refused, untouched

HEAD = MODEL + "w = tf.Variable(1.0)\n"
LOOP = "for _ in range(9):\n    opt.minimize(lambda: w * draw(), [w])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opt = o.SGD(0.1)", "opt = hvd.DistributedOptimizer(o.SGD(0.1))"),
        ("def make():\n    return o.SGD(0.1)\nopt = make()",
         "def make():\n    return hvd.DistributedOptimizer(o.SGD(0.1))\nopt = make()"),
        ("opt = o.SGD(0.1) if a else o.Adam()",
         "opt = hvd.DistributedOptimizer(o.SGD(0.1)) if a else hvd.DistributedOptimizer(o.Adam())"),
    ],
)  # fmt: skip
def test_the_optimizer_is_wrapped_where_it_is_made(before: str, after: str) -> None:
    check("G3", HEAD, before, after, LOOP)


@pytest.mark.parametrize(
    "call",
    [
        "opt.minimize(lambda: w * draw(), var_list=[w])",
        "opt.minimize(loss=lambda: w * draw(), var_list=[w])",
        "opt.minimize(loss, [w])",
        "r = opt.minimize(loss, [w])",
    ],
)
def test_every_way_to_call_it_counts(call: str) -> None:
    source = HEAD + f"opt = o.SGD(0.1)\ndef loss():\n    return w * draw()\nfor _ in range(9):\n    {call}\n"
    plan = plan_of(source)
    assert len(changes(plan, "G3")) == 1
    assert "hvd.broadcast_variables([w], root_rank=0)\nfor _ in" in plan.text


APPLIED = """\
for x in data:
    with tf.GradientTape() as t:
        loss = w * x
    {}.apply_gradients([(t.gradient(loss, w), w)])
"""


@pytest.mark.parametrize("other", ["opt", "same"])
def test_an_optimizer_that_applies_gradients_of_a_tape_and_minimizes_is_refused(other: str) -> None:
    source = HEAD + "opt = o.SGD(0.1)\nsame = opt\n" + LOOP + APPLIED.format(other)
    refused(source, "HVD006", "minimizes too")


def test_two_optimizers_of_which_one_applies_and_one_minimizes_are_not() -> None:
    source = HEAD + "opt = o.SGD(0.1)\nother = o.SGD(0.2)\n" + LOOP + APPLIED.format("other")
    plan = plan_of(source)
    assert len(changes(plan, "G3")) == 1
    assert "t = hvd.DistributedGradientTape(t)" in plan.text


def test_a_train_step_that_does_both_is_refused() -> None:
    source = (
        HEAD
        + """\
class Both(tf.keras.Model):
    def train_step(self, rows):
        with tf.GradientTape() as t:
            loss = w * rows
        self.optimizer.apply_gradients([(t.gradient(loss, w), w)])
        self.optimizer.minimize(lambda: w * rows, [w])
        return {}
both = Both()
both.compile("sgd")
both.fit(x)
"""
    )
    refused(source, "HVD006", "minimizes too")


def test_an_optimizer_that_minimizes_in_two_places_is_wrapped_once() -> None:
    source = HEAD + "opt = o.SGD(0.1)\n" + LOOP + LOOP
    assert plan_of(source).text.count("hvd.DistributedOptimizer(") == 1


def test_an_optimizer_that_only_applies_gradients_is_not_wrapped() -> None:
    source = (
        HEAD + "opt = o.SGD(0.1)\nfor x in data:\n    with tf.GradientTape() as t:\n        loss = w * x\n"
    )
    source += "    opt.apply_gradients([(t.gradient(loss, w), w)])\n"
    untouched("G3", source)


def test_minimize_of_scipy_is_left() -> None:
    source = HEAD + "from scipy.optimize import minimize\nimport scipy.optimize\nopt = o.SGD(0.1)\n" + LOOP
    source += "r = minimize(lambda v: v * v, 1.0)\ns = scipy.optimize.minimize(lambda v: v, 1.0)\n"
    plan = plan_of(source)
    assert len(changes(plan, "G3")) == 1
    assert "r = minimize(lambda v: v * v, 1.0)\n" in plan.text


def test_an_optimizer_from_elsewhere_is_refused() -> None:
    refused(TF + "from mine import opt\nw = tf.Variable(1.0)\n" + LOOP, "HVD105", "can't be followed")
