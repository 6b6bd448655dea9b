"""Rows that a program chooses for `fit` by draws, or by what a model says at random: part of D3.

Active learning lets a model say with dropout what it doesn't know yet, and learns from that next: ranks that choose by draws
of their own gather data sets of their own, and may choose more rows than others, who would wait for their steps. What is kept
for validation, one rank's draws must not give to another's training. All take rank 0's rows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import LOOPS, Loop, argument
from horovodize.rules.drafting.decisions import Agreed, Decided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding, is_none
from horovodize.rules.together.any_rank_test import agree_value, can_agree, draw_alike
from horovodize.summary.feeding import FitFeed, Kind

_GATHERING = ("append", "extend", "add", "update", "remove", "discard", "pop", "insert")
_WHAT = "Train on the rows that rank 0 chooses"
_WHY = "Ranks that gather rows by draws of their own learn from different data sets."
_OWN = (
    "each rank gathers these rows by draws of its own, and so learns from a data set of its own: choose them on rank 0, and "
    "send them with `hvd.broadcast_object` (of `horovod.tensorflow`)"
)
_DRAW = "Draw the same on all ranks"
_VALIDATE = "Validate on the rows that rank 0 keeps for that"
_WHY_VALIDATE = "One rank's validation rows would be another's training rows."
_SHARED = (
    "each rank draws these rows by itself: other ranks train on some of them; draw them alike on all ranks"
)


def agree(draft: Draft, fed: FitFeed) -> None:
    """Runs after draws that come before training have been made alike."""
    if fed.kind in (Kind.GENERATOR, Kind.DATASET, Kind.SEQUENCE):
        return
    rows = [e for e in (fed.x, fed.y, fed.weight) if e is not None and not is_none(e)]
    loops = draft.syntax.loops(fed.fit.call)
    drawn = {e: _draws(draft, e) for e in rows}
    gathered = any(_is_gathered(draft, e, loops) or _differs_in_number(draft, e) for e in rows if drawn[e])
    for e in rows if gathered else ():
        if drawn[e] and not draft.was(e, Agreed) and not agree_value(draft, e, "D3", _WHAT, _WHY):
            draft.ask("D3", e, _WHAT, _WHY, _OWN)
    _keep_apart(draft, fed, rows)


def _keep_apart(draft: Draft, fed: FitFeed, rows: list[ast.expr]) -> None:
    """What is drawn to be validated on, no rank trains on: all draw it alike, or take what rank 0 has drawn for both."""
    uniform = draft.facts.uniform  # of the program as it was: what is trained on is agreed on by now
    trained = {r.where for e in rows for r in uniform.reasons(e)}
    as_a_whole = any(draft.was(e, Agreed) for e in rows)
    validated = list(_validation(fed))
    for e in (*validated, *_evaluated(draft, rows)):
        own = [r for r in _draws(draft, e) if as_a_whole or not draft.was(r.where, Decided)]
        own = [r for r in own if not _is_noise(draft, r)]
        shared = [r for r in own if r.where in trained and not _is_drawn_alike(draft, r)]
        if not shared or e not in validated:
            continue
        both = [x for x in rows if any(r in uniform.reasons(x) for r in shared)]
        for part in both:
            if not draft.was(part, Agreed) and not agree_value(draft, part, "D3", _WHAT, _WHY_VALIDATE):
                draft.ask("D3", part, _WHAT, _WHY_VALIDATE, _OWN)
        if not draft.was(e, Agreed) and not agree_value(draft, e, "D3", _VALIDATE, _WHY_VALIDATE):
            draft.ask("D3", e, _VALIDATE, _WHY_VALIDATE, _SHARED)


def agree_on_slices(draft: Draft) -> None:
    """The same for data sets that are made of rows that a model chooses with dropout: another number on each rank."""
    known = feeding(draft)
    feeds = [fed.x for fed in known.fits] + [d.iterable for d in known.drivers if d.iterable is not None]
    for call in dict.fromkeys(e for feed in feeds for e in known.pipelines.trail(feed)):
        if (
            not isinstance(call, ast.Call)
            or draft.names.last(call.func) != "from_tensor_slices"
            or not call.args
        ):
            continue
        given = call.args[0]
        parts = given.elts if isinstance(given, ast.Tuple) else [given]
        if any(_differs_in_number(draft, e) for e in parts):
            if not agree_value(draft, given, "D3", _WHAT, _WHY):
                draft.ask("D3", given, _WHAT, _WHY, _OWN)


def _is_drawn_alike(draft: Draft, reason: Varies) -> bool:
    """Makes a draw come out alike on all ranks where it is made, if that can be; whether it is so."""
    draw = reason.where
    if not isinstance(draw, ast.Call) or reason.kind is not Source.CHANCE or draft.drive.in_traced(draw):
        return False
    if not draft.was(draw, Agreed) and draft.uniform.draws.has_stream(draw) and can_agree(draft, draw):
        draw_alike(draft, draw, "D3", _DRAW, _WHY_VALIDATE)
    return draft.was(draw, Agreed)


def _evaluated(draft: Draft, rows: list[ast.expr]) -> Iterator[ast.expr]:
    """The rows that a model is evaluated on, where they aren't those that it is trained on."""
    texts = {ast.unparse(e) for e in rows}
    for call in draft.sites.method_calls("evaluate", "predict"):
        given = argument(call, "x", 0)
        if given is not None and ast.unparse(given) not in texts:
            yield given


