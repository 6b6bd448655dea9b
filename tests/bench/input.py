"""What reading its share of the data costs one rank: scripts as Horovodize distributes them beside the same divided by hand.

A rank is pretended: a module `horovod` tells size() and rank(), and `fit` only goes through its data. Counted are the
elements that a rank prepares (decodes, generates, fetches); timed is what the process computes to go through its
share, best of several turns."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from horovodize.distribute import distribute
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

SIZES = (2, 8, 64)

_HEAD = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from counted import FILES, LINES, RECORDS, ROWS, count, decode
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
"""


@dataclass(frozen=True)
class Kind:
    """A kind of pipeline: the script, and the replacements (old text, new text) by which one divides it by hand."""

    name: str
    script: str
    by_hand: tuple[tuple[str, str], ...]

    def distributed(self) -> str:
        plan = distribute(
            summarize(Document(_HEAD.replace("import horovod.tensorflow.keras as hvd\n", "") + self.script))
        )
        assert isinstance(plan, Plan), plan
        return plan.text

    def divided_by_hand(self) -> str:
        text = self.script
        for old, new in self.by_hand:
            assert text.count(old) == 1, (self.name, old)
            text = text.replace(old, new)
        return _HEAD + text


_SHARD = ".shard(hvd.size(), hvd.rank())"
_STEPS = ("steps_per_epoch=256", "steps_per_epoch=256 // hvd.size()")

KINDS = (
    Kind(
        "arrays as a dataset",
        "model.fit(tf.data.Dataset.from_tensor_slices(ROWS).map(decode).batch(8))\n",
        (("(ROWS)", f"(ROWS){_SHARD}"),),
    ),
    Kind(
        "records, decoded",
        "model.fit(tf.data.TFRecordDataset(RECORDS).map(decode).batch(8))\n",
        (("(RECORDS)", f"(RECORDS){_SHARD}"),),
    ),
    Kind(
        "files listed and interleaved, decoded",
        "files = tf.data.Dataset.list_files(FILES, seed=1)\n"
        "model.fit(files.interleave(tf.data.TFRecordDataset, cycle_length=4).map(decode).batch(8))\n",
        (("cycle_length=4)", f"cycle_length=4){_SHARD}"),),
    ),
    Kind(
        "records, repeated for a number of steps",
        "model.fit(tf.data.TFRecordDataset(RECORDS).map(decode).repeat().batch(8), steps_per_epoch=256)\n",
        (("(RECORDS)", f"(RECORDS){_SHARD}"), _STEPS),
    ),
    Kind(
        "lines of text",
        "model.fit(tf.data.TextLineDataset(LINES).map(decode).shuffle(100).batch(8))\n",
        (("(LINES)", f"(LINES){_SHARD}"),),
    ),
    Kind(
        "a generator of rows",
        "def rows():\n    for i in range(2048):\n        count()\n        yield float(i)\n"
        "model.fit(tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.float32)).batch(8))\n",
        (("range(2048)", "range(hvd.rank(), 2048, hvd.size())"),),
    ),
    Kind(
        "a generator that draws at random",
        "def draw():\n    while True:\n        count()\n        yield np.random.normal()\n"
        "drawn = tf.data.Dataset.from_generator(draw, output_signature=tf.TensorSpec((), tf.float32))\n"
        "model.fit(drawn.batch(8), steps_per_epoch=256)\n",
        (_STEPS,),
    ),
    Kind(
        "a function for training and testing",
        "def make(path, training):\n    ds = tf.data.TFRecordDataset(path).map(decode)\n"
        "    if training:\n        ds = ds.shuffle(100)\n    return ds.batch(8).prefetch(1)\n"
        "model.fit(make(RECORDS, True), validation_data=make(RECORDS, False))\n",
        (
            (
                "    ds = tf.data.TFRecordDataset(path).map(decode)\n",
                f"    ds = tf.data.TFRecordDataset(path)\n    if training:\n        ds = ds{_SHARD}\n    ds = ds.map(decode)\n",
            ),
        ),
    ),
    Kind(
        "ends on a device",
        "ds = tf.data.TFRecordDataset(RECORDS).map(decode).batch(8)\n"
        'model.fit(ds.apply(tf.data.experimental.prefetch_to_device("/cpu:0")))\n',
        (("(RECORDS)", f"(RECORDS){_SHARD}"),),
    ),
    Kind(
        "a Keras Sequence",
        "class Batches(tf.keras.utils.Sequence):\n    def __len__(self):\n        return 256\n"
        "    def __getitem__(self, i):\n        count(8)\n"
        "        return np.sqrt(ROWS[i * 8 : i * 8 + 8]), ROWS[i * 8 : i * 8 + 8]\n"
        "model.fit(Batches())\n",
        (
            ("return 256", "return 256 // hvd.size()"),
            ("count(8)\n", "count(8)\n        i = i * hvd.size() + hvd.rank()\n"),
        ),
    ),
    Kind(
        "a Python generator of batches",
        "def batches():\n    while True:\n        for i in range(0, 2048, 8):\n            count(8)\n"
        "            yield np.sqrt(ROWS[i : i + 8]), ROWS[i : i + 8]\n"
        "model.fit(batches(), steps_per_epoch=256)\n",
        (("range(0, 2048, 8)", "range(8 * hvd.rank(), 2048, 8 * hvd.size())"), _STEPS),
    ),
    Kind(
        "arrays",
        "model.fit(ROWS, ROWS, batch_size=8)\n",
        (("(ROWS, ROWS", "(ROWS[hvd.rank() :: hvd.size()], ROWS[hvd.rank() :: hvd.size()]"),),
    ),
)

