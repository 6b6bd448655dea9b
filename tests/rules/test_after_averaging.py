"""G1, K7: what changes gradients or weights after the gradients are averaged is the same on all ranks."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from .pairs import plan_of

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
