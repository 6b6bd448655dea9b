"""What is found in notebooks, with the real engine: each finding has a cell and a line in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.source.notebooks import code_cell, markdown, notebook

# ---------------------------------------------------------------------- what is no notebook of Python


@pytest.mark.parametrize("command", ["distribute", "check"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n "cells": [}', "n.ipynb:2:12: HVD003 this is no notebook: Expecting value in line 2"),
        ("{}", "n.ipynb:1:1: HVD003 this is no notebook: it has no cells"),
        (notebook("x", language_info={"name": "R"}), "n.ipynb:1:1: HVD003 this is a notebook for R, not for Python"),
        (notebook(markdown("x"), "import tensorflow\nprint 'x'"), "n.ipynb:cell 2:2:1: HVD003 this looks like Python 2"),
    ],
)  # fmt: skip
def test_what_can_t_be_read_is_told_at_its_place(
    run, tmp_path: Path, command: str, text: str, told: str
) -> None:
    (tmp_path / "n.ipynb").write_text(text)
    result = run(command, "n.ipynb")
    assert result.status == 1
    assert told in result.err + result.out


# ---------------------------------------------------------------------- check


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A notebook in which TensorFlow is imported too late."""
    cell = (
        "def f():\n  import tensorflow as tf\n  m = tf.keras.Sequential()\n  m.compile('sgd')\n  m.fit(x, y)"
    )
    text = notebook(markdown("t"), "x = 1", cell, code_cell("f()"))
    (tmp_path / "n.ipynb").write_text(text)
    return text


def test_findings_have_cell_and_line(run, broken: str) -> None:
    result = run("check", "n.ipynb")
    assert result.status == 1
    assert result.out.startswith("n.ipynb:cell 3:2:3: HVD101 TensorFlow is imported inside a function only")
    (finding,) = json.loads(run("check", "n.ipynb", "--format", "json").out)
    assert (finding["range"]["cell"], finding["range"]["start"]) == (3, {"line": 1, "character": 2})


def test_sarif_has_the_line_of_the_file_and_the_cell(run, broken: str) -> None:
    (result,) = json.loads(run("check", "n.ipynb", "--format", "sarif").out)["runs"][0]["results"]
    (location,) = result["locations"]
    line = location["physicalLocation"]["region"]["startLine"]
    assert "  import tensorflow as tf" in broken.split("\n")[line - 1]
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "cell 3 line 2"
    assert location["properties"] == {"cell": 3, "line": 2, "column": 3}


def test_github_annotations_are_at_the_line_of_the_file(run, broken: str) -> None:
    out = run("check", "n.ipynb", "--format", "github").out
    line = next(i for i, row in enumerate(broken.split("\n"), 1) if "import tensorflow" in row)
    assert out.startswith(
        f"::warning file=n.ipynb,line={line},endLine={line},title=HVD101 late-import in cell 3 line 2::"
    )
