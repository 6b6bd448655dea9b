"""Sequences that draw the rows of each batch, or some of them: part of D3.

    class Triplets(tf.keras.utils.Sequence):
        def __getitem__(self, index):
            rows = np.random.choice(len(x), 32)
            return x[rows], y[rows]

Each rank asks its own for every size()-th batch; by one seed, all of them would draw the same: all rows, or those beside the
ones that the number of the batch selects. Noise of the shape of the rows may be the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.sources import SEEDS
from horovodize.python.random_generators import MAKERS
from horovodize.python.syntax import FUNCTIONS, Function, argument, arguments, has_unpacking, says_none
from horovodize.rules.drafting.decisions import Apart
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding, is_touched
from horovodize.rules.rows import seeds_apart
from horovodize.summary.feeding import Kind

_FAR = 300  # nodes that what selects rows is made of
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
    """The calls that give a batch of a sequence, those in functions of the program too; where it looks at its number, those by
    which rows are selected."""
    found: list[ast.Call] = []
    for method in _giving(draft, sequence):
        within = [n for n in ast.walk(method) if isinstance(n, ast.Call)]
        found += within if not looks_at_number(method) else _selecting(draft, method, within)
    return with_called(draft, found)


def _giving(draft: Draft, sequence: ast.expr) -> Iterator[Function]:
    """The methods that give a sequence's batches."""
    for made in draft.values.calls(sequence):
        cls = draft.values.callee(made)
        for s in cls.body if isinstance(cls, ast.ClassDef) else ():
            if isinstance(s, FUNCTIONS) and s.name == "__getitem__":
                yield s


def _selecting(draft: Draft, method: Function, within: list[ast.Call]) -> list[ast.Call]:
    """Those of the calls in a method by which it selects rows of what it doesn't make itself (`image[top:]` crops): not those
    that seed, nor those that put what is kept in another order."""
    slices = [
        n.slice
        for n in ast.walk(method)
        if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and not _is_own(draft, n.value, method)
    ]
    by = set(draft.values.depends(slices, _FAR)) if slices else set[ast.AST]()
    seeded = {c for c in within if (draft.names.of(c.func) or "") in (*SEEDS, *MAKERS)}
    return [
        c
        for c in within
        if c in by and not seeded and not _is_kept(draft, c) and not _is_of_number(draft, c, method)
    ]


def _is_own(draft: Draft, e: ast.expr, method: Function) -> bool:
    """Whether something is a method's own, and no parameter: what a turn of its loops looks at, or it has made."""
    return isinstance(e, ast.Name) and draft.module.scopes.lookup(e.id, e) is method


def _is_of_number(draft: Draft, call: ast.Call, method: Function) -> bool:
    """Whether a draw is among what the number of the batch selects: `np.random.permutation(rows)`."""
    number = method.args.args[1].arg if len(method.args.args) > 1 else ""
    made_of = draft.values.depends(arguments(call), _FAR) if call.args else ()
    return any(isinstance(n, ast.Name) and n.id == number and draft.syntax.inside(n, method) for n in made_of)


def _is_kept(draft: Draft, call: ast.Call) -> bool:
    """`self.order = rng.permutation(n)`"""
    statement = draft.syntax.statement(call)
    return isinstance(statement, ast.Assign) and all(isinstance(t, ast.Attribute) for t in statement.targets)


def with_called(draft: Draft, calls: list[ast.Call]) -> list[ast.Call]:
    """Some calls, and all that they come to in functions of the program: a loop's step asks an object for rows, whose method
    draws them."""
    found, seen = list(calls), set[ast.AST]()
    for call in found:  # grows
        called = draft.values.callee(call)
        if called is not None and called not in seen:
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


__all__ = ["apply", "calls", "looks_at_number", "with_called"]
