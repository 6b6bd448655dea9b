"""G5: updates that come from some step on, by the gradients of their own turn."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

LOOP = (
    TF
    + """
model = tf.keras.Sequential([])
first, second = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
acc = [tf.zeros_like(v) for v in model.trainable_variables]
n = 0
for epoch in range(9):
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        grads = tape.gradient(loss, model.trainable_variables)
        first.apply_gradients(zip(grads, model.trainable_variables))
        n += 1
        {more}
"""
)
APPLY = "second.apply_gradients(zip({}, model.trainable_variables))"


def after(more: str) -> str:
    return plan_of(LOOP.format(more=more.replace("\n", "\n        "))).text


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("n > 100", "n > max(1, 100 // hvd.size())"),
        ("n <= 100", "n <= max(1, 100 // hvd.size())"),
        ("n >= 100 and epoch", "n >= max(1, 100 // hvd.size())"),
    ],
)
@pytest.mark.parametrize(
    "made",
    [
        "grads",
        "[g * 0.5 for g in grads]",
        "[tf.clip_by_norm(g, 1.0) for g in grads]",
        "tf.clip_by_global_norm(grads, 1.0)[0]",
    ],
)
def test_another_optimizer_begins_after_as_many_rows(test: str, told: str, made: str) -> None:
    if "[0]" in made:
        more = f"grads, _ = {made[:-3]}\nif {test}:\n    {APPLY.format('grads')}"
    else:
        more = f"if {test}:\n    {APPLY.format(made)}"
    assert f"if {told}" in after(more)


@pytest.mark.parametrize(
    "more",
    [
        f"acc = [s + g for s, g in zip(acc, grads)]\nif n == 20:\n    {APPLY.format('acc')}\n    n = 0",
        f"acc = [s + g for s, g in zip(acc, grads)]\nif n >= 20:\n    {APPLY.format('[s / 20 for s in acc]')}\n    n = 0",
        f"if n % 4 == 0:\n    {APPLY.format('grads')}",  # goes with the others as before
    ],
)
def test_gradients_that_turns_have_added_up_are_applied_as_before(more: str) -> None:
    test = next(line for line in more.splitlines() if line.startswith("if "))
    assert f"        {test}\n" in after(more)


STEP = """\
class Own(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)
        self.n = tf.Variable(0, trainable=False)
    def call(self, rows):
        return self.b(self.a(rows))
    def train_step(self, data):
        rows, target = data
        self.n.assign_add(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(rows) - target) ** 2)
        one, two = tape.gradient(loss, [self.a.trainable_variables, self.b.trainable_variables])
        self.second.apply_gradients(zip(two, self.b.trainable_variables))
        if {}:
            self.first.apply_gradients(zip(one, self.a.trainable_variables))
        return {{"loss": loss}}
model = Own()
model.first, model.second = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
model.compile()
model.fit(x, y, batch_size=8, epochs=9)
"""


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("self.n > 100", "self.n > max(1, 100 // hvd.size())"),
        ("self.second.iterations > 100", "self.second.iterations > max(1, 100 // hvd.size())"),
        ("self.n % 4 == 0", "self.n % 4 == 0"),
    ],
)
def test_a_part_of_a_model_trains_from_some_step_on(test: str, told: str) -> None:
    data = "import numpy as np\nx, y = np.ones((960, 3)), np.ones(960)\n"
    assert f"        if {told}:\n" in plan_of(data + TF + STEP.format(test)).text
