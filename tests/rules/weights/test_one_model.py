"""G2: each model that a loop makes has a first batch, after which all ranks hold rank 0's variables."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

NEW = "{} = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(0.1)"
STEPS = """\
{at}for x, y in ds:
{at}    with tf.GradientTape() as tape:
{at}        loss = tf.reduce_mean({m}(x) - y)
{at}    {o}.apply_gradients(zip(tape.gradient(loss, {m}.trainable_variables), {m}.trainable_variables))
"""
HEAD = TF + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
LOCAL = {"m": "m", "o": "o"}
FIELDS = {"m": "self.m", "o": "self.o"}


def flag_lines(source: str) -> list[str]:
    """The lines that say that the next batch is a first one, as they stand, with the line after each."""
    lines = plan_of(HEAD + source).text.splitlines()
    return [
        f"{line} | {lines[i + 1].strip()}"
        for i, line in enumerate(lines)
        if line.strip() in ("first_batch = True", "self.first_batch = True")
    ]


IN_CALL = f"def train():\n    {NEW.format('m, o')}\n{STEPS.format(at='    ', **LOCAL)}    return m\n"
IN_CALLER = (
    f"def epoch(m, o):\n{STEPS.format(at='    ', **LOCAL)}"
    f"def member():\n    {NEW.format('m, o')}\n    for e in range(3):\n        epoch(m, o)\n    return m\n"
)
FIT = f"    def fit(self):\n{STEPS.format(at='        ', **FIELDS)}"
BUILT = f"class Experiment:\n    def build(self):\n        {NEW.format('self.m, self.o')}\n{FIT}"


@pytest.mark.parametrize(
    "source",
    [
        IN_CALL + "for k in range(5):\n    train()\n",
        IN_CALL + "found = []\nwhile len(found) < 5:\n    found.append(train())\n",
        IN_CALLER + "found = []\nwhile len(found) < 5:\n    found.append(member())\n",
        # another model in a field
        BUILT + "e = Experiment()\nfor k in range(5):\n    e.build()\n    e.fit()\n",
        BUILT
        + "    def all(self):\n        for k in range(5):\n            self.build()\n            self.fit()\n"
        + "Experiment().all()\n",
        # in a name of the module
        "def build():\n    global m, o\n    "
        + NEW.format("m, o")
        + f"\ndef fit():\n{STEPS.format(at='    ', **LOCAL)}for k in range(5):\n    build()\n    fit()\n",
    ],
)
def test_a_model_that_is_made_again_has_a_first_batch_of_its_own(source: str) -> None:
    """The flag stayed down after the first model: those after it began with random weights of each rank's own."""
    (flag,) = flag_lines(source)
    assert flag.endswith("| for x, y in ds:")


def test_folds_in_one_method() -> None:
    body = STEPS.format(at="            ", **FIELDS)
    source = f"class Experiment:\n    def build(self):\n        {NEW.format('self.m, self.o')}\n"
    source += f"    def folds(self):\n        for k in range(5):\n            self.build()\n{body}Experiment().folds()\n"
    assert flag_lines(source) == ["            first_batch = True | for x, y in ds:"]


@pytest.mark.parametrize(
    "source",
    [
        # near misses: made once, before all calls; only where there is none yet
        NEW.format("m, o")
        + f"\ndef epoch():\n{STEPS.format(at='    ', **LOCAL)}for k in range(5):\n    epoch()\n",
        f"class Trainer:\n    def __init__(self):\n        {NEW.format('self.m, self.o')}\n{FIT}"
        "t = Trainer()\nfor k in range(5):\n    t.fit()\n",
        f"class Trainer:\n    m = None\n    def build(self):\n        if self.m is None:\n            "
        f"{NEW.format('self.m, self.o')}\n{FIT}"
        "t = Trainer()\nfor k in range(5):\n    t.build()\n    t.fit()\n",
    ],
)
def test_one_model_has_one_first_batch(source: str) -> None:
    (flag,) = flag_lines(source)
    assert not flag.endswith("| for x, y in ds:")
