"""Notebooks: the cells are documents of the client; findings, hovers, actions and edits are where the cells are."""

from __future__ import annotations

import ast
import asyncio

import pytest
from lsprotocol import types

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source.edits import apply
from horovodize.source.notebook import NotebookDocument
from horovodize.summary import summarize
from tests.lsp.notebooks import Notebook

NOTEBOOK = "file:///project/train.ipynb"
CELLS = [
    "s = '🐍'\n%matplotlib inline\nimport tensorflow as tf\n",
    'model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile(tf.keras.optimizers.SGD(0.1), "mse")',
    "x, y = tf.ones((64, 4)), tf.ones((64, 1))",
    "'🐍é'; model.fit(x, y, batch_size=8)",
]


def distributed(cells: list[str]) -> dict[int, str]:
    """What the engine makes of the cells, by their index."""
    document = NotebookDocument(list(enumerate(cells, 1)))
    plan = distribute(summarize(document), Options())
    assert isinstance(plan, Plan)
    return {part.cell - 1: apply(part.text, part.edits) for part in document.parts(plan.edits)}


@pytest.fixture(params=["vscode-new", "neovim-new", "minimal"])
async def notebook(fresh, client_named, request):
    client = client_named(request.param)
    client.notebook_document = types.NotebookDocumentClientCapabilities(
        types.NotebookDocumentSyncClientCapabilities()
    )
    await fresh.begin(client)
    opened = Notebook(fresh, NOTEBOOK, CELLS)
    opened.open()
    return opened


async def test_findings_are_those_of_their_cells(notebook):
    editor = notebook.editor
    assert [await notebook.codes(i) for i in range(4)] == [[], [], [], ["HVD001"]]
    (hint,) = await editor.diagnostics_of(notebook.uris[3])
    assert editor.text_at(notebook.uris[3], hint.range) == "model.fit(x, y, batch_size=8)"


async def test_the_server_asks_for_python_cells_of_jupyter_notebooks(notebook):
    sync = notebook.editor.server_capabilities_.notebook_document_sync
    (selector,) = sync.notebook_selector
    assert selector.notebook.notebook_type == "jupyter-notebook"
    assert [cell.language for cell in selector.cells] == ["python"]
    assert sync.save
    if notebook.editor.pulls:  # a change of one cell may change what is found in another
        assert notebook.editor.server_capabilities_.diagnostic_provider.inter_file_dependencies


async def test_hover_in_a_cell(notebook):
    hover = await notebook.editor.hover(notebook.uris[3], "model.f‸it(")
    assert "Keras training loop" in hover
    hover = await notebook.editor.hover(notebook.uris[3], "mo‸del.fit(")
    assert "cell 2 line 1" in hover
    assert await notebook.editor.hover(notebook.uris[0], "mat‸plotlib") is None


async def test_distributing_edits_the_cells(notebook):
    editor, cell = notebook.editor, notebook.uris[3]
    actions = await editor.actions(cell, "model.f‸it(")
    action = next(a for a in actions if a.kind == "refactor.rewrite.horovodize.distribute")
    results = editor.edited(await editor.edit_of(action))
    assert {notebook.uris.index(uri): text for uri, text in results.items()} == distributed(CELLS)
    assert "%matplotlib inline\nimport tensorflow as tf\n" in results[notebook.uris[0]]
    assert NOTEBOOK not in results


async def test_commands_and_lenses_of_a_cell(notebook):
    editor, cell = notebook.editor, notebook.uris[3]
    lenses = await editor.lenses(cell)
    assert [lens.command.title for lens in lenses] == [
        "Keras training loop: runs in one process",
        "Distribute with Horovod",
    ]
    assert await editor.lenses(notebook.uris[1]) == []
    for named in (cell, NOTEBOOK, lenses[1].command.arguments[0]):
        previewed = await editor.command("horovodize.preview", named)
        assert {notebook.uris.index(p["uri"]): p["newText"] for p in previewed} == distributed(CELLS)
        assert all(p["oldText"] == editor.texts[p["uri"]] for p in previewed)


