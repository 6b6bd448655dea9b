"""The index follows files: what the client is asked to watch, renames, deletions, ignore files, settings, a checkout."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from pathlib import Path

import pytest
from lsprotocol import types

from horovodize.workspace import FileSummary


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def workspace(tmp_path, keras, tape):
    for name, text in {"train.py": keras, "sub/tape.py": tape}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


async def begin(editor, capabilities, workspace):
    await editor.begin(
        capabilities, workspace_folders=[types.WorkspaceFolder(workspace.as_uri(), "workspace")]
    )
    await editor.indexed()


async def shown(editor, workspace, wanted):
    """Waits until just these files train."""
    found = None
    for _ in range(400):
        answer = await editor.protocol.send_request_async("horovodize/workspaceSummary", {})
        found = [file.uri.removeprefix(workspace.as_uri() + "/") for file in answer.folders[0].files]
        if answer.complete and found == wanted:
            return
        await asyncio.sleep(0.05)  # other processes read the files
    raise TimeoutError(f"{found}, not {wanted}")


def happened(editor, *paths):
    editor.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams(
            [types.FileEvent(path.as_uri(), types.FileChangeType.Changed) for path in paths]
        )
    )


@pytest.mark.parametrize("client", ["vscode", "neovim-new"])
async def test_the_client_is_asked_to_watch_files(fresh, client_named, client, workspace):
    await begin(fresh, client_named(client), workspace)
    methods = [registration.method for registration in fresh.registered]
    can = fresh.capabilities.workspace.did_change_watched_files.dynamic_registration
    assert (types.WORKSPACE_DID_CHANGE_WATCHED_FILES in methods) == bool(can)
    if can:
        options = next(r for r in fresh.registered if r.id == "files").register_options
        patterns = [watcher["globPattern"] for watcher in options["watchers"]]
        assert {"**/*.py", "**/.gitignore", "**/pyproject.toml"} <= set(patterns)


async def test_a_client_that_registers_nothing_is_asked_for_nothing(fresh, client_named, workspace):
    await begin(fresh, client_named("minimal"), workspace)
    assert fresh.registered == []


@pytest.mark.parametrize("client", ["vscode", "minimal"])
async def test_a_file_that_is_saved_is_read_again(fresh, client_named, client, workspace):
    """Not every client watches files."""
    await begin(fresh, client_named(client), workspace)
    path = workspace / "train.py"
    uri = await fresh.open(path.read_text(), path.as_uri())
    fresh.type(uri, "model.fit", "model.predict")
    path.write_text(fresh.texts[uri])
    fresh.save(uri)
    fresh.close(uri)
    await shown(fresh, workspace, ["sub/tape.py"])


async def test_files_and_folders_that_are_renamed_made_and_deleted(fresh, client_named, workspace, keras):
    await begin(fresh, client_named("vscode"), workspace)
    (workspace / "sub").rename(workspace / "moved")
    fresh.workspace_did_rename_files(
        types.RenameFilesParams(
            [types.FileRename((workspace / "sub").as_uri(), (workspace / "moved").as_uri())]
        )
    )
    await shown(fresh, workspace, ["moved/tape.py", "train.py"])
    (workspace / "new.py").write_text(keras)
    fresh.workspace_did_create_files(
        types.CreateFilesParams([types.FileCreate((workspace / "new.py").as_uri())])
    )
    await shown(fresh, workspace, ["moved/tape.py", "new.py", "train.py"])
    (workspace / "moved" / "tape.py").unlink()
    (workspace / "moved").rmdir()
    fresh.workspace_did_delete_files(
        types.DeleteFilesParams([types.FileDelete((workspace / "moved").as_uri())])
    )
    await shown(fresh, workspace, ["new.py", "train.py"])


async def test_a_file_that_is_renamed_or_moved(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode"), workspace)
    for old, new in (("train.py", "trained.py"), ("trained.py", "sub/trained.py")):
        (workspace / old).rename(workspace / new)
        renamed = types.FileRename((workspace / old).as_uri(), (workspace / new).as_uri())
        fresh.workspace_did_rename_files(types.RenameFilesParams([renamed]))
        await shown(fresh, workspace, sorted(["sub/tape.py", new]))


async def test_the_client_is_told_that_file_operations_are_wanted(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode"), workspace)
    wanted = fresh.server_capabilities_.workspace.file_operations
    for operation in (wanted.did_create, wanted.did_rename, wanted.did_delete):
        assert [f.pattern.glob for f in operation.filters] == ["**/*.py", "**"]


async def test_ignore_files_and_settings_on_disk(fresh, client_named, workspace):
    await begin(fresh, client_named("vscode"), workspace)
    (workspace / ".gitignore").write_text("sub/\n")
    happened(fresh, workspace / ".gitignore")
    await shown(fresh, workspace, ["train.py"])
    (workspace / ".gitignore").unlink()
    happened(fresh, workspace / ".gitignore")
    await shown(fresh, workspace, ["sub/tape.py", "train.py"])
    (workspace / "pyproject.toml").write_text('[tool.horovodize]\nexclude = ["/*.py"]\n')
    happened(fresh, workspace / "pyproject.toml")
    await shown(fresh, workspace, ["sub/tape.py"])


async def test_the_clients_exclude_wins_and_may_change(fresh, client_named, workspace):
    (workspace / "pyproject.toml").write_text('[tool.horovodize]\nexclude = ["/*.py"]\n')
    await begin(fresh, client_named("minimal"), workspace)
    await shown(fresh, workspace, ["sub/tape.py"])

    def configure(value):
        fresh.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"horovodize": {"exclude": value}})
        )

    configure(["sub"])
    await shown(fresh, workspace, ["train.py"])
    configure([])
    await shown(fresh, workspace, ["sub/tape.py", "train.py"])


async def test_patterns_of_the_client_count_from_a_folder_that_comes_later(fresh, client_named, workspace):
    await fresh.begin(client_named("minimal"), initialization_options={"exclude": ["/train.py"]})
    folder = types.WorkspaceFolder(workspace.as_uri(), "workspace")
    fresh.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([folder], []))
    )
    await shown(fresh, workspace, ["sub/tape.py"])


async def test_another_branch(fresh, client_named, workspace, keras):
    """Thousands of files change at once, and questions are answered meanwhile."""
    many = [workspace / f"package_{i % 20}" / f"module_{i}.py" for i in range(2000)]
    for path in many:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x = {path.name!r}\n")
    await begin(fresh, client_named("vscode"), workspace)
    uri = await fresh.open(keras)
    for path in many:
        path.write_text(f"y = {path.name!r}\n")
    many[1234].write_text(keras)
    for _ in range(3):
        happened(fresh, *many)
    assert await fresh.hover(uri, "model.f‸it(") is not None
    await shown(fresh, workspace, ["package_14/module_1234.py", "sub/tape.py", "train.py"])


async def test_the_index_is_made_anew_on_command(fresh, client_named, workspace, keras):
    await begin(fresh, client_named("minimal"), workspace)
    (workspace / "unseen.py").write_text(keras)  # nobody says so
    await shown(fresh, workspace, ["sub/tape.py", "train.py"])
    assert await fresh.command("horovodize.reindex") is None
    await shown(fresh, workspace, ["sub/tape.py", "train.py", "unseen.py"])


async def test_what_the_cache_has_wrong_is_forgotten_on_command(fresh, client_named, workspace):
    await begin(fresh, client_named("minimal"), workspace)
    await shown(fresh, workspace, ["sub/tape.py", "train.py"])
    with sqlite3.connect(Path(os.environ["HOROVODIZE_CACHE_DIR"]) / "index.sqlite3") as database:
        changed = database.execute("UPDATE summaries SET summary = ?", (json.dumps(FileSummary().to_json()),))
        assert changed.rowcount >= 2
    assert await fresh.command("horovodize.reindex") is None
    await shown(fresh, workspace, ["sub/tape.py", "train.py"])
