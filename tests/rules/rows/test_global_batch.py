"""`batch = "global"`: all ranks together take the batches that one process took, and nothing else changes; or it is refused."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.scaling import scaled
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = (
    "import numpy as np\nimport tensorflow as tf\nx_train, y_train = np.ones((960, 4)), np.ones((960, 1))\n"
)
MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
COMPILED = f'{MODEL}model.compile(tf.keras.optimizers.SGD(0.1), loss="mse")\n'
STEP = """optimizer = tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1000, 0.9))
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
GRAPH = """import numpy as np
import tensorflow.compat.v1 as tf
data, labels = np.load("x.npy"), np.load("y.npy")
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 1])
rate = tf.placeholder(tf.float32, [])
w = tf.Variable(tf.zeros([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
train_op = tf.train.GradientDescentOptimizer(rate).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(0, 1000, 50):
        sess.run(train_op, feed_dict={x: data[i : i + 50], y: labels[i : i + 50], rate: 0.1})
"""


def outcome(source: str, **options: object) -> Plan | Refusal:
    result = distribute(summarize(Document(source)), Options(batch="global", **options))  # type: ignore[arg-type]
    assert isinstance(result, (Plan, Refusal)), result
    return result


def plan_of(source: str) -> Plan:
    plan = outcome(source)
    assert isinstance(plan, Plan), plan
    compile(plan.text, "divided", "exec")
    return plan


def doubts(plan: Plan) -> list[str]:
    return [change.doubt for change in plan.to_confirm]


def refused(source: str, **options: object) -> str:
    refusal = outcome(source, **options)
    assert isinstance(refusal, Refusal), refusal
    return "; ".join(reason.message for reason in refusal.reasons)


# ---------------------------------------------------------------------- what must not change


@pytest.mark.parametrize(
    "kept",
    [
        "steps_per_epoch=100",
        "validation_steps=8",
        "initial_epoch=3",
    ],
)
def test_steps_of_fit_stay(kept: str) -> None:
    dataset = "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).repeat()\n"
    text = plan_of(f"{HEAD}{dataset}{COMPILED}model.fit(ds, epochs=9, validation_data=(a, b), {kept})\n").text
    assert kept in text
    assert "SGD(0.1)" in text
    assert "epochs=9" in text


def test_loops_and_schedules_stay() -> None:
    source = (
        f"{HEAD}{MODEL}{STEP}ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).repeat()\n"
        "for i, (a, b) in enumerate(ds.take(5000)):\n    step(a, b)\n    if i % 500 == 0:\n        model.save('m')\n"
    )
    text = plan_of(source).text
    for kept in ("ExponentialDecay(0.1, 1000, 0.9)", "ds.take(5000)", "i % 500 == 0"):
        assert kept in text
    assert "shard_dataset(tf.data.Dataset.from_tensor_slices((x, y))).batch(share_batch(64)).repeat()" in text


def test_a_stop_hook_stays() -> None:
    source = GRAPH.replace(
        "with tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())\n    for i in range(0, 1000, 50):",
        "step = tf.train.get_or_create_global_step()\nhooks = [tf.train.StopAtStepHook(last_step=700)]\n"
        "with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:\n    for i in range(0, 1000, 50):",
    )
    assert "StopAtStepHook(last_step=700)" in plan_of(source).text


def test_without_the_setting_nothing_is_divided_so() -> None:
    plan = distribute(summarize(Document(GRAPH)), Options())
    assert isinstance(plan, Plan)
    assert "share_rows" not in plan.text


# ---------------------------------------------------------------------- what is divided


def test_the_batch_of_fit() -> None:
    plan = plan_of(f"{HEAD}{COMPILED}model.fit(x_train, y_train, batch_size=64)\n")
    assert "model.fit(x_train[share], y_train[share], batch_size=share_batch(64)," in plan.text
    (fit,) = plan.scalings
    assert fit.sentence == (
        "Strong scaling: all ranks together take the batches that one process took, so rate and steps stay"
    )


