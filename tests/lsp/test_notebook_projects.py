"""A notebook that trains by modules beside it: they are changed together with its cells."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.notebooks import Notebook
from tests.lsp.test_workspace_summary import plain

PROJECT = Path(__file__).parent.parent / "golden" / "projects" / "four_modules"
REWRITE = "refactor.rewrite.horovodize.distribute"


@pytest.fixture(params=["vscode-new", "neovim-new", "minimal"])
async def notebook(fresh, client_named, request, tmp_path):
    """The script of a project as a notebook: its imports in one cell, all else in another."""
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__", "train.py")
    folder = Path(shutil.copytree(PROJECT, tmp_path / "project", ignore=ignored))
    client = client_named(request.param)
    client.notebook_document = types.NotebookDocumentClientCapabilities(
        types.NotebookDocumentSyncClientCapabilities()
    )
    await fresh.begin(client, workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)])
    imports, rest = (PROJECT / "train.py").read_text().split("\n\n", 1)
    opened = Notebook(fresh, (folder / "train.ipynb").as_uri(), [imports, rest])
    opened.open()
    return opened


async def test_modules_and_cells_are_changed_together(notebook, tmp_path):
    editor, cell = notebook.editor, notebook.uris[0]
    for path in (tmp_path / "project").glob("*.py"):
        editor.texts[path.as_uri()], editor.versions[path.as_uri()] = path.read_text(), None
    (action,) = [a for a in await editor.actions(cell, "import da‸ta") if a.kind == REWRITE]
    after = editor.edited(await editor.edit_of(action))
    modules = {Path(uri).name: text for uri, text in after.items() if uri not in notebook.uris}
    assert modules == {
        name: (PROJECT / name).with_suffix(".expected.py").read_text()
        for name in ("data.py", "optim.py", "step.py")
    }
    together = "\n\n".join(after[uri].strip() for uri in notebook.uris)
    assert together.split() == (PROJECT / "train.expected.py").read_text().split()


async def test_a_module_that_changes_is_read_again(notebook, tmp_path):
    editor, cell = notebook.editor, notebook.uris[0]
    (action,) = [a for a in await editor.actions(cell, "import da‸ta") if a.kind == REWRITE]
    optim = tmp_path / "project" / "optim.py"
    uri = await editor.open(optim.read_text(), optim.as_uri())
    editor.type(uri, "def make", "\n\ndef make")
    (action,) = [a for a in await editor.actions(cell, "import da‸ta") if a.kind == REWRITE]
    for path in (tmp_path / "project").glob("*.py"):
        editor.texts.setdefault(path.as_uri(), path.read_text())
        editor.versions.setdefault(path.as_uri(), None)
    after = editor.edited(await editor.edit_of(action))
    assert "\n\n\n\ndef make" in after[uri]


async def test_the_loop_whose_step_is_in_a_module_is_shown(notebook):
    editor, cell = notebook.editor, notebook.uris[1]
    await editor.indexed()
    wanted = ["GradientTape training loop: runs in one process", "Distribute with Horovod"]
    for _ in range(400):
        if [lens.command.title for lens in await editor.lenses(cell)] == wanted:
            break
        await editor.command("horovodize.explain", "C5")
    assert [lens.command.title for lens in await editor.lenses(cell)] == wanted
    assert "GradientTape training loop" in await editor.hover(cell, "for x‸, y in data.load")
    assert "HVD001" in await notebook.codes(1)


async def test_its_loops_are_listed_in_their_cells(notebook):
    editor = notebook.editor
    await editor.indexed()
    asked = {"textDocument": {"uri": notebook.address}}
    found = plain(await editor.protocol.send_request_async("horovodize/documentSummary", asked))
    (loop,) = found["loops"]
    assert found["state"] == "distributable"
    assert {loop["uri"], *(role["uri"] for role in loop["roles"])} & {*notebook.uris}
    assert [Path(path).name for path in found["project"]] == ["data.py", "optim.py", "step.py"]
