"""Every rule says what it does under fixed headings, and its example is true: this is what hovers and `--explain` show."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest

from horovodize.rules import RULES

from .pairs import only, plan_of

HEADINGS = ["What it does", "Why", "Before", "After", "Leaves alone", "Refuses", "Asks", "Source"]
NEEDED = {"What it does", "Why", "Before", "After", "Source"}
CODE_COLUMN = 15

TF = "import os\nimport numpy as np\nimport tensorflow as tf\n"
MODEL = TF + "from tensorflow.keras.callbacks import *\nmodel = tf.keras.Sequential([])\n"
COMPILED = MODEL + "model.compile('sgd')\n"
OPTIMIZER = MODEL + "optimizer = tf.keras.optimizers.Adam()\nloss_fn = tf.keras.losses.MeanSquaredError()\n"
STEP = OPTIMIZER + (
    "def train_step(x, y=None):\n    with tf.GradientTape() as tape:\n        cost = model(x)\n"
    "    grads = tape.gradient(cost, model.trainable_variables)\n"
    "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n    return cost\n"
)
DATASET = "dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(32)\n"
# A program around each rule's example: what comes before it and after it, and how deep the example stands.
PROGRAMS: dict[str, tuple[str, str, int]] = {
    "C1": ("", "model = tf.keras.Sequential([])\nmodel.compile('sgd')\nmodel.fit(x, y)\n", 0),
    "C3": (TF, "model = tf.keras.Sequential([])\nmodel.compile('sgd')\nmodel.fit(x, y)\n", 0),
    "C4": (MODEL, "model.compile(tf.keras.optimizers.SGD(rate))\nmodel.fit(x, y)\n", 0),
    "C5": (MODEL, "model.compile(opt)\nmodel.fit(x, y)\n", 0),
    "C6": (STEP + "for epoch in range(9):\n  for batch in data:\n", "", 4),
    "C7": (COMPILED, "", 0),
    "C8": (STEP + DATASET.replace(".repeat()", ""), "", 0),
    "C9": (
        OPTIMIZER,
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\nfor x, y in data:\n    step(x, y)\n",
        0,
    ),
    "D1": (COMPILED, "", 0),
    "D2": (COMPILED.replace("\n", "\nimport numpy as np\nx_train, y_train = np.load('x.npy'), np.load('y.npy')\n", 1), "", 0),
    "D3": (STEP.replace("train_step", "step"), "", 0),
    "D4": (COMPILED, "model.fit(x, y)\n", 0),
    "G1": (OPTIMIZER + "for x, y in data:\n", "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n", 4),
    "G2": (STEP, "", 0),
    "G3": (MODEL + "w, b = tf.Variable(1.0), tf.Variable(0.0)\nloss_fn = lambda: w + b * rows()\n", "", 0),
    "G4": (STEP + DATASET, "", 0),
    "G5": (STEP + "def save(model): model.save('model.h5')\n" + DATASET.replace(".repeat()", ""), "", 0),
    "G6": (
        STEP
        + DATASET
        + "batches = iter(dataset)\ncheckpoint = tf.train.Checkpoint(step=tf.Variable(0), model=model)\n",
        "",
        0,
    ),
    "G7": (STEP + "slow = tf.keras.Sequential([])\n" + DATASET + "for x in dataset.take(999):\n    train_step(x)\n", "", 4),
    "K1": (MODEL, "model.fit(x, y)\n", 0),
    "K3": (COMPILED, "", 0),
    "K4": (STEP + DATASET, "", 0),
    "K5": (COMPILED + "k = \\\n", "model.fit(x, y, callbacks=[k])\n", 0),
    "K8": (MODEL, "model.save('model.h5')\n", 0),
    "L1": (STEP.replace("([])", "([tf.keras.Input([1])])") + DATASET.replace(".repeat()", ""), "", 0),
}  # fmt: skip
GRAPH = (
    "import tensorflow.compat.v1 as tf\nx, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)\n"
    "loss = tf.square(x - tf.Variable(1.0))\n"
)
TRAIN_OP = GRAPH + "train_op = tf.train.AdamOptimizer(0.001).minimize(loss)\n"
RUNS = "with tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())\n    sess.run(train_op)\n"
PROGRAMS |= {
    "S2": (GRAPH, RUNS + "    for i in range(1000):\n        sess.run(train_op, batch(i))\n", 0),
    "S3": (TRAIN_OP, "", 0),
    "S4": (
        TRAIN_OP + "init = tf.global_variables_initializer()\nsess = tf.Session()\n",
        "sess.run(train_op)\n",
        0,
    ),
    "S5": (
        TRAIN_OP + "total_batch = 550\nsess = tf.Session()\nsess.run(tf.global_variables_initializer())\n"
        "for epoch in range(9):\n",
        "",
        4,
    ),
}
MONITORED = "while not session.should_stop():\n    session.run(train_op)\n"
PROGRAMS |= {
    "M1": (TRAIN_OP, MONITORED, 0),
    "M3": (TRAIN_OP, "session = tf.train.MonitoredTrainingSession(hooks=[hook])\n" + MONITORED, 0),
    "M4": (TRAIN_OP, MONITORED, 0),
    "E1": (
        "import tensorflow.compat.v1 as tf\ndef model_fn(features, labels, mode):\n"
        "    train_op = tf.train.AdamOptimizer(0.001).minimize(loss)\n"
        "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)\n",
        "",
        0,
    ),
}
PROGRAMS |= {"C2": PROGRAMS["C1"], "K2": PROGRAMS["K1"], "K6": PROGRAMS["G2"], "K7": PROGRAMS["G1"]}

# Rules whose example shows what another one does, too: the scaled rate, the session's config.
TOO = {"C9": ["G1"], "G3": ["C5", "G4"], "S2": ["C5"], "S3": ["C2"], "E1": ["C2", "S3"]}

every_rule = pytest.mark.parametrize("rule", sorted(RULES))


def sections(docs: str) -> dict[str, str]:
    """The texts under the headings, and under "" what comes before the first."""
    found: dict[str, list[str]] = {"": []}
    current = ""
    for line in docs.splitlines():
        heading = next((h for h in HEADINGS if re.match(rf"{h}  ", line)), None)
        if heading is not None:
            current = heading
            assert heading not in found, f"{heading} twice"
            found[heading] = [" " * CODE_COLUMN + line[CODE_COLUMN:]]
        else:
            found[current].append(line)
    return {h: textwrap.dedent("\n".join(lines)).strip("\n") for h, lines in found.items()}


@every_rule
def test_the_headings_are_the_fixed_ones_in_order(rule: str) -> None:
    found = [h for h in sections(RULES[rule].docs) if h]
    assert set(found) >= NEEDED
    assert [h for h in HEADINGS if h in found] == [h for h in found if h not in ("Refuses", "Asks")] or (
        sorted(found, key=HEADINGS.index) == found
    )


@every_rule
def test_the_first_line_names_the_rule(rule: str) -> None:
    first = RULES[rule].docs.splitlines()[0]
    assert re.search(rf"\b{rule}\b", first)
    assert first.endswith(".")
    assert len(RULES[rule].title) < 70


@every_rule
def test_every_section_says_something_in_sentences(rule: str) -> None:
    for heading, text in sections(RULES[rule].docs).items():
        assert text.strip(), heading
        if heading and heading not in ("Before", "After"):
            assert text.rstrip().endswith((".", ").", "…")), heading


def lines_of(code: str) -> list[str]:
    """The lines of code in one form, however it was wrapped."""
    return [
        line.strip() for line in ast.unparse(ast.parse(textwrap.dedent(code))).splitlines() if line.strip()
    ]


@every_rule
def test_the_example_is_true(rule: str) -> None:
    parts = sections(RULES[rule].docs)
    before, after = parts["Before"], parts["After"]
    head, tail, depth = PROGRAMS[rule]
    example = textwrap.indent(before.replace("…", "pass"), " " * depth)
    plan = plan_of(head + example + "\n" + tail, elastic=rule == "L1")
    same = [r for r in RULES if RULES[r].docs == RULES[rule].docs] + TOO.get(rule, [])
    assert [c for c in plan.changes if c.rule in same]
    given, came = lines_of(before), lines_of(only(plan, *same))
    if after == "(nothing)":
        assert not set(given) & set(came)
        return
    wanted = lines_of(after)
    assert wanted != given
    rest = iter(came)
    assert not [line for line in wanted if not any(line in other for other in rest)], came


def test_every_rule_has_a_program() -> None:
    assert set(PROGRAMS) == set(RULES)
