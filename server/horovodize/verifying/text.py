"""A verdict as text."""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.verifying.verdict import Judged, Verdict


def as_text(verdict: Verdict) -> str:
    lines = [f"{verdict.script}: {'trains the same' if verdict.alike else 'does not train the same'}"]
    for one in verdict.judged:
        lines += ["", *_judged(one)]
    lines += [
        "",
        f"Compared with {len(verdict.alone)} run{'s' if len(verdict.alone) > 1 else ''} alone, one a seed.",
    ]
    lines += [f"Note: {note}" for note in verdict.notes]
    return "\n".join(lines) + "\n"


def _judged(one: Judged) -> Iterator[str]:
    yield f"On {one.size} rank{'s' if one.size > 1 else ''}: {one.conclusion}"
    for check in one.checks:
        mark = "✗" if check.broken else "✓" if check.seen else "–"
        yield f"  {mark} {check.name}"
        yield from (f"      {text}" for text in check.broken)
        yield from (f"      note: {text}" for text in check.notes)
    if not one.run.complete:
        return
    if one.parity.losses or one.parity.weights or one.parity.notes:
        yield f"  {'✓' if one.parity.alike else '✗'} the loss goes down as alone, within the band of other seeds"
    for loss in one.parity.losses:
        ends = " ".join(f"{curve[-1]:.4g}" for curve in loss.alone)
        yield f"      {loss.differs or f'ends at {loss.ranks[-1]:.4g}, alone at {ends}'}"
    if one.parity.weights:
        yield f"      {one.parity.weights}"
    yield from (f"      note: {text}" for text in one.parity.notes)
    if one.parity.cause:
        yield f"      likely cause: {one.parity.cause}"
    yield from _speed(one)


def _speed(one: Judged) -> Iterator[str]:
    speed = one.speed
    if speed.ranks is None or speed.alone is None or speed.efficiency is None:
        return
    yield f"  speed: {speed.ranks:,.0f} {speed.unit} a second, alone {speed.alone:,.0f}: efficiency {speed.efficiency:.0%}"
    parts = []
    if speed.input is not None:
        parts.append(f"{speed.input:.0%} of the time waiting for input")
    if speed.communication is not None:
        parts.append(f"{speed.communication:.0%} with a collective under way or waited for")
    if parts:
        yield f"      {', '.join(parts)}"
    if speed.change_first:
        yield f"      change first: {speed.change_first}"
