"""A program that is written otherwise and means the same is distributed alike: nothing hangs on how it is spelt.

The programs are those that are trained in tests/programs. Each is rewritten in all ways of tests/rewritings.py that fit it,
one after the other; settings get names in one half of them, and stand in a dictionary in the other."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize
from tests import rewritings

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*/*.py"))
FORMS = (rewritings.settings_by_name, rewritings.settings_in_a_dictionary)


def decided(text: str) -> Counter[tuple[str, str, bool]] | None:
    """What is changed and asked, by which rules, how often; None where nothing is distributed."""
    outcome = distribute(summarize(Document(text)), Options())
    if not isinstance(outcome, Plan):
        return None
    return Counter((change.rule, change.what, change.sure) for change in outcome.changes)


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[f"{p.parent.name}/{p.stem}" for p in PROGRAMS])
def test_is_distributed_alike(number: int) -> None:
    text = ast.unparse(ast.parse(PROGRAMS[number].read_bytes()))
    expected = decided(text)
    named = FORMS[number % len(FORMS)]
    for rewriting in (r for r in rewritings.ALL if r not in FORMS or r is named):
        made = rewriting(ast.parse(text))
        if made is not None:
            rewritten = ast.unparse(ast.fix_missing_locations(made))
            assert decided(rewritten) == expected, rewriting.__doc__
