"""Random graphs of reads, assignments, additions and control edges: for the model, and for TensorFlow."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from horovodize.ordering.model import Does, Op, Outcome, Run, known, number

VARIABLES = ("u", "v")
STARTS = {"u": number(1000), "v": number(2000)}
_SIZES = (3, 4, 4, 5, 5, 6, 6, 7, 8, 10)  # operations


def random_run(seed: int) -> Run:
    """A graph of up to ten operations, and what is fetched of it."""
    draw = random.Random(seed)
    ops = [Op("n0", Does.GIVE, value=number(draw.randint(1, 3)))]
    size = draw.choice(_SIZES)
    while len(ops) < size:
        ops.append(_op(draw, ops))
    fetches = draw.sample([op.name for op in ops], draw.randint((len(ops) + 1) // 2, len(ops)))
    return Run(ops, fetches, STARTS)


def _op(draw: random.Random, ops: Sequence[Op]) -> Op:
    name = f"n{len(ops)}"
    values = [op.name for op in ops if op.does in (Does.GIVE, Does.SUM, Does.READ)]
    others = [op.name for op in ops]
    after = tuple(draw.sample(others, min(len(others), draw.choice([0, 0, 0, 1, 1, 2]))))
    does = draw.choice([Does.GIVE, Does.SUM, *[Does.READ, Does.ASSIGN, Does.ADD] * 3, Does.SUBTRACT])
    variable = draw.choice([*VARIABLES, "v"])
    match does:
        case Does.GIVE:
            return Op(name, does, after=after, value=number(10 ** draw.randint(0, 2) * draw.randint(1, 9)))
        case Does.SUM:
            return Op(name, does, inputs=(draw.choice(values), draw.choice(values)), after=after)
        case Does.READ:
            return Op(name, does, variable, after=after)
        case _:
            return Op(name, does, variable, (draw.choice(values),), after)


def in_order(run: Run, order: Sequence[str]) -> list[Op]:
    """A run's operations, with a control edge from each one that touches a variable to the next in an order."""
    row = [name for name in order if run.ops[name].is_stateful]
    before = dict(zip(row[1:], row, strict=False))
    return [
        replace(run.ops[n], after=(*run.ops[n].after, before[n])) if n in before else run.ops[n]
        for n in order
    ]


def as_json(ops: Iterable[Op], fetches: Sequence[str], runs: int, optimized: bool = False) -> dict[str, Any]:
    """A graph as `in_tensorflow.py` reads it."""
    rows = [[op.name, op.does.value, op.variable, op.inputs, op.after, known(op.value)] for op in ops]
    return {"ops": rows, "fetches": list(fetches), "runs": runs, "optimized": optimized}


def as_numbers(outcome: Outcome) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """What the variables hold in the end (as they start, where the run doesn't touch them), and what was fetched."""
    held = {**STARTS, **dict(outcome.variables)}
    return tuple(_number(held[name]) for name in VARIABLES), tuple(map(_number, outcome.fetched))


def _number(value: Any) -> float | None:
    return None if value is None else known(value)
