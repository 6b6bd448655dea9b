"""Print or write what starts a distributed script: the command, a Slurm batch script, a Kubernetes job with its Dockerfile, or
a Ray program. Starts nothing. Options end where the script's own arguments begin, or at --."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.doctor import number
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.launching import Job, Prepared
    from horovodize.launching.job import Elastic

HELP = "write what starts a script on a cluster"
EXAMPLES = """\
horovodize launch --to horovodrun -np 8 -H host1:4,host2:4 train.py
horovodize launch --to slurm -np 16 --gpus-per-node 4 --output jobs train.py --epochs 90
horovodize launch --to kubernetes -np 8 --gpus-per-node 4 --tensorflow 2.15.1 --output jobs train.py
"""
_TARGETS = ("horovodrun", "mpirun", "slurm", "kubernetes", "ray")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_options(parser)
    # Together: of two arguments, argparse would take away a -- between them.
    script = parser.add_argument("words", metavar="SCRIPT", nargs=argparse.PARSER,
                                 help="the script, distributed already, and its own arguments")  # fmt: skip
    script.complete = "FILE"  # type: ignore[attr-defined]


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to", choices=_TARGETS, default="horovodrun", help="what starts it (default: %(default)s)"
    )
    parser.add_argument("-np", dest="ranks", metavar="N", type=number, help="how many processes are to train")
    parser.add_argument(
        "-H",
        "--hosts",
        metavar="HOSTS",
        default="",
        help="for horovodrun and mpirun: where, such as host1:4,host2:4",
    )
    parser.add_argument(
        "--min-np",
        metavar="N",
        type=number,
        default=None,
        help="for horovodrun and ray, of an elastic script: with how few processes training goes on",
    )
    parser.add_argument(
        "--max-np", metavar="N", type=number, default=None, help="the most processes of an elastic script"
    )
    discovery = parser.add_argument(
        "--host-discovery-script",
        metavar="PROGRAM",
        default="",
        help="for horovodrun, of an elastic script: prints the hosts that there are now, one host:4 a line",
    )
    discovery.complete = "FILE"  # type: ignore[attr-defined]
    parser.add_argument(
        "--network-interfaces",
        metavar="NAMES",
        default="",
        help="for horovodrun, of an elastic script: the network that the hosts share, such as eth0 (default: what two hosts "
        "find out; with one, horovodrun waits ten minutes for a second)",
    )
    parser.add_argument("--nodes", metavar="N", type=number,
                        help="how many machines (default: as few as have the GPUs, else one)")  # fmt: skip
    parser.add_argument(
        "--gpus-per-node", metavar="N", type=number, help="one process takes one GPU (default: none)"
    )
    parser.add_argument("--python", metavar="PYTHON",
                        help="the environment to start it in, or its interpreter (default: what is on the PATH)")  # fmt: skip
    parser.add_argument("--tensorflow", metavar="VERSION",
                        help="for kubernetes: the image's (default: what --python has, or requirements ask for)")  # fmt: skip
    parser.add_argument("--image", metavar="NAME", help="for kubernetes: the image's name, with its registry")
    output = parser.add_argument(
        "--output", metavar="DIR", help="write the files there (default: print them)"
    )
    output.complete = "DIRECTORY"  # type: ignore[attr-defined]


def run(arguments: argparse.Namespace, console: Console) -> int:
    from horovodize.launching import LaunchError, prepare

    _take_options_behind_the_script(arguments)
    if arguments.ranks is None:
        raise CommandError("how many processes? -np N")
    try:
        job = _job(arguments)
        prepared = prepare(arguments.to, job)
    except (LaunchError, ValueError) as e:
        raise CommandError(str(e)) from e
    if not _uses_horovod(Path(job.script)):
        console.warning(
            f"{job.script} doesn't import Horovod: horovodize distribute it first, or every process trains alone"
        )
    if job.elastic is not None and not _is_elastic(Path(job.script)):
        console.warning(
            f"{job.script} has no elastic state: horovodize distribute --elastic makes one; without it a rank that dies "
            "ends the run"
        )
    for note in prepared.notes:
        console.message(f"Note: {note}")
    if arguments.output:
        _write(prepared, Path(arguments.output), console)
    else:
        _print(prepared, console, only_command=arguments.to in ("horovodrun", "mpirun"))
    return ExitStatus.OK


def _take_options_behind_the_script(arguments: argparse.Namespace) -> None:
    """`train.py -np 4 --epochs 3`: ours are taken as long as there are some; the first other word begins the script's."""
    parser = argparse.ArgumentParser(prog="horovodize launch", add_help=False, allow_abbrev=False)
    _add_options(parser)
    names = {name for action in parser._actions for name in action.option_strings}
    arguments.script, *rest = arguments.words
    taken = 0
    while taken < len(rest) and rest[taken].partition("=")[0] in names:
        taken += 1 if "=" in rest[taken] else 2
    for action in parser._actions:
        action.default = argparse.SUPPRESS
    parser.parse_args(rest[:taken], arguments)
    arguments.rest = rest[taken + 1 :] if rest[taken : taken + 1] == ["--"] else rest[taken:]


