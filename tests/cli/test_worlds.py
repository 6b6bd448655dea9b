"""The versions that scripts are distributed for: from where the command line knows them, what it says, what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horovodize import runtime

KERAS = (
    "import tensorflow as tf\nmodel = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
)
MODULE = runtime.text_of(runtime.KERAS_3)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    file = tmp_path / "train.py"
    file.write_text(KERAS)
    return file


def environment(root: Path, package: str) -> Path:
    (root / "lib" / "python3.11" / "site-packages" / f"{package}.dist-info").mkdir(parents=True)
    return root


def said(result) -> str:
    """What the first line of messages says the script is for."""
    return result.err.splitlines()[0].partition(": for ")[2]


# ---------------------------------------------------------------------- from where


def test_flags_come_first_then_settings_then_the_active_environment_then_files(
    run, script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10.1\n")
    assert said(run("distribute", "train.py")) == "TensorFlow ==2.10.1, Keras 2 (requirements.txt)"
    active = environment(tmp_path / "active", "tensorflow-2.16.2")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert said(run("distribute", "train.py")) == f"TensorFlow 2.16.2, Keras 3 ({active})"
    chosen = environment(tmp_path / "chosen", "tensorflow-2.18.0")
    (tmp_path / "pyproject.toml").write_text('[tool.horovodize]\npython = "chosen"\n')
    assert said(run("distribute", "train.py")) == f"TensorFlow 2.18.0, Keras 3 ({chosen})"
    assert "2.16.2" in said(run("distribute", "train.py", "--python", "active"))
    (tmp_path / "pyproject.toml").write_text('[tool.horovodize]\ntensorflow = "2.15"\n')
    assert (
        said(run("distribute", "train.py", "--python", "active"))
        == "TensorFlow 2.15, Keras 2 (the setting `tensorflow`)"
    )
    assert "TensorFlow 2.17" in said(run("distribute", "train.py", "--tensorflow", "2.17"))


def test_unknown_is_said_where_something_is_written(run, script: Path) -> None:
    assert "unknown" not in run("distribute", "train.py").err
    result = run("distribute", "train.py", "--write")
    assert (
        "versions of TensorFlow and Keras unknown: this is for Keras 2 and stops under Keras 3" in result.err
    )


def test_a_summary_says_it(run, script: Path) -> None:
    assert run("summary", "train.py").out.splitlines()[1] == "  versions of TensorFlow and Keras unknown"
    told = run("summary", "train.py", "--tensorflow", "2.17").out.splitlines()[1]
    assert told == "  TensorFlow 2.17, Keras 3 (the setting `tensorflow`)"


def test_json_has_it(run, script: Path) -> None:
    report = json.loads(run("distribute", "train.py", "--format", "json", "--tensorflow", "2.17").out)
    found = report[0] if isinstance(report, list) else report
    assert found["world"] == {
        "tensorflow": {"version": "2.17", "source": "the setting `tensorflow`"},
        "keras": {"kind": "three", "source": "the setting `tensorflow`"},
    }
    assert found["beside"] == ["horovod_keras3.py"]


@pytest.mark.parametrize("version", ["2.15", "2.17"])
def test_a_check_reports_what_fails_there(run, script: Path, version: str) -> None:
    script.write_text(KERAS.replace("fit(x, y)", "fit_generator(data, 9)"))
    found = run("check", "train.py", "--tensorflow", version)
    assert ("HVD902" in found.out) == (version == "2.17")


# ---------------------------------------------------------------------- the module


def test_the_module_is_written_beside_the_script_once(run, script: Path, tmp_path: Path) -> None:
    result = run("distribute", "train.py", "--write", "--tensorflow", "2.17")
    assert (tmp_path / "horovod_keras3.py").read_text() == MODULE
    assert "horovod_keras3.py: written; train.py imports it" in result.err
    (tmp_path / "horovod_keras3.py").write_text("# changed\n")
    (tmp_path / "other.py").write_text(KERAS)
    again = run("distribute", ".", "--write", "--tensorflow", "2.17")
    assert "differs from this version's; left as it is" in again.err
    assert (tmp_path / "horovod_keras3.py").read_text() == "# changed\n"
    assert again.status == 0


def test_a_folder_with_the_module_has_no_more_to_distribute(run, script: Path, tmp_path: Path) -> None:
    run("distribute", "train.py", "--write", "--tensorflow", "2.17")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.py")}
    again = run("distribute", ".", "--write", "--tensorflow", "2.17")
    assert again.status == 0
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.py")} == before
    assert run("check", ".", "--tensorflow", "2.17").out == ""


def test_it_goes_where_the_output_goes(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    run("distribute", "train.py", "--output", "out/train.py", "--tensorflow", "2.17")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["horovod_keras3.py", "train.py"]
    assert not (tmp_path / "horovod_keras3.py").exists()


def test_from_the_package_nothing_is_written_beside_the_script(run, script: Path, tmp_path: Path) -> None:
    result = run("distribute", "train.py", "--write", "--tensorflow", "2.17", "--runtime", "package")
    assert result.status == 0
    assert "import horovod_keras3 as hvd" in script.read_text()
    assert not (tmp_path / "horovod_keras3.py").exists()


def test_pyproject_chooses_the_package_and_a_flag_goes_over_it(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.horovodize]\nruntime = 'package'\ntensorflow = '2.17'\n")
    shown = run("distribute", "train.py")
    assert "put beside it" not in shown.err
    run("distribute", "train.py", "--write", "--runtime", "beside")
    assert (tmp_path / "horovod_keras3.py").read_text() == MODULE


def test_an_elastic_script_takes_its_module_from_the_package_too(run, tmp_path: Path) -> None:
    original = Path(__file__).parents[1] / "golden" / "elastic" / "fit_rows.py"
    (tmp_path / "train.py").write_text(original.read_text())
    flags = "distribute", "train.py", "--elastic", "--tensorflow", "2.15"
    written = run(*flags, "--format", "text")
    packaged = run(*flags, "--format", "text", "--runtime", "package")
    assert "import horovod_elastic" in written.out
    assert packaged.out == written.out
    run(*flags, "--write", "--runtime", "package")
    assert [path.name for path in tmp_path.glob("*.py")] == ["train.py"]


def test_what_is_only_shown_names_it(run, script: Path, tmp_path: Path) -> None:
    result = run("distribute", "train.py", "--tensorflow", "2.17")
    assert "imports horovod_keras3.py, which --write and --output put beside it" in result.err
    assert not (tmp_path / "horovod_keras3.py").exists()


def test_a_script_that_is_given_as_a_module_of_a_project_has_it_in_its_own_folder(
    run, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text("from parts.net import make\nmodel = make()\nmodel.fit(x, y)\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "net.py").write_text(
        "import tensorflow as tf\ndef make():\n    model = tf.keras.Sequential([])\n"
        "    model.compile('sgd', 'mse')\n    return model\n"
    )
    assert run("distribute", "train.py", "--write", "--tensorflow", "2.17").status == 0
    assert (tmp_path / "horovod_keras3.py").exists()
    assert "import horovod_keras3 as hvd" in (tmp_path / "parts" / "net.py").read_text()
    assert not (tmp_path / "parts" / "horovod_keras3.py").exists()
