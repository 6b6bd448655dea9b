"""What somebody types or clicks: rank 0 alone waits for it, and tells the others. Part of C6.

Only one process has the keyboard: on the others `input` fails, and a window that isn't shown is waited for without end."""

from __future__ import annotations

import ast

from horovodize.rules.decisions import Agreed
from horovodize.rules.draft import ON_ROOT, Draft
from horovodize.rules.guards import Guarded, from_root
from horovodize.source import Edit
from horovodize.summary.effects import in_place
from horovodize.summary.outputs import Outputs

_WHAT = "Let rank 0 alone wait for an answer, and take it on all ranks"
_WHY = "Only one process has the keyboard: the others would fail, or wait without end."


def apply(draft: Draft, outputs: Outputs, guarded: Guarded) -> None:
    """Answers that are used. Those that nobody reads are waited for under a guard, as output."""
    for call in draft.syntax.calls:
        used = not isinstance(draft.syntax.parent.get(call), ast.Expr)
        if not used or not outputs.effects.output_calls.waits_for_user(call):
            continue
        if outputs.is_early(call) or not guarded.collective(call) or not in_place(draft.module, call):
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
