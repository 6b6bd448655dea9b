"""D1: pipelines that a dict or a property holds are shuffled alike, too."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

FITTED = "model = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\nmodel.fit({}, steps_per_epoch=9)\n"
SHUFFLED = "tf.data.Dataset.from_tensor_slices(x).shuffle(99{})"
SEED = ", seed=0 if hvd.size() > 1 else None"


@pytest.mark.parametrize(
    ("made", "held"),
    [
        ("data = {{'train': {}, 'test': other}}\nshow(data)\n", "data['train'].batch(8).repeat()"),
        ("data = {{}}\ndata['train'] = {}\n", "data['train'].batch(8).repeat()"),
        (
            "class Data:\n    @property\n    def train(self):\n        return {}.batch(8)\ndata = Data()\n",
            "data.train",
        ),
    ],
)
def test_what_is_divided_where_it_is_used_is_shuffled_alike(made: str, held: str) -> None:
    text = plan_of(TF + made.format(SHUFFLED.format("")) + FITTED.format(held)).text
    assert SHUFFLED.format(SEED) in text


def test_what_goes_by_another_key_is_left() -> None:
    made = f"data = {{'train': tf.data.Dataset.from_tensor_slices(x), 'test': {SHUFFLED.format('')}}}\n"
    text = plan_of(TF + made + FITTED.format("data['train'].batch(8)")).text
    assert SHUFFLED.format("") in text


def test_windows_that_are_shuffled() -> None:
    windows = "tf.keras.utils.timeseries_dataset_from_array(x, y, 9{})"
    shuffled = plan_of(TF + FITTED.format(windows.format(", shuffle=True"))).text
    assert windows.format(", shuffle=True" + SEED) in shuffled
    assert windows.format("") in plan_of(TF + FITTED.format(windows.format(""))).text


GIVEN = """\
import tensorflow as tf
def make(count):
    ds = tf.data.Dataset.range(64).batch(4).repeat(count)
    return iter(ds)
model, opt = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(0.1)
{made}
other = make(None)
for _ in range(16):
    x = train.get_next()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
print(other.get_next())
"""


@pytest.mark.parametrize("made", ["train = make(3)", "pick = make\ntrain = pick(3)\nkept = train"])
def test_an_iterator_that_a_function_gives_is_no_data_set(made: str) -> None:
    plan = plan_of(GIVEN.format(made=made))
    for helper in ("shard_dataset", "shard_records", "shard_stream", "shard_steps"):
        assert f"{helper}(train)" not in plan.text
    scaled = "SGD(0.1 * hvd.size())" in plan.text
    assert scaled is ("share=" in plan.text)
