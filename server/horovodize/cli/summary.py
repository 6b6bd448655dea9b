"""Summarise scripts: the training loops, and what stands for the optimizer, the model, the data."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from horovodize.cli.inputs import Input, add_path_arguments, find_inputs, print_reports
from horovodize.cli.output import Console, json_range, plural
from horovodize.cli.runner import ExitStatus, for_each

if TYPE_CHECKING:
    from horovodize.summary import ModuleSummary

HELP = "say how scripts train"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path_arguments(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(default: %(default)s)")


def run(arguments: argparse.Namespace, console: Console) -> int:
    inputs, missing = find_inputs(arguments.paths, arguments.stdin_filename)
    for message in missing:
        console.error(message)
    reports: list[dict[str, Any]] = []
    silent = 0

    def handle(source: Input) -> int:
        from horovodize.source import UndecodableSource
        from horovodize.source.notebook_json import OtherLanguage
        from horovodize.summary import summarize
        from horovodize.summary.lattice import LoopKind

        nonlocal silent
        try:
            summary = summarize(source.document())
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
        if arguments.format == "json":
            reports.append(_json(summary))
        elif summary.loop is LoopKind.NONE and not source.named and summary.problem is None:
            silent += 1
        else:
            _print(summary, console)
        return ExitStatus.OK

    status = for_each(inputs, console, handle, traceback=arguments.traceback)
    if arguments.format == "json":
        print_reports(console, arguments.paths, reports)
    elif silent:
        console.message(f"{plural(silent, 'more file')} without a training loop")
    return max(status, ExitStatus.ERROR if missing else ExitStatus.OK)


def _json(summary: ModuleSummary) -> dict[str, Any]:
    """Lines and characters from 0, characters in UTF-16 units, as in LSP; in a notebook with `cell`."""
    document = summary.document
    place = partial(json_range, document)
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


def _print(summary: ModuleSummary, console: Console) -> None:
    document = summary.document
    paint = console.paint
    console.line(f"{paint(document.path, 'bold')}: {paint(summary.loop.label, 'cyan', 'bold')}")
    if summary.problem is not None:
        place = document.place(summary.problem.span.start)
        console.line(f"  {place}  {paint('cannot be parsed', 'red')}: {summary.problem.message}")
    rows = [(loop.span, "loop", loop.describe()) for loop in summary.loops]
    rows += [
        (r.span, r.role, ": ".join(part for part in (r.name, r.detail) if part))
        for r in summary.roles
        if r.role != "loop"
    ]
    width = max((len(role) for _, role, _ in rows), default=0)
    places = max([8, *(len(str(document.place(span.start))) for span, _, _ in rows)])
    for span, role, text in rows:
        console.line(
            f"  {document.place(span.start)!s:>{places}}  {paint(role.ljust(width), 'green')}  {' '.join(text.split())}"
        )
