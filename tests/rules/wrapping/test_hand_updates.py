"""Variables that are updated by hand from a tape's gradients: G1, G2 and C5 without an optimizer; HVD202 otherwise."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import TF, plan_of, refused

HEAD = TF + "w, b = tf.Variable(1.0), tf.Variable(0.0)\nrate = 0.1\n"
STEP = """\
def step(x, y):
    with tf.GradientTape() as tape:
        loss = (w * x + b - y) ** 2
    dw, db = tape.gradient(loss, [w, b])
{update}
for x, y in data:
    step(x, y)
"""


def stepping(update: str) -> str:
    return HEAD + STEP.format(update=textwrap.indent(update, "    "))


# ---------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    "update",
    [
        "w.assign_sub(tf.clip_by_value(rate * dw, -1.0, 1.0))",
        "w.assign_sub(rate * dw + 0.01 * w)",
        "w.assign_sub(rate / dw)",
        "w.assign_sub(dw * dw)",
        "w.assign(tf.nn.relu(w - rate * dw))",
        "w.assign(b - rate * dw)",
        "w.assign_add(dw)",
        "if x > 0:\n    w.assign_sub(rate * dw)",
        "for _ in range(2):\n    w.assign_sub(rate * dw)",
        "while w > 0:\n    w.assign_sub(rate * dw)",
        "done = w.assign_sub(rate * dw)",
        "for v, g in zip([b, w], [dw, db]):\n    v.assign_sub(rate * g)",
        "w.assign_sub(rate * dw)\nb.assign_sub(tf.sign(db))",
    ],
)
def test_what_is_no_plain_step_down_a_gradient(update: str) -> None:
    refused(stepping(update), "HVD202", "not simply by a rate times the gradient")


def test_beside_an_optimizer() -> None:
    update = "w.assign_sub(rate * dw)\nopt.apply_gradients([(db, b)])"
    refused("import keras\n" + stepping(update).replace("rate = 0.1", "rate, opt = 0.1, tf.keras.optimizers.SGD(0.1)"),
            "HVD202", "beside an optimizer's updates")  # fmt: skip


SAMPLES = """\
w, opt = tf.Variable(1.0), tf.keras.optimizers.SGD(0.1)
def sample(x):
    x = tf.Variable(x)
    for _ in range(10):
        with tf.GradientTape() as inner:
            e = tf.reduce_sum(w * x ** 2)
        x.assign_sub(0.1 * tf.clip_by_value(inner.gradient(e, x), -1.0, 1.0))
    return x.value()
