"""Moving averages of weights: they forget as fast for the rows seen as alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from horovodize.verifying.check import Check
from horovodize.verifying.runs import Run
from horovodize.verifying.scalings import Scaling

_STEADY = 1.15  # how much parts of one average may vary from step to step where it isn't warmed up
_SLOWER = 0.75  # of the part that it should follow by; as alone it is a half on two ranks
_AS_ALONE = 0.15


def averages_forget(alone: Run, run: Run, scaled: Sequence[Scaling]) -> Check:
    """Compares by which part averages follow the weights in a step: on N ranks that take 1/N of the steps, as far as alone in N
    steps. Not those whose part changes with the steps."""
    name = "averages of weights forget as fast"
    broken: list[str] = []
    seen = False
    for number, one in enumerate(scaled):
        before, after = (_parts(r.ranks[0].optimizers, number) for r in (alone, run))
        if not before or len(before) != len(after) or one.kind != "weak":
            continue
        seen = True
        steps = [r.ranks[0].steps[number] for r in (alone, run)]
        times = round(steps[0] / steps[1]) if steps[1] else 1
        for had, has in zip(before, after, strict=True) if times > 1 else ():
            wanted = 1 - (1 - had) ** times
            if has < _SLOWER * wanted and abs(has - had) <= _AS_ALONE * had:
                broken.append(
                    f"an average of weights keeps {1 - has:.5g} of itself in each step, as alone, while a rank takes 1/{times} "
                    f"of the steps: {1 - wanted:.5g} keeps as much for the rows seen"
                )
    return Check(name, tuple(broken[:1]), seen=seen)


def _parts(optimizers: Sequence[dict[str, Any]], number: int) -> list[float]:
    """The parts by which averages of what an optimizer trains follow it, one for each of them, the smallest first; not those
    that change with the steps."""
    by_number: dict[int, list[float]] = {}
    for entry in optimizers[number].get("follow", ()) if number < len(optimizers) else ():
        by_number.setdefault(entry["number"], []).append(entry["part"])
    return sorted(float(median(parts)) for parts in by_number.values() if max(parts) <= _STEADY * min(parts))
