"""A script to be started on many ranks, and what a target makes of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from horovodize.launching.hosts import Host


class LaunchError(Exception):
    """Why nothing can be written: a sentence for the user that says what to do."""


@dataclass(frozen=True)
class Elastic:
    """Ranks that come and go.

    least      below so many, training waits
    most       beyond so many, no further ranks are started; None: no limit
    discovery  a program that prints the hosts that there are now, `host:processes` a line; "" where hosts are named
    interfaces the network that the hosts share, "" where two hosts are to find out"""

    least: int
    most: int | None = None
    discovery: str = ""
    interfaces: str = ""


@dataclass(frozen=True)
class Job:
    """What is to run.

    script          as seen from the folder that it is started in
    arguments       the script's own
    ranks           processes in all
    hosts           where, for targets that don't choose themselves
    nodes           how many machines, None where that follows from the others
    gpus_per_node   None where that isn't known
    binaries        the folder of `python` and `horovodrun`, "" for those on the PATH
    python          such as "3.11", for an image
    tensorflow      such as "2.15.1", "" where it isn't known
    image           the name of a container image, "" for one made of the script's
    folder          where the script is started, absolute"""

    script: str
    ranks: int
    folder: str
    arguments: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = ()
    nodes: int | None = None
    gpus_per_node: int | None = None
    binaries: str = ""
    python: str = "3.11"
    tensorflow: str = ""
    image: str = ""
    requirements: bool = False  # whether the folder has a requirements.txt
    output: str = ""  # the folder that files are written to
    elastic: Elastic | None = None

    @property
    def stem(self) -> str:
        """The script's name without its suffix."""
        return PurePath(self.script).stem

    @property
    def label(self) -> str:
        """A name for the job that Kubernetes and Slurm take: small letters, digits and hyphens."""
        return re.sub(r"[^a-z0-9]+", "-", self.stem.lower()).strip("-")[:40].strip("-") or "train"

    def program(self, name: str) -> str:
        """How an executable of the environment is called, quoted for a shell."""
        return shlex.quote(f"{self.binaries}/{name}") if self.binaries else name

    def file(self, name: str) -> str:
        """How a file that is written is named in a command, quoted for a shell."""
        return shlex.quote(str(PurePath(self.output, name)))

    @property
    def command(self) -> str:
        """What each rank runs, quoted for a shell."""
        return f"{self.program('python')} {shlex.join([self.script, *self.arguments])}"

    def layout(self) -> Layout:
        """How the ranks lie on the nodes: the same number on each. Raises LaunchError where they can't."""
        if self.hosts:
            raise LaunchError(
                "-H is for horovodrun and mpirun; here the cluster chooses the hosts: --nodes says how many"
            )
        nodes, gpus = self.nodes, self.gpus_per_node
        if nodes is None:
            nodes = -(-self.ranks // gpus) if gpus else 1
        if self.ranks % nodes:
            raise LaunchError(
                f"{self.ranks} processes can't be spread evenly over {nodes} nodes: take "
                f"{self.ranks // nodes * nodes or nodes} or {(self.ranks // nodes + 1) * nodes}"
            )
        each = self.ranks // nodes
        if gpus and each > gpus:
            raise LaunchError(
                f"{each} processes on a node with {gpus} {'GPU' if gpus == 1 else 'GPUs'}: one process takes one GPU; "
                f"take {-(-self.ranks // gpus)} nodes"
            )
        return Layout(nodes, each, bool(gpus))


def never_elastic(job: Job, target: str) -> None:
    """Raises LaunchError where ranks are to come and go, for a target whose number of ranks is fixed."""
    if job.elastic is not None:
        raise LaunchError(
            f"{target} starts a fixed number of ranks: --min-np, --max-np and --host-discovery-script are for horovodrun; ray "
            "takes the first two"
        )


@dataclass(frozen=True)
class Layout:
    """`gpus`: whether each rank gets a GPU."""

    nodes: int
    ranks_per_node: int
    gpus: bool


@dataclass(frozen=True)
class Prepared:
    """What a target makes of a job: files by name, the command that starts it, and what the user has to see to."""

    command: str
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


NO_GPUS = "no GPUs are asked for; --gpus-per-node N does it"
