"""The helpers for datasets under the real TensorFlow: every structure of elements, known and unknown counts, endless ones."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from horovodize.rules.drafting.helpers import HELPERS
from horovodize.rules.rows.short_shares import OF_ROUNDS, share_of

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
    return tf.nest.map_structure(written, element)

def written(t):
    if isinstance(t, tf.RaggedTensor):
        return t.to_list()
    return np.asarray(tf.sparse.to_dense(t) if isinstance(t, tf.SparseTensor) else t).astype(str).tolist()

of = tf.data.Dataset.from_tensor_slices
rows, ragged = np.arange(7), tf.ragged.constant([[1], [2, 3], [4], [5]])
shapes = lambda: iter([[1], [2, 3], [4], [5, 6], [7]])
sparse = tf.sparse.from_dense([[1, 0], [0, 2], [3, 0], [0, 4], [5, 0]])
signature = dict(output_signature=tf.TensorSpec((None,), tf.int32))
sources = {
    "tuple": lambda: of((rows, rows * 2)),
    "tuple of one": lambda: of((rows,)),
    "dict": lambda: of({"a": rows, "b": rows}),
    "nested": lambda: of(({"a": rows, "b": (rows, rows)}, rows)),
    "ragged": lambda: of(ragged),
    "generator": lambda: tf.data.Dataset.from_generator(shapes, **signature),
    "filtered": lambda: tf.data.Dataset.range(20).filter(lambda x: x % 2 == 0),
    "filtered dict": lambda: of({"a": rows, "b": (rows,)}).filter(lambda e: e["a"] < 6),
    "filtered tuple of one": lambda: of((rows,)).filter(lambda e: e < 6),
    "ragged, unknown count": lambda: of({"a": ragged}).filter(lambda e: True),
    "sparse": lambda: of(sparse).filter(lambda e: True),
    "strings": lambda: of([str(i) for i in range(7)]).filter(lambda e: e != "3"),
    "generated numbers": lambda: tf.data.Dataset.from_generator(lambda: iter(range(11)), tf.int32, ()),
    "fewer than ranks": lambda: tf.data.Dataset.range(2),
    "endless": lambda: tf.data.Dataset.range(3).repeat(),
}
for name, make in sources.items():
    for hvd.n in (1, 2, 3, 4):
        shares = []
        for hvd.r in range(hvd.n):
            share = CALLED(make())
            if not (name.startswith("ragged") and "CALLED" == "shard_steps"):  # of rank 0, no batches: they come out dense
                assert share.element_spec == make().element_spec, name
            shares.append([plain(e) for e in share.take(6)])
        whole = [plain(e) for e in make().take(6 * hvd.n)]
        print(json.dumps([name, hvd.n, whole, shares]))
"""


def _shares(python: Path, folder: Path, name: str) -> list[tuple[str, int, list[Any], list[list[Any]]]]:
    """What a helper makes of each source on each of several ranks: (source, ranks, the whole, each rank's share)."""
    own = f"    return ds{share_of('ds', plenty=False)} if ds.cardinality() >= 0 else ds"  # others have no `len`
    strings = "ds.element_spec == tf.TensorSpec((), tf.string)"
    in_rounds = ("def {name}(ds):", f"    return ds{OF_ROUNDS} if {strings} else ds")
    helpers = {**HELPERS, "in_one_line": ("def {name}(ds):", own), "in_rounds": in_rounds}
    lines = [line.format(name=name, tf="tf") for line in helpers[name]]
    program = folder / "shares.py"
    program.write_text(
        _PROGRAM.replace("HELPER", "\n".join(lines).replace("\ue000", "hvd")).replace("CALLED", name)
    )
    run = subprocess.run([python, program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    results = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("[")]
    assert len(results) == 15 * 4
    return results


COUNTED = {
    "tuple",
    "tuple of one",
    "dict",
    "nested",
    "ragged",
    "fewer than ranks",
}  # know their length, and end


@pytest.mark.training
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "helper", ["in_one_line", "in_rounds", "shard_dataset", "shard_stream", "shard_steps"]
)
def test_shares_of_datasets_interleave_to_the_dataset(helper: str, tf_python: Path, tmp_path: Path) -> None:
    found = _shares(tf_python, tmp_path, helper)
    for_all = {"shard_dataset": {*COUNTED, "endless"}, "in_one_line": COUNTED, "in_rounds": {"strings"}}
    compared = [one for one in found if one[0] in for_all.get(helper, {one[0]})]
    assert len(compared) == 4 * len(for_all.get(helper, {one[0] for one in found}))
    for name, size, whole, shares in compared:
        each = len(whole) // size
        if each == 0:  # too few to share: each rank gets one of them
            assert shares == [[whole[rank % len(whole)]] for rank in range(size)], name
            continue
        assert [len(share) for share in shares] == [each] * size, name
        assert [share[k] for k in range(each) for share in shares] == whole[: each * size], name


def test_the_helper_for_what_has_a_length_is_the_expression_in_one_line() -> None:
    assert HELPERS["shard_finite"][-1] == f"    return dataset{share_of('dataset', plenty=False)}"


@pytest.mark.training
@pytest.mark.timeout(300)
def test_shares_of_records_are_filled_up(tf_python: Path, tmp_path: Path) -> None:
    """Nothing is left out, and all ranks get equally many: fewer than there are ranks, too."""
    for name, size, whole, shares in _shares(tf_python, tmp_path, "shard_records"):
        each = -(-len(whole) // size)
        assert [len(share) for share in shares] == [each] * size, name
        filled = (whole * size)[: each * size]
        assert [share[k] for k in range(each) for share in shares] == filled, name
