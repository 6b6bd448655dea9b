"""Look whether a Python environment can train with Horovod: its packages, Horovod's build, GPUs, the hosts of a run; then train
one step on two ranks and compare their weights. Says of each what is wrong and what to do. Exit status 1 if anything is."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING

from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.diagnosing import Diagnosis

HELP = "see whether Horovod trains in your environment"
EXAMPLES = """\
horovodize doctor --python .venv
horovodize doctor -np 8 -H host1:4,host2:4
horovodize doctor --quick --format json
"""
_STYLES = {"ok": ("green",), "note": ("yellow",), "problem": ("red", "bold"), "skipped": ("dim",)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        help="the interpreter, or the folder of its environment (default: VIRTUAL_ENV, else the one that runs this)",
    )
    parser.add_argument(
        "-np",
        dest="ranks",
        metavar="N",
        type=number,
        default=2,
        help="how many processes are to train (default: 2)",
    )
    parser.add_argument("-H", "--hosts", metavar="HOSTS", default="",
                        help="on which hosts, such as host1:4,host2:4 (default: this one)")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="don't import TensorFlow, don't train")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(default: %(default)s)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    from horovodize.diagnosing import diagnose

    python = arguments.python or os.environ.get("VIRTUAL_ENV") or sys.executable
    if not arguments.quick and arguments.format == "text":
        console.message("Imports TensorFlow and trains a step on two ranks: under a minute …")
    try:
        diagnosis = diagnose(python, arguments.ranks, arguments.hosts, train=not arguments.quick)
    except ValueError as e:
        raise CommandError(str(e)) from e
    if arguments.format == "json":
        console.json(diagnosis.as_json())
    else:
        _show(diagnosis, console)
    return ExitStatus.OK if diagnosis.ok else ExitStatus.FINDINGS


def _show(diagnosis: Diagnosis, console: Console) -> None:
    for line in diagnosis.text.splitlines():
        state = line.partition(" ")[0]
        console.line(console.paint(state, *_STYLES[state]) + line[len(state) :] if state in _STYLES else line)
    count = len(diagnosis.problems)
    if count:
        console.message(f"{count} {'problem' if count == 1 else 'problems'}")


def tell_problems(python: str, ranks: int, hosts: str, console: Console, *, explained: bool) -> None:
    """After a run that failed: what is wrong with its environment, as far as that shows without importing anything (a part of a
    second). `explained`: the failure has a place in the user's lines, so `doctor` is only named where it isn't."""
    from horovodize.diagnosing import diagnose

    try:
        problems = diagnose(python, ranks, hosts, train=False, remote=False).problems
    except ValueError:  # the launcher takes such hosts, or has said so
        return
    for line in problems:
        console.warning(f"{line.topic}: {line.text}")
        console.line(f"  what to do: {line.remedy}", sys.stderr)
    if not explained and not problems:
        options = f" -np {ranks}" + (f" -H {hosts}" if hosts else "")
        console.message(
            f"to see whether Horovod itself works here: horovodize doctor --python {shlex.quote(python)}{options}"
        )


def number(text: str) -> int:
    """A number of processes, as argparse wants it."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)
