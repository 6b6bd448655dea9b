"""A plan's edits are told apart by rule, also where they were moved or joined."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from horovodize import runtime
from horovodize.lsp.capabilities import Capabilities
from horovodize.lsp.session import OpenDocument
from horovodize.lsp.workspace_edit import owners_of, plan_edit
from horovodize.plan import Change, Plan
from horovodize.source import Document, Edit, Move, PositionEncoding, Span
from horovodize.source.edits import apply

TEXT = "import a\nprint(f(x))\nf(y)\n"
FULL = Capabilities(versioned_edits=True, change_annotations=True)


def change(rule: str, *edits: Edit | Move, doubt: str = "", why: str = "") -> Change:
    return Change(rule, f"do {rule}", why or f"because of {rule}", Span(0, 0), edits, not doubt, doubt)


def owners(*changes: Change) -> list[tuple[str, str]]:
    plan = Plan(Document(TEXT), changes)
    return [
        (owner.rule if owner else "?", edit.new_text)
        for edit, owner in zip(plan.edits, owners_of(plan), strict=True)
    ]


def annotated(*changes: Change) -> types.WorkspaceEdit:
    plan = Plan(Document(TEXT), changes)
    return plan_edit(
        OpenDocument("file:///a.py", 3, TEXT), plan, {"C1": "import"}, PositionEncoding.UTF16, FULL
    )


def pieces(edit: types.WorkspaceEdit) -> list[tuple[str, str]]:
    assert edit.document_changes is not None
    (document,) = edit.document_changes
    assert isinstance(document, types.TextDocumentEdit)
    return [(e.annotation_id, e.new_text) for e in document.edits if isinstance(e, types.AnnotatedTextEdit)]


def test_each_edit_belongs_to_its_change() -> None:
    assert owners(
        change("C5", Edit.insert(25, "# y\n")),
        change("C1", Edit.insert(9, "import b\n"), Edit(Span(0, 8), "import c")),
    ) == [("C1", "import c"), ("C1", "import b\n"), ("C5", "# y\n")]


def test_what_is_moved_belongs_to_who_moves_it() -> None:
    call = Span(15, 19)
    assert TEXT[15:19] == "f(x)"
    assert owners(
        change("C6", Move(call, 9, "r = ", "\n", "r", Span(9, 20))),
        change("C5", *Edit.around(Span(17, 18), "(", " * 2)")),  # inside what is moved: goes along
        change("C1", Edit.insert(9, "import b\n", Span(9, 9), -1)),
    ) == [("C1", "import b\n"), ("C6", "r = f((x * 2))\n"), ("C6", "r")]


def test_an_edit_that_two_make_belongs_to_the_sure_one() -> None:
    edit = Edit.insert(9, "import b\n")
    assert owners(change("K1", edit, doubt="perhaps"), change("C1", edit)) == [("C1", "import b\n")]


def test_rules_at_one_place_stay_apart_and_one_rules_edits_are_joined() -> None:
    edit = annotated(
        change("C1", Edit.insert(9, "import b\n", level=1), Edit.insert(9, "import c\n", level=2)),
        change("C2", Edit.insert(9, "b.pin()\n", level=3)),
        change("C5", Edit(Span(9, 14), "show")),
    )
    assert pieces(edit) == [
        ("C1 import", "import b\nimport c\n"),
        ("C2 do C2", "b.pin()\n"),
        ("C5 do C5", "show"),
    ]


def test_one_annotation_a_rule_and_one_more_a_doubt() -> None:
    edit = annotated(
        change("C1", Edit.insert(0, "1"), why="here"),
        change("C1", Edit.insert(9, "2"), why="there"),
        change("C5", Edit.insert(20, "3"), doubt="it may be zero"),
        change("C5", Edit.insert(21, "4")),
        change("C5", Edit.insert(25, "5"), doubt="it may be one"),
    )
    assert edit.change_annotations is not None
    shown = [(a.label, a.description, bool(a.needs_confirmation)) for a in edit.change_annotations.values()]
    assert shown == [
        ("C1 import", "here", False),
        ("C5 do C5", "To be confirmed: it may be zero", True),
        ("C5 do C5", "because of C5", False),
        ("C5 do C5", "To be confirmed: it may be one", True),
    ]
    assert {name for name, _ in pieces(edit)} == set(edit.change_annotations)


def test_for_others_edits_at_one_place_are_one() -> None:
    changes = [
        change("C1", Edit.insert(9, "a", level=1)),
        change("C2", Edit.insert(9, "b", level=2)),
        change("C5", Edit(Span(9, 14), "c")),
    ]
    plan = Plan(Document(TEXT), changes)
    edit = plan_edit(OpenDocument("file:///a.py", 3, TEXT), plan, {}, PositionEncoding.UTF16, Capabilities())
    assert edit.document_changes is None
    assert edit.changes is not None
    (only,) = edit.changes["file:///a.py"]
    assert only.new_text == "abc"
    assert only.range == types.Range(types.Position(1, 0), types.Position(1, 5))
    assert apply(TEXT, [Edit(Span(9, 14), only.new_text)]) == plan.text


def test_a_question_without_edits_is_an_annotation_at_an_edit_that_changes_nothing() -> None:
    question = Change("HVD105", "look", "", Span(15, 19), (), False, "where is it made?")
    edit = annotated(change("C5", Edit(Span(12, 17), "x")), question)
    assert edit.change_annotations is not None
    shown = [(a.label, a.description, bool(a.needs_confirmation)) for a in edit.change_annotations.values()]
    assert ("HVD105 look", "To be confirmed: where is it made?", True) in shown
    assert [text for _, text in pieces(edit)] == ["", "x"]


# ---------------------------------------------------------------------- modules of ours


def made_beside(path: str, client: Capabilities) -> list[object]:
    """What the edit of a plan that needs our module does before it changes the script."""
    plan = Plan(Document(TEXT, path), [change("C1", Edit.insert(9, "import b\n"))], beside=(runtime.KERAS_3,))
    opened = OpenDocument(from_fs_path(path) or path, 3, TEXT)
    edit = plan_edit(opened, plan, {"C1": "import"}, PositionEncoding.UTF16, client)
    *before, script = edit.document_changes or []
    assert isinstance(script, types.TextDocumentEdit)
    assert script.text_document.uri == opened.uri
    return before


CREATING = Capabilities(versioned_edits=True, change_annotations=True, creates_files=True)


def test_a_module_is_made_beside_the_script(tmp_path: Path) -> None:
    created, filled = made_beside(str(tmp_path / "train.py"), CREATING)
    uri = from_fs_path(str(tmp_path / "horovod_keras3.py"))
    assert isinstance(created, types.CreateFile)
    assert isinstance(filled, types.TextDocumentEdit)
    assert created.uri == filled.text_document.uri == uri
    assert filled.text_document.version is None
    assert [e.new_text for e in filled.edits] == [runtime.text_of(runtime.KERAS_3)]  # type: ignore[union-attr]


def test_a_module_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "horovod_keras3.py").write_text("# mine\n")
    assert made_beside(str(tmp_path / "train.py"), CREATING) == []


def test_no_module_without_a_folder_or_a_client_that_makes_files(tmp_path: Path) -> None:
    assert made_beside("untitled:Untitled-1", CREATING) == []
    assert made_beside(str(tmp_path / "train.py"), FULL) == []
