"""Models, tapes and names that a loop goes through where they are written out; gradients that some turns average by hand."""

from __future__ import annotations

import pytest

from .helpers import codes

TWO = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def make(n):
    return tf.keras.Sequential([tf.keras.layers.Dense(n, input_shape=(4,))])


nets = {"generator": make(4), "critic": make(1)}
optimizers = {name: tf.keras.optimizers.Adam(0.01 * hvd.size()) for name in nets}
SENT
for x in rows():
    with tf.GradientTape() as one, tf.GradientTape() as other:
        made = nets["generator"](x)
        first = tf.reduce_mean(nets["critic"](made))
        second = tf.reduce_mean(nets["critic"](x)) - first
    one = hvd.DistributedGradientTape(one)
    WRAP
    for LOOP:
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
WRAP = "other = hvd.DistributedGradientTape(other)"
ALL = "for net in nets.values():\n    hvd.broadcast_variables(net.variables, root_rank=0)"
ONE = 'hvd.broadcast_variables(nets["generator"].variables, root_rank=0)'
LOOPS = [
    'net, optimizer, tape, loss in [(nets["generator"], optimizers["generator"], one, first), '
    '(nets["critic"], optimizers["critic"], other, second)]',
    'net, optimizer, tape, loss in zip((nets["generator"], nets["critic"]), optimizers.values(), [one, other], '
    "[first, second])",
]


def two(loop: str, sent: str = ALL, wrap: str = WRAP) -> set[str]:
    return codes(TWO.replace("LOOP", loop).replace("SENT", sent).replace("WRAP", wrap))


@pytest.mark.parametrize("loop", LOOPS)
def test_models_that_a_loop_goes_through(loop: str) -> None:
    assert not two(loop) & {"HVD304", "HVD306"}
    assert "HVD306" in two(loop, sent=ONE)
    assert "HVD304" in two(loop, wrap="pass")


NAMED = """\
name, tape, loss in (("generator", one, first), ("critic", other, second)):
        net, optimizer = nets[name], optimizers[name]
        weights = nets[name].trainable_variables
        optimizers[name].apply_gradients(zip(tape.gradient(loss, weights), weights))
    for _ in ()"""
BY_KEY = """\
name, loss in (("generator", first), ("critic", second)):
        tapes = {"generator": one, "critic": other}
        weights = nets[name].trainable_variables
        optimizers[name].apply_gradients(zip(tapes[name].gradient(loss, weights), weights))
    for _ in ()"""


@pytest.mark.parametrize("loop", [NAMED, BY_KEY])
def test_models_by_the_keys_of_a_dictionary(loop: str) -> None:
    text = TWO.replace("    for LOOP:\n", f"    for {loop}:\n").replace(
        "        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))\n",
        "        pass\n",
    )

    def found(sent: str, wrap: str) -> set[str]:
        return codes(text.replace("SENT", sent).replace("WRAP", wrap)) & {"HVD304", "HVD306"}

    assert not found(ALL, WRAP)
    assert found(ONE, WRAP) == {"HVD306"}
    assert found(ALL, "pass") == {"HVD304"}


SEVERAL_BY_ONE = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def make(n):
    return tf.keras.Sequential([tf.keras.layers.Dense(n, input_shape=(4,))])


def train(net, x):
    with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean(net(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))


optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
one = make(1)
hvd.broadcast_variables(one.variables, root_rank=0)
for x in rows():
    train(one, x)
"""


def test_a_model_that_is_sent_and_trained_by_functions() -> None:
    assert "HVD306" not in codes(SEVERAL_BY_ONE)


BY_HAND = """\
import sys
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
exchange = "--exchange" in sys.argv


def average(gradients):
    return [hvd.allreduce(g, op=hvd.Average) for g in gradients]


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for step, x in enumerate(rows()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    AVERAGED
    APPLIED
"""
APPLY = "optimizer.apply_gradients(zip(gradients, model.trainable_variables))"
CLIPPED = "gradients, norm = tf.clip_by_global_norm(gradients, 1.0)\n    " + APPLY


def by_hand(averaged: str, applied: str = APPLY) -> bool:
    return "HVD304" in codes(BY_HAND.replace("AVERAGED", averaged).replace("APPLIED", applied))


@pytest.mark.parametrize(
    "averaged",
    [
        "if step % 2 == 0:\n        gradients = average(gradients)",
        "if step > 10:\n        gradients = [hvd.allreduce(g) for g in gradients]",
        "gradients = average(gradients) if step % 2 else gradients",
        "if not step % 4:\n        gradients = hvd.grouped_allreduce(gradients)",
    ],
)
def test_gradients_that_are_averaged_in_some_turns(averaged: str) -> None:
    assert by_hand(averaged)
    assert by_hand(averaged, CLIPPED)


@pytest.mark.parametrize(
    ("averaged", "applied"),
    [
        ("gradients = average(gradients)", APPLY),
        ("if hvd.size() > 1:\n        gradients = average(gradients)", CLIPPED),
        ("if exchange:\n        gradients = average(gradients)", APPLY),
        ("gradients = average(gradients) if exchange else gradients", APPLY),
        ("if step % 2 == 0:\n        gradients = average(gradients)", "if step % 2 == 0:\n        " + APPLY),
    ],
)
def test_gradients_that_are_averaged_in_all_turns_that_apply_them(averaged: str, applied: str) -> None:
    assert not by_hand(averaged, applied)
