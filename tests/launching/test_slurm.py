"""The batch script: its options are sbatch's own, and its commands run."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

import pytest

from horovodize.launching import Job, LaunchError, prepare
from horovodize.launching.hosts import Host

OPTIONS = (Path(__file__).parent / "data" / "sbatch-options.txt").read_text().split()


def script(job: Job) -> str:
    (text,) = prepare("slurm", job).files.values()
    return text


def options(text: str, mark: str = "#SBATCH ") -> dict[str, str]:
    """The options of a script as sbatch reads them: up to the first command. Fails for those that it doesn't have."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in OPTIONS:
        if option not in ("--help", "--usage", "--version"):
            parser.add_argument(option)
    words = []
    for line in text.splitlines():
        if line.startswith(mark):
            words.append(line.removeprefix(mark))
        elif line and not line.startswith("#"):
            break
    return {name: value for name, value in vars(parser.parse_args(words)).items() if value is not None}


def test_gpus_of_two_nodes_are_asked_for() -> None:
    found = options(script(Job("src/train.py", 8, "/", gpus_per_node=4)))
    assert found == {
        "job_name": "train", "nodes": "2", "ntasks_per_node": "4", "gpus_per_node": "4", "output": "%x-%j.log",
    }  # fmt: skip


def test_without_gpus_none_are_asked_for_and_it_is_said() -> None:
    job = Job("train.py", 2, "/")
    assert "gpus_per_node" not in options(script(job))
    assert any("--gpus-per-node" in note for note in prepare("slurm", job).notes)


def test_what_is_left_to_set_are_options_too() -> None:
    found = options(script(Job("train.py", 2, "/")).replace("\n##SBATCH", "\n#SBATCH"))
    assert {"partition", "account", "time", "cpus_per_task", "gpus_per_node"} <= set(found)


def test_hosts_are_slurms() -> None:
    with pytest.raises(LaunchError, match="the cluster chooses the hosts"):
        prepare("slurm", Job("train.py", 2, "/", hosts=(Host("a", 2),)))


def test_it_runs_on_the_hosts_that_slurm_gives(tmp_path: Path) -> None:
    for name, body in {
        "scontrol": 'test "$*" = "show hostnames n[1-2]" && printf "n1\\nn2\\n"',
        "horovodrun": "printf '%s|' \"$@\"; pwd",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    ran = subprocess.run(
        ["bash", "-c", script(Job("train.py", 4, "/", ("--name", "a b"), nodes=2))],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_JOB_NODELIST": "n[1-2]",
             "SLURM_SUBMIT_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == f"-np|4|-H|n1:2,n2:2|python|train.py|--name|a b|{tmp_path}\n"
