"""What a diagnosis says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class State(Enum):
    """OK; NOTE: works, but the user has to know; PROBLEM: doesn't train, or trains wrongly; SKIPPED: could not be tried."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Line:
    """One thing that was looked at. `remedy`: what to do, "" where there is nothing to do."""

    topic: str
    state: State
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All that was found about an interpreter, in the order in which a user would mend it."""

    python: str
    lines: tuple[Line, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; notes don't count."""
        return not self.problems

    @property
    def problems(self) -> list[Line]:
        return [line for line in self.lines if line.state is State.PROBLEM]

    @property
    def text(self) -> str:
        """For people: a line a topic, and below it what to do."""
        width = max((len(line.topic) for line in self.lines), default=0)
        shown = []
        for line in self.lines:
            shown.append(f"{line.state.value:<8} {line.topic:<{width}}  {line.text}")
            if line.remedy:
                shown.append(f"{'':8} {'':{width}}  → {line.remedy}")
        return "\n".join(shown)

    def as_json(self) -> dict[str, Any]:
        return {
            "python": self.python,
            "ok": self.ok,
            "checks": [
                {"topic": line.topic, "state": line.state.value, "message": line.text, "remedy": line.remedy}
                for line in self.lines
            ],
        }


def ok(topic: str, text: str) -> Line:
    return Line(topic, State.OK, text)


def note(topic: str, text: str, remedy: str = "") -> Line:
    return Line(topic, State.NOTE, text, remedy)


def problem(topic: str, text: str, remedy: str) -> Line:
    return Line(topic, State.PROBLEM, text, remedy)


def skipped(topic: str, why: str) -> Line:
    return Line(topic, State.SKIPPED, why)
