"""`horovodize build-horovod`, with an interpreter and a pip that only pretend."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.building import build
from horovodize.building.target import BuildError, target_of
from horovodize.cli import main

from .conftest import SOURCE, Machine

WHEEL = "horovod-0.28.1-cp311-cp311-linux_x86_64.whl"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["build-horovod", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_a_wheel_is_built_and_kept(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--python", machine.python, "--jobs", "2")
    kept = machine.cache / "horovod-0.28.1-tensorflow-2.21.0-cp311-linux-x86_64" / WHEEL
    assert (status, out) == (0, f"{kept}\n")
    assert (
        kept.read_text()
        == "make_args = ['-j2']\n" + SOURCE["horovod/tensorflow/CMakeLists.txt"].splitlines()[0] + "\n\n"
    )
    assert f"Next: {machine.python} -m pip install {kept}\n" in err
    assert [call[0][4] for call in machine.calls()] == ["install", "download", "wheel"]


def test_what_is_kept_is_not_built_again(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--python", machine.python)
    (machine.folder / "asked").unlink()
    (machine.folder / "tools" / "cmake").unlink()  # nothing is needed any more
    status, out, _ = run(
        capsys, "--python", str(machine.folder / "env"), "--output", str(machine.folder / "out")
    )
    assert (status, out) == (0, f"{machine.folder / 'out' / WHEEL}\n")
    assert (machine.folder / "out" / WHEEL).is_file()
    assert machine.calls() == []


def test_nothing_is_installed_among_the_packages_of_the_interpreter(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "--python", machine.python)
    (install, _, _), (download, path, _), (wheel, _, with_tensorflow) = machine.calls()
    assert isinstance(install, list)
    assert install[install.index("--target") + 1] == path
    assert "--no-build-isolation" in download  # type: ignore[operator]
    assert "--no-build-isolation" in wheel  # type: ignore[operator]
    assert with_tensorflow == "1"


def test_another_tensorflow_is_another_wheel(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    _, first, _ = run(capsys, "--python", machine.python)
    machine.interpreter("2.18.1")
    _, second, _ = run(capsys, "--python", machine.python)
    assert first != second
    assert "xla_mpi_ops" in Path(second.strip()).read_text()


def test_other_settings_are_another_wheel(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first, _ = run(capsys, "--python", machine.python)
    monkeypatch.setenv("HOROVOD_GPU_OPERATIONS", "NCCL")
    _, second, err = run(capsys, "--python", machine.python)
    assert first != second
    assert "HOROVOD_GPU_OPERATIONS=NCCL" in err


def test_distutils_for_horovodrun(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.interpreter(version=(3, 12))
    _, _, err = run(capsys, "--python", machine.python)
    assert '.whl "setuptools<81"\n' in err


# ---------------------------------------------------------------------- what it doesn't do


@pytest.mark.parametrize("tool", ["cmake", "g++", "make"])
def test_a_missing_tool_is_told_before_anything_starts(
    machine: Machine, capsys: pytest.CaptureFixture[str], tool: str
) -> None:
    (machine.folder / "tools" / tool).unlink()
    status, out, err = run(capsys, "--python", machine.python)
    assert (status, out) == (2, "")
    assert f"first install {tool} (" in err
    assert machine.calls() == []


def test_all_that_is_missing_at_once(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    for tool in ("cmake", "make"):
        (machine.folder / "tools" / tool).unlink()
    (machine.folder / "include" / "Python.h").unlink()
    machine.interpreter(headers=False, missing=["pip"])
    status, out, _ = run(capsys, "--python", machine.python, "--list-missing")
    assert (status, out.split()) == (0, ["cmake", "make", "python3.11-dev", "python3-pip"])


def test_nothing_is_missing(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--python", machine.python, "--list-missing")[:2] == (0, "")
    assert machine.calls() == []


def test_no_tensorflow(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.interpreter("")
    status, _, err = run(capsys, "--python", machine.python)
    assert status == 2
    assert "has no TensorFlow: install it there first" in err


def test_no_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = run(capsys, "--python", str(tmp_path / "nothing"))
    assert status == 2
    assert "there is no Python at" in err


def test_what_is_no_python(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "--python", str(machine.folder / "tools" / "make"))
    assert status == 2
    assert "doesn't work as a Python" in err


@pytest.mark.parametrize(
    ("what", "said"), [({"platform": "win-amd64"}, "Windows"), ({"implementation": "pypy"}, "CPython")]
)
def test_where_horovod_does_not_build(
    machine: Machine, capsys: pytest.CaptureFixture[str], what: dict[str, str], said: str
) -> None:
    machine.interpreter(**what)  # type: ignore[arg-type]
    status, _, err = run(capsys, "--python", machine.python)
    assert status == 2
    assert said in err


@pytest.mark.parametrize("version", ["2", "latest", "2.x"])
def test_what_is_no_version(machine: Machine, capsys: pytest.CaptureFixture[str], version: str) -> None:
    status, _, err = run(
        capsys, "--python", machine.python, "--tensorflow", version + ".y" if version == "2" else version
    )
    assert status == 2
    assert "is not a version of TensorFlow" in err


@pytest.mark.parametrize("verb", ["install", "download", "wheel"])
def test_pip_fails(machine: Machine, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    machine.interpreter(fails=[verb])
    status, out, err = run(capsys, "--python", machine.python)
    assert (status, out) == (2, "")
    assert f"the reason why {verb} failed" in err
    assert f"pip {verb} failed" in err
    machine.interpreter()  # and nothing half done is in the way of the next time
    assert run(capsys, "--python", machine.python)[0] == 0


def test_another_source_than_expected(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.interpreter(source={"setup.py": "pass\n"})
    status, _, err = run(capsys, "--python", machine.python)
    assert status == 2
    assert "is not as expected" in err
    assert [call[0][4] for call in machine.calls()] == ["install", "download"]


# ---------------------------------------------------------------------- which TensorFlow


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [(None, "2.21.0"), ("2.21.0", "2.21.0"), ("2.21", "2.21.0"), ("2.2", "2.2"), ("2.16.2", "2.16.2")],
)
def test_which_tensorflow(machine: Machine, wanted: str | None, chosen: str) -> None:
    assert build.chosen(target_of(machine.python), wanted) == chosen


def test_tensorflow_of_a_package_with_another_name(machine: Machine) -> None:
    machine.interpreter("2.16.2", package="tensorflow-macos")
    assert target_of(machine.python).tensorflow == "2.16.2"


def test_a_remark_where_it_was_not_tried() -> None:
    assert [v for v in ("2.14.0", "2.15.1", "2.18.0", "2.21.0", "2.22.0", "3.0.0") if build.not_tried(v)] == [
        "2.14.0",
        "2.22.0",
        "3.0.0",
    ]


def test_a_folder_that_cannot_be_written(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.folder / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.folder / "file"))
    with pytest.raises(BuildError, match="can't write to"):
        build.build(target_of(machine.python), print)
