"""What is reported about files that are not open: asked for by `workspace/diagnostic`, or sent to clients that can't ask."""

from __future__ import annotations

import pytest
from lsprotocol import types

ON = {"diagnostics": {"closedFiles": True}}
PULLING, PUSHED = ["vscode-new"], ["vscode", "neovim", "minimal"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def workspace(tmp_path, keras, chosen):
    top = tmp_path / "my workspace"
    for name, text in {
        "good.py": keras,
        "sub/bad.py": chosen.text,
        "broken.py": "import keras\nx = (\n",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def folders(*paths):
    return [types.WorkspaceFolder(path.as_uri(), path.name) for path in paths]


def codes(diagnostics):
    return [diagnostic.code for diagnostic in diagnostics]


async def begin(editor, capabilities, workspace, options=ON):
    await editor.begin(capabilities, workspace_folders=folders(workspace), initialization_options=options)


async def pulled(editor, *known, **params):
    await editor.indexed()
    report = await editor.pull_all(known, **params)
    return {item.uri.rpartition("/")[2]: item for item in report.items}


def results(reports):
    return [types.PreviousResultId(item.uri, item.result_id) for item in reports.values()]


def sent(editor, path):
    """What was last sent about a file; None: nothing yet."""
    found = [p for p in editor.published if p.uri == path.as_uri()]
    return list(found[-1].diagnostics) if found else None


# ---------------------------------------------------------------------- asked for


async def test_closed_files_are_reported_on_where_the_user_wants_that(fresh, client_named, workspace, chosen):
    await begin(fresh, client_named("vscode-new"), workspace)
    found = await pulled(fresh)
    assert sorted(found) == ["bad.py", "broken.py"]
    (diagnostic,) = found["bad.py"].items
    assert (diagnostic.code, diagnostic.source) == (chosen.code, "horovodize")
    assert diagnostic.range.start == types.Position(5, 24)
    assert diagnostic.code_description.href.endswith(f"{chosen.code}.md")
    assert diagnostic.severity is types.DiagnosticSeverity.Warning
    assert found["bad.py"].version is None
    assert codes(found["broken.py"].items) == ["HVD003"]


async def test_closed_files_are_not_reported_on_otherwise(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode-new"), workspace, options={})
    assert await pulled(fresh) == {}


async def test_what_the_client_knows_is_unchanged(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode-new"), workspace)
    first = await pulled(fresh)
    again = await pulled(fresh, *results(first))
    assert {item.kind for item in again.values()} == {"unchanged"}
    assert {name: item.result_id for name, item in again.items()} == {
        name: item.result_id for name, item in first.items()
    }
    (workspace / "broken.py").write_text("x = 1\n")
    fresh.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams(
            [types.FileEvent((workspace / "broken.py").as_uri(), types.FileChangeType.Changed)]
        )
    )
    await fresh.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in fresh.refreshed)
    third = await pulled(fresh, *results(first))
    assert third["bad.py"].kind == "unchanged"
    assert not third["broken.py"].items  # it has nothing any more, and is told once
    assert "broken.py" not in await pulled(fresh)


async def test_parts_are_sent_to_who_wants_them(fresh, client_named, workspace, chosen):
    for i in range(120):
        (workspace / f"bad_{i}.py").write_text(chosen.text)
    await begin(fresh, client_named("vscode-new"), workspace)
    whole = await pulled(fresh)
    assert len(whole) == 122
    assert await pulled(fresh, partial_result_token="parts") == {}
    parts = [p.value for p in fresh.progressed if p.token == "parts"]
    assert len(parts) == 3
    items = [item for part in parts for item in (part["items"] if isinstance(part, dict) else part.items)]
    uris = [item["uri"] if isinstance(item, dict) else item.uri for item in items]
    assert sorted(uris) == sorted(item.uri for item in whole.values())


async def test_open_files_are_asked_for_one_by_one(fresh, client_named, workspace, chosen):
    await begin(fresh, client_named("vscode-new"), workspace)
    path = workspace / "sub" / "bad.py"
    before = await pulled(fresh)
    uri = await fresh.open(path.read_text(), path.as_uri())
    assert not (await pulled(fresh, *results(before)))["bad.py"].items
    fresh.close(uri)
    assert codes((await pulled(fresh))["bad.py"].items) == [chosen.code]


async def test_the_setting_is_each_folders_own(fresh, client_named, workspace, tmp_path, chosen):
    other = tmp_path / "other"
    other.mkdir()
    (other / "quiet.py").write_text(chosen.text)
    fresh.set_configuration({"horovodize": ON}, scope_uri=workspace.as_uri())
    await fresh.begin(client_named("vscode-new"), workspace_folders=folders(workspace, other))
    await fresh.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in fresh.refreshed)
    assert sorted(await pulled(fresh)) == ["bad.py", "broken.py"]


async def test_only_wanted_codes_are_reported(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode-new"), workspace, {**ON, "ignore": ["HVD105"]})
    assert sorted(await pulled(fresh)) == ["broken.py"]


# ---------------------------------------------------------------------- sent


@pytest.mark.parametrize("client", PUSHED)
async def test_clients_that_cannot_ask_are_sent_it(fresh, client_named, client, workspace, chosen):
    await begin(fresh, client_named(client), workspace)
    path = workspace / "sub" / "bad.py"
    await fresh.until(lambda: sent(fresh, path))
    assert codes(sent(fresh, path)) == [chosen.code]

    uri = await fresh.open(path.read_text(), path.as_uri())
    fresh.type(uri, "choices[name]", '"adam"')
    await fresh.diagnostics_of(uri)
    assert chosen.code not in codes(sent(fresh, path))
    fresh.close(uri)  # unsaved: what is on disk counts again
    await fresh.until(lambda: codes(sent(fresh, path)) == [chosen.code])

    path.unlink()
    fresh.workspace_did_delete_files(types.DeleteFilesParams([types.FileDelete(path.as_uri())]))
    await fresh.until(lambda: sent(fresh, path) == [])


@pytest.mark.parametrize("client", [*PULLING, *PUSHED[:1]])
async def test_what_was_reported_goes_with_its_folder(fresh, client_named, client, workspace, chosen):
    await begin(fresh, client_named(client), workspace)
    path = workspace / "sub" / "bad.py"
    if client in PULLING:
        assert codes((await pulled(fresh))["bad.py"].items) == [chosen.code]
        await fresh.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in fresh.refreshed)
        fresh.refreshed.clear()
    else:
        await fresh.until(lambda: sent(fresh, path))
    event = types.WorkspaceFoldersChangeEvent([], folders(workspace))
    fresh.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    if client in PULLING:
        await fresh.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in fresh.refreshed)
        assert await pulled(fresh) == {}
    else:
        await fresh.until(lambda: sent(fresh, path) == [])


