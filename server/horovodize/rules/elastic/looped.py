"""Loops over epochs with a step of their own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from horovodize.facts.differences.exits import skips
from horovodize.facts.feeds.turn_state import Changed
from horovodize.python.syntax import CALLABLES, position
from horovodize.rules.drafting.decisions import Divided, Shared
from horovodize.rules.drafting.draft import RANK, Draft
from horovodize.rules.elastic import names, rows
from horovodize.rules.elastic.at_start import growth, refuse_what_is_made_once
from horovodize.rules.elastic.block import can_be_a_body, into_function
from horovodize.rules.elastic.names import Synced
from horovodize.source import Edit

_WHAT = "Make the loop elastic"
_WHY = "Horovod runs it again from the last commit when ranks die or join."
_FORM = "elastic training needs a loop over `range(…)` of epochs, and in it the loop that takes the steps"
_UNNAMED = "the state can't be named: what this step trains has no name before the loop"
_CHANGED = "the state can't be named: what this changes from step to step has to be kept, and it can't be seen what that is"
_READ = "the state can't be named: `{}` is set in the loop, and read as a global name by a function"
_LEFT = "this leaves the function that holds the loop, which becomes a function of its own"
_UNBUILT = (
    "`{}` has no weights before the first step, so a rank that joins later can't take them; give its first layer an "
    "`input_shape`, or call `{}.build(…)` before the loop"
)
_OF_ONE = "the state can't be named: only rank 0 has this, and it is lost when that rank dies"
_SKIPPED = "the state can't be named at the end of an epoch that is cut short here; use `if` and `else`"
_DEALT = "the epochs are divided among the ranks, so they can't be counted alike after the ranks have changed"
_KEPT = "a model that is brought up to date from another one has to be in the state, too, which isn't known to be right"


@dataclass
class _State:
    """What is named: trained things as texts, and names of values."""

    tracked: list[str]
    values: list[str] = field(default_factory=list)


def apply(draft: Draft) -> None:
    synced = draft.synced
    if draft.reasons:
        return
    if len(synced) != 1 or len(synced[0].place.frame.loops) != 2:
        draft.refuse("HVD006", draft.summary.loops[0].node, _FORM)
        return
    place = synced[0].place
    inner, outer = place.frame.loops
    ways = place.way[place.depth + 1 :]
    is_range = (
        isinstance(outer, ast.For) and isinstance(outer.iter, ast.Call) and _is_range(draft, outer.iter)
    )
    nested = isinstance(inner, ast.For) and inner in getattr(outer, "body", [])
    if not is_range or not nested or any(f.loops for f in ways) or not can_be_a_body(draft, outer):
        draft.refuse("HVD006", outer, _FORM)
        return
    assert isinstance(outer, ast.For)
    assert isinstance(inner, ast.For)
    state = _state(draft, synced[0], outer)
    refuse_what_is_made_once(draft, outer)
    if state is None or draft.reasons:
        return
    _write(draft, outer, inner, state)


def _is_range(draft: Draft, call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and draft.module.scopes.is_builtin(call.func)
    )


# ---------------------------------------------------------------------- what has to be kept


def _state(draft: Draft, synced: Synced, loop: ast.For) -> _State | None:
    tracked = _tracked(draft, synced, loop)
    if tracked is None:
        return None
    for node in ast.walk(loop):
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
            draft.refuse("HVD006", node, _LEFT)
        elif isinstance(node, (*CALLABLES, ast.ClassDef)) and not isinstance(node, ast.Lambda):
            draft.refuse("HVD006", node, _LEFT)
    facts, function = draft.facts.turn_state, draft.syntax.function(loop)
    after = _read_after(draft, loop)
    handed = facts.handed_on(loop)
    values = [name for name in facts.stored(loop) if name in handed or name in after]
    for changed in facts.changed(loop, tracked):
        if changed.kind == "unseen" or draft.syntax.function(changed.node) is not function:
            if not _is_metric(changed):
                draft.refuse("HVD006", changed.node, _CHANGED)
        if changed.kind == "metric" and changed.name not in tracked:
            tracked.append(changed.name)
        elif changed.kind == "container" and changed.name not in values:
            values.append(changed.name)
    for name in [*values, *facts.stored(loop)]:
        if _is_read_elsewhere(draft, name, loop):
            draft.refuse("HVD006", loop, _READ.format(name))
    _refuse_of_one_rank(draft, loop, values)
    for skip in skips(loop) if values else ():
        draft.refuse("HVD006", skip, _SKIPPED)
    return _State(tracked, values)


def _refuse_of_one_rank(draft: Draft, loop: ast.For, values: list[str]) -> None:
    """What only rank 0 has is lost with its host."""
    for change in draft.changes:
        inside = any(RANK in draft.new_text(e) for e in change.edits) and change.span in draft.module.span(
            loop
        )
        for statement in draft.syntax.nodes if inside else ():
            if isinstance(statement, ast.Assign) and draft.module.span(statement).overlaps(change.span):
                set_here = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
                if set_here & set(values):
                    draft.refuse("HVD006", statement, _OF_ONE)


def _is_metric(changed: Changed) -> bool:
    return changed.kind == "metric"


def _tracked(draft: Draft, synced: Synced, loop: ast.For) -> list[str] | None:
    if synced.copies:
        draft.refuse("HVD006", synced.place.statement, _KEPT)
        return None
    models = [text.removesuffix(".variables") for text in synced.variables]
    optimizers = [text.removesuffix(".variables()") for text in synced.optimizers]
    wholly = all(text.endswith(".variables") for text in synced.variables)
    named = wholly and all(value is None for value in synced.variables.values())
    own = set(draft.facts.turn_state.stored(loop))
    if not named or not optimizers or any(_root(text) in own for text in (*models, *optimizers)):
        draft.refuse("HVD006", synced.place.statement, _UNNAMED)
        return None
    for model in models:
        expression = _named(draft, model, loop)
        if expression is not None and not draft.is_built(expression, loop):
            draft.refuse("HVD006", synced.place.statement, _UNBUILT.format(model, model))
            return None
        if expression is None:
            draft.refuse("HVD006", synced.place.statement, _UNNAMED)
            return None
    return [*models, *optimizers]


def _root(text: str) -> str:
    return text.partition(".")[0].partition("[")[0]


def _named(draft: Draft, text: str, loop: ast.For) -> ast.expr | None:
    """A use of a model by its plain name."""
    uses = (n for n in draft.syntax.every(ast.Name) if n.id == text and isinstance(n.ctx, ast.Load))
    return next(
        (n for n in uses if draft.module.scopes.lookup(n.id, n) is draft.module.scopes.lookup(n.id, loop)),
        None,
    )


def _read_after(draft: Draft, loop: ast.For) -> set[str]:
    scope = draft.syntax.function(loop)
    return {
        n.id
        for n in draft.syntax.every(ast.Name)
        if isinstance(n.ctx, ast.Load)
        and not draft.syntax.inside(n, loop)
        and draft.syntax.function(n) is scope
        and position(n) > position(loop)
    }


def _is_read_elsewhere(draft: Draft, name: str, loop: ast.For) -> bool:
    """Whether a function reads a name that the loop sets, which becomes the name of another function."""
    scope, function = draft.module.scopes.lookup(name, loop), draft.syntax.function(loop)
    return any(
        n.id == name
        and isinstance(n.ctx, ast.Load)
        and draft.syntax.function(n) is not function
        and draft.module.scopes.lookup(name, n) is scope
        for n in draft.syntax.every(ast.Name)
    )


# ---------------------------------------------------------------------- text


def _write(draft: Draft, outer: ast.For, inner: ast.For, state: _State) -> None:
    if draft.was(outer.iter, Shared, Divided) or any(draft.was(n, Divided) for n in ast.walk(outer.iter)):
        draft.refuse("HVD006", outer, _DEALT)
        return
    elastic, name, train = names.module(draft), names.state(draft), names.train(draft)
    edits = list(Edit.around(draft.module.span(outer.iter), f"{name}.epochs(", ")", level=-50))
    stepwise = rows.go_on_in_epoch(draft, inner, name, state.tracked)
    edits += stepwise
    values = [v if _is_bound_before(draft, v, outer) else f"{v}:None" for v in state.values]
    rate = growth(draft)
    given = [
        *state.tracked,
        *(["commit_every=100"] if stepwise else []),
        *([f"rate={draft.quoted(rate)}"] if rate != "linear" else []),
        *(f"{v}=None" if v != w else f"{v}={v}" for v, w in zip(state.values, values, strict=True)),
    ]
    line = f"{name} = {elastic}.State({', '.join(given)})"
    comment = "Horovod: what training goes on from when ranks die or join."
    heading = [f"@{elastic}.run", f"def {train}({name}):"]
    listed, kept = ", ".join(state.values), ", ".join(f"{name}.{v}" for v in state.values)
    tail: Sequence[str] = ()
    call = f"{train}({name})"
    if state.values:
        heading.append(f"    {listed} = {kept}")
        edits.append(draft.after(outer.body[-1], [f"{kept} = {listed}"], level=-1))
        tail, call = [f"return {listed}"], f"{listed} = {call}"
    before = draft.lines_of(line, comment=comment)
    draft.change("L1", outer, _WHAT, _WHY, into_function(draft, outer, before, heading, edits, tail, [call]))


def _is_bound_before(draft: Draft, name: str, loop: ast.For) -> bool:
    scope = draft.module.scopes.lookup(name, loop)
    bound = draft.module.scopes.names.get(scope, {}).get(name, []) if scope is not None else []
    return any(
        isinstance(b.statement, ast.stmt)
        and not draft.syntax.inside(b.statement, loop)
        and position(b.statement) < position(loop)
        or b.kind == "parameter"
        for b in bound
    )
