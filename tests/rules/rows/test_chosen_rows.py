"""D3: rows that a program chooses for `fit` by draws, or by what a model says at random."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import random
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split
x, y = np.load('x.npy'), np.load('y.npy')
model = tf.keras.Sequential([tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
"""
POOL = """\
known, pool = np.arange(32), np.arange(32, 256)
for turn in range(4):
    model.fit(x[known], y[known], epochs=3)
    {scores}
    chosen = pool[np.argsort(scores)[-16:]]
    known = {known}
    pool = np.setdiff1d(pool, chosen)
"""
NEXT = "np.concatenate([known, chosen])"
DROPOUT = "scores = np.var([model(x[pool], training=True).numpy() for _ in range(9)], axis=0)[:, 0]"
KEPT = """\
kept = []
while len(kept) < 50:
    i = random.randint(0, 255)
    if i not in kept:
        kept.append(i)
rest = [i for i in range(256) if i not in kept]
"""
ALL = "model.fit(x[rest], y[rest], validation_data=(x[kept], y[kept]))\n"


def chosen(source: str, *whats: str) -> list[str]:
    plan = plan_of(HEAD + source)
    found = [c for c in changes(plan, "D3") if c.what in whats]
    return [plan.document.text[c.span.start : c.span.end] for c in found]


@pytest.mark.parametrize(
    "source",
    [
        POOL.format(
            scores="scores = model(x[pool], training=False).numpy()[:, 0]", known=NEXT
        ),  # the same model
        POOL.format(scores="scores = model.predict(x[pool])[:, 0]", known=NEXT),
        POOL.format(scores="scores = np.random.RandomState(0).rand(len(pool))", known=NEXT),
        POOL.format(scores="scores = np.random.rand(len(pool))", known="chosen").replace(
            "    pool = np.setdiff1d(pool, chosen)\n", ""
        ),  # other rows in each round
        "model.fit(x + np.random.normal(size=x.shape), x)\n",
    ],
)
def test_rows_that_are_the_same_or_drawn_anew_are_left(source: str) -> None:
    assert chosen(source, "Train on the rows that rank 0 chooses") == []


@pytest.mark.parametrize(
    "source",
    [
        POOL.format(scores=DROPOUT, known=NEXT),
        POOL.format(scores="scores = np.random.rand(len(pool))", known=NEXT),
    ],
)
def test_rows_that_are_gathered_by_draws_are_rank_0s(source: str) -> None:
    assert chosen(source, "Train on the rows that rank 0 chooses") == ["x[known]", "y[known]"]


@pytest.mark.parametrize(
    "source",
    [
        KEPT.replace("kept = []", "random.seed(3)\nkept = []") + ALL,
        "a, b, c, d = train_test_split(x, y)\nmodel.fit(a, c, validation_data=(b, d))\n",
        "def noisy(x):\n    return x + np.random.normal(size=x.shape)\n"
        "model.fit(noisy(x), x, validation_data=(noisy(y), y))\n",
        "i = np.random.permutation(256)\nmodel.fit(x[i[:200]], y[i[:200]], validation_data=(x[i[200:]], y[i[200:]]))\n",
        "i = np.random.choice(256, 50)\nmodel.fit(x, y, validation_data=(x[i], y[i]))\n",
    ],
)
def test_validation_rows_that_are_alike_are_left(source: str) -> None:
    assert chosen(source, "Validate on the rows that rank 0 keeps for that") == []


def test_validation_rows_that_each_rank_draws_are_rank_0s() -> None:
    assert chosen(KEPT + ALL, "Validate on the rows that rank 0 keeps for that") == ["x[kept]", "y[kept]"]


ROUNDS = """\
pool = np.load('pool.npy')
for turn in range(4):
    scores = {scores}
    keep = {keep}
    labels = scores[keep].argmax(1)
    model.fit({rows}, {labels}, epochs=3)
"""
SAID = "np.mean([model(pool, training=True).numpy() for _ in range(4)], axis=0)"
SURE = "scores.max(1) > 0.8"
JOINED = {"rows": "np.concatenate([x, pool[keep]])", "labels": "np.concatenate([y, labels])"}


