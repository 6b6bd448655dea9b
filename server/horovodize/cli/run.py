"""Distribute a script or a notebook in memory, and train it on several ranks. The user's files stay as they are, the script
runs in the current folder under its own name, and errors are shown in its own lines."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.config import Configuration, add_option_flags
from horovodize.cli.inputs import shell_completed
from horovodize.cli.output import Console, plural
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.running.prepared import Prepared
    from horovodize.running.ranks import RunResult
    from horovodize.running.staged import Staged

HELP = "distribute a script in memory, and train it on several ranks"

EXAMPLES = """\
horovodize run -np 4 train.py --epochs 3         # what follows the script is given to it
horovodize run -np 2 --log logs train.ipynb      # a file for each rank: logs/rank-0.txt, …
horovodize run -np 8 -H one:4,two:4 --keep /shared/run train.py
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shell_completed(parser.add_argument("script", metavar="SCRIPT", help="a script or a notebook"), "FILE")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="given to the script")
    parser.add_argument(
        "-np", "--ranks", metavar="N", type=_count, required=True, help="how many ranks train"
    )
    parser.add_argument(
        "-H",
        "--hosts",
        metavar="HOSTS",
        help="where, as horovodrun takes it: one:4,two:4 (default: this machine). Other hosts have to see the folder of --keep",
    )
    parser.add_argument(
        "--min-np", metavar="N", type=_count, help="with --elastic: with how few ranks training goes on"
    )
    parser.add_argument("--max-np", metavar="N", type=_count, help="with --elastic: the most ranks")
    shell_completed(
        parser.add_argument(
            "--host-discovery-script",
            metavar="PROGRAM",
            default="",
            help="with --elastic: prints the hosts that there are now, one host:4 a line",
        ),
        "FILE",
    )
    parser.add_argument(
        "--network-interfaces",
        metavar="NAMES",
        default="",
        help="with --elastic: the network that the hosts share, such as eth0 (default: what two hosts find out)",
    )
    shell_completed(
        parser.add_argument(
            "--keep", metavar="DIR", help="write what runs to DIR, a new folder, with its source map"
        ),
        "DIRECTORY",
    )
    shell_completed(
        parser.add_argument(
            "--log", metavar="DIR", help="write what each rank says to DIR/rank-0.txt, DIR/rank-1.txt, …"
        ),
        "DIRECTORY",
    )
    shell_completed(
        parser.add_argument(
            "--source-map", metavar="FILE", help="write the source map to FILE, for horovodize traceback"
        ),
        "FILE",
    )
    parser.add_argument(
        "--launcher",
        metavar="COMMAND",
        default="horovodrun",
        help='horovodrun (default), mpirun, srun, or a whole command line such as "mpirun -np 4 --oversubscribe"',
    )
    parser.add_argument(
        "--full-traceback",
        action="store_true",
        help="show the frames of TensorFlow, Keras, Horovod and Python in tracebacks, too",
    )
    shell_completed(
        parser.add_argument(
            "--config", metavar="FILE", help="take the settings from [tool.horovodize] in FILE"
        ),
        "FILE",
    )
    add_option_flags(parser, "split_data", "rate", "batch", "output", "runtime", "elastic", "tensorflow")


def run(arguments: argparse.Namespace, console: Console) -> int:
    from horovodize.running.prepared import prepare

    script = Path(arguments.script)
    if not script.is_file():
        raise CommandError(f"{script}: no such file")
    options = Configuration(arguments, console).settings(script.absolute().parent).options
    try:
        prepared = prepare(script, options)
        if prepared.refused:
            return _refused(prepared, console)
        tell(prepared, console)
        with contextlib.ExitStack() as stack:
            folder = _folder(arguments, stack)
            return _run(arguments, prepared, folder, console)
    except OSError as e:
        raise CommandError(f"{e.filename or script}: {e.strerror or e}") from e


def _folder(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> Path:
    """Where what runs is written."""
    from horovodize.running.elastic_hosts import LOCAL

    if arguments.keep is not None:
        folder = Path(arguments.keep)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder}: isn't an empty folder; --keep wants a new one")
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    others = [
        host
        for host in (arguments.hosts or "").split(",")
        if host and host.rpartition(":")[0].strip("[]") not in LOCAL and host not in LOCAL
    ]
    if others:
        raise CommandError(
            "other hosts have to see what runs: name a folder that all of them have, --keep DIR"
        )
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="horovodize-run-")))


