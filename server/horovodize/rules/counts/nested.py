"""Events inside events: part of G5.

`if i % 50 == 0:` and in it `if i % 1000 == 0:` happen together every 1000 steps. Each divided by itself, 12 and 250 on 4 ranks,
they meet every 1500 steps: the inner number has to stay a multiple of the outer one. (Every 70 steps, in what comes every 50:
they meet every 350.) An outer number that stays, as it goes with updates, is multiplied as it stands:
`5 * max(1, 20 // hvd.size())`.
"""

from __future__ import annotations

import ast
from math import lcm

from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted, guarded
from horovodize.source.nodes import walk

_MULTIPLE = "this is right if `{}` is a multiple of `{}`, the steps of the event around it"


def outer(draft: Draft, test: ast.AST, count: ast.expr) -> ast.expr | None:
    """The `50` of `if i % 50 == 0:` around an event that goes by the same count, of several the outermost; None where there is
    none."""
    found = event_around(draft, test, count)
    return found.right if found is not None else None


def is_in_one_of_all(draft: Draft, test: ast.AST, count: ast.expr) -> bool:
    """Whether the event around goes by the steps of all ranks: `i * hvd.size() % 50 < hvd.size()`. What is in it has to, too:
    on 3 ranks every 16th step is seldom one of these."""
    found = event_around(draft, test, count)
    return found is not None and draft.was(found.left, OfAll)


def event_around(draft: Draft, test: ast.AST, count: ast.expr) -> ast.BinOp | None:
    """The `i % 50` of an event around another that goes by the same count, of several the outermost."""
    inner, found = draft.syntax.statement(test), None
    for decision, arm in draft.syntax.conditions(inner):
        for n in ast.walk(decision.test) if arm == "body" else ():
            if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) and ast.dump(n.left) == ast.dump(count):
                found = n
    return found


def within(decision: ast.If, count: ast.expr) -> list[ast.If]:
    """What is decided once more in an event, by the same number: `if i % 8 == 0:` in `if i % 4 == 0:`."""
    same = ast.dump(count)
    found = (n for s in decision.body for n in walk(s) if isinstance(n, ast.If))
    return [n for n in found if any(type(m) is type(count) and ast.dump(m) == same for m in walk(n.test))]


def multiple(
    draft: Draft, around: ast.expr, number: ast.expr, test: ast.expr, once: bool = False
) -> tuple[str, str] | None:
    """(`20 * max(1, 50 // hvd.size())` for 1000 in an event every 50 steps, what is doubtful about that); None where they never
    meet, or are one number. once: whether it comes at that number only, and not at each multiple of it"""
    constant = draft.facts.feeding.kinds.constant
    every, times = constant(around), constant(number)
    whole = draft.syntax.parent[around]
    stays = isinstance(whole, ast.BinOp) and guarded.is_ratio(draft, whole, whole)
    share = counted.text_over_ranks(draft, around)
    if every is not None and times is not None:
        if every < 1 or times < 1 or times == every or (once and times % every):
            return None
        among = (times if once else lcm(times, every)) // every
        if stays:
            return f"{draft.module.text(around)} * max(1, {among} // {SIZE})", ""
        return (f"{among} * {share}" if among > 1 else share), ""
    if ast.dump(around) == ast.dump(number):
        return None
    text, by = draft.module.text(number), draft.module.text(around)
    doubt = _MULTIPLE.format(text, by) if not only_shows(draft, test) else ""
    text = f"({text})" if needs_parentheses(number) else text
    by = f"({by})" if needs_parentheses(around) else by
    if stays:
        return f"max(1, {text} // {by} // {SIZE}) * {by}", doubt
    return f"max(1, {text} // {by}) * {share}", doubt


__all__ = ["event_around", "is_in_one_of_all", "multiple", "outer", "within"]
