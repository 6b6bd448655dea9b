"""The targets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from horovodize.launching.commands import horovodrun, mpirun
from horovodize.launching.job import Job, Prepared
from horovodize.launching.kubernetes import kubernetes
from horovodize.launching.ray_program import ray
from horovodize.launching.slurm import slurm

TARGETS: Mapping[str, Callable[[Job], Prepared]] = {
    "horovodrun": horovodrun,
    "mpirun": mpirun,
    "slurm": slurm,
    "kubernetes": kubernetes,
    "ray": ray,
}


def prepare(target: str, job: Job) -> Prepared:
    """What starts a job on a target, one of TARGETS. Raises LaunchError."""
    return TARGETS[target](job)
