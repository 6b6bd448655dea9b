"""D1: what a function makes to train by is divided, and what it makes to measure by is not."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf


def input_fn({parameters}):
{made}
    iterator = tf.data.make_initializable_iterator(dataset.batch(16))
    return iterator.get_next(), iterator.initializer


data = np.load("x.npy")
{calls}
w = tf.get_variable("w", [4, 4])
loss = tf.reduce_mean(tf.square(tf.matmul(a, w) - a))
measured = tf.reduce_mean(tf.square(tf.matmul(b, w) - b))
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        sess.run(begin)
        for i in range(40):
            sess.run(train_op)
        sess.run(again)
        print(np.mean([sess.run(measured) for i in range(10)]))
"""
ARMS = """\
    if {test}:
        dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(len(rows))
    else:
        dataset = tf.data.Dataset.from_tensor_slices(rows)
"""
ONE = """\
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    if training:
        dataset = dataset.shuffle(len(rows))
"""
CALLS = "a, begin = input_fn({}, data[:640])\nb, again = input_fn({}, data[640:])"


@pytest.mark.parametrize(
    ("parameters", "test", "calls"),
    [
        ("training, rows", "training", CALLS.format("True", "False")),
        ("mode, rows", 'mode == "train"', CALLS.format('"train"', '"eval"')),
        ("evaluating, rows", "not evaluating", CALLS.format("False", "True")),
        (
            "rows, training=True",
            "training",
            "a, begin = input_fn(data[:640])\nb, again = input_fn(data[640:], training=False)",
        ),
        (
            "mode, rows",
            "mode == tf.estimator.ModeKeys.TRAIN",
            CALLS.format("tf.estimator.ModeKeys.TRAIN", "tf.estimator.ModeKeys.EVAL"),
        ),
    ],
)  # fmt: skip
def test_the_arm_that_only_training_runs_is_divided(parameters: str, test: str, calls: str) -> None:
    """Both were: an evaluation of as many steps as alone came to the end of its rows, and the run failed."""
    source = GRAPH.format(parameters=parameters, made=ARMS.format(test=test), calls=calls)
    plan = plan_of(source)
    divided = [line.strip() for line in plan.text.splitlines() if "shard_records(tf" in line]
    assert divided == ["dataset = shard_records(tf.data.Dataset.from_tensor_slices(rows)).shuffle(len(rows))"]
    assert [c for c in plan.to_confirm if c.rule == "D1"] == []


def test_what_both_run_is_divided_where_training_calls_it() -> None:
    source = GRAPH.format(parameters="training, rows", made=ONE, calls=CALLS.format("True", "False"))
    plan = plan_of(source)
    assert "a, begin = input_fn(True, data[:640], share=shard_records)" in plan.text
    assert "b, again = input_fn(False, data[640:])" in plan.text
    assert [c for c in plan.to_confirm if c.rule == "D1"] == []


def test_data_that_is_called_what_it_is_for() -> None:
    """What trains is made of both: a function builds both models, one after the other."""
    calls = "train, begin = input_fn(True, data[:640])\ntest, again = input_fn(False, data[640:])\n"
    calls += "a, b = (lambda f: (f(train), f(test)))(tf.identity)"
    plan = plan_of(GRAPH.format(parameters="training, rows", made=ONE, calls=calls))
    assert "test, again = input_fn(False, data[640:])" in plan.text


def test_two_that_train_are_both_divided() -> None:
    source = GRAPH.format(
        parameters="training, rows", made=ARMS.format(test="training"), calls=CALLS.format("True", "True")
    ).replace("minimize(loss)", "minimize(loss + measured)")
    text = plan_of(source).text
    assert "share=" not in text
    assert "shard_records(tf.data.Dataset.from_tensor_slices(rows)).shuffle(len(rows))" in text


FIT = """\
import numpy as np
import tensorflow as tf


def make(files, mode="test"):
    training = mode == "train"
    if training:
        return tf.data.TFRecordDataset(files).map(parse).shuffle(100).batch(16)
    return tf.data.TFRecordDataset(files).map(parse).batch(16)


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(make(["a"], {mode}), validation_data=make(["b"]))
"""


def test_fit_needs_no_parameter_either() -> None:
    text = plan_of(FIT.format(mode='"train"')).text
    assert "share=" not in text
    assert "return tf.data.TFRecordDataset(files).map(parse).batch(16)" in text


def test_a_mode_that_is_not_seen_needs_one() -> None:
    assert (
        "share="
        in plan_of(FIT.format(mode="sys.argv[1]").replace("import numpy", "import sys\nimport numpy")).text
    )


@pytest.mark.parametrize("options", ["**options", "*options"])
def test_a_call_that_unpacks_what_it_gives_may_train(options: str) -> None:
    """Its mode isn't the default that a function has."""
    source = FIT.format(mode='"train"').replace('make(["b"])', f'make(["b"], {options})')
    assert "share=" in plan_of(f"options = read()\n{source}").text
