"""G1, K7: what changes gradients or weights after the gradients are averaged is the same on all ranks."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
ds = tf.data.Dataset.from_tensor_slices(x).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
rng = np.random.default_rng()


"""
STEP = """\
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x + tf.random.normal(tf.shape(x))) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
{}    opt.apply_gradients(zip(grads, model.trainable_variables))
{}

for epoch in range(3):
    for x in ds:
        step(x)
"""


def step(before: str = "", after: str = "", head: str = HEAD) -> str:
    given = ["".join(f"    {line}\n" for line in part.splitlines()) for part in (before, after)]
    return head + STEP.format(*given)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),  # noise of the loss is the rank's own
        ("grads = [tf.clip_by_norm(g, 1.0) for g in grads]", ""),
        ("grads, norm = tf.clip_by_global_norm(grads, 1.0)", ""),
        ("grads = [g / (tf.norm(g) + 1e-8) for g in grads]", ""),  # averaged already
        ("grads = [g * 0.5 ** epoch for g in grads]", ""),
        ("", "for v in model.trainable_variables:\n    v.assign(tf.clip_by_value(v, -0.01, 0.01))"),
        ("", "noise.assign(tf.random.normal([3]))"),  # no weights
    ],
)
def test_what_is_the_same_on_all_ranks_is_left(before: str, after: str) -> None:
    text = plan_of(step(before, after, HEAD + "epoch = 1\nnoise = tf.Variable(tf.zeros([3]))\n")).text
    assert "hvd.broadcast(" not in text
    assert "broadcast_object" not in text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "grads = [g + tf.random.normal(g.shape) for g in grads]",
            "",
            "g + hvd.broadcast(tf.random.normal(g.shape), root_rank=0) for",
        ),
        (
            "noisy = []\nfor g in grads:\n    noisy.append(g + rng.normal(size=g.shape))\ngrads = noisy",
            "",
            "g + hvd.broadcast_object(rng.normal(size=g.shape))",
        ),
        (
            "",
            "for v in model.trainable_variables:\n    v.assign_add(0.1 * tf.random.normal(v.shape))",
            "0.1 * hvd.broadcast(tf.random.normal(v.shape), root_rank=0)",
        ),
        (
            "",
            "model.set_weights([w + np.random.normal(size=w.shape) for w in model.get_weights()])",
            "w + hvd.broadcast_object(np.random.normal(size=w.shape)) for",
        ),
    ],
)
def test_noise_that_weights_are_changed_by_is_that_of_rank_0(before: str, after: str, expected: str) -> None:
    text = plan_of(step(before, after)).text
    assert expected in text
    assert text.count("root_rank=0), ") + text.count("model(x + tf.random.normal(tf.shape(x)))") == 1


def test_noise_in_a_function() -> None:
    noisy = "def noisy(grads):\n    return [g + tf.random.normal(g.shape) for g in grads]\n\n\n"
    text = plan_of(step("grads = noisy(grads)", "", HEAD + noisy)).text
    assert "g + hvd.broadcast(tf.random.normal(g.shape), root_rank=0) for" in text


def test_noise_that_a_seed_fixes_is_shared_all_the_same() -> None:
    # the seed may become another on each rank
    text = plan_of(
        step("grads = [g + tf.random.normal(g.shape) for g in grads]", "", HEAD + "tf.random.set_seed(1)\n")
    ).text
    assert "hvd.broadcast(tf.random.normal(g.shape), root_rank=0)" in text


@pytest.mark.parametrize(
    "before",
    [
        "grads = [g * loss for g in grads]",
        "grads = [g / tf.reduce_mean(model(x)) for g in grads]",
        # only a rank whose loss is high
        "if loss > 3:\n    grads = [g + tf.random.normal(g.shape) for g in grads]",
    ],
)
def test_what_a_rank_computes_of_its_own_is_refused(before: str) -> None:
    result = distribute(summarize(Document(step(before))))
    assert isinstance(result, Refusal)
    assert {r.code for r in result.reasons} == {"HVD006"}


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("pairs = list(zip(grads, model.trainable_variables))", "pairs"),
        ("", "[(g, v) for g, v in zip(grads, model.trainable_variables)]"),
        ("", "zip(grads, model.trainable_variables)"),
    ],
)
def test_how_variables_are_made_is_nothing_to_their_gradients(before: str, given: str) -> None:
    made = "model = tf.keras.Sequential([tf.keras.layers.Dense(int(first.predict(x)[0]), input_shape=x.shape[1:])])\n"
    made = "first = tf.keras.models.load_model('first.h5')\n" + made
    source = step(before, "", HEAD.replace("model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n", made))
    result = distribute(
        summarize(Document(source.replace("zip(grads, model.trainable_variables))", given + ")")))
    )
    assert not isinstance(result, Refusal) or not any(
        "averaged over all ranks" in r.message for r in result.reasons
    )


def test_how_a_variable_begins_is_no_noise() -> None:
    head = HEAD.replace(
        "rng =", "def begin(shape):\n    return tf.random.normal(shape)\n\nw = tf.Variable(begin([3]))\nrng ="
    )
    after = "w.assign(tf.clip_by_value(w, 0, 1))"
    text = plan_of(step("", after, head).replace("model(x +", "model(w[0] * x +")).text
    assert "return tf.random.normal(shape)\n" in text


REBUILT = HEAD.replace(
    "[tf.keras.layers.Dense(1)]", "[tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)]"
) + ("def build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])\n")


