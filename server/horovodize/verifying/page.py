"""A verdict as an HTML page that needs nothing else: no network, no script, the loss curves drawn as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import isfinite
from pathlib import PurePath

from horovodize.verifying.parity import Compared
from horovodize.verifying.verdict import Judged, Verdict

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 260, 64, 14, 14, 40

_STYLE = """
:root { color-scheme: light dark; --band: #8ab4e8; --alone: #1f5fa8; --ranks: #c2410c; --ok: #15803d; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) {
  :root { --band: #35557d; --alone: #8ab4e8; --ranks: #fb923c; --ok: #4ade80; --bad: #f87171; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.ok { color: var(--ok); } .bad { color: var(--bad); }
ul { list-style: none; padding: 0; } li { margin: .2rem 0; } li ul { padding-left: 1.6rem; }
svg { max-width: 100%; height: auto; } svg text { font-size: 12px; fill: currentColor; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; }
"""


def as_page(verdict: Verdict) -> str:
    name = PurePath(verdict.script).name
    title = f"{name}: {'trains the same' if verdict.alike else 'does not train the same'}"
    body = "".join(_judged(one) for one in verdict.judged)
    notes = "".join(f"<li>{escape(note)}</li>" for note in verdict.notes)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n'
        f'<main>\n<h1 title="{escape(verdict.script)}">{_mark(verdict.alike)} {escape(title)}</h1>\n'
        f"<p>Trained alone with {len(verdict.alone)} seeds, and distributed.</p>\n{body}"
        f"{f'<h2>Notes</h2><ul>{notes}</ul>' if notes else ''}\n</main>\n</html>\n"
    )


def _mark(good: bool) -> str:
    return f'<span class="{"ok" if good else "bad"}">{"✓" if good else "✗"}</span>'


def _judged(one: Judged) -> str:
    checks = []
    for check in one.checks:
        mark = _mark(check.holds) if check.seen or check.broken else "–"
        below = [*check.broken, *(f"note: {note}" for note in check.notes)]
        listed = f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in below)}</ul>" if below else ""
        checks.append(f"<li>{mark} {escape(check.name)}{listed}</li>")
    if one.run.complete and (one.parity.losses or one.parity.weights):
        below = [loss.differs for loss in one.parity.losses if loss.differs]
        below += [text for text in (one.parity.weights, *one.parity.notes) if text]
        if one.parity.cause:
            below.append(f"likely cause: {one.parity.cause}")
        listed = f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in below)}</ul>" if below else ""
        checks.append(f"<li>{_mark(one.parity.alike)} the loss goes down as alone{listed}</li>")
    pictures = "".join(picture(loss, one.size) for loss in one.parity.losses[:6])
    ranks = f"On {one.size} rank{'s' if one.size > 1 else ''}"
    head = f"<h2>{_mark(one.alike)} {ranks}: {escape(one.conclusion)}</h2>"
    return f"{head}\n<ul>{''.join(checks)}</ul>\n{pictures}{_speed(one)}\n"


def _speed(one: Judged) -> str:
    speed = one.speed
    if speed.efficiency is None:
        return ""
    rows = [
        (f"{speed.unit} a second, alone", f"{speed.alone or 0:,.0f}"),
        (f"{speed.unit} a second, {one.size} ranks", f"{speed.ranks or 0:,.0f}"),
        ("efficiency", f"{speed.efficiency:.0%}"),
    ]
    if speed.input is not None:
        rows.append(("time waiting for input", f"{speed.input:.0%}"))
    if speed.communication is not None:
        rows.append(("time with a collective under way or waited for", f"{speed.communication:.0%}"))
    if speed.change_first:
        rows.append(("change first", speed.change_first))
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def picture(loss: Compared, size: int) -> str:
    """The loss against the rows seen: alone with the band of other seeds, and on ranks."""
    values = [v for curve in (*loss.alone, loss.ranks) for v in curve if isfinite(v)]
    if not values:
        return ""
    # What diverges would flatten all the rest: the picture ends a little above what is seen alone.
    alone = [v for curve in loss.alone for v in curve if isfinite(v)] or values
    low, high = min(values), min(max(values), max(alone) + 2 * (max(alone) - min(alone)) + 1e-9)
    high = high if high > low else low + 1
    columns = [[v for v in column if isfinite(v)] for column in zip(*loss.alone, strict=True)]
    upper = _points([max(c) if c else high for c in columns], low, high)
    lower = _points([min(c) if c else low for c in columns], low, high)
    band = " ".join([*upper, *reversed(lower)])
    lines = "".join(_ticks(low, high, loss.rows))
    own, theirs = (" ".join(_points(curve, low, high)) for curve in (loss.alone[0], loss.ranks))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Loss alone and on {size} ranks">{lines}'
        f'<polygon points="{band}" fill="var(--band)" opacity="0.45"/>'
        f'<polyline points="{own}" fill="none" stroke="var(--alone)" stroke-width="1.8"/>'
        f'<polyline points="{theirs}" fill="none" stroke="var(--ranks)" stroke-width="1.8"/>'
        f'<text x="{_WIDTH - 200}" y="28" style="fill:var(--alone)">alone, band of other seeds</text>'
        f'<text x="{_WIDTH - 200}" y="46" style="fill:var(--ranks)">{size} ranks</text></svg>\n'
    )


def _points(curve: Sequence[float], low: float, high: float) -> list[str]:
    found = []
    for number, value in enumerate(curve, start=1):
        if isfinite(value):
            x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * number / len(curve)
            found.append(f"{x:.1f},{_y(min(value, high), low, high):.1f}")
    return found


def _y(value: float, low: float, high: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)


def _ticks(low: float, high: float, rows: int) -> Iterator[str]:
    for part in range(5):
        value = low + (high - low) * part / 4
        y = _y(value, low, high)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" opacity="0.15"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * part / 4
        told = f"{rows * part // 4:,}" if rows else f"{part * 25} %"
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{told}</text>'
    name = "rows seen by all ranks" if rows else "part of the training"
    yield f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">{name}</text>'
