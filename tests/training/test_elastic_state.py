"""The state of elastic training keeps the rates of optimizers, which are not among their variables: a rank that joins later
has made its optimizer with another than the others have come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize import runtime
from tests.training.running import train

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

SCRIPT = """\
import sys
sys.path.insert(0, {folder!r})
import horovod.tensorflow as hvd
import tensorflow as tf
import horovod_elastic as elastic

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
optimizer = tf.keras.optimizers.{optimizer}(0.01)
state = elastic.State(model, optimizer)
if hvd.rank() == 0:  # it has trained; rank 1 has just joined
    optimizer.learning_rate = 0.002
    state.commit = lambda: None
    state.commits = 3
    state.save()
state.sync()
print("joined at", round(float(optimizer.learning_rate), 6))
optimizer.learning_rate = 0.5
state.restore()
print("begun again at", round(float(optimizer.learning_rate), 6))
"""


@pytest.mark.parametrize("optimizer", ["Adam", "legacy.SGD"])
def test_rates_go_with_the_state(optimizer: str, tmp_path: Path) -> None:
    name = "horovod_elastic.py"
    (tmp_path / name).write_text(runtime.text_of(name), encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(tmp_path), optimizer=optimizer), encoding="utf-8")
    outcome = train(script, tmp_path / "run", ranks=2)
    assert outcome.status == 0, outcome.output
    # What each rank says by itself: what both write at once may come out mixed.
    said = [report["stdout"] for report in outcome.reports]
    assert said == ["joined at 0.002\nbegun again at 0.002\n"] * 2
