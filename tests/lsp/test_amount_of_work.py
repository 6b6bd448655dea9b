"""What the server's bounds of time and memory come to, told without a clock: what is loaded, how often functions are called."""

from __future__ import annotations

import subprocess
import sys
from types import FrameType

from horovodize.lsp.analysis import Analysis
from horovodize.options import Options
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
_MOST_CALLS = 400_000  # of a plan after a change: some 220 rules look at 650 calls


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


def test_a_plan_after_a_change_asks_no_more_than_it_did() -> None:
    text = training_script(_LINES)
    change = edits(text)[1]
    lines = text.split("\n")
    at = sum(len(line) + 1 for line in lines[: change.line]) + change.column
    other = text[:at] + change.new + text[at + len(change.old) :]
    document = Document(text)
    for version in (other, text, other):
        assert Analysis(document, Options()).outcome
        document = document.changed_to(version)
    calls = 0

    def count(frame: FrameType, event: str, given: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert Analysis(document, Options()).outcome
    finally:
        sys.setprofile(before)
    assert calls <= _MOST_CALLS
