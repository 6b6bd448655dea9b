"""What users of ruff, black and mypy expect of a command, through the real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(tf.zeros((640, 2)), tf.zeros((640, 1)))
"""
FOUND = (
    SCRIPT
    + """\
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((tf.zeros((8, 2)), tf.zeros((8, 1)))).batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
)
DONE = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "both.py").write_text(FOUND)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "both.py").write_text(FOUND)
    return tmp_path


def command(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "horovodize", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, input=stdin,
    )  # fmt: skip


# ---------------------------------------------------------------------- distribute


def test_check_says_what_would_change_and_changes_nothing(folder: Path) -> None:
    done = command(folder, "distribute", "--check", "train.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert "train.py: would be distributed (" in done.stderr
    assert (folder / "train.py").read_text() == SCRIPT
    assert command(folder, "distribute", "--check", "--exit-zero", "train.py").returncode == 0


def test_check_is_content_with_what_is_distributed(folder: Path) -> None:
    assert command(folder, "distribute", "--write", "train.py", "--tensorflow", "2.15").returncode == 0
    done = command(folder, "distribute", "--check", "train.py")
    assert (done.returncode, done.stdout) == (0, "")


def test_check_with_diff_shows_it_as_well(folder: Path) -> None:
    done = command(folder, "distribute", "--check", "--diff", "train.py")
    assert done.returncode == 1
    assert "+++ b/train.py" in done.stdout
    report = command(folder, "distribute", "--check", "--format", "json", "train.py")
    assert report.returncode == 1
    assert json.loads(report.stdout)["outcome"] == "distributed"


@pytest.mark.parametrize("flags", [["--write"], ["--output", "out.py"]])
def test_check_and_writing_exclude_each_other(folder: Path, flags: list[str]) -> None:
    done = command(folder, "distribute", "--check", *flags, "train.py")
    assert done.returncode == 2
    assert "--check changes nothing" in done.stderr
    assert (folder / "train.py").read_text() == SCRIPT


def test_check_reads_standard_input(folder: Path) -> None:
    assert command(folder, "distribute", "--check", "-", stdin=SCRIPT).returncode == 1
    assert command(folder, "distribute", "--check", "-", stdin=DONE).returncode == 0


def test_a_folder_ends_with_a_table(folder: Path) -> None:
    (folder / "util.py").write_text("x = 1\n")
    (folder / "asked.py").write_text(SCRIPT.replace("tf.zeros((640, 2))", "x"))
    done = command(folder, "distribute", ".")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-6:] == [
        "files",
        "    1  distributed",
        "    1  distributed, with changes to confirm",
        "    2  refused",
        "    2    HVD203  each model must be trained by one kind of loop",
        "    1  without a training loop",
    ]


def test_a_refusal_points_to_its_page(folder: Path) -> None:
    done = command(folder, "distribute", "both.py")
    assert done.returncode == 1
    assert "help: horovodize explain HVD203" in done.stderr
    assert command(folder, "explain", "HVD203").returncode == 0
    report = json.loads(command(folder, "distribute", "both.py", "--format", "json").stdout)
    assert report["reasons"][0]["url"].endswith("/HVD203.md")
    assert command(folder, "distribute", "both.py", "--exit-zero").returncode == 0


def test_a_quiet_run_says_what_is_refused_or_asked_and_no_more(folder: Path) -> None:
    (folder / "asked.py").write_text(SCRIPT.replace("tf.zeros((640, 2))", "x"))
    done = command(folder, "distribute", "-q", "--tensorflow", "2.15", "train.py", "--output", "out.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "horovod" in (folder / "out.py").read_text()
    asked = command(folder, "distribute", "--quiet", "--write", "asked.py", "both.py")
    assert [line.split()[1] for line in asked.stderr.splitlines()] == ["D2", "HVD203"]
    assert asked.returncode == 1


# ---------------------------------------------------------------------- check


def test_statistics(folder: Path) -> None:
    done = command(folder, "check", "--statistics", ".")
    assert (done.returncode, done.stdout) == (1, "2  HVD203  several-loops\n")
    counted = command(folder, "check", "--statistics", "--format", "json", ".")
    assert json.loads(counted.stdout) == [{"code": "HVD203", "name": "several-loops", "count": 2}]
    assert command(folder, "check", "--statistics", "--format", "sarif", ".").returncode == 2


def test_exit_zero_forgives_findings_but_no_errors(folder: Path) -> None:
    found = command(folder, "check", "--exit-zero", "both.py")
    assert found.returncode == 0
    assert "HVD203" in found.stdout
    assert command(folder, "check", "--exit-zero", "gone.py").returncode == 2


def test_quiet_prints_findings_only(folder: Path) -> None:
    done = command(folder, "check", "-q", "both.py")
    assert done.returncode == 1
    assert "HVD203" in done.stdout
    assert done.stderr == ""
    assert command(folder, "check", "-q", "train.py").stderr == ""
    assert "gone.py: no such file" in command(folder, "check", "-q", "gone.py").stderr


def test_output_file(folder: Path) -> None:
    shown = command(folder, "check", "both.py", "--color", "never").stdout
    done = command(folder, "check", "both.py", "-o", "found.txt")
    assert (done.returncode, done.stdout) == (1, "")
    assert (folder / "found.txt").read_text() == shown
    command(folder, "summary", "train.py", "--format", "json", "--output-file", "loops.json")
    assert json.loads((folder / "loops.json").read_text())["loop"] == "keras"
    command(folder, "distribute", "train.py", "--output-file", "change.diff")
    subprocess.run(["patch", "-p1", "-s", "-i", "change.diff"], cwd=folder, check=True)
    assert "hvd.init()" in (folder / "train.py").read_text()
    done = command(folder, "check", "both.py", "-o", "no/such/folder.txt")
    assert done.returncode == 2
    assert "no/such/folder.txt: cannot be written" in done.stderr


# ---------------------------------------------------------------------- files and settings


def test_exclude_leaves_out_files_of_folders_but_none_that_are_named(folder: Path) -> None:
    def places(*flags: str) -> set[str]:
        found = json.loads(command(folder, "check", "--format", "json", *flags).stdout)
        return {finding["path"] for finding in found}

    assert places(".") == {"both.py", "old/both.py"}
    assert places(".", "--exclude", "old/") == {"both.py"}
    assert places(".", "--exclude", "nothing,b*.py") == set()
    assert places("old/both.py", "--exclude", "old/") == {"old/both.py"}
    assert places("old/both.py", "--exclude", "old/", "--force-exclude") == set()
    (folder / "pyproject.toml").write_text("[tool.horovodize]\nexclude = ['both.py']\n")
    assert places(".") == set()
    assert places(".", "--exclude", "old/") == {"both.py"}  # instead of the settings'
    assert places("both.py", "--force-exclude") == set()


def test_config_names_the_settings_of_all_files(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.horovodize]\nselect = ['HVD1']\n")
    (folder / "old" / "strict.toml").write_text(
        "[tool.horovodize]\nignore = ['HVD203']\nexclude = ['old/']\n"
    )
    assert command(folder, "check", "both.py").returncode == 0
    (folder / "pyproject.toml").unlink()
    assert command(folder, "check", "both.py").returncode == 1
    assert command(folder, "check", ".", "--config", "old/strict.toml").returncode == 0
    for name, message in (("gone.toml", "gone.toml: no such file"), ("train.py", "train.py: there is no")):
        done = command(folder, "check", "both.py", "--config", name)
        assert done.returncode == 2
        assert message in done.stderr


@pytest.mark.parametrize("name", ["horovodise", "horovod", "Horovodize", '"horovodizer"'])
def test_a_misspelt_table_is_warned_of_once(folder: Path, name: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.{name}]\nignore = ['HVD203']\n")
    done = command(folder, "check", "-q", ".")
    assert done.returncode == 1
    plain = name.strip('"')
    assert done.stderr == (
        f"warning: pyproject.toml: [tool.{plain}] is not read; did you mean [tool.horovodize]?\n"
    )


def test_tables_of_others_are_not_warned_of(folder: Path) -> None:
    names = ("hatch", "hatch.build", "black", "hypothesis", "huggingface", "poetry.horovodise")
    (folder / "pyproject.toml").write_text("".join(f"[tool.{name}]\nx = 1\n" for name in names))
    assert command(folder, "check", "-q", "train.py").stderr == ""


def test_an_unknown_code_in_a_comment_is_told_and_does_not_fail(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPT.replace('"mse")', '"mse")  # horovodize: ignore[HVD15, hvd105]'))
    done = command(folder, "check", "train.py")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "train.py:4:74: HVD004 HVD15 is not the code or name of a finding, so this comment does not silence it; did you mean "
    )


def test_help_has_examples(folder: Path) -> None:
    for name in ("distribute", "check", "summary", "explain", "server", "generate-shell-completion"):
        shown = command(folder, name, "--help").stdout
        assert "examples:\n" in shown
        assert f"  horovodize {name}" in shown or f"(horovodize {name}" in shown


def test_the_hook_of_pre_commit_leaves_out_what_settings_exclude(root: Path, folder: Path) -> None:
    hook = (root / ".pre-commit-hooks.yaml").read_text()
    assert "entry: horovodize check --force-exclude\n" in hook
    (folder / "pyproject.toml").write_text("[tool.horovodize]\nexclude = ['old/']\n")
    paths = [os.path.join("old", "both.py"), "train.py"]
    assert command(folder, "check", "--force-exclude", *paths).returncode == 0


def test_a_question_for_several_places_is_asked_once(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
    (tmp_path / "asked.py").write_text(
        head + "args = read()\nmodel.fit(**args)\nmodel.fit(**args)\nmodel.fit(**args)\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run("distribute", "asked.py")
    assert result.out.startswith("# To confirm before training: K3 lines 5, 6, 7\n")
    [line] = [line for line in result.err.splitlines() if "K3 to confirm" in line]
    assert line.startswith("asked.py:5:1: ")
    assert line.endswith(" (also lines 6, 7)")