_RANK = '''\
"""Goes through the data of scripts as one pretended rank; says what it counted and how long it took."""
import json, sys, time, types

import numpy as np
import tensorflow as tf

COUNT, ROWS = 2048, np.arange(2048, dtype=np.float32)
RECORDS, LINES = "all.tfrecord", "all.txt"
parts = [f"part{i:03}.tfrecord" for i in range(16)]
for path, n in [(RECORDS, COUNT), *((part, COUNT // 16) for part in parts)]:
    with tf.io.TFRecordWriter(path) as records:
        for i in range(n):
            records.write(f"{i:08}" * 16)
with open(LINES, "w") as lines:
    lines.writelines(f"{i:08}\\n" for i in range(COUNT))
seen, fed = [0], [None, None]


def count(n=1):
    seen[0] += n


def decoded(element):
    count()
    for _ in range(5):
        np.sqrt(np.arange(1000))
    return np.float32(1)


def decode(element):
    return tf.ensure_shape(tf.numpy_function(decoded, [element], tf.float32), ())


def fit(self, x, y=None, steps_per_epoch=None, **given):
    fed[:] = x, steps_per_epoch


def go_through(x, steps):
    if isinstance(x, np.ndarray):
        return count(len(x))
    turns = (x[i] for i in range(len(x))) if isinstance(x, tf.keras.utils.Sequence) else iter(x)
    for n, batch in enumerate(turns, 1):
        if n == steps:
            break


class Horovod(types.ModuleType):
    n, r = 1, 0
    init = staticmethod(lambda: None)
    size = staticmethod(lambda: Horovod.n)
    rank = local_rank = staticmethod(lambda: Horovod.r)
    DistributedOptimizer = staticmethod(lambda optimizer, **given: optimizer)

    def __getattr__(self, name):
        return lambda *args, **given: None


hvd = Horovod("horovod")
hvd.tensorflow = hvd.keras = hvd.callbacks = hvd
sys.modules.update({"horovod": hvd, "horovod.tensorflow": hvd, "horovod.tensorflow.keras": hvd, "horovod.keras": hvd})
counted = types.ModuleType("counted")
counted.__dict__.update(ROWS=ROWS, RECORDS=RECORDS, LINES=LINES, FILES="part*.tfrecord", count=count, decode=decode)
sys.modules["counted"] = counted
tf.keras.Model.fit = fit
for line in sys.stdin:
    told = json.loads(line)
    Horovod.n, Horovod.r = told["size"], told["size"] - 1
    answer = []
    for text in told["texts"]:
        exec(compile(text, "script", "exec"), {"__name__": "__main__"})
        answer.append([tuple(fed), 0, float("inf")])
    for turn in range(told["turns"]):
        for one in answer:
            seen[0], start = 0, time.process_time()
            go_through(*one[0])
            one[1:] = seen[0], min(one[2], time.process_time() - start)
    print(json.dumps([one[1:] for one in answer]), flush=True)
'''


@dataclass(frozen=True)
class Cost:
    """What a rank's share costs, ours and by hand: elements prepared, and seconds to go through it."""

    kind: str
    size: int
    units: int
    seconds: float
    units_by_hand: int
    seconds_by_hand: float


def costs(turns: int) -> Iterator[Cost]:
    """Of the last rank of each size, for each kind of pipeline. Raises AssertionError where a script fails."""
    python = Path(os.environ.get("HOROVODIZE_TF_PYTHON") or Path.cwd() / ".venv-horovod/bin/python")
    asked = [(kind, size) for kind in KINDS for size in SIZES]
    lines = [
        json.dumps({"size": size, "turns": turns, "texts": [kind.distributed(), kind.divided_by_hand()]})
        for kind, size in asked
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "rank.py"
        program.write_text(_RANK)
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        command = [os.fspath(python), os.fspath(program)]
        done = subprocess.run(
            command,
            input="\n".join(lines),
            capture_output=True,
            text=True,
            cwd=folder,
            env=quiet,
            check=False,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    assert len(answers) == len(asked), done.stderr[-3000:]
    for (kind, size), ((units, seconds), (units_by_hand, seconds_by_hand)) in zip(
        asked, answers, strict=True
    ):
        yield Cost(kind.name, size, units, seconds, units_by_hand, seconds_by_hand)
