"""Which programs are trained whenever all tests run: so many that each kind of change is trained. All are where
HOROVODIZE_TRAIN_ALL is set.

`python -m tests.training.chosen [JUNIT.XML…]` writes them to `chosen.toml`: those that the reports say take less time before
others."""

from __future__ import annotations

import io
import json
import os
import re
import statistics
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeAlias

from horovodize.cli import main
from tests.training.cases import Case, cases, read_table, replaced
from tests.training.running import KERAS_2, KERAS_3, World

FILE = Path(__file__).with_name("chosen.toml")
ALL = bool(os.environ.get("HOROVODIZE_TRAIN_ALL"))
TIMES = {KERAS_2: 1, KERAS_3: 1}  # by how many programs each kind of change is trained
Kind: TypeAlias = tuple[str, str]  # the rule, and what it says of the change


def chosen(of: Iterable[Case], world: World) -> list[Case]:
    """Those of some programs that are trained."""
    names = set(read_table(FILE)[world.part])
    return [case for case in of if ALL or case.name in names]


def kinds(case: Case, world: World, moved: Mapping[str, list[list[str]]]) -> set[Kind]:
    """The kinds of the changes that distribute a program. `moved`: what moves programs to Keras 3, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / case.path.name
        text = case.path.read_bytes()
        program.write_bytes(
            replaced(text, moved[case.name]) if world is KERAS_3 and case.name in moved else text
        )
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(io.StringIO()):
            main(["distribute", str(program), "--format", "json", *world.options, *case.options])
    return {(change["rule"], change["what"]) for change in json.loads(said.getvalue()).get("changes", ())}


def missing(names: Iterable[str], found: Mapping[str, set[Kind]], times: int) -> Counter[Kind]:
    """How many programs more than the named ones each kind of change needs; fewer make some, of which all are trained."""
    there = Counter(kind for made in found.values() for kind in made)
    wanted = Counter({kind: min(times, count) for kind, count in there.items()})
    wanted.subtract(kind for name in names for kind in found[name])
    return +wanted


def choose(found: Mapping[str, set[Kind]], times: int, seconds: Mapping[str, float]) -> list[str]:
    """The programs that take least time, or nearly, of which so many make each kind of change."""
    usual = statistics.median(seconds.values()) if seconds else 1.0
    taken: list[str] = []
    while wanted := missing(taken, found, times):
        left = (name for name in found if name not in taken)
        taken.append(max(left, key=lambda name: len(wanted.keys() & found[name]) / seconds.get(name, usual)))
    return sorted(taken)


def seconds_of(reports: Sequence[str]) -> dict[str, float]:
    """What each program took, by what pytest wrote with `--junitxml`."""
    cases = [case for report in reports for case in xml.parse(report).getroot().iter("testcase")]
    named = ((re.search(r"\[(\w+/\w+)]$", case.attrib["name"]), float(case.attrib["time"])) for case in cases)
    return {name[1]: time for name, time in named if name}


def kinds_of_all(world: World) -> dict[str, set[Kind]]:
    """The kinds of changes of each program that a world trains."""
    from tests.training.keras3.test_programs_keras_3 import CASES, MOVED

    moved = {name: entry["replace"] for name, entry in MOVED.items()}
    return {case.name: kinds(case, world, moved) for case in (cases() if world is KERAS_2 else CASES)}


def write(reports: Sequence[str]) -> None:
    lines = ["# Written by `python -m tests.training.chosen`, which says how."]
    for world, times in TIMES.items():
        found = kinds_of_all(world)
        names = choose(found, times, seconds_of(reports))
        lines += [
            f"{world.part} = [ # {len(names)} of {len(found)}",
            *(f'    "{name}",' for name in names),
            "]",
        ]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
