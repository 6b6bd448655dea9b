"""Notebooks whose model, data or loop stand in modules beside them: they are read and changed with the notebook."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from horovodize.running.prepared import prepare
from horovodize.source.notebook import NotebookFile
from tests.source.notebooks import notebook, sources

HELPERS = """\
import tensorflow as tf
def make_model(rate):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(rate), "mse")
    return model
def make_data(x, batch):
    return tf.data.Dataset.from_tensor_slices((x, x)).shuffle(64).batch(batch)
"""
LOOP = """\
import tensorflow as tf
def train(model, data, epochs):
    optimizer = tf.keras.optimizers.SGD(0.1)
    for epoch in range(epochs):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
FITS = (
    "%matplotlib inline\nimport numpy as np\nfrom helpers import make_model, make_data",
    "x = np.ones((64, 1), 'float32')\ndata = make_data(x, 8)",
    "model = make_model(0.1)\n!ls",
    "model.fit(data, epochs=3)\nmodel.save('m.h5')",
)
LOOPS = (
    "import numpy as np\nimport tensorflow as tf\nimport loop",
    "data = tf.data.Dataset.from_tensor_slices((x, x)).batch(8)",
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nloop.train(model, data, 3)\nprint('done')",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "fits.ipynb").write_text(notebook(*FITS))
    (tmp_path / "loops.ipynb").write_text(notebook(*LOOPS))
    return tmp_path


def test_rate_and_data_are_adapted_where_they_are_made(run, folder: Path) -> None:
    result = run("distribute", "--write", "fits.ipynb")
    assert result.status == 0, result.err
    helpers = (folder / "helpers.py").read_text()
    assert "tf.keras.optimizers.SGD(rate * hvd.size())" in helpers
    assert "return shard_dataset(" in helpers.partition("def make_data")[2]
    cells = sources((folder / "fits.ipynb").read_bytes())
    assert "hvd.init()" in cells[0]
    assert cells[0].startswith("%matplotlib inline\n")
    assert cells[2] == FITS[2]
    assert "BroadcastGlobalVariablesCallback(0)" in cells[3]
    again = run("distribute", "--write", "fits.ipynb")
    assert "nothing to do" in again.err


def test_a_loop_in_a_module_is_found(run, folder: Path) -> None:
    result = run("distribute", "loops.ipynb")
    assert result.status == 0, result.err
    assert "+++ b/loop.py" in result.out
    assert "+++ b/loops.ipynb#cell 2" in result.out
    assert "DistributedGradientTape" in result.out
    assert "to-script makes it" in result.err


def test_the_script_of_a_notebook_is_written_with_its_modules(run, folder: Path) -> None:
    before = (folder / "fits.ipynb").read_text()
    result = run("distribute", "--write", "--to-script", "fits.ipynb")
    assert result.status == 0, result.err
    assert (folder / "fits.ipynb").read_text() == before
    script = (folder / "fits.py").read_text()
    ast.parse(script)
    assert "hvd.init()" in script
    assert "# !ls" in script
    assert "rate * hvd.size()" in (folder / "helpers.py").read_text()
    assert "run it with: horovodrun -np 2 python fits.py" in result.err


def test_one_file_cannot_hold_the_result(run, folder: Path) -> None:
    result = run("distribute", "loops.ipynb", "--output", "out.py")
    assert result.status == 1
    assert "other files have to change with it: loop.py" in result.err
    assert not (folder / "out.py").exists()


def test_findings_in_modules_are_told_at_their_files(run, folder: Path) -> None:
    (folder / "loop.py").write_text(
        LOOP.replace("    optimizer = ", "    strategy = tf.distribute.MirroredStrategy()\n    optimizer = ")
    )
    result = run("check", "loops.ipynb", "--format", "json")
    found = json.loads(result.out)
    assert "loop.py" in json.dumps(found)


def test_a_run_takes_the_modules_as_they_are_distributed(folder: Path) -> None:
    prepared = prepare(folder / "fits.ipynb")
    assert [file.source.name for file in prepared.files] == ["helpers.py", "fits.ipynb"]
    assert prepared.main.target.name == "fits.py"
    assert isinstance(prepared.main.document, NotebookFile)
    assert "rate * hvd.size()" in prepared.files[0].text
    assert "hvd.init()" in prepared.main.data.decode()
    as_it_is = prepare(folder / "fits.ipynb", distributed=False)
    assert sorted(path.name for path in as_it_is.members) == ["fits.ipynb", "helpers.py"]


def test_a_notebook_without_such_modules_is_read_alone(run, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(notebook("import tensorflow as tf\nimport helpers", *FITS[1:]))
    result = run("distribute", "n.ipynb")
    assert "+++ b/n.ipynb#cell 4" in result.out
    assert "helpers.py" not in result.out