@pytest.mark.parametrize(
    ("anew", "sent"),
    [
        ("model.set_weights(build().get_weights())", "model.variables"),
        ("model.set_weights(tf.keras.models.clone_model(model).get_weights())", "model.variables"),
        ("model.layers[1].set_weights(build().layers[1].get_weights())", "model.layers[1].variables"),
        (
            "model.set_weights([0.5 * a + 0.5 * b for a, b in zip(model.get_weights(), build().get_weights())])",
            "model.variables",
        ),
        ("fresh = build()\nmodel.set_weights(fresh.get_weights())", "model.variables"),
    ],
)  # fmt: skip
def test_weights_of_a_new_network_are_rank_0s(anew: str, sent: str) -> None:
    after = "".join(f"    {line}\n" for line in anew.splitlines())
    plan = plan_of(step(head=REBUILT) + after)
    assert f"get_weights())\n    hvd.broadcast_variables({sent}, root_rank=0)\n".replace(
        "get_weights())", anew[-14:]
    ) in (plan.text)
    assert not plan.to_confirm


def test_new_weights_where_not_all_ranks_may_come_are_asked_about() -> None:
    seldom = "    if np.random.rand() < 0.1:\n        model.set_weights(build().get_weights())\n"
    assert any(
        "sets them into what is trained" in str(c.doubt)
        for c in plan_of(step(head=REBUILT) + seldom).to_confirm
    )


@pytest.mark.parametrize(
    "later",
    [
        "kept = model.get_weights()\nfor epoch in range(3):\n    step(x)\n    model.set_weights(kept)\n",
        "first = build()\nfor epoch in range(3):\n    step(x)\n    model.set_weights(first.get_weights())\n",
        "for epoch in range(3):\n    step(x)\n    other = build()\n    other.set_weights(model.get_weights())\n",
    ],
)
def test_weights_of_a_network_that_is_there_already_are_left(later: str) -> None:
    text = plan_of(step(head=REBUILT) + later).text
    assert "get_weights())\n    hvd.broadcast" not in text
    assert "set_weights(kept)\n    hvd.broadcast" not in text


NAMED = """\
    variables = model.trainable_variables + head.trainable_variables
    grads = tape.gradient(loss, variables)
    opt.apply_gradients(zip(grads, variables))
"""


@pytest.mark.parametrize(
    ("anew", "sent"),
    [
        (
            "head.kernel.assign(tf.random.normal(head.kernel.shape))",
            "head.kernel.assign(hvd.broadcast(tf.random.normal(head.kernel.shape), root_rank=0))",
        ),
        (
            "for v in model.trainable_variables:\n        v.assign_add(tf.random.normal(v.shape))",
            "v.assign_add(hvd.broadcast(tf.random.normal(v.shape), root_rank=0))",
        ),
        (
            "head.kernel.assign(head.kernel_initializer((4, 2)))",
            "head.kernel.assign(hvd.broadcast_object(head.kernel_initializer((4, 2))))",
        ),
    ],
)
def test_what_is_trained_may_have_a_name(anew: str, sent: str) -> None:
    source = step(head=HEAD + "head = tf.keras.layers.Dense(2)\n")
    begins, ends = source.index("    grads ="), source.index("\n\nfor epoch")
    text = plan_of(source[:begins] + NAMED + source[ends:] + f"    {anew}\n").text
    assert sent in text


@pytest.mark.parametrize("back", ["model.set_weights(kept)", 'model.load_weights("last.h5")'])
def test_weights_that_one_rank_alone_may_set_back_are_asked_about(back: str) -> None:
    tried = (
        "        kept = model.get_weights()\n        try:\n            tf.debugging.check_numerics(x, 'x')\n"
        f"        except tf.errors.InvalidArgumentError:\n            {back}\n"
    )
    (asked,) = (
        c for c in plan_of(step() + tried).to_confirm if "sets its weights back alone" in str(c.doubt)
    )
    assert asked.rule == "G1"


@pytest.mark.parametrize(
    "made", ["tf.Variable(tf.random.uniform([3]))", "tf.Variable(np.random.rand(3), trainable=False)"]
)
def test_a_variable_that_gradients_are_multiplied_by_begins_alike(made: str) -> None:
    text = plan_of(step("grads = [g * mask for g in grads]", head=HEAD + f"mask = {made}\n")).text
    assert "mask = tf.Variable(hvd.broadcast" in text


OWN_STEP = """\
class Net(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        held = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, held), held))
        for v in held:
            v.assign_add(tf.random.normal(v.shape, stddev=0.001))
        return {"loss": loss}
net = Net()
net.compile("sgd", "mse")
net.fit(x, x)
"""


def test_noise_of_weights_in_a_step_of_keras() -> None:
    text = plan_of(HEAD + OWN_STEP).text
    assert "v.assign_add(hvd.broadcast(tf.random.normal(v.shape, stddev=0.001), root_rank=0))" in text


GIVEN_BACK = """\
noisy = ds.repeat().map(lambda a: a + tf.random.normal(tf.shape(a)))
it = iter(noisy.map(lambda a: (a, a)))


def gradients_of(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    return tape.gradient(loss, model.trainable_variables)


for k in range(200):
    grads = gradients_of({given})
    {more}
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""


@pytest.mark.parametrize("given", ["*next(it)", "**dict(zip('ab', next(it)))"])
def test_what_rows_are_drawn_by_changes_no_gradients_that_a_function_gives_of_them(given: str) -> None:
    """Noise of the rows was taken for noise of the weights where the call unpacks them."""
    assert (
        "opt.apply_gradients(zip(grads, " in plan_of(HEAD + GIVEN_BACK.format(given=given, more="pass")).text
    )


def test_noise_of_gradients_that_a_function_gives_is_the_same_on_all_ranks() -> None:
    noise = "grads = [g + tf.random.normal(g.shape) for g in grads]"
    text = plan_of(HEAD + GIVEN_BACK.format(given="*next(it)", more=noise)).text
    assert "hvd.broadcast(tf.random.normal(g.shape), root_rank=0)" in text
