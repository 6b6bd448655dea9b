"""What is reported, when, and how loudly."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

pytestmark = pytest.mark.asyncio(loop_scope="session")

Severity = types.DiagnosticSeverity


def shape(diagnostics: list[types.Diagnostic]) -> list[tuple[str, Severity]]:
    return [(str(d.code), Severity(d.severity)) for d in diagnostics]


async def test_all_that_the_engine_finds_at_its_places(editor, restricted):
    text = f"s = '🐍é\u2028'\n{restricted.text}"
    uri = await editor.open(text)
    expected = check(summarize(Document(text)), Options())
    found = await editor.diagnostics_of(uri)
    assert [(d.code, d.message, editor.text_at(uri, d.range)) for d in found] == [
        (v.code, v.message, text[v.span.start : v.span.end]) for v in expected
    ]
    assert {d.source for d in found} == {"horovodize"}
    assert len({d.code for d in found}) > 1


async def test_columns_are_counted_as_agreed(editor, restricted):
    line = restricted.text[: restricted.text.index(restricted.marked)].rpartition("\n")[2]
    assert not line.strip(), "the marked text is to be moved along its line"
    uri = await editor.open(restricted.text.replace(restricted.marked, f"'🐍é'; {restricted.marked}"))
    (found,) = [d for d in await editor.diagnostics_of(uri) if d.code == restricted.code]
    assert restricted.marked in editor.texts[uri][editor.offset(uri, found.range.start) :]
    assert "'🐍é'" not in editor.text_at(uri, found.range)


async def test_a_loop_that_could_be_distributed_is_hinted_at(editor, keras):
    uri = await editor.open(keras)
    (hint,) = await editor.diagnostics_of(uri)
    assert (hint.code, hint.severity) == ("HVD001", Severity.Hint)
    assert "model.fit(" in editor.text_at(uri, hint.range)


async def test_softer_while_typing_and_loud_again_when_saved(vscode, restricted):
    uri = await vscode.open(restricted.text)
    loud = shape(await vscode.diagnostics_of(uri))
    assert (restricted.code, Severity.Warning) in loud
    vscode.type(uri, "import tensorflow as tf", "import tensorflow as tf\nx = 1")
    soft = shape(await vscode.diagnostics_of(uri))
    assert (restricted.code, Severity.Information) in soft
    assert all(severity >= Severity.Information for _, severity in soft)
    assert ("HVD001", Severity.Hint) in soft
    vscode.save(uri)
    assert shape(await vscode.diagnostics_of(uri, count=2)) == loud


async def test_undone_is_as_good_as_saved(vscode, restricted):
    uri = await vscode.open(restricted.text)
    loud = shape(await vscode.diagnostics_of(uri))
    vscode.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    assert shape(await vscode.diagnostics_of(uri)) != loud
    vscode.type(uri, "import  tensorflow as tf", "import tensorflow as tf")
    assert shape(await vscode.diagnostics_of(uri)) == loud


async def test_a_client_that_never_tells_when_it_saves_is_told_all(minimal, restricted):
    uri = await minimal.open(restricted.text)
    loud = shape(await minimal.diagnostics_of(uri))
    minimal.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    assert shape(await minimal.diagnostics_of(uri)) == loud


async def test_while_the_file_does_not_parse_findings_keep_to_their_places(editor, restricted):
    uri = await editor.open(f"a = 1\n{restricted.text}")
    before = [(d.code, editor.text_at(uri, d.range)) for d in await editor.diagnostics_of(uri)]
    editor.type(uri, "a = 1\n", "a = (\n\nmore (\n")
    during = [(d.code, editor.text_at(uri, d.range)) for d in await editor.diagnostics_of(uri)]
    assert during == before
    editor.type(uri, "(\n\nmore (\n", "2\n")
    assert [(d.code, editor.text_at(uri, d.range)) for d in await editor.diagnostics_of(uri)] == before


async def test_fast_typing_is_answered_for_the_newest_version(editor, keras):
    uri = await editor.open(keras)
    for i in range(30):
        editor.type(uri, f"epochs={2 if i == 0 else i + 100}", f"epochs={i + 101}")
    assert await editor.diagnostics_of(uri)
    versions = [p.version for p in editor.published if p.uri == uri]
    assert versions == sorted(versions)
    assert versions[-1] == 31


async def test_related_places_for_clients_that_show_them(vscode, minimal, restricted):
    (found,) = [
        d
        for d in await vscode.diagnostics_of(await vscode.open(restricted.text))
        if d.code == restricted.code
    ]
    assert found.related_information
    assert all(related.message for related in found.related_information)
    (found,) = [
        d
        for d in await minimal.diagnostics_of(await minimal.open(restricted.text))
        if d.code == restricted.code
    ]
    assert found.related_information is None


async def test_data_for_clients_that_send_it_back(vscode, minimal, keras):
    (hint,) = await vscode.diagnostics_of(await vscode.open(keras))
    assert hint.data == {"name": "not-distributed", "version": 1}
    (hint,) = await minimal.diagnostics_of(await minimal.open(keras))
    assert hint.data is None


async def test_what_is_closed_is_cleared(editor, keras):
    uri = await editor.open(keras)
    assert await editor.diagnostics_of(uri)
    editor.close(uri)
    for _ in range(1000):
        last = [p for p in editor.published if p.uri == uri][-1]
        if not last.diagnostics:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the diagnostics of a closed file stay")


async def test_other_languages_are_left_alone(editor, keras):
    other = await editor.open(keras, uri="file:///project/script.txt", language="plaintext")
    await editor.open(keras)  # answered after the other one would have been
    assert not [p for p in editor.published if p.uri == other]


async def test_untitled_documents_are_served(editor, keras):
    assert await editor.diagnostics_of(await editor.open(keras, uri="untitled:Untitled-1"))
    editor.close("untitled:Untitled-1")


async def test_files_without_tensorflow_are_clean(editor):
    assert await editor.diagnostics_of(await editor.open("import os\nprint(os.sep)\n")) == []
