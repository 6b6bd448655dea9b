"""Distribute scripts and notebooks with Horovod: print, write or report the change. Refuses, with reasons, what cannot be
distributed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.config import Configuration, add_option_flags
from horovodize.cli.inputs import (
    NOTEBOOK,
    STANDARD_INPUT,
    Input,
    add_output_file,
    add_path_arguments,
    find_inputs,
    is_single,
    print_reports,
    shell_completed,
)
from horovodize.cli.output import Console
from horovodize.cli.runner import CommandError, ExitStatus, for_each, without_findings

if TYPE_CHECKING:
    from horovodize.running.source_map import SourceMap

HELP = "distribute scripts with Horovod"

EXAMPLES = """\
horovodize distribute train.py                       # show the changes, and why
horovodize distribute train.py --write               # make them
horovodize distribute train.py --output train_hvd.py
horovodize distribute --check src                    # exit status 1: something would change, or is refused
horovodize distribute train.ipynb --output train.py  # a notebook as a script for horovodrun
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path_arguments(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--diff", action="store_true", help="print a diff with the reason for each change (default for files)"
    )
    where.add_argument("--write", action="store_true", help="change the files")
    shell_completed(
        where.add_argument(
            "--output", metavar="OUT", help="write the result of one file to OUT; nothing when it is refused"
        ),
        "FILE",
    )
    where.add_argument(
        "--format",
        choices=("diff", "text", "json"),
        help="print a diff, the distributed text (default for standard input), or everything about the change as JSON",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing, and exit with 1 where something would change or is refused (--diff shows it as well)",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 also where a file is refused or would change"
    )
    add_output_file(parser)
    shell_completed(
        parser.add_argument(
            "--source-map",
            metavar="FILE",
            help="with --write or --output, for one script: write to FILE where each piece of the distributed text comes "
            "from, for horovodize traceback",
        ),
        "FILE",
    )
    parser.add_argument(
        "--to-script",
        action="store_true",
        help="make a Python script of a notebook, which horovodrun can run: printed, written to --output OUT, or with --write "
        "beside the notebook (also what --output OUT.py means for a notebook)",
    )
    add_option_flags(
        parser,
        "split_data",
        "rate",
        "batch",
        "output",
        "runtime",
        "elastic",
        "comments",
        "strict",
        "tensorflow",
    )


def run(arguments: argparse.Namespace, console: Console) -> int:
    mode = _mode(arguments)
    inputs, missing = find_inputs(arguments.paths, arguments.stdin_filename)
    for message in missing:
        console.error(message)
    from horovodize.cli.distribute_files import DistributeFiles
    from horovodize.cli.folders import Folders

    configuration = Configuration(arguments, console)
    folders = Folders(inputs, configuration)
    command = DistributeFiles(arguments, console, mode, configuration, folders)
    source_map = _source_map(arguments, mode, inputs, configuration) if arguments.source_map else None
    status = for_each(folders.importing_first(), console, command.handle, traceback=arguments.traceback)
    if source_map is not None and status == ExitStatus.OK:
        source_map.write(Path(arguments.source_map))
    if mode == "json":
        command.told.reports.sort(key=lambda report: folders.place(report["path"]))
        print_reports(console, arguments.paths, command.told.reports)
    elif not is_single(arguments.paths):
        command.told.outcomes.print_table(console)
    return without_findings(max(status, ExitStatus.ERROR if missing else ExitStatus.OK), arguments.exit_zero)


def _source_map(
    arguments: argparse.Namespace, mode: str, inputs: Sequence[Input], configuration: Configuration
) -> SourceMap | None:
    """The map of what will be written, made of the files as they still are. Raises CommandError."""
    from horovodize.running.mapping import source_map
    from horovodize.running.prepared import prepare

    file = inputs[0].file if len(inputs) == 1 and is_single(arguments.paths) else None
    if file is None or inputs[0].is_notebook or mode not in ("write", "output"):
        raise CommandError("--source-map is for one script that is written, with --write or --output")
    try:
        prepared = prepare(file, configuration.settings(inputs[0].home).options)
    except OSError as e:
        raise CommandError(f"{file}: cannot be read: {e.strerror or e}") from e
    places = {prepared.script: Path(os.path.abspath(arguments.output))} if arguments.output else {}
    return source_map(prepared, places)


def _mode(arguments: argparse.Namespace) -> str:
    """What to do with a result. Raises CommandError for what does not go together."""
    if arguments.check:
        if arguments.write or arguments.output is not None:
            raise CommandError("--check changes nothing: leave it out, or --write and --output")
        return "diff" if arguments.diff else str(arguments.format or "check")
    if arguments.output is not None:
        if not is_single(arguments.paths):
            raise CommandError("--output takes the result of one file")
        if arguments.to_script and arguments.output.endswith(NOTEBOOK):
            raise CommandError("--to-script makes a Python script: --output can't be a notebook")
        return "text" if arguments.output == STANDARD_INPUT else "output"
    if arguments.to_script and (arguments.diff or arguments.format == "diff"):
        raise CommandError("--to-script makes a new file: there is no diff")
    if arguments.write:
        if STANDARD_INPUT in arguments.paths:
            raise CommandError("standard input cannot be changed: leave out --write, or use --output")
        return "write"
    if arguments.diff:
        return "diff"
    if arguments.format:
        return str(arguments.format)
    if arguments.to_script:
        return "text"
    return "text" if arguments.paths == [STANDARD_INPUT] else "diff"
