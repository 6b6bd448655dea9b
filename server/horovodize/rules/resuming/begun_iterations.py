"""What a program sets an optimizer's own count to, or a graph's global step, before it goes on training: part of G6.

    optimizer.iterations.assign(start_epoch * steps_per_epoch)
    sess.run(tf.assign(global_step, 20000))

Both count a rank's steps, of which there are size() times fewer, and so do schedules by them; so what one process has taken
before, or all ranks, is divided: `… .assign(start_epoch * steps_per_epoch // hvd.size())`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import counts_a_share

_WHAT = "Begin with the steps that a rank has taken"
_WHY = "TensorFlow counts a rank's steps, of which there are size() times fewer."
_OF_A_RANK = (CounterKind.ITERATIONS, CounterKind.GLOBAL_STEP)
_ASSIGN = "tensorflow.compat.v1.assign"


def divide(draft: Draft) -> None:
    """Divides what optimizers' counts are set to, where it counts the steps of one process, or of all ranks."""
    for kept, given in _set(draft):
        counter = counted.of(draft, kept)
        if counter is None or counter.kind not in _OF_A_RANK or draft.was(given, Divided):
            continue
        if _counts_all(draft, given) and draft.decide(given, Divided("G6")):
            draft.change("G6", given, _WHAT, _WHY, draft.times(given, SIZE, "//"))


def _set(draft: Draft) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Variables, and what they are set to: `step.assign(n)`, `step.load(n, sess)`, `tf.assign(step, n)`."""
    for call in draft.sites.method_calls("assign", "load"):
        if isinstance(call.func, ast.Attribute) and call.args and draft.names.of(call.func) is None:
            yield call.func.value, call.args[0]
    for call in draft.module.calls_of(_ASSIGN):
        if len(call.args) == 2:
            yield call.args[0], call.args[1]


def _counts_all(draft: Draft, given: ast.expr) -> bool:
    """Whether a number counts the steps of all ranks, or those that one process took before."""
    if counted.all_of(draft, given) is not None:
        return True
    made = [o.node for o in draft.values.origins(given)]
    products = [n for n in made if isinstance(n, ast.BinOp)]
    of_a_rank = any(counts_a_share(draft, side) for n in products for side in (n.left, n.right))
    return draft.facts.counters.later.is_one(given) and not of_a_rank
