"""Before → after pairs: a program is distributed whole, and of the plan only the changes of the rules in question are made."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Change, Plan, Refusal
from horovodize.source import Document
from horovodize.summary import summarize

TF = "import tensorflow as tf\n"
# A compiled Keras model that is fitted, around which pairs are put; and a step with a tape that is driven by a loop.
FIT = "model.fit(x, y)\n"
MODEL = TF + "from tensorflow.keras import optimizers as o\nmodel = tf.keras.Sequential([])\n"
STEP = """\
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(x))
opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def plan_of(source: str, **options: bool) -> Plan:
    """The plan for a program; both its text and what the tool would make of that are looked at."""
    result = distribute(summarize(Document(source)), Options(**{"comments": False, **options}))
    assert isinstance(result, Plan), result
    compile(result.text, "distributed", "exec", dont_inherit=True)
    return result


def only(plan: Plan, *rules: str) -> str:
    """The text with the changes of some rules only."""
    return Plan(plan.document, [c for c in plan.changes if c.rule in rules]).text


def apart(text: str) -> str:
    """A text with each list of variables sent by a line of its own, where one line sends several."""

    def lines(found: re.Match[str]) -> str:
        sent = ast.parse(found[2], mode="eval").body
        assert isinstance(sent, ast.List)
        lists = [ast.unparse(e.value) for e in sent.elts if isinstance(e, ast.Starred)]
        single = [ast.unparse(e) for e in sent.elts if not isinstance(e, ast.Starred)]
        lists += [f"[{', '.join(single)}]"] if single else []
        return "".join(f"{found[1]}hvd.broadcast_variables({v}, root_rank=0)\n" for v in lists)

    return re.sub(r"( *)hvd\.broadcast_variables\((\[.*\*.*\]), root_rank=0\)\n", lines, text)


def check(
    rules: str | Sequence[str], head: str, before: str, after: str, tail: str = "", **options: bool
) -> Plan:
    """Asserts that some rules turn `head + before + tail` into `head + after + tail`."""
    rules = [rules] if isinstance(rules, str) else rules
    before, after = textwrap.dedent(before).lstrip("\n"), textwrap.dedent(after).lstrip("\n")
    before, after = before.rstrip("\n") + "\n", after.rstrip("\n") + "\n"
    plan = plan_of(head + before + tail, **options)
    assert only(plan, *rules) == head + after + tail
    return plan


def untouched(rules: str | Sequence[str], source: str, **options: bool) -> Plan:
    """Asserts that some rules have nothing to do in a program that others distribute."""
    plan = plan_of(textwrap.dedent(source), **options)
    assert changes(plan, *([rules] if isinstance(rules, str) else rules)) == []
    return plan


def changes(plan: Plan, *rules: str) -> list[Change]:
    return [c for c in plan.changes if c.rule in rules]


def doubts(plan: Plan, *rules: str) -> list[str]:
    return [c.doubt for c in changes(plan, *rules) if not c.sure]


def refused(source: str, code: str, said: str = "", **options: bool) -> Refusal:
    """Asserts that a program is refused, for a reason that stands where `source` says something of it."""
    result = distribute(summarize(Document(textwrap.dedent(source))), Options(**options))
    assert isinstance(result, Refusal), result
    assert code in {r.code for r in result.reasons}, result.reasons
    assert any(said in r.message for r in result.reasons if r.code == code), result.reasons
    return result
