"""What an optimizer has counted, in a file that the program writes itself and goes on from: part of G6.

An optimizer counts a rank's steps. The file holds those of one process, from which any number of ranks goes on, and what is
compared with them or computed of them stays as it is:

`json.dump({"step": int(opt.iterations)}, f)` → `json.dump({"step": int(opt.iterations) * hvd.size()}, f)`,
`opt.iterations.assign(state["step"])` → `opt.iterations.assign(state["step"] // hvd.size())`"""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import ITERATIONS
from horovodize.facts.counting.restored_numbers import RestoredNumbers
from horovodize.rules.drafting.decisions import Divided, OfAll
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.drafting.other_names import set_by_call
from horovodize.rules.numbers import counted
from horovodize.rules.rates import written_rates

_WHAT = "Keep the steps of one process in the file"
_WHY = (
    "The optimizer counts a rank's steps: with another number of ranks, a run would go on from another row."
)
_BACK = "Set the optimizer's count to a rank's steps"
_SAID = (
    "this goes on from a count of a rank's steps: go on with as many ranks as the run had that wrote it, or keep the steps of "
    "all ranks, `* hvd.size()`"
)


def apply(draft: Draft) -> None:
    if not draft.divided or draft.in_graph:
        return
    known = RestoredNumbers(draft.module)
    set_to = [v for v in _set_to(draft) if known.is_restored(v) and not draft.was(v, Divided)]
    read = [n for n in written_rates.reads(draft, _is_count) if not _is_told(draft, n)]
    if not set_to and not (read and any(known.reads(c) for c in draft.syntax.calls)):
        return
    if not read or not all(written_rates.is_only_written(draft, n) for n in read):
        for value in set_to:
            draft.note("G6", value, _SAID)
        return
    for whole in (written_rates.whole_of(draft, n) for n in read):
        if draft.decide(whole, OfAll("G6")):
            draft.change("G6", whole, _WHAT, _WHY, draft.times(whole))
    for value in set_to:
        if draft.decide(value, Divided("G6")):
            draft.change("G6", value, _BACK, _WHY, draft.times(value, SIZE, "//"))


def _is_count(draft: Draft, e: ast.expr) -> bool:
    """`model.optimizer.iterations`, of an optimizer as it trains."""
    counter = draft.facts.counters.of(e) if isinstance(e, ast.Attribute) and e.attr in ITERATIONS else None
    return counter is not None and counted.counts_share(draft, counter)


def _is_told(draft: Draft, read: ast.expr) -> bool:
    """Whether the steps of all ranks are given there already."""
    return any(draft.was(a, OfAll) for a in (read, *draft.syntax.ancestors(read)) if isinstance(a, ast.expr))


def _set_to(draft: Draft) -> list[ast.expr]:
    """What optimizers' counts are set to: `optimizer.iterations.assign(n)`, `K.set_value(optimizer.iterations, n)`."""
    named = {n.attr for n in draft.syntax.every(ast.Attribute)}
    named |= {n.value for n in draft.syntax.every(ast.Constant) if isinstance(n.value, str)}
    if named.isdisjoint(ITERATIONS):
        return []
    given = [pair for call in draft.syntax.calls if (pair := set_by_call(draft, call)) is not None]
    for s in draft.syntax.every(ast.Assign):
        given += [(target, s.value) for target in s.targets]
    return [value for kept, value in given if isinstance(kept, ast.Attribute) and kept.attr in ITERATIONS]


__all__ = ["apply"]
