"""Golden notebooks: `notebook/<name>.ipynb` is the input; beside it stand `<name>.expected.ipynb`, `<name>.expected.py` (the
script made of it) and, where the user is told something, `<name>.expected.txt`. They are updated as scripts are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import UndecodableSource
from horovodize.source.notebook import NotebookFile
from horovodize.source.script import as_script
from horovodize.summary import summarize
from tests.golden.test_golden import compare

HERE = Path(__file__).parent / "notebook"
INPUTS = sorted(p for p in HERE.glob("*.ipynb") if not p.name.endswith(".expected.ipynb"))

notebooks = pytest.mark.parametrize("path", INPUTS, ids=lambda p: p.stem)


def plan_of(data: bytes) -> Plan:
    result = distribute(summarize(NotebookFile.from_bytes(data, "n.ipynb")), Options())
    assert isinstance(result, Plan), result
    return result


def told(plan: Plan) -> str:
    place = plan.document.place
    lines = [f"{place(c.span.start)} {c.rule} confirm: {c.doubt}" for c in plan.changes if not c.sure]
    lines += [f"{place(n.span.start)} {n.rule} note: {n.message}" for n in plan.notes]
    return "".join(f"{line}\n" for line in lines)


def without_sources(data: bytes) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(data)
    for sheet in notebook.get("worksheets", [notebook]):
        for cell in sheet["cells"]:
            cell.pop("source", None)
            cell.pop("input", None)
    return notebook


@notebooks
def test_what_comes_out(path: Path) -> None:
    plan = plan_of(path.read_bytes())
    assert isinstance(plan.document, NotebookFile)
    compare(path.with_suffix(".expected.ipynb"), plan.document.edited(plan.edits))
    compare(path.with_suffix(".expected.py"), as_script(plan.document, plan.edits).text.encode())
    compare(path.with_suffix(".expected.txt"), told(plan).encode())


@notebooks
def test_everything_but_sources_stays_as_it_was(path: Path) -> None:
    data = path.read_bytes()
    plan = plan_of(data)
    after = plan.document.edited(plan.edits)
    assert plan.document.edited([]) == data
    assert without_sources(after) == without_sources(data)
    assert (b"\r\n" in after, after.endswith(b"\n")) == (b"\r\n" in data, data.endswith(b"\n"))
    assert len(after.split(b"\n")) == len(data.split(b"\n")) or after.count(b"\r\n") in (
        0,
        after.count(b"\n"),
    )


@notebooks
def test_the_result_and_its_script_are_distributed(path: Path) -> None:
    plan = plan_of(path.read_bytes())
    assert isinstance(plan.document, NotebookFile)
    again = NotebookFile.from_bytes(plan.document.edited(plan.edits), "n.ipynb")
    assert isinstance(distribute(summarize(again), Options()), Unchanged)
    commands = [[magic.text for magic in cell.magics] for cell in plan.document.cells]
    assert [[magic.text for magic in cell.magics] for cell in again.cells] == commands
    script = as_script(plan.document, plan.edits).text
    compile(script, path.name, "exec", dont_inherit=True)
    assert as_script(again, []).text == script


# ---------------------------------------------------------------------- damaged ones

_INSERTED = [
    "!ls\\n",
    "%time x = 1\\n",
    "%%bash\\n",
    "y = !ls\\n",
    "'",
    "(",
    "\\\\",
    "\\u0000",
    "\\ud800",
    "  ",
    "?",
    "\\r\\n",
]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Cut off, a byte changed, a stretch taken out, or something put into a string."""
    at = chance.randrange(len(data))
    match chance.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + data[at + chance.randrange(40) :]
    quote = data.find(b'    "', at) + 5
    return data[:quote] + chance.choice(_INSERTED).encode() + data[quote:]


@notebooks
@pytest.mark.parametrize("seed", range(40))
def test_damaged_notebooks_are_answered(path: Path, seed: int) -> None:
    data = damaged(path.read_bytes(), random.Random(seed))
    try:
        document = NotebookFile.from_bytes(data, "n.ipynb")
    except UndecodableSource:
        return
    assert document.edited([]) == data
    result = distribute(summarize(document), Options())
    if isinstance(result, Refusal):
        assert all(str(document.place(reason.span.start)) for reason in result.reasons)
        assert "HVD007" not in {reason.code for reason in result.reasons}
    elif isinstance(result, Plan):
        after = NotebookFile.from_bytes(document.edited(result.edits), "n.ipynb")
        assert after.problem is None
        assert without_sources(data) == without_sources(document.edited(result.edits))
