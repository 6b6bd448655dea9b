"""C7: progress bars on rank 0 only."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.rules.output import verbosity
from horovodize.source import Document
from horovodize.summary import summarize

from ..guarding import apply, check, unchanged
from ..pairs import TF

RULES = (verbosity.RULE,)

# ---------------------------------------------------------------------- left alone


@pytest.mark.parametrize(
    "call",
    [
        "model.fit(x, y, verbose=0)",
        "model.fit(x, y, verbose=False)",
        "model.fit(x, y, None, 3, 0)",
        "model.fit(x, y, **options)",
        "model.evaluate(*args)",
        "model.train_on_batch(x, y)",
        "model.evaluate_generator(g, 10)",
        "scaler.fit(x)",
        "forest.predict(x)",
        "cb = tf.keras.callbacks.EarlyStopping(patience=2)",
        "for i in tqdm(range(3), disable=True): pass",
    ],
)
def test_silent_hidden_or_no_keras_model(call: str) -> None:
    unchanged(
        RULES,
        f"""
        from tqdm import tqdm
        from sklearn.preprocessing import StandardScaler
        scaler = StandardScaler()
        {call}
        """,
    )


def test_a_class_that_brings_its_own_predict() -> None:
    unchanged(
        RULES,
        """
        class Mine(tf.keras.Model):
            def predict(self, x):
                return x
        mine = Mine()
        mine.predict(x)
        """,
    )


def test_what_rank_0_does_alone_needs_no_second_test() -> None:
    unchanged(RULES, "print(model.predict(x))\n")


# ---------------------------------------------------------------------- before and after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit(x, y)", "model.fit(x, y, verbose=1 if hvd.rank() == 0 else 0)"),
        (
            "cb = tf.keras.callbacks.ReduceLROnPlateau(verbose=1)",
            "cb = tf.keras.callbacks.ReduceLROnPlateau(verbose=1 if hvd.rank() == 0 else 0)",
        ),
        ("model.evaluate(x, y)", "model.evaluate(x, y, verbose=1 if hvd.rank() == 0 else 0)"),
        ("p = model.predict(x)[0]", "p = model.predict(x, verbose=1 if hvd.rank() == 0 else 0)[0]"),
        ("model.fit(x, y, verbose=2)", "model.fit(x, y, verbose=2 if hvd.rank() == 0 else 0)"),
        ("model.fit(x, y, 8, 3, 2)", "model.fit(x, y, 8, 3, 2 if hvd.rank() == 0 else 0)"),
        ("model.predict(x, 8, 1)", "model.predict(x, 8, 1 if hvd.rank() == 0 else 0)"),
        ("model.fit_generator(g, 5, 1, 2)", "model.fit_generator(g, 5, 1, 2 if hvd.rank() == 0 else 0)"),
        ("model.fit(x, y, verbose=a.v or 1)", "model.fit(x, y, verbose=a.v or 1 if hvd.rank() == 0 else 0)"),
        (
            "model.fit(x, y, verbose=2 if debug else 1)",
            "model.fit(x, y, verbose=(2 if debug else 1) if hvd.rank() == 0 else 0)",
        ),
        ("model.fit(x, verbose=1, **more)", "model.fit(x, verbose=1 if hvd.rank() == 0 else 0, **more)"),
        (
            "bar = tf.keras.utils.Progbar(9)",
            "bar = tf.keras.utils.Progbar(9, verbose=1 if hvd.rank() == 0 else 0)",
        ),
    ],
)
def test_one_rank_shows_progress(before: str, after: str) -> None:
    check(RULES, before + "\n", after + "\n")


def test_an_argument_a_line() -> None:
    check(
        RULES,
        """
        model.fit(
            x,
            y,  # labels
        )
        """,
        """
        model.fit(
            x,
            y,
            verbose=1 if hvd.rank() == 0 else 0,  # labels
        )
        """,
    )


def test_models_behind_attributes_and_in_callbacks() -> None:
    check(
        RULES,
        """
        class Trainer:
            def __init__(self):
                self.net = tf.keras.models.load_model("m.h5")
            def run(self):
                return self.net.predict(x)
        class Watch(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                score = self.model.evaluate(x, y)
        """,
        """
        class Trainer:
            def __init__(self):
                self.net = tf.keras.models.load_model("m.h5")
            def run(self):
                return self.net.predict(x, verbose=1 if hvd.rank() == 0 else 0)
        class Watch(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                score = self.model.evaluate(x, y, verbose=1 if hvd.rank() == 0 else 0)
        """,
    )


@pytest.mark.parametrize(("version", "shows"), [("2.8", False), ("1.15", False), ("2.9", True), ("", True)])
def test_predict_says_nothing_in_old_versions(version: str, shows: bool) -> None:
    model = "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])\nmodel.compile('sgd', 'mse')\n"
    source = f"{TF}{model}model.fit(np.ones((9, 1)), np.ones(9))\nmodel.predict(np.ones((9, 1)))\n"
    result = distribute(summarize(Document(f"import numpy as np\n{source}")), Options(tensorflow=version))
    assert isinstance(result, Plan)
    assert ("predict(np.ones((9, 1)), verbose=" in result.text) is shows


def test_tqdm() -> None:
    check(
        RULES,
        """
        import tqdm.auto
        from tqdm import trange as steps
        for batch in tqdm.auto.tqdm(data, desc="train"): pass
        for step in steps(9): pass
        """,
        """
        import tqdm.auto
        from tqdm import trange as steps
        for batch in tqdm.auto.tqdm(data, desc="train", disable=hvd.rank() != 0): pass
        for step in steps(9, disable=hvd.rank() != 0): pass
        """,
    )


def test_line_ends_and_tabs_stay() -> None:
    source = "import tensorflow as tf\r\nm = tf.keras.Sequential()\r\nif m:\r\n\tm.fit(1,\r\n\t      2)\r\n"
    assert apply(source, *RULES).text == source.replace(
        "2)", "2,\r\n\t      verbose=1 if hvd.rank() == 0 else 0)"
    )
