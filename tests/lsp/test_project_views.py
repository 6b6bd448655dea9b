"""What is said in a script about a loop that is in its modules, and in a module about the script that runs it: hovers, lenses,
actions, previews and the tree say the same, and nothing that only looking at one file alone would suggest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

PROJECTS = Path(__file__).parent.parent / "golden" / "projects"
REWRITE = "refactor.rewrite.horovodize.distribute"
CHANGED = ["data.py", "optim.py", "step.py", "train.py"]
every_client = pytest.mark.parametrize("client", ["vscode", "neovim-new", "minimal"])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HOROVODIZE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def project(tmp_path):
    ignored = shutil.ignore_patterns("*.expected.*", "__pycache__")
    return Path(shutil.copytree(PROJECTS / "four_modules", tmp_path / "work space", ignore=ignored))


async def begin(editor, capabilities, project):
    await editor.begin(
        capabilities, workspace_folders=[types.WorkspaceFolder(project.as_uri(), project.name)]
    )
    await editor.indexed()


async def opened(editor, path):
    return await editor.open(path.read_text(), path.as_uri())


async def titles(editor, uri):
    return [(editor.text_at(uri, lens.range), lens.command.title) for lens in await editor.lenses(uri)]


async def shown(editor, uri, wanted):
    """Waits until these are the lenses: the server looks at a script's modules when nobody asks."""
    for _ in range(400):
        if [title for _, title in await titles(editor, uri)] == wanted:
            return
        await editor.command("horovodize.explain", "C5")
    assert [title for _, title in await titles(editor, uri)] == wanted


def texts_of(editor, edit):
    """The texts after an edit, by file name; files that are not open are taken from the disk."""
    changes = edit.document_changes
    uris = [c.text_document.uri for c in changes] if changes is not None else list(edit.changes)
    for uri in uris:
        if uri not in editor.versions:
            editor.texts[uri], editor.versions[uri] = Path(to_fs_path(uri)).read_text(), None
    return {Path(to_fs_path(uri)).name: text for uri, text in editor.edited(edit).items()}


def expected():
    return {
        name: (PROJECTS / "four_modules" / name).with_suffix(".expected.py").read_text() for name in CHANGED
    }


# ---------------------------------------------------------------------- in the script


@every_client
async def test_the_loop_of_a_script_whose_step_is_elsewhere(fresh, client_named, client, project):
    await begin(fresh, client_named(client), project)
    train = await opened(fresh, project / "train.py")
    hover = (await fresh.hover(train, "for x‸, y in data.load")).replace("*", "").replace("`", "")
    assert hover.startswith("GradientTape training loop in train_step")
    assert "G2: " in hover
    assert "this file and those that belong to it" in hover
    hover = (await fresh.hover(train, "mo‸del = Net()")).replace("*", "").replace("`", "")
    assert hover.startswith("Model model")
    await shown(fresh, train, ["GradientTape training loop: runs in one process", "Distribute with Horovod"])
    assert {text for text, _ in await titles(fresh, train)} == {"for x, y in data.load(8)"}
    fresh.type(train, "from model import", "\n\nfrom model import")
    assert {text for text, _ in await titles(fresh, train)} == {"for x, y in data.load(8)"}


async def test_a_refused_script_says_why_at_its_loop(fresh, client_named, project):
    (project / "data.py").write_text(
        (project / "data.py").read_text() + "\n\nstrategy = tf.distribute.MirroredStrategy()\n"
    )
    await begin(fresh, client_named("vscode"), project)
    train = await opened(fresh, project / "train.py")
    hover = await fresh.hover(train, "for x‸, y in data.load")
    assert "It can't be distributed as it stands:" in hover
    assert "(line 12 of `data.py`)" in hover
    for _ in range(400):
        found = await titles(fresh, train)
        if found:
            break
        await fresh.command("horovodize.explain", "C5")
    ((_, title),) = found
    assert title.startswith("GradientTape training loop: can't be distributed: ")


async def test_clients_are_told_to_ask_for_lenses_again(fresh, client_named, project):
    await begin(fresh, client_named("vscode"), project)
    await opened(fresh, project / "train.py")
    await fresh.until(lambda: types.WORKSPACE_CODE_LENS_REFRESH in fresh.refreshed)


# ---------------------------------------------------------------------- in a module


@every_client
async def test_a_step_that_a_script_runs(fresh, client_named, client, project):
    await begin(fresh, client_named(client), project)
    step = await opened(fresh, project / "step.py")
    for marked, about in (
        ("optimizer.apply_‸gradients", "GradientTape training loop"),
        ("as ta‸pe", "Tape"),
        ("import tensor‸flow", "TensorFlow"),
    ):
        hover = (await fresh.hover(step, marked)).replace("*", "")
        assert hover.startswith(about)
        assert "Distributing with Horovod would do here:" in hover
        assert "can't be distributed" not in hover
    await shown(
        fresh,
        step,
        ["GradientTape training loop: runs in one process, in train.py", "Distribute train.py with Horovod"],
    )


