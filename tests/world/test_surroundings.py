"""What is known of versions outside of scripts: in which order, and what says nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horovodize.world.surroundings import installed, required, surroundings
from horovodize.world.versions import Versions


def environment(root: Path, *packages: str, python: str = "3.11") -> Path:
    """An environment with the metadata folders of packages ("tensorflow_cpu-2.17.0"), and nothing else."""
    folder = root / "lib" / f"python{python}" / "site-packages"
    for package in packages:
        (folder / f"{package}.dist-info").mkdir(parents=True)
    (root / "bin").mkdir(exist_ok=True, parents=True)
    (root / "bin" / "python").touch()
    return root


def project(folder: Path, **files: str) -> Path:
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


# ---------------------------------------------------------------------- an interpreter


@pytest.mark.parametrize("place", ["", "bin/python"])
def test_an_interpreter_or_its_environment_is_looked_into(tmp_path: Path, place: str) -> None:
    root = environment(tmp_path / "venv", "tensorflow_cpu-2.17.0", "keras-3.6.0", "numpy-1.26.4")
    assert installed(str(root / place)) == Versions("2.17.0", "3.6.0", str(root))


def test_of_several_pythons_the_one_named_counts(tmp_path: Path) -> None:
    root = environment(tmp_path / "usr", "tensorflow-2.15.1")
    environment(root, "tensorflow-2.18.0", python="3.12")
    (root / "bin" / "python3.12").touch()
    assert installed(str(root / "bin" / "python3.12")).tensorflow == "2.18.0"


@pytest.mark.parametrize(
    "name", ["tensorflow_datasets-4.9", "tensorflow_io_gcs_filesystem-0.37.1", "keras-3.6.0"]
)
def test_other_packages_are_no_tensorflow(tmp_path: Path, name: str) -> None:
    assert installed(str(environment(tmp_path / "venv", name))).tensorflow == ""


def test_what_is_no_environment_says_nothing(tmp_path: Path) -> None:
    assert installed(str(tmp_path / "nowhere" / "bin" / "python")) == Versions()
    assert installed(str(tmp_path)) == Versions()


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("name", "text", "tensorflow", "keras"),
    [
        ("requirements.txt", "numpy\ntensorflow==2.15.1 # pinned\nkeras<3\n", "==2.15.1", "<3"),
        ("requirements.txt", "TensorFlow-CPU[and-cuda] >=2.16 , <2.18 ; python_version > '3.8'", ">=2.16 , <2.18", ""),
        ("requirements-train.txt", "keras==3.5.0\n", "", "==3.5.0"),
        ("requirements.txt", "tensorflow==2.18.1 \\\n    --hash=sha256:00\nkeras==3.6 --hash=sha256:00\n", "==2.18.1", "==3.6"),
        ("requirements.txt", "tensorflow-macos==2.17; a\ntensorflow==2.18; b\n", "==2.18", ""),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow~=2.17.0"]\n', "~=2.17.0", ""),
        ("pyproject.toml", '[project.optional-dependencies]\ntf = ["tensorflow==2.17"]\nall = ["tensorflow==2.17"]\n',
         "==2.17", ""),
        ("pyproject.toml", '[dependency-groups]\na = [{include-group = "b"}]\nb = ["tensorflow>=2.17"]\n', ">=2.17", ""),
        ("pyproject.toml", '[tool.poetry.group.ml.dependencies]\ntensorflow = "2.17.*"\nkeras = "*"\n', "2.17.*", ""),
        ("Pipfile", '[packages]\ntensorflow = "==2.18.0"\n', "==2.18.0", ""),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    tensorflow>=2.16\n", ">=2.16", ""),
        ("setup.py", "from setuptools import setup\nNEEDS = ['numpy', 'tensorflow>=2.16']\nsetup(install_requires=NEEDS)\n",
         ">=2.16", ""),
        ("setup.py", "import setuptools\nsetuptools.setup(extras_require={'tf': ('tensorflow==2.15',)},\n"
         "    install_requires=['a'] + ['keras<3'])\n", "==2.15", "<3"),
        ("environment.yml", "dependencies:\n  - python=3.11\n  - tensorflow=2.17\n", "=2.17", ""),
        ("environment.yaml", "dependencies:\n- conda-forge::tensorflow-cpu=2.15.0=a\n- pip:\n  - keras<3\n", "=2.15.0", "<3"),
        ("environment.yml", 'dependencies:\n  - "tensorflow>=2.16,<2.18"\n', ">=2.16,<2.18", ""),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^2.17"\n', "^2.17", ""),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = {version = "2.15", extras = []}\n', "2.15", ""),
        ("uv.lock", '[[package]]\nname = "keras"\nversion = "3.6.0"\n\n[[package]]\nname = "tensorflow"\nversion = "2.18.0"\n',
         "2.18.0", "3.6.0"),
        ("poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.15.1"\n', "2.15.1", ""),
        ("Pipfile.lock", json.dumps({"default": {"tensorflow": {"version": "==2.17.0"}}}), "==2.17.0", ""),
    ],
)  # fmt: skip
def test_files_that_ask_for_versions(
    tmp_path: Path, name: str, text: str, tensorflow: str, keras: str
) -> None:
    (project(tmp_path) / name).write_text(text)
    assert required(tmp_path) == Versions(tensorflow, keras, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "# tensorflow==2.15\ntensorflow-datasets==4.9\n-r tensorflow.txt\n"),
        ("requirements.txt", "tensorflow\n"),
        ("requirements.txt", "tensorflow==2.17; python_version > '3.8'\ntensorflow==2.10; python_version <= '3.8'\n"),
        ("requirements.txt", "tensorflow==2.15; sys_platform == 'linux'\ntensorflow-macos==2.17; sys_platform == 'darwin'\n"),
        ("pyproject.toml", '[project.optional-dependencies]\nold = ["tensorflow==2.15"]\nnew = ["tensorflow==2.17"]\n'),
        ("environment.yml", "name: tensorflow\ndependencies:\n  - tensorflow-datasets=4.9\n"),
        ("setup.cfg", "install_requires = tensorflow==2.17"),
        ("pyproject.toml", "tensorflow = [ no toml"),
        ("pyproject.toml", "[project]\ndependencies = 3 # tensorflow\n"),
        ("Pipfile.lock", '["tensorflow"]'),
        ("notes.txt", "tensorflow==2.15.1"),
        ("requirements.txt", "-r requirements.txt\n-c missing.txt\ntensorflow\n"),
        ("setup.py", "setup(install_requires=open('tensorflow.txt').read())"),
        ("setup.py", "setup(install_requires=['tensorflow==2.17'"),
        ("setup.py", "make(install_requires=['tensorflow==2.17'])"),
    ],
)  # fmt: skip
def test_what_says_nothing(tmp_path: Path, name: str, text: str) -> None:
    (project(tmp_path) / name).write_text(text)
    assert required(tmp_path) == Versions()


def test_locks_come_before_what_is_asked_for(tmp_path: Path) -> None:
    locked = '[[package]]\nname = "tensorflow"\nversion = "2.18.0"\n'
    project(tmp_path, uv__lock=locked, requirements__txt="tensorflow>=2.4\n")
    assert required(tmp_path).source == "uv.lock"


def test_files_that_contradict_each_other_say_nothing(tmp_path: Path) -> None:
    project(tmp_path, requirements__txt="tensorflow==2.15\n")
    (tmp_path / "requirements-new.txt").write_text("tensorflow==2.17\n")
    assert required(tmp_path) == Versions()


def test_a_file_that_allows_both_contradicts_none(tmp_path: Path) -> None:
    project(tmp_path, requirements__txt="tensorflow==2.15\n")
    (tmp_path / "setup.cfg").write_text("[options]\ninstall_requires = tensorflow>=2.4\n")
    assert required(tmp_path) == Versions("==2.15", "", "requirements.txt")


@pytest.mark.parametrize(
    ("line", "tensorflow"),
    [
        ("-r deps/base.txt  # all", "==2.17"),
        ("--requirement=deps/base.txt", "==2.17"),
        ("numpy\n-r deps/more.txt", "==2.17"),  # through another
        ("tensorflow\n-c deps/base.txt", "==2.17"),
        ("numpy\n-c deps/base.txt", ""),  # not asked for
        ("# -r deps/base.txt", ""),
        ("-r deps/base.txt\ntensorflow==2.15", ""),  # not alike
    ],
)
def test_requirements_include_other_files(tmp_path: Path, line: str, tensorflow: str) -> None:
    (project(tmp_path) / "deps").mkdir()
    (tmp_path / "deps" / "base.txt").write_text("tensorflow==2.17\n")
    (tmp_path / "deps" / "more.txt").write_text("-r base.txt\n-r more.txt\n")
    (tmp_path / "requirements.txt").write_text(line)
    assert required(tmp_path).tensorflow == tensorflow


def test_a_folder_of_requirements(tmp_path: Path) -> None:
    (project(tmp_path) / "requirements").mkdir()
    (tmp_path / "requirements" / "base.txt").write_text("tensorflow==2.17\n")
    assert required(tmp_path) == Versions("==2.17", "", "base.txt")


def test_the_nearest_folder_counts_up_to_the_top_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.10\n")  # of somebody else
    top = project(tmp_path / "top")
    (top / "a" / "b").mkdir(parents=True)
    assert required(top / "a" / "b") == Versions()
    (top / "requirements.txt").write_text("tensorflow==2.15\n")
    assert required(top / "a" / "b").tensorflow == "==2.15"
    (top / "a" / "requirements.txt").write_text("tensorflow==2.17\n")
    assert required(top / "a" / "b").tensorflow == "==2.17"


def test_an_interpreter_comes_before_files_if_it_has_tensorflow(tmp_path: Path) -> None:
    project(tmp_path, requirements__txt="tensorflow==2.15\n")
    with_it = environment(tmp_path / "with", "tensorflow-2.18.0")
    without = environment(tmp_path / "without", "numpy-1.26.4")
    assert surroundings(tmp_path, str(with_it)).tensorflow == "2.18.0"
    assert surroundings(tmp_path, str(without)).tensorflow == "==2.15"
    assert surroundings(tmp_path).tensorflow == "==2.15"
