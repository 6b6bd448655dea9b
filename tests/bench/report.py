"""Measurements next to what they are compared with, and whether they keep within what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """What a figure is, and what a bound is in: the figure itself, or its ratio to another."""

    MS = "ms"
    SECONDS = "s"
    MIB = "MiB"
    RATIO = "×"
    ELEMENTS = "elements"


@dataclass(frozen=True)
class Bound:
    """The most that a row may be, in `unit`. `against`: what a ratio is to; "" for the row's own reference."""

    most: float
    unit: Unit


@dataclass(frozen=True)
class Row:
    """One measurement, a median. `reference` is what the least, or a peer, took in the same run, in the same unit; `own` how
    long the server's process computed for one answer, on average. That is what is held against bounds which are no ratios: on
    a machine that others use, too, the rest is waiting for them."""

    what: str
    value: float
    unit: Unit
    reference: float | None = None
    reference_is: str = ""
    must: Bound | None = None
    aim: Bound | None = None
    own: float | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.reference is None else self.value / self.reference

    def keeps(self, bound: Bound | None) -> bool | None:
        """Whether a bound is kept; None where there is none."""
        if bound is None:
            return None
        if bound.unit is not Unit.RATIO:
            return (self.value if self.own is None else min(self.own, self.value)) <= bound.most
        assert self.ratio is not None, self.what
        return self.ratio <= bound.most

    @property
    def missed(self) -> bool:
        """Whether it breaks what it must keep."""
        return self.keeps(self.must) is False


def most(value: float, unit: Unit = Unit.MS) -> Bound:
    return Bound(value, unit)


def times(value: float) -> Bound:
    """So many times the reference."""
    return Bound(value, Unit.RATIO)


def table(title: str, rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        f"### {title}",
        "",
        "| | measured | ratio | to | must | aim |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        reference = (
            f"{row.reference_is} ({_figure(row.reference, row.unit)})" if row.reference is not None else ""
        )
        ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
        cells = [
            row.what,
            _figure(row.value, row.unit),
            _figure(row.own, row.unit) if row.own is not None else "",
            ratio,
            reference,
            _verdict(row, row.must),
            _verdict(row, row.aim),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _verdict(row: Row, bound: Bound | None) -> str:
    if bound is None:
        return ""
    return f"≤ {bound.most:g} {bound.unit.value}: {'met' if row.keeps(bound) else '**MISSED**'}"


def _figure(value: float | None, unit: Unit) -> str:
    if value is None:
        return "–"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit.value}"
