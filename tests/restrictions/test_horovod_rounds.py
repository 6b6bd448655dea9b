"""Faults that were put blind into public scripts and missed at first, and what resembles them."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.restrictions.violation import Severity
from horovodize.source import Document
from horovodize.summary import summarize

START = """\
import random
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
"""
FITS = (
    START
    + """\
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
BEFORE
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
AFTER
model.fit(x, y, callbacks=callbacks)
"""
)
TAPES = """\
import optuna
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = tf.data.Dataset.from_tensor_slices(load()).repeat().shuffle(100).batch(8)

def step(x, y, first, averaged=True):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    if averaged:
        tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
    return loss

def objective(trial):
    for i, (x, y) in enumerate(rows.take(100 // hvd.size())):
        loss = step(x, y, i == 0)
        INSIDE
    return loss
"""


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


def fits(before: str = "", after: str = "") -> set[str]:
    return codes(FITS.replace("BEFORE", before).replace("AFTER", after))


def objective(inside: str, begun: str) -> set[str]:
    return codes(TAPES.replace("INSIDE", inside) + begun)


def test_the_script_itself_is_right() -> None:
    assert fits() == set()
    assert objective("pass", "objective(None)") == set()


CHECKPOINT = 'callbacks.append(tf.keras.callbacks.ModelCheckpoint("best.h5"))'


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("hvd.rank() >= 0", {"HVD314"}),
        ("hvd.rank() > -1", {"HVD314"}),
        ("hvd.rank() == 0", set()),
        ("hvd.size() > 1", {"HVD314"}),
        ("hvd.size() == 1", set()),
        ("is_root", set()),
    ],
)
def test_a_callback_under_a_test_that_all_ranks_answer_alike(test: str, found: set[str]) -> None:
    assert fits(after=f"if {test}:\n    {CHECKPOINT}") == found


def test_a_callback_in_a_list_that_is_thrown_away() -> None:
    broadcast = "hvd.callbacks.BroadcastGlobalVariablesCallback(0)"
    without = FITS.replace(f"{broadcast}, ", "").replace("BEFORE", "")
    assert codes(without.replace("AFTER", f"callbacks + [{broadcast}]")) == {"HVD306"}
    assert codes(without.replace("AFTER", f"callbacks = callbacks + [{broadcast}]")) == set()
    assert codes(without.replace("AFTER", f"callbacks += [{broadcast}]")) == set()


SCHEDULED = "callbacks.append(tf.keras.callbacks.LearningRateScheduler(slower))"


@pytest.mark.parametrize(
    ("rate", "found"),
    [
        ("0.01 * 0.1 ** (epoch // 5)", {"HVD310"}),
        ("0.01 / (1 + 0.5 * epoch)", {"HVD310"}),
        ("0.01 * np.exp(-0.1 * epoch)", {"HVD310"}),
        ("max(0.01 * 0.9 ** epoch, 0.001)", {"HVD310"}),
        ("0.01 * hvd.size() * 0.1 ** (epoch // 5)", set()),
        ("rate * 0.9 ** epoch", set()),  # the optimizer's, which has grown
        ("0.01 * 2.0 ** np.log2(hvd.size())", set()),
        ("0.01 * scaled(epoch)", set()),
        ("0.01 * np.sqrt(hvd.size())", set()),
        ("0.01 + epoch * hvd.size()", set()),
    ],
)
def test_a_schedule_of_rates_of_one_process(rate: str, found: set[str]) -> None:
    assert fits(after=f"def slower(epoch, rate):\n    return {rate}\n{SCHEDULED}") == found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("model.optimizer.lr = model.optimizer.lr * hvd.size()", {"HVD309"}),
        ("model.optimizer.learning_rate.assign(hvd.size() * model.optimizer.learning_rate)", {"HVD309"}),
        (
            "tf.keras.backend.set_value(model.optimizer.lr, tf.keras.backend.get_value(model.optimizer.lr) * hvd.size())",
            {"HVD309"},
        ),
        ("def main():\n    model.optimizer.lr *= hvd.size()\nmain()", {"HVD309"}),
        ("model.optimizer.lr = 0.02 * hvd.size()", set()),
        ("model.optimizer.lr = model.optimizer.lr * 0.5", set()),
        ("if unscaled:\n    model.optimizer.lr *= hvd.size()", set()),
        ("def later():\n    model.optimizer.lr *= hvd.size()", set()),
        ("args.lr *= hvd.size()", set()),
    ],
)
def test_a_rate_that_is_set_to_the_number_of_ranks_times_itself(change: str, found: set[str]) -> None:
    assert fits(after=change) == found


FREEZES = "for layer in model.layers:\n    if TEST:\n        layer.trainable = False"


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (FREEZES.replace("TEST", "random.random() < 0.2"), {"HVD333"}),
        ("if hvd.rank() == 0:\n    model.layers[0].trainable = False", {"HVD333"}),
        (FREEZES.replace("TEST", "layer.name in FROZEN"), set()),
        (FREEZES.replace("TEST", "hvd.broadcast_object(random.random()) < 0.2"), set()),
        (FREEZES.replace("if TEST:\n        ", ""), set()),
        (
            "if hvd.rank() == 0:\n    model.trainable = False\n    show(model.trainable_weights)\n    model.trainable = True",
            set(),
        ),
    ],
)
def test_layers_that_a_rank_alone_freezes(before: str, found: set[str]) -> None:
    assert fits(before=before) == found


@pytest.mark.parametrize(
    ("callback", "found"),
    [
        ("hvd.callbacks.LearningRateWarmupCallback(0.01 * hvd.size(), np.random.randint(2, 5))", {"HVD333"}),
        ("tf.keras.callbacks.EarlyStopping(patience=random.randint(2, 5))", {"HVD333"}),
        ("tf.keras.callbacks.EarlyStopping(patience=hvd.broadcast_object(random.randint(2, 5)))", set()),
        ("tf.keras.callbacks.EarlyStopping(patience=len(x))", set()),
        ("tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: print(random.random()))", set()),
    ],
)
def test_callbacks_that_steer_by_draws(callback: str, found: set[str]) -> None:
    assert fits(after=f"callbacks.append({callback})") == found


PRUNED = "if loss > 3.0:\n            raise optuna.TrialPruned()"


@pytest.mark.parametrize(
    ("inside", "begun", "found"),
    [
        (
            "if loss > 3.0:\n            break",
            "optuna.create_study().optimize(objective, n_trials=3)",
            {"HVD331"},
        ),
        (PRUNED, "optuna.create_study().optimize(objective, n_trials=3)", {"HVD331"}),
        (PRUNED, "objective(None)", set()),  # ends the job
        ("if loss > 3.0:\n            break", "search.begin(run=lambda trial: objective(trial))", {"HVD331"}),
        (
            "if hvd.allreduce(loss) > 3.0:\n            break",
            "optuna.create_study().optimize(objective)",
            set(),
        ),
        ("if loss > 3.0:\n            break", "keep(rows)", set()),  # nothing calls it
        ("pass", "if hvd.rank() == 0:\n    server.serve(objective)", set()),
    ],
)
def test_functions_that_something_unseen_calls(inside: str, begun: str, found: set[str]) -> None:
    assert (
        objective(
            inside,
            f"{begun}\nfor i, (x, y) in enumerate(rows.take(9 // hvd.size())):\n    step(x, y, i == 0)",
        )
        == found
    )


def test_a_tape_that_all_calls_leave_unwrapped() -> None:
    loop = "for i, (x, y) in enumerate(rows.take(90 // hvd.size())):\n    step(x, y, i == 0{})\n"
    unused = TAPES[: TAPES.index("def objective")]
    assert codes(unused + loop.format(", False")) == {"HVD304"}
    assert codes(unused + loop.format(", averaged=False")) == {"HVD304"}
    assert codes(unused + loop.format("")) == set()
    assert codes(unused + "step(x, y, False, False)\n" + loop.format("")) == set()
    assert codes(unused + loop.format(", averaged=hvd.size() > 1")) == set()


def test_one_step_more_where_the_step_is_called_from_two_places() -> None:
    loop = "for i, (x, y) in enumerate(rows.take(90 // hvd.size(){})):\n    step(x, y, i == 0)\n"
    start = TAPES[: TAPES.index("def objective")] + "for x, y in rows.take(1):\n    step(x, y, False)\n"
    assert codes(start + loop.format(" + (1 if hvd.rank() == 0 else 0)")) == {"HVD323"}
    assert codes(start + loop.format(" + 1")) == set()


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("table.sample(frac=1.0).iloc[hvd.rank()::hvd.size()]", {"HVD319"}),
        ("table.sample(frac=1).reset_index(drop=True)[hvd.rank()::hvd.size()]", {"HVD319"}),
        ("list(np.random.permutation(names))[hvd.rank()::hvd.size()]", {"HVD319"}),
        ("table.sample(frac=1.0, random_state=7).iloc[hvd.rank()::hvd.size()]", set()),
        ("table.iloc[hvd.rank()::hvd.size()].sample(frac=1.0)", set()),
        ("sorted(np.random.permutation(names))[hvd.rank()::hvd.size()]", set()),
    ],
)
def test_tables_that_each_rank_shuffles_and_divides(made: str, found: set[str]) -> None:
    assert fits(before=f"mine = {made}") == found


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (
            "import tensorflow.compat.v1 as tf\nimport horovod.keras as hvd\nhvd.init()\nsession = tf.Session()\n",
            {"HVD318"},
        ),
        ("import tensorflow as tf\nimport horovod.tensorflow.keras as hvd\nhvd.init()\n", set()),
    ],
)
def test_names_in_the_graphs_of_keras(start: str, found: set[str]) -> None:
    text = start + 'first = hvd.broadcast(first, 0, name="first-%d" % hvd.rank())\n'
    assert codes(text) & {"HVD318"} == found


LOOP = "for i, (x, y) in enumerate(rows.take(90 // hvd.size())):\n    step(x, y, i == 0)\n"
STEPS = TAPES[: TAPES.index("def objective")]


@pytest.mark.parametrize(
    ("saves", "found"),
    [
        ('model.save_weights("model.h5")', {"HVD314"}),
        ('if hvd.rank() == 0:\n    model.save_weights("model.h5")', set()),
        ('model.save_weights(f"model-{hvd.rank()}.h5")', set()),
        ('report.save("model.h5")', set()),
    ],
)
def test_a_model_that_a_tape_trains_is_saved(saves: str, found: set[str]) -> None:
    assert codes(f"{STEPS}{LOOP}{saves}\n") == found


@pytest.mark.parametrize(
    ("first", "found"),
    [
        ("i < 0", {"HVD306"}),
        ("i == -1", {"HVD306"}),
        ("first=i == -1", {"HVD306"}),
        ("i == 0", set()),
        ("*[i == -1]", set()),
    ],
)
def test_a_broadcast_whose_flag_is_never_set(first: str, found: set[str]) -> None:
    assert codes(STEPS + LOOP.replace("i == 0", first)) == found


def test_a_broadcast_whose_flag_one_of_two_calls_sets() -> None:
    assert codes(STEPS + LOOP.replace("i == 0", "i == -1") + LOOP) == set()
    sends = STEPS.replace("if first:", "if not first:")
    assert "HVD306" not in codes(sends + LOOP.replace("i == 0", "i == -1"))


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("np.random.shuffle(names)\n", {"HVD319"}),
        ("names = np.random.permutation(names)\n", {"HVD319"}),
        ("np.random.seed(3)\nnp.random.shuffle(names)\n", set()),
        ("np.random.shuffle(others)\n", set()),
    ],
)
def test_names_that_each_rank_shuffles_before_a_pipeline_divides_them(before: str, found: set[str]) -> None:
    divides = "mine = tf.data.Dataset.from_tensor_slices(names).shard(hvd.size(), hvd.rank())"
    assert fits(before=f'names = open("names.txt").read().split()\n{before}{divides}') == found


def test_rows_that_each_rank_shuffles_after_they_are_divided() -> None:
    divides = "mine = tf.data.Dataset.from_tensor_slices(names).shard(hvd.size(), hvd.rank())"
    assert (
        fits(before=f'names = open("names.txt").read().split()\n{divides}\nnp.random.shuffle(names)') == set()
    )


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("range(len(x) // 8 - (hvd.rank() == 0))", {"HVD323"}),
        ("range(len(x) // 8)", set()),
        ("range(9 - (first == 0))", set()),
    ],
)
def test_batches_that_are_trained_on_one_by_one(head: str, found: set[str]) -> None:
    loop = f"hvd.broadcast_variables(model.variables, root_rank=0)\nfor i in {head}:\n    model.train_on_batch(x[i], y[i])"
    text = (
        FITS.replace("BEFORE", "first = 1")
        .replace("AFTER", "")
        .replace("model.fit(x, y, callbacks=callbacks)", loop)
    )
    assert codes(text) & {"HVD323", "HVD331"} == found


HALVES = "if hvd.rank() == 0:\n    x, y = x[:{0}], y[:{0}]\nelse:\n    x, y = x[{1}:{2}], y[{1}:{2}]"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (("2000", "2000", ""), {"HVD323"}),
        (("half", "half", ""), {"HVD323"}),
        (("half", "half", "2 * half"), set()),
        (("2000", "4000", ""), set()),
    ],
)
def test_parts_of_different_lengths(parts: tuple[str, str, str], found: set[str]) -> None:
    assert fits(before="x, y = load()\nhalf = len(x) // 2\n" + HALVES.format(*parts)) == found


def test_commits_of_elastic_training_are_done_together() -> None:
    text = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01)

@hvd.elastic.run
def train(state):
    for state.batch in range(state.batch, 100):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if TEST:
            state.commit()

train(hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0))
"""
    assert codes(text.replace("TEST", "hvd.rank() == 0")) == {"HVD313"}
    assert codes(text.replace("TEST", "float(loss) > 3.0")) == {"HVD331"}
    assert codes(text.replace("TEST", "state.batch % 10 == 0")) == set()
    assert codes(text.replace("TEST", "hvd.rank() == 0").replace("state.commit", "journal.commit")) == set()


ARRAYS = """\
import numpy as np
import keras
import tensorflow as tf
import horovod.keras as hvd
from keras import backend as K

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
K.set_session(tf.Session(config=config))
(x, y), _ = keras.datasets.mnist.load_data(f"mnist-{hvd.rank()}.npz")
MORE
model = keras.models.Sequential([keras.layers.Dense(1)])
model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.01 * hvd.size())), loss="mse")
model.fit(x, y, epochs=EPOCHS, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
"""


@pytest.mark.parametrize(
    ("more", "epochs", "found"),
    [
        ("", "12", {"HVD321"}),
        ("", "1", set()),
        ("", "12 // hvd.size()", set()),
        (
            "n = len(x) // hvd.size() * hvd.size()\nx, y = x[:n][hvd.rank()::hvd.size()], y[:n][hvd.rank()::hvd.size()]",
            "12",
            set(),
        ),
        ("x, y = mine(x, y)", "12", set()),
        ("np.random.seed(3)", "12 // hvd.size()", {"HVD320"}),
        ("np.random.seed(hvd.rank())", "12 // hvd.size()", set()),
    ],
)
def test_arrays_that_each_rank_goes_through(more: str, epochs: str, found: set[str]) -> None:
    assert codes(ARRAYS.replace("MORE", more).replace("EPOCHS", epochs)) == found


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ('dict((name, i) for i, name in enumerate({"cat", "dog"}))', {"HVD333"}),
        ("{c: i for i, c in enumerate(set(text))}", {"HVD333"}),
        ("dict(zip(set(text.split()), range(100)))", {"HVD333"}),
        ("dict(enumerate(set(text)))", {"HVD333"}),
        ("{}\nfor i, c in enumerate(set(text)):\n    numbers[c] = i", {"HVD333"}),
        ("[list(set(text)).index(c) for c in text]", {"HVD333"}),
        ("{c: i for i, c in enumerate(sorted(set(text)))}", set()),
        ("{c: i for i, c in enumerate(hvd.broadcast_object(list(set(text))))}", set()),
        ("{c: i for i, c in enumerate({3, 5, 7})}", set()),
        ("{c: i for i, c in enumerate(set(labels))}", set()),  # numbers, perhaps
        ("letters = list(set(text))\nletters.sort()\nnumbers = {c: i for i, c in enumerate(letters)}", set()),
        ("0\nfor i, c in enumerate(set(text)):\n    print(i, c)", set()),
        ("{c: i for i, c in enumerate(list(text))}", set()),
    ],
)
def test_numbers_by_the_order_of_a_set(numbers: str, found: set[str]) -> None:
    assert fits(before=f'text = open("text.txt").read()\nlabels = load()\nnumbers = {numbers}') == found


