"""Commands: distribute, preview, explain, debug information."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from horovodize.distribute import distribute
from horovodize.documentation import every_page, find_page
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

pytestmark = pytest.mark.asyncio(loop_scope="session")

REFUSED = "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\ntf.keras.Model().fit(x, y)\n"
DISTRIBUTE, PREVIEW, EXPLAIN, DEBUG = (
    f"horovodize.{name}" for name in ("distribute", "preview", "explain", "debugInformation")
)


def plan_of(text: str) -> Plan:
    plan = distribute(summarize(Document(text)), Options())
    assert isinstance(plan, Plan)
    return plan


async def test_all_are_announced(vscode):
    provider = vscode.server_capabilities_.execute_command_provider
    assert {DISTRIBUTE, PREVIEW, EXPLAIN, DEBUG} <= set(provider.commands)


async def test_unknown_commands_are_an_error(editor):
    with pytest.raises(JsonRpcException) as error:
        await editor.command("horovodize.nonsense")
    assert error.value.code == -32602


# ---------------------------------------------------------------------- distribute


async def test_distribute_needs_a_client_that_applies_edits(minimal, keras):
    uri = await minimal.open(keras)
    with pytest.raises(JsonRpcException, match="applies no edits"):
        await minimal.command(DISTRIBUTE, uri)


async def test_what_is_refused_is_not_distributed(vscode, keras):
    uri = await vscode.open(REFUSED)
    vscode.asked_to_apply.clear()
    with pytest.raises(JsonRpcException, match="MirroredStrategy") as error:
        await vscode.command(DISTRIBUTE, uri)
    assert error.value.code == types.LSPErrorCodes.RequestFailed
    with pytest.raises(JsonRpcException, match="already"):
        await vscode.command(DISTRIBUTE, await vscode.open(plan_of(keras).text))
    assert vscode.asked_to_apply == []


async def test_no_edit_for_another_version(vscode, keras):
    uri = await vscode.open(keras)
    vscode.type(uri, "epochs=2", "epochs=3")
    vscode.asked_to_apply.clear()
    with pytest.raises(JsonRpcException) as error:
        await vscode.command(DISTRIBUTE, {"uri": uri, "version": 1})
    assert error.value.code == types.LSPErrorCodes.ContentModified
    await vscode.command(DISTRIBUTE, {"uri": uri, "version": 2})
    assert len(vscode.asked_to_apply) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], -32602),
        ([7], -32602),
        ([{"uri": 7}], -32602),
        (["file:///project/never_opened.py"], types.LSPErrorCodes.RequestFailed),
    ],
)
async def test_wrong_arguments_are_told(vscode, arguments, code):
    with pytest.raises(JsonRpcException) as error:
        await vscode.command(DISTRIBUTE, *arguments)
    assert error.value.code == code


# ---------------------------------------------------------------------- preview


async def test_preview_has_texts_and_reasons(editor, doubtful):
    uri = await editor.open(doubtful)
    (previewed,) = await editor.command(PREVIEW, uri)
    plan = plan_of(doubtful)
    assert (previewed["uri"], previewed["version"]) == (uri, 1)
    assert (previewed["oldText"], previewed["newText"]) == (doubtful, plan.text)
    assert [(c["rule"], c["what"], c["why"], c["sure"], c["doubt"]) for c in previewed["changes"]] == [
        (c.rule, c.what, c.why, c.sure, c.doubt) for c in plan.changes
    ]
    assert {c["sure"] for c in previewed["changes"]} == {True, False}
    first = previewed["changes"][0]["location"]
    place = types.Range(*(types.Position(**first["range"][end]) for end in ("start", "end")))
    span = plan.changes[0].span
    assert editor.text_at(uri, place) == doubtful[span.start : span.end]


async def test_preview_says_why_not(editor, keras):
    (previewed,) = await editor.command(PREVIEW, await editor.open(REFUSED))
    assert "MirroredStrategy" in previewed["refused"][0]["message"]
    assert previewed["refused"][0]["code"] == "HVD202"
    assert previewed["refused"][0]["location"]["range"]["start"]["line"] > 0
    (previewed,) = await editor.command(PREVIEW, await editor.open(plan_of(keras).text))
    assert previewed["unchanged"] == "it uses Horovod already"


# ---------------------------------------------------------------------- explain, debug information


@pytest.mark.parametrize("name", ["C5", "HVD105", "aliased-optimizer", "HVD006"])
async def test_explain_gives_the_page(editor, name):
    page = find_page(name)
    assert page is not None
    assert await editor.command(EXPLAIN, name) == page.text


async def test_explain_offers_all_pages_to_choose_from(editor):
    offered = await editor.command(EXPLAIN)
    assert {"id": "HVD105", "name": "aliased-optimizer"}.items() <= offered[
        [p["id"] for p in offered].index("HVD105")
    ].items()
    assert [(page["id"], page["title"]) for page in offered] == [(p.id, p.title) for p in every_page()]


@pytest.mark.parametrize("arguments", [["HVD999"], [5], ["C5", "C4"]])
async def test_explain_knows_nothing_else(vscode, arguments):
    with pytest.raises(JsonRpcException) as error:
        await vscode.command(EXPLAIN, *arguments)
    assert error.value.code == -32602


async def test_debug_information_has_state_but_no_text(editor, chosen):
    uri = await editor.open(chosen.text)
    broken = await editor.open("import tensorflow as tf\nx = (\n")
    told = await editor.command(DEBUG)
    for expected in (
        "# Horovodize",
        "Python 3",
        "pygls 2",
        uri,
        broken,
        "does not parse",
        "keras",
        chosen.code,
    ):
        assert expected in told
    assert editor.encoding in told
    assert "choices" not in told
