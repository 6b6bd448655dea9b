"""`horovodize run` and `horovodize traceback`, with a launcher of the tests' and without TensorFlow."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import horovodize
from horovodize.cli import main

TENSORFLOW = """\
import sys
from unittest.mock import MagicMock
here = MagicMock()
del here.keras.ops
here.config.experimental.list_physical_devices.return_value = []
sys.modules[__name__] = here
"""
HOROVOD = """\
import os
from unittest.mock import MagicMock
rank = local_rank = lambda: int(os.environ["HOROVOD_RANK"])
size = lambda: 2
init = lambda: None
__path__ = []
def __getattr__(name):
    return MagicMock()
"""
SCRIPT = """\
import os
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
os.write(1, f"{__file__} {__name__} {sys.argv[1:]} {os.getcwd()}\\n".encode())
model.fit([1] * 64, [2] * 64)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], launcher: str):
    """Runs the command on a script, in a folder of its own: status, standard output, standard error."""
    modules = tmp_path / "modules"
    (modules / "horovod" / "tensorflow" / "keras").mkdir(parents=True)
    (modules / "tensorflow.py").write_text(TENSORFLOW)
    (modules / "horovod" / "__init__.py").write_text("")
    for folder in (modules / "horovod" / "tensorflow", modules / "horovod" / "tensorflow" / "keras"):
        (folder / "__init__.py").write_text(HOROVOD.replace("__path__ = []\n", ""))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.setenv("PATIENCE", "20")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.chdir(home)

    def run_it(text: str, *options: str, arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        Path("train.py").write_text(text)
        import sys

        flags = ["--python", sys.executable, "--launcher", f"{launcher} 2", *options]
        try:
            status = main(["run", "-np", "2", *flags, "train.py", *arguments])
        except SystemExit as e:
            status = int(e.code or 0)
        out, err = capfd.readouterr()
        assert Path("train.py").read_text() == text
        return status, out, err

    return run_it


def test_the_script_runs_under_its_own_name(run, tmp_path: Path) -> None:
    status, out, err = run(SCRIPT, arguments=("--epochs", "3"))
    home = tmp_path / "home"
    said = f"{home}/train.py __main__ ['--epochs', '3'] {home}"
    assert sorted(out.splitlines()) == [f"[0] {said}", f"[1] {said}"]
    assert "train.py: distributed in memory (" in err
    assert "train.py: trained on 2 ranks in" in err
    assert status == 0
    assert [path.name for path in home.iterdir()] == ["train.py"]


def test_modules_of_the_project_run_distributed(run) -> None:
    Path("steps.py").write_text(
        "import tensorflow as tf\n\ndef make():\n    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        '    model.compile(tf.keras.optimizers.SGD(0.1), "mse")\n    raise KeyError("made")\n'
    )
    text = "import tensorflow as tf\nfrom steps import make\nmodel = make()\nmodel.fit([1] * 64, [2] * 64)\n"
    status, _, err = run(text)
    assert status == 1
    assert "both ranks failed alike at steps.py:6: KeyError: 'made'" in err
    assert '      File "train.py", line 3, in <module>' in err
    assert "DistributedOptimizer" not in Path("steps.py").read_text()


def test_a_failure_names_the_users_line(run) -> None:
    status, _, err = run(SCRIPT.replace("model.fit", "model.fit(1 // 0)\nmodel.fit"))
    assert status == 1
    assert "horovodize: both ranks failed alike at train.py:8: ZeroDivisionError" in err
    assert "start.py" not in err
    assert "horovodize-run-" not in err


def test_one_rank_that_fails_is_named(run) -> None:
    status, _, err = run(
        SCRIPT.replace("model.fit", 'os.environ["HOROVOD_RANK"] == "1" and sys.exit("no data")\nmodel.fit')
    )
    assert status == 1
    assert "rank 1 failed first: the script ended with exit status 1; it said: no data" in err


def test_what_is_refused_is_not_run(run) -> None:
    status, out, err = run("import tensorflow as tf\nmodel.fit(\n")
    assert (status, out) == (1, "")
    assert "train.py:2:10: HVD003" in err
    assert "help: horovodize explain HVD003" in err
    assert "nothing was started" in err
    assert "Traceback" not in err


def test_what_ran_is_kept_with_its_map(run) -> None:
    status, _, _ = run(SCRIPT, "--keep", "kept", "--source-map", "map.json", "--log", "logs")
    assert status == 0
    assert "hvd.init()" in Path("kept/train.py").read_text()
    assert Path("kept/source-map.json").read_text() == Path("map.json").read_text()
    assert Path("logs/rank-1.txt").read_text().endswith(f" {Path.cwd()}\n")
    status, _, err = run(SCRIPT, "--keep", "kept")
    assert status == 2
    assert "isn't an empty folder" in err


def test_a_log_is_translated(run, capfd: pytest.CaptureFixture[str]) -> None:
    run(SCRIPT.replace("model.fit", "model.fit(1 // 0)\nmodel.fit"), "--keep", "kept", "--log", "logs")
    assert main(["traceback", "logs", "--source-map", "kept/source-map.json"]) == 0
    out = capfd.readouterr().out
    assert "both ranks failed alike at train.py:8: ZeroDivisionError" in out
    raw = Path("logs/rank-0.txt").read_text()
    Path("log.txt").write_text(
        "".join(f"[{rank}]<stderr>:{line}\n" for rank in (0, 1) for line in raw.splitlines())
    )
    assert main(["traceback", "log.txt", "--source-map", "kept/source-map.json"]) == 0
    assert capfd.readouterr().out == out
    Path("log.txt").write_text(raw)
    assert main(["traceback", "log.txt", "--source-map", "kept/source-map.json"]) == 0
    assert '  File "train.py", line 8, in <module>\n    model.fit(1 // 0)\n' in capfd.readouterr().out


def test_wrong_usage_is_told(run, capfd: pytest.CaptureFixture[str]) -> None:
    assert "no horovodrun on the PATH" in run(SCRIPT, "--launcher", "horovodrun")[2]
    assert "--keep DIR" in run(SCRIPT, "-H", "one:1,two:1")[2]
    assert main(["run", "-np", "2", "gone.py"]) == 2
    assert "gone.py: no such file" in capfd.readouterr().err
    assert main(["traceback", "gone.txt"]) == 2
    Path("map.json").write_text("{}")
    assert main(["traceback", "gone.txt", "--source-map", "map.json"]) == 2
    assert "no source map" in capfd.readouterr().err


def test_a_caught_error_is_shown_in_the_users_lines(run) -> None:
    text = (
        SCRIPT + "import traceback\ntry:\n    1 // 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n"
    )
    status, out, _ = run(text)
    assert status == 0
    assert '[1]   File "train.py", line 11, in <module>' in out
    assert "[1] ZeroDivisionError" in out


def test_distribute_writes_a_map_on_request(run, capfd: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(SCRIPT)
    assert main(["distribute", "train.py", "--output", "out.py", "--source-map", "map.json", "-q"]) == 0
    lines = Path("out.py").read_text().splitlines()
    line = next(number for number, line in enumerate(lines) if line.startswith("os.write"))
    Path("log.txt").write_text(
        f'  File "{Path.cwd()}/out.py", line {line + 1}, in <module>\n    os.write(1, f"…")\n'
    )
    assert main(["traceback", "log.txt", "--source-map", "map.json"]) == 0
    assert '  File "train.py", line 7, in <module>' in capfd.readouterr().out
    assert main(["distribute", "train.py", "--source-map", "map.json"]) == 2


def test_what_a_line_becomes(run, capfd: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(SCRIPT)
    assert main(["explain", "train.py:6"]) == 0
    out = capfd.readouterr().out
    assert (
        "becomes\n    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))"
        in out
    )
    assert "C5   Multiply the learning rate by the number of ranks" in out
    assert main(["explain", "train.py:1"]) == 0
    assert "Stays as it is." in capfd.readouterr().out
    assert main(["explain", "train.py:99"]) == 2
    assert main(["explain", "gone.py:1"]) == 2
    Path("train.py").write_text("import tensorflow as tf\nmodel.fit(\n")
    assert main(["explain", "train.py:2"]) == 1


TAPE = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((64, 2))).batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""
WRAPPED = "    tape = hvd.DistributedGradientTape(tape)\n"


def test_what_is_inserted_beside_a_line_is_shown(run, capfd: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(TAPE)
    assert main(["explain", "train.py:7"]) == 0  # the line after which it stands
    out = capfd.readouterr().out
    assert "becomes\n            loss = tf.reduce_mean(model(x))\n    " + WRAPPED + "\nG1   " in out
    assert main(["explain", "train.py:8"]) == 0  # the line that it is for
    assert "becomes\n    " + WRAPPED + "        grads = " in capfd.readouterr().out
    assert main(["explain", "train.py:6"]) == 0
    assert "Stays as it is." in capfd.readouterr().out


def test_a_module_is_explained_by_its_script(run, capfd: pytest.CaptureFixture[str]) -> None:
    Path("data.py").write_text("import tensorflow as tf\n\nROWS = tf.zeros((64, 2))\n")
    assert main(["explain", "data.py:3"]) == 1
    assert (
        "data.py: has no training loop; `horovodize distribute` of a script that imports it"
        in capfd.readouterr().err
    )


def test_a_tree_of_statements(run, capfd: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(SCRIPT + "if True:\n    pass\nelse:\n    print(1)\n")
    assert main(["summary", "--tree", "train.py"]) == 0
    out = capfd.readouterr().out
    assert "    8 ├─ Expr  model.fit([1] * 64, [2] * 64)  ← trains here\n" in out
    assert "    9 └─ If  if True:\n   10    └─ Pass  pass\n         else\n   12    └─ Expr  print(1)\n" in out


BARS = """\
if os.environ["HOROVOD_RANK"] == "0":
    import time
    for step in range(1, 16):
        os.write(1, f"\\r{step:2d}/15 [==>..] - ETA: 3s - loss: 0.5000".encode())
        time.sleep(0.1)
    os.write(1, b"\\r15/15 [=====] - 2s - loss: 0.4000\\n")
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_is_a_line_that_is_replaced_on_a_terminal(run, launcher: str, terminal: bool) -> None:
    Path("train.py").write_text(SCRIPT + BARS)
    flags = ["--python", sys.executable, "--launcher", f"{launcher} 2"]
    command = [sys.executable, "-m", "horovodize", "run", "-np", "2", *flags, "train.py"]
    server = Path(horovodize.__file__).parents[1]
    around = {**os.environ, "TERM": "xterm", "PYTHONPATH": f"{server}{os.pathsep}{os.environ['PYTHONPATH']}"}
    said = _on_terminal(command, around) if terminal else _piped(command, around)
    assert ("\x1b[Kstep " in said) == terminal
    assert (" of 15 · loss 0.5000 · " in said and " steps a second · about " in said) == terminal
    # What it came to stays, with and without a terminal, and nothing of the bars before it.
    assert "15/15 [=====] - 2s - loss: 0.4000" in said
    assert "ETA" not in said


def _on_terminal(command: list[str], around: dict[str, str]) -> str:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    process = subprocess.Popen(command, stdout=its, stderr=its, stdin=its, env=around)
    os.close(its)
    found = bytearray()
    with contextlib.suppress(OSError):  # Linux says so when nobody has the other end any more
        while data := os.read(ours, 4096):
            found += data
    os.close(ours)
    assert process.wait(30) == 0, found.decode()
    return found.decode()


def _piped(command: list[str], around: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=around, check=True, timeout=60)
    return done.stdout + done.stderr


def test_a_failure_says_what_is_wrong_with_the_environment(run) -> None:
    status, _, err = run(SCRIPT.replace("model.fit", "model.fit(1 // 0)\nmodel.fit"))
    assert status == 1
    assert "warning: Horovod: not installed\n  what to do: horovodize build-horovod --python" in err
    assert err.index("ZeroDivisionError") < err.index("warning: Horovod") < err.index("failed after")


def test_doctor_is_named_where_a_failure_has_no_line(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from horovodize import diagnosing
    from horovodize.diagnosing import Diagnosis

    asked = []

    def diagnose(python: str, ranks: int, on: str, **how: bool) -> Diagnosis:
        asked.append((ranks, on, how))
        return Diagnosis(python, ())

    monkeypatch.setattr(diagnosing, "diagnose", diagnose)
    _, _, err = run(SCRIPT)
    assert not asked  # all is well
    assert "doctor" not in err
    _, _, err = run(SCRIPT.replace("model.fit", "model.fit(1 // 0)\nmodel.fit"))
    assert asked == [(2, "", {"train": False, "remote": False})]
    assert "doctor" not in err
    _, _, err = run(SCRIPT.replace("model.fit", "os.kill(os.getpid(), 6)\nmodel.fit"))
    assert "to see whether Horovod itself works here: horovodize doctor --python" in err
