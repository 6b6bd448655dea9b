"""Ranks that come and go: what horovodrun and Ray are told, and who can't."""

from __future__ import annotations

import ast
import shlex

import pytest

from horovodize.launching import Job, LaunchError, prepare
from horovodize.launching.hosts import parse
from horovodize.launching.job import Elastic


def test_horovodrun_is_told_how_few_and_how_many_and_who_names_the_hosts() -> None:
    job = Job("train.py", 4, "/", elastic=Elastic(2, 8, "./my hosts.sh"))
    words = shlex.split(prepare("horovodrun", job).command)
    assert words == [
        "horovodrun", "-np", "4", "--min-np", "2", "--max-np", "8", "--host-discovery-script", "./my hosts.sh", "python",
        "train.py",
    ]  # fmt: skip


def test_hosts_that_are_named_may_only_go() -> None:
    job = Job("train.py", 4, "/", hosts=tuple(parse("a:2,b:2")), elastic=Elastic(2))
    assert " --min-np 2 -H a:2,b:2 " in prepare("horovodrun", job).command


def test_a_network_that_is_named_needs_no_second_host() -> None:
    job = Job("train.py", 4, "/", elastic=Elastic(2, None, "x", "lo"))
    command = prepare("horovodrun", job).command
    assert " --min-np 2 --host-discovery-script x --network-interfaces lo " in command


def test_one_host_that_is_listed_is_too_few() -> None:
    job = Job("train.py", 4, "/", hosts=tuple(parse("a:4")), elastic=Elastic(2))
    with pytest.raises(LaunchError, match="two hosts for elastic ranks; for a alone"):
        prepare("horovodrun", job)


@pytest.mark.parametrize("hosts", ["", "a:2,b:2"])
def test_hosts_come_from_one_place(hosts: str) -> None:
    job = Job("train.py", 4, "/", hosts=tuple(parse(hosts)), elastic=Elastic(2, None, "x" if hosts else ""))
    with pytest.raises(LaunchError, match="need to know their hosts"):
        prepare("horovodrun", job)


def test_a_ray_program_asks_for_workers_that_come_and_go() -> None:
    text = prepare("ray", Job("train.py", 4, "/", elastic=Elastic(2, 8))).files["train_ray.py"]
    call = next(
        n
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "RayExecutor"
    )
    given = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    assert given == {"min_workers": 2, "max_workers": 8, "use_gpu": False}


@pytest.mark.parametrize("target", ["mpirun", "slurm", "kubernetes"])
def test_others_start_a_fixed_number(target: str) -> None:
    with pytest.raises(LaunchError, match="fixed number of ranks"):
        prepare(target, Job("train.py", 4, "/", elastic=Elastic(2)))
