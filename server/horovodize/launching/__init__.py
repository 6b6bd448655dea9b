"""What starts a distributed script elsewhere than by hand: commands, batch scripts, jobs. It is only written, never started.

`job`           a script, its ranks, and how they are laid out over nodes; what a target makes of it
`hosts`         "host1:4,host2:4"
`commands`      horovodrun, mpirun
`slurm`         a batch script
`kubernetes`    an MPIJob of Kubeflow; `image` is the Dockerfile for it, with Horovod built as `building.recipe` does
`ray_program`   a Python program for a Ray cluster"""

from horovodize.launching.job import Job, LaunchError, Prepared
from horovodize.launching.targets import TARGETS, prepare

__all__ = ["TARGETS", "Job", "LaunchError", "Prepared", "prepare"]
