"""L1: what becomes elastic, and near misses, which must not: a state that isn't named trains on wrongly after a restart."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.runtime import ELASTIC
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.ones((64, 1), "float32"), np.ones((64, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
"""
STEP = """\
optimizer = tf.keras.optimizers.SGD(0.1)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64).batch(8)
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""
LOOP = """\
for epoch in range(3):
    for a, b in dataset:
        train_step(a, b)
"""
FIT = 'model.compile(tf.keras.optimizers.SGD(0.1), "mse")\nmodel.fit(x, y, epochs=3)\n'
TAPE = HEAD + STEP + LOOP


def made(source: str, **options: str) -> str:
    result = distribute(summarize(Document(source)), Options(elastic=True, comments=False, **options))  # type: ignore[arg-type]
    assert isinstance(result, Plan), result
    compile(result.text, "distributed", "exec", dont_inherit=True)
    assert result.beside == (ELASTIC,)
    return result.text


def refused(source: str) -> str:
    result = distribute(summarize(Document(source)), Options(elastic=True))
    assert isinstance(result, Refusal), result.text if isinstance(result, Plan) else result
    assert isinstance(
        distribute(summarize(Document(source))), Plan
    )  # what is refused is the elastic form alone
    return " ".join(reason.message for reason in result.reasons)


def has(text: str, *lines: str) -> None:
    for line in lines:
        assert line in text.splitlines(), text


# ---------------------------------------------------------------------- what is made


def test_the_loop_becomes_a_function_of_a_state() -> None:
    text = made(TAPE)
    has(
        text,
        "state = elastic.State(model, optimizer, commit_every=100)",
        "    for epoch in state.epochs(range(3)):",
        "        for a, b in state.batches(dataset):",
        "            train_step(a, b)",
        "train(state)",
    )
    assert "rows_left(tf.data.Dataset.from_tensor_slices((x, y)), shuffle=64).batch(8)" in text
    assert "broadcast_variables" not in text
    assert "first_batch" not in text


def test_without_the_option_nothing_is_elastic() -> None:
    plain = distribute(summarize(Document(TAPE)))
    assert isinstance(plain, Plan)
    assert "elastic" not in plain.text
    assert not plain.beside


def test_names_that_the_file_has_are_left_alone() -> None:
    text = made("state = train = elastic = 1\n" + TAPE)
    has(text, "import horovod_elastic as hvd_elastic", "hvd_train(hvd_state)")


def test_what_is_handed_on_and_read_later_is_in_the_state() -> None:
    text = made(
        HEAD
        + STEP
        + "best = 9.0\nlog = []\n"
        + LOOP
        + "    now = float(tf.reduce_mean(model(x)))\n    best = min(best, now)\n"
        "    log.append(now)\nprint(best, now, log)\n"
    )
    has(
        text,
        "state = elastic.State(model, optimizer, commit_every=100, now=None, best=best, log=log)",
        "    now, best, log = state.now, state.best, state.log",
        "        state.now, state.best, state.log = now, best, log",
        "    return now, best, log",
        "now, best, log = train(state)",
    )


def test_what_each_turn_sets_anew_is_not() -> None:
    assert "commit_every=100)" in made(
        HEAD + STEP + LOOP + "    seen = [i for i in range(epoch)]\n    print(seen)\n"
    )


def test_metrics_are_kept_with_the_model() -> None:
    text = made(
        HEAD
        + STEP
        + "mean = tf.keras.metrics.Mean()\n"
        + LOOP.replace("train_step(a, b)", "mean.update_state(train_step(a, b))")
    )
    has(text, "state = elastic.State(model, optimizer, mean, commit_every=100)")


@pytest.mark.parametrize(
    "source",
    [
        TAPE.replace("train_step(a, b)", "train_step(a, b)\n        n = n + 1").replace(
            "    for a,", "    n = 0\n    for a,"
        ),
        TAPE.replace(".shuffle(64).batch(8)", ".map(lambda a, b: (a, b)).shuffle(64).batch(8)"),
        TAPE.replace(".batch(8)", ".batch(8).cache()"),
        TAPE.replace(".shuffle(64)", ".shuffle(64, reshuffle_each_iteration=False)"),
        TAPE.replace("for a, b in dataset", "for i, (a, b) in enumerate(dataset)"),
        TAPE.replace("    for a,", "    order = np.arange(9)\n    for a,"),
    ],
    ids=["a count within the epoch", "shuffled late", "kept", "one order", "numbered", "begun before"],
)
def test_an_epoch_whose_rest_cannot_be_told_begins_again(source: str) -> None:
    text = made(source)
    assert "commit_every" not in text
    assert "state.batches" not in text
    assert "state.epochs(range(3))" in text
    assert "rows_left(tf.data.Dataset.from_tensor_slices((x, y)))" in text


def test_numbers_of_batches_are_dealt_out_by_the_state() -> None:
    text = made(
        HEAD
        + STEP
        + LOOP.replace("a, b in dataset", "i in range(8)").replace("(a, b)", "(x[i * 8:][:8], y[i * 8:][:8])")
    )
    has(text, "        for i in state.turns(range(8)):")
    assert "def shard" not in text


def test_a_loop_in_a_function_stays_there() -> None:
    text = made(
        HEAD
        + STEP
        + "def main(epochs):\n"
        + "".join(f"    {line}\n" for line in LOOP.splitlines())
        + "main(3)\n"
    )
    has(
        text,
        "    @elastic.run",
        "    def train(state):",
        "            for a, b in state.batches(dataset):",
        "    train(state)",
    )


@pytest.mark.parametrize(
    ("rate", "said"), [("linear", ""), ("sqrt", ', rate="sqrt"'), ("keep", ', rate="keep"')]
)
def test_rates_grow_with_the_ranks_as_they_were_scaled(rate: str, said: str) -> None:
    assert f"commit_every=100{said})" in made(TAPE, rate=rate)


def test_a_rate_that_was_not_scaled_stays_when_ranks_change() -> None:
    text = made(TAPE.replace(".shuffle(64).batch(8)", ".batch(64)"))
    assert "SGD(0.1)" in text
    assert 'rate="keep")' in text


@pytest.mark.parametrize(
    ("by", "refuses"),
    [
        ("0.1 * 0.9 ** epoch", False),  # told again where an epoch begins again
        ("0.1 / (1 + float(optimizer.iterations))", True),
    ],
)
def test_a_rate_by_the_steps_of_all_ranks_is_refused(by: str, refuses: bool) -> None:
    line = f"    optimizer.learning_rate.assign({by})\n"
    source = TAPE.replace("    for a, b in dataset:\n", f"{line}    for a, b in dataset:\n")
    assert source != TAPE
    if refuses:
        assert "by how many ranks there are now" in refused(source)
    else:
        assert f"optimizer.learning_rate.assign({by} * hvd.size())" in made(source)


def test_the_rate_of_an_optimizer_that_is_wrapped_where_it_is_used_grows_with_the_ranks() -> None:
    source = HEAD + FIT.replace(
        "model.compile(", 'optimizer = "adam"\nmodel.compile(optimizer, "mse")\n_ = ('
    )
    text = made(source)
    assert ".learning_rate * hvd.size()" in text
    has(text, "state = elastic.State(model, model.optimizer)")


def test_fit_goes_on_from_an_epoch() -> None:
    text = made(HEAD + FIT.replace("model.fit", "history = model.fit"))
    has(text, "state = elastic.State(model, model.optimizer)", "history = train(state)")
    assert "return model.fit(x[share], y[share], epochs=3, callbacks=callbacks," in text
    assert (
        text.index("def train(") < text.index("share = slice(") < text.index("return model.fit(")
    )  # for each number of ranks
    assert "initial_epoch=state.epoch)" in text
    assert "BroadcastGlobalVariablesCallback" not in text
    assert text.index("MetricAverageCallback") < text.index("CommitEpochs(state)")


# ---------------------------------------------------------------------- near misses

OUTER = HEAD + STEP
REFUSED = {
    "weights that come with the first step": (TAPE.replace(", input_shape=(1,)", ""), "no weights before"),
    "a variable updated by hand": (
        OUTER + "slow = tf.Variable(0.0)\n" + LOOP + "        slow.assign(slow * 0.5)\n",
        "can't be seen what that is",
    ),
    "variables updated through another name": (
        OUTER + "sums = [tf.Variable(0.0)]\n" + LOOP + "        for v in sums:\n            v.assign_add(1.0)\n",
        "can't be seen what that is",
    ),
    "a global that a function sets": (
        OUTER.replace("def train_step(x, y):\n", "n = 0\ndef train_step(x, y):\n    global n\n    n = n + 1\n") + LOOP,
        "can't be seen what that is",
    ),
    "a list that a function is given": (
        OUTER + "log = []\ndef keep(rows, value):\n    rows.append(value)\n" + LOOP + "    keep(log, epoch)\n",
        "can't be seen what that is",
    ),
    "an attribute": (OUTER + "class A: pass\nkept = A()\n" + LOOP + "    kept.n = epoch\n", "can't be seen what that is"),
    "a name that a function reads": (
        OUTER + "n = 0\ndef show():\n    print(n)\n" + LOOP + "    n = n + 1\n    show()\n",
        "read as a global name",
    ),
    "an iterator that goes on": (OUTER + "more = iter([1, 2, 3])\n" + LOOP + "    next(more)\n", "can't be seen what that is"),
    "an epoch that is cut short": (
        OUTER + "n = 0\n" + LOOP + "    if epoch == 1:\n        continue\n    n = n + epoch\nprint(n)\n",
        "cut short",
    ),
    "one loop": (OUTER + "for a, b in dataset:\n    train_step(a, b)\n", "a loop over `range(…)` of epochs"),
    "no range": (OUTER + LOOP.replace("range(3)", "[1, 2, 3]"), "a loop over `range(…)` of epochs"),
    "an unknown length": (TAPE.replace(".shuffle(64)", ".filter(lambda a, b: a[0] > 0)").replace(
        "from_tensor_slices((x, y))", "from_tensor_slices((x, y)).filter(lambda a, b: a[0] > 0)"), "how many elements"),
    "a length that is asked for": (OUTER + "n = len(dataset)\n" + LOOP + "print(n)\n", "can't be asked for"),
    "a schedule": (
        TAPE.replace("SGD(0.1)", "SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1000, 0.9))"),
        "a schedule's rates",
    ),
    "one order for all": (
        OUTER + LOOP.replace("    for a, b in dataset:\n        train_step(a, b)", "    order = np.random.permutation(64)\n"
        "    for i in range(8):\n        rows = order[i * 8:(i + 1) * 8]\n        train_step(x[rows], y[rows])"),
        "from one stream",
    ),
    "a path that rank 0 has": (
        OUTER + "keeper = tf.train.Checkpoint(model=model)\n" + LOOP + "    path = keeper.save('kept')\nprint(path)\n",
        "only rank 0 has this",
    ),
    "a writer of rank 0": (
        OUTER + "writer = tf.summary.create_file_writer('logs')\n" + LOOP + "    with writer.as_default():\n"
        "        tf.summary.scalar('epoch', epoch, step=epoch)\n",
        "the ranks of the start",
    ),
    "two places that train": (
        TAPE + "other = tf.keras.optimizers.SGD(0.1)\n"
        + LOOP.replace("train_step(a, b)", "other.minimize(lambda: model(a), model.variables)"),
        "several places",
    ),
    "callbacks made before": (
        HEAD + FIT.replace("model.fit", "kept = [tf.keras.callbacks.ModelCheckpoint('m.h5')]\nmodel.fit").replace(
            "epochs=3", "epochs=3, callbacks=kept"),
        "the ranks of the start",
    ),
    "a callback that counts": (
        HEAD + FIT.replace("epochs=3", "epochs=3, callbacks=[tf.keras.callbacks.EarlyStopping()]"),
        "`EarlyStopping` keeps something",
    ),
    "a checkpoint of the best": (
        HEAD + FIT.replace("epochs=3", "epochs=3, callbacks=[tf.keras.callbacks.ModelCheckpoint('m', save_best_only=True)]"),
        "`ModelCheckpoint` keeps something",
    ),
    "a fit in a loop": (HEAD + FIT.replace("model.fit", "for i in range(3):\n    model.fit"), "that runs once"),
    "an epoch to begin with": (HEAD + FIT.replace("epochs=3", "epochs=3, initial_epoch=1"), "`initial_epoch`"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_state_that_is_not_named_is_refused(name: str) -> None:
    source, reason = REFUSED[name]
    assert reason in refused(source)


def test_sessions_are_refused() -> None:
    source = (
        "import tensorflow.compat.v1 as tf\nx = tf.placeholder(tf.float32)\nw = tf.Variable(1.0)\n"
        "train_op = tf.train.AdamOptimizer(0.001).minimize(tf.reduce_mean(tf.square(x - w)))\n"
        "sess = tf.Session()\n"
        "sess.run(tf.global_variables_initializer())\nfor i in range(1000):\n"
        "    sess.run(train_op, {x: rows[i * 8:i * 8 + 8]})\n"
    )
    assert "sessions and Estimators" in refused("rows = [1.0] * 8000\n" + source)


def test_keras_3_and_global_batches_are_refused() -> None:
    for options in (Options(elastic=True, tensorflow="2.18"), Options(elastic=True, batch="global")):
        assert isinstance(distribute(summarize(Document(HEAD + FIT)), options), Refusal)
