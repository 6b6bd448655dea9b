"""G5: what a program makes of the steps so far, and compares steps with, is asked about; not what it makes of a mark."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of

HEAD = """\
import heapq
from collections import deque
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
opt = tf.keras.optimizers.SGD(0.1)
data = tf.data.Dataset.range(64).map(lambda i: tf.cast([i], tf.float32)).batch(4)
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
def save(step):
    model.save_weights("w.h5")
    return step + 24
"""
LOOP = """\
step = 0
for epoch in range(3):
    for x in data:
        train(x)
        step += 1
        {test}
            model.save_weights("w.h5")
            {moved}
"""


def asked(begun: str, test: str, moved: str) -> list[str]:
    plan = plan_of(HEAD + begun + "\n" + LOOP.format(test=test, moved=moved))
    return [d for d in doubts(plan, "G5") if "is made of them and of numbers for one process" in d]


@pytest.mark.parametrize(
    ("begun", "test", "moved"),
    [
        ("marks = {'save': 24}", "if step >= marks['save']:", "marks['save'] = step + 24"),
        ("marks = {'save': 24}", "if marks['save'] <= step:", "marks['save'] = 24 + step"),
        ("marks = [24]", "if step == marks[0]:", "marks[0] = step + 24"),
        ("marks = deque([24])", "if marks[0] <= step:", "marks.popleft(); marks.append(step + 24)"),
        (
            "marks = [(24, 'save')]",
            "while marks[0][0] <= step:",
            "heapq.heapreplace(marks, (step + 24, 'save'))",
        ),
        (
            "marks = [(24, save)]",
            "while marks and marks[0][0] <= step:",
            "f = heapq.heappop(marks)[1]; heapq.heappush(marks, (f(step), f))",
        ),
        ("mark = 16", "if step >= mark:", "mark = step * 2"),
        ("mark = 16", "if step == mark:", "mark = int(step * 1.5)"),
    ],
)
def test_a_mark_that_is_made_of_the_steps(begun: str, test: str, moved: str) -> None:
    assert len(asked(begun, test, moved)) == 1


@pytest.mark.parametrize(
    ("begun", "test", "moved"),
    [
        # near misses: divided where it is written; made of the earlier mark; the number of a step itself, or the next one
        ("mark = 24", "if step >= mark:", "mark = step + 24"),
        ("mark = 24", "if step >= mark:", "mark += 24"),
        ("marks = [(24, 'save')]", "while marks[0][0] <= step:", "heapq.heapreplace(marks, (marks[0][0] + 24, 'save'))"),
        ("last = {'save': 0}", "if step > last['save']:", "last['save'] = step"),
        ("last = {'save': 0}", "if step > last['save']:", "last['save'] = step + 1"),
        ("seen = [(0, 0.0)]", "if step > seen[0][0]:", "seen.append((step, 1.0))"),
    ],
)  # fmt: skip
def test_what_is_of_the_same_steps_is_not_asked_about(begun: str, test: str, moved: str) -> None:
    assert not asked(begun, test, moved)
