"""What the tests of the data rules share: a program before and after, and the helper functions run on pretended ranks."""

from __future__ import annotations

import secrets
import textwrap
from dataclasses import dataclass
from typing import Any

from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.helpers import HELPERS
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.loops import steps
from horovodize.rules.rows import arrays, data, seeds
from horovodize.source import Document
from horovodize.summary import summarize

RULES = (data.RULE, arrays.RULE, steps.K4, steps.G4, seeds.RULE)
KERAS = "import numpy as np\nimport tensorflow as tf\nmodel = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\n"
TAPE = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = model(x) - y
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""


@dataclass(frozen=True)
class Divided:
    text: str
    draft: Draft

    @property
    def notes(self) -> list[str]:
        return [n.message for n in self.draft.notes]

    @property
    def doubts(self) -> list[str]:
        return [c.doubt for c in self.draft.changes if not c.sure]


def divide(source: str, *, rules: tuple[Rule, ...] = RULES, split_data: bool = True) -> Divided:
    """What the data rules make of a program."""
    document = Document(source)
    draft = Draft(summarize(document), Options(split_data=split_data))
    for rule in rules:
        rule.apply(draft)
    text = Plan(document, draft.finish("hvd", "hvd", "hvd"), draft.notes).text
    compile(text, "divided", "exec")
    return Divided(text, draft)


def check(head: str, before: str, after: str) -> Divided:
    """Asserts that the data rules turn `before` into `after`."""
    before, after = textwrap.dedent(before), textwrap.dedent(after)
    result = divide(head + before)
    assert result.text == head + after
    return result


def unchanged(head: str, before: str) -> Divided:
    """Asserts that the data rules leave a program as it is."""
    return check(head, before, before)


class Rank:
    """Horovod as one rank sees it."""

    def __init__(self, rank: int, size: int) -> None:
        self._rank, self._size = rank, size

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size


def helper(name: str, rank: int, size: int, **names: Any) -> Any:
    """A helper function as it stands in distributed programs, on a pretended rank."""
    lines = [
        line.format(name=name, tf="tf", quote="'", seed="from_root(secrets.randbits(32))")
        for line in HELPERS[name]
    ]
    source = "\n".join(lines).replace("\ue000", "hvd")
    of_rank_0: dict[str, Any] = {"secrets": secrets, "from_root": lambda value: 11}
    scope: dict[str, Any] = {"hvd": Rank(rank, size), **of_rank_0, **names}
    exec(source, scope)
    return scope[name]
