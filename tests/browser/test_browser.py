"""What the page in a browser is given: the same as the command line and the editor say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from horovodize.browser import Script, opened
from horovodize.cli import main
from horovodize.restrictions import RESTRICTIONS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def look(text: str, **options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Script(text, "train.py", **options).look())
    return found


def diff_of(hunks: list[dict[str, Any]]) -> list[str]:
    return [sign + text for hunk in hunks for sign, text, _, _ in hunk["lines"]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_difference_is_the_command_lines(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["distribute", "--color", "never", str(path)])
    said = capsys.readouterr().out.splitlines()
    found = look(path.read_text(encoding="utf-8"))
    assert (found["outcome"] == "plan") == (status == 0)
    if found["outcome"] == "plan":
        lines = [line for line in said if line[:1] in ("+", "-", " ") and line[:4] not in ("+++ ", "--- ")]
        assert diff_of(found["plan"]["hunks"]) == lines


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_numbers_of_lines_are_those_of_both_texts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    plan = look(text).get("plan")
    if plan is None:
        assert path.stem == "mirrored"
        return
    before, after = text.splitlines(), plan["text"].splitlines()
    for hunk in plan["hunks"]:
        for sign, line, old, new in hunk["lines"]:
            assert sign == "+" or before[old - 1] == line
            assert sign == "-" or after[new - 1] == line


def test_what_blocks_is_a_finding_and_a_reason_with_a_page() -> None:
    found = look((ROOT / "examples" / "mirrored.py").read_text(encoding="utf-8"))
    assert [(f["code"], f["page"], f["blocks"], f["line"]) for f in found["findings"]] == [
        ("HVD202", "HVD202", True, 9)
    ]
    assert [(r["code"], r["line"]) for r in found["reasons"]] == [("HVD202", 9)]


def test_hovers_link_to_pages_by_name() -> None:
    script = Script((ROOT / "examples" / "keras_fit.py").read_text(encoding="utf-8"), "train.py")
    (loop,) = json.loads(script.look())["loops"]
    assert "<page:C7>" in loop["hover"]
    assert "file:" not in loop["hover"]
    line, character, *_ = loop["range"]
    assert json.loads(script.hover(line, character))["hover"] == loop["hover"]
    assert script.hover(0, 0) == "null"


def test_places_count_as_javascript_does() -> None:
    text = "import tensorflow as tf\ns = '𝛼𝛽'; m = tf.keras.Sequential(); m.compile('sgd'); m.fit(x, y)\n"
    (loop,) = look(text)["loops"]
    line, start, _, end = loop["range"]
    units = text.splitlines()[line].encode("utf-16-le")
    assert units[2 * start : 2 * end].decode("utf-16-le") == "m.fit(x, y)"


def test_a_changed_script_is_told_as_if_it_were_new() -> None:
    text = (ROOT / "examples" / "gradient_tape.py").read_text(encoding="utf-8")
    script = Script(text, "train.py")
    script.look()
    for new in (text.replace("0.", "1."), text + "\n(", text):
        script = script.changed(new, "train.py")
        assert script.look() == Script(new, "train.py").look()


def test_what_it_runs_on_decides() -> None:
    text = (ROOT / "examples" / "keras_fit.py").read_text(encoding="utf-8")
    assert list(look(text, tensorflow="2.18")["plan"]["beside"]) == ["horovod_keras3.py"]
    assert look(text, tensorflow="2.15")["plan"]["beside"] == {}
    assert look(text, tensorflow="; import os") == look(text)


def test_without_libcst_a_buried_step_is_said_to_need_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = RESTRICTIONS["HVD108"].docs
    text = docs.partition("```python\n")[2].partition("```")[0]
    text = text.replace("(train_step(x, y) for x, y in batches)", "[train_step(x, y) for x, y in batches]")
    assert "for x, y in batches]" in text
    assert look(text)["plan"]
    for module in [m for m in sys.modules if m.startswith("horovodize.taking_apart.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "libcst", None)
    found = look(text)
    assert [r["code"] for r in found["reasons"]] == ["HVD108"]
    assert found["needsLibcst"]
    assert not look("import tensorflow as tf\n")["needsLibcst"]


def test_files_are_read_as_they_say() -> None:
    latin = "# -*- coding: latin-1 -*-\nname = 'é'\n"
    assert json.loads(opened(latin.encode("latin-1"), "a.py"))["text"] == latin
    assert "can't be read" in json.loads(opened(b"\xff\xfe\x00", "a.py"))["problem"]


def test_a_notebook_is_the_script_that_it_makes() -> None:
    cells = ["!pip install tensorflow", "import tensorflow as tf\nm = tf.keras.Sequential()", "m.fit(x, y)"]
    notebook = {
        "cells": [{"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None} for s in cells],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    found = json.loads(opened(json.dumps(notebook).encode(), "a.ipynb"))
    assert found["name"] == "a.py"
    assert "m.fit(x, y)" in found["text"]
    assert found["leftOut"] == ["cell 1 line 1: !pip install tensorflow"]
    notebook["cells"][1]["source"] = "files = !ls"  # type: ignore[index]
    assert "cell 2" in json.loads(opened(json.dumps(notebook).encode(), "a.ipynb"))["problem"]
    assert "can't be read" in json.loads(opened(b"{", "a.ipynb"))["problem"]