def test_a_batch_that_is_not_given_is_keras_own() -> None:
    assert "batch_size=share_batch(32)" in plan_of(f"{HEAD}{COMPILED}model.fit(x_train, y_train)\n").text
    assert (
        "batch_size=share_batch(32)"
        in plan_of(f"{HEAD}{COMPILED}model.fit(x_train, y_train, batch_size=None)\n").text
    )


def test_an_option_that_may_be_none_is_keras_own_then() -> None:
    source = (
        f"{HEAD}import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--batch', type=int)\n"
        f"args = parser.parse_args()\n{COMPILED}model.fit(x_train, y_train, batch_size=args.batch)\n"
    )
    assert "batch_size=share_batch(args.batch or 32)" in plan_of(source).text


def test_rows_in_batches_of_a_dataset_that_is_made_elsewhere() -> None:
    source = (
        f"{HEAD}{COMPILED}ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)\nmodel.fit(ds)\n"
        "print(model.evaluate(ds))\n"
    )
    assert "model.fit(share_batches(ds)," in plan_of(source).text


def test_what_a_session_is_fed() -> None:
    text = plan_of(GRAPH).text
    assert "{x: share_rows(data[i : i + 50]), y: share_rows(labels[i : i + 50]), rate: 0.1}" in text
    assert "range(0, 1000, 50)" in text


def test_a_sum_is_added_up() -> None:
    text = plan_of(GRAPH.replace("reduce_mean", "reduce_sum")).text
    assert "split_rows(data[i : i + 50])" in text
    assert "op=hvd.Sum" in text


def test_slices_in_a_tapes_loop() -> None:
    loop = "for i in range(0, 1000, 50):\n    step(data[i : i + 50], labels[i : i + 50])\n"
    text = plan_of(f"{HEAD}{MODEL}{STEP}data, labels = np.load('x'), np.load('y')\n{loop}").text
    assert "step(share_parts(data[i : i + 50]), share_parts(labels[i : i + 50]))" in text


def test_an_order_is_divided_once() -> None:
    loop = (
        "order = np.random.RandomState(0).permutation(1000)\nfor i in range(0, 1000, 50):\n    own = order[i : i + 50]\n"
        "    step(data[own], labels[own])\n"
    )
    text = plan_of(f"{HEAD}{MODEL}{STEP}data, labels = np.load('x'), np.load('y')\n{loop}").text
    assert "own = share_parts(order[i : i + 50])\n    step(data[own], labels[own])" in text


def test_train_on_batch() -> None:
    loop = "for i in range(0, 1000, 50):\n    model.train_on_batch(data[i : i + 50], labels[i : i + 50])\n"
    text = plan_of(f"{HEAD}{COMPILED}data, labels = np.load('x'), np.load('y')\n{loop}").text
    assert "train_on_batch(share_parts(data[i : i + 50]), share_parts(labels[i : i + 50]))" in text


def test_hints_show_what_is_divided() -> None:
    plan = plan_of(
        f"{HEAD}{COMPILED}ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)\nmodel.fit(ds)\n"
    )
    assert {scale.text for scale in scaled(plan)} == {"÷ size()"}


# ---------------------------------------------------------------------- what is asked


def test_a_loss_that_may_be_no_mean_is_asked() -> None:
    (doubt,) = set(
        doubts(
            plan_of(
                f"{HEAD}{COMPILED.replace(chr(34) + 'mse' + chr(34), 'own_loss')}model.fit(x_train, y_train)\n"
            )
        )
    )
    assert "right for a loss that is a mean over rows" in doubt


@pytest.mark.parametrize("use", ["labels = tf.ones((BATCH, 1))", "noise = tf.random.normal([BATCH, 100])"])
def test_a_batch_size_that_shapes_something_else_is_asked(use: str) -> None:
    source = f"{HEAD}BATCH = 64\n{COMPILED}{use}\nmodel.fit(x_train, y_train, batch_size=BATCH)\n"
    (doubt,) = doubts(plan_of(source))
    assert "stays what it is in line 7" in doubt


