"""G4: with what steps train, set in a loop by what each rank measures."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of
from ..together.test_means import EPOCHS

BESIDE = """\
fine = tf.keras.optimizers.SGD(0.001)
other, shown = tf.keras.Sequential([]), None
def switch():
    global opt
    opt = fine
def local():
    opt = fine
    return opt
"""
LOW = "    if np.mean(losses) < 0.5:\n        {}\n"


def text_of(done: str) -> str:
    return plan_of("import numpy as np\n" + TAPE + BESIDE + EPOCHS.format(LOW.format(done))).text


@pytest.mark.parametrize("done", ["opt = fine", "switch()", "model = other", "opt, bad = fine, 0"])
def test_ranks_change_together_what_trains(done: str) -> None:
    """Each changed by its own losses, and their weights parted: nothing was said."""
    assert "    if mean_over_ranks(np.mean(losses)) < 0.5:\n" in text_of(done)


@pytest.mark.parametrize(
    "done", ["ds = ds.batch(2)", "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(8)"]
)
def test_ranks_change_together_what_a_loop_goes_through(done: str) -> None:
    """Each took another number of steps then, and the others waited forever."""
    assert "    if mean_over_ranks(np.mean(losses)) < 0.5:\n" in text_of(done)


@pytest.mark.parametrize("done", ["shown = fine", "local()", "fine_again = opt", "other_ds = ds"])
def test_what_no_step_reads_is_set_by_each(done: str) -> None:
    assert "    if np.mean(losses) < 0.5:\n" in text_of(done)


FIELDS = """\
class Trainer:
    def __init__(self):
        self.opt, self.fine, self.kept = opt, tf.keras.optimizers.SGD(0.001), None
        self.variables = model.trainable_variables
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        self.opt.apply_gradients(zip(tape.gradient(loss, self.variables), self.variables))
        return loss
    def run(self, data):
        for epoch in range(9):
            losses = [self.step(x, y) for x, y in data]
            if np.mean(losses) < 0.5:
                {}
Trainer().run(tf.data.Dataset.from_tensor_slices((a, b)).batch(4))
"""


@pytest.mark.parametrize(
    ("done", "together"),
    [
        ("self.opt = self.fine", True),
        ("self.variables = model.layers[-1].trainable_variables", True),
        ("self.kept = self.fine", False),
        ("opt = self.fine", False),  # a name of the method
    ],
)
def test_fields_of_what_trains(done: str, together: bool) -> None:
    source = "import numpy as np\n" + TAPE.split("def step")[0] + FIELDS.replace("{}", done)
    assert ("mean_over_ranks(np.mean(losses)) < 0.5" in plan_of(source).text) is together


HANDED = """\
def train(x, y, by):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    by.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
used = opt
for epoch in range(9):
    losses = [train(x, y, used) for x, y in tf.data.Dataset.from_tensor_slices((a, b)).batch(4)]
    if np.mean(losses) < 0.5:
        used = fine
"""


def test_what_a_step_is_handed() -> None:
    source = (
        "import numpy as np\n" + TAPE.split("def step")[0] + BESIDE.split("other,", maxsplit=1)[0] + HANDED
    )
    assert "mean_over_ranks(np.mean(losses)) < 0.5" in plan_of(source).text


def test_what_all_ranks_come_to_alike_is_left() -> None:
    source = (
        "import numpy as np\n" + TAPE + BESIDE + EPOCHS.format("    if epoch == 5:\n        opt = fine\n")
    )
    assert "    if epoch == 5:\n" in plan_of(source).text
