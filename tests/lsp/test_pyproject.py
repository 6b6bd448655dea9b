"""Settings of `pyproject.toml` in the server, and of single folders: the editor's win, wrong ones are told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types


async def until(condition) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


def configure(folder: Path, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text("\n".join(["[tool.horovodize]", *lines]))


async def new_text(editor, uri: str) -> str:
    (previewed,) = await editor.command("horovodize.preview", uri)
    return previewed["newText"]


async def codes(editor, uri: str, *, count: int = 1) -> set[str]:
    return {str(d.code) for d in await editor.diagnostics_of(uri, count=count)}


async def test_the_nearest_table_counts(fresh, client_named, keras, tmp_path):
    configure(tmp_path, "comments = false")
    configure(tmp_path / "a" / "b", "split-data = false")
    await fresh.begin(client_named("neovim"))
    outer = await fresh.open(keras, (tmp_path / "a" / "train.py").as_uri())
    inner = await fresh.open(keras, (tmp_path / "a" / "b" / "train.py").as_uri())
    outer_text, inner_text = await new_text(fresh, outer), await new_text(fresh, inner)
    assert "#" not in outer_text
    assert "share = slice(" in outer_text
    assert "#" in inner_text
    assert "slice(" not in inner_text
    (edited,) = fresh.edited(await fresh.edit_of((await fresh.actions(outer, "model.‸fit("))[0])).values()
    assert edited == outer_text


async def test_the_editors_settings_win(fresh, client_named, keras, tmp_path):
    configure(tmp_path, "comments = false", "split-data = false")
    await fresh.begin(client_named("neovim"), initialization_options={"comments": True})
    text = await new_text(fresh, await fresh.open(keras, (tmp_path / "train.py").as_uri()))
    assert "#" in text
    assert "slice(" not in text


@pytest.mark.parametrize(
    "lines", [["ignore = ['HVD105']"], ["ignore = ['aliased-optimizer']"], ["select = ['HVD2']"]]
)
async def test_findings_that_are_not_wanted_are_not_reported(fresh, client_named, chosen, tmp_path, lines):
    configure(tmp_path, *lines)
    await fresh.begin(client_named("neovim"))
    assert await codes(fresh, await fresh.open(chosen.text, (tmp_path / "train.py").as_uri())) == {"HVD001"}
    elsewhere = await fresh.open(chosen.text, "untitled:Untitled-1")
    assert await codes(fresh, elsewhere) == {"HVD001", "HVD105"}


async def test_a_file_that_means_nothing_is_told_once_and_not_used(fresh, client_named, chosen, tmp_path):
    configure(tmp_path, "ignore = ['HVD105']", "comment = false")
    await fresh.begin(client_named("neovim"))
    uri = await fresh.open(chosen.text, (tmp_path / "train.py").as_uri())
    await fresh.open(chosen.text, (tmp_path / "other.py").as_uri())
    assert await codes(fresh, uri) == {"HVD001", "HVD105"}
    await fresh.command("horovodize.explain", "C5")
    (message,) = fresh.messages
    assert message.type == types.MessageType.Warning
    assert (
        "unknown setting tool.horovodize.comment (there are: batch, comments, elastic, exclude, ignore,"
        in message.message
    )
    assert "pyproject.toml" in message.message


async def test_a_code_that_does_not_exist_is_told_once(fresh, client_named, chosen, tmp_path):
    configure(tmp_path, "ignore = ['HVD105', 'HVD1005']")
    await fresh.begin(client_named("neovim"))
    for name in ("train.py", "other.py"):
        assert await codes(fresh, await fresh.open(chosen.text, (tmp_path / name).as_uri())) == {"HVD001"}
    await fresh.command("horovodize.explain", "C5")
    (message,) = fresh.messages
    assert message.message == "horovodize.ignore: 'HVD1005' is no code or name of a finding"


async def test_a_file_that_is_mended_is_in_force_at_the_next_save(fresh, client_named, chosen, tmp_path):
    await fresh.begin(client_named("neovim"))
    uri = await fresh.open(chosen.text, (tmp_path / "train.py").as_uri())
    assert await codes(fresh, uri) == {"HVD001", "HVD105"}
    configure(tmp_path, "ignore = ['HVD105']")
    fresh.save(uri)
    await fresh.diagnostics_of(uri, count=2)
    assert (await codes(fresh, uri)) == {"HVD001"}


async def test_folders_have_settings_of_their_own(fresh, client_named, chosen, tmp_path):
    folders = [types.WorkspaceFolder((tmp_path / name).as_uri(), name) for name in ("one", "two")]
    fresh.set_configuration({"ignore": ["HVD105"]}, section="horovodize", scope_uri=folders[0].uri)
    fresh.set_configuration(
        {"diagnostics": {"notDistributed": False}}, section="horovodize", scope_uri=folders[1].uri
    )
    await fresh.begin(client_named("vscode"), workspace_folders=folders)
    uris = [await fresh.open(chosen.text, (tmp_path / name / "train.py").as_uri()) for name in ("one", "two")]

    def last(uri: str) -> set[str]:
        return {str(d.code) for d in [p for p in fresh.published if p.uri == uri][-1].diagnostics}

    await until(lambda: [last(uri) for uri in uris] == [{"HVD001"}, {"HVD105"}])


async def test_a_folder_that_comes_later_has_settings_too(fresh, client_named, chosen, tmp_path):
    folder = types.WorkspaceFolder(tmp_path.as_uri(), "late")
    fresh.set_configuration({"ignore": ["HVD105"]}, section="horovodize", scope_uri=folder.uri)
    await fresh.begin(client_named("vscode"))
    uri = await fresh.open(chosen.text, (tmp_path / "train.py").as_uri())
    assert await codes(fresh, uri) == {"HVD001", "HVD105"}
    fresh.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([folder], []))
    )
    await until(lambda: {d.code for d in fresh.published[-1].diagnostics} == {"HVD001"})
    assert fresh.published[-1].uri == uri
