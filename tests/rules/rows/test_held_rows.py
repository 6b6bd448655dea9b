"""D1: data sets of rows that Hugging Face's `datasets` hold."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from datasets import load_dataset
from transformers import TFAutoModelForSequenceClassification
raw = load_dataset("imdb")
"""
MODEL = 'model = TFAutoModelForSequenceClassification.from_pretrained("x")\n'
FIT = "model.compile(tf.keras.optimizers.Adam(1e-4))\nmodel.fit(train, epochs=3)\n"
SHARE = ".select(range(hvd.rank(), len({0}) // hvd.size() * hvd.size(), hvd.size()))".format


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        ('raw["train"].to_tf_dataset(columns="x", batch_size=8, shuffle=True)', 'raw["train"]'),
        ("rows.to_tf_dataset(batch_size=8)", "rows"),
        ("model.prepare_tf_dataset(rows, batch_size=8)", "rows"),
        ("model.prepare_tf_dataset(batch_size=8, dataset=rows)", "rows"),
        ("rows.to_tf_dataset(batch_size=8).prefetch(2)", "rows"),
    ],
)
def test_each_rank_selects_its_rows_before_they_are_read(made: str, rows: str) -> None:
    plan = plan_of(HEAD + f'rows = raw["train"]\n{MODEL}train = {made}\n{FIT}')
    assert f"train = {made.replace(rows, rows + SHARE(rows))}\n" in plan.text
    assert "shard" not in plan.text
    assert "Adam(1e-4 * hvd.size())" in plan.text


def test_loops_over_it_too() -> None:
    loop = """\
opt = tf.keras.optimizers.Adam(1e-4)
for batch in train:
    with tf.GradientTape() as tape:
        loss = model(batch).loss
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    text = plan_of(f'{HEAD}rows = raw["train"]\n{MODEL}train = rows.to_tf_dataset(batch_size=8)\n{loop}').text
    assert f"train = rows{SHARE('rows')}.to_tf_dataset(batch_size=8)\n" in text
    assert "for batch in train:\n" in text


def test_rows_that_are_not_written_twice_are_divided_as_batches() -> None:
    text = plan_of(f'{HEAD}{MODEL}train = raw["train"].map(len).to_tf_dataset(batch_size=8)\n{FIT}').text
    assert ".select(" not in text
    assert 'shard_stream(raw["train"].map(len).to_tf_dataset(batch_size=8))' in text


@pytest.mark.parametrize(
    "rows",
    [
        "from features import Table\nrows = Table('x')\n",
        "class Table:\n    def to_tf_dataset(self, batch_size):\n        return self.made\nrows = Table()\n",
    ],
)
def test_what_is_called_so_elsewhere_has_no_rows_to_select(rows: str) -> None:
    own = rows if rows.startswith("class") else HEAD.partition("from datasets")[0] + rows
    head = HEAD if rows.startswith("class") else ""
    model = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    text = plan_of(f"{head}{own}{model}train = rows.to_tf_dataset(batch_size=8)\n{FIT}").text
    assert ".select(" not in text


def test_what_is_validated_on_stays_whole() -> None:
    fit = FIT.replace("epochs=3", "validation_data=held, epochs=3")
    sets = "train = rows.to_tf_dataset(batch_size=8)\nheld = model.prepare_tf_dataset(raw['test'], batch_size=8)\n"
    text = plan_of(f'{HEAD}rows = raw["train"]\n{MODEL}{sets}{fit}').text
    assert "held = model.prepare_tf_dataset(raw['test'], batch_size=8)\n" in text


SEEDED = "seed=0 if hvd.size() > 1 else None"


@pytest.mark.parametrize(
    ("ordered", "after"),
    [
        ("raw['train'].shuffle()", f"raw['train'].shuffle({SEEDED})"),
        (
            "raw['train'].train_test_split(test_size=0.1)['train']",
            f"raw['train'].train_test_split(test_size=0.1, {SEEDED})['train']",
        ),
        ("raw['train'].shuffle(seed=3)", "raw['train'].shuffle(seed=3)"),
        (
            "raw['train'].train_test_split(0.1, shuffle=False)['train']",
            "raw['train'].train_test_split(0.1, shuffle=False)['train']",
        ),
    ],
)
def test_rows_are_shuffled_and_split_alike(ordered: str, after: str) -> None:
    text = plan_of(f"{HEAD}rows = {ordered}\n{MODEL}train = rows.to_tf_dataset(batch_size=8)\n{FIT}").text
    assert f"rows = {after}\n" in text


def test_numpys_seed_seeds_them() -> None:
    source = f"{HEAD}np.random.seed(3)\nrows = raw['train'].shuffle()\n{MODEL}train = rows.to_tf_dataset(batch_size=8)\n{FIT}"
    assert "rows = raw['train'].shuffle()\n" in plan_of(source).text


@pytest.mark.parametrize(
    ("steps", "after"),
    [
        ("len(train) * 3", "len(train) * 3"),  # a rank's own
        ("len(rows) // 8 * 3", "len(rows) // 8 * 3"),
    ],
)
def test_numbers_of_steps(steps: str, after: str) -> None:
    made = "opt, schedule = create_optimizer(2e-5, num_train_steps=steps, num_warmup_steps=0)\n"
    source = (
        f'{HEAD}from transformers import create_optimizer\nrows = raw["train"]\n{MODEL}'
        f"train = rows.to_tf_dataset(batch_size=8)\nsteps = {steps}\n{made}model.compile(opt)\nmodel.fit(train, epochs=3)\n"
    )
    plan = plan_of(source)
    assert f"steps = {after}\n" in plan.text
    divided = "steps" if steps.startswith("len(train)") else "steps / hvd.size()"
    assert f"create_optimizer(2e-5 * hvd.size(), num_train_steps={divided}, num_warmup_steps=0)" in plan.text
    assert not doubts(plan, "K1")