for x in tf.data.Dataset.from_tensor_slices(a).batch(4):
    fake = sample(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(w * (x ** 2 - fake ** 2))
    opt.apply_gradients([(tape.gradient(loss, w), w)])
"""


def test_samples_that_follow_a_gradient_are_no_weights() -> None:
    """An energy-based model: what each rank makes of its own rows is its own, and gone after the step."""
    plan = plan_of(TF + SAMPLES)
    assert all(c.sure for c in plan.changes)
    assert plan.text.count("DistributedGradientTape") == 1


def test_a_variable_that_is_there_before_the_function_is_a_weight() -> None:
    """A near miss."""
    code = "kept = tf.Variable(0.0)\n" + SAMPLES.replace("x = tf.Variable(x)", "x = kept")
    refused(TF + code, "HVD202", "by hand")


def test_dictionaries_of_gradients() -> None:
    text = stepping("w.assign_sub(rate * dw['w'])")
    text = text.replace("dw, db =", "dw =").replace("[w, b])\n", "{'w': w})\n")
    refused(text, "HVD202", "by hand")


# ---------------------------------------------------------------------- before and after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("w.assign_sub(rate * dw)", "w.assign_sub(rate * hvd.size() * dw)"),
        ("w.assign_sub(dw * rate)", "w.assign_sub(dw * rate * hvd.size())"),
        ("w.assign_sub((rate + 0.1) * dw)", "w.assign_sub((rate + 0.1) * hvd.size() * dw)"),
        ("w.assign_sub(rate * dw / 2)", "w.assign_sub(rate * dw / 2 * hvd.size())"),
        (
            "w.assign_sub(rate * dw, read_value=False)",
            "w.assign_sub(rate * hvd.size() * dw, read_value=False)",
        ),
        ("w.assign_sub(dw)", "w.assign_sub(dw * hvd.size())"),
        ("w.assign_add(-(rate * dw))", "w.assign_add(-(rate * hvd.size() * dw))"),
        ("w.assign(w - rate * dw)", "w.assign(w - rate * hvd.size() * dw)"),
    ],
)
def test_the_rate_is_scaled_and_the_step_broadcast(before: str, after: str) -> None:
    text = plan_of(stepping(f"{before}\nb.assign_sub(rate * db)")).text
    assert f"    {after}\n    b.assign_sub(rate * hvd.size() * db)\n" in text
    assert "    tape = hvd.DistributedGradientTape(tape)\n    dw, db = tape.gradient(" in text
    assert "hvd.broadcast_variables([w, b], root_rank=0)\nfor " in text
    assert text.endswith("    step(x, y)\n")


@pytest.mark.parametrize("pairs", ["v, g in zip(parts, gradients)", "g, v in zip(gradients, parts)"])
@pytest.mark.parametrize("made", ["parts = [w, b]", "parts = []\nparts.append(w)\nparts.append(b)"])
def test_a_loop_over_variables_and_gradients_is_one_step(pairs: str, made: str) -> None:
    loop = f"""
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = (w * x + b - y) ** 2
        gradients = tape.gradient(loss, parts)
        for {pairs}:
            v.assign_sub(rate * g)
    """
    text = plan_of(HEAD + made + "\n" + textwrap.dedent(loop).lstrip()).text
    assert f"    for {pairs}:\n        v.assign_sub(rate * hvd.size() * g)\n" in text
    assert "hvd.broadcast_variables(parts, root_rank=0)\n" in text


def test_one_variable_is_asked_for_as_a_list() -> None:
    text = stepping("w.assign_sub(rate * dw)").replace("dw, db =", "dw =").replace("[w, b])\n", "w)\n")
    text = plan_of(text).text
    assert "dw = tape.gradient(loss, [w])[0]\n" in text
    assert "hvd.broadcast_variables([w, b], root_rank=0)\n" in text


def test_a_rate_by_the_number_of_a_step_goes_by_the_steps_of_all_ranks() -> None:
    loop = """
    for i in range(1000):
        x, y = draw(8)
        with tf.GradientTape() as tape:
            loss = (w * x + b - y) ** 2
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub({} * dw)
    """
    told = {
        given: plan_of(HEAD + textwrap.dedent(loop).format(given))
        .text.partition("w.assign_sub(")[2]
        .partition("\n")[0]
        for given in ("rate", "(rate / (1 + i))")
    }
    assert told["rate"] == "rate * hvd.size() * dw)"
    assert told["(rate / (1 + i))"] == "(rate / (1 + i * hvd.size()) * hvd.size()) * dw)"


def test_weights_that_are_updated_by_hand_are_not_asked_about() -> None:
    """They are set by gradients that are averaged."""
    source = """\
import numpy as np
import tensorflow as tf
x, y = np.load('x.npy'), np.load('y.npy')
w, b = tf.Variable(tf.random.normal([8, 1])), tf.Variable(tf.zeros([1]))
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
for xb, yb in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((xb @ w + b - yb) ** 2)
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * dw)
    b.assign_sub(0.1 * db)
"""
    plan = plan_of(source)
    assert "w.assign_sub(0.1 * hvd.size() * dw)" in plan.text
    assert all(c.sure for c in plan.changes)


ALL_ROWS = """\
import numpy as np
import tensorflow as tf
rng = np.random.RandomState(2)
x, y = rng.randn(64, 3).astype("float32"), rng.randn(64, 1).astype("float32")
w = tf.Variable(tf.zeros((3, 1)))
rate, last, step = 1.0, 9e9, 0
for step in range(600):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2)
    g = tape.gradient(loss, w)
    {}
    w.assign_sub(rate * g)
"""


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ("if loss > last: rate *= 0.5", "if mean_over_ranks(loss) > last: rate *= 0.5"),
        ("if loss < 0.1: break", "if mean_over_ranks(loss) < 0.1: break"),
        ("if loss < 0.1 and step > 9: break", "if mean_over_ranks(loss) < 0.1 and step > 9: break"),
        ("if step > 500: break", "if step > 500: break"),
        ("if len(x) > 9 and step == 100: rate *= 0.5", "if len(x) > 9 and step == 100: rate *= 0.5"),
        ("if tf.norm(g) < 1e-3: break", "if tf.norm(g) < 1e-3: break"),  # averaged
    ],
)
def test_ranks_decide_together_by_the_loss_of_rows_that_are_divided(decision: str, told: str) -> None:
    assert f"    {told}\n" in plan_of(ALL_ROWS.format(decision)).text
    assert "over_ranks" not in plan_of(ALL_ROWS.format(decision), split_data=False).text


# ---------------------------------------------------------------------- in a function, and by what keeps gradients

BY_FUNCTION = """\
def sgd(params, grads, lr):
    {guard}
        for p, g in zip(params, grads):
            p.assign_sub({change})
