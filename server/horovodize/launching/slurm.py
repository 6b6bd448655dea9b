"""A batch script for Slurm. Horovod's own launcher starts the ranks on the nodes that Slurm gives: it needs no MPI, but ssh
between the nodes of a job, which most clusters allow."""

from __future__ import annotations

from horovodize.launching.commands import has_mpi
from horovodize.launching.job import NO_GPUS, Job, Prepared, never_elastic

_TEMPLATE = """\
#!/bin/bash
#SBATCH --job-name={label}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={each}
{gpus}
#SBATCH --output=%x-%j.log
# To be set where your cluster asks for it (one # less):
##SBATCH --partition=PARTITION
##SBATCH --account=ACCOUNT
##SBATCH --time=24:00:00
##SBATCH --cpus-per-task=8

set -euo pipefail
cd "$SLURM_SUBMIT_DIR"
# Load modules and activate your environment here, unless the paths below are complete.

hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/:{each}/' | paste -s -d, -)
{horovodrun} -np {ranks} -H "$hosts" {command}

# Where nodes can't reach each other by ssh, and Horovod was built with MPI, instead of the line above:
#   {has_mpi} &&
#   srun --mpi=pmix {command}
"""


def slurm(job: Job) -> Prepared:
    never_elastic(job, "slurm")
    layout = job.layout()
    name = f"{job.stem}.slurm"
    text = _TEMPLATE.format(
        label=job.label,
        nodes=layout.nodes,
        each=layout.ranks_per_node,
        gpus=f"#{'' if layout.gpus else '#'}SBATCH --gpus-per-node={layout.ranks_per_node}",
        horovodrun=job.program("horovodrun"),
        ranks=job.ranks,
        command=job.command,
        has_mpi=has_mpi(job),
    )
    notes: tuple[str, ...] = () if layout.gpus else (NO_GPUS,)
    if layout.nodes > 1:
        notes += ("horovodrun starts ranks by ssh: nodes of a job must reach each other without a password",)
    return Prepared(f"sbatch {job.file(name)}", {name: text}, notes)
