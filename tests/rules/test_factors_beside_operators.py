"""A factor that is written after an expression belongs to that, whatever stands around it."""

from __future__ import annotations

import ast

import pytest

from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.rules.drafting.draft import HVD, Draft
from horovodize.source import Document
from horovodize.summary import summarize

from .pairs import FIT, MODEL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'%06d' % step", "'%06d' % (step * hvd.size())"),
        ("'%06d' % (step)", "'%06d' % (step * hvd.size())"),
        ("n % (step + 1)", "n % ((step + 1) * hvd.size())"),
        ("0.5 ** step", "0.5 ** (step * hvd.size())"),
        ("step ** 2", "(step * hvd.size()) ** 2"),
        ("n / step", "n / (step * hvd.size())"),
        ("n * step", "n * step * hvd.size()"),
        ("n - step", "n - step * hvd.size()"),
        ("step % n", "step * hvd.size() % n"),
        ("f(step + 1)", "f((step + 1) * hvd.size())"),
        ("n - (step + 1)", "n - (step + 1) * hvd.size()"),
    ],
)
def test_a_factor(text: str, expected: str) -> None:
    module = summarize(Document(MODEL + FIT + text))
    draft = Draft(module, Options())
    (number,) = [
        n
        for n in ast.walk(draft.module.tree)
        if isinstance(n, (ast.Name, ast.BinOp))
        and ast.unparse(n) == ("step + 1" if "+ 1" in text else "step")
    ]
    draft.change("G5", number, "what", "why", draft.times(number))
    made = Plan(module.document, draft.changes).text.replace(HVD, "hvd")
    assert made == MODEL + FIT + expected
