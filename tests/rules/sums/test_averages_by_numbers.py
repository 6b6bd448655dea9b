"""G4: averages over the steps of a divided loop, by a number that is known beforehand."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = (
    "import argparse, time\nimport numpy as np\n"
    + TF
    + """\
args = argparse.ArgumentParser().parse_args()
BATCH = 32
rng = np.random.default_rng(0)
x = rng.normal(size=(1600, 4)).astype("float32")
y = x.sum(1, keepdims=True)
STEPS = 1600 // BATCH
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.01)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
)
DATASET = """\
for epoch in range(3):
    total, seen, spent = 0.0, 0, 0.0
    for a, b in ds:
        start = time.time()
        loss = train_step(a, b)
        total += {added}
        spent += time.time() - start
        {inside}
    print({shown})
"""


def shown(of: str, added: str = "float(loss)", inside: str = "pass") -> str:
    lines = plan_of(HEAD + DATASET.format(shown=of, added=added, inside=inside)).text.splitlines()
    return next(line for line in lines if "print(" in line).strip()


@pytest.mark.parametrize(
    ("divided", "after"),
    [
        ("total / STEPS", "total / max(1, STEPS // hvd.size())"),
        ("total / 50", "total / max(1, 50 // hvd.size())"),
        ("total / (1600 // 32)", "total / (max(1, 1600 // 32 // hvd.size()))"),
        ("100 * total / 1600", "100 * total / max(1, 1600 // hvd.size())"),
        ("total / BATCH / STEPS", "total / BATCH / max(1, STEPS // hvd.size())"),
        ("total / len(x)", "total / max(1, len(x) // hvd.size())"),  # as `averages` does
    ],
)
def test_what_a_sum_is_divided_by_is_divided(divided: str, after: str) -> None:
    assert shown(divided) == f"print({after})"


@pytest.mark.parametrize(
    ("divided", "added"),
    [
        ("spent / 60", "float(loss)"),  # each rank's own time
        ("total / 10 / len(ds)", "float(loss)"),  # its own length
        ("total / len(ds) / 10", "float(loss)"),
        ("total / 2", "float(loss)"),
        ("total / args.steps", "float(loss)"),
        ("total / 50", "float(loss) / len(x)"),  # divided as it is added
        ("loss / 50", "float(loss)"),  # no sum
        ("total / seen", "float(loss)"),  # counted beside
    ],
)
def test_what_is_a_ranks_own_is_divided_as_before(divided: str, added: str) -> None:
    assert shown(divided, added=added, inside="seen += 1") == f"print({divided})"


def test_what_is_shown_within_the_loop_is_left_to_its_event() -> None:
    text = plan_of(HEAD + DATASET.format(shown="epoch", added="float(loss)", inside="mean = total / 50")).text
    assert "mean = total / 50\n" in text