@pytest.mark.parametrize(
    ("scores", "keep", "rows"),
    [
        ("model(pool, training=False).numpy()", SURE, JOINED),  # the same model
        ("model.predict(pool)", SURE, JOINED),
        (SAID, SURE, {"rows": "x", "labels": "y"}),  # something else is trained on
        (
            SAID,
            "slice(0, 64)",
            {"rows": "pool[keep]", "labels": "labels"},
        ),  # equally many, drawn anew in each round
        (SAID, SURE, {"rows": "np.stack([x, x])", "labels": "y"}),
    ],
)
def test_rounds_that_take_equally_many_rows_are_left(scores: str, keep: str, rows: dict[str, str]) -> None:
    source = ROUNDS.format(scores=scores, keep=keep, **rows)
    assert chosen(source, "Train on the rows that rank 0 chooses") == []


@pytest.mark.parametrize("rows", [JOINED, {"rows": "pool[keep]", "labels": "labels"}])
def test_rows_whose_number_a_model_says_with_dropout_are_rank_0s(rows: dict[str, str]) -> None:
    """Ranks with other numbers of rows would take other numbers of steps, and wait for each other."""
    source = ROUNDS.format(scores=SAID, keep=SURE, **rows)
    assert chosen(source, "Train on the rows that rank 0 chooses") == list(rows.values())


def test_arrays_put_together_have_the_rows_of_all_of_them() -> None:
    drawn = "kept = x[np.random.rand(len(x)) < 0.5]\n"
    text = plan_of(HEAD + drawn + "rows = np.concatenate([x, kept])\nmodel.fit(rows, rows)\n").text
    assert "x[hvd.broadcast_object(np.random.rand(len(x))) < 0.5]" in text


@pytest.mark.parametrize("scores", [SAID, "model.predict(pool)"])
def test_so_are_those_of_a_data_set(scores: str) -> None:
    source = ROUNDS.format(scores=scores, keep=SURE, rows="data", labels="")
    made = "data = tf.data.Dataset.from_tensor_slices((pool[keep], labels)).batch(8)\n    model.fit(data, "
    source = source.replace("model.fit(data, , ", made)
    found = chosen(source, "Train on the rows that rank 0 chooses")
    assert found == (["(pool[keep], labels)"] if scores == SAID else [])


BOOTSTRAP = """\
for turn in range(3):
    i = {}
    rest = np.setdiff1d(np.arange(256), i)
    model.fit(x[i], y[i]{})
    {}
"""
VALIDATED = ", validation_data=(x[rest], y[rest])"


@pytest.mark.parametrize(
    ("draw", "validated", "then"),
    [
        ("np.random.choice(256, 256)", "", "pass"),  # each rank's own, and no others see them
        ("np.random.choice(256, 256)", ", validation_data=(x[:50], y[:50])", "pass"),
        ("np.random.choice(256, 256)", "", "print(model.evaluate(x[i], y[i]))"),
        ("np.random.choice(256, 256)", "", "print(model.evaluate(x, y))"),
        ("np.random.RandomState(turn).choice(256, 256)", VALIDATED, "pass"),
    ],
)
def test_a_bootstrap_that_nothing_is_kept_from_is_left(draw: str, validated: str, then: str) -> None:
    source = HEAD + BOOTSTRAP.format(draw, validated, then)
    assert f"    i = {draw}\n" in plan_of(source).text
    assert "broadcast_object" not in plan_of(source).text


@pytest.mark.parametrize(
    ("validated", "then"),
    [
        (VALIDATED, "pass"),
        (VALIDATED, "print(model.evaluate(x[rest], y[rest]))"),
        ("", "print(model.evaluate(x[rest], y[rest]))"),
        ("", "votes = model.predict(x[rest])"),
    ],
)
def test_a_bootstrap_is_drawn_alike_where_the_rest_is_kept_for_validation(validated: str, then: str) -> None:
    text = plan_of(HEAD + BOOTSTRAP.format("np.random.choice(256, 256)", validated, then)).text
    assert "    i = hvd.broadcast_object(np.random.choice(256, 256))\n" in text
    assert "model.fit(shard(x[i]), shard(y[i])" in text
    assert "broadcast_object(x" not in text


def test_what_cannot_be_drawn_alike_is_rank_0s_for_training_and_for_validation() -> None:
    draw = "tf.random.uniform([256], 0, 256, tf.int32).numpy()"
    source = BOOTSTRAP.format(draw, VALIDATED, "pass")
    assert chosen(source, "Train on the rows that rank 0 chooses") == ["x[i]", "y[i]"]
    assert chosen(source, "Validate on the rows that rank 0 keeps for that") == ["x[rest]", "y[rest]"]
