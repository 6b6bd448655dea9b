"""Code actions: what is offered where, and what its edit makes of the text."""

from __future__ import annotations

import ast

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

pytestmark = pytest.mark.asyncio(loop_scope="session")

TITLE = "Distribute with Horovod"
REWRITE = "refactor.rewrite.horovodize.distribute"
QUICK_FIX = types.CodeActionKind.QuickFix

REFUSED = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, y)
"""


def distributed(text: str) -> str:
    """What the engine makes of a text; the command line writes the same."""
    plan = distribute(summarize(Document(text)), Options())
    assert isinstance(plan, Plan)
    return plan.text


def of_kind(actions: list[types.CodeAction], kind: str) -> list[types.CodeAction]:
    return [action for action in actions if action.title == TITLE and action.kind == kind]


def hints(diagnostics: list[types.Diagnostic]) -> list[types.Diagnostic]:
    return [d for d in diagnostics if d.code == "HVD001"]


# ---------------------------------------------------------------------- distribute


@pytest.mark.parametrize("name", ["keras", "tape"])
async def test_quick_fix_on_the_hint(editor, request, name):
    text = request.getfixturevalue(name)
    uri = await editor.open(text)
    (hint,) = hints(await editor.diagnostics_of(uri))
    (action,) = of_kind(await editor.actions(uri, editor.text_at(uri, hint.range), [hint]), QUICK_FIX)
    assert list(action.diagnostics) == [hint]
    assert not action.is_preferred
    edit = await editor.edit_of(action)
    assert editor.edited(edit) == {uri: distributed(text)}


@pytest.mark.parametrize(
    "marked", ["import tensor‸flow as tf", "model.‸fit(", "model.fit(x, y, batch_size=8, epochs=2)"]
)
async def test_refactoring_on_loop_and_import(editor, keras, marked):
    uri = await editor.open(keras)
    (action,) = of_kind(await editor.actions(uri, marked), REWRITE)
    assert editor.edited(await editor.edit_of(action)) == {uri: distributed(keras)}


async def test_nothing_is_offered_elsewhere(editor, keras):
    uri = await editor.open(keras)
    assert not [a for a in await editor.actions(uri, "x, ‸y = tf.ones") if a.title == TITLE]


async def test_crlf_and_non_ascii_text_survive(editor, keras):
    text = keras.replace("\nmodel =", "\n# 🐍 é \u2028 \f\nmodel =").replace("\n", "\r\n")
    uri = await editor.open(text)
    (action,) = of_kind(await editor.actions(uri, "model.‸fit("), REWRITE)
    result = editor.edited(await editor.edit_of(action))[uri]
    assert result == distributed(text)
    assert "\n" not in result.replace("\r\n", "")
    assert "# 🐍 é \u2028 \f\r\n" in result


async def test_edits_are_small_and_ordered(minimal, keras):
    """A client that can nothing gets no two edits at one place, whose order it might not keep."""
    uri = await minimal.open(keras)
    (action,) = of_kind(await minimal.actions(uri, "model.‸fit("), REWRITE)
    assert action.edit is not None
    assert action.data is None
    assert action.edit.document_changes is None
    edits = action.edit.changes[uri]
    assert len({(e.range.start.line, e.range.start.character) for e in edits}) == len(edits) > 3
    assert all(e.range.start.line == e.range.end.line for e in edits)


async def test_vs_code_gets_versioned_edits_with_an_annotation_a_rule(vscode, keras):
    uri = await vscode.open(keras)
    (action,) = of_kind(await vscode.actions(uri, "model.‸fit("), REWRITE)
    assert action.edit is None, "the edit is made when it is asked for"
    edit = await vscode.edit_of(action)
    (change,) = edit.document_changes
    assert change.text_document.version == 1
    assert all(isinstance(e, types.AnnotatedTextEdit) for e in change.edits)
    assert {e.annotation_id for e in change.edits} == set(edit.change_annotations)
    rules = [annotation.label.split()[0] for annotation in edit.change_annotations.values()]
    assert {"C1", "C2", "C5", "K1", "K3"} <= set(rules)
    assert len(rules) == len(set(rules))
    assert all(annotation.description for annotation in edit.change_annotations.values())
    (head,) = (a for a in edit.change_annotations.values() if a.label.startswith("C1 "))
    assert (
        "Weak scaling: each rank trains on batches of its own: rate × size(), steps ÷ size()."
        in head.description
    )


async def test_only_doubtful_changes_need_confirmation(vscode, doubtful):
    plan = distribute(summarize(Document(doubtful)), Options())
    assert isinstance(plan, Plan)
    doubts = {change.rule: change.doubt for change in plan.changes if not change.sure}
    assert 0 < len(doubts) < len(plan.changes)
    uri = await vscode.open(doubtful)
    (action,) = of_kind(await vscode.actions(uri, "model.‸fit("), REWRITE)
    edit = await vscode.edit_of(action)
    confirmed = [a for a in edit.change_annotations.values() if a.needs_confirmation]
    assert {a.label.split()[0]: a.description for a in confirmed} == {
        rule: f"To be confirmed: {doubt}" for rule, doubt in doubts.items()
    }


async def test_clients_that_resolve_do_and_the_others_need_not(editor, keras):
    uri = await editor.open(keras)
    for action in [a for a in await editor.actions(uri, "model.‸fit(") if a.title == TITLE]:
        assert (action.edit is None) == (action.data is not None)


@pytest.mark.parametrize("title", [TITLE, "Ignore HVD001 (not-distributed) here"])
@pytest.mark.parametrize("change", ["change", "close"])
async def test_no_edit_for_a_version_that_is_gone(vscode, keras, change, title):
    uri = await vscode.open(keras)
    action = next(a for a in await vscode.actions(uri, "model.‸fit(") if a.title == title)
    if change == "change":
        vscode.type(uri, "Adam", "SGD")
    else:
        vscode.close(uri)
    with pytest.raises(JsonRpcException) as error:
        await vscode.code_action_resolve_async(action)
    assert error.value.code == types.LSPErrorCodes.ContentModified


@pytest.mark.parametrize(
    "data", [None, 7, {"uri": 7, "version": 1}, {"uri": "file:///project/x.py"}, ["uri"]]
)
async def test_resolving_what_is_not_ours_is_an_error(vscode, data):
    with pytest.raises(JsonRpcException) as error:
        await vscode.code_action_resolve_async(types.CodeAction("?", data=data))
    assert error.value.code == -32602


async def test_resolving_what_is_refused_says_why(vscode):
    uri = await vscode.open(REFUSED)
    with pytest.raises(JsonRpcException) as error:
        await vscode.code_action_resolve_async(types.CodeAction("?", data={"uri": uri, "version": 1}))
    assert error.value.code == types.LSPErrorCodes.RequestFailed
    assert "MirroredStrategy" in error.value.message


async def test_the_light_bulb_gets_what_the_menu_gets_where_it_can_be_distributed(editor, keras):
    uri = await editor.open(keras)
    titles = [
        [a.title for a in await editor.actions(uri, "model.‸fit(", trigger=t)]
        for t in types.CodeActionTriggerKind
    ]
    assert titles[0] == titles[1]
    assert TITLE in titles[0]


async def test_the_light_bulb_does_not_offer_what_is_refused(vscode):
    """Nor does it show it disabled, as the menu does: the plan isn't made at every step of the cursor."""
    uri = await vscode.open(REFUSED)
    automatic = types.CodeActionTriggerKind.Automatic
    assert TITLE not in [a.title for a in await vscode.actions(uri, "model.‸fit(", trigger=automatic)]
    assert TITLE in [a.title for a in await vscode.actions(uri, "model.‸fit(")]


