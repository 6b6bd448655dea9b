"""Where a broadcast can come before the first step: part of G2 and K6.

A model that is built before its loop begins with rank 0's weights by one line before that loop. An optimizer that was just made
has no slots then, and makes the same ones on every rank; so nothing of it needs sending. Everything else waits for the first
step: models that get their variables from what is fed, what a checkpoint restores, batch-norm statistics, copies of weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import FUNCTIONS, Loop
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.one_model import binds
from horovodize.rules.weights.step_place import Place
from horovodize.rules.weights.step_state import variable_texts
from horovodize.summary.express_in_caller import lift

_RESTORING = ("restore", "restore_or_initialize", "read", "set_weights")


@dataclass(frozen=True)
class Step:
    """One way down to a step: what it trains, and by which optimizer (None: the one that a model was compiled with)."""

    place: Place
    trained: tuple[ast.expr, ...]
    optimizer: ast.expr | None


def loop_to_come_before(draft: Draft, steps: Sequence[Step]) -> tuple[Loop, list[str]] | None:
    """(the outermost loop around all of these steps before which their variables can be sent, the variables there)."""
    if draft.in_graph or keras_session.is_wanted(draft):
        return None
    if (
        _holds_foreign_layers(draft)
        or draft.sites.method_calls(*_RESTORING)
        or not all(_begins_alike(draft, step) for step in steps)
    ):
        return None
    found = [dict(_candidates(draft, step)) for step in steps]
    for loop in found[0]:
        if all(loop in others for others in found):
            return loop, list(dict.fromkeys(text for texts in found for text in texts[loop]))
    return None


def _holds_foreign_layers(draft: Draft) -> bool:
    """Whether layers of another library are made here: some set their weights by the first rows that they see, each rank's own
    (`tensorflow_addons.layers.WeightNormalization`)."""
    names = (draft.names.of(call.func) or "" for call in draft.syntax.calls)
    return any(".layers." in name and not name.startswith(("tensorflow.", "keras.")) for name in names)


def _begins_alike(draft: Draft, step: Step) -> bool:
    """Whether an optimizer holds the same on all ranks at first: this program makes it."""
    place = step.place
    if (place.loop is None and place.in_graph is None) or place.choosing is not None:
        return False
    if step.optimizer is None:
        return True
    origins = draft.values.origins(step.optimizer)
    made = [o.call for o in origins if o.call is not None and not o.path]
    return bool(made) and len(made) == len(origins) and all(draft.module.is_optimizer(c) for c in made)


def _candidates(draft: Draft, step: Step) -> Iterator[tuple[Loop, list[str]]]:
    """The loops around a step before which what it trains is there, with what it is called there; outermost first."""
    way = step.place.way
    for depth in range(len(way) - 1, step.place.depth - 1, -1):
        said = [lift(draft.module, e, way, depth) for e in step.trained]
        outliving = depth == step.place.depth and step.place.flag != "local"
        if not way[depth].loops or any(e is None for e in said) or outliving:
            continue
        for loop in reversed(way[depth].loops):
            if _is_there(draft, step, depth, loop, [e for e in said if e is not None]):
                yield loop, _texts(draft, step, depth, loop)


def _texts(draft: Draft, step: Step, depth: int, loop: Loop) -> list[str]:
    at = replace(step.place, statement=loop, depth=depth, flag=None)
    return [text for e in step.trained for text in variable_texts(draft, e, at)]


def _is_there(draft: Draft, step: Step, depth: int, loop: Loop, said: list[ast.expr]) -> bool:
    """Whether lines can stand before a loop, all ranks come to it, and what is trained has its variables there."""
    way = step.place.way
    if not draft.can_insert(loop) or binds(draft, loop, list(step.trained), way, depth):
        return False
    if not draft.uniform.reached_alike(loop) or draft.drive.in_traced(loop):
        return False
    if not all(_is_bound_before(draft, n, loop) for e in said for n in ast.walk(e)):
        return False
    at = replace(step.place, statement=loop, depth=depth, flag=None)
    if any(what is not None for e in step.trained for what in variable_texts(draft, e, at).values()):
        return False
    parts = [part for e in step.trained for part in _parts(draft, e)]
    return all(
        draft.is_built(part.value, loop)
        if isinstance(part, ast.Attribute) and part.attr in OF_MODEL
        else draft.facts.built.are_variables(part) or draft.is_built(part, loop)
        for part in parts
    )


def _parts(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """What a sum of lists, or a name of one, consists of."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add):
        return [*_parts(draft, e.left), *_parts(draft, e.right)]
    if isinstance(e, ast.Name) and not draft.facts.built.are_variables(e):
        bindings = draft.module.scopes.reaching(e)
        value = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        if value is not None and isinstance(value, (ast.Attribute, ast.BinOp)):
            return _parts(draft, value)
    return [e]


def _is_bound_before(draft: Draft, n: ast.AST, loop: Loop) -> bool:
    """Whether a name, or an attribute, surely stands for something when a loop begins."""
    syntax, here = draft.syntax, draft.syntax.function(loop)
    if isinstance(n, ast.Name):
        scope = draft.module.scopes.lookup(n.id, loop)
        bindings = draft.module.scopes.names[scope].get(n.id, []) if scope is not None else []
        own = scope if isinstance(scope, FUNCTIONS) else None
        if not bindings or any(
            syntax.function(b.statement) is not own for b in bindings if b.kind != "parameter"
        ):
            return False
        lines = [getattr(b.statement, "lineno", 0) for b in bindings]
        return own is not here or min(lines) < loop.lineno or any(b.kind == "parameter" for b in bindings)
    if isinstance(n, ast.Attribute) and n.attr not in OF_MODEL:
        stored = draft.module.scopes.attributes.get(n.attr, ())
        return bool(stored) and all(
            (isinstance(f := syntax.function(b.statement), FUNCTIONS) and f.name == "__init__")
            or (f is here and getattr(b.statement, "lineno", 0) < loop.lineno)
            for b in stored
        )
    return True


__all__ = ["Step", "loop_to_come_before"]
