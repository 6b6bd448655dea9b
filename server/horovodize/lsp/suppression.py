"""Having a finding ignored, by a comment: the action's title and its edit."""

from __future__ import annotations

from lsprotocol import types

from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plain_edit
from horovodize.restrictions.violation import Violation
from horovodize.source import Span


def title_of(violation: Violation) -> str:
    return f"Ignore {violation.code} ({violation.name}) here"


def edit_of(session: Session, opened: OpenDocument, code: str, span: Span) -> types.WorkspaceEdit:
    """The edit that adds the comment to a document's newest version. It reads all of the document's tokens."""
    from horovodize.restrictions.suppress import suppression_edit

    edit = suppression_edit(opened.document, code, span)
    return plain_edit(opened, [edit], session.encoding, session.client)