async def test_while_a_module_does_not_parse_nothing_wrong_is_said(fresh, client_named, project):
    await begin(fresh, client_named("vscode"), project)
    step = await opened(fresh, project / "step.py")
    fresh.type(step, "import tensorflow as tf\n", "import tensorflow as tf\n\nx = (\n")
    hover = await fresh.hover(step, "optimizer.apply_‸gradients")
    assert hover.startswith("**GradientTape training loop")
    assert "can't be distributed" not in hover
    assert "as of the last version that parses" in hover


@every_client
@pytest.mark.parametrize("trigger", types.CodeActionTriggerKind)
async def test_in_a_module_its_script_is_distributed(fresh, client_named, client, project, trigger):
    await begin(fresh, client_named(client), project)
    step = await opened(fresh, project / "step.py")
    fresh.type(step, "return loss", "return loss  # é")
    actions = await fresh.actions(step, "optimizer.apply‸_gradients", trigger=trigger)
    (action,) = [a for a in actions if a.kind == REWRITE]
    assert (action.title, action.disabled) == ("Distribute train.py with Horovod", None)
    after = texts_of(fresh, await fresh.edit_of(action))
    assert "# é" in after["step.py"]
    assert {**after, "step.py": after["step.py"].replace("  # é", "")} == expected()


async def test_the_command_in_a_module(fresh, client_named, project):
    await begin(fresh, client_named("vscode"), project)
    optim = await opened(fresh, project / "optim.py")
    assert await fresh.command("horovodize.distribute", optim) is None
    (asked,) = fresh.asked_to_apply
    assert asked.label == "Distribute train.py with Horovod"
    assert texts_of(fresh, asked.edit) == expected()
    versions = {c.text_document.uri: c.text_document.version for c in asked.edit.document_changes}
    assert versions[optim] == 1
    assert versions[(project / "train.py").as_uri()] is None


async def test_a_preview_shows_each_text_once(fresh, client_named, project):
    await begin(fresh, client_named("vscode"), project)
    step = await opened(fresh, project / "step.py")
    await opened(fresh, project / "train.py")
    for arguments in ([step], []):
        previewed = await fresh.command("horovodize.preview", *arguments)
        found = {Path(to_fs_path(one["uri"])).name: one["newText"] for one in previewed}
        assert len(previewed) == len(found)
        assert found == expected()


async def test_a_module_whose_script_is_refused(fresh, client_named, project):
    train = project / "train.py"
    train.write_text(train.read_text() + "import tensorflow as tf\ntf.distribute.MirroredStrategy()\n")
    await begin(fresh, client_named("vscode"), project)
    optim = await opened(fresh, project / "optim.py")
    (action,) = [a for a in await fresh.actions(optim, "import opt‸imizers") if a.kind == REWRITE]
    assert action.disabled.reason.startswith("`train.py`, which runs this: ")
    with pytest.raises(JsonRpcException, match=r"`train\.py`, which runs this: "):
        await fresh.command("horovodize.distribute", optim)


async def test_a_module_that_nobody_runs_is_judged_by_itself(fresh, client_named, project):
    (project / "train.py").unlink()
    await begin(fresh, client_named("vscode"), project)
    step = await opened(fresh, project / "step.py")
    assert "never called in this file" in await fresh.hover(step, "optimizer.apply_‸gradients")
    (title, *_) = [title for _, title in await titles(fresh, step)]
    assert "never called in this file" in title
    (action,) = [a for a in await fresh.actions(step, "optimizer.apply‸_gradients") if a.kind == REWRITE]
    assert (action.title, action.disabled.reason.split(" ", 2)[:2]) == (
        "Distribute with Horovod",
        ["the", "traced"],
    )


async def test_a_module_that_trains_by_itself_stays_a_script(fresh, client_named, project):
    """`model.py` is imported by `train.py`, and has a loop that only runs when it is started itself."""
    await begin(fresh, client_named("vscode"), project)
    model = await opened(fresh, project / "model.py")
    hover = await fresh.hover(model, "net.f‸it(")
    assert hover.startswith("**Keras training loop")
    assert "K3: " in hover
    assert [title for _, title in await titles(fresh, model)] == [
        "Keras training loop: runs in one process",
        "Distribute with Horovod",
    ]


# ---------------------------------------------------------------------- the tree


@pytest.mark.parametrize("is_open", [False, True])
async def test_what_the_script_settles_is_no_restriction_in_the_tree(fresh, client_named, project, is_open):
    await begin(fresh, client_named("vscode"), project)
    path = project / "step.py"
    if is_open:
        await shown(
            fresh,
            await opened(fresh, path),
            [
                "GradientTape training loop: runs in one process, in train.py",
                "Distribute train.py with Horovod",
            ],
        )
    answer = await fresh.protocol.send_request_async("horovodize/workspaceSummary", {})
    (found,) = [file for file in answer.folders[0].files if file.uri == path.as_uri()]
    assert found.state == "distributable"
    assert found.loops
    assert list(found.restrictions) == []


async def test_what_nobody_settles_is_one(fresh, client_named, project):
    (project / "train.py").unlink()
    await begin(fresh, client_named("vscode"), project)
    answer = await fresh.protocol.send_request_async("horovodize/workspaceSummary", {})
    (found,) = [file for file in answer.folders[0].files if file.uri.endswith("/step.py")]
    assert found.state == "blocked"
    assert [restriction.code for restriction in found.restrictions] == ["HVD105", "HVD201"]
