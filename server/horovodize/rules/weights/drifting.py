"""Variables that each rank sets by its own rows with its steps, and what later losses are made with: part of G2 and K7.

One number is averaged where it is set, with each step, every so many steps or after each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from horovodize.facts.feeds.turn_calls import MEASURED, MEASURES
from horovodize.rules.drafting.draft import HVD, Draft
from horovodize.rules.numbers import number_settings
from horovodize.rules.weights import steered
from horovodize.rules.weights.step_place import Place
from horovodize.rules.weights.target_networks import FILLS, MOVES, is_in_every_turn, is_variables, made_of
from horovodize.source import Edit

_NEAR = 200  # expressions that a value is made of


def ask_of_drifting(draft: Draft, place: Place | None) -> None:
    """Averages variables of one number that each rank sets by its own rows with each step; asks about others: the codebook of
    a quantizer, statistics of a layer. Weights that are updated by hand go by averaged gradients.

    place: where a step stands; None for those that `fit` takes"""
    by_hand = {call for step in draft.sites.hand_updates for call in step.calls}
    sets = [
        s
        for s in _settings(draft, in_loops=place is not None)
        if s.call not in by_hand
        and not draft.sites.passes(s.call)
        and isinstance(s.kept, (ast.Name, ast.Attribute))
        and (is_variables(draft, s.kept) or _is_of_keras(draft, s.kept))
    ]
    read = steered.made_by(draft, steered.used_in_losses(draft))
    read = with_what_sets(draft, read, [(s.kept, s.values) for s in sets])
    for s in sets:
        used = made_of(draft, s.kept) & read or steered.is_of_backend(draft, s.kept)
        if not (used and any(steered.is_own(draft, e) or _is_of_the_batch(draft, e) for e in s.values)):
            continue
        with_steps = (
            is_in_train_step(draft, s.call) if place is None else is_in_every_turn(draft, s.call, place)
        )
        number = steered.is_one_number(draft, s.kept)
        between = number and place is not None and _is_between_steps(draft, s.call)
        if (with_steps or between) and draft.once("drifts", s.call):
            if number and draft.uniform.reached_alike(s.call):
                edits = Edit.around(draft.module.span(s.values[0]), f"{_mean(draft, s, place)}(", ")")
                draft.change(_rule(place), s.call, steered.WHAT, steered.WHY, edits, steered.AVERAGED)
            else:
                draft.ask(_rule(place), s.call, steered.WHAT, steered.WHY, steered.DRIFTS)


def _is_of_the_batch(draft: Draft, value: ast.expr) -> bool:
    """Whether a value is computed from the rows that `fit` hands a model's own `train_step`, not from how many they are alone:
    `tf.concat([self.keys(rows), self.queue], 0)`."""
    todo, seen = [value], set[ast.expr]()
    while todo and len(seen) < _NEAR:
        e = todo.pop()
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, ast.Call) and draft.names.last(e.func) in MEASURES:
            continue
        if isinstance(e, ast.Attribute) and e.attr in MEASURED:
            continue
        parts = [n.value if isinstance(n, ast.keyword) else n for n in ast.iter_child_nodes(e)]
        todo += [n for n in parts if isinstance(n, ast.expr)]
        for b in draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else ():
            if b.kind == "parameter" and b.statement in draft.sites.own_steps and b.name != "self":
                return True
            todo += (
                draft.values.passed(b) if b.kind == "parameter" else [b.value] if b.value is not None else []
            )
    return False


def with_what_sets(
    draft: Draft, read: set[ast.AST], sets: Iterable[tuple[ast.expr, Sequence[ast.expr]]]
) -> set[ast.AST]:
    """What makes some variables, and those that they are set by: `seen` of `weight.assign(seen / 1000.0)`.

    sets: what is set, and by which values"""
    todo = [s for s in sets if isinstance(s[0], (ast.Name, ast.Attribute))]
    found = set(read)
    while new := [s for s in todo if made_of(draft, s[0]) & found]:
        todo = [s for s in todo if s not in new]
        for _, values in new:
            found |= steered.made_by(draft, draft.values.depends(values, 400))
    return found


@dataclass(frozen=True, eq=False)
class _Set:
    """A call that sets a variable, which variable, and what is given for it: the value first."""

    call: ast.Call
    kept: ast.expr
    values: list[ast.expr]


def _settings(draft: Draft, in_loops: bool) -> Iterator[_Set]:
    """in_loops: whether `memories` asks about parts that are filled in"""
    for setting in number_settings.of_variables(draft):
        if isinstance(setting.place, ast.Call):
            given = [a for a in setting.place.args if a is not setting.kept]
            yield _Set(setting.place, setting.kept, given)
    for call in draft.sites.method_calls(*FILLS, *MOVES) if not in_loops else ():
        if isinstance(call.func, ast.Attribute) and call.args:
            yield _Set(call, call.func.value, call.args)


def _is_between_steps(draft: Draft, call: ast.Call) -> bool:
    """Whether a call comes with every so many steps, or after each epoch, so that later steps go by it."""
    loops = steered.training_loops(draft)
    return any(loop in loops for way in draft.drive.ways(call) for frame in way for loop in frame.loops)


def _mean(draft: Draft, s: _Set, place: Place | None) -> str:
    """What averages a value there: one of Python's or NumPy's is no tensor, which `hvd.allreduce` wants."""
    traced = place is None or draft.in_graph or draft.in_sessions or draft.drive.in_traced(s.call)
    return f"{HVD}.allreduce" if traced or _is_tensor(draft, s.values[0]) else draft.helper("mean_over_ranks")


def _is_tensor(draft: Draft, e: ast.expr) -> bool:
    """Whether TensorFlow gives a value, or a part of what is computed with it: `k + 0.1 * tf.reduce_mean(found)`."""
    if isinstance(e, ast.BinOp):
        return _is_tensor(draft, e.left) or _is_tensor(draft, e.right)
    name = (draft.names.of(e.func) or "") if isinstance(e, ast.Call) else ""
    return name.startswith("tensorflow.") and not name.startswith("tensorflow.keras.")


def _is_of_keras(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression stands for variables of Keras' own: `self.add_weight(…)`, `K.variable(…)`."""
    made = [o.node for o in draft.values.origins(e) if not o.path]
    return bool(made) and all(
        isinstance(n, ast.Call)
        and (
            draft.names.of(n.func) == steered.VARIABLE_OF_BACKEND or draft.names.last(n.func) == "add_weight"
        )
        for n in made
    )


def _rule(place: Place | None) -> str:
    return "G2" if place is not None else "K7"


def is_in_train_step(draft: Draft, call: ast.Call) -> bool:
    """Whether a model's own `train_step` comes by a call in every step."""
    return any(
        way[-1].function in draft.sites.own_steps and not any(draft.syntax.conditions(f.node) for f in way)
        for way in draft.drive.ways(call)
    )


__all__ = ["ask_of_drifting", "is_in_train_step", "with_what_sets"]