for x, y in data:
    with tf.GradientTape() as tape:
        loss = (w * x + b - y) ** 2
    dw, db = tape.gradient(loss, [w, b])
    {call}
"""


def by_function(
    call: str = "sgd([w, b], [dw, db], rate)", change: str = "lr * g", guard: str = "with open('x'):"
) -> str:
    return HEAD + BY_FUNCTION.format(call=call, change=change, guard=guard)


@pytest.mark.parametrize(
    "call", ["sgd([w, b], [dw, db], rate)", "sgd(grads=[dw, db], lr=rate, params=[w, b])"]
)
@pytest.mark.parametrize(
    ("change", "after"),
    [("lr * g", "lr * hvd.size() * g"), ("lr * g / 10", "lr * g / 10 * hvd.size()")],
)
def test_a_function_that_updates_what_it_is_handed(call: str, change: str, after: str) -> None:
    text = plan_of(by_function(call, change)).text
    assert f"            p.assign_sub({after})\n" in text
    assert "hvd.broadcast_variables([w, b], root_rank=0)\nfor " in text


@pytest.mark.parametrize(
    "source",
    [
        by_function(guard="if lr > 0.01:"),  # not with each step
        by_function(guard="for _ in range(2):"),
        by_function("sgd([b, w], [dw, db], rate)"),  # other variables than the gradient is of
        by_function("sgd([w, b], [dw, db], rate)\n    sgd([w, b], [dw, db], rate)"),
        by_function("if x > 0:\n        sgd([w, b], [dw, db], rate)"),
        by_function("done = sgd([w, b], [dw, db], rate)"),
    ],
)
def test_a_function_that_may_do_something_else_is_refused(source: str) -> None:
    refused(source, "HVD202", "by hand")


KEEPING = """\
w, m = tf.Variable(1.0), tf.Variable(0.0)
{before}
t = 0
for x, y in tf.data.Dataset.from_tensor_slices((rows, targets)).batch(4):
    t += 1
    with tf.GradientTape() as tape:
        loss = (w * x - y) ** 2
    g = tape.gradient(loss, [w])[0]
    m.assign({kept})
    w.assign_sub({change})
"""


@pytest.mark.parametrize(
    ("kept", "change", "after"),
    [
        ("0.9 * m + g", "0.1 * m", "0.1 * hvd.size() * m"),
        (
            "0.9 * m + 0.1 * g ** 2",
            "0.1 * g / (tf.sqrt(m) + 1e-8)",
            "0.1 * g / (tf.sqrt(m) + 1e-8) * hvd.size()",
        ),
    ],
)
def test_what_keeps_gradients_is_no_weight(kept: str, change: str, after: str) -> None:
    """A momentum, a mean of squares: averaged gradients make it the same on all ranks."""
    rows = "import numpy as np\nrows, targets = np.ones(99), np.ones(99)\n"
    plan = plan_of(TF + rows + KEEPING.format(before="", kept=kept, change=change))
    assert f"    m.assign({kept})\n    w.assign_sub({after})\n" in plan.text
    assert plan.text.count("hvd.broadcast_variables(") == 1
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("", "0.1 * g / (tf.sqrt(m / (1 - 0.9 ** t)) + 1e-8)"),  # corrected by how many steps a rank took
        (
            "c = tf.train.Checkpoint(w=w, m=m)\nc.restore('c')",
            "0.1 * m",
        ),  # may begin with another on each host
    ],
)
def test_what_keeps_gradients_and_goes_by_more_than_those_is_refused(before: str, change: str) -> None:
    refused(TF + KEEPING.format(before=before, kept="0.9 * m + g", change=change), "HVD202", "by hand")


def test_a_corrected_mean_of_gradients_in_a_name_is_refused() -> None:
    """Python's own numbers, as a variable's: the count in the correction is of a rank's steps, and stays one."""
    code = KEEPING.format(before="", kept="g", change="0.1 * h").replace(
        "m.assign(g)", "h = g / (1 - 0.9 ** t)"
    )
    refused(TF + code, "HVD202", "by hand")


def test_a_power_in_the_loss_is_no_correction() -> None:
    """A curve that is fitted: what is raised to the power of a variable is a part of the loss."""
    code = """
rows = tf.constant([1.0, 2.0])
a, b = tf.Variable(0.0), tf.Variable(0.0)
rate = 0.01
for epoch in range(50):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((a * rows**b - 1.0) ** 2)
    gradients = tape.gradient(loss, [a, b])
    a.assign_sub(gradients[0] * rate)
    b.assign_sub(gradients[1] * rate)
"""
    assert "tape = hvd.DistributedGradientTape(tape)" in plan_of(TF + code).text
