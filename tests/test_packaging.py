"""What is published: a wheel and an sdist that twine takes, a description without dead links, and all that the tests read."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_twine_takes_both(built: Path) -> None:
    files = sorted(str(path) for path in built.iterdir())
    assert len(files) == 2
    done = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr


def test_the_description_leads_nowhere_that_an_index_lacks(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert text.startswith("# Horovodize\n")
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert targets
    assert [t for t in targets if not t.startswith(("https://", "#"))] == []
    assert "![" not in text


def test_the_metadata_says_what_it_is(metadata: Message) -> None:
    urls = [value.split(", ", 1)[1] for value in metadata.get_all("Project-URL") or []]
    assert urls
    assert all(url.startswith("https://") for url in urls)
    assert "runtime" in (metadata.get_all("Provides-Extra") or [])
    classifiers = metadata.get_all("Classifier") or []
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)} <= set(classifiers)
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_wheel_has_the_pages_and_the_modules_for_scripts(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"horovodize/pages/HVD203.md", "horovodize/pages/README.md", "horovodize/py.typed"} <= names
    assert {"horovodize/runtime/horovod_keras3.py", "horovodize/runtime/horovod_elastic.py"} <= names
    assert {
        "horovod_keras3.py",
        "horovod_elastic.py",
    } <= names  # what scripts import with `runtime = "package"`
    assert not any(name.startswith("tests/") for name in names)


def test_an_installed_wheel_gives_the_modules_and_one_beside_a_script_goes_first(
    built: Path, tmp_path: Path, root: Path
) -> None:
    (wheel,) = built.glob("*.whl")
    env, folder = tmp_path / "env", tmp_path / "project"
    python = str(env / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(env)], check=True, capture_output=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True
    )
    folder.mkdir()
    script = folder / "train.py"
    for name in ("horovod_keras3", "horovod_elastic"):
        script.write_text(f"import importlib.util\nprint(importlib.util.find_spec('{name}').origin)\n")
        found = subprocess.run([python, str(script)], capture_output=True, text=True, check=True).stdout
        assert Path(found.strip()).parent.name == "site-packages"
        assert Path(found.strip()).read_text() == (root / "server" / "top_level" / f"{name}.py").read_text()
        (folder / f"{name}.py").write_text("")
        found = subprocess.run([python, str(script)], capture_output=True, text=True, check=True).stdout
        assert Path(found.strip()) == folder / f"{name}.py"


def test_the_sdist_has_what_tests_read(built: Path, root: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False)
    files = listed.stdout.split("\n") if listed.returncode == 0 else []
    left_out = {name for name in files if name and name not in packed}
    assert left_out == set()
