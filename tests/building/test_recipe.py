"""What is changed in Horovod's source, and the settings of its build."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.building import recipe

CMAKE = """# TF SOURCES
list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/mpi_ops.cc")
list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")

# Create library
"""
SETUP = "make_args = ['-j8'] if not os.environ.get('MAKEFLAGS') else []\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "horovod" / "tensorflow").mkdir(parents=True)
    (tmp_path / "horovod" / "tensorflow" / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "setup.py").write_text(SETUP)
    return tmp_path


def sources(source: Path) -> list[str]:
    text = (source / "horovod" / "tensorflow" / "CMakeLists.txt").read_text()
    return [line.rpartition("/")[2].rstrip('")') for line in text.splitlines() if "TF_SOURCES" in line]


@pytest.mark.parametrize("version", [(2, 15), (2, 16), (2, 18)])
def test_what_builds_as_it_is_keeps_its_sources(source: Path, version: tuple[int, int]) -> None:
    recipe.change(source, version, 8)
    assert (source / "horovod" / "tensorflow" / "CMakeLists.txt").read_text() == CMAKE
    assert (source / "setup.py").read_text() == SETUP


@pytest.mark.parametrize("version", [(2, 19), (2, 21), (3, 0)])
def test_the_xla_source_is_left_out(source: Path, version: tuple[int, int]) -> None:
    recipe.change(source, version, 2)
    assert sources(source) == ["mpi_ops.cc"]


def test_fewer_compilers(source: Path) -> None:
    recipe.change(source, (2, 15), 3)
    assert (source / "setup.py").read_text() == SETUP.replace("-j8", "-j3")


@pytest.mark.parametrize("file", ["setup.py", "horovod/tensorflow/CMakeLists.txt"])
def test_another_source_is_left_alone(source: Path, file: str) -> None:
    (source / file).write_text("something else\n")
    before = {path: path.read_text() for path in source.rglob("*.*") if path.is_file()}
    with pytest.raises(recipe.NotAsExpected, match=file):
        recipe.change(source, (2, 21), 2)
    assert {path: path.read_text() for path in before} == before


def test_a_file_that_is_not_there(source: Path) -> None:
    (source / "setup.py").unlink()
    with pytest.raises(recipe.NotAsExpected, match=r"setup\.py"):
        recipe.change(source, (2, 15), 2)


@pytest.mark.parametrize(
    ("cores", "gigabytes", "jobs"),
    [(1, 64, 1), (4, 64, 4), (64, 64, 8), (8, 4, 2), (8, 1, 1), (2, None, 2), (64, None, 8)],
)
def test_jobs(cores: int, gigabytes: int | None, jobs: int) -> None:
    memory = None if gigabytes is None else gigabytes << 30
    assert recipe.jobs_for(cores, memory) == jobs


def test_settings_of_the_user_stay() -> None:
    made = recipe.settings(
        {"HOROVOD_GPU_OPERATIONS": "NCCL", "HOROVOD_WITH_MPI": "1", "MAKEFLAGS": "-j9", "A": "b"}
    )
    assert made["HOROVOD_GPU_OPERATIONS"] == "NCCL"
    assert "HOROVOD_WITHOUT_MPI" not in made
    assert made["HOROVOD_WITH_TENSORFLOW"] == "1"
    assert "MAKEFLAGS" not in made
    assert made["A"] == "b"


def test_the_key_of_the_wheel_that_is_there_already() -> None:
    """Wheels that were built before there was this module are still found."""
    key = "horovod-0.28.1-tensorflow-2.15.1-cp311-linux-x86_64"
    assert (
        recipe.key("2.15.1", "cp311-linux-x86_64", {"HOROVOD_WITH_GLOO": "1", "HOROVOD_TIMELINE": "x"}) == key
    )


def test_a_wheel_of_other_settings_is_another_wheel() -> None:
    keys = {
        recipe.key("2.15.1", "cp311-linux-x86_64", around)
        for around in ({}, {"HOROVOD_GPU_OPERATIONS": "NCCL"}, {"HOROVOD_WITH_MPI": "1"})
    }
    assert len(keys) == 3
