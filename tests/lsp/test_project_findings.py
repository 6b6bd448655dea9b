"""Findings that a script and its modules have together: reported in the script, and kept right as the modules change."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest
from lsprotocol import types

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"
CLIENTS = ["vscode", "vscode-new", "neovim", "minimal"]
every_client = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def project(tmp_path):
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    return Path(shutil.copytree(PROJECTS / "four_modules", tmp_path / "work space", ignore=ignored))


async def begin(editor, client_named, client, project):
    await editor.begin(
        client_named(client), workspace_folders=[types.WorkspaceFolder(project.as_uri(), project.name)]
    )
    await editor.indexed()


async def opened(editor, path):
    return await editor.open(path.read_text(), path.as_uri())


async def codes(editor, uri):
    """The codes of what is reported about the newest version of a document by now."""
    if editor.pulls:
        return {diagnostic.code for diagnostic in (await editor.pull(uri)).items}
    found = [p for p in editor.published if p.uri == uri and p.version == editor.versions[uri]]
    return {diagnostic.code for diagnostic in found[-1].diagnostics} if found else None


async def reported(editor, uri, wanted):
    """Waits until just these codes are reported."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if await codes(editor, uri) == wanted:
            return
        await asyncio.sleep(0.01)  # the server looks when nobody asks
    raise TimeoutError(f"{await codes(editor, uri)} is reported, not {wanted}")


@every_client
async def test_a_loop_in_a_module_is_hinted_at_in_the_script(fresh, client_named, client, project):
    await begin(fresh, client_named, client, project)
    train = await opened(fresh, project / "train.py")
    await reported(fresh, train, {"HVD001"})


@every_client
async def test_what_the_script_hands_to_a_module_is_known_there(fresh, client_named, client, project):
    await begin(fresh, client_named, client, project)
    step = await opened(fresh, project / "step.py")
    await reported(fresh, step, {"HVD001"})
    fresh.type(step, "import tensorflow as tf\n", "import tensorflow as tf\n\n\n")
    await reported(fresh, step, {"HVD001"})


@pytest.mark.parametrize("client", ["vscode-new", "minimal"])
async def test_a_folder_that_goes_takes_its_scripts_with_it(fresh, client_named, client, project):
    await begin(fresh, client_named, client, project)
    step = await opened(fresh, project / "step.py")
    await reported(fresh, step, {"HVD001"})
    gone = [types.WorkspaceFolder(project.as_uri(), project.name)]
    fresh.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([], gone))
    )
    await reported(fresh, step, {"HVD105", "HVD201"})
    assert "never called in this file" in await fresh.hover(step, "optimizer.apply_‸gradients")


async def test_what_nobody_hands_to_a_module_is_missed_there(fresh, client_named, project):
    (project / "train.py").unlink()
    await begin(fresh, client_named, "vscode", project)
    step = await opened(fresh, project / "step.py")
    await reported(fresh, step, {"HVD105", "HVD201"})


@every_client
async def test_a_change_of_a_module_is_seen_in_the_script(fresh, client_named, client, project):
    await begin(fresh, client_named, client, project)
    train = await opened(fresh, project / "train.py")
    await reported(fresh, train, {"HVD001"})
    step = await opened(fresh, project / "step.py")
    fresh.type(step, "optimizer.apply_gradients", "print")
    await reported(fresh, train, set())
    fresh.close(step)  # unsaved: the disk counts again
    await reported(fresh, train, {"HVD001"})


async def test_a_module_that_changes_on_disk_is_seen_in_the_script(fresh, client_named, project):
    await begin(fresh, client_named, "vscode-new", project)
    train = await opened(fresh, project / "train.py")
    await reported(fresh, train, {"HVD001"})
    fresh.refreshed.clear()
    (project / "step.py").rename(project / "steps.py")
    fresh.workspace_did_rename_files(
        types.RenameFilesParams(
            [types.FileRename((project / "step.py").as_uri(), (project / "steps.py").as_uri())]
        )
    )
    await fresh.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in fresh.refreshed)
    await reported(fresh, train, set())


async def test_an_action_is_offered_at_the_hint(fresh, client_named, project):
    await begin(fresh, client_named, "vscode", project)
    train = await opened(fresh, project / "train.py")
    await reported(fresh, train, {"HVD001"})
    found = await fresh.actions(train, "for x, ‸y", trigger=types.CodeActionTriggerKind.Automatic)
    assert {action.kind for action in found if action.title == "Distribute with Horovod"} == {
        types.CodeActionKind.QuickFix,
        "refactor.rewrite.horovodize.distribute",
    }