@pytest.mark.parametrize(
    "use",
    ["steps = 6000 // BATCH", "print(f'batches of {BATCH}')", "test = tf.data.Dataset.range(9).batch(BATCH)"],
)
def test_a_batch_size_that_counts_is_not_asked(use: str) -> None:
    source = f"{HEAD}BATCH = 64\n{COMPILED}{use}\nmodel.fit(x_train, y_train, batch_size=BATCH)\n"
    assert not doubts(plan_of(source))


def test_items_of_a_loop_that_may_be_rows_are_asked() -> None:
    source = (
        f"{HEAD}{MODEL}{STEP}def rows():\n    for k in range(9):\n        yield data[k], labels[k]\n"
        "for a, b in rows():\n    step(a, b)\n"
    )
    plan = plan_of(source)
    assert "for a, b in (share_parts(batch) for batch in rows()):" in plan.text
    assert any("taken for a batch" in doubt or "a mean" in doubt for doubt in doubts(plan))


def test_batch_normalization_is_said() -> None:
    source = f"{HEAD}{COMPILED.replace('layers.Dense(1)', 'layers.BatchNormalization()')}model.fit(x_train, y_train)\n"
    assert any("batch normalization" in note.message for note in plan_of(source).notes)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{HEAD}{COMPILED}model.fit(x_train, y_train, **options)\n", id="hidden arguments"),
        pytest.param(
            f"{HEAD}{COMPILED}ds = tf.data.Dataset.from_generator(make, tf.float32)\nmodel.fit(ds)\n",
            id="a generator of rows or of batches",
        ),
        pytest.param(
            f"{HEAD}{MODEL}{STEP}for i in range(1000):\n    step(*reader.read())\n",
            id="what can't be seen",
        ),
        pytest.param(
            f"{HEAD}{MODEL}{STEP}data = np.load('x')\nfor i in range(1000):\n    step(data[i], data[i])\n",
            id="one row or one batch",
        ),
        pytest.param(GRAPH.replace("[None, 4]", "[50, 4]"), id="placeholders of one size"),
        pytest.param(
            GRAPH.replace("[]", "None").replace("rate: 0.1", "rate: rates[i]"), id="a row or a number"
        ),
        pytest.param(GRAPH.replace("y: labels[i : i + 50]", "y: labels"), id="a batch and all rows"),
        pytest.param(
            GRAPH.replace("tf.placeholder(tf.float32, [None, 1])", "tf.placeholder(tf.float32)").replace(
                "y: labels[i : i + 50]", "y: target"
            ),
            id="rows or a number",
        ),
        pytest.param(
            f"{HEAD}{MODEL}{STEP}ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)\n".replace(
                "tf.reduce_mean(tf.square(model(x) - y))",
                "tf.reduce_mean(tf.matmul(model(x), model(x), transpose_b=True))",
            )
            + "for a, b in ds:\n    step(a, b)\n",
            id="rows that the loss joins",
        ),
    ],
)
def test_what_can_not_be_divided_is_refused(source: str) -> None:
    assert 'use `batch = "per-rank"`' in refused(source)
    assert isinstance(distribute(summarize(Document(source)), Options()), (Plan, Refusal))


def test_data_that_stay_whole_are_no_global_batch() -> None:
    assert "choose one" in refused(f"{HEAD}{COMPILED}model.fit(x_train, y_train)\n", split_data=False)


def test_estimators_are_refused() -> None:
    source = (
        "import tensorflow as tf\nestimator = tf.compat.v1.estimator.LinearRegressor("
        "[], optimizer=tf.compat.v1.train.FtrlOptimizer(0.1))\n"
        "def data():\n    return tf.data.Dataset.range(99).batch(9)\nestimator.train(data, steps=100)\n"
    )
    assert "Estimator" in refused(source)
