"""The index of the workspace: what `horovodize/summaryTree` says, and that it stays right."""

from __future__ import annotations

import asyncio
import os

import pytest
from lsprotocol import types

CLIENTS = ["vscode", "neovim", "minimal"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory):
    """The server processes of these tests keep their cache here; set before they start."""
    before = os.environ.get("HOROVODIZE_CACHE_DIR")
    os.environ["HOROVODIZE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["HOROVODIZE_CACHE_DIR"]
    else:
        os.environ["HOROVODIZE_CACHE_DIR"] = before


@pytest.fixture
def workspace(tmp_path, keras, tape):
    top = tmp_path / "my workspace"
    for name, text in {"train.py": keras, "sub/tape.py": tape, "plain.py": "x = 1\n"}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def folder(path):
    return types.WorkspaceFolder(path.as_uri(), path.name)


async def tree(editor):
    """The tree, when all is indexed."""
    for _ in range(400):
        answer = await editor.protocol.send_request_async("horovodize/summaryTree", None)
        if all(plain(entry)["indexed"] for entry in answer):
            return [plain(entry) for entry in answer]
        await asyncio.sleep(0.025)
    raise TimeoutError("the index is never complete")


def plain(value):
    """What the client's protocol makes of JSON, as dicts again."""
    if hasattr(value, "_asdict"):
        return {k: plain(v) for k, v in value._asdict().items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def modules(answer):
    return {module["path"]: module for entry in answer for module in entry["modules"]}


@pytest.mark.parametrize("client", CLIENTS)
async def test_loops_of_files_that_are_not_open(fresh, client_named, client, workspace):
    await fresh.begin(client_named(client), workspace_folders=[folder(workspace)])
    answer = await tree(fresh)
    assert [entry["uri"] for entry in answer] == [workspace.as_uri()]
    found = modules(answer)
    assert sorted(found) == ["sub/tape.py", "train.py"]
    (loop,) = found["train.py"]["loops"]
    assert (loop["kind"], loop["line"], loop["function"], loop["model"]) == ("Keras", 6, "", "model")
    assert found["train.py"]["uri"] == (workspace / "train.py").as_uri()
    assert not found["train.py"]["distributed"]
    assert found["sub/tape.py"]["loops"][0]["kind"] == "GradientTape"


async def test_open_documents_are_as_they_are_in_the_editor(fresh, client_named, workspace, tape):
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    uri = await fresh.open((workspace / "train.py").read_text(), (workspace / "train.py").as_uri())
    fresh.type(
        uri, "import tensorflow as tf\n", "import tensorflow as tf\nimport horovod.tensorflow as hvd\n"
    )
    found = modules(await tree(fresh))
    assert found["train.py"]["distributed"]
    assert found["train.py"]["loops"][0]["line"] == 7
    fresh.close(uri)
    assert not modules(await tree(fresh))["train.py"]["distributed"]


async def test_files_that_change_on_disk(fresh, client_named, workspace, keras):
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    await tree(fresh)
    (workspace / "new.py").write_text(keras)
    (workspace / "train.py").unlink()
    fresh.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams(
            [
                types.FileEvent((workspace / "new.py").as_uri(), types.FileChangeType.Created),
                types.FileEvent((workspace / "train.py").as_uri(), types.FileChangeType.Deleted),
            ]
        )
    )
    assert sorted(modules(await tree(fresh))) == ["new.py", "sub/tape.py"]


async def test_folders_come_and_go(fresh, client_named, workspace):
    await fresh.begin(client_named("vscode"))
    assert await tree(fresh) == []

    def change(added, removed):
        fresh.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent(added, removed))
        )

    change([folder(workspace)], [])
    assert len(modules(await tree(fresh))) == 2
    change([], [folder(workspace)])
    assert await tree(fresh) == []


async def test_questions_are_answered_while_the_index_is_made(fresh, client_named, workspace, keras):
    for i in range(300):
        (workspace / f"many_{i}.py").write_text(keras + f"# {i}\n")
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    uri = await fresh.open(keras)
    answer = await fresh.protocol.send_request_async("horovodize/summaryTree", None)
    assert not plain(answer[0])["indexed"]
    assert await fresh.hover(uri, "model.f‸it(") is not None
    assert len(modules(await tree(fresh))) == 302
