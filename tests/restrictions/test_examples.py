"""The examples in the restrictions' own docs: those that break one are reported where they say so, near misses are not."""

from __future__ import annotations

import re

import pytest

from horovodize.options import Options
from horovodize.restrictions import RESTRICTIONS, Restriction, check
from horovodize.source import Document
from horovodize.summary import summarize

HEADINGS = [
    "What it protects",
    "When it is reported",
    "Quick fix",
    "Example that breaks it",
    "Near misses",
    "Source",
]


def _cases(heading: str) -> list[object]:
    return [
        pytest.param(restriction, example, id=f"{restriction.name}-{i}")
        for restriction in RESTRICTIONS.values()
        for i, example in enumerate(restriction.examples(heading))
    ]


@pytest.mark.parametrize(("restriction", "example"), _cases("Example that breaks it"))
def test_breaking_example_is_reported_at_its_marks(restriction: Restriction, example: str) -> None:
    document = Document(example, "train.py")
    marked = [i for i, line in enumerate(example.splitlines()) if line.endswith(f"# {restriction.code}")]
    assert marked, "the example marks the line that breaks the restriction"
    reported = [v for v in check(summarize(document), Options()) if v.code == restriction.code]
    assert [document.lines.line_of(v.span.start) for v in reported] == marked
    assert all(v.name == restriction.name for v in reported)


@pytest.mark.parametrize(("restriction", "example"), _cases("Near misses"))
def test_near_miss_is_not_reported(restriction: Restriction, example: str) -> None:
    reported = check(summarize(Document(example, "train.py")), Options())
    assert [v for v in reported if v.code == restriction.code] == []


@pytest.mark.parametrize("restriction", RESTRICTIONS.values(), ids=lambda r: r.name)
def test_docs_have_their_headings_and_examples(restriction: Restriction) -> None:
    assert re.findall(r"^## (.*)$", restriction.docs, re.M) == HEADINGS
    assert restriction.examples("Example that breaks it")
    assert restriction.examples("Near misses")
    assert restriction.document.startswith(f"{restriction.code} {restriction.name}: ")
    assert restriction.title in " ".join(restriction.document.split())


def test_codes_are_those_of_the_seed_in_order() -> None:
    assert list(RESTRICTIONS) == [
        "HVD001",
        "HVD003",
        "HVD004",
        *(f"HVD{n}" for n in range(101, 111)),
        *(f"HVD{n}" for n in range(201, 206)),
        *(f"HVD{n}" for n in range(301, 327)),
        *(f"HVD{n}" for n in range(331, 334)),
        *(f"HVD{n}" for n in range(341, 346)),
        "HVD901",
        "HVD902",
    ]
    assert len({r.name for r in RESTRICTIONS.values()}) == len(RESTRICTIONS)
