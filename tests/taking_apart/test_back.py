"""A plan for a script that was taken apart, brought back to the script as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.distribute_project import distribute_script, file_plans
from horovodize.lsp.workspace_edit import owners_of
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from horovodize.source.edits import apply
from horovodize.source.notebook import NotebookDocument
from horovodize.source.project import ProjectDocument
from horovodize.summary import summarize
from horovodize.taking_apart import take_apart
from tests.taking_apart.test_statements import FORMS, HEAD

DATA = "ds = tf.data.Dataset.range(64).batch(8)\nlog = []\n"


@pytest.mark.parametrize("name", FORMS)
def test_it_comes_to_what_distributing_the_new_text_does(name: str) -> None:
    summary = summarize(Document(HEAD + DATA + FORMS[name]))
    apart = take_apart(summary)
    assert apart is not None
    plan, direct = distribute(summary), distribute(apart.summary)
    assert type(plan) is type(direct)
    if isinstance(plan, Plan):
        assert isinstance(direct, Plan)
        assert plan.document is summary.document
        assert plan.text == direct.text
        assert apply(plan.document.text, plan.edits) == plan.text
        spans = [
            *(c.span for c in plan.changes),
            *(n.span for n in plan.notes),
            *(s.span for s in plan.scalings),
        ]
        assert all(0 <= s.start <= s.end <= len(summary.document.text) for s in spans)
        assert "C8" in {c.rule for c in plan.changes}


def test_most_forms_are_distributed() -> None:
    outcomes = [distribute(summarize(Document(HEAD + DATA + form))) for form in FORMS.values()]
    refused = [o for o in outcomes if isinstance(o, Refusal)]
    assert not [r.message for o in refused for r in o.reasons if r.code in ("HVD007", "HVD108")]
    assert len(refused) <= len(outcomes) // 10


def test_what_is_asked_within_the_lines_owns_their_edit() -> None:
    plan = distribute(summarize(Document(HEAD + DATA + "losses = [step(x) for x in ds if len(x) == 8]\n")))
    assert isinstance(plan, Plan)
    (asked,) = plan.to_confirm
    place = plan.document.text.index("losses")
    owners = [
        o for e, o in zip(plan.edits, owners_of(plan), strict=True) if e.span.start <= place <= e.span.end
    ]
    assert owners == [asked]


def test_edits_stay_within_their_lines() -> None:
    text = HEAD + DATA + "before = 1  # kept\nlosses = [step(x) for x in ds]\nafter = 2  # kept\n"
    plan = distribute(summarize(Document(text)))
    assert isinstance(plan, Plan)
    start, end = text.index("losses ="), text.index("after =")
    (whole,) = [e for e in plan.edits if e.span.start >= text.index("before")]
    assert start <= whole.span.start <= whole.span.end <= end


def test_a_module_of_a_project() -> None:
    net = Document(HEAD + "def epoch(ds):\n    return [float(step(x)) for x in ds]\n", "/p/net.py")
    script = "import tensorflow as tf\nimport net\n" + DATA + "history = [net.epoch(ds) for _ in range(3)]\n"
    plan = distribute_script(Document(script, "/p/main.py"), {"/p/net.py": net}.get)
    assert isinstance(plan, Plan)
    assert isinstance(plan.document, ProjectDocument)
    texts = {p.document.path: p.text for p in file_plans(plan)}
    assert "    for x in ds:\n        results.append(float(step(x)))\n" in texts["/p/net.py"]
    assert "for _ in range(3):\n    history.append(net.epoch(ds))\n" in texts["/p/main.py"]


def test_a_cell_of_a_notebook() -> None:
    cells = [(1, HEAD + DATA), (2, "!ls\nlosses = [step(x) for x in ds]\n%time print(1)"), (3, "losses[-1]")]
    plan = distribute(summarize(NotebookDocument(cells)))
    assert isinstance(plan, Plan)
    (part,) = [p for p in plan.document.parts(plan.edits) if p.cell == 2]
    after = apply(part.text, part.edits)
    assert after.startswith(
        "!ls\nlosses = []\nfirst_batch = True\nfor x in ds:\n    losses.append(step(x))\n"
    )
    assert after.endswith("\n%time print(1)")


def test_a_command_of_a_notebook_is_not_taken_apart() -> None:
    cells = [(1, HEAD + DATA), (2, "for n in range(2): losses = [step(x) for x in ds]; \\\n    files = !ls")]
    assert take_apart(summarize(NotebookDocument(cells))) is None


def test_libcst_is_only_imported_where_something_is_taken_apart(tmp_path: Path) -> None:
    run = (
        "import sys\nfrom horovodize.distribute import distribute\nfrom horovodize.source import Document\n"
        "from horovodize.summary import summarize\ndistribute(summarize(Document(open(sys.argv[1]).read())))\n"
        "print('libcst' in sys.modules)"
    )
    for text, expected in (("for x in ds: step(x)\n", "False"), (FORMS["list"], "True")):
        script = tmp_path / "script.py"
        script.write_text(HEAD + DATA + text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", run, str(script)], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.strip() == expected
