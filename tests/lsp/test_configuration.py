"""Settings: at the start, asked for, pushed; wrong ones are told."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

Severity = types.DiagnosticSeverity


async def until(condition) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


async def test_initialization_options(fresh, client_named, keras):
    await fresh.begin(
        client_named("neovim"), initialization_options={"diagnostics": {"notDistributed": False}}
    )
    uri = await fresh.open(keras)
    assert await fresh.diagnostics_of(uri) == []
    actions = await fresh.actions(uri, "model.‸fit(")
    assert [a.kind for a in actions] == ["refactor.rewrite.horovodize.distribute"]


async def test_configuration_is_asked_for(fresh, client_named, keras):
    fresh.set_configuration({"diagnostics": {"notDistributed": False}}, section="horovodize")
    await fresh.begin(client_named("vscode"))
    uri = await fresh.open(keras)
    await until(lambda: fresh.published and not fresh.published[-1].diagnostics)
    fresh.set_configuration({"diagnostics": {"notDistributed": True}}, section="horovodize")
    fresh.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    await until(lambda: fresh.published[-1].diagnostics)
    assert fresh.published[-1].uri == uri


@pytest.mark.parametrize("client", ["vscode", "neovim-new", "minimal"])
async def test_who_has_to_be_asked_to_tell_of_changes_is_asked(fresh, client_named, client):
    capabilities = client_named(client)
    await fresh.begin(capabilities)
    await fresh.command("horovodize.explain", "C5")
    found = [r for r in fresh.registered if r.method == types.WORKSPACE_DID_CHANGE_CONFIGURATION]
    asked = capabilities.workspace and capabilities.workspace.did_change_configuration
    assert len(found) == bool(asked and asked.dynamic_registration)
    assert [r.register_options["section"] for r in found] == ["horovodize"] * len(found)


async def test_lenses_can_be_switched_off_and_on_again(fresh, client_named, keras):
    await fresh.begin(client_named("vscode"))
    uri = await fresh.open(keras)
    for wanted, shown in ((False, 0), (True, 2)):
        fresh.refreshed.clear()
        fresh.set_configuration({"codeLens": wanted}, section="horovodize")
        fresh.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await fresh.until(lambda: types.WORKSPACE_CODE_LENS_REFRESH in fresh.refreshed)
        assert len(await fresh.lenses(uri)) == shown


async def test_configuration_is_pushed(fresh, client_named, keras):
    await fresh.begin(client_named("neovim"))
    uri = await fresh.open(keras)
    assert await fresh.diagnostics_of(uri)
    settings = {"editor": {"tabSize": 2}, "horovodize": {"diagnostics": {"notDistributed": False}}}
    fresh.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    assert await fresh.diagnostics_of(uri, count=2) == []
    assert not fresh.messages


@pytest.mark.parametrize(
    ("value", "severities"), [("same", {Severity.Warning}), ("off", set()), ("soft", {Severity.Information})]
)
async def test_while_typing(fresh, client_named, chosen, value, severities):
    await fresh.begin(client_named("neovim"), initialization_options={"diagnostics": {"whileTyping": value}})
    uri = await fresh.open(chosen.text)
    fresh.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    found = await fresh.diagnostics_of(uri)
    assert {d.severity for d in found if d.code == chosen.code} == severities
    assert [d for d in found if d.code == "HVD001"]
    fresh.save(uri)
    found = await fresh.diagnostics_of(uri, count=2)
    assert {d.severity for d in found if d.code == chosen.code} == {Severity.Warning}


async def test_the_engines_options(fresh, client_named, keras):
    await fresh.begin(client_named("neovim"), initialization_options={"comments": False})
    uri = await fresh.open(keras)
    action = (await fresh.actions(uri, "model.‸fit("))[0]
    assert "#" not in fresh.edited(await fresh.edit_of(action))[uri]
    fresh.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"horovodize": {"comments": True}})
    )
    action = (await fresh.actions(uri, "model.‸fit("))[0]
    assert "#" in fresh.edited(await fresh.edit_of(action))[uri]


async def test_wrong_settings_are_told_once_and_the_default_used(fresh, client_named, keras):
    await fresh.begin(
        client_named("neovim"), initialization_options={"diagnostics": {"notDistributed": "no"}}
    )
    uri = await fresh.open(keras)
    assert await fresh.diagnostics_of(uri)
    await until(lambda: fresh.messages)
    fresh.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"horovodize": {"strict": True}})
    )
    await fresh.diagnostics_of(uri, count=2)
    (message,) = fresh.messages
    assert message.type == types.MessageType.Warning
    assert message.message == "horovodize.diagnostics.notDistributed: 'no' is not true or false; true is used"
