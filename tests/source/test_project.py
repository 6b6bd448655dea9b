"""Several modules as one document: positions, edits and line ends of each file."""

from __future__ import annotations

import ast

import pytest

from horovodize.source import Document, Edit, EditConflict, Move, Place, Span
from horovodize.source.edits import apply, compose
from horovodize.source.project import ProjectDocument

FIRST = "a = 1\r\nb = 2\r\n"
SECOND = "c = 3"  # no line end at its end
SCRIPT = "import first\n\n\ndef f():\n    return first.a\n"


def project() -> ProjectDocument:
    return ProjectDocument(
        [Document(FIRST, "first.py"), Document(SECOND, "second.py"), Document(SCRIPT, "train.py")]
    )


def at(document: ProjectDocument, text: str) -> int:
    return document.text.index(text)


def test_the_script_is_the_last_and_gives_the_path_and_the_tree():
    document = project()
    assert document.script.text == SCRIPT
    assert document.path == "train.py"
    assert document.tree is document.trees[-1]


def test_trees_have_the_lines_of_the_whole():
    document = project()
    for tree, member in zip(document.trees, document.members, strict=True):
        for statement, own in zip(tree.body, ast.parse(member.text).body, strict=True):
            start = document.span(statement).start
            assert document.text[start:].startswith(ast.get_source_segment(member.text, own) or "?")
            assert document.member_at(start) == document.members.index(member)


def test_the_trees_of_the_files_themselves_are_not_moved():
    document = project()
    script = document.members[-1]
    assert script.tree is not None
    before = script.tree.body[0].lineno
    _ = document.trees
    assert script.tree.body[0].lineno == before == 1


def test_places_count_from_the_start_of_their_file():
    document = project()
    assert document.place(at(document, "b = 2")) == Place(2, 1)
    assert document.place(at(document, "c = 3") + 4) == Place(1, 5)
    assert document.place(at(document, "return")) == Place(5, 5)
    assert document.separates(at(document, "b = 2"), at(document, "c = 3"))
    assert not document.separates(at(document, "a = 1"), at(document, "b = 2"))


def test_a_file_that_does_not_parse_is_empty_and_a_script_that_does_not_is_a_problem():
    broken = Document("print 'a'\n", "old.py")
    document = ProjectDocument([broken, Document(SCRIPT, "train.py")])
    assert document.trees[0].body == []
    assert document.problem is None
    reversed_ = ProjectDocument([Document(SCRIPT, "other.py"), broken])
    assert reversed_.problem is not None
    assert reversed_.text[reversed_.problem.span.start :].startswith("print")


def test_edits_are_cut_out_by_file_with_its_line_ends():
    document = project()
    edits = compose(
        document.text,
        [
            Edit.insert(at(document, "b = 2"), "x = 0\n"),
            Edit.insert(at(document, "c = 3") + 5, "\nd = 4"),
            Edit(Span(at(document, "first.a"), at(document, "first.a") + 7), "1"),
        ],
    )
    found = {member.path: apply(member.text, own) for member, own in document.by_member(edits)}
    assert found == {
        "first.py": "a = 1\r\nx = 0\r\nb = 2\r\n",
        "second.py": "c = 3\nd = 4",
        "train.py": SCRIPT.replace("first.a", "1"),
    }


def test_only_files_that_change_are_named():
    document = project()
    edits = [Edit.insert(at(document, "c = 3"), "# here\n")]
    assert [member.path for member, _ in document.by_member(edits)] == ["second.py"]


def test_an_edit_over_the_end_of_a_file_is_a_conflict():
    document = project()
    with pytest.raises(EditConflict):
        document.by_member([Edit(Span(at(document, "b = 2"), at(document, "c = 3") + 1), "")])


def test_verify_parses_every_file_by_itself():
    document = project()
    document.verify([Edit.insert(at(document, "c = 3"), "d = ")])
    with pytest.raises(SyntaxError):
        document.verify([Edit.insert(at(document, "b = 2"), "(")])


@pytest.mark.parametrize("script", [SCRIPT, SCRIPT.replace("\n", "\r\n")])
def test_edits_of_the_script_are_the_same_by_themselves(script):
    document = ProjectDocument([Document(FIRST, "first.py"), Document(script, "train.py")])
    call = Span(at(document, "first.a"), at(document, "first.a") + 7)
    line = at(document, "return")
    edits = [
        *Edit.around(call, "(", ")", 3),
        Move(call, line, "x = ", "\n    ", "x", Span(line, call.end), -2),
    ]
    ((_, expected),) = document.by_member(compose(document.text, edits))
    alone = compose(script, [document.local_edit(1, e) for e in edits])
    assert apply(script, alone) == apply(script, expected)
    assert "x = (first.a)" in apply(script, alone)
    assert document.local_span(1, call) == Span(script.index("first.a"), script.index("first.a") + 7)
