"""The report as text, JSON and a page, and the timeline that its figures come from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from horovodize.verifying.page import as_page
from horovodize.verifying.runs import Run
from horovodize.verifying.speed import time_in_collectives
from horovodize.verifying.text import as_text
from horovodize.verifying.verdict import Verdict, verify
from tests.verifying.made import alone, two


@pytest.fixture
def verdict() -> Verdict:
    def train(which: str, size: int, seed: int) -> Run:
        return alone()[0] if which == "original" else two(rates=[0.4] * 10, losses=[float("nan")] * 10)

    return verify("<train>.py", train, [2])


def test_text_says_the_verdict_first(verdict: Verdict) -> None:
    text = as_text(verdict)
    assert text.startswith("<train>.py: does not train the same\n")
    assert "✗ steps and rates as they should be\n      the rate starts at 0.4" in text


def test_json_has_no_numbers_that_json_does_not_have(verdict: Verdict) -> None:
    told = json.loads(json.dumps(verdict.as_json(), allow_nan=False))
    assert (told["alike"], told["runs"][0]["ranks"]) == (False, 2)


def test_the_page_needs_nothing_else_and_draws_each_loss(verdict: Verdict) -> None:
    page = as_page(verdict)
    assert "&lt;train&gt;.py" in page
    elsewhere = as_page(replace(verdict, script="/far/away/train.py"))
    assert (
        '<h1 title="/far/away/train.py"><span class="bad">✗</span> train.py: does not train the same</h1>'
        in elsewhere
    )
    assert "http" not in page
    assert "<script" not in page
    picture = page[page.index("<svg") : page.index("</svg>") + 6]
    lines = ElementTree.fromstring(picture).findall("polyline")
    assert len(lines) == 2
    assert "nan" not in picture


def test_time_in_collectives_counts_overlapping_spans_once(tmp_path: Path) -> None:
    timeline = tmp_path / "timeline.json"
    timeline.write_text(
        '[\n{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros":5000000}},\n'
        '{"ph": "B", "name": "NEGOTIATE", "ts": 1000000, "pid": 1},{"ph": "X", "name": "0", "ts": 1, "pid": 1, "dur": 0},'
        '{"ph": "B", "name": "ALLREDUCE", "ts": 1500000, "pid": 2},{"ph": "E", "ts": 2000000, "pid": 1},\n'
        '{"ph": "E", "ts": 3000000, "pid": 2, "args": {"dtype": "float32"}},{"ph": "B", "na'
    )
    assert time_in_collectives(timeline, 0, 100) == pytest.approx(2)
    assert time_in_collectives(timeline, 7.5, 100) == pytest.approx(0.5)
    assert time_in_collectives(tmp_path / "none", 0, 100) is None
