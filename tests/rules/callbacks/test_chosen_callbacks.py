"""K3: callbacks that only some ranks may get."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import argparse
import os
import sys
import numpy as np
import tensorflow as tf
from settings import USE
parser = argparse.ArgumentParser()
parser.add_argument("--early", action="store_true")
args = parser.parse_args()
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
class WarmUp(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.optimizer.learning_rate = 0.01 * (epoch + 1)
cbs = [tf.keras.callbacks.TerminateOnNaN()]
{lines}
model.fit(x, y, epochs=4, callbacks=cbs)
model.save_weights("w.h5")
"""


def doubts(lines: str) -> list[str]:
    asked = [c.doubt or "" for c in plan_of(PROGRAM.format(lines=lines)).to_confirm]
    return [d for d in asked if "different callbacks" in d]


@pytest.mark.parametrize(
    "lines",
    [
        "if not os.path.exists('w.h5'):\n    cbs.append(WarmUp())",
        "if os.path.exists('w.h5'):\n    model.load_weights('w.h5')\nelse:\n    cbs.append(WarmUp())",
        "if os.path.exists('w.h5'):\n    cbs += [tf.keras.callbacks.EarlyStopping()]",
        "cbs = [WarmUp() if os.path.exists('w.h5') else tf.keras.callbacks.EarlyStopping()]",
        "if np.random.rand() < 0.5:\n    cbs.append(tf.keras.callbacks.ReduceLROnPlateau())",
    ],
)
def test_it_is_asked_where_a_file_or_a_draw_decides(lines: str) -> None:
    """A host without the file trained at other rates, or one rank alone stopped."""
    assert len(doubts(lines)) == 1


@pytest.mark.parametrize(
    "lines",
    [
        "if args.early:\n    cbs.append(tf.keras.callbacks.EarlyStopping())",
        "if len(sys.argv) > 1:\n    cbs.append(WarmUp())",
        "if len(x) > 100:\n    cbs.append(WarmUp())",
        "if USE:\n    cbs.append(WarmUp())",
        "cbs.append(WarmUp() if args.early else tf.keras.callbacks.EarlyStopping())",
        # of rank 0 only
        "if os.path.exists('w.h5'):\n    cbs.append(tf.keras.callbacks.CSVLogger('log.csv', append=True))",
        # no callback hangs on it
        "if os.path.exists('w.h5'):\n    model.load_weights('w.h5')\ncbs.append(WarmUp())",
    ],
)
def test_it_is_not_asked_where_all_ranks_decide_alike(lines: str) -> None:
    assert not doubts(lines)
