"""Mending all findings of a document at once, where each has one fix and no other."""

from __future__ import annotations

from lsprotocol import types

from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plain_edit
from horovodize.restrictions.violation import Violation
from horovodize.source import Document, Edit, EditConflict, Untouchable, compose

KIND = "source.fixAll.horovodize"
TITLE = "Fix all that Horovodize can fix safely"


def title_of(violation: Violation) -> str:
    return f"Fix all {violation.code} ({violation.name}) in this file"


def fixable(wanted: list[Violation], code: str | None = None) -> list[Violation]:
    """The findings among `wanted` that can be fixed without asking: of one code, or of all."""
    return [v for v in wanted if len(v.fixes) == 1 and (code is None or v.code == code)]


def edit_of(
    session: Session, opened: OpenDocument, wanted: list[Violation], code: str | None = None
) -> types.WorkspaceEdit:
    """The edit that mends them in a document's newest version."""
    edits = edits_of(opened.document, wanted, code)
    return plain_edit(opened, edits, session.encoding, session.client)


def edits_of(document: Document, wanted: list[Violation], code: str | None = None) -> list[Edit]:
    """The edits that mend them, in the order of the text. A fix that gets in another's way is left for the next time, as is
    one after which the text would not parse."""
    taken: list[Edit] = []
    composed: list[Edit] = []
    for violation in fixable(wanted, code):
        more = [edit for edit in violation.fixes[0].edits if edit not in taken]
        try:
            together = compose(document.text, [*taken, *more])
            document.verify(together)
        except (EditConflict, SyntaxError, Untouchable):
            continue
        taken, composed = [*taken, *more], together
    return composed
