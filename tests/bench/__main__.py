"""Prints a table: what the engine and the command line take, next to the least that such work can take.

Times on a shared machine mean little; ratios within one run, of the best of several repetitions taken in turn, mean more.
`--json FILE` keeps the figures; `--check` ends with status 1 when a budget is missed."""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.scripts import training_script

LINES = 1000


@dataclass(frozen=True)
class Row:
    """One measurement, in milliseconds. `budget` is in the unit that `budget_of` names: "ratio" or "ms"."""

    what: str
    ours: float
    least: float
    least_is: str
    budget: float
    budget_of: str

    @property
    def ratio(self) -> float:
        return self.ours / self.least

    @property
    def kept(self) -> bool:
        return (self.ratio if self.budget_of == "ratio" else self.ours) <= self.budget


def best(repetitions: int, *jobs: Callable[[], object]) -> list[float]:
    """The shortest time of each job, in ms; the jobs take turns, so that a busy moment meets all of them."""
    times = [float("inf")] * len(jobs)
    for _ in range(repetitions):
        for i, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[i] = min(times[i], (time.perf_counter() - start) * 1000)
    return times


def processes(script: Path, repetitions: int) -> list[Row]:
    # As installed: with compiled modules, which the first repetition leaves behind.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run(*arguments: str) -> Callable[[], object]:
        command = [sys.executable, *arguments]
        return lambda: subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )

    out = os.fspath(script.with_suffix(".out.py"))
    cli = ("-m", "horovodize")
    empty, version, distribute, summary = best(
        repetitions,
        run("-c", "pass"),
        run(*cli, "--version"),
        run(*cli, "distribute", os.fspath(script), "--output", out),
        run(*cli, "summary", os.fspath(script)),
    )
    return [
        Row("horovodize --version", version, empty, "python -c pass", 200, "ms"),
        Row(f"horovodize summary, {LINES} lines", summary, empty, "python -c pass", 600, "ms"),
        Row(f"horovodize distribute, {LINES} lines", distribute, empty, "python -c pass", 600, "ms"),
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


def engine(text: str, repetitions: int) -> list[Row]:
    from horovodize.distribute import distribute
    from horovodize.options import Options
    from horovodize.plan import Plan
    from horovodize.restrictions import check
    from horovodize.source import Document
    from horovodize.summary import summarize

    def plan() -> Plan:
        made = distribute(summarize(Document(text)), Options())
        assert isinstance(made, Plan), made
        return made

    least, analysis, checked, planned = best(
        repetitions,
        lambda: _NameCounter().visit(ast.parse(text)),
        lambda: summarize(Document(text)).loops,
        lambda: check(summarize(Document(text)), Options()),
        lambda: plan().text,
    )
    reference = "ast.parse + one visitor"
    return [
        Row(f"analysis, {LINES} lines", analysis, least, reference, 2, "ratio"),
        Row("analysis and restrictions", checked, least, reference, 60, "ms"),
        Row("analysis, plan and new text", planned, least, reference, 100 + analysis, "ms"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = training_script(LINES)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(text)
        rows = [*processes(script, arguments.repetitions), *engine(text, 2 * arguments.repetitions)]
    width = max(len(row.what) for row in rows)
    print(f"{'':{width}}  {'ms':>7}  {'ratio':>6}  to")
    for row in rows:
        budget = f"≤ {row.budget:.0f} ms" if row.budget_of == "ms" else f"≤ {row.budget:g} ×"
        verdict = "" if row.kept else "  MISSED"
        print(
            f"{row.what:{width}}  {row.ours:7.1f}  {row.ratio:6.2f}  {row.least_is} ({row.least:.1f} ms)  {budget}{verdict}"
        )
    if arguments.json:
        arguments.json.write_text(
            json.dumps([{**asdict(row), "ratio": row.ratio} for row in rows], indent=2) + "\n"
        )
    return int(arguments.check and not all(row.kept for row in rows))


if __name__ == "__main__":
    sys.exit(main())
