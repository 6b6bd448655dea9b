"""The commands, read by a shell."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from horovodize.launching import Job, LaunchError, prepare
from horovodize.launching.hosts import parse


def test_arguments_come_through_a_shell_as_they_are(tmp_path: Path) -> None:
    odd = ("--name", "it's; a $HOME `x`", "*")
    prepared = prepare("horovodrun", Job("my train.py", 2, "/", odd))
    horovodrun = tmp_path / "horovodrun"
    horovodrun.write_text('#!/bin/sh\nfor a in "$@"; do printf \'%s\\n\' "$a"; done\n')
    horovodrun.chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", "-c", prepared.command],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == ["-np", "2", "python", "my train.py", *odd]


def test_hosts_and_an_environment() -> None:
    job = Job("train.py", 4, "/", hosts=tuple(parse("a:2,b:2")), binaries="/opt/my env/bin")
    words = shlex.split(prepare("horovodrun", job).command)
    assert words == [
        "/opt/my env/bin/horovodrun", "-np", "4", "-H", "a:2,b:2", "/opt/my env/bin/python", "train.py",
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["horovodrun", "mpirun"])
@pytest.mark.parametrize(
    ("hosts", "nodes", "gpus", "why"),
    [
        ("a:1,b:1", None, None, "places for 2 of 4"),
        ("", 2, None, "name the hosts"),
        ("a:4", 2, None, "-H names 1 hosts, --nodes asks for 2"),
        ("a:4", None, 2, "4 processes and has 2 GPUs"),
    ],
)
def test_hosts_that_do_not_do(target: str, hosts: str, nodes: int | None, gpus: int | None, why: str) -> None:
    job = Job("train.py", 4, "/", hosts=tuple(parse(hosts)), nodes=nodes, gpus_per_node=gpus)
    with pytest.raises(LaunchError, match=why):
        prepare(target, job)


@pytest.mark.parametrize(("built", "started"), [("True", True), ("False", False)])
def test_mpirun_starts_nothing_where_ranks_would_train_alone(
    tmp_path: Path, built: str, started: bool
) -> None:
    """Processes of a Horovod without MPI take themselves for the only one when mpirun starts them."""
    import sys

    module = tmp_path / "horovod" / "tensorflow.py"
    module.parent.mkdir()
    module.write_text(f"def mpi_built(): return {built}\n")
    (tmp_path / "python").symlink_to(sys.executable)
    (tmp_path / "mpirun").write_text("#!/bin/sh\necho started\n")
    (tmp_path / "mpirun").chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", "-c", prepare("mpirun", Job("train.py", 2, "/")).command],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode == 0, ran.stdout) == (started, "started\n" if started else "")
    assert ("built without MPI" in ran.stderr) is not started