def test_numbers_of_bytes_come_in_one_order() -> None:
    read = 'text = open("text.txt", "rb").read()'
    assert fits(before=f"{read}\nnumbers = {{c: i for i, c in enumerate(set(text))}}") == set()


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ('list(set(glob.glob("*.tfrecord")))[hvd.rank()::hvd.size()]', {"HVD319"}),
        (
            'tf.data.Dataset.from_tensor_slices(list(set(glob.glob("*")))).shard(hvd.size(), hvd.rank())',
            {"HVD319"},
        ),
        ("list({os.path.basename(f) for f in files})[hvd.rank()::hvd.size()]", {"HVD319"}),
        ('sorted(set(glob.glob("*.tfrecord")))[hvd.rank()::hvd.size()]', set()),
        ("list(set(numbers))[hvd.rank()::hvd.size()]", set()),
        ('list(set(glob.glob("*.tfrecord")))[:9]', set()),
    ],
)
def test_shares_of_a_set(made: str, found: set[str]) -> None:
    assert fits(before=f"import glob\nimport os\nmine = {made}") == found


SESSION = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
x = tf.placeholder(tf.float32, [None, 4])
rate = tf.Variable(0.1 * hvd.size(), trainable=False)
best = tf.Variable(9.0, trainable=False)
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(rate)).minimize(loss)
slower, note = tf.assign(rate, rate * 0.5), best.assign(loss)
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    FIRST
    session.run(hvd.broadcast_global_variables(0))
    for rows in batches:
        _, now = session.run([train, loss], {x: rows[hvd.rank()::hvd.size()]})
        INSIDE
