"""Batch-norm statistics that have too few steps to follow: part of K3 and G2.

A moving mean goes on with each step, `0.99 * mean + 0.01 * of_batch`, and a rank takes 1/size() of the steps. Of 400 steps each
of four ranks takes 100, after which a third of the mean is still what it began with: what is evaluated and saved is wrong,
while the training loss looks right. That is said where both the number of steps and the momentum are constants."""

from __future__ import annotations

import ast
from math import log

from horovodize.python.syntax import Loop, argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.rows import few_rows
from horovodize.summary.site_kinds import Fit

_MOMENTUM = 0.99  # Keras'
_BATCH, _EPOCHS = 32, 1  # of `fit`
_LEFT = 0.05  # of what the statistics began with, in the end
_RANKS = 4  # that a script is likely to meet
_SAID = (
    "batch-norm statistics move a little with each step, and a rank takes 1/size() of the steps: on several ranks they may be "
    "far from those of the rows at the end; give `momentum={} ** hvd.size()`, or train for longer"
)


def tell_of_fit(draft: Draft, fit: Fit) -> None:
    """Says so of what a `fit` trains, by its rows, batches and epochs."""
    fed = feeding(draft).fit_of(fit.call)
    if fed is None or fed.x is None:
        return
    constant, size = feeding(draft).kinds.constant, argument(fit.call, "batch_size", 2)
    epochs = argument(fit.call, "epochs", 3)
    passes = constant(epochs) if epochs is not None else _EPOCHS
    batch = constant(size) if size is not None else _BATCH
    rows = draft.facts.steps.shapes.rows(fed.x)
    steps = rows // batch if rows and batch else few_rows.batches(draft, fed.x)
    if steps and passes:
        _tell(draft, steps * passes)


def tell_of_loop(draft: Draft, loop: Loop) -> None:
    """The same of a loop over steps, and of those around it."""
    turns = [_turns(draft, one) for one in (loop, *draft.syntax.loops(loop))]
    inner = [n for n in ast.walk(loop) if isinstance(n, ast.For) and n is not loop]
    drivers = {d.loop for d in feeding(draft).drivers}
    turns += [_turns(draft, n) for n in inner if n in drivers]
    total = 1
    for number in turns:
        if number is None:
            return
        total *= number
    _tell(draft, total)


def _turns(draft: Draft, loop: Loop) -> int | None:
    if not isinstance(loop, ast.For):
        return None
    known = feeding(draft)
    if known.kinds.is_range(loop.iter):
        ends = [known.kinds.constant(a) for a in loop.iter.args] if isinstance(loop.iter, ast.Call) else []
        numbers = [n for n in ends if n is not None]
        seen = len(numbers) == len(ends) in (1, 2, 3) and 0 not in numbers[2:]
        return len(range(*numbers)) if seen else None
    return few_rows.batches(draft, loop.iter)


def _tell(draft: Draft, steps: int) -> None:
    for layer in draft.syntax.calls if draft.growth and not draft.in_graph else ():
        if "BatchNorm" not in draft.names.last(layer.func):
            continue
        told = argument(layer, "momentum", 1)
        momentum = told.value if isinstance(told, ast.Constant) else _MOMENTUM if told is None else None
        if isinstance(momentum, float) and 0 < momentum < 1 and steps < _RANKS * log(_LEFT) / log(momentum):
            if draft.once("few updates", draft.module.tree):
                draft.note("K3" if draft.sites.fits else "G2", layer, _SAID.format(momentum))
            return


__all__ = ["tell_of_fit", "tell_of_loop"]
