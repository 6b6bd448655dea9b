"""Diagnostics that the client asks for: not sent as well, "unchanged" where they are, asked for again after other changes."""

from __future__ import annotations

import asyncio

from lsprotocol import types

REFRESH = types.WORKSPACE_DIAGNOSTIC_REFRESH


async def until(condition) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


async def test_who_asks_is_not_sent_them_too(fresh, client_named, chosen):
    await fresh.begin(client_named("vscode-new"))
    uri = await fresh.open(chosen.text)
    assert chosen.code in [d.code for d in await fresh.diagnostics_of(uri)]
    fresh.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    soft = await fresh.diagnostics_of(uri)
    assert {d.severity for d in soft if d.code == chosen.code} == {types.DiagnosticSeverity.Information}
    fresh.close(uri)
    assert await fresh.diagnostics_of(uri) == []
    assert fresh.published == []


async def test_unchanged_is_said_until_something_changes(fresh, client_named, chosen):
    await fresh.begin(client_named("vscode-new"))
    uri = await fresh.open(chosen.text)
    first = await fresh.pull(uri)
    assert first.items
    again = await fresh.pull(uri, first.result_id)
    assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
    assert again.result_id == first.result_id
    assert isinstance(await fresh.pull(uri, "other"), types.RelatedFullDocumentDiagnosticReport)
    fresh.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    changed = await fresh.pull(uri, first.result_id)
    assert isinstance(changed, types.RelatedFullDocumentDiagnosticReport)
    assert changed.result_id != first.result_id


async def test_saving_and_settings_ask_the_client_to_ask_again(fresh, client_named, chosen):
    await fresh.begin(client_named("vscode-new"))
    uri = await fresh.open(chosen.text)
    fresh.save(uri)  # as it was opened: nothing gets louder
    fresh.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    await fresh.pull(uri)
    assert REFRESH not in fresh.refreshed
    fresh.save(uri)
    await until(lambda: fresh.refreshed.count(REFRESH) == 1)
    loud = await fresh.diagnostics_of(uri)
    assert {d.severity for d in loud if d.code == chosen.code} == {types.DiagnosticSeverity.Warning}
    fresh.set_configuration({"diagnostics": {"notDistributed": False}}, section="horovodize")
    fresh.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    await until(lambda: fresh.refreshed.count(REFRESH) == 2)
    assert "HVD001" not in [d.code for d in await fresh.diagnostics_of(uri)]


async def test_who_could_not_be_told_to_ask_again_is_sent_them(fresh, client_named, keras):
    """Nothing would ever get loud on save there."""
    client = client_named("vscode-new")
    client.workspace.diagnostics = None
    await fresh.begin(client)
    assert not fresh.pulls
    uri = await fresh.open(keras)
    assert await fresh.diagnostics_of(uri)
    assert fresh.published


async def test_documents_that_are_not_open_have_none(fresh, client_named):
    await fresh.begin(client_named("vscode-new"))
    assert await fresh.diagnostics_of("file:///project/never_opened.py") == []