def _validation(fed: FitFeed) -> Iterator[ast.expr]:
    """The arrays of `validation_data=(x, y)`."""
    given = argument(fed.fit.call, "validation_data", 7)
    if isinstance(given, (ast.Tuple, ast.List)):
        yield from (e for e in given.elts if not isinstance(e, ast.Starred) and not is_none(e))


def _draws(draft: Draft, e: ast.expr) -> list[Varies]:
    """The draws that decide a value: of random numbers, and of a model that is asked with dropout."""
    return [
        r
        for r in draft.uniform.reasons(e)
        if isinstance(r, Varies)
        and not draft.was(r.where, Agreed)
        and (r.kind is Source.CHANCE or _drops_out(r))
    ]


def _is_noise(draft: Draft, reason: Varies) -> bool:
    """Whether each row gets a draw of its own, wherever it is."""
    return isinstance(reason.where, ast.Call) and draft.facts.steps.shaped_by_rows(reason.where)


def _drops_out(reason: Varies) -> bool:
    """`model(x, training=True)`"""
    training = argument(reason.where, "training", 1) if isinstance(reason.where, ast.Call) else None
    return reason.kind is Source.ROWS and isinstance(training, ast.Constant) and bool(training.value)


def _differs_in_number(draft: Draft, e: ast.expr) -> bool:
    """Whether a model that is asked with dropout says how many rows there are: `pool[probs.max(1) > 0.8]`"""
    return any(isinstance(r, Varies) and _drops_out(r) for r in draft.uniform.number_reasons(e))


def _is_gathered(draft: Draft, e: ast.expr, loops: list[Loop]) -> bool:
    """Whether each round of a loop around `fit` goes on with what the rounds before have chosen."""
    names = [
        n for n in draft.values.depends([e], 400) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    ]
    for name in names if loops else ():
        for b in draft.module.scopes.reaching(name):
            if b.value is not None and any(a in loops for a in draft.syntax.ancestors(b.statement)):
                goes_on = any(isinstance(n, ast.Name) and n.id == name.id for n in ast.walk(b.value))
                if goes_on or b.kind == "augment":
                    return True
        for call in draft.sites.method_calls(*_GATHERING):
            assert isinstance(call.func, ast.Attribute)
            inside = any(a in loops for a in draft.syntax.ancestors(call) if isinstance(a, LOOPS))
            if inside and ast.unparse(call.func.value) == name.id:
                return True
    return False
