"""Which programs are trained whenever all tests run: so many that two of them train each kind of change, under Keras 3 one. All
are trained where HOROVODIZE_TRAIN_ALL is set.

`python -m tests.training.chosen` writes them to `chosen.toml`."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeAlias

from horovodize.cli import main
from tests.training.cases import Case, cases, read_table, replaced
from tests.training.running import KERAS_2, KERAS_3, World

FILE = Path(__file__).with_name("chosen.toml")
ALL = bool(os.environ.get("HOROVODIZE_TRAIN_ALL"))
KEYS = {KERAS_2.part: 2, KERAS_3.part: 1}  # by how many programs each kind of change is trained
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


def choose(found: Mapping[str, set[Kind]], times: int) -> list[str]:
    """The fewest programs, or nearly, of which so many make each kind of change; all that do, where those are fewer."""
    wanted = Counter(kind for made in found.values() for kind in made)
    wanted = Counter({kind: min(times, count) for kind, count in wanted.items()})
    taken: list[str] = []
    while any(wanted.values()):
        left = (name for name in found if name not in taken)
        best = max(left, key=lambda name: sum(wanted[kind] > 0 for kind in found[name]))
        taken.append(best)
        wanted.subtract(dict.fromkeys((kind for kind in found[best] if wanted[kind]), 1))
    return sorted(taken)


def write() -> None:
    from tests.training.keras3.test_programs_keras_3 import CASES, MOVED

    moved = {name: entry["replace"] for name, entry in MOVED.items()}
    lines = ["# Written by `python -m tests.training.chosen`, which says how."]
    for world, some in ((KERAS_2, cases()), (KERAS_3, CASES)):
        found = {case.name: kinds(case, world, moved) for case in some}
        names = choose(found, KEYS[world.part])
        lines += [
            f"{world.part} = [ # {len(names)} of {len(some)}",
            *(f'    "{name}",' for name in names),
            "]",
        ]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
