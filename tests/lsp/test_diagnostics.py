"""What is reported, when, and how loudly."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

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


async def test_all_that_the_engine_finds_at_its_places(editor, chosen):
    text = f"s = '🐍é\u2028'\n{chosen.text}"
    uri = await editor.open(text)
    expected = check(summarize(Document(text)), Options())
    found = await editor.diagnostics_of(uri)
    assert [(d.code, d.message, editor.text_at(uri, d.range)) for d in found] == [
        (v.code, v.message, text[v.span.start : v.span.end]) for v in expected
    ]
    assert {d.source for d in found} == {"horovodize"}
    assert len({d.code for d in found}) > 1


async def test_columns_are_counted_as_agreed(editor, chosen):
    uri = await editor.open(chosen.text.replace("model.compile(", "'🐍é'; model.compile("))
    (found,) = [d for d in await editor.diagnostics_of(uri) if d.code == chosen.code]
    assert editor.text_at(uri, found.range) == chosen.place


async def test_a_loop_that_could_be_distributed_is_hinted_at(editor, keras):
    uri = await editor.open(keras)
    (hint,) = await editor.diagnostics_of(uri)
    assert (hint.code, hint.severity) == ("HVD001", Severity.Hint)
    assert "model.fit(" in editor.text_at(uri, hint.range)


async def test_softer_while_typing_and_loud_again_when_saved(vscode, chosen):
    uri = await vscode.open(chosen.text)
    loud = shape(await vscode.diagnostics_of(uri))
    assert (chosen.code, Severity.Warning) in loud
    vscode.type(uri, "import tensorflow as tf", "import tensorflow as tf\nx = 1")
    soft = shape(await vscode.diagnostics_of(uri))
    assert (chosen.code, Severity.Information) in soft
    assert all(severity >= Severity.Information for _, severity in soft)
    assert ("HVD001", Severity.Hint) in soft
    vscode.save(uri)
    assert shape(await vscode.diagnostics_of(uri, count=2)) == loud


async def test_undone_is_as_good_as_saved(vscode, chosen):
    uri = await vscode.open(chosen.text)
    loud = shape(await vscode.diagnostics_of(uri))
    vscode.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    assert shape(await vscode.diagnostics_of(uri)) != loud
    vscode.type(uri, "import  tensorflow as tf", "import tensorflow as tf")
    assert shape(await vscode.diagnostics_of(uri)) == loud


async def test_a_client_that_never_tells_when_it_saves_is_told_all(minimal, chosen):
    uri = await minimal.open(chosen.text)
    loud = shape(await minimal.diagnostics_of(uri))
    minimal.type(uri, "import tensorflow as tf", "import  tensorflow as tf")
    assert shape(await minimal.diagnostics_of(uri)) == loud


async def test_while_the_file_does_not_parse_findings_keep_to_their_places(editor, chosen):
    async def found() -> list[tuple[str, str]]:
        shown = [d for d in await editor.diagnostics_of(uri) if d.code != "HVD003"]
        return [(str(d.code), editor.text_at(uri, d.range)) for d in shown]

    uri = await editor.open(f"a = 1\n{chosen.text}")
    before = await found()
    editor.type(uri, "a = 1\n", "a = (\n\nmore (\n")
    assert await found() == before
    editor.type(uri, "(\n\nmore (\n", "2\n")
    assert await found() == before


async def test_that_a_file_does_not_parse_is_said_when_it_is_saved_so(vscode, keras):
    uri = await vscode.open(keras)
    vscode.type(uri, "model =", "model = =")
    assert [d.code for d in await vscode.diagnostics_of(uri)] == ["HVD001"]  # half a line is no finding
    vscode.save(uri)
    assert [d.code for d in await vscode.diagnostics_of(uri, count=2)] == ["HVD003", "HVD001"]


async def test_that_a_file_never_parsed_is_said_at_once(editor):
    uri = await editor.open("import tensorflow as tf\nprint 'step'\n")
    (found,) = await editor.diagnostics_of(uri)
    assert found.code == "HVD003"
    assert "Python 2" in found.message
    editor.type(uri, "'step'", "'steps'")
    assert [d.code for d in await editor.diagnostics_of(uri)] == ["HVD003"]


async def test_fast_typing_is_answered_for_the_newest_version(editor, keras):
    uri = await editor.open(keras)
    for i in range(30):
        editor.type(uri, f"epochs={2 if i == 0 else i + 100}", f"epochs={i + 101}")
    assert await editor.diagnostics_of(uri)
    if editor.pulls:
        assert not editor.published
        return
    versions = [p.version for p in editor.published if p.uri == uri]
    assert versions == sorted(versions)
    assert versions[-1] == 31


async def test_related_places_for_clients_that_show_them(vscode, minimal, chosen):
    (found,) = [
        d for d in await vscode.diagnostics_of(await vscode.open(chosen.text)) if d.code == chosen.code
    ]
    assert found.related_information
    assert all(related.message for related in found.related_information)
    (found,) = [
        d for d in await minimal.diagnostics_of(await minimal.open(chosen.text)) if d.code == chosen.code
    ]
    assert found.related_information is None


async def test_data_for_clients_that_send_it_back(vscode, minimal, keras):
    (hint,) = await vscode.diagnostics_of(await vscode.open(keras))
    assert hint.data == {"name": "not-distributed", "version": 1}
    (hint,) = await minimal.diagnostics_of(await minimal.open(keras))
    assert hint.data is None


async def test_a_finding_leads_to_its_page_where_the_client_follows(vscode, minimal, chosen):
    for found in await vscode.diagnostics_of(await vscode.open(chosen.text)):
        page = Path(url2pathname(urlsplit(found.code_description.href).path))
        assert page.read_text(encoding="utf-8").startswith(f"# {found.code}: ")
    for found in await minimal.diagnostics_of(await minimal.open(chosen.text)):
        assert found.code_description is None


async def test_what_is_closed_is_cleared(editor, keras):
    uri = await editor.open(keras)
    assert await editor.diagnostics_of(uri)
    editor.close(uri)
    if editor.pulls:
        assert await editor.diagnostics_of(uri) == []
        return
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


ESTIMATOR = """\
import tensorflow as tf


def model_fn(features, labels, mode):
    loss = tf.reduce_mean(features["x"])
    train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


tf.estimator.Estimator(model_fn).train(data, steps=5)
"""


async def test_what_later_versions_have_no_more_is_struck_out(editor, client_named):
    uri = await editor.open(ESTIMATOR)
    found = {d.code: list(d.tags or []) for d in await editor.diagnostics_of(uri)}
    support = editor.capabilities.text_document
    support = support and support.publish_diagnostics and support.publish_diagnostics.tag_support
    assert found["HVD901"] == ([types.DiagnosticTag.Deprecated] if support else [])
