"""docs/loops.md shows what the examples really become."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

ROOT = Path(__file__).parent.parent
SHOWN = re.findall(
    r"```diff\n# (examples/\w+\.py)\n(.*?)```",
    (ROOT / "docs" / "loops.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


def test_every_kind_is_shown() -> None:
    assert len(SHOWN) == 5


@pytest.mark.parametrize(("script", "lines"), SHOWN, ids=[script for script, _ in SHOWN])
def test_what_is_shown_is_what_happens(script: str, lines: str) -> None:
    document = Document.from_bytes((ROOT / script).read_bytes(), script)
    plan = distribute(summarize(document), Options())
    assert isinstance(plan, Plan)
    before, after = document.text.splitlines(), plan.text.splitlines()
    for line in lines.splitlines():
        assert line[0] in "+-"
        assert line[1:] in (after if line[0] == "+" else before), line
        assert line[1:] not in (before if line[0] == "+" else after), line
