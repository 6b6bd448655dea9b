"""What the tests of C6, C7 and D4 share: a program before and after."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass

from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.source import Document
from horovodize.summary import summarize

# Every program needs something that imports TensorFlow and trains; `epoch()` trains, `look()` does not.
HEAD = """\
import os
import numpy as np
import tensorflow as tf
import matplotlib.pyplot as plt
model = tf.keras.Sequential([])
model.compile("sgd", "mse")
def epoch(n):
    return model.train_on_batch(np.ones(n), np.ones(n))
def look(x):
    return abs(x)
"""


@dataclass(frozen=True)
class Guarded:
    text: str
    notes: list[str]
    reasons: list[str]


def apply(source: str, *rules: Rule, comments: bool = True) -> Guarded:
    """What some rules make of a program with each output guarded by itself, Horovod called `hvd` (and its import left out)."""
    document = Document(source)
    draft = Draft(summarize(document), Options(comments=comments, output="guard"))
    for rule in rules:
        rule.apply(draft)
    text = Plan(document, draft.finish("hvd", "hvd", "hvd"), draft.notes).text
    ast.parse(text)
    return Guarded(text, [n.message for n in draft.notes], [r.message for r in draft.reasons])


def check(rules: tuple[Rule, ...], before: str, after: str, head: str = HEAD) -> Guarded:
    """Asserts that rules turn `before` into `after`; both follow the head."""
    before, after = textwrap.dedent(before).lstrip("\n"), textwrap.dedent(after).lstrip("\n")
    result = apply(head + before, *rules)
    assert result.text.startswith(head)
    assert result.text[len(head) :] == after
    return result


def unchanged(rules: tuple[Rule, ...], before: str, head: str = HEAD) -> Guarded:
    """Asserts that rules leave a program alone."""
    return check(rules, before, before, head)
