"""Legacy Keras (`TF_USE_LEGACY_KERAS=1`, the package tf_keras) on the newest TensorFlow: Horovod's own API, under real Horovod.

In processes of their own: the variable counts only before TensorFlow is imported, which the other tests' ranks have done."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.restrictions import check
from horovodize.source import Document, compose
from horovodize.source.edits import apply
from horovodize.summary import summarize
from tests.training.running import KERAS_3, environment

pytestmark = [pytest.mark.keras3, pytest.mark.timeout(600)]
HERE = Path(__file__).parent
LEGACY = sorted((HERE / "legacy").glob("*.py"))
TOLD = """
import json
with open(f"rank-{hvd.rank()}.json", "w") as told:
    json.dump({"rank": hvd.rank(), "keras": tf.keras.__name__, "losses": [float(one) for one in losses],
        "weights": [w.astype("float64").ravel().tolist() for w in model.get_weights()]}, told)
"""


def trained(text: str, folder: Path) -> list[dict[str, object]]:
    """What the ranks say at their ends."""
    script = folder / "script.py"
    script.write_text(text + TOLD, encoding="utf-8")
    horovodrun = str(KERAS_3.python.parent / "horovodrun")
    done = subprocess.run(
        [horovodrun, "--gloo", "-np", "2", str(KERAS_3.python), str(script)],
        cwd=folder,
        env=environment(300, KERAS_3),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("rank-*.json"))]


@pytest.mark.parametrize("program", LEGACY, ids=lambda path: path.stem)
def test_legacy_keras_trains_alike_on_both_ranks(program: Path, tmp_path: Path) -> None:
    plan = distribute(
        summarize(Document(program.read_text(encoding="utf-8"))), Options(comments=False, tensorflow="2.21")
    )
    assert isinstance(plan, Plan), plan
    assert not plan.beside
    one, other = sorted(trained(plan.text, tmp_path), key=lambda said: str(said["rank"]))
    assert str(one["keras"]).startswith("tf_keras")
    assert one["weights"] == other["weights"]
    if program.stem == "fit":  # losses, averaged: by them all ranks lower the rate alike
        assert one["losses"] == other["losses"]
    else:
        assert one["losses"] != other["losses"]


def test_without_the_mend_the_callbacks_stop(tmp_path: Path) -> None:
    """Why `hvd.callbacks.K` is set: Horovod's callbacks take Keras 3's backend."""
    program = HERE / "legacy" / "fit.py"
    plan = distribute(summarize(Document(program.read_text(encoding="utf-8"))), Options(tensorflow="2.21"))
    assert isinstance(plan, Plan)
    mend = "hvd.callbacks.K = tf.keras.backend\n"
    assert mend in plan.text
    with pytest.raises(AssertionError, match="AttributeError"):
        trained(plan.text.replace(mend, ""), tmp_path)


OTHER = """\
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf
import horovod.keras as hvd

hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
y = tf.reduce_sum(x, 1, keepdims=True) * (1 + 9 * hvd.rank())
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
losses = model.fit(x, y, batch_size=16, verbose=0, callbacks=callbacks).history["loss"]
"""


def test_horovods_module_of_the_other_keras_stops_and_the_fix_mends_it(tmp_path: Path) -> None:
    """HVD315: here `keras` is Keras 3, and TensorFlow's is another package."""
    (found,) = (v for v in check(summarize(Document(OTHER))) if v.code == "HVD315")
    (fix,) = found.fixes
    with pytest.raises(AssertionError, match="_implements_train_batch_hooks"):
        trained(OTHER, tmp_path)
    one, other = trained(apply(OTHER, compose(OTHER, fix.edits)), tmp_path)
    assert one["weights"] == other["weights"]
    assert one["losses"] != other["losses"]  # of rows of their own
