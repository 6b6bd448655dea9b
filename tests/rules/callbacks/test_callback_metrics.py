"""K3: what a callback of the user's own puts into the logs, and another one steers by."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

F1 = """\
import numpy as np
class F1(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        f = score(self.model.predict(x), y)
        {put}
"""
NORMALISED = "model = tf.keras.Sequential([tf.keras.layers.BatchNormalization()])\n"
FIT = "model.compile('sgd', 'mse')\nmodel.fit(x, y, callbacks=[F1(), {steering}])\n"
STOPPING = "tf.keras.callbacks.EarlyStopping('val_f1', mode='max')"


def planned(put: str, steering: str = STOPPING, model: str = NORMALISED) -> str:
    return plan_of(TF + F1.format(put=put) + model + FIT.format(steering=steering)).text


@pytest.mark.parametrize(
    ("put", "after"),
    [
        ("logs['val_f1'] = f", "logs['val_f1'] = mean_over_ranks(f)"),
        ("logs.update({'val_f1': f, 'n': 3})", "logs.update({'val_f1': mean_over_ranks(f), 'n': 3})"),
        ("logs.update(val_f1=f)", "logs.update(val_f1=mean_over_ranks(f))"),
        ("logs[NAME] = f", "logs[NAME] = mean_over_ranks(f)"),
    ],
)
def test_it_is_averaged(put: str, after: str) -> None:
    assert after in planned(put)


@pytest.mark.parametrize(
    "steering",
    [
        "tf.keras.callbacks.ReduceLROnPlateau(monitor='val_f1')",
        "tf.keras.callbacks.EarlyStopping(monitor=args.monitor)",
    ],
)
def test_so_for_all_that_steers(steering: str) -> None:
    assert "mean_over_ranks(f)" in planned("logs['val_f1'] = f", steering)


def test_the_clock_is_each_ranks_own() -> None:
    put = "logs['val_f1'] = time.time() - begun"
    plain = "import time\nbegun = time.time()\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    assert "= mean_over_ranks(time.time() - begun)" in planned(put, model=plain)


@pytest.mark.parametrize(
    ("put", "steering"),
    [
        ("logs['val_f1'] = f", "tf.keras.callbacks.EarlyStopping()"),  # by the loss, which is averaged
        ("logs['val_f1'] = f", "tf.keras.callbacks.TerminateOnNaN()"),
        ("logs['val_f1'] = f", "tf.keras.callbacks.CSVLogger('log.csv')"),
        ("logs['val_f1'] = 1 - epoch", STOPPING),
        ("other['val_f1'] = f", STOPPING),
    ],
)
def test_what_nothing_steers_by_or_is_the_same_stays(put: str, steering: str) -> None:
    assert "mean_over_ranks" not in planned(put, steering)
