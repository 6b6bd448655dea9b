"""Edits of a document as the client can take them: versioned, in small pieces, annotated by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from lsprotocol import types

from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.convert import to_range
from horovodize.lsp.session import OpenDocument
from horovodize.plan import Change, Plan
from horovodize.source import Edit, Move, PositionEncoding, Span, line_edits


@dataclass(frozen=True)
class Annotation:
    """What the client shows beside a change: one a rule, and one more for each doubt that the user has to
    decide."""

    label: str
    description: str
    confirm: bool = False

    @property
    def id(self) -> str:
        """Changes of one rule share an annotation, also when their reasons differ in detail; doubts stand
        each for itself."""
        return f"{self.label}: {self.description}" if self.confirm else self.label


def plain_edit(
    opened: OpenDocument, edits: Sequence[Edit], encoding: PositionEncoding, client: Capabilities
) -> types.WorkspaceEdit:
    """Edits in the order of the text, none overlapping, without annotations."""
    return _edit(opened, [(edit, None) for edit in edits], encoding, client)


def plan_edit(
    opened: OpenDocument,
    plan: Plan,
    titles: Mapping[str, str],
    encoding: PositionEncoding,
    client: Capabilities,
) -> types.WorkspaceEdit:
    """A plan's edits; `titles` says what a rule is called. Raises EditConflict when the plan contradicts
    itself."""
    if not client.change_annotations:
        return plain_edit(opened, plan.edits, encoding, client)
    owners = owners_of(plan)
    annotated = [
        (edit, _annotation(owner, titles) if owner else None)
        for edit, owner in zip(plan.edits, owners, strict=True)
    ]
    return _edit(opened, annotated, encoding, client)


def owners_of(plan: Plan) -> list[Change | None]:
    """For each of the plan's edits the change that it comes from. Composing keeps edits as they are and
    resolves moves: what a move puts in is known by its place and anchor, what it leaves by its span. Where
    several changes make the same edit, a sure one owns it."""
    by_edit: dict[Edit, Change] = {}
    by_move: dict[tuple[Span, Span | None, int], Change] = {}
    for change in sorted(plan.changes, key=lambda change: not change.sure):
        for made in change.edits:
            if isinstance(made, Move):
                by_move.setdefault((Span(made.target, made.target), made.anchor, made.level), change)
                by_edit.setdefault(Edit(made.span, made.left), change)
            else:
                by_edit.setdefault(made, change)
    return [by_edit.get(edit) or by_move.get((edit.span, edit.anchor, edit.level)) for edit in plan.edits]


def _annotation(change: Change, titles: Mapping[str, str]) -> Annotation:
    title = titles.get(change.rule) or change.what
    if change.sure:
        return Annotation(f"{change.rule} {title}", change.why)
    return Annotation(
        f"{change.rule} {title}", f"To be confirmed: {change.doubt or change.why}", confirm=True
    )


def _edit(
    opened: OpenDocument,
    edits: Sequence[tuple[Edit, Annotation | None]],
    encoding: PositionEncoding,
    client: Capabilities,
) -> types.WorkspaceEdit:
    # Insertions at one offset are joined, for clients that do not keep the order of such; those of two rules
    # stay apart where annotations tell them apart (clients that know annotations keep the order, as the
    # protocol asks).
    joined = [
        (edit, annotation)
        for annotation, run in groupby(edits, key=lambda pair: pair[1])
        for edit in line_edits(opened.text, [edit for edit, _ in run])
    ]
    if not client.versioned_edits:
        plain = [
            types.TextEdit(to_range(opened.document, edit.span, encoding), edit.new_text)
            for edit, _ in joined
        ]
        return types.WorkspaceEdit(changes={opened.uri: plain})

    annotations: dict[str, Annotation] = {}
    changes: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
    for edit, annotation in joined:
        range_ = to_range(opened.document, edit.span, encoding)
        if annotation is None:
            changes.append(types.TextEdit(range_, edit.new_text))
        else:
            annotations.setdefault(annotation.id, annotation)
            changes.append(types.AnnotatedTextEdit(annotation.id, range_, edit.new_text))
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(opened.uri, opened.version), changes
            )
        ],
        change_annotations={
            name: types.ChangeAnnotation(
                label=annotation.label,
                description=annotation.description,
                needs_confirmation=True if annotation.confirm else None,
            )
            for name, annotation in annotations.items()
        }
        or None,
    )
