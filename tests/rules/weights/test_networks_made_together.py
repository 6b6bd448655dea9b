"""G2: of networks that are made together, those that no step trains are broadcast with the others."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

PROGRAM = (
    TF
    + """
import numpy as np
x = np.load("x.npy")
def make():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
def both():
    return make(), make()
{made}
opt = tf.keras.optimizers.SGD(0.1)
for i in range(0, len(x), 16):
    y = {target}(x[i : i + 16])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(({net}(x[i : i + 16]) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, {net}.trainable_variables), {net}.trainable_variables))
    for t, v in zip({target}.variables, {net}.variables):
        t.assign(0.99 * t + 0.01 * v)
"""
)


def sent(made: str, net: str, target: str) -> list[str]:
    text = plan_of(PROGRAM.format(made=made, net=net, target=target)).text
    (given,) = [line for line in text.splitlines() if "broadcast_variables(" in line]
    return sorted(part.strip("*, ") for part in given.split("[")[1].split("]")[0].split(", "))


@pytest.mark.parametrize(
    "made",
    [
        "net, target = [make() for _ in range(2)]",
        "net, target = (make() for _ in range(2))",
        "net, target = tuple(make() for _ in range(2))",
        "net, target = both()",
        "net, target = make(), make()",
        "(net, target), rest = [[make() for _ in range(2)] for _ in range(2)]",
    ],
)
def test_networks_that_are_unpacked(made: str) -> None:
    assert sent(made, "net", "target") == ["net.variables", "opt.variables()", "target.variables"]


@pytest.mark.parametrize(
    "made",
    [
        "nets = {key: make() for key in 'ab'}",
        "nets = {'a': make(), 'b': make()}",
        "nets = dict(a=make(), b=make())",
    ],
)
def test_networks_of_a_dictionary(made: str) -> None:
    text = plan_of(PROGRAM.format(made=made, net="nets['a']", target="nets['b']")).text
    assert "*nets['a'].variables, *nets['b'].variables" in text.replace("*opt.variables(), ", "")


@pytest.mark.parametrize(
    "made", ["nets = [make() for _ in range(2)]", "nets = [make(), make()]", "nets = both()"]
)
def test_networks_of_a_list(made: str) -> None:
    text = plan_of(PROGRAM.format(made=made, net="nets[0]", target="nets[1]")).text
    assert "*nets[0].variables, *nets[1].variables" in text.replace("*opt.variables(), ", "")
