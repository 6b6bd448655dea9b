"""Times the server beside other language servers, indexing, the engine and the command line. Prints tables in Markdown: what
was measured, its ratio to a reference of the same run, whether it keeps what it must and what it aims at. Ends with status 1
when a *must* is missed.

Times on a shared machine mean little; ratios within one run, of medians of many repetitions taken in turn, mean more."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from tests.bench import engine, latency, training, workspace
from tests.bench import input as reading
from tests.bench.report import Row, Unit, most, table, times
from tests.bench.servers import ALL, OURS, OURS_PUSHING, RUFF, RUFF_PUSHING, YARDSTICK, YARDSTICK_PUSHING

LINES = (1_000, 5_000)


Tables = Iterator[tuple[str, list[Row]]]


def server(repetitions: int) -> Tables:
    for lines in LINES:
        found = latency.answers(ALL, lines, repetitions)
        yield f"A change to diagnostics, {lines:,} lines: ours", _changes(found, lines)
        yield f"The same edit in the middle, {lines:,} lines: every server", _peers(found)
        yield f"Other answers, {lines:,} lines", _answers(found, lines)
        yield f"Memory, one open file of {lines:,} lines", _memory(found, lines)


def _memory(measured: dict[str, latency.Times], lines: int) -> list[Row]:
    bound = lines == LINES[0]
    least = measured[YARDSTICK.name].memory
    return [
        Row(
            name,
            its.memory,
            Unit.MIB,
            least,
            YARDSTICK.name,
            most(70, Unit.MIB) if bound and name == OURS.name else None,
            most(50, Unit.MIB) if bound and name == OURS.name else None,
        )
        for name, its in measured.items()
        if "pushing" not in name
    ]


def _changes(measured: dict[str, latency.Times], lines: int) -> list[Row]:
    rows = []
    for ours, ruff, least in ((OURS, RUFF, YARDSTICK), (OURS_PUSHING, RUFF_PUSHING, YARDSTICK_PUSHING)):
        for kind in measured[ours.name].changes:
            value, own = measured[ours.name].change(kind), measured[ours.name].changes[kind].own
            what = f"{ours.name}, {kind}"
            must = times(1.5) if lines == LINES[0] else None
            rows += [
                Row(what, value, Unit.MS, measured[least.name].change(kind), least.name, must=must, own=own),
                Row(what, value, Unit.MS, measured[ruff.name].change(kind), ruff.name, aim=times(1), own=own),
            ]
    return rows


def _peers(measured: dict[str, latency.Times]) -> list[Row]:
    kind = next(iter(measured[OURS.name].changes))
    ruff = measured[RUFF.name].change(kind)
    return [
        Row(name, its.change(kind), Unit.MS, ruff, RUFF.name, own=its.changes[kind].own)
        for name, its in measured.items()
    ]


def _answers(measured: dict[str, latency.Times], lines: int) -> list[Row]:
    bound = lines == LINES[0]  # what was promised is about 1,000 lines
    ours, least, ruff = (measured[s.name] for s in (OURS, YARDSTICK, RUFF))

    def row(
        what: str, taken: latency.Taken, reference: latency.Taken | None, name: str, must: float, aim: float
    ) -> Row:
        return Row(
            what,
            taken.median,
            Unit.MS,
            reference.median if reference is not None else None,
            name,
            most(must) if bound else None,
            most(aim) if bound else None,
            taken.own,
        )

    rows = [
        row("open to diagnostics", ours.opened, least.opened, YARDSTICK.name, 60, 25),
        row("hover, 0.3 s after a change, as editors do", ours.hover, least.hover, YARDSTICK.name, 5, 1),
        row("hover again", ours.hover_again, least.hover_again, YARDSTICK.name, 5, 1),
        row("code lenses, at once after a change", ours.lens, None, "", 5, 1),
        row(
            "code actions of a light bulb, 0.3 s after a change", ours.actions, ruff.actions, RUFF.name, 5, 1
        ),
        row("the edit that distributes, at once after a change", ours.resolved, None, "", 100, 30),
    ]
    at_once = ours.hover_at_once
    rows.append(Row("hover, at once after a change", at_once.median, Unit.MS, own=at_once.own))
    return rows + [
        Row(f"{name}: hover, 0.3 s after a change", its.hover.median, Unit.MS, own=its.hover.own)
        for name, its in measured.items()
        if its.hover.times
        and name not in (OURS.name, OURS_PUSHING.name, YARDSTICK.name, YARDSTICK_PUSHING.name)
    ]


def start(repetitions: int) -> Tables:
    found = latency.starts([s for s in ALL if s.pulls], LINES[0], max(3, repetitions // 2))
    least = found[YARDSTICK.name]
    rows = [
        Row(
            f"{name}: `initialize` answered",
            statistics.median(its.initialized),
            Unit.MS,
            statistics.median(least.initialized),
            YARDSTICK.name,
            times(1.2) if name == OURS.name else None,
            times(1) if name == OURS.name else None,
        )
        for name, its in found.items()
    ]
    rows += [
        Row(
            f"{name}: first diagnostics",
            statistics.median(its.diagnosed),
            Unit.MS,
            statistics.median(least.diagnosed),
            YARDSTICK.name,
        )
        for name, its in found.items()
    ]
    yield f"From the start of the process, {LINES[0]:,} lines", rows


def index(repetitions: int) -> Tables:
    cold, warm = workspace.generated()
    rows = []
    for what, its, must, aim in (("from nothing", cold, 20, 8), ("from the cache", warm, 2, 0.5)):
        rows += [
            Row(f"{workspace.FILES:,} files {what}, on this machine as it is", its.seconds, Unit.SECONDS),
            Row(
                f"{workspace.FILES:,} files {what}, the server's own computing",
                its.cpu,
                Unit.SECONDS,
                must=most(must, Unit.SECONDS),
                aim=most(aim, Unit.SECONDS),
            ),
            Row(
                f"memory of the server afterwards, {what}",
                its.memory,
                Unit.MIB,
                must=most(100, Unit.MIB),
            ),
            Row(f"and of the processes that read files, {what}", its.readers, Unit.MIB),
        ]
        if len(its.hovers) > 1:
            nine_of_ten = statistics.quantiles(its.hovers, n=10)[-1]
            title = f"nine of ten of {len(its.hovers)} hovers meanwhile, {what}"
            rows.append(Row(title, nine_of_ten, Unit.MS, must=most(50)))
    yield "Indexing", rows


def command_line(repetitions: int) -> Tables:
    yield "The command line, as a process", engine.processes(repetitions)
    yield "The engine, every time from the text on", engine.analysis(repetitions)


def train(repetitions: int) -> Tables:
    ours, by_hand = training.steps_in_a_second(max(3, repetitions // 5))
    what, reference = "a training step, as Horovodize distributes the script", "distributed by hand"
    row = Row(what, 1000 / max(ours), Unit.MS, 1000 / max(by_hand), reference, must=times(1.1))
    yield "Training on two processes, the best of each", [row]


def read(repetitions: int) -> Tables:
    found = list(reading.costs(max(3, repetitions // 4)))
    for size in reading.SIZES:
        of_size = [cost for cost in found if cost.size == size]
        yield (
            f"A rank's input of {size}: elements that it prepares, to by hand",
            [Row(c.kind, c.units, Unit.ELEMENTS, c.units_by_hand, "by hand", times(1.1)) for c in of_size],
        )
        yield (
            f"A rank's input of {size}: computing to go through its share, to by hand",
            [
                Row(c.kind, c.seconds * 1000, Unit.MS, c.seconds_by_hand * 1000, "by hand", times(1.2))
                for c in of_size
            ],
        )


PARTS: dict[str, Callable[[int], Tables]] = {
    "server": server,
    "start": start,
    "index": index,
    "engine": command_line,
    "training": train,
    "input": read,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all without")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"there is no part called {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    for part in arguments.parts or PARTS:
        print(f"{part} …", file=sys.stderr, flush=True)
        for title, found in PARTS[part](arguments.repetitions):
            print(table(title, found), flush=True)
            rows += found
    missed = [row.what for row in rows if row.missed]
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(f"{os.cpu_count()} cores; {busy:.1f} processes that wanted to run for each at the end.")
    print(f"Missed: {'; '.join(missed) or 'nothing that must be kept'}.")
    if arguments.json:
        arguments.json.write_text(
            json.dumps([asdict(row) for row in rows], indent=2, default=lambda u: u.value) + "\n"
        )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