async def test_nothing_is_sent_unless_the_user_wants_it(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode"), workspace, options={})
    await fresh.indexed()
    await fresh.open("x = 1\n")
    assert sent(fresh, workspace / "sub" / "bad.py") is None


async def test_the_setting_may_change(fresh, client_named, workspace):
    await begin(fresh, client_named("minimal"), workspace, options={})
    await fresh.indexed()

    def configure(value):
        fresh.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"horovodize": {"diagnostics": {"closedFiles": value}}})
        )

    configure(True)
    await fresh.until(lambda: sent(fresh, workspace / "sub" / "bad.py"))
    configure(False)
    await fresh.until(lambda: sent(fresh, workspace / "sub" / "bad.py") == [])


async def test_uris_are_written_as_the_client_writes_them(fresh, client_named, tmp_path, chosen):
    (tmp_path / "a+b").mkdir()
    path = tmp_path / "a+b" / "bad.py"
    path.write_text(chosen.text)
    top = f"file://{path.parent}"  # not `a%2Bb`
    await fresh.begin(
        client_named("vscode-new"),
        workspace_folders=[types.WorkspaceFolder(top, "a+b")],
        initialization_options=ON,
    )
    await fresh.indexed()
    (report,) = (await fresh.pull_all()).items
    assert report.uri == f"{top}/bad.py"
    await fresh.open(chosen.text, f"{top}/bad.py")
    assert (await fresh.pull_all()).items in ([], ())
