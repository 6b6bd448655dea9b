"""Summarise scripts: the training loops, and what stands for the optimizer, the model, the data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from horovodize.cli.config import Configuration, add_option_flags
from horovodize.cli.inputs import Input, add_output_file, add_path_arguments, find_inputs, print_reports
from horovodize.cli.output import Console, json_range, plural
from horovodize.cli.runner import ExitStatus, for_each

if TYPE_CHECKING:
    from horovodize.cli.folders import Folders
    from horovodize.options import Options
    from horovodize.plan import StepScaling
    from horovodize.source import Span
    from horovodize.summary import ModuleSummary, TrainingLoop
    from horovodize.world.world import World

HELP = "say how scripts train"

EXAMPLES = """\
horovodize summary train.py
horovodize summary --tree train.py
horovodize summary --format json --output-file loops.json src
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path_arguments(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(default: %(default)s)")
    parser.add_argument(
        "--tree",
        action="store_true",
        help="print the statements of each script as a tree, with what they are for the training",
    )
    add_output_file(parser)
    add_option_flags(parser, "tensorflow")


def run(arguments: argparse.Namespace, console: Console) -> int:
    inputs, missing = find_inputs(arguments.paths, arguments.stdin_filename)
    for message in missing:
        console.error(message)
    from horovodize.cli.folders import Folders

    configuration = Configuration(arguments, console)
    folders = Folders(inputs, configuration)
    reports: list[dict[str, Any]] = []
    silent = 0

    def handle(source: Input) -> int:
        from horovodize.cli.plan_json import world_json
        from horovodize.source import UndecodableSource
        from horovodize.source.notebook_json import OtherLanguage
        from horovodize.summary.lattice import LoopKind
        from horovodize.world.world import world_of

        nonlocal silent
        try:
            summary, scalings = _read(source, folders, configuration.settings(source.home).options)
        except UndecodableSource as e:
            if isinstance(e, OtherLanguage) and not source.named:
                silent += 1
                return ExitStatus.OK
            if arguments.format == "json":
                reports.append(
                    {"path": source.path, "loop": LoopKind.NONE.value, "problem": {"message": str(e)}}
                )
            else:
                console.line(f"{source.path}: cannot be read: {e}")
            return ExitStatus.OK
        world = world_of(summary, configuration.settings(source.home).options)
        if arguments.format == "json":
            reports.append({**_json(summary, scalings), **world_json(world)})
        elif summary.loop is LoopKind.NONE and not source.named and summary.problem is None:
            silent += 1
        else:
            _print(summary, scalings, world, console)
            if arguments.tree:
                from horovodize.cli.tree import print_tree

                print_tree(summary, console)
        return ExitStatus.OK

    status = for_each(folders.inputs, console, handle, traceback=arguments.traceback)
    if arguments.format == "json":
        print_reports(console, arguments.paths, reports)
    elif silent:
        console.message(f"{plural(silent, 'more file')} without a training loop")
    return max(status, ExitStatus.ERROR if missing else ExitStatus.OK)


_Scalings = dict["tuple[str, Span]", "StepScaling"]  # by the file and the place that trains


def _read(source: Input, folders: Folders, options: Options) -> tuple[ModuleSummary, _Scalings]:
    """The summary of an input; of a script whose loops are in what it imports, of both together. And how each step of it would
    be scaled."""
    from horovodize.distribute import distribute
    from horovodize.distribute_project import in_file
    from horovodize.plan import Plan
    from horovodize.summary import summarize

    document = source.document()
    summary = summarize(document)
    script = folders.examine(source, document, summary, options)
    if script is not None and not summary.loops:
        summary = script.together if script.together is not None and script.together.loops else summary
    if not summary.loops:
        return summary, {}
    outcome = script.outcome if script is not None else distribute(summary, options)
    scalings: _Scalings = {}
    for scaling in outcome.scalings if isinstance(outcome, Plan) else ():
        file, own = in_file(outcome.document, scaling.span)
        scalings[file.path, own] = scaling
    return summary, scalings


def _json(summary: ModuleSummary, scalings: _Scalings) -> dict[str, Any]:
    """Lines and characters from 0, characters in UTF-16 units, as in LSP; in a notebook with `cell`, in another file with
    `path`."""
    document = summary.document

    def place(span: Span) -> dict[str, Any]:
        file, own = in_file(document, span)
        path = {} if file.path == document.path else {"path": file.path}
        return {**path, **json_range(file, own)}

    def scaled(loop: TrainingLoop) -> dict[str, Any] | None:
        file, own = in_file(document, loop.site)
        found = scalings.get((file.path, own))
        return None if found is None else {"kind": found.kind, "why": found.why, "sure": found.sure}

    from horovodize.distribute_project import in_file

    problem = summary.problem
    return {
        "path": document.path,
        "loop": summary.loop.value,
        "loops": [
            {
                "kind": loop.kind.value,
                "description": loop.describe(),
                "function": loop.function,
                "model": loop.model,
                "optimizer": loop.optimizer,
                "range": place(loop.span),
                "site": place(loop.site),
                "scaling": scaled(loop),
            }
            for loop in summary.loops
        ],
        "roles": [
            {
                "role": role.role,
                "name": role.name,
                "detail": role.detail,
                "range": place(role.span),
                "uses": [place(use) for use in role.uses],
            }
            for role in summary.roles
        ],
        "problem": None if problem is None else {"message": problem.message, "range": place(problem.span)},
    }


def _print(summary: ModuleSummary, scalings: _Scalings, world: World, console: Console) -> None:
    document = summary.document
    paint = console.paint
    console.line(f"{paint(document.path, 'bold')}: {paint(summary.loop.label, 'cyan', 'bold')}")
    if summary.loops:
        console.line(f"  {paint(world.text, 'dim')}")
    if summary.problem is not None:
        place = document.place(summary.problem.span.start)
        console.line(f"  {place}  {paint('cannot be parsed', 'red')}: {summary.problem.message}")
    from horovodize.distribute_project import in_file

    def where(span: Span) -> str:
        file, own = in_file(document, span)
        return f"{'' if file.path == document.path else file.path + ':'}{file.place(own.start)}"

    rows: list[tuple[Span, str, str]] = []
    for loop in summary.loops:
        listed = (loop.span, "loop", loop.describe())
        if listed not in rows:  # a loop may take several steps in a turn
            rows.append(listed)
        file, own = in_file(document, loop.site)
        if (file.path, own) in scalings:
            rows.append((loop.site, "scaling", scalings[file.path, own].sentence))
    rows += [
        (r.span, r.role, ": ".join(part for part in (r.name, r.detail) if part))
        for r in summary.roles
        if r.role != "loop"
    ]
    width = max((len(role) for _, role, _ in rows), default=0)
    places = max([8, *(len(where(span)) for span, _, _ in rows)])
    for span, role, text in rows:
        console.line(
            f"  {where(span):>{places}}  {paint(role.ljust(width), 'green')}  {' '.join(text.split())}"
        )
