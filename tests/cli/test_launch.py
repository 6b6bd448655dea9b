"""`horovodize launch`: options before and behind the script, files and what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

SCRIPT = "import horovod.tensorflow as hvd\nhvd.init()\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


COMMAND = "horovodrun -np 2 python train.py --epochs 3\n"


@pytest.mark.parametrize(
    "words",
    [
        ("-np", "2", "train.py", "--epochs", "3"),
        ("train.py", "-np", "2", "--epochs", "3"),
        ("train.py", "-np=2", "--", "--epochs", "3"),
        ("--to", "horovodrun", "train.py", "-np", "2", "--epochs", "3"),
    ],
)
def test_options_stand_before_the_scripts_arguments(run: Run, script: Path, words: tuple[str, ...]) -> None:
    done = run("launch", *words)
    assert (done.status, done.out) == (0, COMMAND)


def test_the_scripts_options_may_be_called_like_ours(run: Run, script: Path) -> None:
    done = run("launch", "-np", "2", "train.py", "--", "--output", "here", "-np", "3")
    assert done.out == "horovodrun -np 2 python train.py --output here -np 3\n"


def test_files_are_written_and_the_command_printed(run: Run, script: Path, tmp_path: Path) -> None:
    words = (
        "launch",
        "train.py",
        "--to",
        "kubernetes",
        "-np",
        "2",
        "--tensorflow",
        "2.15.1",
        "--output",
        "jobs",
    )
    done = run(*words)
    assert (done.status, sorted(p.name for p in (tmp_path / "jobs").iterdir())) == (
        0,
        ["Dockerfile", "Dockerfile.dockerignore", "train-mpijob.yaml"],
    )
    assert "docker build -f jobs/Dockerfile" in done.out
    assert "kubectl apply -f jobs/train-mpijob.yaml" in done.out
    assert run(*words).status == 0  # the same again
    (tmp_path / "jobs" / "Dockerfile").write_text("FROM mine\n")
    done = run(*words)
    assert (done.status, "differs; nothing was written" in done.err) == (2, True)
    assert (tmp_path / "jobs" / "Dockerfile").read_text() == "FROM mine\n"


def test_the_images_tensorflow_is_what_the_folder_asks_for(run: Run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.18.0\nnumpy\n")
    done = run("launch", "--to", "kubernetes", "-np", "2", "train.py")
    assert '"tensorflow-cpu==2.18.0"' in done.out
    assert "COPY requirements.txt" in done.out
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.18.0\n")
    done = run("launch", "--to", "kubernetes", "-np", "2", "train.py")
    assert (done.status, "--tensorflow" in done.err) == (2, True)


def test_a_script_that_knows_no_horovod_is_warned_of(run: Run, script: Path) -> None:
    assert "warning" not in run("launch", "-np", "2", "train.py").err
    script.write_text("from horovod_keras3 import init\n")
    assert "warning" not in run("launch", "-np", "2", "train.py").err
    script.write_text("import tensorflow as tf\n")
    assert "doesn't import Horovod" in run("launch", "-q", "-np", "2", "train.py").err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("train.py",), "how many processes"),
        (("-np", "2", "no.py"), "no such file"),
        (("-np", "0", "train.py"), "not a number of processes"),
        (("-np", "2", "-H", "a:x", "train.py"), "is not a host"),
        (("-np", "2", "--to", "slurm", "-H", "a:2", "train.py"), "the cluster chooses"),
        (("train.py", "-np"), "expected one argument"),
    ],
)
def test_wrong_usage(run: Run, script: Path, words: tuple[str, ...], why: str) -> None:
    done = run("launch", *words)
    assert (done.status, done.out) == (2, "")
    assert why in done.err


def test_elastic_ranks(run: Run, script: Path) -> None:
    done = run(
        "launch",
        "-np",
        "2",
        "--min-np",
        "1",
        "--host-discovery-script",
        "hosts.sh",
        "train.py",
        "--epochs",
        "3",
    )
    assert (
        done.out
        == "horovodrun -np 2 --min-np 1 --host-discovery-script hosts.sh python train.py --epochs 3\n"
    )
    assert "has no elastic state" in done.err
    script.write_text("import horovod_elastic as elastic\n" + SCRIPT)
    assert (
        "no elastic state" not in run("launch", "-np", "2", "--min-np", "1", "-H", "a:1,b:1", "train.py").err
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--max-np", "4"), "--min-np N"),
        (("--min-np", "3", "-H", "a:4"), "between"),
        (("--min-np", "1", "--max-np", "1", "-H", "a:4"), "between"),
        (("--min-np", "1"), "need to know their hosts"),
    ],
)
def test_elastic_ranks_that_do_not_fit(run: Run, script: Path, words: tuple[str, ...], why: str) -> None:
    done = run("launch", "-np", "2", *words, "train.py")
    assert done.status == 2
    assert why in done.err
