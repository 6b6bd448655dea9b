"""What trains in the workspace: `horovodize/workspaceSummary`, `horovodize/documentSummary`, and that they stay right."""

from __future__ import annotations

import asyncio
import os

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

CLIENTS = ["vscode", "neovim", "minimal"]
NEWS = "horovodize/workspaceSummaryChanged"


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


def plain(value):
    """What the client's protocol makes of JSON, as dicts again."""
    if hasattr(value, "_asdict"):
        return {k: plain(v) for k, v in value._asdict().items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


async def now(editor):
    return plain(await editor.protocol.send_request_async("horovodize/workspaceSummary", {}))


async def summary(editor):
    """The folders, when all is indexed."""
    for _ in range(800):
        answer = await now(editor)
        if answer["complete"]:
            return answer["folders"]
        await asyncio.sleep(0.025)
    raise TimeoutError("the index is never complete")


async def document(editor, uri):
    return plain(
        await editor.protocol.send_request_async("horovodize/documentSummary", {"textDocument": {"uri": uri}})
    )


def files(folders):
    """The files by their path in their folder."""
    return {
        file["uri"].removeprefix(entry["uri"] + "/"): file for entry in folders for file in entry["files"]
    }


def at(editor, uri, range_):
    """The text in a range of a buffer."""
    start, end = (types.Position(p["line"], p["character"]) for p in (range_["start"], range_["end"]))
    return editor.text_at(uri, types.Range(start, end))


@pytest.mark.parametrize("client", CLIENTS)
async def test_loops_of_files_that_are_not_open(fresh, client_named, client, workspace):
    await fresh.begin(client_named(client), workspace_folders=[folder(workspace)])
    answer = await summary(fresh)
    assert [(entry["uri"], entry["name"]) for entry in answer] == [(workspace.as_uri(), "my workspace")]
    found = files(answer)
    assert sorted(found) == ["sub/tape.py", "train.py"]
    (loop,) = found["train.py"]["loops"]
    assert (loop["kind"], loop["function"], loop["uri"]) == ("Keras", "", (workspace / "train.py").as_uri())
    assert loop["range"]["start"] == {"line": 6, "character": 0}
    assert loop["description"].startswith("Keras training loop")
    assert {(role["role"], role["name"]) for role in loop["roles"]} >= {
        ("model", "model"),
        ("optimizer", "opt"),
    }
    assert found["train.py"]["state"] == "distributable"
    assert found["train.py"]["restrictions"] == []
    assert found["sub/tape.py"]["loops"][0]["kind"] == "GradientTape"


async def test_restrictions_have_a_page(fresh, client_named, workspace, chosen):
    (workspace / "chosen.py").write_text(chosen.text)
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    (found,) = files(await summary(fresh))["chosen.py"]["restrictions"]
    assert (found["code"], found["name"]) == (chosen.code, "aliased-optimizer")
    assert found["href"].endswith(f"{chosen.code}.md")
    assert found["range"]["start"]["line"] == 5


@pytest.mark.parametrize("is_open", [False, True])
async def test_restrictions_that_are_ignored_are_left_out(fresh, client_named, workspace, chosen, is_open):
    (workspace / "pyproject.toml").write_text(f'[tool.horovodize]\nignore = ["{chosen.code}"]\n')
    (workspace / "chosen.py").write_text(chosen.text)
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    if is_open:
        await fresh.open(chosen.text, (workspace / "chosen.py").as_uri())
    found = files(await summary(fresh))["chosen.py"]
    assert found["loops"]
    assert found["restrictions"] == []


async def test_open_documents_are_as_they_are_in_the_editor(fresh, client_named, workspace):
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    uri = await fresh.open((workspace / "train.py").read_text(), (workspace / "train.py").as_uri())
    fresh.type(
        uri, "import tensorflow as tf\n", "import tensorflow as tf\nimport horovod.tensorflow as hvd\n"
    )
    found = files(await summary(fresh))
    assert found["train.py"]["state"] == "distributed"
    assert found["train.py"]["loops"][0]["range"]["start"]["line"] == 7
    fresh.close(uri)
    assert files(await summary(fresh))["train.py"]["state"] == "distributable"


async def test_files_that_change_on_disk(fresh, client_named, workspace, keras):
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    await summary(fresh)
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
    assert sorted(files(await summary(fresh))) == ["new.py", "sub/tape.py"]


async def test_folders_come_and_go(fresh, client_named, workspace):
    await fresh.begin(client_named("vscode"))
    assert await summary(fresh) == []

    def change(added, removed):
        fresh.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent(added, removed))
        )

    change([folder(workspace)], [])
    assert len(files(await summary(fresh))) == 2
    change([], [folder(workspace)])
    assert await summary(fresh) == []


async def test_questions_are_answered_while_the_index_is_made(fresh, client_named, workspace, keras):
    for i in range(300):
        (workspace / f"many_{i}.py").write_text(keras + f"# {i}\n")
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    uri = await fresh.open(keras)
    assert not (await now(fresh))["complete"]
    assert await fresh.hover(uri, "model.f‸it(") is not None
    assert len(files(await summary(fresh))) == 302


async def test_what_is_excluded_is_left_out(fresh, client_named, workspace):
    await fresh.begin(
        client_named("vscode"),
        workspace_folders=[folder(workspace)],
        initialization_options={"exclude": ["sub/"]},
    )
    assert sorted(files(await summary(fresh))) == ["train.py"]


