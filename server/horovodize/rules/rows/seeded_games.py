"""Games that a seed makes the same on every rank: part of G4, K4 and S5.

Each rank plays for itself; by one seed all of them would play the same game, and learn no more than one rank does. The seed
stays, for what else depends on it is not known: it is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.differences.sources import SEEDS
from horovodize.python.random_generators import MAKERS
from horovodize.python.syntax import Loop, argument
from horovodize.rules.drafting.draft import Draft

_SAID = (
    "each rank plays a game of its own, but by this seed all ranks draw the same: where nothing else is random in them, the "
    "games are one and the same, and the ranks learn no more than one; add `hvd.rank()` to the seed"
)


def tell(draft: Draft, rule: str, loops: Iterable[Loop]) -> None:
    """Says which seeds fix what is drawn in the games of some loops."""
    for seed in dict.fromkeys(s for loop in loops for s in _seeds(draft, loop)):
        if draft.once("seed of games", seed):
            draft.note(rule, seed, _SAID)


def _seeds(draft: Draft, loop: Loop) -> Iterator[ast.Call]:
    """The calls that seed what is drawn in a loop, each with the same number on all ranks."""
    drawn = draft.uniform.draws
    calls = [c for c in draft.facts.feeding.calls_in(loop) if draft.uniform.draws.draws(c)]
    names = [draft.names.of(c.func) or "" for c in calls]
    for seed in draft.module.calls_of(*SEEDS):
        fixes = SEEDS[draft.names.of(seed.func) or ""]
        if drawn.gives_seed(seed) and any(name.startswith(fixes) for name in names):
            yield seed
    for maker in draft.module.calls_of(*MAKERS):
        if drawn.gives_seed(maker) and any(drawn.maker(c) is maker for c in calls):
            yield maker
    for seed in (*draft.sites.method_calls("seed"), *draft.sites.method_calls("reset")):
        given = argument(seed, "seed", 0 if draft.names.last(seed.func) == "seed" else None)
        if draft.names.of(seed.func) is None and given is not None and _is_played(draft, seed, loop):
            yield seed


def _is_played(draft: Draft, seed: ast.Call, loop: Loop) -> bool:
    """Whether what a seed is given to is what moves on in a loop: `env.seed(7)` beside `env.step(action)`."""
    assert isinstance(seed.func, ast.Attribute)
    name = ast.unparse(seed.func.value)
    moves = (c.func for c in draft.facts.feeding.calls_in(loop) if draft.names.last(c.func) == "step")
    return any(isinstance(f, ast.Attribute) and ast.unparse(f.value) == name for f in moves)
