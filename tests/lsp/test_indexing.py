"""Reading the workspace in the background: the client is shown how far it is and can stop it."""

from __future__ import annotations

import sys

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig

from tests.lsp.conftest import Editor, make_editor

FILES = 80
# Progress is told of work that takes longer than a second: here of any, and reading takes long enough to be stopped.
IMPATIENT = """
import time
import horovodize.lsp.index
from horovodize.lsp.server import run_stdio
from horovodize.workspace.reading import Reading

read = Reading.read

def slowly(reading, task):
    time.sleep(0.025)
    return read(reading, task)

Reading.read = slowly
horovodize.lsp.index.make_workers = lambda folders: None  # in this process
horovodize.lsp.index._TELLING = 0.0
run_stdio()
"""
_CONFIG = ClientServerConfig(server_command=[sys.executable, "-c", IMPATIENT], client_factory=make_editor)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path / "cache"))


@pytest_lsp.fixture(config=_CONFIG)
async def impatient(lsp_client: Editor):
    yield
    if lsp_client.server_capabilities_ is not None:
        await lsp_client.shutdown_session()


@pytest.fixture
def workspace(tmp_path, keras):
    top = tmp_path / "work"
    top.mkdir()
    for number in range(FILES):
        (top / f"train_{number}.py").write_text(f"{keras}# {number}\n")
    return top


async def begin(editor, capabilities, workspace):
    await editor.begin(capabilities, workspace_folders=[types.WorkspaceFolder(workspace.as_uri(), "work")])


def told(editor, token=None):
    """What was told of how far the work is, as dicts."""
    found = [p for p in editor.progressed if str(p.token).startswith("horovodize/index")]
    values = [p.value for p in found if token in (None, p.token)]
    return [
        v if isinstance(v, dict) else vars(v) if hasattr(v, "__dict__") else attributes(v) for v in values
    ]


def attributes(value):
    return {name: getattr(value, name, None) for name in ("kind", "title", "percentage", "cancellable")}


async def files_known(editor):
    await editor.indexed()
    answer = await editor.protocol.send_request_async("horovodize/workspaceSummary", {})
    return len(answer.folders[0].files)


async def test_it_is_told_how_far_it_is(impatient, client_named, workspace):
    await begin(impatient, client_named("vscode"), workspace)
    assert await files_known(impatient) == FILES
    await impatient.until(lambda: told(impatient) and told(impatient)[-1]["kind"] == "end")
    assert len({p.token for p in impatient.progressed}) == 1  # however long the client takes to answer
    first, *between, last = told(impatient)
    assert (first["kind"], first["title"], first["cancellable"]) == ("begin", "Indexing training loops", True)
    assert last["kind"] == "end"
    percentages = [value["percentage"] for value in between]
    assert percentages == sorted(percentages)
    assert len(set(percentages)) > 0
    assert all(0 <= percentage <= 100 for percentage in percentages)


async def test_it_can_be_stopped_and_begun_anew(impatient, client_named, workspace, keras):
    await begin(impatient, client_named("vscode"), workspace)
    await impatient.until(lambda: told(impatient))
    token = impatient.progressed[0].token
    impatient.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    known = await files_known(impatient)
    assert known < FILES
    await impatient.until(lambda: told(impatient, token)[-1]["kind"] == "end")
    # what is open or changes is known all the same
    path = workspace / f"train_{FILES - 1}.py"
    path.write_text(keras + "# another\n")
    impatient.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams([types.FileEvent(path.as_uri(), types.FileChangeType.Changed)])
    )
    assert await files_known(impatient) >= known
    uri = await impatient.open(keras)
    assert "Keras" in await impatient.hover(uri, "model.f‸it(")
    await impatient.command("horovodize.reindex")
    assert await files_known(impatient) == FILES


@pytest.mark.parametrize("client", ["minimal"])
async def test_clients_that_show_no_progress_are_told_none(impatient, client_named, workspace, client):
    await begin(impatient, client_named(client), workspace)
    assert await files_known(impatient) == FILES
    assert impatient.progressed == []


# A script whose model and optimizer are made in a module of the workspace.
TRAINED = """\
from zz_making import make
import tensorflow as tf

model = make()
x, y = tf.ones((64, 4)), tf.ones((64, 1))
model.fit(x, y, batch_size=8, epochs=2)
"""
MAKING = """\
import tensorflow as tf


def make():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.001), "mse")
    return model
"""


@pytest.mark.parametrize("kind", ["alone", "with a module"])
async def test_a_hover_is_answered_rightly_while_the_workspace_is_read(
    impatient, client_named, workspace, keras, kind
):
    (workspace / "zz_making.py").write_text(MAKING)  # among the last that are read
    text = keras if kind == "alone" else TRAINED
    await begin(impatient, client_named("vscode"), workspace)
    await impatient.until(lambda: told(impatient))
    uri = await impatient.open(text, (workspace / "opened.py").as_uri())
    during = [await impatient.hover(uri, "model.f‸it(") for _ in range(5)]
    assert told(impatient)[-1]["kind"] != "end"  # none had to wait for it
    assert await files_known(impatient) > FILES
    afterwards = await impatient.hover(uri, "model.f‸it(")
    assert "Keras" in afterwards
    assert "rate × size()" in afterwards
    assert during == [afterwards] * 5
