"""Edits of documents as the client can take them: versioned, in small pieces, annotated by rule (and by file)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from lsprotocol import types
from pygls.uris import from_fs_path

from horovodize import runtime
from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.convert import to_range
from horovodize.lsp.session import OpenDocument
from horovodize.plan import Change, Plan
from horovodize.source import Document, Edit, Move, PositionEncoding, Span, line_edits
from horovodize.source.edits import TOGETHER
from horovodize.source.project import ProjectDocument

_HEAD = "C1"  # the rule that imports Horovod

# The buffer that a document is the text of; None for a file on disk.
OpenAs: TypeAlias = Callable[[Document], OpenDocument | None]


@dataclass(frozen=True)
class Annotation:
    """What the client shows beside a change: one a rule (and `file`, where there are several), and one more for each doubt
    that the user has to decide."""

    label: str
    description: str
    confirm: bool = False
    file: str = ""

    @property
    def id(self) -> str:
        """Changes of one rule share an annotation, also when their reasons differ in detail; doubts stand
        each for itself."""
        name = f"{self.label}: {self.description}" if self.confirm else self.label
        return f"{name} ({self.file})" if self.file else name


@dataclass(frozen=True)
class _Placed:
    """An edit of one document of the client; `version` is None for a file that is not open."""

    uri: str
    version: int | None
    text_edit: types.TextEdit
    annotation: Annotation | None


def plain_edit(
    opened: OpenDocument, edits: Sequence[Edit], encoding: PositionEncoding, client: Capabilities
) -> types.WorkspaceEdit:
    """Edits in the order of the text, none overlapping, without annotations."""
    return _edit(_placed(opened, opened.document, [(edit, None) for edit in edits], encoding), client)


def plan_edit(
    opened: OpenDocument,
    plan: Plan,
    titles: Mapping[str, str],
    encoding: PositionEncoding,
    client: Capabilities,
    open_as: OpenAs = lambda document: None,
) -> types.WorkspaceEdit:
    """A plan's edits; `titles` says what a rule is called, `open_as` the buffer that another file of the project is open in.
    Raises EditConflict when the plan contradicts itself."""
    several = isinstance(plan.document, ProjectDocument)
    placed = _placed_plan(opened, plan, titles, encoding, client, open_as, named=several)
    return _edit(placed, client, _beside([plan]))


def plans_edit(
    plans: Sequence[tuple[OpenDocument | None, Plan]],
    titles: Mapping[str, str],
    encoding: PositionEncoding,
    client: Capabilities,
    open_as: OpenAs,
) -> types.WorkspaceEdit:
    """The edits of several plans, each with the buffer of its script, as one. A file that several of them change in the same
    way is changed once. Raises EditConflict when a plan contradicts itself."""
    by_file: dict[str, list[_Placed]] = {}
    for opened, plan in plans:
        own: dict[str, list[_Placed]] = {}
        for piece in _placed_plan(opened, plan, titles, encoding, client, open_as, named=True):
            own.setdefault(piece.uri, []).append(piece)
        for uri, pieces in own.items():
            by_file.setdefault(uri, pieces)
    return _edit(
        [piece for pieces in by_file.values() for piece in pieces],
        client,
        _beside([plan for _, plan in plans]),
    )


def _beside(plans: Sequence[Plan]) -> dict[str, str]:
    """The modules of ours that scripts need and that are not there yet: their texts, by their paths."""
    found: dict[str, str] = {}
    for plan in plans:
        for name in (
            plan.beside if os.path.isabs(plan.document.path) else ()
        ):  # what is not saved has no folder
            path = os.path.join(os.path.dirname(plan.document.path), name)
            if not os.path.exists(path):
                found[path] = runtime.text_of(name)
    return found


def _placed_plan(
    opened: OpenDocument | None,
    plan: Plan,
    titles: Mapping[str, str],
    encoding: PositionEncoding,
    client: Capabilities,
    open_as: OpenAs,
    *,
    named: bool,
) -> list[_Placed]:
    """The edits of a plan, file by file, the script's first; `named`: annotations say which file they are about."""
    owners = owners_of(plan) if client.change_annotations else [None] * len(plan.edits)
    annotated = [
        (edit, _annotation(owner, titles, plan) if owner else None)
        for edit, owner in zip(plan.edits, owners, strict=True)
    ]
    if client.change_annotations:
        annotated = sorted([*annotated, *_questions(plan, titles)], key=lambda pair: pair[0].span)
    whole = plan.document
    by_file: dict[int, list[tuple[Edit, Annotation | None]]] = {}
    for edit, annotation in annotated:
        if isinstance(whole, ProjectDocument):
            index = whole.member_at(edit.span.start)
            ((document, (own,)),) = whole.by_member([edit])
        else:
            index, document, own = 0, whole, edit
        file = _name(document, whole) if named else ""
        shown = replace(annotation, file=file) if annotation is not None else None
        by_file.setdefault(index, []).append((own, shown))
    if not isinstance(whole, ProjectDocument):
        return _placed(opened, whole, by_file.get(0, []), encoding)
    placed: list[_Placed] = []
    for index in sorted(by_file, key=lambda i: (whole.members[i] is not whole.script, i)):  # the script first
        document = whole.members[index]
        buffer = opened if opened is not None and document is opened.document else open_as(document)
        placed += _placed(buffer, document, by_file[index], encoding)
    return placed


