"""Numbers of a rank's own beside those that count: part of G4 and S5.

Where the number of a turn both selects and counts, all ranks keep the one that counts, and each gets one of its own that
selects; likewise what is made of it for both, and what a function is told that does both:

    for i, own_i in rounds(range(n)):
        step = i + 1
        own_step = own_i + 1
        train(x[(own_step - 1) * B : own_step * B])
        if step % max(1, 100 // hvd.size()) == 0: …
"""

from __future__ import annotations

import ast
import re

from horovodize.facts.counting.turn_uses import Made, Told, Uses
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit

_READS = (ast.Name, ast.Attribute, ast.Subscript)


def name(draft: Draft, variable: str, at: ast.AST) -> str:
    """What a rank's own number beside a variable is called that is read somewhere: the same in each loop of a function. Beside
    `self.step`, `state["step"]` and `step[0]`: `own_step`."""
    called = re.findall(r"[^\W\d]\w*", variable)[-1]
    return draft.named((draft.module.scopes.lookup(variable, at), variable), f"own_{called}")


def can_give(draft: Draft, uses: Uses) -> bool:
    """Whether what selects can be given numbers of its own."""
    return (
        not uses.mixed
        and all(draft.can_insert(m.statement) for m in uses.made)
        and all(_can_tell(draft, t) for t in uses.told)
    )


def give(draft: Draft, uses: Uses, variable: str, own: str, rule: str) -> tuple[Edit, ...]:
    """Lets all that selects by a variable, or by what is made of it, read `own`, or what is made of that."""
    named = {variable: own}
    for m in uses.made:
        if m.target.id not in named:
            named[m.target.id] = name(draft, m.target.id, m.target)
    selecting: list[ast.expr] = [*uses.selecting, *uses.held]
    edits = [Edit(draft.module.span(use), named[ast.unparse(use)]) for use in selecting]
    for use in selecting:
        draft.decide(use, OfAll(rule))
    for m in uses.made:
        edits.append(draft.after(m.statement, [_made(draft, m, named)], level=1))
    for told in uses.told:
        edits += _tell(draft, told, named, rule)
    return tuple(edits)


def _made(draft: Draft, made: Made, named: dict[str, str]) -> str:
    """`own_step = own_i + 1` beside `step = i + 1`."""
    operator = "="
    if isinstance(made.statement, ast.AugAssign):
        after, before = draft.module.span(made.target).end, draft.module.span(made.value).start
        operator = draft.document.text[after:before].strip(" (")
    return f"{named[made.target.id]} {operator} {_in_own(draft, made.value, named)}"


def _in_own(draft: Draft, e: ast.expr, named: dict[str, str]) -> str:
    """An expression as it is written, of a rank's own numbers."""
    text, start = draft.module.text(e), draft.module.span(e).start
    reads = [n for n in ast.walk(e) if isinstance(n, _READS) and ast.unparse(n) in named]
    for n in sorted(reads, key=lambda n: draft.module.span(n).start, reverse=True):
        span = draft.module.span(n)
        text = text[: span.start - start] + named[ast.unparse(n)] + text[span.end - start :]
    return text


# ---------------------------------------------------------------------- functions that are told both


def _can_tell(draft: Draft, told: Told) -> bool:
    """Whether a function can be told a number of a rank's own beside the one that counts: by its only call, by position or
    name."""
    function, call = told.function, told.call
    parameters = [*function.args.posonlyargs, *function.args.args]
    calls = [c for c in draft.syntax.calls if draft.values.callee(c) is function]
    plain = told.parameter in parameters and not function.args.defaults and not function.args.vararg
    unpacked = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    return (
        plain
        and not function.decorator_list
        and not unpacked
        and len(calls) == 1
        and can_give(draft, told.uses)
    )


def _tell(draft: Draft, told: Told, named: dict[str, str], rule: str) -> list[Edit]:
    """`train_one(i)` → `train_one(i, own_i)`"""
    parameter = told.parameter.arg
    own = draft.named((told.function, parameter), f"own_{parameter}")
    text = _in_own(draft, told.given, named)
    by_name = any(k.value is told.given for k in told.call.keywords)
    end = draft.module.span(told.given).end
    argument = f", {own}={text}" if by_name else f", {text}"
    at = draft.module.span(told.parameter).end
    return [
        Edit.insert(end, argument, None, 1),
        Edit.insert(at, f", {own}", None, 1),
        *give(draft, told.uses, parameter, own, rule),
    ]


__all__ = ["can_give", "give", "name"]
