"""**Distribute with Horovod** as an action: whether it can be offered at a place, and its edit."""

from __future__ import annotations

from lsprotocol import types

from horovodize.lsp.analysis import Analysis
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plan_edit
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Span

TITLE = "Distribute with Horovod"
KIND = "refactor.rewrite.horovodize.distribute"
_PLACES = ("loop", "tensorflow")  # roles of which a distribution is offered


def offered_at(analysis: Analysis, span: Span) -> bool:
    """Whether a range touches what one would distribute: a loop, the library's import, or any finding."""
    places = [place for loop in analysis.summary.loops for place in (loop.span, loop.site)]
    places += [role.span for role in analysis.summary.roles if role.role in _PLACES]
    places += [violation.span for violation in analysis.violations]
    return any(span.overlaps(place) for place in places)


def obstacle(analysis: Analysis) -> str | None:
    """Why the document can't be distributed (or needn't be), in a line; None when it can."""
    outcome = analysis.outcome
    if isinstance(outcome, Unchanged):
        return outcome.message
    if isinstance(outcome, Refusal):
        return (
            "; ".join(dict.fromkeys(reason.message for reason in outcome.reasons))
            or "it can't be distributed"
        )
    return None if outcome.edits else "there is nothing to change"


def edit_of(session: Session, opened: OpenDocument) -> types.WorkspaceEdit | None:
    """The edit that distributes a document's newest version; None when there is none."""
    outcome = opened.analysis(session.settings.options).outcome
    if not isinstance(outcome, Plan):
        return None
    from horovodize.rules import RULES

    titles = {rule.id: rule.title for rule in RULES.values()}
    return plan_edit(opened, outcome, titles, session.encoding, session.client)
