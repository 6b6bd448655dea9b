"""textDocument/codeAction: distribute, mend a restriction, or have it ignored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import distribution, suppression
from horovodize.lsp.analysis import NOT_DISTRIBUTED, Analysis
from horovodize.lsp.convert import SOURCE, to_diagnostic, to_range, to_span
from horovodize.lsp.diagnostics import reported
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plain_edit
from horovodize.restrictions.violation import Violation
from horovodize.source import compose

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_CODE_ACTION
OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, distribution.KIND], resolve_provider=True
)


def handle(server: HorovodizeServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    session = server.session
    opened = session.get(params.text_document.uri)
    if opened is None:
        return []
    analysis = opened.analysis(session.settings.options)
    if analysis.summary.problem is not None:
        return []  # nothing is edited while the document does not parse
    return [
        action
        for action in _Offer(session, opened, analysis, params).actions()
        if _wanted(_name(action.kind), params.context.only)
    ]


class _Offer:
    """What is offered for one range of a document that parses."""

    def __init__(
        self, session: Session, opened: OpenDocument, analysis: Analysis, params: types.CodeActionParams
    ) -> None:
        self.session, self.opened, self.analysis = session, opened, analysis
        self.context = params.context
        self.lazy = session.client.resolves_edits
        self.span = to_span(opened.document, params.range, session.encoding)

    def actions(self) -> Iterator[types.CodeAction]:
        touched = [v for v in reported(self.session, self.opened) if v.span.overlaps(self.span)]
        yield from self._distribute([v for v in touched if v.code == NOT_DISTRIBUTED])
        for violation in touched:
            yield from self._fixes(violation)
        for violation in touched:
            yield self._suppression(violation)

    def _distribute(self, hints: Sequence[Violation]) -> Iterator[types.CodeAction]:
        if not distribution.offered_at(self.analysis, self.span):
            return
        if self.context.trigger_kind is types.CodeActionTriggerKind.Automatic and self.lazy:
            # The light bulb asks at every step of the cursor. The plan is not made for that: the hint says that there is one.
            if all(violation.code != NOT_DISTRIBUTED for violation in self.analysis.violations):
                return
        elif (obstacle := distribution.obstacle(self.analysis)) is not None:
            if self.session.client.disabled_actions:
                yield types.CodeAction(
                    distribution.TITLE, distribution.KIND, disabled=types.CodeActionDisabled(obstacle)
                )
            return
        data = self._data() if self.lazy else None
        edit = None if self.lazy else distribution.edit_of(self.session, self.opened)
        if hints:
            yield types.CodeAction(
                distribution.TITLE,
                types.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(hint) for hint in hints],
                is_preferred=False,
                edit=edit,
                data=data,
            )
        yield types.CodeAction(distribution.TITLE, distribution.KIND, edit=edit, data=data)

    def _fixes(self, violation: Violation) -> Iterator[types.CodeAction]:
        for i, fix in enumerate(violation.fixes):
            edits = compose(self.opened.text, fix.edits)
            yield types.CodeAction(
                fix.title,
                types.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(violation)],
                is_preferred=i == 0,
                edit=plain_edit(self.opened, edits, self.session.encoding, self.session.client),
            )

    def _suppression(self, violation: Violation) -> types.CodeAction:
        code, span = violation.code, violation.span
        return types.CodeAction(
            suppression.title_of(violation),
            types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(violation)],
            is_preferred=False,
            edit=None if self.lazy else suppression.edit_of(self.session, self.opened, code, span),
            data=self._data(ignore=[code, span.start, span.end]) if self.lazy else None,
        )

    def _data(self, **more: object) -> dict[str, object]:
        """What an edit is made of when it is asked for: see `code_action_resolve`."""
        return {"uri": self.opened.uri, "version": self.opened.version, **more}

    def _diagnostic(self, violation: Violation) -> types.Diagnostic:
        """The diagnostic that the client has for a finding, so that it can tell which one is meant; else one
        like it."""
        place = to_range(self.opened.document, violation.span, self.session.encoding)
        for known in self.context.diagnostics:
            if known.source == SOURCE and known.code == violation.code and known.range == place:
                return known
        return to_diagnostic(
            self.opened.document,
            self.opened.uri,
            self.opened.version,
            violation,
            soft=False,
            encoding=self.session.encoding,
            client=self.session.client,
        )


def _wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Kinds are a tree: who asks for "refactor" gets "refactor.rewrite" too, who asks for "" all."""
    names = [_name(name) for name in only or [""]]
    return any(name in ("", kind) or kind.startswith(name + ".") for name in names)


def _name(kind: types.CodeActionKind | str | None) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind or ""
