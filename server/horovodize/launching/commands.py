"""Commands: horovodrun, and mpirun for a Horovod that was built with MPI."""

from __future__ import annotations

import shlex

from horovodize.launching.job import Elastic, Job, LaunchError, Prepared, never_elastic

# As Horovod's guide has them: no binding to cores, TCP for what isn't NCCL's, and the environment of the first host.
_MPI = (
    "-bind-to none -map-by slot -x NCCL_DEBUG=WARN -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib"
)
NEEDS_MPI = "Horovod was built without MPI: each process would train by itself; start it with horovodrun"


def horovodrun(job: Job) -> Prepared:
    where = _elastic(job, job.elastic) if job.elastic is not None else _hosts(job)
    return _prepared(job, f"{job.program('horovodrun')} -np {job.ranks}{where} {job.command}", "horovodrun")


def _elastic(job: Job, elastic: Elastic) -> str:
    """The options for ranks that come and go. Raises LaunchError."""
    if bool(elastic.discovery) == bool(job.hosts):
        raise LaunchError(
            "elastic ranks need to know their hosts: --host-discovery-script names a program that prints them, one host:4 a "
            "line, or -H those that may only go"
        )
    if len(job.hosts) == 1:
        raise LaunchError(
            f"horovodrun wants two hosts for elastic ranks; for {job.hosts[0].name} alone, --host-discovery-script and "
            "--network-interfaces name it and its network"
        )
    most = f" --max-np {elastic.most}" if elastic.most is not None else ""
    found = f" --host-discovery-script {shlex.quote(elastic.discovery)}" if elastic.discovery else _hosts(job)
    shared = f" --network-interfaces {shlex.quote(elastic.interfaces)}" if elastic.interfaces else ""
    return f" --min-np {elastic.least}{most}{found}{shared}"


def mpirun(job: Job) -> Prepared:
    never_elastic(job, "mpirun")
    command = f"{has_mpi(job)} &&\nmpirun -np {job.ranks}{_hosts(job)} {_MPI} {job.command}"
    return _prepared(job, command, "mpirun")


def has_mpi(job: Job) -> str:
    """A command that fails where ranks started by MPI wouldn't find each other. Without it, each of them would train alone, and
    nobody would see it."""
    test = f"import sys, horovod.tensorflow as hvd; hvd.mpi_built() or sys.exit('{NEEDS_MPI}')"
    return f'{job.program("python")} -c "{test}"'


def _hosts(job: Job) -> str:
    """The option that names the hosts, where there are some. Raises LaunchError where they have too few places."""
    if not job.hosts:
        if (job.nodes or 1) > 1:
            raise LaunchError("name the hosts: -H host1:4,host2:4")
        return ""
    slots = sum(host.slots for host in job.hosts)
    if slots < job.ranks:
        raise LaunchError(
            f"the hosts have places for {slots} of {job.ranks} processes: raise the numbers in -H"
        )
    if job.nodes not in (None, len(job.hosts)):
        raise LaunchError(f"-H names {len(job.hosts)} hosts, --nodes asks for {job.nodes}")
    for host in job.hosts:
        if job.gpus_per_node is not None and host.slots > job.gpus_per_node > 0:
            raise LaunchError(
                f"{host.name} is to take {host.slots} processes and has {job.gpus_per_node} GPUs"
            )
    return " -H " + ",".join(f"{host.name}:{host.slots}" for host in job.hosts)


def _prepared(job: Job, command: str, kind: str) -> Prepared:
    notes: tuple[str, ...] = ()
    if len(job.hosts) > 1:
        notes = ("the first host must reach the others by ssh without a password; script, data and environment must be at the "
                 "same paths: horovodize doctor -H … looks",)  # fmt: skip
    return Prepared(command, {f"{job.stem}-{kind}.sh": f"#!/bin/sh\n{command}\n"}, notes)
