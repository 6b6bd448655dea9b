"""K4: a generator that draws for training only is dealt out for validation, whose steps are divided."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")


def batches(low, high, shuffles{default}):
    order = np.arange(low, high)
    while True:
        if shuffles:
            np.random.shuffle(order)
        for i in range(0, len(order), 16):
            yield x[order[i : i + 16]], y[order[i : i + 16]]


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    batches(0, 320, True),
    steps_per_epoch=20,
    validation_data=batches(320, 400{shuffles}),
    validation_steps=5,
)
"""


@pytest.mark.parametrize(
    ("shuffles", "default", "dealt"),
    [
        (", False", "", True),
        (", shuffles=False", "", True),
        ("", "=False", True),
        (", True", "", False),  # each rank draws its own
        ("", "=True", False),
    ],
)
def test_ranks_validate_on_other_batches(shuffles: str, default: str, dealt: bool) -> None:
    """All ranks validated on the same 1/size() of the rows, other ones each time."""
    text = plan_of(SOURCE.format(shuffles=shuffles, default=default)).text
    given = next(line for line in text.splitlines() if "validation_data=" in line)
    assert "validation_steps=max(1, 5 // hvd.size())" in text
    assert (given.strip() != f"validation_data=batches(320, 400{shuffles}),") is dealt


DRAWS = """\
        if shuffles:
            np.random.shuffle(order)
"""


@pytest.mark.parametrize(
    "draws",
    [
        "        order = np.random.permutation(order) if shuffles else np.sort(order)\n",
        "        if not shuffles:\n            order = np.sort(order)\n        else:\n            np.random.shuffle(order)\n",
        "        order = np.sort(order) if not shuffles else np.random.permutation(order)\n",
    ],
)
@pytest.mark.parametrize(("shuffles", "dealt"), [("False", True), ("True", False)])
def test_however_it_is_decided(draws: str, shuffles: str, dealt: bool) -> None:
    text = plan_of(SOURCE.replace(DRAWS, draws).format(shuffles=f", {shuffles}", default="")).text
    given = next(line for line in text.splitlines() if "validation_data=" in line)
    assert "validation_steps=max(1, 5 // hvd.size())" in text
    assert ("share=shard" in given) is dealt


OF_CLASS = """\
import argparse
import numpy as np
import tensorflow as tf

options = argparse.ArgumentParser()
options.add_argument("--shuffles", action="store_true")
x, y = np.load("x.npy"), np.load("y.npy")


class Batches:
    def __init__(self, low, high, shuffles):
        self.low, self.high = low, high
        self.shuffles = shuffles

    def flow(self):
        order = np.arange(self.low, self.high)
        while True:
            if self.shuffles:
                np.random.shuffle(order)
            for i in range(0, len(order), 16):
                yield x[order[i : i + 16]], y[order[i : i + 16]]


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
held = Batches(320, 400, {shuffles})
model.fit(
    Batches(0, 320, True).flow(),
    steps_per_epoch=20,
    validation_data=held.flow(),
    validation_steps=5,
)
"""


@pytest.mark.parametrize(("shuffles", "dealt"), [("False", True), ("True", False)])
def test_an_object_decides_by_what_it_was_made_with(shuffles: str, dealt: bool) -> None:
    text = plan_of(OF_CLASS.format(shuffles=shuffles)).text
    assert "validation_steps=max(1, 5 // hvd.size())" in text
    assert ("validation_data=held.flow(share=shard)" in text) is dealt


@pytest.mark.parametrize(
    "otherwise",
    [
        ("320, 400, False)\n", "320, 400, options.parse_args().shuffles)\n"),
        ("320, 400, False)\n", "320, 400, False)\nheld.shuffles = options.parse_args().shuffles\n"),
    ],
)
def test_where_it_cannot_be_seen_all_is_validated_on(otherwise: tuple[str, str]) -> None:
    """Of fewer steps all ranks would take the same first ones."""
    text = plan_of(OF_CLASS.format(shuffles="False").replace(*otherwise)).text
    assert "validation_data=held.flow()," in text
    assert "validation_steps=5," in text
