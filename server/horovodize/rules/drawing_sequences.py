"""Sequences that draw the rows of each batch, whatever its number: part of D3.

    class Triplets(tf.keras.utils.Sequence):
        def __getitem__(self, index):
            rows = np.random.choice(len(x), 32)
            return x[rows], y[rows]

Each rank asks its own for every size()-th batch; by one seed, all of them would draw the same.
"""

from __future__ import annotations

import ast

from horovodize.facts.sources import SEEDS
from horovodize.rules import seeds_apart
from horovodize.rules.decisions import Apart
from horovodize.rules.draft import Draft
from horovodize.rules.shares import feeding, is_touched
from horovodize.summary.feeding import Kind
from horovodize.summary.random_generators import MAKERS
from horovodize.summary.syntax import FUNCTIONS, argument, arguments, has_unpacking, says_none

_ASKED = (
    "with this seed every rank draws the same batches in the sequence that `fit` is given in {}: seed each rank differently "
    "just before, for example with `{}`"
)


def apply(draft: Draft) -> None:
    for fed in feeding(draft).fits:
        if fed.x is None or fed.kind is not Kind.SEQUENCE or not is_touched(draft, fed.x):
            continue
        drawing = [c for c in calls(draft, fed.x) if draft.uniform.draws.draws(c)]
        place = draft.syntax.statement(fed.fit.call)
        for seed in draft.module.calls_of(*SEEDS, *MAKERS) if drawing else ():
            if draft.was(seed, Apart) or not _gives_seed(draft, seed, drawing):
                continue
            if _is_told_none(draft, seed, draft.values.calls(fed.x)):
                continue
            if not seeds_apart.set_apart(draft, place, drawing, seed):
                words, example = draft.line_words(place, seed), seeds_apart.example(draft, seed)
                draft.ask("D3", seed, seeds_apart.WHAT, seeds_apart.WHY, _ASKED.format(words, example))


def calls(draft: Draft, sequence: ast.expr) -> list[ast.Call]:
    """The calls that give a batch of a sequence that doesn't look at its number, those in functions of the program too."""
    found: list[ast.Call] = []
    for made in draft.values.calls(sequence):
        cls = draft.values.callee(made)
        for s in cls.body if isinstance(cls, ast.ClassDef) else ():
            if isinstance(s, FUNCTIONS) and s.name == "__getitem__" and not looks_at_number(s):
                found += [n for n in ast.walk(s) if isinstance(n, ast.Call)]
    seen = set[ast.AST]()
    for call in found:  # grows
        called = draft.values.callee(call)
        if isinstance(called, FUNCTIONS) and called not in seen:
            seen.add(called)
            found += [n for n in ast.walk(called) if isinstance(n, ast.Call)]
    return found


def looks_at_number(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether `__getitem__` reads the number that it is given."""
    names = [a.arg for a in (*method.args.posonlyargs, *method.args.args)][1:2]
    return not names or any(
        isinstance(n, ast.Name) and n.id == names[0] and isinstance(n.ctx, ast.Load) for n in ast.walk(method)
    )


def _gives_seed(draft: Draft, seed: ast.Call, drawing: list[ast.Call]) -> bool:
    """Whether a call gives a number as a seed to what some calls draw from."""
    draws, name = draft.uniform.draws, draft.names.of(seed.func) or ""
    if name in MAKERS:
        by = any(
            isinstance(d.func, ast.Attribute) and seed in draft.values.calls(d.func.value) for d in drawing
        )
    else:
        drawn = [draft.names.of(d.func) or "" for d in drawing]
        by = any(d.startswith(SEEDS[name]) and draws.is_drawn(d) for d in drawn)
    return by and draws.may_give_seed(seed)


def _is_told_none(draft: Draft, seed: ast.Call, made: list[ast.Call]) -> bool:
    """Whether a sequence's class seeds by what it is made with, and these are made with None: of `RandomState(seed)` in
    `__init__(self, x, seed=None)`, `Triplets(x)`."""
    within, by = draft.syntax.function(seed), next(iter(arguments(seed)), None)
    bindings = draft.module.scopes.reaching(by) if isinstance(by, ast.Name) else []
    if not (isinstance(within, FUNCTIONS) and within.name == "__init__" and isinstance(by, ast.Name)):
        return False
    if [b.kind for b in bindings] != ["parameter"]:
        return False
    given = [_told(within, call, by.id) for call in made]
    return bool(given) and all(
        g is not None and all(says_none(o.node) for o in draft.values.origins(g)) for g in given
    )


def _told(method: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, name: str) -> ast.expr | None:
    """What a call gives a parameter of `__init__`, else its default; None where that can't be seen."""
    if has_unpacking(call):
        return None
    named = [*method.args.posonlyargs, *method.args.args]
    place = next((i for i, a in enumerate(named[1:]) if a.arg == name), None)
    given = argument(call, name, place) if place is not None else argument(call, name)
    if given is not None:
        return given
    defaults = dict(zip([a.arg for a in reversed(named)], reversed(method.args.defaults), strict=False))
    by_name = {a.arg: d for a, d in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True)}
    return by_name.get(name) or defaults.get(name)


__all__ = ["apply", "calls", "looks_at_number"]
