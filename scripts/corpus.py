#!/usr/bin/env python3
"""What becomes of the scripts of a folder: per kind of loop, how many are distributed, refused (why), crash.

    make corpus DIR=path/to/code [ARGS="--json out.json --verbose"]

Beside what a user sees, every result is checked: does it compile, and does distributing it again change nothing? Files run
in worker processes; one that takes too long, or takes its worker down, counts as a crash and stops nothing."""

from __future__ import annotations

import argparse
import difflib
import json
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.options import Options
    from horovodize.plan import Plan
    from horovodize.source import Document

OUTCOMES = (
    "distributed",
    "to confirm",
    "unchanged",
    "refused",
    "crashed",
    "does not compile",
    "not idempotent",
)


@dataclass
class Report:
    """What became of one file. `outcome` is one of OUTCOMES, or "no loop"; `codes` says why it was refused. Where it is
    distributed: lines that are added and that go (one that changes is both), files that change, changes by rule; with the
    modules that it imports."""

    path: str
    loop: str
    outcome: str
    codes: list[str] = field(default_factory=list)
    detail: str = ""
    seconds: float = 0.0
    added: int = 0
    removed: int = 0
    files: int = 0
    rules: dict[str, int] = field(default_factory=dict)


def examine(path: str, options: Options | None = None) -> Report:
    """Distributes a file as the command line does, and looks at what comes out."""
    from horovodize.distribute import distribute
    from horovodize.options import Options
    from horovodize.plan import Plan, Refusal
    from horovodize.source import Document, UndecodableSource
    from horovodize.source.notebook import NotebookFile
    from horovodize.summary import summarize

    options = options or Options()
    reader = NotebookFile if path.endswith(".ipynb") else Document
    try:
        document = reader.from_bytes(Path(path).read_bytes(), path)
    except UndecodableSource as e:
        return Report(path, "none", "refused", ["HVD003"], str(e))
    summary = summarize(document)
    loop = summary.loop.value
    result = distribute(summary, options)
    if isinstance(result, Refusal):
        codes = sorted({reason.code for reason in result.reasons})
        if codes == ["HVD002"]:
            return Report(path, loop, "no loop")
        return Report(path, loop, "refused", codes, "; ".join(reason.message for reason in result.reasons))
    if not isinstance(result, Plan):
        return Report(path, loop, "unchanged", detail=result.message)
    try:
        compile(result.text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as e:
        return Report(path, loop, "does not compile", detail=str(e))
    again = distribute(summarize(reader.from_bytes(document.edited(result.edits), path)), options)
    if isinstance(again, Refusal) or (isinstance(again, Plan) and again.text != result.text):
        return Report(path, loop, "not idempotent", detail=type(again).__name__)
    doubts = [f"{change.rule}: {change.doubt}" for change in result.changes if not change.sure]
    report = Report(path, loop, "to confirm" if doubts else "distributed", detail="; ".join(doubts))
    measure(
        report, result if isinstance(document, NotebookFile) else _with_modules(document, result, options)
    )
    return report


def _with_modules(script: Document, alone: Plan, options: Options) -> Plan:
    """The plan of a script together with the modules beside it."""
    from horovodize.distribute_project import distribute_script
    from horovodize.plan import Plan
    from horovodize.source import Document, UndecodableSource

    def load(path: str) -> Document | None:
        try:
            return Document.from_bytes(Path(path).read_bytes(), path)
        except (OSError, UndecodableSource):
            return None

    together = distribute_script(script, load, options)
    return together if isinstance(together, Plan) else alone


def measure(report: Report, plan: Plan) -> None:
    """How much a plan writes."""
    from horovodize.distribute_project import file_plans

    for own in file_plans(plan):
        before, after = own.document.text.splitlines(), own.text.splitlines()
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
        report.added += sum(line.startswith("+") for line in lines)
        report.removed += sum(line.startswith("-") for line in lines)
        report.files += bool(lines)
    report.rules = dict(sorted(Counter(change.rule for change in plan.changes).items()))


# ---------------------------------------------------------------------- workers


def _work(connection: Connection, options: Options) -> None:
    import warnings

    warnings.simplefilter("ignore")
    while (path := connection.recv()) is not None:
        start = time.perf_counter()
        try:
            report = examine(path, options)
        except BaseException as e:
            report = Report(path, "unknown", "crashed", [type(e).__name__], str(e))
        report.seconds = round(time.perf_counter() - start, 4)
        connection.send(report)


class Worker:
    """A process that does one file at a time."""

    def __init__(self, options: Options) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.process: BaseProcess = multiprocessing.Process(target=_work, args=(theirs, options), daemon=True)
        self.process.start()
        theirs.close()
        self.path: str | None = None
        self.since = 0.0

    def give(self, path: str) -> None:
        self.path, self.since = path, time.monotonic()
        self.connection.send(path)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run(paths: Sequence[str], options: Options, jobs: int, timeout: float) -> Iterator[Report]:
    """A report for every path, as they come."""
    waiting = list(reversed(paths))
    workers: list[Worker] = []
    try:
        while waiting or any(worker.path for worker in workers):
            while waiting and len(workers) < jobs:
                workers.append(Worker(options))
            for worker in workers:
                if worker.path is None and waiting:
                    worker.give(waiting.pop())
            busy = {worker.connection: worker for worker in workers if worker.path}
            ready = wait(list(busy), timeout=0.5)
            for worker in busy.values():
                path = worker.path
                assert path is not None
                if worker.connection in ready:
                    try:
                        yield worker.connection.recv()
                        worker.path = None
                        continue
                    except (EOFError, ConnectionError):
                        yield Report(
                            path, "unknown", "crashed", ["died"], f"exit status {worker.process.exitcode}"
                        )
                elif time.monotonic() - worker.since > timeout:
                    yield Report(
                        path, "unknown", "crashed", ["timeout"], f"no answer in {timeout:g} s", timeout
                    )
                else:
                    continue
                worker.end()
                workers.remove(worker)
    finally:
        for worker in workers:
            worker.end()


# ---------------------------------------------------------------------- the table


def _written(reports: Sequence[Report]) -> list[str]:
    """How much is written, for each kind of loop: at the median, and which rules."""
    lines: list[str] = []
    made = [report for report in reports if report.files]
    for kind, _ in Counter(report.loop for report in made).most_common():
        of_kind = [report for report in made if report.loop == kind]
        rules = Counter(
            {rule: sum(r.rules.get(rule, 0) for r in of_kind) for r in of_kind for rule in r.rules}
        )
        added, removed, files = (
            statistics.median(getattr(report, what) for report in of_kind)
            for what in ("added", "removed", "files")
        )
        used = " ".join(f"{rule}:{count}" for rule, count in rules.most_common())
        lines.append(f"  {kind:18} +{added:g} -{removed:g} lines, {files:g} files at the median; {used}")
    return ["", "written", *lines] if lines else []


def table(reports: Sequence[Report]) -> str:
    """A row for each kind of loop, and the reasons of refusals and crashes."""
    trained = [report for report in reports if report.outcome != "no loop"]
    kinds = [kind for kind, _ in Counter(report.loop for report in trained).most_common()]
    rows = [["loop", "files", *OUTCOMES]]
    for kind in [*kinds, "all"]:
        of_kind = [report for report in trained if kind in (report.loop, "all")]
        counts = Counter(report.outcome for report in of_kind)
        rows.append([kind, str(len(of_kind)), *(str(counts[outcome] or "") for outcome in OUTCOMES)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    reasons = Counter(
        (report.loop, code)
        for report in trained
        if report.outcome in ("refused", "crashed")
        for code in report.codes
    )
    if reasons:
        lines += ["", "reasons"]
        lines += [
            f"  {kind:18} {code:18} {count}"
            for (kind, code), count in sorted(reasons.items(), key=lambda item: -item[1])
        ]
    lines += _written(reports)
    lines += ["", f"{len(reports) - len(trained)} files without a training loop"]
    return "\n".join(lines)


def main() -> int:
    from horovodize.cli.inputs import find_inputs
    from horovodize.cli.output import Console
    from horovodize.options import Options

    parser = argparse.ArgumentParser(
        prog="make corpus", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", metavar="DIR", nargs="+")
    parser.add_argument("--json", type=Path, help="write every file's report there")
    parser.add_argument(
        "--tensorflow", default="", help="the version that the scripts run on (default: unknown)"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--timeout", type=float, default=20.0, help="seconds for a file (default: %(default)g)"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="a line for every file that is not simply distributed"
    )
    arguments = parser.parse_args()
    inputs, missing = find_inputs(arguments.folders)
    console = Console()
    for message in missing:
        console.error(message)
    paths = [source.path for source in inputs if source.file is not None]
    reports: list[Report] = []
    for report in run(paths, Options(tensorflow=arguments.tensorflow), arguments.jobs, arguments.timeout):
        reports.append(report)
        console.progress(len(reports), len(paths), report.path)
        if arguments.verbose and report.outcome not in ("no loop", "distributed"):
            console.line(
                f"{report.path}: {report.loop}: {report.outcome} {' '.join(report.codes)} {report.detail}".rstrip()
            )
    console.end_progress()
    reports.sort(key=lambda report: report.path)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(report) for report in reports], indent=1) + "\n")
    console.line(table(reports))
    faults = ("crashed", "does not compile", "not idempotent")
    return 2 if missing else int(any(report.outcome in faults for report in reports))


if __name__ == "__main__":
    sys.exit(main())