def _run(arguments: argparse.Namespace, prepared: Prepared, folder: Path, console: Console) -> int:
    from horovodize.cli.rank_output import RankOutput
    from horovodize.running.ranks import CannotRun, interpreter
    from horovodize.running.staged import stage

    elastic = _elastic(arguments, folder, console)
    staged = stage(prepared, folder)
    if arguments.source_map:
        staged.map.write(Path(arguments.source_map))
    log = Path(arguments.log) if arguments.log else staged.log
    output = RankOutput(console, staged, arguments.ranks, log, full=arguments.full_traceback)
    try:
        python = interpreter(arguments.python or "", prepared.script.parent)
    except CannotRun as e:
        raise CommandError(str(e)) from e
    try:
        result = staged.run(
            arguments.ranks,
            arguments.arguments,
            python=python,
            hosts=None if elastic else arguments.hosts,
            launcher=arguments.launcher,
            on_line=output.heard,
            on_part=output.part,
            on_idle=output.idle,
            log=log,
            elastic=elastic,
        )
    except CannotRun as e:
        _look_around(arguments, python, console, explained=True)
        raise CommandError(str(e)) from e
    output.finish({rank for rank in range(arguments.ranks) if result.statuses.get(rank) != 0})
    return _told(arguments, staged, python, output.launcher, result, console)


def _elastic(arguments: argparse.Namespace, folder: Path, console: Console) -> list[str]:
    """What horovodrun is told of ranks that come and go. Raises CommandError."""
    from horovodize.running.elastic_hosts import ElasticRanks, HostsUnknown

    least, discovery = arguments.min_np, arguments.host_discovery_script
    if least is None:
        if arguments.max_np is not None or discovery or arguments.network_interfaces:
            raise CommandError("with how few ranks may training go on? --min-np N")
        return []
    ranks = ElasticRanks(
        arguments.ranks,
        least,
        arguments.max_np,
        arguments.hosts or "",
        discovery,
        arguments.network_interfaces,
    )
    try:
        options, notes = ranks.options(folder)
    except HostsUnknown as e:
        raise CommandError(str(e)) from e
    for note in notes:
        console.warning(note)
    return options


def _look_around(arguments: argparse.Namespace, python: str, console: Console, *, explained: bool) -> None:
    from horovodize.cli.doctor import tell_problems

    tell_problems(python, arguments.ranks, arguments.hosts or "", console, explained=explained)


def _told(
    arguments: argparse.Namespace,
    staged: Staged,
    python: str,
    launcher: list[str],
    result: RunResult,
    console: Console,
) -> int:
    """Says how a run ended."""
    from horovodize.running.failures import failures

    kept = f"; what ran is in {arguments.keep}" if arguments.keep else ""
    name = Path(arguments.script).name
    if result.interrupted:
        console.message(f"{name}: interrupted after {result.seconds:.0f} s; all ranks are ended{kept}")
        return ExitStatus.INTERRUPTED
    if result.status == 0:
        console.message(
            f"{name}: trained on {plural(arguments.ranks, 'rank')} in {result.seconds:.0f} s{kept}"
        )
        return ExitStatus.OK
    said = {rank: text for rank, text in result.output.items() if rank is not None}
    found = failures(
        {rank: said.get(rank, "") for rank in range(arguments.ranks)},
        staged.map,
        statuses=result.statuses,
        ended=result.ended,
        full=arguments.full_traceback,
    )
    lines = found.lines()
    if not lines:
        for line in launcher:
            console.message(line)
        _look_around(arguments, python, console, explained=False)
        raise CommandError(f"{name}: the launcher ended with status {result.status} before any rank did")
    for number, line in enumerate(lines):
        if number == 0:
            console.error(line)
        else:
            console.line(line, sys.stderr)
    explained = any(failure.first.where for failure in found.causes)
    _look_around(arguments, python, console, explained=explained)
    console.message(f"{name}: failed after {result.seconds:.0f} s{kept}")
    return ExitStatus.FINDINGS


def tell(prepared: Prepared, console: Console) -> None:
    """What a user should know before a script runs: what is asked, what is noted, what a notebook's script does without."""
    for place, text in prepared.left_out:
        console.at(str(prepared.main.document.path), place, "note:", f"not in the script: {text}", "blue")
    for plan in prepared.plans:
        for change in plan.to_confirm:
            doubt = f"to confirm: {change.doubt or change.what}"
            console.at_span(plan.document, change.span, change.rule, doubt, "yellow")
        for note in plan.notes:
            console.at_span(plan.document, note.span, note.rule, f"note: {note.message}", "blue")
    path = prepared.main.document.path
    if prepared.plans:
        count = sum(bool(change.edits) for plan in prepared.plans for change in plan.changes)
        asked = f", {len(prepared.to_confirm)} to confirm" if prepared.to_confirm else ""
        console.message(f"{path}: distributed in memory ({plural(count, 'change')}{asked})")
    elif prepared.message:
        console.message(f"{path}: runs as it is: {prepared.message}")


def _refused(prepared: Prepared, console: Console) -> int:
    for problem in prepared.refused:
        console.at(problem.path, problem.place, problem.code, problem.message)
    for code in dict.fromkeys(problem.code for problem in prepared.refused):
        console.message(f"    help: horovodize explain {code}")
    console.message(f"{prepared.script.name}: can't run distributed; nothing was started")
    return ExitStatus.REFUSED


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ranks")
    return int(text)
