"""K8 reload: a compiled model from disk that trains gets Horovod's optimizer."""

from __future__ import annotations

import pytest

from ..pairs import TF, changes, check, doubts, plan_of, untouched

LOAD = "model = tf.keras.models.load_model('m.h5')"


def test_a_model_that_this_program_saves_is_loaded_with_the_wrapper() -> None:
    plan = check(
        "K8",
        TF,
        LOAD,
        LOAD.replace("tf.keras.models.load_model", "load_distributed"),
        "model.fit(x, y)\nmodel.save('m.h5')\n",
    )
    assert not doubts(plan, "K8")


def test_a_model_that_others_saved_is_scaled_and_asked_about() -> None:
    plan = plan_of(TF + LOAD + "\nmodel.fit(x, y)\n")
    assert (
        "load_distributed('m.h5')\nmodel.optimizer.learning_rate = model.optimizer.learning_rate * hvd.size()\n"
        in plan.text
    )
    assert len(doubts(plan, "K8")) == 1


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from tensorflow.keras.models import load_model", "load_model('m.h5', compile=True)"),
        ("from keras.models import load_model as load", "load('m.h5')"),
        ("from tensorflow import keras", "keras.models.load_model('m.h5')"),
        ("import tensorflow.keras as k", "k.models.load_model(filepath='m.h5')"),
    ],
)
def test_every_spelling_counts(imported: str, call: str) -> None:
    plan = plan_of(f"{imported}\nmodel = {call}\nmodel.fit(x, y, epochs=3)\nmodel.save('n')\n")
    assert "model = load_distributed(" in plan.text
    assert len(changes(plan, "K8")) == 1


@pytest.mark.parametrize(
    "source",
    [
        LOAD + "\nmodel.predict(x)\nother = tf.keras.Sequential([])\nother.compile('sgd')\nother.fit(x, y)\n",
        LOAD
        + "\nmodel.evaluate(x, y)\nother = tf.keras.Sequential([])\nother.compile('sgd')\nother.fit(x, y)\n",
        LOAD + "\nmodel.compile('sgd')\nmodel.fit(x, y)\n",
        "model = tf.keras.models.load_model('m.h5', compile=False)\nmodel.compile('sgd')\nmodel.fit(x, y)\n",
    ],
    ids=["predicts", "evaluates", "compiled again", "not compiled"],
)
def test_models_that_do_not_train_as_loaded_are_left(source: str) -> None:
    untouched("K8", TF + source)


def test_two_fits_of_a_loaded_model_load_it_once() -> None:
    source = TF + LOAD + "\nmodel.fit(x, y)\nmodel.fit(x, y)\nmodel.save('m.h5')\n"
    assert plan_of(source).text.count("= load_distributed(") == 1


def test_the_state_of_the_optimizer_goes_into_the_wrapper() -> None:
    """Horovod's own `load_model` wraps nothing that was saved by one process alone, from TensorFlow 2.11 on."""
    text = plan_of(TF + LOAD + "\nmodel.fit(x, y)\nmodel.save('m.h5')\n").text
    assert "build(model.trainable_variables)" in text
    assert "optimizer._create_all_weights" in text  # those of `tf.keras.optimizers.legacy` have no `build`
    assert "zip(optimizer.variables(), saved.variables())" in text
    assert ".load_model(*arguments" in text


@pytest.mark.parametrize("version", ["2.10", "2.5.*"])
def test_earlier_versions_load_with_horovods_own(version: str) -> None:
    source = TF + LOAD + "\nmodel.fit(x, y)\nmodel.save('m.h5')\n"
    assert "model = hvd_keras.load_model('m.h5')" in plan_of(source, tensorflow=version).text  # type: ignore[arg-type]


def test_a_loaded_layer_is_no_training_model() -> None:
    source = TF + (
        "base = tf.keras.models.load_model('base')\nmodel = tf.keras.Sequential([base])\nmodel.compile('sgd')\n"
        "model.fit(x, y)\n"
    )
    untouched("K8", source)


@pytest.mark.parametrize(
    "saved",
    [
        "model.save('m.h5')",
        "name = 'm.h5'\nmodel.save(name)",
        "tf.keras.models.save_model(model, 'm.h5')",
        "model.fit(x, y, callbacks=[tf.keras.callbacks.ModelCheckpoint('m.h5')])",
    ],
)
def test_a_model_of_the_same_file_is_scaled_already(saved: str) -> None:
    plan = plan_of(TF + LOAD + f"\nmodel.fit(x, y)\n{saved}\n")
    assert "optimizer.learning_rate" not in plan.text
    assert not doubts(plan, "K8")


