"""HVD201: a loop in several files, which are read together or are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.distribute_project import Examination
from horovodize.options import Options
from horovodize.plan import Refusal
from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

STEP = """\
import tensorflow as tf


@tf.function
def train_step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""
TRAIN = """\
import tensorflow as tf
from step import train_step

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((xs, ys)).batch(8):
    train_step(model, optimizer, x, y)
"""


def alone(text: str, *, strict: bool = False) -> list[tuple[str, str, str]]:
    document = Document(text)
    found = check(summarize(document), Options(strict=strict))
    return [(v.code, v.severity.name, text[v.span.start : v.span.end]) for v in found if v.code == "HVD201"]


def together(train: str, step: str, *, strict: bool = False) -> list[tuple[str, str, str]]:
    files = {"/p/train.py": Document(train, "/p/train.py"), "/p/step.py": Document(step, "/p/step.py")}
    examined = Examination(files["/p/train.py"], files.get, Options(strict=strict))
    return [
        (v.code, v.severity.name, Path(document.path).name)
        for document, v in examined.findings
        if v.code == "HVD201"
    ]


def test_read_together_it_is_nothing() -> None:
    assert together(TRAIN, STEP) == []


def test_strict_reports_it_as_printed() -> None:
    assert together(TRAIN, STEP, strict=True) == [("HVD201", "INFORMATION", "step.py")]


def test_a_loop_in_one_file_is_none_though_others_belong_to_it() -> None:
    step = (
        STEP
        + "\n\ndef train(data, model, optimizer):\n    for x, y in data:\n        train_step(model, optimizer, x, y)\n"
    )
    train = TRAIN.replace("train_step", "train").replace("for x, y in ", "data = ").replace(":\n    train(model, optimizer, x, y)", "\ntrain(data, model, optimizer)")  # fmt: skip  # noqa: E501
    assert "for x" not in train
    assert together(train, step) == []


def test_a_step_that_nothing_calls_is_refused_and_not_hinted_at() -> None:
    ((_, severity, text),) = alone(STEP)
    assert severity == "WARNING"
    assert text.startswith("optimizer.apply_gradients")
    summary = summarize(Document(STEP))
    assert "HVD001" not in [v.code for v in check(summary)]
    assert isinstance(distribute(summary), Refusal)


@pytest.mark.parametrize(
    "text",
    [
        STEP.replace("@tf.function\n", ""),  # it can be broadcast in the function itself
        STEP + "\n\nfor x, y in batches:\n    train_step(model, optimizer, x, y)\n",
        STEP + "\n\ndef fit(step=train_step):\n    pass\n",  # handed on: HVD204 has its say
        STEP
        + "\n\nnet = tf.keras.Sequential()\nnet.compile('sgd', 'mse')\nnet.fit(x, y)\n",  # an example left over
    ],
)
def test_near_misses(text: str) -> None:
    assert alone(text) == []


def test_strict_reports_every_step_without_a_loop() -> None:
    ((_, severity, _),) = alone(STEP.replace("@tf.function\n", ""), strict=True)
    assert severity == "INFORMATION"


def test_it_can_be_ignored() -> None:
    ignored = STEP.rstrip() + "  # horovodize: ignore[HVD201]\n"
    assert alone(ignored) == []
