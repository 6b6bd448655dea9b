"""`horovodize.distributeWorkspace`: every script of the workspace, by one edit, or told why not."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"
COMMAND = "horovodize.distributeWorkspace"
CHANGED = ["data.py", "optim.py", "step.py", "train.py"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def project(tmp_path):
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    return Path(shutil.copytree(PROJECTS / "four_modules", tmp_path / "work space", ignore=ignored))


async def begin(editor, capabilities, *folders):
    await editor.begin(
        capabilities, workspace_folders=[types.WorkspaceFolder(path.as_uri(), path.name) for path in folders]
    )
    await editor.indexed()


async def distributed(editor, *arguments):
    """What the command says, and the texts after its edits, by path."""
    editor.asked_to_apply.clear()
    answer = await editor.command(COMMAND, *arguments)
    assert len(editor.asked_to_apply) <= 1
    texts = {}
    for params in editor.asked_to_apply:
        changes = params.edit.document_changes
        uris = [c.text_document.uri for c in changes] if changes is not None else list(params.edit.changes)
        assert len(uris) == len(set(uris))
        for uri in uris:
            if uri not in editor.versions:
                editor.texts[uri], editor.versions[uri] = Path(to_fs_path(uri)).read_text(), None
        texts = {Path(to_fs_path(uri)): text for uri, text in editor.edited(params.edit).items()}
    return answer, texts


@pytest.mark.parametrize("client", ["vscode", "vscode-new", "neovim", "neovim-new"])
async def test_every_script_with_its_modules_by_one_edit(fresh, client_named, client, project, keras):
    (project / "other").mkdir()
    (project / "other" / "single.py").write_text(keras)
    (project / "other" / "done.py").write_text("import horovod.tensorflow as hvd\n" + keras)
    (project / "other" / "refused.py").write_text(
        keras.replace("\n\n", "\nstrategy = tf.distribute.MirroredStrategy()\n\n", 1)
    )
    await begin(fresh, client_named(client), project)
    answer, texts = await distributed(fresh)
    assert sorted(path.name for path in texts) == sorted([*CHANGED, "single.py"])
    for name in CHANGED:
        assert (
            texts[project / name]
            == (PROJECTS / "four_modules" / name).with_suffix(".expected.py").read_text()
        )
    assert {uri.rpartition("/")[2] for uri in answer["distributed"]} == {*CHANGED, "single.py"}
    assert {uri.rpartition("/")[2] for uri in answer["unchanged"]} == {"done.py", "model.py"}
    (refused,) = answer["refused"]
    assert refused["uri"] == (project / "other" / "refused.py").as_uri() == refused["location"]["uri"]
    assert refused["code"] == "HVD202"
    assert "MirroredStrategy" in refused["message"]
    assert refused["location"]["range"]["start"]["line"] == 1


async def test_edits_are_versioned_and_annotated_by_rule_and_file(fresh, client_named, project):
    await begin(fresh, client_named("vscode"), project)
    optim = project / "optim.py"
    uri = await fresh.open(optim.read_text(), optim.as_uri())
    fresh.type(uri, "0.01", "0.02")
    await distributed(fresh)
    edit = fresh.asked_to_apply[0].edit
    versions = {
        c.text_document.uri.rpartition("/")[2]: c.text_document.version for c in edit.document_changes
    }
    assert versions == {"train.py": None, "data.py": None, "step.py": None, "optim.py": 2}
    for change in edit.document_changes:
        name = change.text_document.uri.rpartition("/")[2]
        for piece in change.edits:
            assert edit.change_annotations[piece.annotation_id].description.startswith(f"{name}: ")


async def test_only_some_folders(fresh, client_named, project, tmp_path, keras):
    other = tmp_path / "other"
    other.mkdir()
    (other / "single.py").write_text(keras)
    await begin(fresh, client_named("vscode"), project, other)
    answer, texts = await distributed(fresh, other.as_uri())
    assert list(texts) == [other / "single.py"]
    assert answer["distributed"] == [(other / "single.py").as_uri()]
    for wrong in (tmp_path.as_uri(), 7):
        with pytest.raises(JsonRpcException):
            await fresh.command(COMMAND, wrong)


async def test_nothing_to_do_is_no_edit(fresh, client_named, tmp_path):
    (tmp_path / "plain.py").write_text("x = 1\n")
    await begin(fresh, client_named("vscode"), tmp_path)
    answer, texts = await distributed(fresh)
    assert (answer["distributed"], answer["refused"], answer["unchanged"], texts) == ([], [], [], {})


async def test_a_client_that_applies_no_edits_is_told(fresh, client_named, project):
    await begin(fresh, client_named("minimal"), project)
    with pytest.raises(JsonRpcException, match="applies no edits"):
        await fresh.command(COMMAND)


async def test_it_tells_how_far_it_is_and_can_be_cancelled(fresh, client_named, tmp_path, keras):
    for i in range(40):
        (tmp_path / f"script_{i}.py").write_text(keras + f"# {i}\n")
    await begin(fresh, client_named("vscode"), tmp_path)
    fresh.asked_to_apply.clear()
    work = fresh.workspace_execute_command(types.ExecuteCommandParams(COMMAND, [], work_done_token="far"))
    fresh.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams("far"))
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wrap_future(work)
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    assert fresh.asked_to_apply == []
    values = [p.value for p in fresh.progressed if p.token == "far"]
    kinds = [value["kind"] if isinstance(value, dict) else value.kind for value in values]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


async def test_it_is_cancelled_by_its_number_while_it_works(fresh, client_named, tmp_path, keras):
    for i in range(40):
        (tmp_path / f"script_{i}.py").write_text(keras + f"# {i}\n")
    await begin(fresh, client_named("vscode"), tmp_path)
    params = types.ExecuteCommandParams(COMMAND, [], work_done_token="far")
    work = fresh.protocol.send_request(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="number")
    await fresh.until(lambda: [p for p in fresh.progressed if p.token == "far"])  # it has begun
    fresh.protocol.notify(types.CANCEL_REQUEST, types.CancelParams("number"))
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wrap_future(work)
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    assert fresh.asked_to_apply == []


async def test_changes_that_are_to_be_confirmed_are_named(fresh, client_named, tmp_path, doubtful, keras):
    (tmp_path / "sure.py").write_text(keras)
    (tmp_path / "doubtful.py").write_text(doubtful)
    await begin(fresh, client_named("vscode"), tmp_path)
    answer, texts = await distributed(fresh)
    assert {path.name for path in texts} == {"sure.py", "doubtful.py"}
    assert answer["toConfirm"]
    lines = doubtful.splitlines()
    for reason in answer["toConfirm"]:
        assert reason["uri"] == reason["location"]["uri"] == (tmp_path / "doubtful.py").as_uri()
        assert reason["message"]
        assert reason["code"]
        assert "fit(" in lines[reason["location"]["range"]["start"]["line"]]
