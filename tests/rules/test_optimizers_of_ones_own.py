"""An optimizer of the script's own that hands a step on to the class above it: what trains is the call of its method."""

from __future__ import annotations

import pytest

from .pairs import plan_of, refused

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
class Clipping(tf.keras.optimizers.Adam):
    def {method}(self, grads_and_vars, **kwargs):
        {body}
        return {made}.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in grads_and_vars], **kwargs)
"""
LOOP = """\
opt = Clipping(0.001)
for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b))
    gradients = tape.gradient(loss, model.trainable_variables)
    opt.{method}(zip(gradients, model.trainable_variables))
"""
FIT = "model.compile(Clipping(0.001), 'mse')\nmodel.fit(x, y, batch_size=8)\n"


def head(method: str = "apply_gradients", body: str = "pass", made: str = "super()") -> str:
    return HEAD.format(method=method, body=body, made=made)


@pytest.mark.parametrize("made", ["super()", "super(Clipping, self)"])
def test_it_is_scaled_and_sent_once_where_it_trains(made: str) -> None:
    plan = plan_of(head(made=made) + LOOP.format(method="apply_gradients"))
    assert "opt = Clipping(0.001 * hvd.size())\n" in plan.text
    assert plan.text.count("broadcast_variables(") == plan.text.count("DistributedGradientTape(") == 1
    assert "*opt.variables()" in plan.text
    assert not plan.to_confirm
    assert head(made=made).partition("class")[2] in plan.text  # the class stays as it is


def test_it_is_wrapped_where_a_model_is_compiled_with_it() -> None:
    plan = plan_of(head() + FIT)
    assert "DistributedOptimizer(Clipping(0.001 * hvd.size()))" in plan.text
    assert "broadcast_variables" not in plan.text
    assert not plan.to_confirm


def test_it_is_wrapped_where_a_graph_is_built() -> None:
    source = head().replace("keras.optimizers.Adam", "train.AdamOptimizer").replace("model = ", "old = ")
    source += """\
p = tf.placeholder(tf.float32, [None, 4])
train = Clipping(0.01).minimize(tf.reduce_mean(tf.square(tf.layers.dense(p, 1))))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(100):
        sess.run(train, {p: x[i * 8 : i * 8 + 8]})
"""
    plan = plan_of(source)
    assert "hvd.DistributedOptimizer(Clipping(0.01 * hvd.size())).minimize(" in plan.text
    assert not plan.to_confirm


def test_a_method_of_another_name_that_trains_by_the_class_above_is_refused() -> None:
    """What trains is in it, and `super()` can't be named where the loop is."""
    source = """\
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
class Training(tf.keras.optimizers.Adam):
    def step(self, a):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(a))
        gradients = tape.gradient(loss, model.trainable_variables)
        super().apply_gradients(zip(gradients, model.trainable_variables))
opt = Training(0.001)
for a in tf.data.Dataset.from_tensor_slices(x).batch(8):
    opt.step(a)
"""
    refused(source, "HVD006", "super()")


def test_a_class_that_is_no_optimizer_hands_nothing_on() -> None:
    source = head().replace("tf.keras.optimizers.Adam", "Base")
    source = source.replace(
        "class Clipping", "class Base:\n    def apply_gradients(self, pairs): ...\nclass Clipping"
    )
    refused(source + LOOP.format(method="apply_gradients"), "HVD006")


def test_gradients_that_its_method_takes_itself_are_not_averaged_by_a_tape_elsewhere() -> None:
    taken = """\
with tf.GradientTape() as inner:
            own = inner.gradient(tf.reduce_mean(model(x)), model.trainable_variables)
        grads_and_vars = zip(own, model.trainable_variables)"""
    source = head(body=taken) + "opt = Clipping(0.001)\nfor i in range(9):\n    opt.apply_gradients([])\n"
    refused(source, "HVD202")
