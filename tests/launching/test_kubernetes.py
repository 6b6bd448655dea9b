"""The MPIJob, against the schema of the operator's own definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from horovodize.launching import Job, LaunchError, prepare

SCHEMA = json.loads((Path(__file__).parent / "data" / "mpijob-v2beta1.json").read_text())


def strict(schema: Any) -> Any:
    """As the API server reads it, but for fields that it doesn't know: it would drop them, and only warn."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made["additionalProperties"] = False
    return made


def check(job: Any) -> None:
    schema = strict(SCHEMA)
    schema["properties"]["metadata"] = {"type": "object"}  # of every object; the definition leaves it open
    jsonschema.Draft7Validator(schema).validate(job)


def mpijob(job: Job) -> Any:
    files = prepare("kubernetes", job).files
    return yaml.safe_load(files[f"{job.stem}-mpijob.yaml"])


JOB = Job("src/train.py", 8, "/home/me", ("--name", 'a "b" ü'), gpus_per_node=4, tensorflow="2.15.1")


@pytest.mark.parametrize(
    "job", [JOB, Job("train.py", 2, "/", tensorflow="2.15.1"), Job("t.py", 4, "/", nodes=2, image="r/i:1")]
)
def test_it_is_a_job_that_the_operator_takes(job: Job) -> None:
    made = mpijob(job)
    check(made)
    workers = made["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
    assert workers * made["spec"]["slotsPerWorker"] == job.ranks


@pytest.mark.parametrize("path", [("spec", "slotsPerWorkers"), ("spec", "runPolicy", "cleanPods")])
def test_the_check_finds_what_the_operator_does_not_know(path: tuple[str, ...]) -> None:
    made = mpijob(JOB)
    place = made
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = 1
    with pytest.raises(jsonschema.ValidationError):
        check(made)


def test_what_it_asks_for() -> None:
    specs = mpijob(JOB)["spec"]["mpiReplicaSpecs"]
    (launcher,) = specs["Launcher"]["template"]["spec"]["containers"]
    (worker,) = specs["Worker"]["template"]["spec"]["containers"]
    assert launcher["command"] == [
        "horovodrun", "-np", "8", "--hostfile", "/etc/mpi/hostfile", "python", "src/train.py", "--name", 'a "b" ü',
    ]  # fmt: skip
    assert worker["resources"] == {"limits": {"nvidia.com/gpu": 4}}
    assert specs["Worker"]["replicas"] == 2


def test_an_image_of_ones_own_needs_no_dockerfile() -> None:
    prepared = prepare("kubernetes", Job("train.py", 2, "/", image="registry/mine:1"))
    assert list(prepared.files) == ["train-mpijob.yaml"]
    assert "docker" not in prepared.command


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (Job("train.py", 2, "/"), "--tensorflow"),
        (Job("../train.py", 2, "/", tensorflow="2.15.1"), "holds the current folder"),
        (Job("train.py", 2, "/", tensorflow="2.15"), r"--tensorflow 2\.15\.0"),
        (Job("train.py", 2, "/", tensorflow="new.er.1"), "is not a version"),
    ],
)
def test_what_can_not_be_an_image(job: Job, why: str) -> None:
    with pytest.raises(LaunchError, match=why):
        prepare("kubernetes", job)
