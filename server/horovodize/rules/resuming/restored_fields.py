"""Counts in fields of objects that an earlier run has come to, and that methods read which a training loop calls: part of G6.

`schedule.count = saved["step"]` where a file is found, and `schedule.step()` in the loop, which computes a rate by
`self.count`: where rank 0's host alone has the file, the others would begin with none. They go on with rank 0's:
`schedule.count = hvd.broadcast_object(schedule.count)` before the loop."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import FUNCTIONS, Loop
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.together.any_rank_test import can_agree, differing
from horovodize.summary.call_paths import Frame

_WHAT = "Go on from rank 0's step on all ranks"
_WHY = "Ranks on other hosts may have no such file, or an older one: they would take other steps and rates."
_FAR = 400  # nodes that a decision is made of


def agree(draft: Draft) -> None:
    """Sends each such count before the loop whose steps it counts."""
    for counter in _restored(draft):
        if any(draft.was(read, Agreed) for read in _reads(draft, counter)):
            continue  # where a loop's test reads it
        for loop, text in _places(draft, counter):
            if can_agree(draft, loop) and draft.can_insert(loop) and draft.once(f"agreed {text}", loop):
                line = f"{text} = {from_root(draft)}({text})"
                draft.change("G6", counter.advances[0], _WHAT, _WHY, [draft.before(loop, [line])])
                for start in counter.starts:
                    draft.decide(start, Agreed("G6"))


def settle(draft: Draft, decided: ast.expr) -> None:
    """Tells that a decision goes by such counts alone, as far as files may differ: all ranks decide alike."""
    known = [c for c in _restored(draft) if any(draft.was(start, Agreed) for start in c.starts)]
    if not known:
        return
    read = [
        n
        for n in draft.values.depends([decided], _FAR)
        if isinstance(n, (ast.Name, ast.Attribute)) and draft.facts.counters.of(n) in known
    ]
    of_counts = {r for n in read for r in draft.uniform.reasons(n)}
    found = [r for r in differing(draft, decided) if _is_of_files(r)]
    if found and of_counts.issuperset(found):
        draft.settled |= {(decided, r.where) for r in found}


def _restored(draft: Draft) -> Iterator[Counter]:
    """The counts in fields that go on from what is read from files."""
    for counter in draft.facts.counters.listed.stored:
        fields = [_target(place) for place in counter.advances]
        if counter.kind is CounterKind.NUMBER and counter.made is None and fields and all(fields):
            if any(_is_of_files(r) for read in _reads(draft, counter) for r in draft.uniform.reasons(read)):
                yield counter


def _is_of_files(reason: Varies | Unknown) -> bool:
    return isinstance(reason, Varies) and reason.kind is Source.FILES


def _reads(draft: Draft, counter: Counter) -> list[ast.expr]:
    field = _target(counter.advances[0]) if counter.advances else None
    return [
        n
        for n in (draft.module.loads.get(field.attr) if field is not None else ())
        if isinstance(n, ast.Attribute) and draft.facts.counters.of(n) is counter
    ]


def _target(place: ast.AST) -> ast.Attribute | None:
    """`self.count` of `self.count += 1`, `self.count = self.count + 1`"""
    if isinstance(place, ast.AugAssign):
        return place.target if isinstance(place.target, ast.Attribute) else None
    targets = place.targets if isinstance(place, ast.Assign) else []
    return targets[0] if len(targets) == 1 and isinstance(targets[0], ast.Attribute) else None


def _places(draft: Draft, counter: Counter) -> list[tuple[Loop, str]]:
    """The outermost loops that count it, and what it is called before each; nothing where one of them can't be told."""
    found = dict[Loop, str]()
    for place in counter.advances:
        for way in draft.drive.ways(place):
            field = _target(place)
            called = _called_before(draft, field, way) if field is not None else None
            if called is None or found.get(called[0], called[1]) != called[1]:
                return []
            found[called[0]] = called[1]
    return list(found.items())


def _called_before(draft: Draft, field: ast.Attribute, way: Sequence[Frame]) -> tuple[Loop, str] | None:
    """What a field of a method's object is called where the outermost loop of a way begins: `schedule.count` where
    `schedule.step()` is called."""
    outermost = next((i for i in reversed(range(len(way))) if way[i].loops), None)
    if outermost is None:
        return None
    holder: ast.expr = field.value
    names = [field.attr]
    for inner, outer in itertools.pairwise(way[: outermost + 1]):
        while isinstance(holder, ast.Attribute):
            names, holder = [holder.attr, *names], holder.value
        given = _given(draft, inner.function, outer.node, holder)
        if given is None:
            return None
        holder = given
    loop = way[outermost].loops[-1]
    whole = ast.unparse(holder)
    while isinstance(holder, ast.Attribute):
        holder = holder.value
    if not isinstance(holder, ast.Name) or _is_made_in(draft, holder, loop):
        return None
    return loop, ".".join([whole, *names])


def _given(draft: Draft, function: ast.AST | None, call: ast.AST, holder: ast.expr) -> ast.expr | None:
    """What a parameter of a function is where a call runs it: of `self` what the method is called of."""
    if (
        not isinstance(function, FUNCTIONS)
        or not isinstance(call, ast.Call)
        or not isinstance(holder, ast.Name)
    ):
        return None
    if draft.syntax.method_class(function) is not None and [a.arg for a in function.args.args[:1]] == [
        holder.id
    ]:
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    bound = draft.module.scopes.reaching(holder)
    if any(b.kind != "parameter" or b.statement is not function for b in bound) or not bound:
        return None
    return draft.values.graph.given(call, function, holder.id)


def _is_made_in(draft: Draft, name: ast.Name, loop: Loop) -> bool:
    """Whether an object is there only since a loop has begun, or another one in each turn."""
    bound = draft.module.scopes.reaching(name)
    return not bound or any(draft.syntax.inside(b.statement, loop) for b in bound)


__all__ = ["agree", "settle"]
