"""`horovodize distribute`: where results go, what is told, which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horovodize.options import Options
from horovodize.plan import Note
from horovodize.source import Span

KERAS = "import tensorflow as tf\nmodel = tf.keras.Sequential()\nmodel.compile(adam)\nmodel.fit(x, y)\n"
DONE = KERAS.replace("adam", "wrapped(adam)")
ALREADY = "import horovod.tensorflow.keras as hvd\n" + KERAS.replace("adam", "hvd.DistributedOptimizer(1)")
REFUSED = KERAS + "refuse = 1\n"


@pytest.fixture(autouse=True)
def _engine(engine):
    """All of these use the small engine."""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(KERAS)
    return file


# ---------------------------------------------------------------------- ways to show it


def test_a_file_is_shown_as_a_diff_with_reasons(run, script: Path) -> None:
    result = run("distribute", "train.py")
    assert result.status == 0
    assert result.out.splitlines()[:2] == ["# K1 line 3: Wrap it", "#    So that gradients are averaged."]
    assert "-model.compile(adam)\n+model.compile(wrapped(adam))\n" in result.out
    assert result.err == ""
    assert script.read_text() == KERAS
    assert run("distribute", "train.py", "--diff").raw == result.raw


def test_the_diff_with_its_reasons_can_be_applied(run, script: Path, tmp_path: Path) -> None:
    import subprocess

    patch = run("distribute", "train.py").raw
    subprocess.run(["git", "apply", "-"], input=patch, check=True, cwd=tmp_path)
    assert script.read_text() == DONE


def test_standard_input_is_answered_with_the_text(run) -> None:
    result = run("distribute", "-", stdin=KERAS.encode())
    assert (result.status, result.out) == (0, DONE)
    assert run("distribute", "-", "--diff", stdin=KERAS.encode()).out.startswith("# K1")


def test_bytes_come_out_as_they_went_in(run) -> None:
    data = ("# coding: latin-1\r\nname = 'é'\r\n" + KERAS).encode("latin-1")
    assert run("distribute", "-", stdin=data).raw == data.replace(b"adam", b"wrapped(adam)")
    data = b"\xef\xbb\xbf" + KERAS.encode()
    assert run("distribute", "-", stdin=data).raw == data.replace(b"adam", b"wrapped(adam)")


def test_write_changes_the_files(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "link.py").symlink_to("train.py")
    result = run("distribute", "link.py", "--write")
    assert (result.status, result.out) == (0, "")
    assert "link.py: distributed (1 change)" in result.err
    assert script.read_text() == DONE
    assert (tmp_path / "link.py").is_symlink()


def test_write_leaves_alone_what_has_nothing_to_do_or_is_refused(run, tmp_path: Path) -> None:
    for name, text in (("a.py", ALREADY), ("b.py", REFUSED)):
        (tmp_path / name).write_text(text)
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    assert run("distribute", ".", "--write").status == 1
    assert {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == before


def test_a_read_only_file_is_an_error(run, script: Path) -> None:
    script.chmod(0o444)
    result = run("distribute", "train.py", "--write")
    assert result.status == 2
    assert "train.py: is read-only" in result.err
    assert script.read_text() == KERAS


def test_output_writes_only_there(run, script: Path, tmp_path: Path) -> None:
    result = run("distribute", "train.py", "--output", "out.py")
    assert (result.status, result.out) == (0, "")
    assert result.err.startswith("train.py: versions of TensorFlow and Keras unknown")
    assert result.err.count("\n") == 1
    assert (tmp_path / "out.py").read_text() == DONE
    assert script.read_text() == KERAS


def test_output_to_standard_output(run, script: Path) -> None:
    assert run("distribute", "train.py", "--output", "-").out == DONE


def test_output_of_a_refusal_is_nothing(run, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(REFUSED)
    result = run("distribute", "b.py", "--output", "out.py")
    assert (result.status, result.out) == (1, "")
    assert result.err == "b.py:5:1: HVD107 an optimizer hides here\n    help: horovodize explain HVD107\n"
    assert not (tmp_path / "out.py").exists()


def test_output_of_what_is_distributed_already_is_the_same_text(run, tmp_path: Path) -> None:
    data = ALREADY.replace("\n", "\r\n").encode()
    (tmp_path / "a.py").write_bytes(data)
    result = run("distribute", "a.py", "--output", "out.py")
    assert (result.status, result.out) == (0, "")
    assert "a.py: nothing to do: it uses Horovod already" in result.err
    assert (tmp_path / "out.py").read_bytes() == data


def test_json_of_one_file_is_an_object(run, script: Path) -> None:
    report = json.loads(run("distribute", "train.py", "--format", "json").out)
    assert (report["path"], report["outcome"], report["loop"]) == ("train.py", "distributed", "keras")
    change = report["changes"][0]
    assert (change["rule"], change["sure"], change["range"]["start"]) == (
        "K1",
        True,
        {"line": 2, "character": 14},
    )
    assert [edit["newText"] for edit in report["edits"]] == ["wrapped(", ")"]
    assert report["text"] == DONE


def test_json_of_several_is_a_list(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(REFUSED)
    (tmp_path / "c.py").write_text(ALREADY)
    result = run("distribute", "train.py", "b.py", "c.py", "--format", "json")
    reports = json.loads(result.out)
    assert result.status == 1
    assert [(r["path"], r["outcome"]) for r in reports] == [
        ("train.py", "distributed"), ("b.py", "refused"), ("c.py", "unchanged"),
    ]  # fmt: skip
    assert reports[1]["reasons"][0]["code"] == "HVD107"
    assert result.err == ""


# ---------------------------------------------------------------------- what is told


def test_doubts_are_told_and_applied(run, script: Path, engine, tmp_path: Path) -> None:
    engine.sure = False
    result = run("distribute", "train.py", "--write")
    assert result.status == 0
    assert "train.py:3:15: K1 to confirm: is this an optimizer?" in result.err
    assert script.read_text() == DONE


def test_notes_are_told(run, script: Path, engine) -> None:
    engine.notes = [Note("D3", "the seed is fixed", Span(24, 29))]
    assert "train.py:2:1: D3 note: the seed is fixed" in run("distribute", "train.py").err


def test_columns_count_characters(run, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("'😀é'; refuse", encoding="utf-8")
    assert run("distribute", "b.py").err.startswith("b.py:1:7: HVD107 ")


def test_options_reach_the_engine(run, script: Path, engine) -> None:
    run("distribute", "train.py", "--no-split-data", "--no-comments", "--strict")
    assert engine.options == [Options(split_data=False, comments=False, strict=True)]


# ---------------------------------------------------------------------- folders


def test_in_a_folder_files_without_a_loop_are_passed_over(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "util.py").write_text("refuse = 1\n")
    result = run("distribute", ".")
    assert result.status == 0
    assert "HVD107" not in result.err
    assert result.err.endswith("files\n    1  distributed\n    1  without a training loop\n")
    assert run("distribute", "util.py").status == 1


def test_in_a_folder_a_file_that_cannot_be_parsed_is_told_when_it_is_about_tensorflow(
    run, tmp_path: Path
) -> None:
    (tmp_path / "old.py").write_text("import tensorflow\nprint 'x'\n")
    (tmp_path / "other.py").write_text("print 'x'\n")
    result = run("distribute", ".")
    assert result.status == 0
    assert "old.py:2:" in result.err
    assert "other.py" not in result.err


def test_the_highest_status_counts(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(REFUSED)
    assert run("distribute", "train.py", "b.py").status == 1
    assert run("distribute", "missing.py", "train.py", "b.py").status == 2


def test_a_file_named_twice_is_done_once(run, script: Path) -> None:
    assert run("distribute", "train.py", "./train.py", ".").out.count("+++ ") == 1


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    "arguments",
    [
        ("distribute",),
        ("distribute", "-", "--write"),
        ("distribute", "train.py", "--write", "--diff"),
        ("distribute", "train.py", "train.py", "--output", "o.py"),
        ("distribute", ".", "--output", "o.py"),
        ("distribute", "train.py", "--format", "xml"),
        ("distribute", "missing.py"),
        ("distribute", "train.py", "--output", "missing/o.py"),
        ("nonsense",),
        (),
    ],
)
def test_wrong_usage_ends_with_status_2(run, script: Path, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.status, result.out) == (2, "")
    assert "Traceback" not in result.err
    assert result.err.strip()


def test_json_of_what_cannot_be_read_is_nothing(run, tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "link.py").symlink_to("folder.py/none.py")
    for command in ("distribute", "summary"):
        assert run(command, "none.py", "--format", "json").out == ""
        assert run(command, ".", "--format", "json").out == "[]\n"


def test_a_wrong_setting_is_told_once(run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.horovodize]\nx = 1")
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(KERAS)
    result = run("distribute", ".")
    assert (result.status, result.err.count("unknown setting")) == (2, 1)


def test_bytes_that_are_no_text_are_refused(run, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_bytes(b"x = '\xff'\n")
    result = run("distribute", "b.py", "--output", "o.py")
    assert result.status == 1
    assert result.err.startswith("b.py:1:1: HVD003 ")
    assert not (tmp_path / "o.py").exists()


def test_a_fault_of_ours_is_one_line_and_stops_no_other_file(run, script: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS + "crash = 1\n")
    result = run("distribute", "a.py", "train.py")
    assert result.status == 2
    assert "+model.compile(wrapped(adam))" in result.out
    assert result.err.splitlines() == [
        "horovodize: a.py: internal error: ZeroDivisionError: deep inside. This is a fault of Horovodize, please report it "
        "(--traceback shows where)",
        "files",
        "    1  distributed",
    ]
    assert "Traceback" in run("distribute", "a.py", "--traceback").err


def test_a_file_that_changes_meanwhile_is_not_overwritten(run, script: Path, engine, monkeypatch) -> None:
    def slow(summary, options):
        script.write_text("theirs")
        return engine.distribute(summary, options)

    monkeypatch.setattr("horovodize.distribute.distribute", slow)
    result = run("distribute", "train.py", "--write")
    assert result.status == 2
    assert "meanwhile" in result.err
    assert script.read_text() == "theirs"


def test_what_is_asked_stands_above_the_reasons(run, script: Path, engine) -> None:
    engine.sure = False
    result = run("distribute", "train.py")
    assert result.out.splitlines()[:4] == [
        "# To confirm before training: K1 line 3",
        "# K1 line 3: Wrap it (to confirm)",
        "#    So that gradients are averaged.",
        "#    To confirm: is this an optimizer?",
    ]


def test_a_question_is_no_change(run, script: Path, engine) -> None:
    engine.asked = True
    result = run("distribute", "train.py", "--write")
    assert result.status == 0
    assert "train.py:1:1: HVD105 to confirm: where is it made?" in result.err
    assert "train.py: distributed (1 change, 1 to confirm)" in result.err
