"""A Python program that runs a script on the workers of a Ray cluster, by Horovod's `RayExecutor`."""

from __future__ import annotations

from horovodize.launching.job import NO_GPUS, Job, LaunchError, Prepared

_TEMPLATE = '''\
"""Trains {script} on {ranks} workers of a Ray cluster. Run it on a node of the cluster:

    RAY_ADDRESS=auto {python} {name}

Without RAY_ADDRESS, Ray starts on this machine alone. Needs ray, and Horovod, on every node."""

import sys

import ray
from horovod.ray import RayExecutor

FOLDER = {folder!r}  # on every node: with the script, and with what it reads and writes
SCRIPT = {script!r}
ARGUMENTS = {arguments!r}


def train():
    """What each worker runs: the script, as if Python were started with it."""
    import os
    import runpy

    os.chdir(FOLDER)
    sys.argv = [SCRIPT, *ARGUMENTS]
    sys.path.insert(0, os.path.dirname(os.path.abspath(SCRIPT)))
    # A worker does not leave through the script's sys.exit(0).
    try:
        runpy.run_path(SCRIPT, run_name="__main__")
    except SystemExit as e:
        if e.code not in (None, 0):
            raise RuntimeError(f"{{SCRIPT}} ended with {{e.code!r}}") from e
    # A script that never asks for ranks would train once more on each worker, and nobody would see it.
    # Horovod isn't imported before the script: it imports TensorFlow, which the script may have settings for.
    hvd = sys.modules.get("horovod.tensorflow")
    if hvd is None:
        raise RuntimeError(f"{{SCRIPT}} doesn't use Horovod: distribute it first")
    return hvd.is_initialized()


if __name__ == "__main__":
    ray.init()
    executor = RayExecutor(
        RayExecutor.create_settings(timeout_s=300),
        {workers},
        use_gpu={gpus},
    )
    executor.start()
    try:
        initialised = executor.run(train)
    finally:
        executor.shutdown()
    if not all(initialised):
        sys.exit(f"Horovod isn't initialised at the end. Unless {{SCRIPT}} shuts it down, each worker trained alone.")
    print(f"{{SCRIPT}} trained on {{len(initialised)}} workers")
'''


def ray(job: Job) -> Prepared:
    layout = job.layout()
    name = f"{job.stem}_ray.py"
    # A number of hosts asks for workers spread over so many, one bundle each; a number of workers, wherever there is room.
    workers = f"num_workers={job.ranks}"
    if layout.nodes > 1:
        workers = f"num_hosts={layout.nodes},\n        num_workers_per_host={layout.ranks_per_node}"
    if job.elastic is not None:
        if job.elastic.discovery:
            raise LaunchError("Ray knows its nodes: leave out --host-discovery-script")
        workers = f"min_workers={job.elastic.least},\n        max_workers={job.elastic.most or job.ranks}"
    text = _TEMPLATE.format(
        script=job.script,
        ranks=job.ranks,
        python=job.program("python"),
        name=name,
        folder=job.folder,
        arguments=list(job.arguments),
        workers=workers,
        gpus=layout.gpus,
    )
    notes: tuple[str, ...] = () if layout.gpus else (NO_GPUS,)
    notes += (f"every node needs {job.folder}, which the program names as FOLDER, at that path",)
    return Prepared(f"{job.program('python')} {job.file(name)}", {name: text}, notes)