def _job(arguments: argparse.Namespace) -> Job:
    from horovodize.building.target import BuildError, target_of
    from horovodize.launching.hosts import parse
    from horovodize.launching.job import Job
    from horovodize.world.surroundings import required

    if not os.path.isfile(arguments.script):
        raise CommandError(f"{arguments.script}: no such file")
    if arguments.script.endswith(".ipynb"):
        raise CommandError("ranks run scripts: horovodize distribute --output makes one of a notebook")
    binaries, python = "", "3.11"
    tensorflow = arguments.tensorflow or ""
    if arguments.python:
        try:
            target = target_of(arguments.python)
        except BuildError as e:
            raise CommandError(str(e)) from e
        binaries, python = os.path.dirname(target.executable), ".".join(str(n) for n in target.python)
        tensorflow = tensorflow or target.tensorflow
    if not tensorflow:
        asked = re.fullmatch(r"==\s*(\d+\.\d+\.\d+)|(\d+\.\d+\.\d+)", required(Path.cwd()).tensorflow)
        tensorflow = (asked[1] or asked[2]) if asked else ""
    return Job(
        script=arguments.script,
        ranks=arguments.ranks,
        folder=os.getcwd(),
        arguments=tuple(arguments.rest),
        hosts=tuple(parse(arguments.hosts)),
        nodes=arguments.nodes,
        gpus_per_node=arguments.gpus_per_node,
        binaries=binaries,
        python=python,
        tensorflow=tensorflow,
        image=arguments.image or "",
        requirements=os.path.isfile("requirements.txt"),
        output=arguments.output or "",
        elastic=_elastic(arguments),
    )


def _elastic(arguments: argparse.Namespace) -> Elastic | None:
    """Raises CommandError for what does not go together."""
    from horovodize.launching.job import Elastic

    least, most, discovery = arguments.min_np, arguments.max_np, arguments.host_discovery_script
    if least is None:
        if most is not None or discovery or arguments.network_interfaces:
            raise CommandError("with how few processes may training go on? --min-np N")
        return None
    if not least <= arguments.ranks <= (most or arguments.ranks):
        raise CommandError("-np lies between --min-np and --max-np")
    return Elastic(least, most, discovery, arguments.network_interfaces)


def _uses_horovod(script: Path) -> bool:
    """Whether a script imports Horovod, or our module for Keras 3; also where it can't be read as Python."""
    import ast

    try:
        tree = ast.parse(script.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    imported = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    imported += [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    return any(name.split(".")[0].startswith("horovod") for name in imported)


def _is_elastic(script: Path) -> bool:
    """Whether a script uses our module for elastic training, or Horovod's."""
    try:
        return "elastic" in script.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True


def _print(prepared: Prepared, console: Console, *, only_command: bool) -> None:
    if only_command:
        console.line(prepared.command)
        return
    for name, text in prepared.files.items():
        if len(prepared.files) > 1:
            console.line(f"# ==> {name} <==")
        console.write(text)
    console.message(f"Start it with: {prepared.command}")


def _write(prepared: Prepared, folder: Path, console: Console) -> None:
    from horovodize.cli.write import write_atomically

    for name, text in prepared.files.items():
        path = folder / name
        if path.exists() and path.read_bytes() != text.encode():
            raise CommandError(f"{path} is there already, and differs; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise CommandError(f"can't write to {folder}: {e.strerror or e}") from e
    for name, text in prepared.files.items():
        write_atomically(folder / name, text.encode())
        console.message(f"{folder / name}: written")
    console.line(prepared.command)
