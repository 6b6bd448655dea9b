"""The engine and the command line, next to the least that such work can take."""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.report import Row, Unit, most, times
from tests.bench.scripts import training_script

LINES = 1000


def medians(repetitions: int, *jobs: Callable[[], object]) -> list[float]:
    """The median time of each job, in ms; the jobs take turns, so that a busy moment meets all of them."""
    taken: list[list[float]] = [[] for _ in jobs]
    for _ in range(repetitions):
        for job, own in zip(jobs, taken, strict=True):
            start = time.perf_counter()
            job()
            own.append((time.perf_counter() - start) * 1000)
    return [statistics.median(own) for own in taken]


def processes(repetitions: int) -> list[Row]:
    # As installed: with compiled modules, which the first repetition leaves behind.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run(*arguments: str) -> Callable[[], object]:
        command = [sys.executable, *arguments]
        return lambda: subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(training_script(LINES))
        cli = ("-m", "horovodize")
        empty, version, summary, distribute = medians(
            repetitions,
            run("-c", "pass"),
            run(*cli, "--version"),
            run(*cli, "summary", os.fspath(script)),
            run(*cli, "distribute", os.fspath(script), "--output", os.fspath(Path(folder) / "out.py")),
        )

    def row(what: str, value: float, bound: float) -> Row:
        return Row(what, value, Unit.MS, empty, "python -c pass", must=most(bound))

    return [
        row("horovodize --version", version, 200),
        row(f"horovodize summary, {LINES} lines", summary, 600),
        row(f"horovodize distribute, {LINES} lines", distribute, 600),
    ]


class _NameCounter(ast.NodeVisitor):
    """The least that an analysis does: one visit of every node, looking at names and calls."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def visit_Name(self, node: ast.Name) -> None:
        self.names[node.id] = self.names.get(node.id, 0) + 1

    def visit_Call(self, node: ast.Call) -> None:
        self.names["()"] = self.names.get("()", 0) + 1
        self.generic_visit(node)


def analysis(repetitions: int) -> list[Row]:
    """The engine in this process, every time from the text on."""
    from horovodize.distribute import distribute
    from horovodize.options import Options
    from horovodize.plan import Plan
    from horovodize.restrictions import check
    from horovodize.source import Document
    from horovodize.summary import summarize

    rows = []
    for lines in (LINES, 5 * LINES):
        text = training_script(lines)

        def plan(text: str = text) -> Plan:
            made = distribute(summarize(Document(text)), Options())
            assert isinstance(made, Plan), made
            return made

        least, loops, checked, planned = medians(
            repetitions if lines == LINES else max(3, repetitions // 4),
            lambda text=text: _NameCounter().visit(ast.parse(text)),  # type: ignore[misc]
            lambda text=text: summarize(Document(text)).loops,  # type: ignore[misc]
            lambda text=text: check(summarize(Document(text)), Options()),  # type: ignore[misc]
            lambda: plan().text,
        )

        def row(what: str, value: float, least: float = least, lines: int = lines) -> Row:
            return Row(
                f"{what}, {lines:,} lines", value, Unit.MS, least, "ast.parse and one visitor", aim=None
            )

        rows += [
            Row(
                f"loops found, {lines:,} lines",
                loops,
                Unit.MS,
                least,
                "ast.parse and one visitor",
                aim=times(2),
            ),
            row("loops and restrictions", checked),
            row("plan and new text", planned),
        ]
    return rows
