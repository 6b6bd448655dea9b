"""The programs of tests/programs, each with what its sidecar (`NAME.toml`) says of it.

options = ["--batch", "global"] given to `distribute`
tf1 = true                      `import tensorflow` is to give it TensorFlow 1
ranks = [2, 3]                  how many ranks to try (default [2])
runs = 2                        trained this often in one directory, each run going on from the last (default 1)
[expect]                        fields of contract.Expectation
[larger]                        I10: the original made into one process with the batch and rate of `ranks[0]` ranks
replace = [["old", "new"], …]   applied to its text, each once
blocks = [["old", "new"], …]    further, for data that is dealt out in blocks rather than in turns
tolerance = 1e-4                how far from it the ranks may end
own_seeds = true                ranks of different seeds end there, too: what they draw is the same on all"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.training.contract import Expectation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROGRAMS = Path(__file__).parents[1] / "programs"


@dataclass(frozen=True)
class Case:
    """A program and what is expected of it."""

    path: Path
    options: tuple[str, ...]
    tf1: bool
    ranks: tuple[int, ...]
    runs: int
    shared_order: bool
    expected: Expectation
    larger: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    def references(self) -> list[bytes]:
        """Texts of the original that train in one process as the ranks should together (I10); none if it says nothing."""
        if not self.larger:
            return []
        in_turns = replaced(self.path.read_bytes(), self.larger["replace"])
        blocks = self.larger.get("blocks")
        return [in_turns, replaced(in_turns, blocks)] if blocks else [in_turns]


def read_table(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def cases() -> list[Case]:
    return [_case(path) for path in sorted(PROGRAMS.glob("*/*.py"))]


def _case(path: Path) -> Case:
    sidecar = path.with_suffix(".toml")
    said = read_table(sidecar) if sidecar.exists() else {}
    unknown = said.keys() - {"options", "tf1", "ranks", "runs", "shared_order", "expect", "larger"}
    if unknown:
        raise ValueError(f"{sidecar}: {sorted(unknown)} means nothing here")
    expected = Expectation(**said.get("expect", {}))
    return Case(
        path=path,
        options=tuple(said.get("options", [])),
        tf1=said.get("tf1", False),
        ranks=tuple(said.get("ranks", [2])),
        runs=said.get("runs", 1),
        shared_order=said.get("shared_order", False),
        expected=expected,
        larger=said.get("larger", {}),
    )


def replaced(text: bytes, pairs: list[list[str]]) -> bytes:
    """A text in which each of these, which is there once, is replaced."""
    for old, new in pairs:
        if text.count(old.encode()) != 1:
            raise ValueError(f"{old!r} is {text.count(old.encode())} times in the program, not once")
        text = text.replace(old.encode(), new.encode())
    return text
