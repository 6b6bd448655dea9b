"""`shard_dataset` under the real TensorFlow: every structure of elements, known and unknown counts, endless ones."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from horovodize.rules.helpers import HELPERS

_PROGRAM = """
import json
import numpy as np
import tensorflow as tf

class hvd:
    r, n = 0, 1
    rank = staticmethod(lambda: hvd.r)
    size = staticmethod(lambda: hvd.n)

HELPER

def plain(element):
    return tf.nest.map_structure(lambda t: t.to_list() if isinstance(t, tf.RaggedTensor) else t.numpy().tolist(), element)

of = tf.data.Dataset.from_tensor_slices
rows, ragged = np.arange(7), tf.ragged.constant([[1], [2, 3], [4], [5]])
signature = dict(output_signature=tf.TensorSpec((None,), tf.int32))
sources = {
    "tuple": lambda: of((rows, rows * 2)),
    "tuple of one": lambda: of((rows,)),
    "dict": lambda: of({"a": rows, "b": rows}),
    "nested": lambda: of(({"a": rows, "b": (rows, rows)}, rows)),
    "ragged": lambda: of(ragged),
    "generator": lambda: tf.data.Dataset.from_generator(lambda: iter([[1], [2, 3], [4], [5, 6], [7]]), **signature),
    "filtered": lambda: tf.data.Dataset.range(20).filter(lambda x: x % 2 == 0),
    "filtered dict": lambda: of({"a": rows, "b": (rows,)}).filter(lambda e: e["a"] < 6),
    "filtered tuple of one": lambda: of((rows,)).filter(lambda e: e < 6),
    "fewer than ranks": lambda: tf.data.Dataset.range(2),
    "endless": lambda: tf.data.Dataset.range(3).repeat(),
}
for name, make in sources.items():
    for hvd.n in (1, 2, 3, 4):
        shares = []
        for hvd.r in range(hvd.n):
            share = shard_dataset(make())
            assert share.element_spec == make().element_spec, name
            shares.append([plain(e) for e in share.take(6)])
        whole = [plain(e) for e in make().take(6 * hvd.n)]
        print(json.dumps([name, hvd.n, whole, shares]))
"""


@pytest.mark.training
@pytest.mark.timeout(300)
def test_shares_of_datasets_interleave_to_the_dataset(tf_python: Path, tmp_path: Path) -> None:
    lines = [line.format(name="shard_dataset", tf="tf") for line in HELPERS["shard_dataset"]]
    program = tmp_path / "shares.py"
    program.write_text(_PROGRAM.replace("HELPER", "\n".join(lines).replace("\ue000", "hvd")))
    run = subprocess.run([tf_python, program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    results = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("[")]
    assert len(results) == 11 * 4
    for name, size, whole, shares in results:
        each = len(whole) // size
        if each == 0:  # too few to share: all ranks get them all
            assert all(share == whole for share in shares), name
            continue
        assert [len(share) for share in shares] == [each] * size, name
        assert [share[k] for k in range(each) for share in shares] == whole[: each * size], name