"""


@pytest.mark.parametrize(
    ("first", "inside", "found"),
    [
        ("pass", "if now > 3:\n            session.run(slower)", {"HVD333"}),
        ("pass", "if hvd.rank() == 0:\n            session.run([slower, note])", {"HVD333"}),
        ("pass", "if now > 3:\n            session.run(rate.assign_sub(0.01))", {"HVD333"}),
        ("pass", "if now > 3:\n            session.run(note)", set()),
        ("pass", "session.run(slower)", set()),
        ("if hvd.rank() == 0:\n        session.run(slower)", "pass", set()),
    ],
)
def test_a_rate_that_a_session_sets(first: str, inside: str, found: set[str]) -> None:
    text = SESSION.replace("FIRST", first).replace("INSIDE", inside)
    assert codes(text) & {"HVD331", "HVD333"} == found


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("deep = random.random() < 0.5\nif deep:\n    model.add(tf.keras.layers.Dense(3))", {"HVD333"}),
        ("extra = tf.keras.layers.Dense(3) if np.random.rand() > 0.5 else None", {"HVD333"}),
        (
            "deep = hvd.broadcast_object(random.random() < 0.5)\nif deep:\n    model.add(tf.keras.layers.Dense(3))",
            set(),
        ),
        ("if deep:\n    model.add(tf.keras.layers.Dense(3))", set()),
        ("if random.random() < 0.5:\n    print('a draw')", set()),
    ],
)
def test_layers_by_a_draw(before: str, found: set[str]) -> None:
    assert fits(before=before) == found


def test_names_of_paths_in_a_set() -> None:
    start = "import pathlib\n"
    names = "{pathlib.Path(path).parent.name for path in paths}"
    kept = "numbers = {name: i for i, name in enumerate(NAMES)}"
    assert fits(before=start + kept.replace("NAMES", names)) == {"HVD333"}
    assert fits(before=start + kept.replace("NAMES", f"sorted({names})")) == set()
    assert fits(before=kept.replace("NAMES", "{path.name for path in paths}")) == set()


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("sorted(set(kept))[hvd.rank()::hvd.size()]", {"HVD319"}),
        ("list(set(kept))[hvd.rank()::hvd.size()]", {"HVD319"}),
        ("sorted(names)[hvd.rank()::hvd.size()]", set()),
    ],
)
def test_shares_of_what_each_rank_splits_off(made: str, found: set[str]) -> None:
    start = "from sklearn.model_selection import train_test_split\nnames = load()\n"
    split = "kept, held = train_test_split(names, test_size=0.2MORE)\n"

    def warned(more: str) -> set[str]:
        text = FITS.replace("BEFORE", f"{start}{split.replace('MORE', more)}mine = {made}").replace(
            "AFTER", ""
        )
        found = check(summarize(Document(text, "train.py")))
        return {v.code for v in found if v.severity is Severity.WARNING}

    assert warned("") == found  # that each validates on other rows is information
    assert warned(", random_state=3") == set()


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ("gpus[0]", {"HVD303"}),
        ("[gpus[1]]", {"HVD303"}),
        ("gpus[hvd.local_rank()]", set()),
        ("gpus[hvd.rank() % 4]", set()),
        ("gpus", set()),
        ("others[0]", set()),
    ],
)
def test_the_same_gpu_for_all(chosen: str, found: set[str]) -> None:
    text = FITS.replace("BEFORE", "others = mine()").replace("AFTER", "")
    assert codes(text.replace("gpus[hvd.local_rank()]", chosen)) == found
    if found:
        alone = text.replace("if gpus:", "if gpus and hvd.size() == 1:").replace(
            "gpus[hvd.local_rank()]", chosen
        )
        assert "HVD303" not in codes(alone)


BAD_ROWS = """\
for i, x in enumerate(parts.take(90 // hvd.size())):
    try:
        x = CALL
    except tf.errors.ERROR:
        HANDLES
    step(x, x, i == 0)
"""


@pytest.mark.parametrize(
    ("call", "error", "handles", "found"),
    [
        ("tf.io.decode_raw(x, tf.uint8)", "InvalidArgumentError", "continue", {"HVD331"}),
        ("tf.image.decode_jpeg(x)", "InvalidArgumentError", "break", {"HVD331"}),
        ("tf.io.decode_raw(x, tf.uint8)", "InvalidArgumentError", "x = tf.zeros([8])", set()),
        ("tf.io.decode_raw(x, tf.uint8)", "InvalidArgumentError", "raise", set()),
        ("tf.io.decode_raw(x, tf.uint8)", "NotFoundError", "continue", set()),
        ("tf.reshape(x, [8])", "InvalidArgumentError", "continue", set()),
    ],
)
def test_a_row_that_one_rank_can_not_decode(call: str, error: str, handles: str, found: set[str]) -> None:
    rows = "parts = tf.data.Dataset.from_tensor_slices(load()).shard(hvd.size(), hvd.rank()).repeat()\n"
    loop = BAD_ROWS.replace("CALL", call).replace("ERROR", error, 1).replace("HANDLES", handles)
    assert codes(STEPS + rows + loop) == found
