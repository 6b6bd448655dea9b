"""What the server's bounds of time and memory come to, told without a clock: what is loaded, how often functions are called."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import FrameType

from horovodize.lsp.analysis import Analysis
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from tests.bench.places import edits
from tests.bench.scripts import training_script

_LOADED = """
import sys
from horovodize.lsp.analysis import Analysis, load_for_diagnostics
from horovodize.options import Options
from horovodize.source import Document

load_for_diagnostics()
_ = Analysis(Document(sys.stdin.read()), Options()).violations
print("\\n".join(name for name in sys.modules if name.startswith("horovodize.")))
"""
_OF_OTHERS = ("restrictions.horovod.", "restrictions.graph.", "interleaving", "ordering", "rules.")

_LINES = 1000
_MOST_CALLS = (
    120_000  # of a plan after a change: 108,000; they were 374,000 while each rule went through all calls
)
_MOST_OF_DISTRIBUTED = 90_000  # of a change in what is distributed: 70,000


def _loaded(text: str) -> list[str]:
    """What of that is loaded for the diagnostics of a first document, which is for other documents or for plans."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], input=text, capture_output=True, text=True, check=True
    )
    names = [name.removeprefix("horovodize.") for name in done.stdout.split()]
    assert "restrictions.checking" in names
    return [name for name in names if name.startswith(_OF_OTHERS)]


def test_what_is_found_in_distributed_scripts_and_graphs_is_not_loaded_for_others() -> None:
    assert _loaded(training_script(100)) == []


def test_it_is_loaded_for_them() -> None:
    distributed = "import horovod.tensorflow as hvd\nimport tensorflow as tf\n" + training_script(100)
    assert "restrictions.horovod.not_initialized" in _loaded(distributed)


def _calls(work: Callable[[], object]) -> int:
    """How many of Python's functions are called meanwhile."""
    calls = 0

    def count(frame: FrameType, event: str, given: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def _after_changes(text: str, other: str) -> Document:
    """The version after some changes there and back, each with its diagnostics and its plan."""
    document = Document(text)
    for version in (other, text, other):
        analysis = Analysis(document, Options())
        assert analysis.violations is not None
        assert analysis.outcome
        document = document.changed_to(version)
    return document


def test_a_plan_after_a_change_asks_no_more_than_it_did() -> None:
    text = training_script(_LINES)
    change = edits(text)[1]
    lines = text.split("\n")
    at = sum(len(line) + 1 for line in lines[: change.line]) + change.column
    other = text[:at] + change.new + text[at + len(change.old) :]
    document = _after_changes(text, other)
    assert _calls(lambda: Analysis(document, Options()).outcome) <= _MOST_CALLS


def test_a_change_in_a_distributed_script_asks_no_more_than_it_did() -> None:
    plan = Analysis(Document(training_script(_LINES)), Options()).outcome
    assert isinstance(plan, Plan)
    lines = plan.text.split("\n")
    # In one of the functions that prepare rows, however many lines are inserted above it.
    middle = next(i for i in range(len(lines) // 2, len(lines)) if lines[i].startswith("    kept."))
    other = "\n".join([*lines[:middle], "    # seen", *lines[middle:]])
    document = _after_changes(plan.text, other)
    assert _calls(lambda: Analysis(document, Options()).violations) <= _MOST_OF_DISTRIBUTED