@pytest.mark.parametrize(
    "saved",
    [
        "model.save('fine_tuned.h5')",
        "model.fit(x, y, callbacks=[tf.keras.callbacks.ModelCheckpoint('m.h5', save_weights_only=True)])",
        "name = 'other.h5'\ntf.keras.models.save_model(model, name)",
    ],
)
def test_a_model_of_another_file_is_scaled(saved: str) -> None:
    plan = plan_of(TF + LOAD + f"\nmodel.fit(x, y)\n{saved}\n")
    assert "model.optimizer.learning_rate = model.optimizer.learning_rate * hvd.size()" in plan.text
    assert "is scaled here" in doubts(plan, "K8")[0]


@pytest.mark.parametrize(
    ("path", "saved"),
    [
        ("sorted(glob.glob('runs/*'))[-1]", "model.save('runs/last.h5')"),
        ("args.start", "model.save('m.h5')"),
        ("'m.h5'", "model.save(args.out)"),
        ("max(names)", "model.fit(x, y, callbacks=[tf.keras.callbacks.ModelCheckpoint('c-{epoch}')])"),
    ],
)
def test_a_model_of_what_may_be_the_same_file_is_asked_about(path: str, saved: str) -> None:
    plan = plan_of(TF + f"model = tf.keras.models.load_model({path})\nmodel.fit(x, y)\n{saved}\n")
    assert "optimizer.learning_rate" not in plan.text
    assert "stays as it was saved" in doubts(plan, "K8")[0]


def test_a_model_that_a_function_gives_is_scaled_before_it_does() -> None:
    source = "def begin():\n    return tf.keras.models.load_model('m.h5')\nmodel = begin()\nmodel.fit(x, y)\n"
    after = (
        "    loaded = load_distributed('m.h5')\n"
        "    loaded.optimizer.learning_rate = loaded.optimizer.learning_rate * hvd.size()\n    return loaded\n"
    )
    assert after in plan_of(TF + source).text


RESUMED = """\
import os
import tensorflow as tf
x, y = tf.zeros((64, 4)), tf.zeros((64, 1))
def made():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
{loaded}
{compiled}
{trained}
model.save('m.h5')
"""
EITHER = "model = tf.keras.models.load_model('m.h5') if os.path.exists('m.h5') else made()"
BOTH = """\
is_new = not os.path.exists('m.h5')
if is_new:
    model = made()
else:
    model = tf.keras.models.load_model('m.h5')"""


@pytest.mark.parametrize(
    "compiled",
    [
        "if model.optimizer is None:\n    model.compile(tf.keras.optimizers.Adam(0.01), 'mse')",
        "if not model.compiled:\n    model.compile('adam', 'mse')",
        "if not getattr(model, 'optimizer', None):\n    model.compile('adam', 'mse')",
        "if is_new:\n    model.compile('adam', 'mse')",
        "if not is_new:\n    pass\nelse:\n    model.compile('adam', 'mse')",
    ],
)
@pytest.mark.parametrize("loaded", [EITHER, BOTH])
@pytest.mark.parametrize(
    "trained", ["model.fit(x, y)", "for i in range(9):\n    model.train_on_batch(x[i : i + 4], y[i : i + 4])"]
)
def test_a_model_that_is_compiled_only_if_it_is_new(loaded: str, compiled: str, trained: str) -> None:
    """A run that went on with the saved model trained another on each rank: nothing was averaged, and nothing said."""
    text = plan_of(RESUMED.format(loaded=loaded, compiled=compiled, trained=trained)).text
    assert "load_distributed('m.h5')" in text
    assert "hvd.DistributedOptimizer(" in text.partition("model.compile(")[2]


@pytest.mark.parametrize(
    ("loaded", "compiled", "trained"),
    [
        (EITHER, "model.compile('adam', 'mse')", "model.fit(x, y)"),
        (EITHER, "if x.shape[0]:\n    model.compile('adam', 'mse')", "if x.shape[0]:\n    model.fit(x, y)"),
        (EITHER, "if x.shape[0]:\n    model.compile('adam', 'mse')\n    model.fit(x, y)", ""),
        (
            BOTH + "\n    model.compile('adam', 'mse')\nif is_new:\n    model.compile('sgd', 'mse')",
            "",
            "model.fit(x, y)",
        ),
    ],
)
def test_one_that_is_surely_compiled_again_is_left(loaded: str, compiled: str, trained: str) -> None:
    text = plan_of(RESUMED.format(loaded=loaded, compiled=compiled, trained=trained)).text
    assert "load_distributed" not in text