async def test_disabled_with_the_reason_where_it_is_refused(vscode, minimal):
    uri = await vscode.open(REFUSED)
    (action,) = of_kind(await vscode.actions(uri, "model.‸fit("), REWRITE)
    assert "MirroredStrategy" in action.disabled.reason
    assert action.edit is None
    assert action.data is None
    uri = await minimal.open(REFUSED)
    assert not of_kind(await minimal.actions(uri, "model.‸fit("), REWRITE)


async def test_twice_is_once(editor, keras):
    uri = await editor.open(distributed(keras))
    assert not hints(await editor.diagnostics_of(uri))
    for action in await editor.actions(uri, "model.‸fit("):
        assert action.disabled or action.title != TITLE


async def test_no_edits_while_the_file_does_not_parse(editor, keras):
    uri = await editor.open(keras)
    (hint,) = hints(await editor.diagnostics_of(uri))
    editor.type(uri, "import tensorflow as tf", "import tensorflow as tf\nx = (")
    assert await editor.actions(uri, "model.‸fit(", [hint]) == []


# ---------------------------------------------------------------------- only, unknown documents


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (None, {QUICK_FIX, REWRITE}),
        ([""], {QUICK_FIX, REWRITE}),
        (["quickfix"], {QUICK_FIX}),
        (["refactor"], {REWRITE}),
        (["refactor.rewrite"], {REWRITE}),
        ([REWRITE], {REWRITE}),
        (["refactor.rewritten"], set()),
        (["refact"], set()),
        (["source"], set()),
        (["source.fixAll"], set()),
        (["source", "refactor"], {REWRITE}),
    ],
)
async def test_only(vscode, keras, only, kinds):
    uri = await vscode.open(keras)
    actions = await vscode.actions(uri, "model.‸fit(", hints(await vscode.diagnostics_of(uri)), only)
    assert {action.kind for action in actions} == kinds


