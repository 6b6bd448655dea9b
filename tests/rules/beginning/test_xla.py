"""C9: what averages gradients isn't compiled by XLA."""

from __future__ import annotations

import pytest

from horovodize.rules.beginning import xla

from ..guarding import check, unchanged

RULES = (xla.RULE,)
HEAD = """\
from functools import partial
import tensorflow as tf
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
"""
GRADIENTS = """\
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
"""
APPLY = "    opt.apply_gradients(zip(gradients, model.trainable_variables))\n"
LOOP = "for x, y in batches:\n    step(x, y)\n"
STEP = "def step(x, y):\n" + GRADIENTS + APPLY

# ---------------------------------------------------------------------- left alone


@pytest.mark.parametrize(
    "program",
    [
        "@tf.function\n" + STEP + LOOP,
        "@tf.function(jit_compile=False)\n" + STEP + LOOP,
        "@tf.function(jit_compile=None)\n" + STEP + LOOP,
        # What nothing is averaged in: an evaluation, the loss, and what applies gradients that are averaged elsewhere.
        "@tf.function(jit_compile=True)\ndef look(x):\n    return model(x)\n" + STEP + LOOP + "look(x)\n",
        "@tf.function(jit_compile=True)\ndef error(x, y):\n    return tf.reduce_mean((model(x) - y) ** 2)\n"
        + STEP.replace("tf.reduce_mean((model(x) - y) ** 2)", "error(x, y)")
        + LOOP,
        "@tf.function(jit_compile=True)\ndef update(gradients):\n"
        + APPLY
        + "def step(x, y):\n"
        + GRADIENTS
        + "    update(gradients)\n"
        + LOOP,
        # Another library's, with an argument of that name.
        "import numba\n@numba.njit(jit_compile=True)\n" + STEP + LOOP,
    ],
    ids=range(7),
)
def test_what_runs_no_collective_is_compiled_on(program: str) -> None:
    unchanged(RULES, program, HEAD)


def test_keras_2_compiles_nothing_unless_asked() -> None:
    unchanged(RULES, 'model.compile(opt, "mse")\nmodel.fit(x, y)\n', HEAD)


# ---------------------------------------------------------------------- turned off


@pytest.mark.parametrize(
    "program",
    [
        "@tf.function(jit_compile=TRUE)\n" + STEP + LOOP,
        "@tf.function(experimental_compile=TRUE)\n" + STEP + LOOP,
        "@partial(tf.function, jit_compile=TRUE)\n" + STEP + LOOP,
        STEP + "step = tf.function(step, jit_compile=TRUE)\n" + LOOP,
        STEP + "step = tf.function(jit_compile=TRUE)(step)\n" + LOOP,
        "compiled = tf.function(jit_compile=TRUE)\n@compiled\n" + STEP + LOOP,
        "@tf.function(jit_compile=TRUE)\ndef both(x, y):\n    step(x, y)\n"
        + STEP
        + LOOP.replace("step", "both"),
        "class T:\n    @tf.function(jit_compile=TRUE)\n"
        + "".join(f"    {line}\n" for line in STEP.replace("step(x", "step(self, x").splitlines())
        + "trainer = T()\n"
        + LOOP.replace("step", "trainer.step"),
        # The gradients are taken, and so averaged, inside; applied outside.
        "@tf.function(jit_compile=TRUE)\ndef taken(x, y):\n"
        + GRADIENTS
        + "    return gradients\ndef step(x, y):\n    gradients = taken(x, y)\n"
        + APPLY
        + LOOP,
        "@tf.function(jit_compile=TRUE)\ndef step(x, y):\n"
        "    opt.minimize(lambda: tf.reduce_mean((model(x) - y) ** 2), model.trainable_variables)\n" + LOOP,
        'model.compile(opt, "mse", jit_compile=TRUE)\nmodel.fit(x, y)\n',
    ],
    ids=range(11),
)
@pytest.mark.parametrize("asked", ["True", "FLAGS.xla", "1"])
def test_what_averages_is_not_compiled(program: str, asked: str) -> None:
    check(RULES, program.replace("TRUE", asked), program.replace("TRUE", "False"), HEAD)
