"""textDocument/codeAction: distribute, mend a restriction, or have it ignored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from horovodize.lsp import distribution, fixing, project_findings, suppression
from horovodize.lsp.analysis import NOT_DISTRIBUTED, Analysis
from horovodize.lsp.convert import SOURCE, to_diagnostic
from horovodize.lsp.diagnostics import reported
from horovodize.lsp.session import OpenDocument, Session
from horovodize.lsp.workspace_edit import plain_edit
from horovodize.restrictions.violation import Violation
from horovodize.source import Edit, EditConflict, Span, Untouchable, compose

if TYPE_CHECKING:
    from horovodize.lsp.connection import HorovodizeServer

METHOD = types.TEXT_DOCUMENT_CODE_ACTION
OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, distribution.KIND, fixing.KIND], resolve_provider=True
)


def handle(server: HorovodizeServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    session = server.session
    opened = session.get(params.text_document.uri)
    if opened is None:
        return []
    analysis = opened.analysis(opened.settings.options)
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
        self.span = opened.span(params.text_document.uri, params.range, session.encoding)

    def actions(self) -> Iterator[types.CodeAction]:
        found = reported(self.session, self.opened)
        touched = [v for v in found if v.span.overlaps(self.span)]
        yield from self._distribute([v for v in touched if v.code == NOT_DISTRIBUTED])
        for violation in touched:
            yield from self._fixes(violation)
        for violation in {v.code: v for v in fixing.fixable(touched)}.values():
            if len(fixing.fixable(found, violation.code)) > 1:
                yield self._fix_all(found, violation)
        for violation in touched:
            yield self._suppression(violation)
        if fixing.fixable(found):
            yield self._fix_all(found)

    def _distribute(self, hints: Sequence[Violation]) -> Iterator[types.CodeAction]:
        if not hints and not distribution.offered_at(self.analysis, self.span):
            return
        title = distribution.TITLE
        bulb = self.context.trigger_kind is types.CodeActionTriggerKind.Automatic and self.lazy
        if bulb and not self.session.runners(self.opened.path or ""):
            # The light bulb asks at every step of the cursor. The plan is not made for that: the hint says that there is one.
            known = project_findings.together(self.opened, self.analysis.violations)
            if all(violation.code != NOT_DISTRIBUTED for violation in known):
                return
        else:
            subject = distribution.subject_of(self.session, self.opened)
            title = subject.title
            if subject.obstacle is not None:
                if self.session.client.disabled_actions and not bulb:
                    disabled = types.CodeActionDisabled(subject.obstacle)
                    yield types.CodeAction(title, distribution.KIND, disabled=disabled)
                return
        data = self._data() if self.lazy else None
        edit = None if self.lazy else distribution.edit_of(self.session, self.opened)
        if hints:
            yield types.CodeAction(
                title,
                types.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(hint) for hint in hints],
                is_preferred=False,
                edit=edit,
                data=data,
            )
        yield types.CodeAction(title, distribution.KIND, edit=edit, data=data)

    def _fixes(self, violation: Violation) -> Iterator[types.CodeAction]:
        for i, fix in enumerate(violation.fixes):
            edits = compose(self.opened.text, fix.edits)
            if not self._possible(edits):
                continue
            yield types.CodeAction(
                fix.title,
                types.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(violation)],
                is_preferred=i == 0,
                edit=plain_edit(self.opened, edits, self.session.encoding, self.session.client),
            )

    def _possible(self, edits: list[Edit]) -> bool:
        """Whether a notebook's commands and the ends of its cells leave room for edits."""
        try:
            if self.opened.uris != [self.opened.uri]:
                self.opened.document.verify(edits)
        except (Untouchable, EditConflict, SyntaxError):
            return False
        return True

    def _fix_all(self, found: list[Violation], like: Violation | None = None) -> types.CodeAction:
        """Mends every finding, or every one of a code."""
        code = like.code if like is not None else None
        same = [v for v in fixing.fixable(found, code) if v.span.overlaps(self.span)]
        return types.CodeAction(
            fixing.title_of(like) if like is not None else fixing.TITLE,
            types.CodeActionKind.QuickFix if like is not None else fixing.KIND,
            diagnostics=[self._diagnostic(violation) for violation in same] if like is not None else None,
            edit=None if self.lazy else fixing.edit_of(self.session, self.opened, found, code),
            data=self._data(fixAll=code or "") if self.lazy else None,
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
        place = self._locate(violation.span).range
        for known in self.context.diagnostics:
            if known.source == SOURCE and known.code == violation.code and known.range == place:
                return known
        return to_diagnostic(violation, self.opened.version, self._locate, self.session.client)

    def _locate(self, span: Span) -> types.Location:
        return self.opened.location(span, self.session.encoding)


def _wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Kinds are a tree: who asks for "refactor" gets "refactor.rewrite" too, who asks for "" all."""
    names = [_name(name) for name in only or [""]]
    return any(name in ("", kind) or kind.startswith(name + ".") for name in names)


def _name(kind: types.CodeActionKind | str | None) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind or ""
