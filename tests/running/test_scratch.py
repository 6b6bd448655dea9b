"""A copy of a script's folder: what is read is there, what is written is nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.running import scratch
from horovodize.running.scratch import scratch_copy

SCRIPT = """\
import tensorflow as tf
from steps import make

model = make()
model.fit(tf.zeros((640, 2)), tf.zeros((640, 1)))
"""
STEPS = """\
import tensorflow as tf


def make():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    return model
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "data" / "deep").mkdir(parents=True)
    (home / "train.py").write_text(SCRIPT)
    (home / "steps.py").write_text(STEPS)
    (home / "data" / "deep" / "rows.csv").write_text("1,2\n")
    for left_out in (".git", "node_modules", "__pycache__", "env"):
        (home / left_out).mkdir()
        (home / left_out / "large").write_text("")
    (home / "env" / "pyvenv.cfg").write_text("")
    monkeypatch.chdir(home)
    return home


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_what_runs_is_distributed_and_the_users_files_stay(project: Path, tmp_path: Path) -> None:
    before = files(project)
    made = scratch_copy(project / "train.py", tmp_path / "copy", distributed=True)
    assert files(project) == before
    assert set(files(made.root)) == {"train.py", "steps.py", "data/deep/rows.csv"}
    assert (made.script, made.cwd) == (made.root / "train.py", made.root)
    assert "hvd.init()" in (made.root / "train.py").read_text()
    assert "DistributedOptimizer" in (made.root / "steps.py").read_text()
    assert [plan.document.path for plan in made.prepared.plans] == ["steps.py", "train.py"]


def test_as_it_is(project: Path, tmp_path: Path) -> None:
    made = scratch_copy(Path("train.py"), tmp_path / "copy", distributed=False)
    assert made.script.read_text() == SCRIPT
    assert (made.root / "steps.py").read_text() == STEPS


def test_what_is_refused_is_copied_as_it_is(project: Path, tmp_path: Path) -> None:
    (project / "train.py").write_text("import tensorflow as tf\nmodel.fit(\n")
    made = scratch_copy(project / "train.py", tmp_path / "copy", distributed=True)
    assert [problem.code for problem in made.prepared.refused] == ["HVD003"]
    assert made.script.read_text() == "import tensorflow as tf\nmodel.fit(\n"


def test_what_is_written_there_is_not_written_here(project: Path, tmp_path: Path) -> None:
    made = scratch_copy(project / "train.py", tmp_path / "copy", distributed=True)
    made.place_of(project / "data" / "deep" / "rows.csv").write_text("other")
    (made.root / "data" / "new").write_text("new")
    assert (project / "data" / "deep" / "rows.csv").read_text() == "1,2\n"
    assert not (project / "data" / "new").exists()
    assert made.touched == []


def test_large_files_are_linked_and_watched(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "COPIED", 10)
    (project / "data" / "rows.npy").write_text("x" * 11)
    (project / "data" / "weights.h5").write_text("x" * 11)
    made = scratch_copy(project / "train.py", tmp_path / "copy", distributed=True)
    assert made.place_of(project / "data" / "rows.npy").is_symlink()
    assert not made.place_of(project / "data" / "weights.h5").is_symlink()  # scripts write such ones
    assert not made.script.is_symlink()
    (project / "data" / "rows.npy").write_text("y")
    assert made.touched == [project / "data" / "rows.npy"]


def test_after_so_much_all_is_linked(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "ENTRIES", 1)
    monkeypatch.setattr(scratch, "COPIED_IN_ALL", 0)
    made = scratch_copy(project / "train.py", tmp_path / "copy", distributed=True)
    assert (made.root / "data").is_symlink()
    assert "hvd.init()" in made.script.read_text()
    assert (project / "train.py").read_text() == SCRIPT


def test_a_copy_in_the_folder_does_not_copy_itself(project: Path) -> None:
    made = scratch_copy(project / "train.py", project / "copy", distributed=True)
    assert "copy" not in {path.name for path in made.root.iterdir()}


def test_the_script_runs_where_the_user_stands(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src").mkdir()
    (project / "src" / "alone.py").write_text(STEPS + "make().fit(tf.zeros((64, 2)), tf.zeros((64, 1)))\n")
    made = scratch_copy(project / "src" / "alone.py", tmp_path / "one", distributed=True)
    assert (made.cwd, made.script) == (made.root, made.root / "src" / "alone.py")
    assert made.place_of(project / "data").is_dir()
    monkeypatch.chdir(tmp_path)
    (project / "pyproject.toml").write_text("")
    made = scratch_copy(project / "src" / "alone.py", tmp_path / "two", distributed=True)
    assert (made.cwd, made.script) == (made.root, made.root / "alone.py")


def test_a_notebook_runs_as_a_script_in_its_folder(root: Path, tmp_path: Path) -> None:
    made = scratch_copy(
        root / "tests" / "workbench" / "programs" / "line.ipynb", tmp_path / "copy", distributed=True
    )
    assert made.script.name == "line.py"
    assert "hvd.init()" in made.script.read_text()
    assert made.cwd == made.root
