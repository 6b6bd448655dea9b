"""Random numbers that go on from a state that an earlier run has kept, `rng.set_state(saved["rng"])`: part of D3.

A seed given again after that would have a run that is resumed draw what the first run drew; and where ranks restore one state,
they draw the same, whatever their seeds. So each rank's seed is drawn by the state itself, just before the loop."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import RANK, Draft

_SETTERS = ("set_state", "setstate", "__setstate__")
# What draws a seed, of a generator by its name, and of a library by its module.
_DRAWN = {
    "numpy.random.RandomState": "{}.randint(2**31)",
    "numpy.random.default_rng": "{}.integers(2**31)",
    "random.Random": "{}.getrandbits(31)",
    "numpy.random.seed": "{}.randint(2**31)",
    "random.seed": "{}.getrandbits(31)",
}


def is_restored(draft: Draft, seeding: ast.Call) -> bool:
    """Whether what a call makes or seeds is given another state later: one that was kept."""
    name = draft.names.of(seeding.func) or ""
    library = name.rpartition(".")[0]
    for call in draft.module.calls_called(*_SETTERS):
        if isinstance(call.func, ast.Attribute):
            if seeding in draft.values.calls(call.func.value):
                return True
            if name.endswith(".seed") and (draft.names.of(call.func) or "").startswith(f"{library}."):
                return True
    for assign in draft.syntax.every(ast.Assign):  # `rng.bit_generator.state = saved`
        for target in assign.targets:
            inner = target.value if isinstance(target, ast.Attribute) and target.attr == "state" else None
            if isinstance(inner, ast.Attribute) and seeding in draft.values.calls(inner.value):
                return True
    return any(seeding in draft.values.calls(kept) for kept in draft.facts.kept.all)


def seeded_by_state(draft: Draft, seeding: ast.Call, name: str) -> str | None:
    """The statement that gives each rank a seed which the state draws; None where that can't be written. `name`: that of the
    generator; "" of a library."""
    drawn, func = _DRAWN.get(draft.names.of(seeding.func) or ""), seeding.func
    of = name or (draft.module.text(func.value) if isinstance(func, ast.Attribute) else "")
    if drawn is None or not of:
        return None
    seeded = f"{draft.module.text(func)}({drawn.format(of)} + {RANK})"
    return f"{name} = {seeded}" if name else seeded
