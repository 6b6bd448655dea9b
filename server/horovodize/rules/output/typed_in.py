"""What somebody types or clicks: rank 0 alone waits for it, and tells the others. Part of C6.

Only one process has the keyboard: on the others `input` fails, and a window that isn't shown is waited for without end."""

from __future__ import annotations

import ast

from horovodize.python.syntax import COMPREHENSIONS, position
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import ON_ROOT, Draft
from horovodize.rules.drafting.guards import Guarded, from_root
from horovodize.source import Edit
from horovodize.summary.effects import in_place
from horovodize.summary.output_calls import waits_for_user
from horovodize.summary.outputs import Outputs

_WHAT = "Let rank 0 alone wait for an answer, and take it on all ranks"
_WHY = "Only one process has the keyboard: the others would fail, or wait without end."

_OTHERWISE = (
    ast.For,
    ast.AsyncFor,
    ast.Try,
    ast.IfExp,
    ast.BoolOp,
    ast.Lambda,
    ast.match_case,
    *COMPREHENSIONS,
)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def apply(draft: Draft, outputs: Outputs, guarded: Guarded) -> None:
    """Answers that are used. Those that nobody reads are waited for under a guard, as output."""
    for call in draft.module.calls_which(waits_for_user):
        if isinstance(draft.syntax.parent.get(call), ast.Expr):
            continue  # nobody reads the answer
        alike = guarded.collective(call) or (guarded.in_order(call) and _comes_by_answers(draft, call))
        if outputs.is_early(call) or not alike or not in_place(draft.module, call):
            continue
        span = draft.module.span(call)
        if draft.was(
            call, Agreed
        ):  # the rule that makes ranks agree on numbers of steps has put it into a broadcast
            edits = Edit.around(span, "", f" if {ON_ROOT} else None", level=1)
        else:
            edits = Edit.around(span, f"{from_root(draft)}(", f" if {ON_ROOT} else None)")
        draft.decide(call, Agreed("C6"))
        guarded.told.add(call)
        draft.change("C6", call, _WHAT, _WHY, edits)


def _comes_by_answers(draft: Draft, call: ast.Call) -> bool:
    """Whether only answers decide whether a place is come to, its own and those that all ranks have from rank 0: `while answer
    not in ("y", "n"): answer = input()`."""
    function, around, child = draft.syntax.function(call), list[ast.expr](), ast.AST()
    for a in (call, *draft.syntax.ancestors(call)):
        if a is function or isinstance(a, ast.Module):
            break
        if isinstance(a, (ast.If, ast.While)) and child is not a.test:
            around.append(a.test)
        elif isinstance(a, _OTHERWISE):
            return False
        child = a
    earlier = (n for n in ast.walk(function or draft.module.tree) if isinstance(n, _LEAVING))
    if any(position(n) < position(call) for n in earlier):
        return False
    reasons = [r for test in around for r in draft.uniform.reasons(test)]
    above = (frame.node for way in draft.drive.ways(call) for frame in way[1:])
    return (
        bool(reasons)
        and all(r.where is call or draft.was(r.where, Agreed) for r in reasons)
        and all(map(draft.uniform.reached_alike, above))
    )