# ---------------------------------------------------------------------- one document


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_document_that_is_no_file(fresh, client_named, client, tape):
    await fresh.begin(client_named(client))
    uri = await fresh.open(tape, "untitled:Untitled-1")
    found = await document(fresh, uri)
    assert (found["uri"], found["state"]) == (uri, "distributable")
    (loop,) = found["loops"]
    assert at(fresh, uri, loop["range"]) == "for x, y in dataset"
    roles = {role["role"]: at(fresh, uri, role["range"]) for role in loop["roles"]}
    assert roles["optimizer"] == "tf.keras.optimizers.SGD(0.1)"


async def test_documents_that_train_nothing_or_are_not_open(fresh, client_named, keras):
    await fresh.begin(client_named("vscode"))
    uri = await fresh.open("x = 1\n")
    assert (await document(fresh, uri))["state"] == "none"
    assert await document(fresh, "file:///nowhere.py") is None
    with pytest.raises(JsonRpcException):
        await fresh.protocol.send_request_async("horovodize/documentSummary", {})


async def test_why_a_document_is_blocked(fresh, client_named, chosen):
    await fresh.begin(client_named("vscode"))
    text = chosen.text.replace(
        "import tensorflow as tf\n", "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\n"
    )
    found = await document(fresh, await fresh.open(text))
    assert found["state"] == "blocked"
    assert "MirroredStrategy" in found["problem"]


async def test_a_document_that_does_not_parse_keeps_its_loops(fresh, client_named, keras):
    await fresh.begin(client_named("vscode"))
    uri = await fresh.open(keras)
    fresh.type(uri, "import tensorflow as tf\n", "import tensorflow as tf\n\nx = (\n")
    found = await document(fresh, uri)
    assert found["state"] == "unreadable"
    assert found["problem"].startswith("line 3: ")
    (loop,) = found["loops"]
    assert at(fresh, uri, loop["range"]).startswith("model.fit(")


async def test_a_loop_in_another_file(fresh, client_named, tmp_path):
    (tmp_path / "nets.py").write_text(
        "import tensorflow as tf\n\n\ndef train(x, y):\n    ü, m = 1, tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        '    m.compile(tf.keras.optimizers.SGD(0.1), "mse")\n    "ü𝛼"; m.fit(x, y)\n'
    )
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(tmp_path)])
    text = "import tensorflow as tf\nimport nets\n\nnets.train(tf.ones((8, 3)), tf.ones((8, 1)))\n"
    (tmp_path / "train.py").write_text(text)
    found = await document(fresh, await fresh.open(text, (tmp_path / "train.py").as_uri()))
    assert found["state"] == "distributable"
    assert found["project"] == [(tmp_path / "nets.py").as_uri()]
    (loop,) = found["loops"]
    assert (loop["uri"], loop["function"]) == ((tmp_path / "nets.py").as_uri(), "train")
    assert loop["range"]["start"] == {"line": 6, "character": 11}  # in UTF-16 units


async def test_an_open_notebook_is_one_of_its_folder_s_files(fresh, client_named, workspace):
    path = workspace / "line.ipynb"
    path.write_text("{}")
    await fresh.begin(client_named("vscode-new"), workspace_folders=[folder(workspace)])
    await summary(fresh)
    text = "import tensorflow as tf\nmodel = tf.keras.Sequential()\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
    cell = types.TextDocumentItem(f"vscode-notebook-cell:{path}#W0", "python", 1, text)
    kind = types.NotebookCellKind.Code
    book = types.NotebookDocument(path.as_uri(), "jupyter-notebook", 1, [types.NotebookCell(kind, cell.uri)])
    fresh.notebook_document_did_open(types.DidOpenNotebookDocumentParams(book, [cell]))
    (shown,) = await summary(fresh)
    (found,) = [file for file in shown["files"] if file["uri"] == path.as_uri()]
    assert found["state"] == "distributable"
    assert [loop["uri"] for loop in found["loops"]] == [cell.uri]


# ---------------------------------------------------------------------- news


async def heard(editor, count):
    for _ in range(800):
        if editor.told.count(NEWS) >= count:
            return
        await asyncio.sleep(0.025)
    raise TimeoutError(f"heard of {editor.told.count(NEWS)} changes")


async def all_heard(editor):
    """How often the client was told, once nothing more comes: on a busy machine the index tells of its progress, too."""
    count, quiet = editor.told.count(NEWS), 0
    while quiet < 60:
        await asyncio.sleep(0.025)
        quiet = quiet + 1 if editor.told.count(NEWS) == count else 0
        count = editor.told.count(NEWS)
    return count


async def test_changes_are_told_to_who_wants_to_hear(fresh, client_named, workspace):
    await fresh.begin(
        client_named("vscode"),
        workspace_folders=[folder(workspace)],
        initialization_options={"workspaceSummary": True},
    )
    await summary(fresh)
    await heard(fresh, 1)
    before = await all_heard(fresh)
    uri = await fresh.open((workspace / "train.py").read_text(), (workspace / "train.py").as_uri())
    await heard(fresh, before + 1)
    before = await all_heard(fresh)
    fresh.type(uri, "epochs=2", "epochs=3")  # it trains as before
    await fresh.diagnostics_of(uri)
    assert await all_heard(fresh) == before
    fresh.type(uri, "model.fit", "model.predict")
    await heard(fresh, before + 1)


async def test_others_are_not_told(fresh, client_named, workspace):
    await fresh.begin(client_named("vscode"), workspace_folders=[folder(workspace)])
    await summary(fresh)
    uri = await fresh.open((workspace / "train.py").read_text(), (workspace / "train.py").as_uri())
    fresh.type(uri, "model.fit", "model.predict")
    await fresh.diagnostics_of(uri)
    assert NEWS not in fresh.told
