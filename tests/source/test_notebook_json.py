"""Notebook files: everything but changed sources stays byte for byte what it was."""

from __future__ import annotations

import json

import pytest

from horovodize.source import UndecodableSource
from horovodize.source.notebook_json import NotebookJson, OtherLanguage
from tests.source.notebooks import code_cell, markdown, notebook

TEXT = notebook("a = 1\nb = 'é'\n", markdown("# x\n"), "c = 3", indent=1)


def read(text: str, bom: bytes = b"") -> NotebookJson:
    return NotebookJson.from_bytes(bom + text.encode("utf-8", "surrogatepass"))


def changed(text: str, sources: dict[int, str]) -> tuple[list[str], list[str]]:
    """The lines that go and those that come."""
    after = read(text).with_sources(sources).decode()
    old, new = text.split("\n"), after.split("\n")
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_sources_and_kinds() -> None:
    cells = read(TEXT).cells
    assert [(c.kind, c.source) for c in cells] == [
        ("code", "a = 1\nb = 'é'\n"), ("markdown", "# x\n"), ("code", "c = 3"),
    ]  # fmt: skip
    assert [TEXT[x.start : x.end] for x in cells[0].literals] == ['"a = 1\\n"', "\"b = 'é'\\n\""]
    assert TEXT[cells[2].start : cells[2].end].split() == ["[", '"c', "=", '3"', "]"]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_nothing_changed_is_the_same_bytes(bom: bytes, indent: int | None, newline: str) -> None:
    text = notebook("a = 1\n", code_cell("x\ny"), code_cell([]), code_cell(None), indent=indent)
    text = text.replace("\n", newline)
    assert read(text, bom).with_sources({}) == bom + text.encode()
    sources = {i: cell.source for i, cell in enumerate(read(text).cells) if cell.literals}
    assert read(text, bom).with_sources(sources) == bom + text.encode()


def test_only_the_lines_that_change_are_written_anew() -> None:
    gone, come = changed(TEXT, {0: "a = 1\nnew = 2\nb = 'é'\n"})
    assert (gone, come) == ([], ['    "new = 2\\n",'])


def test_the_form_of_a_source_is_kept() -> None:
    text = notebook(code_cell("a\nb"), indent=None)
    assert json.loads(read(text).with_sources({0: "a\nc\nb"}))["cells"][0]["source"] == "a\nc\nb"
    compact = text.replace(": ", ":").replace(", ", ",")
    one = compact.replace('"a\\nb"', '["a"]')
    assert '"source":["a\\n","b"]' in read(one).with_sources({0: "a\nb"}).decode()
    spaced = text.replace('"a\\nb"', '["a"]')
    assert '"source": ["a\\n", "b"]' in read(spaced).with_sources({0: "a\nb"}).decode()
    assert json.loads(read(one).with_sources({0: ""}))["cells"][0]["source"] == []


def test_lines_are_split_as_in_the_rest_of_the_cell() -> None:
    text = notebook(code_cell(["a = '\x0c'\n", "b"]), indent=None)
    assert json.loads(read(text).with_sources({0: "a = '\x0c'\nc\nb"}))["cells"][0]["source"] == [
        "a = '\x0c'\n", "c\n", "b",
    ]  # fmt: skip
    split = notebook(code_cell(["a = '\x0c", "'\n", "b"]), indent=None)
    assert json.loads(read(split).with_sources({0: "a = '\x0c'\nc"}))["cells"][0]["source"] == [
        "a = '\x0c", "'\n", "c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        ("é", "x = 'é'", "\"x = 'é'\""),  # the file holds such characters as they are
        ("\\u00e9", "x = 'é'", "\"x = '\\u00e9'\""),  # the file escapes them
        ("\\u003cb\\u003e", "a <= b", '"a \\u003c= b"'),  # and these, as Colab does
        ("x", "a <= b & c", '"a <= b & c"'),
        ("\\ud83d", "'\ud83d'", "\"'\\ud83d'\""),  # half a character can't be written otherwise
    ],
)
def test_characters_are_escaped_as_the_file_does(old: str, new: str, written: str) -> None:
    text = f'{{"cells": [{{"cell_type": "code", "source": ["{old}"]}}]}}'
    assert f'"source": [{written}]' in read(text).with_sources({0: new}).decode()


