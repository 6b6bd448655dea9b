"""Reading back what rank 0 wrote: the ranks wait for each other first. Part of C6.

The others come to the reading before rank 0 has finished writing; they would find no file, half of one, or the one of last
time. Where a checkpoint manager remembers what it saved, rank 0 tells the others.
"""

from __future__ import annotations

import ast

from horovodize.rules.draft import CORE, Draft
from horovodize.rules.guards import Guarded, Guards, barrier
from horovodize.source import Edit
from horovodize.summary.effects import in_place
from horovodize.summary.files import Files, ReadBack
from horovodize.summary.outputs import Outputs
from horovodize.summary.syntax import position

_WHY = "Only rank 0 writes it; the others could come before it is complete."
_COMMENT = "Wait until rank 0 has written it."


def apply(draft: Draft, outputs: Outputs, guards: Guards, guarded: Guarded) -> None:
    """Puts a wait before every reading that may come too early."""
    waits: list[ast.stmt] = []
    found = [
        back
        for back in Files(draft.module, outputs.effects, outputs, draft.drive).read_back()
        if back.place not in guarded and back.read.node not in guarded
    ]
    for back in found:
        remembered = back.read.node
        if (
            isinstance(remembered, ast.Attribute)
            and remembered not in draft.done
            and guarded.collective(remembered)
            and in_place(draft.module, remembered)
        ):
            draft.done.add(remembered)
            guarded.told.add(draft.syntax.statement(remembered))
            edits = Edit.around(draft.module.span(remembered), f"{CORE}.broadcast_object(", ")")
            draft.change("C6", remembered, "Every rank reads what rank 0 has saved", _WHY, edits)
    for back in found:
        place = back.place
        told = guarded.told & {back.write.node, draft.syntax.statement(back.read.node)}
        if told or place in waits or _waited(draft, waits, back):
            continue
        if not guarded.collective(place) or not guards.can_indent(place, place):
            draft.note(
                "C6",
                back.read.node,
                "rank 0 may still be writing what is read here: the ranks do not wait for it",
            )
            continue
        waits.append(place)
        lines = draft.lines_of(barrier(draft.quoted("saved")), comment=_COMMENT)
        draft.change("C6", place, "Wait for rank 0's file", _WHY, [draft.before(place, lines)])


def _waited(draft: Draft, waits: list[ast.stmt], back: ReadBack) -> bool:
    """Whether an earlier wait in the same block lies between the writing and this reading."""
    block = draft.syntax.block(back.place)
    return any(w in block and position(back.after) < position(w) < position(back.place) for w in waits)
