"""Where pieces of distributed texts come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horovodize.plan import Change, Plan
from horovodize.running.failures import failures
from horovodize.running.mapping import pieces_of, source_map
from horovodize.running.prepared import prepare
from horovodize.running.source_map import NoSourceMap, SourceMap
from horovodize.running.tracebacks import improved_errors
from horovodize.source import Document, Edit, Move, Span

SCRIPT = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(tf.zeros((640, 2)), tf.zeros((640, 1)))
"""


def check(mapped) -> None:
    """Every piece is what it says: the user's text, or nothing of it; and together they are the distributed text."""
    at, used = 0, []
    for length, origin in mapped.pieces:
        text = mapped.text[at : at + length]
        if origin >= 0:
            assert text == mapped.original[origin : origin + length]
            used += range(origin, origin + length)
        else:
            assert 0 <= -1 - origin < len(mapped.changes)
        at += length
    assert at == len(mapped.text)
    assert len(used) == len(set(used))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_lines_come_from_the_users_lines(script: Path) -> None:
    (mapped,) = source_map(prepare(script)).files
    check(mapped)
    for number in range(1, mapped.text.count("\n") + 1):
        origin = mapped.origin(number)
        assert origin is not None
        if not origin.inserted:
            assert origin.text == SCRIPT.split("\n")[origin.line - 1]
    own = [mapped.origin(n) for n in range(1, mapped.text.count("\n") + 1) if mapped.line(n)]
    assert [o.line for o in own if o and not o.inserted] == [1, 3, 4, 5]


def test_modules_that_run_as_they_are_are_in_the_map(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    net = "import tensorflow as tf\n\n\ndef net():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    Path("net.py").write_text(net)
    Path("other.py").write_text("1 / 0\n")
    script.write_text(
        SCRIPT.replace(
            "\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])",
            "from net import net\n\nmodel = net()",
        )
    )
    unchanged, mapped = source_map(prepare(Path("train.py"))).files
    check(unchanged)
    check(mapped)
    assert (unchanged.source, unchanged.text, unchanged.changes, mapped.source) == (
        "net.py",
        net,
        (),
        "train.py",
    )
    error = f'Traceback (most recent call last):\n  File "{unchanged.path}", line 5, in net\n    x\nValueError: no\n'
    found = failures({0: error, 1: error}, SourceMap((unchanged, mapped)))
    assert found.lines()[0] == "both ranks failed alike at net.py:5: ValueError: no"


def test_a_column_tells_what_is_inserted_in_a_line(script: Path) -> None:
    (mapped,) = source_map(prepare(script)).files
    number = mapped.text[: mapped.text.index("hvd.DistributedOptimizer")].count("\n") + 1
    line = mapped.line(number)
    wrapped = mapped.origin(number, line.index("hvd.Distributed") + 1)
    assert wrapped is not None
    assert wrapped.change is not None
    assert (wrapped.change.rule, wrapped.line, wrapped.inserted) == ("K1", 4, False)
    own = mapped.origin(number, line.index("SGD") + 1)
    assert own is not None
    assert (own.change, own.line, own.column) == (None, 4, SCRIPT.split("\n")[3].index("SGD") + 1)
    assert {change.rule for change in own.touched} == {"K1", "C5"}


def test_a_users_line_knows_what_it_becomes(script: Path) -> None:
    (mapped,) = source_map(prepare(script)).files
    becomes = [mapped.line(number) for number in mapped.distributed_lines(5)]
    assert becomes[-1].startswith("model.fit(shard(")
    assert any("BroadcastGlobalVariablesCallback" in line for line in becomes)
    assert mapped.distributed_lines(99) == []


def test_moved_text_stays_the_users() -> None:
    text = "a = 1\nb = [2]\nc = b\n"
    move = Move(Span(10, 13), 0, "kept = ", "\n", "kept")
    inner = Edit.insert(11, "1, ", Span(11, 12))
    plan = Plan(
        Document(text),
        [Change("X1", "move", "", Span(10, 13), (move,)), Change("X2", "add", "", Span(11, 12), (inner,))],
    )
    assert plan.text == "kept = [1, 2]\na = 1\nb = kept\nc = b\n"
    assert pieces_of(plan) == [
        (7, -1), (1, 10), (3, -2), (2, 11), (1, -1), (10, 0), (4, -1), (7, 13),
    ]  # fmt: skip


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends(tmp_path: Path, newline: str) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(SCRIPT.replace("\n", newline).encode())
    (mapped,) = source_map(prepare(path)).files
    check(mapped)
    own = [mapped.origin(n) for n in range(1, len(mapped.text.split(newline)) + 1)]
    assert [(o.line, o.text) for o in own if o and not o.inserted and "compile" in o.text] == [
        (4, SCRIPT.split("\n")[3])
    ]


def test_every_file_of_a_project_is_mapped() -> None:
    folder = Path(__file__).parent / "failing" / "project"
    files = source_map(prepare(folder / "train.py")).files
    assert [Path(file.path).name for file in files] == ["steps.py", "train.py"]
    for mapped in files:
        check(mapped)


def test_a_notebook_is_mapped_by_cells(root: Path) -> None:
    notebook = root / "tests" / "workbench" / "programs" / "line.ipynb"
    (mapped,) = source_map(prepare(notebook)).files
    cells = json.loads(notebook.read_text())["cells"]
    lines = mapped.text.split("\n")
    found = 0
    for number in range(1, len(lines) + 1):
        origin = mapped.origin(number)
        if origin is not None and not origin.inserted and origin.text.strip() and not origin.touched:
            assert origin.cell is not None
            source = "".join(cells[origin.cell - 1]["source"]).split("\n")
            assert source[origin.line - 1] == origin.text == lines[number - 1]
            found += 1
    assert found >= 5


def test_a_map_survives_its_file(script: Path, tmp_path: Path) -> None:
    made = source_map(prepare(script))
    made.write(tmp_path / "map.json")
    assert SourceMap.read(tmp_path / "map.json") == made


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 1}', '{"version": 2, "files": []}', '{"version": 1, "files": [3]}']
)
def test_what_is_no_map_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(NoSourceMap):
        SourceMap.read(tmp_path / "map.json")


def test_a_file_is_found_by_its_path(script: Path) -> None:
    made = source_map(prepare(script), {script: Path("/scratch/run/train.py")})
    assert made.file_of("/scratch/run/train.py") is made.files[0]
    assert made.file_of("/elsewhere/train.py") is made.files[0]
    assert made.file_of("/scratch/run/other.py") is None
    assert made.file_of("/python/site-packages/tool/train.py") is None


def test_improved_errors_say_where_and_stay_what_they_are(script: Path, tmp_path: Path) -> None:
    distributed = tmp_path / "run" / "train.py"
    distributed.parent.mkdir()
    prepared = prepare(script)
    made = source_map(prepared, {script: distributed})
    text = made.files[0].text
    distributed.write_text(text)
    line = text[: text.index("model.compile")].count("\n")
    code = compile("\n" * line + "raise KeyError('rate')", str(distributed), "exec")
    with pytest.raises(KeyError) as caught, improved_errors(made):
        exec(code)
    said = "".join(getattr(caught.value, "__notes__", [])) or str(caught.value.args[0])
    assert "line 4" in said
    assert SCRIPT.split("\n")[3] in said


def test_improved_errors_leave_what_works_alone(script: Path) -> None:
    with improved_errors(source_map(prepare(script))):
        done = True
    assert done
