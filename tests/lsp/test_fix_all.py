"""Mending many findings at once."""

from __future__ import annotations

import dataclasses

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from horovodize.lsp.fixing import edits_of
from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.restrictions.violation import Fix, Violation
from horovodize.source import Document, Edit, Span
from horovodize.source.edits import apply
from horovodize.summary import summarize

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIX_ALL = "source.fixAll.horovodize"
TITLE = "Fix all HVD104 (printed-effect) in this file"


def found(text: str, code: str) -> list[Violation]:
    return [v for v in check(summarize(Document(text)), Options()) if v.code == code]


@pytest.mark.parametrize("only", [["source.fixAll"], ["source"], [FIX_ALL]])
async def test_all_that_is_safe_is_fixed(editor, printed_twice, only):
    text = printed_twice.text
    assert len(found(text, "HVD104")) == 2
    uri = await editor.open(text)
    (action,) = await editor.actions(uri, text.strip(), only=only)
    assert action.kind == FIX_ALL
    result = editor.edited(await editor.edit_of(action))[uri]
    assert found(result, "HVD104") == []
    assert result.count("model.train_on_batch(x, y)") == 2
    assert "print(" in result
    again = await editor.open(result)
    assert await editor.actions(again, "import tensorflow", only=only) == []


async def test_all_of_one_code_from_one_finding(editor, printed_twice):
    uri = await editor.open(printed_twice.text)
    diagnostics = [d for d in await editor.diagnostics_of(uri) if d.code == "HVD104"]
    actions = await editor.actions(uri, printed_twice.place, diagnostics[:1], only=["quickfix"])
    (action,) = [a for a in actions if a.title == TITLE]
    assert list(action.diagnostics) == diagnostics[:1]
    assert not action.is_preferred
    result = editor.edited(await editor.edit_of(action))[uri]
    assert found(result, "HVD104") == []


async def test_one_finding_alone_needs_no_fix_of_all(editor, printed):
    uri = await editor.open(printed.text)
    titles = [a.title for a in await editor.actions(uri, printed.place, only=["quickfix"])]
    assert TITLE not in titles


async def test_nothing_is_fixed_where_nothing_can_be(editor, chosen):
    uri = await editor.open(chosen.text)
    assert await editor.actions(uri, chosen.place, only=["source.fixAll"]) == []


async def test_no_fix_for_a_version_that_is_gone(vscode, printed_twice):
    uri = await vscode.open(printed_twice.text)
    (action,) = await vscode.actions(uri, "import tensorflow", only=[FIX_ALL])
    vscode.type(uri, "range(5)", "range(6)")
    with pytest.raises(JsonRpcException) as error:
        await vscode.code_action_resolve_async(action)
    assert error.value.code == types.LSPErrorCodes.ContentModified


def violation(*fixes: Fix) -> Violation:
    return Violation("HVD104", "printed-effect", "", Span(0, 1), fixes=fixes)


async def test_fixes_that_get_in_each_others_way_and_choices_are_left():
    document = Document("a = 1\nb = 2\n")
    first = violation(Fix("x", (Edit(Span(0, 1), "x"),)))
    against = violation(Fix("y", (Edit(Span(0, 1), "y"),)))
    breaks = violation(Fix("(", (Edit(Span(6, 7), "("),)))
    choice = violation(Fix("1", (Edit(Span(6, 7), "c"),)), Fix("2", (Edit(Span(6, 7), "d"),)))
    last = violation(Fix("z", (Edit(Span(10, 11), "3"),)))
    edits = edits_of(document, [first, against, breaks, choice, last])
    assert apply(document.text, edits) == "x = 1\nb = 3\n"
    other = dataclasses.replace(first, code="HVD101", fixes=(Fix("w", (Edit(Span(4, 5), "w"),)),))
    assert apply(document.text, edits_of(document, [first, other], "HVD101")) == "a = w\nb = 2\n"
    assert apply(document.text, edits_of(document, [first, other])) == "x = w\nb = 2\n"
    same = violation(Fix("x", (Edit(Span(0, 1), "x"),)))
    assert apply(document.text, edits_of(document, [first, same])) == "x = 1\nb = 2\n"
