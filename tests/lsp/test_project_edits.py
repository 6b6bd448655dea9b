"""Distribute over several files: open buffers before the disk, nothing outside the workspace, nothing out of date."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"
TITLE = "Distribute with Horovod"
REWRITE = "refactor.rewrite.horovodize.distribute"
CLIENTS = ["vscode", "neovim", "neovim-new", "minimal"]
CHANGED = ["data.py", "optim.py", "step.py", "train.py"]

every_client = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture
def project(tmp_path):
    """A project on disk, without what is expected of it."""
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    return Path(
        shutil.copytree(PROJECTS / "four_modules", tmp_path / "work space" / "project", ignore=ignored)
    )


def expected(name):
    return (PROJECTS / "four_modules" / name).with_suffix(".expected.py").read_text()


def folder(path):
    return types.WorkspaceFolder(path.as_uri(), path.name)


async def begin(editor, client_named, client, *folders):
    await editor.begin(client_named(client), workspace_folders=[folder(path) for path in folders])


async def opened(editor, path):
    return await editor.open(path.read_text(), path.as_uri())


async def action_of(editor, uri, marked="import d‸ata"):
    (action,) = [a for a in await editor.actions(uri, marked) if a.kind == REWRITE]
    return action


async def texts_after(editor, edit):
    """The texts after an edit, by file name; files that are not open are taken from the disk."""
    assert edit.document_changes is not None or edit.changes is not None
    uris = (
        [c.text_document.uri for c in edit.document_changes]
        if edit.document_changes is not None
        else list(edit.changes or {})
    )
    for uri in uris:
        if uri not in editor.versions:
            editor.texts[uri], editor.versions[uri] = Path(types_path(uri)).read_text(), None
    assert len(uris) == len(set(uris))
    return {Path(types_path(uri)).name: text for uri, text in editor.edited(edit).items()}


def types_path(uri):
    from pygls.uris import to_fs_path

    path = to_fs_path(uri)
    assert path is not None
    return path


@every_client
async def test_files_on_disk_are_edited_too(fresh, client_named, client, project):
    await begin(fresh, client_named, client, project)
    uri = await opened(fresh, project / "train.py")
    edit = await fresh.edit_of(await action_of(fresh, uri))
    after = await texts_after(fresh, edit)
    assert after == {name: expected(name) for name in CHANGED}


async def test_open_files_have_versions_and_files_on_disk_have_none(fresh, client_named, project):
    await begin(fresh, client_named, "vscode", project.parent)
    uri = await opened(fresh, project / "train.py")
    optim = await opened(fresh, project / "optim.py")
    fresh.type(optim, "0.01", "0.02")
    edit = await fresh.edit_of(await action_of(fresh, uri))
    versions = {
        Path(types_path(c.text_document.uri)).name: c.text_document.version for c in edit.document_changes
    }
    assert versions == {"train.py": 1, "optim.py": 2, "data.py": None, "step.py": None}


async def test_changes_are_told_apart_by_file(fresh, client_named, project):
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    edit = await fresh.edit_of(await action_of(fresh, uri))
    assert edit.change_annotations
    for change in edit.document_changes:
        name = Path(types_path(change.text_document.uri)).name
        for piece in change.edits:
            annotation = edit.change_annotations[piece.annotation_id]
            assert annotation.description.startswith(f"{name}: ")
            assert not annotation.needs_confirmation


@every_client
async def test_open_buffers_win_over_the_disk(fresh, client_named, client, project):
    await begin(fresh, client_named, client, project)
    uri = await opened(fresh, project / "train.py")
    optim = await opened(fresh, project / "optim.py")
    fresh.type(optim, "learning_rate=rate", "learning_rate=7 * rate")
    after = await texts_after(fresh, await fresh.edit_of(await action_of(fresh, uri)))
    assert "learning_rate=7 * rate * hvd.size()" in after["optim.py"]

    fresh.close(optim)  # unsaved: the disk has the text that counts again
    del fresh.versions[optim]
    after = await texts_after(fresh, await fresh.edit_of(await action_of(fresh, uri)))
    assert after["optim.py"] == expected("optim.py")


async def test_what_changed_after_the_offer_is_seen(fresh, client_named, project):
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    action = await action_of(fresh, uri)
    assert action.edit is None
    path = project / "optim.py"
    path.write_text("# new\n" + path.read_text())
    after = await texts_after(fresh, await fresh.edit_of(action))
    assert after["optim.py"].startswith("# new\n")
    path.unlink()
    assert "optim.py" not in await texts_after(fresh, await fresh.edit_of(await action_of(fresh, uri)))


async def test_a_script_that_changed_since_is_not_edited(fresh, client_named, project):
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    action = await action_of(fresh, uri)
    fresh.type(uri, "range(2)", "range(3)")
    with pytest.raises(JsonRpcException) as raised:
        await fresh.edit_of(action)
    assert raised.value.code == types.LSPErrorCodes.ContentModified


async def obstacle(editor, uri):
    action = await action_of(editor, uri)
    assert action.disabled is not None
    return action.disabled.reason


async def test_nothing_is_read_outside_the_workspace(fresh, client_named, project, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(project, outside)
    for name in ("optim.py", "step.py"):
        (project / name).unlink()
        (project / name).symlink_to(outside / name)
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    assert "no training loop" in await obstacle(fresh, uri)
    elsewhere = await opened(fresh, outside / "train.py")
    assert "no training loop" in await obstacle(fresh, elsewhere)


async def test_links_inside_the_workspace_are_followed(fresh, client_named, project):
    (project / "real").mkdir()
    (project / "optim.py").rename(project / "real" / "optim.py")
    (project / "optim.py").symlink_to(project / "real" / "optim.py")
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    assert (await action_of(fresh, uri)).disabled is None


async def test_folders_come_and_go(fresh, client_named, project):
    await begin(fresh, client_named, "vscode")
    uri = await opened(fresh, project / "train.py")
    assert "no training loop" in await obstacle(fresh, uri)

    def change(added, removed):
        fresh.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent(added, removed))
        )

    change([folder(project)], [])
    assert (await action_of(fresh, uri)).disabled is None
    change([], [folder(project)])
    assert "no training loop" in await obstacle(fresh, uri)


async def test_a_module_that_is_being_typed_is_named(fresh, client_named, project):
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    step = await opened(fresh, project / "step.py")
    fresh.type(step, "return loss", "return (loss")
    reason = await obstacle(fresh, uri)
    assert "`step.py`" in reason
    assert "could not be read" in reason


async def test_large_and_unreadable_files_are_passed_over(fresh, client_named, project):
    (project / "optim.py").write_bytes(b"\xff\xfe\x00" * 10)
    (project / "data.py").write_text("x = 1\n" * 400_000)
    await begin(fresh, client_named, "vscode", project)
    uri = await opened(fresh, project / "train.py")
    after = await texts_after(fresh, await fresh.edit_of(await action_of(fresh, uri)))
    assert "optim.py" not in after
    assert "data.py" not in after
    assert "step.py" in after