async def test_a_finding_is_ignored_in_its_cell(notebook):
    editor, cell = notebook.editor, notebook.uris[3]
    actions = await editor.actions(cell, "model.f‸it(")
    action = next(a for a in actions if a.title.startswith("Ignore HVD001"))
    assert editor.edited(await editor.edit_of(action)) == {cell: CELLS[3] + "  # horovodize: ignore[HVD001]"}


async def test_cells_change_come_and_go(notebook):
    editor = notebook.editor
    assert await notebook.codes(3) == ["HVD001"]
    notebook.type(3, "'🐍é'; model.fit(", "'🐍é🐍'; model.fit(")
    (hint,) = await editor.diagnostics_of(notebook.uris[3])
    assert editor.text_at(notebook.uris[3], hint.range) == "model.fit(x, y, batch_size=8)"
    notebook.insert(3, "model.fit(x, y, batch_size=4)")
    assert await notebook.codes(3) == ["HVD001"]
    assert await notebook.codes(4) == ["HVD001"]
    gone = notebook.remove(3)
    assert await notebook.codes(3) == ["HVD001"]
    if not editor.pulls:
        while [p for p in editor.published if p.uri == gone][-1].diagnostics:
            await asyncio.sleep(0.01)
    assert await editor.hover(gone, "model.f‸it(") is None
    first = notebook.remove(0)  # TensorFlow is imported no more
    assert await editor.actions(first, "import tensor‸flow") == []
    assert await editor.actions(notebook.uris[2], "model.f‸it(") == []


async def test_no_edit_after_another_cell_has_changed(fresh, client_named):
    await fresh.begin(client_named("vscode-new"))
    notebook = Notebook(fresh, NOTEBOOK, CELLS)
    notebook.open()
    actions = await fresh.actions(notebook.uris[3], "model.f‸it(")
    action = next(a for a in actions if a.kind == "refactor.rewrite.horovodize.distribute")
    assert action.edit is None
    notebook.type(1, "SGD(0.1)", "SGD(0.2)")
    with pytest.raises(Exception, match="changed"):
        await fresh.code_action_resolve_async(action)


async def test_a_cell_that_does_not_parse(notebook):
    editor = notebook.editor
    assert await notebook.codes(3) == ["HVD001"]
    notebook.type(2, "x, y =", "x, y = (")
    notebook.save()
    (lens,) = await editor.lenses(notebook.uris[3])
    assert lens.command.title == "Keras training loop: the file does not parse"
    assert await editor.actions(notebook.uris[3], "model.f‸it(") == []
    for _ in range(500):
        if await notebook.codes(2) == ["HVD003"] or [
            p
            for p in editor.published
            if p.uri == notebook.uris[2] and [d.code for d in p.diagnostics] == ["HVD003"]
        ]:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("that a cell does not parse is not said")


async def test_a_closed_notebook_is_forgotten(notebook):
    editor, cell = notebook.editor, notebook.uris[3]
    assert await notebook.codes(3) == ["HVD001"]
    notebook.close()
    assert await editor.hover(cell, "model.f‸it(") is None
    if editor.pulls:
        assert await notebook.codes(3) == []
        return
    while [p for p in editor.published if p.uri == cell][-1].diagnostics:
        await asyncio.sleep(0.01)


async def test_an_indented_cell_keeps_its_margin(fresh, client_named):
    cells = [CELLS[0], "    " + CELLS[1].replace("\n", "\n    "), CELLS[2], CELLS[3]]
    await fresh.begin(client_named("minimal"))
    notebook = Notebook(fresh, NOTEBOOK, cells)
    notebook.open()
    actions = await fresh.actions(notebook.uris[3], "model.f‸it(")
    action = next(a for a in actions if a.kind == "refactor.rewrite.horovodize.distribute")
    results = {notebook.uris.index(uri): text for uri, text in fresh.edited(action.edit).items()}
    assert results == distributed(cells)
    assert all(line.startswith("    ") for line in results[1].splitlines())
    ast.parse("if True:\n" + results[1])
