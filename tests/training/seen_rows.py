"""Put beside a distributed script: notes which rows each step has seen, and holds all ranks at one step.

Each process writes lines of JSON to a file of its own in the folder SEEN: rank, size, epoch, rows done, numbers of the rows
(the first column), rate. At the step that HOLD names (epoch, step within it), while as many ranks as STARTED train, it says so
and goes on when the file `go` is there."""

import json
import os
import time
from pathlib import Path

import horovod.tensorflow as hvd
import horovod_elastic
import tensorflow as tf

_FOLDER = Path(os.environ["SEEN"])
_HOLD = tuple(json.loads(os.environ["HOLD"]))
_steps = {}
# Ranks are to share the order of the rows whatever they draw by themselves.
tf.random.set_seed(os.getpid())


def seen(rows, optimizer):
    state = horovod_elastic._now["state"]
    step = _steps[state.epoch, hvd.size()] = _steps.get((state.epoch, hvd.size()), -1) + 1
    rate = float(tf.keras.backend.get_value(optimizer.learning_rate))
    _note([hvd.rank(), hvd.size(), state.epoch, state.done, rows.numpy()[:, 0].tolist(), rate])
    if hvd.size() == int(os.environ["STARTED"]) and (state.epoch, step) == _HOLD:
        (_FOLDER / f"{os.getpid()}.held").touch()
        while not (_FOLDER / "go").exists():
            time.sleep(0.05)
    return rows


def ended(model):
    _note([hvd.rank(), hvd.size(), "ended", [w.tolist() for w in model.get_weights()]])


def _note(line):
    with (_FOLDER / f"{os.getpid()}.jsonl").open("a") as file:
        print(json.dumps(line), file=file, flush=True)
