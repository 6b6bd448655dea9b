"""What a program asks a model before it is trained, and trains with: rows that it picks by `predict`, labels that it makes of
that, weights of rows. Part of K3 and G2.

Each rank's model has its own random weights until it takes rank 0's, in its first step. Ranks that pick rows by it before learn
from other rows, and where the number of rows depends on it, some wait forever. So they take rank 0's weights before; a model
that has none yet gets them as it is asked, and all go on with what rank 0's has answered."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import argument, position
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.numbers.shares import feeding, is_none
from horovodize.rules.together.any_rank_test import agree_value
from horovodize.rules.weights.target_networks import called_with_weights, losses_of
from horovodize.rules.weights.untrained_nets import is_loaded
from horovodize.summary.call_paths import Frame
from horovodize.summary.express_in_caller import lift
from horovodize.summary.symbolic import is_symbolic

_WHAT = "Ask a model with rank 0's weights"
_WHY = "Before its first step each rank's model has random weights of its own; ranks would train on what other models picked."
_COMMENT = "Horovod: what is picked by this model is the same on every rank."
_OWN = (
    "what is trained on depends on what this model says before its first step, with random weights of each rank's own: let "
    "every rank take rank 0's before, by `hvd.broadcast_variables(model.variables, root_rank=0)`"
)


def agree(draft: Draft, rule: str) -> None:
    """Broadcasts the weights of models before they say what is trained on."""
    if draft.in_graph or keras_session.is_wanted(draft):
        return
    seen: set[ast.AST] | None = None
    asked = called_with_weights(draft)
    answers: set[ast.AST] | None = None
    for model, call in asked:
        if draft.was(call, Agreed) or not _trainings(draft, model):
            continue
        if answers is None:
            reasons = draft.facts.uniform.reasons
            answers = {c for _, c in asked} | {
                r.where for m, _ in asked for r in reasons(m)
            }  # also in rounds before
        if not _is_asked_alike(draft, call, answers) or _is_in_step(draft, call):
            continue
        if _is_trained_before(draft, model, call):
            continue
        if any(is_loaded(draft, made, model) for made in draft.values.calls(model)):
            continue
        seen = _trained_with(draft) if seen is None else seen
        if call in seen:
            _agree(draft, rule, model, call)


def _agree(draft: Draft, rule: str, model: ast.expr, call: ast.Call) -> None:
    statement = draft.syntax.statement(call)
    if _is_called_elsewhere(draft, call):
        if draft.once("asked from elsewhere", call):
            draft.ask(rule, call, _WHAT, _WHY, _OWN)
        return
    for place in (*reversed(draft.syntax.loops(call)), statement):
        if _can_stand_before(draft, model, place):
            if draft.once(f"broadcast {ast.unparse(model)}.variables", place):
                sent = f"{CORE}.broadcast_variables({ast.unparse(model)}.variables, root_rank=0)"
                edit = draft.before(place, draft.lines_of(sent, comment=_COMMENT))
                draft.change(rule, call, _WHAT, _WHY, [edit])
            return
    if not agree_value(draft, call, rule, _WHAT, _WHY):
        draft.ask(rule, call, _WHAT, _WHY, _OWN)


def _is_called_elsewhere(draft: Draft, call: ast.Call) -> bool:
    """Whether another file calls the function around, whenever that wants to: an agent's `remember()`, with each move of a
    game, of which ranks make different numbers."""
    starts = (way[-1].function for way in draft.drive.ways(call))
    return any(f is not None and not draft.facts.hooks.of(f) for f in starts)


def _can_stand_before(draft: Draft, model: ast.expr, place: ast.stmt) -> bool:
    """Whether a model has its weights before a statement, and all ranks come there."""
    bound = draft.values.bindings(model)
    return (
        draft.can_insert(place)
        and bool(bound)
        and not any(draft.syntax.inside(b.statement, place) for b in bound)
        and draft.is_built(model, place)
        and draft.facts.uniform.reached_alike(place)
        and not draft.drive.in_traced(place)
    )


def _is_asked_alike(draft: Draft, call: ast.Call, answers: set[ast.AST]) -> bool:
    """Whether all ranks ask a model about the same rows: what a rank asks about its own is no choice of all. `answers`: what
    models have said."""
    given, dropping = argument(call, "x", 0), argument(call, "training", 1)
    if given is None or isinstance(dropping, ast.Constant) and dropping.value:
        return False
    if is_symbolic(draft.module, given):
        return False  # it is put together with others
    return all(r.where in answers for r in draft.facts.uniform.reasons(given))


def _is_in_step(draft: Draft, call: ast.Call) -> bool:
    """Whether a model is asked in a step that trains by a tape, which is how it is trained, or in what gives its batches."""
    functions, loops = set[ast.AST](draft.sites.own_steps), set[ast.AST]()
    for update in draft.sites.updates:
        for way in draft.drive.ways(update.call):
            around = next((f for f in way if f.loops), None)
            loops.update(around.loops[:1] if around is not None else ())
            functions.update(
                f.function for f in way[: way.index(around) if around else len(way)] if f.function
            )
    frames = [f for way in draft.drive.ways(call) for f in way]
    return any(f.function in functions or loops & set(f.loops) or _yields(f.function) for f in frames)


def _yields(function: ast.AST | None) -> bool:
    """Whether a function gives batch by batch, while others train."""
    return function is not None and any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(function))


def _trained_with(draft: Draft) -> set[ast.AST]:
    """All that decides what training is given: rows, targets, weights of rows."""
    known = feeding(draft)
    roots = [e for fed in known.fits for e in (fed.x, fed.y, fed.weight) if e is not None and not is_none(e)]
    roots += [*known.dataset_feeds, *(d.iterable for d in known.drivers if d.iterable is not None)]
    found = set(draft.values.depends([*roots, *losses_of(draft)], 4000))
    uniform = draft.facts.uniform
    reasons = (r for e in roots for r in (*uniform.reasons(e), *uniform.number_reasons(e)))
    return found | {r.where for r in reasons if isinstance(r, Varies) and r.kind is Source.ROWS}


def _trainings(draft: Draft, model: ast.expr) -> list[tuple[ast.Call, ast.expr]]:
    """The places that train a model, with what it is called there."""
    made = set(draft.values.calls(model))
    if made:
        return [(site, e) for site, e in _trained(draft) if not made.isdisjoint(draft.values.calls(e))]
    text = ast.unparse(model)
    return [(site, e) for site, e in _trained(draft) if ast.unparse(e) == text]


def _trained(draft: Draft) -> Iterator[tuple[ast.Call, ast.expr]]:
    for fit in draft.sites.fits:
        yield fit.call, fit.model
    for update in draft.sites.updates:
        for n in draft.values.depends(update.variables, 400):
            if isinstance(n, ast.Attribute) and n.attr in OF_MODEL:
                yield update.call, n.value


def _is_trained_before(draft: Draft, model: ast.expr, call: ast.Call) -> bool:
    """Whether a model has surely taken a step before it is asked."""
    return any(_comes_before(draft, (site, e), (call, model)) for site, e in _trainings(draft, model))


def _comes_before(draft: Draft, first: tuple[ast.Call, ast.expr], second: tuple[ast.Call, ast.expr]) -> bool:
    """Whether one place surely trains the model that another asks, before it does: on every way to that."""
    conditions = draft.syntax.conditions
    ways = draft.drive.ways(first[0])

    def is_first(way: tuple[Frame, ...]) -> bool:
        for depth, at in enumerate(way):
            asked = lift(draft.module, second[1], way, depth)
            around = [test for frame in way[: depth + 1] for test, _ in conditions(frame.node)]
            for other in ways:
                for level, before in enumerate(other):
                    trained = lift(draft.module, first[1], other, level)
                    if before.function is not at.function or asked is None or trained is None:
                        continue
                    sure = all(t in around for frame in other[: level + 1] for t, _ in conditions(frame.node))
                    if (
                        sure
                        and ast.unparse(asked) == ast.unparse(trained)
                        and _is_later(at.node, before.node)
                    ):
                        return True
        return False

    return all(is_first(way) for way in draft.drive.ways(second[0]))


def _is_later(node: ast.AST, than: ast.AST) -> bool:
    return position(node) > position(than)  # type: ignore[arg-type]


__all__ = ["agree"]