def test_the_third_format() -> None:
    cell = {"cell_type": "code", "input": "x = 1", "language": "python", "outputs": []}
    sheet = {"cells": [cell, {"cell_type": "heading", "source": ["T"]}, {**cell, "input": ["y"]}]}
    text = json.dumps({"metadata": {}, "nbformat": 3, "worksheets": [sheet, {"cells": [cell]}]})
    notebook = read(text)
    assert [(c.kind, c.source) for c in notebook.cells] == [
        ("code", "x = 1"), ("heading", "T"), ("code", "y"), ("code", "x = 1"),
    ]  # fmt: skip
    after = json.loads(notebook.with_sources({0: "z", 3: "w\n"}))["worksheets"]
    assert [after[0]["cells"][0]["input"], after[1]["cells"][0]["input"]] == ["z", "w\n"]


def test_the_last_of_two_equal_keys_counts_as_in_json() -> None:
    text = '{"cells": [], "cells": [{"cell_type": "raw", "source": "a", "source": "b", "cell_type": "code"}]}'
    (cell,) = read(text).cells
    assert (cell.kind, cell.source) == ("code", "b")


@pytest.mark.parametrize(
    ("text", "said", "line", "column"),
    [
        ("", "Expecting value in line 1", 1, 1),
        ('{\n "cells": [\n}', "Expecting value in line 3", 3, 1),
        ("[]", "has no cells", 1, 1),
        ("{}", "has no cells", 1, 1),
        ("1", "has no cells", 1, 1),
        ('{"cells": [\n{"source": [1]}]}', "the source of cell 1 is not text", 2, 1),
        ('{"cells": [\n{"source": {}}]}', "the source of cell 1 is not text", 2, 1),
        ("[" * 100_000, "its JSON can't be read", 1, 1),
    ],
)
def test_what_is_no_notebook_is_told_with_its_place(text: str, said: str, line: int, column: int) -> None:
    with pytest.raises(UndecodableSource, match="no notebook") as caught:
        read(text)
    assert said in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("cells", ["1", "null", "{}", '[1, "a", null, [], {}]', '[{"cell_type": 1}]'])
def test_cells_that_are_none_are_no_code(cells: str) -> None:
    assert not [c for c in read(f'{{"cells": {cells}, "x": 1}}').cells if c.kind == "code"]


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(UndecodableSource, match="byte 0xff in line 2 is not utf-8") as caught:
        NotebookJson.from_bytes(b'{\n"\xff": 1}')
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"language_info": {"name": "R"}}, "R"),
        ({"kernelspec": {"name": "julia-1.9", "language": "julia"}}, "julia"),
        ({"kernelspec": {"name": "ir"}}, "R"),
    ],
)
def test_other_languages(metadata: dict[str, object], language: str) -> None:
    with pytest.raises(OtherLanguage, match=f"for {language}, not for Python"):
        read(notebook("x", **metadata))


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"kernelspec": {"name": "python3"}},
        {"kernelspec": {"name": "tf1", "language": "python"}},
        {"language_info": {"name": "python"}, "kernelspec": 1},
        {"language_info": {"name": "ipython", "version": 3}},
        {"kernelspec": {"name": "conda_tensorflow_p36"}, "language_info": []},
    ],
)
def test_python_by_its_many_names(metadata: dict[str, object]) -> None:
    assert read(notebook("x", **metadata)).cells


def test_lines_of_the_file() -> None:
    notebook = read(TEXT)
    line = notebook.line_of(notebook.cells[2].literals[0].start)
    assert TEXT.split("\n")[line - 1].strip() == '"c = 3"'
