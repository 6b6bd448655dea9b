"""`horovodize distribute` of scripts whose model, data or step stand in other files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"
CHANGED = ["data.py", "optim.py", "step.py", "train.py"]


@pytest.fixture
def project(run, tmp_path):
    """The current folder, with a project of five files in it."""
    for path in PROJECTS.joinpath("four_modules").glob("*.py"):
        if ".expected" not in path.name:
            shutil.copy(path, tmp_path)
    return tmp_path


def texts(folder):
    return {path.name: path.read_text() for path in sorted(folder.glob("*.py"))}


def expected(name):
    return PROJECTS.joinpath("four_modules", name).with_suffix(".expected.py").read_text()


def test_write_changes_every_file_that_must(run, project):
    before = texts(project)
    result = run("distribute", "--write", "train.py")
    assert result.status == 0
    assert texts(project) == {**before, **{name: expected(name) for name in CHANGED}}
    assert [line.split(":")[0] for line in result.err.splitlines() if " note: " not in line] == CHANGED
    for name in CHANGED:
        assert f"+++ b/{name}" in result.out
    again = run("distribute", "--write", "train.py")
    assert again.status == 0
    assert "nothing to do" in again.err


def test_the_diff_is_one_that_git_applies(run, project):
    before = texts(project)
    result = run("distribute", "train.py")
    assert texts(project) == before
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "apply", "-"], input=result.raw, check=True)
    assert texts(project) == {**before, **{name: expected(name) for name in CHANGED}}


@pytest.mark.parametrize("arguments", [["--output", "out.py"], ["--format", "text"], ["--output", "-"]])
def test_one_file_cannot_hold_the_result(run, project, arguments):
    before = texts(project)
    result = run("distribute", "train.py", *arguments)
    assert result.status == 1
    assert result.raw == b""
    assert not (project / "out.py").exists()
    for word in ("data.py", "optim.py", "step.py", "--diff", "--write"):
        assert word in result.err
    assert texts(project) == before


def test_a_script_that_can_be_distributed_by_itself_is_with_a_word_about_the_others(run, project):
    (project / "train.py").write_text(
        "import tensorflow as tf\nfrom optim import make_optimizer\n\nnet = tf.keras.Sequential([])\n"
        "net.compile(make_optimizer('sgd'), 'mse')\nnet.fit(tf.ones((8, 3)), tf.ones(8))\n"
    )
    result = run("distribute", "train.py", "--output", "out.py")
    assert result.status == 0, result.err
    assert "other files should change with it: optim.py" in result.err
    assert "hvd.init()" in (project / "out.py").read_text()


def test_output_works_where_only_the_script_changes(run, project):
    (project / "train.py").write_text(
        "import tensorflow as tf\nfrom model import Net\n\nnet = Net()\nnet.compile('sgd', 'mse')\nnet.fit(tf.ones((8, 3)))\n"
    )
    result = run("distribute", "train.py", "--output", "out.py")
    assert result.status == 0, result.err
    assert "hvd.init()" in (project / "out.py").read_text()


def test_json_names_the_file_of_everything(run, project):
    result = run("distribute", "train.py", "--format", "json")
    report = json.loads(result.out)
    report = report[0] if isinstance(report, list) else report
    assert {f["path"]: f["text"] for f in report["files"]} == {name: expected(name) for name in CHANGED}
    assert {change["path"] for change in report["changes"]} == set(CHANGED)
    assert {edit["path"] for edit in report["edits"]} == set(CHANGED)
    assert report["text"] == expected("train.py")
    for edit in report["edits"]:
        lines = (project / edit["path"]).read_text().split("\n")
        assert edit["range"]["start"]["line"] <= len(lines)


def test_a_refusal_names_the_file_that_it_is_about(run, project):
    (project / "optim.py").write_text(
        "import horovod.tensorflow as hvd\n" + (project / "optim.py").read_text()
    )
    before = texts(project)
    result = run("distribute", "--write", "train.py")
    assert result.status == 1
    assert result.err.startswith("optim.py:1:8: HVD202")
    assert texts(project) == before
    report = json.loads(run("distribute", "--format", "json", "train.py").out)
    report = report[0] if isinstance(report, list) else report
    assert report["reasons"][0]["path"] == "optim.py"


def test_nothing_is_written_where_one_file_cannot_be(run, project):
    (project / "step.py").chmod(0o444)
    before = texts(project)
    result = run("distribute", "--write", "train.py")
    assert result.status == 2
    assert "read-only" in result.err
    assert texts(project) == before


def test_files_above_the_project_are_not_read(run, tmp_path):
    below = tmp_path / "home" / "work"
    below.mkdir(parents=True)
    (tmp_path / "home" / "model.py").write_text(
        "import tensorflow as tf\n\n\ndef train(x):\n    m = tf.keras.Sequential()\n    m.compile('sgd')\n    m.fit(x)\n"
    )
    (below / "train.py").write_text(
        "import tensorflow as tf\nfrom model import train\ntrain(tf.ones((8, 3)))\n"
    )
    os.chdir(below)
    assert run("distribute", "train.py").status == 1
    (tmp_path / "home" / "pyproject.toml").write_text("")  # now both are one project
    result = run("distribute", "train.py")
    assert result.status == 0
    assert "model.py" in result.out


def test_a_link_out_of_the_project_is_not_followed(run, project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "step.py"
    (project / "step.py").rename(outside)
    (project / "step.py").symlink_to(outside)
    before = outside.read_text()
    assert run("distribute", "--write", "train.py").status == 1
    assert outside.read_text() == before


# ---------------------------------------------------------------------- folders


@pytest.fixture
def projects(run, tmp_path):
    """The current folder, with all projects below it, as they are before they are distributed."""
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    return Path(shutil.copytree(PROJECTS, tmp_path, ignore=ignored, dirs_exist_ok=True))


def test_a_folder_is_distributed_project_by_project(run, projects):
    result = run("distribute", "--write", ".")
    for path in PROJECTS.rglob("*.expected.py"):
        name = str(path.relative_to(PROJECTS)).replace(".expected", "")
        assert (projects / name).read_text() == path.read_text(), name
    assert "half_distributed/optim.py:1:8: HVD202" in result.err
    again = run("distribute", "--write", ".")
    assert "distributed (" not in again.err


def test_a_module_of_two_scripts_is_changed_once(run, project):
    shutil.copy(project / "train.py", project / "other.py")
    shown = run("distribute", ".")
    assert shown.out.count("+++ b/optim.py") == 1
    result = run("distribute", "--write", ".")
    assert result.status == 0, result.err
    assert texts(project)["optim.py"] == expected("optim.py")
    assert texts(project)["train.py"] == texts(project)["other.py"] == expected("train.py")
    assert texts(project)["model.py"] == (PROJECTS / "four_modules" / "model.py").read_text()


def test_scripts_that_want_a_module_otherwise_are_told_apart(run, project):
    (project / "other.py").write_text(
        "import tensorflow as tf\nfrom model import Net\nimport optim\n\nnet = Net()\n"
        'net.compile(optim.make_optimizer("adam", 0.1), "mse")\nnet.fit(tf.ones((8, 3)), tf.ones((8, 1)))\n'
    )
    before = texts(project)
    result = run("distribute", "--write", ".")
    after = texts(project)
    assert result.status == 1
    assert after["train.py"] == expected("train.py")
    assert after["optim.py"] == expected("optim.py")
    assert after["other.py"] == before["other.py"]
    assert "other.py:1:1: HVD006 `optim.py` is run by `train.py`, too" in result.err


def test_a_script_whose_loop_is_in_another_module_trains(run, projects):
    for arguments in (["name_collision/train.py"], ["name_collision"]):
        result = run("summary", *arguments)
        assert "name_collision/train.py: Keras\n" in result.out
        assert "name_collision/small.py:11:5  loop" in result.out
    report = json.loads(run("summary", "--format", "json", "name_collision/train.py").out)
    assert report["loop"] == "keras"
    assert report["loops"][0]["range"]["path"] == "name_collision/small.py"


def test_what_a_module_settles_is_no_finding(run, projects):
    alone = projects / "alone"
    alone.mkdir()
    shutil.copy(projects / "four_modules" / "step.py", alone)
    assert "HVD105" in run("check", "alone").out
    result = run("check", "four_modules")
    assert result.out == ""
    assert result.status == 0
    assert run("check", "four_modules/train.py").out == ""


def test_findings_in_a_module_of_two_scripts_are_told_once(run, project):
    text = (project / "optim.py").read_text()
    (project / "optim.py").write_text(
        text + "\n\nstrategy = __import__('tensorflow').distribute.MirroredStrategy()\n"
    )
    (project / "optim.py").write_text(
        "import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy()\n" + text
    )
    shutil.copy(project / "train.py", project / "other.py")
    result = run("check", ".")
    lines = [line for line in result.out.splitlines() if "HVD202" in line]
    assert len(lines) == 1
    assert lines[0].startswith("optim.py:3:")


def test_what_is_excluded_is_not_looked_for(run, projects):
    (projects / "pyproject.toml").write_text('[tool.horovodize]\nexclude = ["n*", "!names_differ"]\n')
    result = run("summary", ".")
    assert "names_differ/train.py" in result.out
    assert "name_collision" not in result.out
    assert "name_collision/train.py: Keras" in run("summary", "name_collision/train.py").out


def test_a_folder_says_why_a_script_is_refused_that_trains_in_a_module_by_slim(run, tmp_path):
    (tmp_path / "trainer.py").write_text(
        "import tensorflow as tf\n\n\nclass Trainer:\n    def __init__(self, loss):\n"
        "        self.train_op = tf.train.AdamOptimizer(0.1).minimize(loss)\n\n"
        "    def train(self):\n        tf.contrib.slim.learning.train(self.train_op, 'logs', number_of_steps=10)\n"
    )
    main = "import tensorflow as tf\nfrom trainer import Trainer\n\n"
    (tmp_path / "main.py").write_text(f"{main}Trainer(tf.constant(1.0)).train()\n")
    (tmp_path / "other.py").write_text(f"{main}print(Trainer)\n")
    result = run("distribute", ".")
    assert result.status == 1
    assert "HVD202 the loop is in `slim.learning.train`" in result.err
    assert "refused" in result.err.partition("\nfiles\n")[2]


def test_a_folder_passes_over_a_script_whose_modules_do_not_train(run, tmp_path):
    (tmp_path / "model.py").write_text(
        "import tensorflow as tf\n\n\ndef build():\n    return tf.keras.Sequential()\n"
    )
    (tmp_path / "main.py").write_text("from model import build\n\nbuild().summary()\n")
    result = run("distribute", ".")
    assert (result.status, result.err) == (0, "files\n    2  without a training loop\n")
