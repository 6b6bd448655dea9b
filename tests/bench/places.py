"""Where a training script is edited, and where something is asked for: by what stands there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Edit:
    """An edit in a line and how it is taken back; `line` and `column` count from 0, in ASCII text."""

    what: str
    line: int
    column: int
    old: str
    new: str

    def change(self, *, back: bool) -> dict[str, Any]:
        """The edit as a change of the protocol."""
        old, new = (self.new, self.old) if back else (self.old, self.new)
        end_line = self.line + old.count("\n")
        end_column = len(old) - old.rfind("\n") - 1 if "\n" in old else self.column + len(old)
        return {
            "range": {
                "start": {"line": self.line, "character": self.column},
                "end": {"line": end_line, "character": end_column},
            },
            "text": new,
        }


def edits(text: str) -> tuple[Edit, ...]:
    """A character typed in a function in the middle of the file, one where the model is compiled and fitted, and a line put in
    at the top."""
    lines = text.split("\n")
    middle = min(_lines_with(lines, "if rng.random() < 0.5:"), key=lambda line: abs(line - len(lines) // 2))
    loop = _lines_with(lines, "keras.optimizers.Adam(1e-3)")[0]
    top = _lines_with(lines, "import numpy as np")[0]
    return (
        _typed("in the middle", lines, middle, "0.5", "0.25"),
        _typed("at the loop", lines, loop, "1e-3", "1.5e-3"),
        Edit("at the top", top, 0, "", "import sys\n"),
    )


def hover_position(text: str) -> dict[str, int]:
    """The optimizer of the model that is trained."""
    lines = text.split("\n")
    line = _lines_with(lines, "keras.optimizers.Adam(")[0]
    return {"line": line, "character": lines[line].index("Adam(")}


def loop_position(text: str) -> dict[str, int]:
    """The training loop."""
    lines = text.split("\n")
    line = _lines_with(lines, "model.fit(")[0]
    return {"line": line, "character": lines[line].index("model.fit(")}


def _lines_with(lines: list[str], what: str) -> list[int]:
    return [number for number, line in enumerate(lines) if what in line]


def _typed(what: str, lines: list[str], line: int, old: str, new: str) -> Edit:
    return Edit(what, line, lines[line].index(old), old, new)