async def test_unknown_documents_have_nothing(editor, keras):
    uri = await editor.open(keras)
    editor.close(uri)
    assert await editor.actions(uri, "model.‸fit(") == []
    assert await editor.hover(uri, "model.‸fit(") is None


# ---------------------------------------------------------------------- restrictions


async def test_quick_fix_of_a_restriction(editor, printed):
    uri = await editor.open(printed.text)
    (found,) = [d for d in await editor.diagnostics_of(uri) if d.code == printed.code]
    assert editor.text_at(uri, found.range) == printed.place
    (violation,) = [v for v in check(summarize(Document(printed.text)), Options()) if v.code == printed.code]
    actions = await editor.actions(uri, printed.place, [found])
    (action,) = [a for a in actions if a.title == violation.fixes[0].title]
    assert action.kind == QUICK_FIX
    assert action.is_preferred
    assert list(action.diagnostics) == [found]
    result = editor.edited(await editor.edit_of(action))[uri]
    ast.parse(result)
    assert result != printed.text
    assert printed.code not in [d.code for d in await editor.diagnostics_of(await editor.open(result))]


@pytest.mark.parametrize("name", ["printed", "chosen"])
async def test_a_restriction_is_ignored_by_a_comment(editor, request, name):
    restricted = request.getfixturevalue(name)
    uri = await editor.open(restricted.text)
    (found,) = [d for d in await editor.diagnostics_of(uri) if d.code == restricted.code]
    actions = await editor.actions(uri, restricted.place, [found])
    (action,) = [a for a in actions if a.title.startswith(f"Ignore {restricted.code}")]
    assert list(action.diagnostics) == [found]
    assert not action.is_preferred
    result = editor.edited(await editor.edit_of(action))[uri]
    assert f"# horovodize: ignore[{restricted.code}]" in result
    assert restricted.code not in [d.code for d in await editor.diagnostics_of(await editor.open(result))]


async def test_distributing_is_offered_on_every_finding(vscode, printed):
    uri = await vscode.open(printed.text)
    found = [d for d in await vscode.diagnostics_of(uri) if d.code == printed.code]
    (action,) = of_kind(await vscode.actions(uri, "model.train‸_on_batch(x, y)", found), REWRITE)
    assert vscode.edited(await vscode.edit_of(action)) == {uri: distributed(printed.text)}


async def test_findings_the_client_did_not_send_are_acted_on_all_the_same(vscode, printed):
    uri = await vscode.open(printed.text)
    actions = await vscode.actions(uri, printed.place)
    (action,) = [a for a in actions if a.title.startswith(f"Ignore {printed.code}")]
    (diagnostic,) = action.diagnostics
    assert diagnostic.code == printed.code
    assert vscode.text_at(uri, diagnostic.range) == printed.place


async def test_an_action_is_bound_to_the_diagnostic_that_the_client_has(vscode, chosen):
    uri = await vscode.open(chosen.text)
    vscode.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    (soft,) = [d for d in await vscode.diagnostics_of(uri) if d.code == chosen.code]
    assert soft.severity == types.DiagnosticSeverity.Information
    actions = await vscode.actions(uri, chosen.place, [soft])
    (action,) = [a for a in actions if a.title.startswith(f"Ignore {chosen.code}")]
    assert list(action.diagnostics) == [soft]
