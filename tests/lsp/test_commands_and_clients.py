"""Commands as clients differ: edits they apply or do not, progress that they show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

DISTRIBUTE, PREVIEW, EXPLAIN = (f"horovodize.{name}" for name in ("distribute", "preview", "explain"))


def distributed(text: str) -> str:
    plan = distribute(summarize(Document(text)), Options())
    assert isinstance(plan, Plan)
    return plan.text


@pytest.mark.parametrize("client", ["vscode", "neovim", "neovim-new"])
async def test_distribute_sends_the_edit(fresh, client_named, keras, client):
    await fresh.begin(client_named(client))
    uri = await fresh.open(keras)
    assert await fresh.command(DISTRIBUTE, uri) is None
    (asked,) = fresh.asked_to_apply
    assert asked.label == "Distribute with Horovod"
    assert fresh.edited(asked.edit) == {uri: distributed(keras)}


async def test_distribute_says_when_the_client_does_not_apply(fresh, client_named, keras):
    await fresh.begin(client_named("vscode"))
    fresh.applies = False
    uri = await fresh.open(keras)
    await fresh.command(DISTRIBUTE, uri)
    await fresh.command(EXPLAIN, "C5")  # answered after the refusal was read
    (message,) = fresh.messages
    assert "not applied: the buffer is read-only" in message.message


@pytest.mark.parametrize(
    "missing", ["annotations", "document changes", "resolve", "resolve data", "disabled"]
)
async def test_every_way_of_taking_an_edit_comes_to_the_same(fresh, client_named, doubtful, missing):
    """VS Code without one of its abilities: no client has just these."""
    client = client_named("vscode")
    edits, actions = client.workspace.workspace_edit, client.text_document.code_action
    match missing:
        case "annotations":
            edits.change_annotation_support = None
        case "document changes":
            edits.document_changes = None
        case "resolve":
            actions.resolve_support = None
        case "resolve data":
            actions.data_support = None
        case "disabled":
            actions.disabled_support = None
    await fresh.begin(client)
    uri = await fresh.open(doubtful)
    action = next(a for a in await fresh.actions(uri, "model.‸fit(") if a.title == "Distribute with Horovod")
    assert (action.edit is not None) == missing.startswith("resolve")
    edit = await fresh.edit_of(action)
    assert fresh.edited(edit) == {uri: distributed(doubtful)}
    assert (edit.changes is not None) == (missing == "document changes")
    annotated = missing not in ("annotations", "document changes")
    assert bool(edit.change_annotations) == annotated
    for change in edit.document_changes or []:
        assert change.text_document.version == 1
        assert all(isinstance(piece, types.AnnotatedTextEdit) == annotated for piece in change.edits)
    await fresh.command(DISTRIBUTE, uri)
    assert fresh.edited(fresh.asked_to_apply[0].edit) == {uri: distributed(doubtful)}


async def test_preview_of_all_open_documents_tells_how_far_it_is(fresh, client_named, keras, tape):
    await fresh.begin(client_named("vscode"))
    uris = [await fresh.open(text) for text in (keras, tape)]
    params = types.ExecuteCommandParams(PREVIEW, [], work_done_token="here")
    previewed = await fresh.workspace_execute_command_async(params)
    assert [one["uri"] for one in previewed] == uris
    values = [report.value for report in fresh.progressed if report.token == "here"]
    told = [value["kind"] if isinstance(value, dict) else value.kind for value in values]
    assert told == ["begin", "report", "report", "end"]


@pytest.mark.parametrize("also_open", [False, True])
async def test_preview_shows_every_file_that_would_change(fresh, client_named, root, tmp_path, also_open):
    golden = root / "tests" / "golden" / "projects" / "four_modules"
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    project = Path(shutil.copytree(golden, tmp_path / "my project", ignore=ignored))
    folder = types.WorkspaceFolder(project.as_uri(), "project")
    await fresh.begin(client_named("vscode"), workspace_folders=[folder])
    if also_open:
        await fresh.open((project / "step.py").read_text(), (project / "step.py").as_uri())
    script = await fresh.open((project / "train.py").read_text(), (project / "train.py").as_uri())
    previewed = {one["uri"]: one for one in await fresh.command(PREVIEW, script)}
    changed = {(project / name).as_uri() for name in ("data.py", "optim.py", "step.py", "train.py")}
    assert set(previewed) == changed
    for uri, one in previewed.items():
        name = uri.rsplit("/", 1)[-1]
        assert one["oldText"] == (project / name).read_text()
        assert one["newText"] == (golden / name).with_suffix(".expected.py").read_text()
        is_open = name == "train.py" or (also_open and name == "step.py")
        assert one["version"] == (1 if is_open else None)
        assert one["changes"]
        lines = len(one["oldText"].splitlines())
        assert all(c["location"]["range"]["end"]["line"] <= lines for c in one["changes"])
