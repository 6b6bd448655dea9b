"""Steps that a `collections.Counter` counts: what it is updated with is added."""

from __future__ import annotations

import pytest

from .loops.test_record_counts import program
from .pairs import plan_of

KIND = "from collections import Counter"
ADDS = "counts.update(step=1)\ntrain(x)"
READ = "counts['step']"


@pytest.mark.parametrize("begins", ["counts = Counter()", "counts = collections.Counter(step=0)"])
@pytest.mark.parametrize("counts", [ADDS, "train(x)\ncounts.update({'step': 1, 'loss': 2})"])
def test_what_is_added_so_counts_steps(begins: str, counts: str) -> None:
    text = plan_of(program(KIND, begins, counts, READ)).text
    assert f"if {READ} == max(1, 60 // hvd.size()):" in text
    assert f"0.5 ** ({READ} * hvd.size() / 40)" in text


KEPT = """\
counts = Counter()
if os.path.exists("counts"):
    {}
"""
SAVED = "train(x)\ncounts.update(step=1)\nwith open('counts', 'wb') as f:\n    pickle.dump(counts, f)"


@pytest.mark.parametrize(
    "loads",
    ["counts = pickle.load(open('counts', 'rb'))", "counts.update(pickle.load(open('counts', 'rb')))"],
)
def test_one_that_goes_on_in_a_later_run_counts_those_of_all_ranks(loads: str) -> None:
    text = plan_of(program(KIND, KEPT.format(loads), SAVED, READ)).text
    assert "counts.update(step=hvd.size())" in text
    assert f"0.5 ** ({READ} / 40)" in text


@pytest.mark.parametrize(
    ("begins", "counts"),
    [
        ("counts = dict(step=0)", ADDS),  # set to 1, each time
        ("counts = Counter()", "train(x)\ncounts.update(other=1)"),
        ("counts = Counter()\ncounts = dict(step=0) if model else counts", ADDS),
    ],
)
def test_what_is_set_or_adds_something_else_does_not(begins: str, counts: str) -> None:
    text = plan_of(program(KIND, begins, counts, READ)).text
    assert f"0.5 ** ({READ} / 40)" in text
