"""Rates that are made of settings which have grown with the number of ranks before."""

from __future__ import annotations

import pytest

from .helpers import changed, violations

SCRIPT = """\
import argparse
from dataclasses import dataclass
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
args = parser.parse_args()
config = {"rate": 0.01, "size": 3}


@dataclass
class Config:
    steps: int = 3
    rate: float = 0.01


def train(args):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(RATE)
    model.compile(hvd.DistributedOptimizer(optimizer), "mse")
    model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])


BEFORE
train(args)
"""


@pytest.mark.parametrize(
    ("before", "rate", "found"),
    [
        ("args.lr = args.lr * hvd.size()", "args.lr * hvd.size()", True),
        ("args.lr = hvd.size() * args.lr", "hvd.size() * args.lr", True),
        ("args.lr *= hvd.size()", "args.lr * hvd.size()", True),
        ("config['rate'] *= hvd.size()", "config['rate'] * hvd.size()", True),
        ("config['rate'] = config['rate'] * hvd.size()", "config['rate'] * hvd.size()", True),
        ("made = Config(rate=0.01 * hvd.size())", "made.rate * hvd.size()", True),
        ("made = Config(7, 0.01 * hvd.size())", "made.rate * hvd.size()", True),
        ("args.lr *= hvd.size()", "args.lr", False),
        ("pass", "args.lr * hvd.size()", False),
        ("if weak:\n    args.lr *= hvd.size()", "args.lr * hvd.size()", False),
        ("args.lr *= hvd.size()\nargs.lr = 0.1", "args.lr * hvd.size()", False),
        ("args.lr *= hvd.size()\nargs.lr /= hvd.size()", "args.lr * hvd.size()", False),
        ("args.lr *= 2", "args.lr * hvd.size()", False),
        ("config['size'] *= hvd.size()", "config['rate'] * hvd.size()", False),
        ("made = Config(rate=0.01 * hvd.size())\nmade.rate = 0.01", "made.rate * hvd.size()", False),
        ("made = Config(steps=5 * hvd.size())", "made.rate * hvd.size()", False),
        ("def later():\n    args.lr *= hvd.size()", "args.lr * hvd.size()", False),
    ],
)
def test_a_setting_has_grown_before(before: str, rate: str, found: bool) -> None:
    text = changed(SCRIPT, ("BEFORE", before), ("RATE", rate))
    assert bool(violations(text, "HVD309")) is found


def test_what_grows_after_the_optimizer_is_made_does_not_count() -> None:
    text = changed(SCRIPT, ("BEFORE\n", ""), ("RATE", "args.lr * hvd.size()")) + "args.lr *= hvd.size()\n"
    assert not violations(text, "HVD309")
