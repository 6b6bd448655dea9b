"""The command line on notebooks: places are cells and lines, files keep everything else, and a script can be made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.source.notebooks import markdown, notebook, sources

CELLS = (
    markdown("# Training"),
    "import tensorflow as tf\n%matplotlib inline",
    "!wget data\nmodel = tf.keras.Sequential()\nmodel.compile(adam)",
    "model.fit(x, y)\nmodel.save('m')",
)
TEXT = notebook(*CELLS)
REFUSED = notebook(*CELLS, "x = 1\nrefuse = 1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "n.ipynb"
    made.write_text(TEXT)
    return made


@pytest.fixture(autouse=True)
def _engine(engine):
    """All of these use the small engine."""


# ---------------------------------------------------------------------- notebooks


def test_the_diff_is_one_of_cells(run, file: Path) -> None:
    result = run("distribute", "n.ipynb")
    assert result.status == 0
    assert "# K1 cell 3 line 3: Wrap it\n" in result.out
    assert "--- a/n.ipynb#cell 3\n+++ b/n.ipynb#cell 3\n@@ -1,3 +1,3 @@ K1\n !wget data\n" in result.out
    assert "-model.compile(adam)\n" in result.out
    assert "+model.compile(wrapped(adam))\n" in result.out
    assert "cell 2" not in result.out
    assert file.read_text() == TEXT


def test_output_and_write_change_only_the_sources(run, file: Path, tmp_path: Path) -> None:
    expected = TEXT.replace("adam", "wrapped(adam)")
    result = run("distribute", "n.ipynb", "--output", "out.ipynb")
    assert (result.status, result.out) == (0, "")
    assert "Horovod runs a notebook's code as a script: --to-script makes it" in result.err
    assert (tmp_path / "out.ipynb").read_text() == expected
    assert run("distribute", "n.ipynb", "--format", "text").out == expected
    assert run("distribute", "-", "--stdin-filename", "x.ipynb", stdin=TEXT.encode()).out == expected
    assert run("distribute", "n.ipynb", "--write").status == 0
    assert file.read_text() == expected


def test_a_notebook_that_has_nothing_to_do_is_copied_as_it_is(run, tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + notebook(*CELLS, "import horovod", indent=None).encode()
    (tmp_path / "n.ipynb").write_bytes(data)
    result = run("distribute", "n.ipynb", "--output", "out.ipynb")
    assert "nothing to do" in result.err
    assert (tmp_path / "out.ipynb").read_bytes() == data


def test_messages_name_cell_line_and_column(run, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(REFUSED)
    result = run("distribute", "n.ipynb", "--output", "out.ipynb")
    assert result.status == 1
    assert result.err.startswith("n.ipynb:cell 5:2:1: HVD107 an optimizer hides here\n")
    assert not (tmp_path / "out.ipynb").exists()


def test_json_names_the_cell_and_counts_lines_in_it(run, file: Path, tmp_path: Path) -> None:
    report = json.loads(run("distribute", "n.ipynb", "--format", "json").out)
    place = {"cell": 3, "start": {"line": 2, "character": 14}, "end": {"line": 2, "character": 18}}
    assert report["changes"][0]["range"] == place
    assert [e["range"]["cell"] for e in report["edits"]] == [3, 3]
    assert report["edits"][0]["range"]["start"] == place["start"]
    assert report["text"] == TEXT.replace("adam", "wrapped(adam)")
    summary = json.loads(run("summary", "n.ipynb", "--format", "json").out)
    assert summary["loops"][0]["site"]["cell"] == 4
    file.write_text(REFUSED)
    (reason,) = json.loads(run("distribute", "n.ipynb", "--format", "json").out)["reasons"]
    assert (reason["range"]["cell"], reason["range"]["start"]) == (5, {"line": 1, "character": 0})


def test_summary_names_places_in_cells(run, file: Path) -> None:
    out = run("summary", "n.ipynb").out
    assert out.startswith("n.ipynb: Keras\n")
    assert "  cell 4:1:1  loop" in out
    assert "  cell 2:1:1  tensorflow" in out


# ---------------------------------------------------------------------- folders


def test_notebooks_of_other_languages_are_passed_over_in_folders(run, tmp_path: Path) -> None:
    (tmp_path / "r.ipynb").write_text(notebook("x <- 1", language_info={"name": "R"}))
    assert run("check", ".").status == 0
    assert run("summary", ".").out == ""
    result = run("distribute", ".")
    assert (result.status, result.err) == (0, "files\n    1  without a training loop\n")


def test_notebooks_are_found_in_folders(run, file: Path) -> None:
    file.with_name("n.py").write_text("x = 1")
    result = run("distribute", ".", "--write")
    assert "n.ipynb: distributed (1 change)" in result.err
    assert "    1  distributed\n    1  without a training loop\n" in result.err


# ---------------------------------------------------------------------- scripts


@pytest.mark.parametrize(
    "arguments", [["--output", "out.py"], ["--to-script", "--output", "out.py"], ["--to-script", "--write"]]
)
def test_a_script_is_made(run, file: Path, tmp_path: Path, arguments: list[str]) -> None:
    result = run("distribute", "n.ipynb", *arguments)
    assert (result.status, result.out) == (0, "")
    name = "out.py" if "out.py" in arguments else "n.py"
    text = (tmp_path / name).read_text()
    assert f"#     horovodrun -np 2 python {name}\n" in text
    assert "# %% [markdown]\n# # Training\n" in text
    assert "# !wget data\nmodel = tf.keras.Sequential()\nmodel.compile(wrapped(adam))\n" in text
    assert "n.ipynb:cell 3:1:1: note: not in the script: !wget data\n" in result.err
    assert f"run it with: horovodrun -np 2 python {name}\n" in result.err
    assert "matplotlib" not in result.err
    assert file.read_text() == TEXT


def test_a_script_can_be_printed_or_reported(run, file: Path) -> None:
    text = run("distribute", "n.ipynb", "--to-script").out
    assert text.startswith("# Made of n.ipynb by Horovodize.")
    assert json.loads(run("distribute", "n.ipynb", "--to-script", "--format", "json").out)["text"] == text
    assert (
        run("distribute", "-", "--stdin-filename", "n.ipynb", "--to-script", stdin=TEXT.encode()).status == 0
    )


def test_a_notebook_that_is_distributed_already_has_a_script_too(run, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(notebook(*CELLS, "import horovod"))
    assert run("distribute", "n.ipynb", "--to-script", "--write").status == 0
    assert "import horovod\n" in (tmp_path / "n.py").read_text()


def test_a_script_that_is_there_is_not_overwritten_unasked(run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "n.py").write_text("mine")
    result = run("distribute", "n.ipynb", "--to-script", "--write")
    assert result.status == 2
    assert "n.py: exists already; use --output to replace it" in result.err
    assert (tmp_path / "n.py").read_text() == "mine"


def test_what_a_script_can_t_have_is_refused(run, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(notebook(*CELLS, "files = !ls"))
    result = run("distribute", "n.ipynb", "--output", "n.py")
    assert result.status == 1
    assert result.err.startswith("n.ipynb:cell 5:1:9: HVD006 a script has no `!ls`")
    assert not (tmp_path / "n.py").exists()
    assert run("distribute", "n.ipynb", "--output", "out.ipynb").status == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["n.ipynb", "--to-script", "--output", "o.ipynb"], "--output can't be a notebook"),
        (["n.ipynb", "--to-script", "--diff"], "there is no diff"),
        (["n.ipynb", "--to-script", "--format", "diff"], "there is no diff"),
        (["s.py", "--to-script"], "s.py: --to-script is for notebooks"),
    ],
)
def test_what_does_not_go_together(run, file: Path, arguments: list[str], said: str) -> None:
    file.with_name("s.py").write_text("x = 1")
    result = run("distribute", *arguments)
    assert result.status == 2
    assert said in result.err


def test_in_a_folder_only_notebooks_become_scripts(run, file: Path, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(
        "import tensorflow as tf\nm = tf.keras.Sequential()\nm.compile(adam)\nm.fit(x)\n"
    )
    assert run("distribute", ".", "--to-script", "--write").status == 0
    assert "wrapped" not in (tmp_path / "s.py").read_text()
    assert "wrapped" in (tmp_path / "n.py").read_text()


def test_sources_are_what_any_reader_sees(run, file: Path) -> None:
    data = run("distribute", "n.ipynb", "--format", "text").raw
    assert sources(data)[2] == "!wget data\nmodel = tf.keras.Sequential()\nmodel.compile(wrapped(adam))"
