"""`horovodize summary`."""

from __future__ import annotations

import json
from pathlib import Path

KERAS = "import tensorflow as tf\nmodel = tf.keras.Sequential()\nmodel.compile('adam')\nmodel.fit(x, y)\n"


def test_json_of_one_file_is_an_object(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS)
    result = run("summary", "a.py", "--format", "json")
    report = json.loads(result.out)
    assert (result.status, result.err) == (0, "")
    assert (report["path"], report["loop"], report["problem"]) == ("a.py", "keras", None)
    (loop,) = report["loops"]
    assert (loop["kind"], loop["function"], loop["model"]) == ("keras", "", "model")
    assert loop["site"]["start"] == {"line": 3, "character": 0}
    assert "model" in {role["role"] for role in report["roles"]}


def test_json_of_a_folder_or_several_is_a_list(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS)
    assert [r["path"] for r in json.loads(run("summary", ".", "--format", "json").out)] == ["a.py"]
    (tmp_path / "b.py").write_text("")
    reports = json.loads(run("summary", "a.py", "b.py", "--format", "json").out)
    assert [(r["path"], r["loop"]) for r in reports] == [("a.py", "keras"), ("b.py", "none")]


def test_text(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS)
    (tmp_path / "b.py").write_text("")
    result = run("summary", ".")
    assert result.out.splitlines()[0] == "a.py: Keras"
    assert "  4:1  loop" in result.out
    assert result.err == "1 more file without a training loop\n"
    assert run("summary", "b.py").out == "b.py: no training loop\n"


def test_what_cannot_be_parsed_or_decoded(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x =\n")
    (tmp_path / "b.py").write_bytes(b"\xff")
    for name in ("a.py", "b.py"):
        result = run("summary", name, "--format", "json")
        report = json.loads(result.out)
        assert (result.status, report["loop"]) == (0, "none")
        assert report["problem"]["message"]
        assert run("summary", name).status == 0
    assert "cannot be parsed" in run("summary", "a.py").out


def test_how_each_step_would_be_scaled(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS)
    said = "Weak scaling: each rank trains on batches of its own: rate × size(), steps ÷ size()"
    assert f"  4:1  scaling     {said}\n" in run("summary", "a.py").out
    (loop,) = json.loads(run("summary", "a.py", "--format", "json").out)["loops"]
    assert loop["scaling"] == {"kind": "weak", "why": said.partition(": ")[2], "sure": True}


def test_nothing_is_said_of_scaling_where_it_would_be_refused(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERAS.replace("model =", "s = tf.distribute.MirroredStrategy()\nmodel ="))
    result = run("summary", "a.py")
    assert "loop" in result.out
    assert "scaling" not in result.out


# Two networks, each with a step of its own in one loop.
TWO_STEPS = """
import tensorflow as tf
sess = tf.Session()
d_step = tf.train.AdamOptimizer().minimize(d_loss)
g_step = tf.train.AdamOptimizer().minimize(g_loss)
for batch in batches:
    sess.run(d_step, {x: batch})
    sess.run(g_step, {x: batch})
"""


def test_a_loop_of_several_steps_is_listed_once(run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TWO_STEPS)
    out = run("summary", "a.py").out
    assert out.count("Session training loop") == 1
    (tmp_path / "a.py").write_text(
        TWO_STEPS.replace("    sess.run(g_step", "for batch in more:\n    sess.run(g_step")
    )
    assert run("summary", "a.py").out.count("Session training loop") == 2