def _questions(plan: Plan, titles: Mapping[str, str]) -> list[tuple[Edit, Annotation | None]]:
    """What a plan only asks: an annotation stands at an edit, so each gets one that changes nothing, outside other edits."""
    found: list[tuple[Edit, Annotation | None]] = []
    for change in plan.to_confirm:
        if not change.edits:
            at = change.span.start
            inside = (e.span.start for e in plan.edits if e.span.start < at <= e.span.end)
            found.append((Edit.insert(next(inside, at), ""), _annotation(change, titles, plan)))
    return found


def _name(document: Document, whole: Document) -> str:
    """What a file is called beside a change: its path from the script."""
    return os.path.relpath(document.path, os.path.dirname(whole.path))


def owners_of(plan: Plan) -> list[Change | None]:
    """For each of the plan's edits the change that it comes from. Composing keeps edits as they are and
    resolves moves: what a move puts in is known by its place and anchor, what it leaves by its span. Where
    several changes make the same edit, a sure one owns it, unless it is what they come to together."""
    by_edit: dict[Edit, Change] = {}
    by_move: dict[tuple[Span, Span | None, int], Change] = {}
    for change in sorted(plan.changes, key=lambda change: not change.sure):
        for made in change.edits:
            if isinstance(made, Move):
                by_move.setdefault((Span(made.target, made.target), made.anchor, made.level), change)
                by_edit.setdefault(Edit(made.span, made.left), change)
            elif made.level == TOGETHER and not change.sure:
                by_edit[made] = change
            else:
                by_edit.setdefault(made, change)
    return [by_edit.get(edit) or by_move.get((edit.span, edit.anchor, edit.level)) for edit in plan.edits]


def _annotation(change: Change, titles: Mapping[str, str], plan: Plan) -> Annotation:
    """What is shown beside a change; beside the head, which every plan has, also how the plan scales."""
    title = titles.get(change.rule) or change.what
    if change.sure:
        scalings = dict.fromkeys(f"{s.sentence}." for s in plan.scalings if change.rule == _HEAD)
        return Annotation(f"{change.rule} {title}", " ".join([change.why, *scalings]))
    return Annotation(
        f"{change.rule} {title}", f"To be confirmed: {change.doubt or change.why}", confirm=True
    )


def _placed(
    opened: OpenDocument | None,
    document: Document,
    edits: Sequence[tuple[Edit, Annotation | None]],
    encoding: PositionEncoding,
) -> list[_Placed]:
    """Edits of one file where the client has them: in a buffer, in the cells of a notebook, or on disk."""
    # Insertions at one offset are joined, for clients that do not keep the order of such; those of two rules
    # stay apart where annotations tell them apart (clients that know annotations keep the order, as the
    # protocol asks).
    found: list[_Placed] = []
    for annotation, run in groupby(edits, key=lambda pair: pair[1]):
        for edit in line_edits(document.text, [edit for edit, _ in run]):
            if opened is not None:
                uri, text_edit = opened.text_edit(edit, encoding)
                version: int | None = opened.version_of(uri)
            else:
                uri, version = from_fs_path(document.path) or document.path, None
                text_edit = types.TextEdit(to_range(document, edit.span, encoding), edit.new_text)
            found.append(_Placed(uri, version, text_edit, annotation))
    return found


def _edit(
    placed: Sequence[_Placed], client: Capabilities, beside: Mapping[str, str] | None = None
) -> types.WorkspaceEdit:
    """`beside`: files to make, by their paths; a client that can't is given the other edits only."""
    by_document: dict[tuple[str, int | None], list[_Placed]] = {}
    for piece in placed:
        by_document.setdefault((piece.uri, piece.version), []).append(piece)
    if not client.versioned_edits:
        return types.WorkspaceEdit(
            changes={uri: [p.text_edit for p in pieces] for (uri, _), pieces in by_document.items()}
        )
    annotations: dict[str, Annotation] = {}
    documents: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    for path, text in (beside or {}).items() if client.creates_files else ():
        made, start = from_fs_path(path) or path, types.Position(0, 0)
        documents.append(types.CreateFile(made, options=types.CreateFileOptions(ignore_if_exists=True)))
        whole = types.TextEdit(types.Range(start, start), text)
        documents.append(
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(made, None), [whole])
        )
    for (uri, version), pieces in by_document.items():
        changes: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
        for piece in pieces:
            if piece.annotation is None:
                changes.append(piece.text_edit)
            else:
                annotations.setdefault(piece.annotation.id, piece.annotation)
                changes.append(
                    types.AnnotatedTextEdit(
                        piece.annotation.id, piece.text_edit.range, piece.text_edit.new_text
                    )
                )
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        documents.append(types.TextDocumentEdit(identifier, changes))
    return types.WorkspaceEdit(
        document_changes=documents,
        change_annotations={
            name: types.ChangeAnnotation(
                label=annotation.label,
                description=f"{annotation.file}: {annotation.description}"
                if annotation.file
                else annotation.description,
                needs_confirmation=True if annotation.confirm else None,
            )
            for name, annotation in annotations.items()
        }
        or None,
    )
