"""The Dockerfile: its instructions are Docker's, their commands a shell's, and it changes Horovod as `build-horovod` does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from horovodize.building import recipe
from horovodize.launching import Job
from horovodize.launching.image import changes, dockerfile

SOURCE = {
    "setup.py": "make_args = ['-j8']\nother = 'j8'\n",
    "horovod/tensorflow/CMakeLists.txt": 'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/mpi_ops.cc")\n'
    'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")\n',
}


def instructions(text: str) -> list[tuple[str, str]]:
    joined = text.replace("\\\n", "")
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


@pytest.mark.parametrize("gpus", [False, True])
@pytest.mark.parametrize("tensorflow", ["2.15.1", "2.18.0", "2.21.0"])
def test_it_is_a_dockerfile_of_two_stages(tensorflow: str, gpus: bool) -> None:
    found = instructions(
        dockerfile(Job("train.py", 2, "/", tensorflow=tensorflow, requirements=True), gpus=gpus)
    )
    assert {name for name, _ in found} == {"FROM", "RUN", "ENV", "WORKDIR", "COPY"}
    assert [rest.partition(" ")[2] for name, rest in found if name == "FROM"] == ["AS build", ""]
    for name, rest in found:
        if name == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)
    assert any(tensorflow in rest and "pip install" in rest for name, rest in found if name == "RUN")
    settings = next(rest for name, rest in found if name == "ENV" and "HOROVOD" in rest).split()
    assert ("HOROVOD_GPU_OPERATIONS=NCCL" in settings) is gpus
    assert {f"{name}={value}" for name, value in recipe.SETTINGS.items()} <= set(settings)


def sources(folder: Path, source: dict[str, str]) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in source}


def unpacked(folder: Path, source: dict[str, str]) -> Path:
    for name, text in source.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("version", [(2, 15), (2, 21)])
def test_horovod_is_changed_as_by_build_horovod(version: tuple[int, int], tmp_path: Path) -> None:
    by_image = unpacked(tmp_path / f"horovod-{recipe.HOROVOD}", SOURCE)
    for name, rest in instructions("\n".join(changes(version))):
        assert name == "RUN"
        subprocess.run(["sh", "-c", rest], cwd=tmp_path, check=True)
    by_recipe = unpacked(tmp_path / "other", SOURCE)
    recipe.change(by_recipe, version, 4)
    assert sources(by_image, SOURCE) == sources(by_recipe, SOURCE)
    assert sources(by_image, SOURCE) != SOURCE


def test_another_horovod_is_not_built(tmp_path: Path) -> None:
    unpacked(tmp_path / f"horovod-{recipe.HOROVOD}", {**SOURCE, "setup.py": "make_args = ['-j', '8']\n"})
    (_, rest), *_ = instructions("\n".join(changes((2, 15))))
    assert subprocess.run(["sh", "-c", rest], cwd=tmp_path, check=False).returncode != 0
