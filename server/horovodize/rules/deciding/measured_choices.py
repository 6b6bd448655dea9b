"""Networks that are chosen by what each rank has measured of its own rows: part of G4.

`name = sampler.pick()`, where tasks with larger losses come more often, and `heads[name]`: ranks that choose another network
than the others average gradients of different weights. All of them take rank 0's choice, where it is made: what else goes by
it, the rows of a task, then belongs to the same one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.rules.drafting.decisions import Covered
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import agree_value, differing

_TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
WHAT = "Train the network that rank 0 chooses"
NETWORKS = (
    "ranks may train different networks here: {why}; decide by something that is the same on every rank"
)


def take(draft: Draft, choice: ast.expr, why: str) -> bool:
    """Whether a choice, other than by a test, goes by a rank's own rows: it is made rank 0's then, or refused. (Tests go by
    the mean over ranks: `chosen_for_steps`.)"""
    if isinstance(choice, _TESTS):
        return False
    varying = [r for r in differing(draft, choice) if isinstance(r, Varies)]
    if not any(r.kind is Source.ROWS for r in varying) or any(r.kind is Source.GAME for r in varying):
        return False
    made = list(_made(draft, choice))
    if made and all(agree_value(draft, e, draft.loop_rule, WHAT, why) for e in made):
        for reason in varying:
            if reason.kind is Source.CHANCE:
                draft.decide(reason.where, Covered(draft.loop_rule))
        draft.settled |= {(choice, r.where) for r in varying}
    else:
        draft.refuse("HVD205", choice, NETWORKS.format(why=Source.ROWS.value))
    return True


def frozen(draft: Draft) -> Iterator[ast.expr]:
    """What says whether layers are trained, `layer.trainable = random.random() < 0.7`, and which of them:
    `random.choice(model.layers).trainable = False`, also by a name."""
    assigned = draft.syntax.every(ast.Assign)
    for statement in [s for s in assigned if ast.Attribute in [type(t) for t in s.targets]]:
        set_ = [t.value for t in statement.targets if isinstance(t, ast.Attribute) and t.attr == "trainable"]
        if set_:
            yield statement.value
        for layer in (e for named in set_ for e in _made(draft, named)):
            if isinstance(layer, ast.Subscript):
                yield layer.slice
            elif isinstance(layer, ast.Call) and draft.uniform.draws.draws(layer):
                yield layer  # no call that makes a model: its weights are sent, not itself


def _made(draft: Draft, choice: ast.expr) -> Iterator[ast.expr]:
    """Where a choice is made: what its name is set to, or itself. Nothing where a name gets it otherwise."""
    if not isinstance(choice, ast.Name):
        yield choice
        return
    bound = draft.module.scopes.reaching(choice)
    if all(b.kind == "assign" and not b.path and b.value is not None for b in bound):
        yield from (b.value for b in bound if b.value is not None)


__all__ = ["NETWORKS", "frozen", "take"]
