"""The codemod, run by LibCST's own tool on a folder, beside what the command line makes of the same files."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("libcst")

SCRIPT = """\
import tensorflow as tf
import numpy as np

x = np.zeros((64, 4), np.float32)
y = np.zeros((64, 1), np.float32)  # ü
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
model.fit(x, y, batch_size=8, epochs=3)
"""
MIRRORED = SCRIPT.replace("model =", "strategy = tf.distribute.MirroredStrategy()\nmodel =")


def _codemod(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "libcst.tool", "codemod", "-x", "--no-format"]
    return subprocess.run(
        [*command, "horovodize.codemod.DistributeWithHorovod", *flags, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def _distributed(script: Path, *flags: str) -> str:
    command = [sys.executable, "-m", "horovodize", "distribute", *flags, "--format", "text", str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout


def test_files_that_do_not_train_or_are_refused_or_imported_stay_and_the_reason_is_said(
    tmp_path: Path,
) -> None:
    texts = {
        "plain.py": "print(1)\n",
        "mirrored.py": MIRRORED,
        "trainer.py": SCRIPT,
        "main.py": "import trainer\n",
        "done.py": "import horovod.tensorflow.keras as hvd\nhvd.init()\n" + SCRIPT,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    said = _codemod(tmp_path, "--tensorflow", "2.15")
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in texts} == texts
    assert "HVD202" in said.stderr
    assert "main.py imports it" in said.stderr
    assert "it has no training loop" in said.stderr


def test_a_script_for_keras_3_is_changed_alone_where_the_package_has_our_module(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    flags = "--tensorflow", "2.17"
    assert "other files have to change with it" in _codemod(tmp_path, *flags).stderr
    assert script.read_text(encoding="utf-8") == SCRIPT
    expected = _distributed(script, *flags)
    assert "import horovod_keras3 as hvd" in expected
    _codemod(tmp_path, *flags, "--runtime", "package")
    assert script.read_text(encoding="utf-8") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("rate", ["linear", "keep"])
def test_a_script_becomes_what_the_command_line_makes_of_it(tmp_path: Path, rate: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    flags = ("--tensorflow", "2.15", "--rate", rate)
    expected = _distributed(script, *flags)
    said = _codemod(tmp_path, *flags)
    assert said.returncode == 0, said.stderr
    assert script.read_text(encoding="utf-8") == expected
    assert ("0.01 * hvd.size()" in expected) == (rate == "linear")
    assert "D2 note" in said.stderr


def test_a_step_in_a_comprehension_gets_a_statement_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    lines = SCRIPT.splitlines()[:-2]
    lines += [
        "optimizer = tf.keras.optimizers.SGD(0.01)",
        "def step(a, b):",
        "    with tf.GradientTape() as tape:",
        "        loss = tf.reduce_mean((model(a) - b) ** 2)",
        "    grads = tape.gradient(loss, model.trainable_variables)",
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        "    return loss",
        "losses = [step(a, b) for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(8)]",
        "",
    ]
    script.write_text("\n".join(lines), encoding="utf-8")
    expected = _distributed(script, "--tensorflow", "2.15")
    said = _codemod(tmp_path, "--tensorflow", "2.15")
    assert said.returncode == 0, said.stderr
    assert script.read_text(encoding="utf-8") == expected
    assert "    losses.append(step(a, b))\n" in expected
