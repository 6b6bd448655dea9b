"""Read what a distributed script said when it failed in the lines of the script as it was written: needs the source map that
`run --keep`, `run --source-map` or `distribute --source-map` wrote."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.inputs import STANDARD_INPUT, shell_completed
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.running.source_map import SourceMap

HELP = "translate tracebacks of a distributed script"

EXAMPLES = """\
horovodrun -np 4 python train_hvd.py 2>&1 | tee log.txt
horovodize traceback log.txt --source-map train_hvd.map.json
horovodize traceback logs --source-map train_hvd.map.json     # the folder of run --log, or of horovodrun --output-filename
"""
_PREFIXED = re.compile(r"^\[(\d+)\](?:<(?:stdout|stderr)>:| )(.*)$")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shell_completed(
        parser.add_argument(
            "log",
            metavar="LOG",
            help="what was printed: a file, a folder with a file for each rank, or - for standard input",
        ),
        "FILE",
    )
    shell_completed(
        parser.add_argument(
            "--source-map",
            metavar="FILE",
            help="the source map of the distributed script (default: source-map.json beside LOG or in the current folder)",
        ),
        "FILE",
    )
    parser.add_argument(
        "--full-traceback",
        action="store_true",
        help="show the frames of TensorFlow, Keras, Horovod and Python, too",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    from horovodize.running.failures import failures
    from horovodize.running.stalls import stalls
    from horovodize.running.tracebacks import rewrite_traceback

    source_map = _map(arguments)
    text, ranks = _read(arguments.log)
    if ranks:
        found = failures(ranks, source_map, full=arguments.full_traceback).lines()
        stall = stalls(ranks, {}, source_map)
        for line in [*(stall.lines() if stall is not None else []), *found]:
            console.line(line)
        if found or stall is not None:
            return ExitStatus.OK
    console.write(rewrite_traceback(text, source_map, full=arguments.full_traceback))
    return ExitStatus.OK


def _map(arguments: argparse.Namespace) -> SourceMap:
    from horovodize.running.source_map import NoSourceMap, SourceMap

    path = arguments.source_map
    if path is None:
        near = [Path(arguments.log).parent, Path(arguments.log), Path()]
        path = next(
            (folder / "source-map.json" for folder in near if (folder / "source-map.json").is_file()), None
        )
        if path is None:
            raise CommandError("which source map? --source-map FILE names it")
    try:
        return SourceMap.read(Path(path))
    except NoSourceMap as e:
        raise CommandError(f"{path}: {e}") from e
    except OSError as e:
        raise CommandError(f"{path}: cannot be read: {e.strerror or e}") from e


def _read(log: str) -> tuple[str, dict[int, str]]:
    """The whole text, and what each rank said, where that can be told apart."""
    try:
        if log == STANDARD_INPUT:
            text = sys.stdin.read()
        elif Path(log).is_dir():
            return _folder(Path(log))
        else:
            text = Path(log).read_text(encoding="utf-8", errors="replace")
    except OSError as e:
        raise CommandError(f"{log}: cannot be read: {e.strerror or e}") from e
    ranks: dict[int, list[str]] = {}
    for line in text.split("\n"):
        found = _PREFIXED.match(line)
        if found is not None:
            ranks.setdefault(int(found[1]), []).append(found[2])
    return text, {rank: "\n".join(lines) for rank, lines in sorted(ranks.items())}


def _folder(folder: Path) -> tuple[str, dict[int, str]]:
    """The files of ranks: ours, or those of `horovodrun --output-filename`."""
    ranks: dict[int, str] = {}
    for pattern in ("rank-*.txt", "rank.*/stdout", "rank.*/stderr"):
        for path in sorted(folder.glob(pattern)):
            number = re.search(r"rank[-.](\d+)", str(path.relative_to(folder)))
            if number is not None:
                rank = int(number[1])
                ranks[rank] = ranks.get(rank, "") + path.read_text(encoding="utf-8", errors="replace")
    if not ranks:
        raise CommandError(f"{folder}: has no output of ranks (rank-0.txt, or rank.0/stderr)")
    return "\n".join(ranks.values()), ranks
