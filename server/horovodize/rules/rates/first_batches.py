"""Steps of a loop that begins its data again in each turn and takes the first batch, `x, y = next(iter(dataset))`: part of C5.

No turn goes on from the one before, so there is no order of batches to deal out. Ranks get batches of their own only where an
order is drawn that no seed fixes; else all train on the same rows, at a rate for size() times as many. That is asked."""

from __future__ import annotations

import ast

from horovodize.facts.counting.cursors import deals_by_cursor
from horovodize.facts.feeds.steps import Feed
from horovodize.python.syntax import FUNCTIONS, argument, says_none
from horovodize.rules.drafting.decisions import Apart, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.scaling import strong
from horovodize.summary.feeding import Driver

_WHAT = "Check which rows each rank trains on"
_WHY = "Fewer steps at a larger rate see as much as before only if each rank has rows of its own."
_FIRST = (
    "each turn begins these data again and takes the first batch: unless their order is drawn without a seed, all ranks "
    "train on the same rows; give each rank rows of its own, as `dataset.shard(hvd.size(), hvd.rank())`"
)
_SHUFFLES = ("shuffle", "shuffle_and_repeat")
_SOURCES = (
    "list_files",
    "make_csv_dataset",
    "make_batched_features_dataset",
)  # shuffle unless they are told not to
_DRAWN_BY = "tensorflow.random.uniform"  # shuffles without a seed of their own go by the seed of this
_LIMIT = 1000


def ask(draft: Draft, rule: str) -> None:
    """Asks about each loop once."""
    for driver in feeding(draft).drivers if draft.options.split_data and draft.growth else ():
        if not counted.is_divided(draft, driver):
            continue
        for call in feeding(draft).calls_in(driver.loop):
            data = _begun(draft, call)
            if (
                data is not None
                and _is_trained_on(draft, driver, call)
                and not draft.was(call, Shared, Apart)
                and not _are_own(draft, data)
                and draft.once("same rows", driver.loop)
            ):
                draft.ask(rule, call, _WHAT, _WHY, _FIRST)


def _begun(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What a call begins and takes the first item of: `next(iter(data))`, `data.as_numpy_iterator().next()`."""
    if isinstance(call.func, ast.Name) and call.func.id == "next" and call.args:
        source = call.args[0]
    elif isinstance(call.func, ast.Attribute) and call.func.attr in ("next", "get_next", "__next__"):
        source = call.func.value
    else:
        return None
    if not isinstance(source, ast.Call):
        return None
    if isinstance(source.func, ast.Name) and source.func.id == "iter" and len(source.args) == 1:
        return source.args[0]
    is_method = isinstance(source.func, ast.Attribute) and source.func.attr == "as_numpy_iterator"
    return source.func.value if is_method and isinstance(source.func, ast.Attribute) else None


def _is_trained_on(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Whether a step that sees size() times the rows is taken on what a call gives."""
    for step in driver.steps:
        if strong.scaling(draft, step) is not strong.Scaling.WEAK:
            continue
        fed = draft.facts.steps.of(step)
        batches = [b for b in fed.batches if isinstance(b, ast.expr)]
        if fed.feed is not Feed.DRAW and call in set(draft.values.depends(batches, _LIMIT)):
            return True
    return False


def _are_own(draft: Draft, data: ast.expr) -> bool:
    """Whether something is begun in another order on each rank, holds its share only, or goes on where it was."""
    pipelines = feeding(draft).pipelines
    made_of = set[ast.AST](pipelines.trail(data))  # what is drawn in `map` chooses no rows
    if not pipelines.is_dataset(data):
        made_of |= set(draft.values.depends([data], _LIMIT))
    if any(draft.was(n, Shared, Apart) for n in made_of):
        return True
    calls = [n for n in made_of if isinstance(n, ast.Call)]
    return any(_draws_order(draft, c) or _is_of_drawing_function(draft, c) for c in calls)


def _draws_order(draft: Draft, call: ast.Call) -> bool:
    """Whether a step of a pipeline, or its source, draws an order that no seed fixes."""
    last = draft.names.last(call.func)
    if last not in _SHUFFLES and last not in _SOURCES and not last.endswith("_dataset_from_directory"):
        return False
    off = argument(call, "shuffle")
    given = argument(call, "seed", 1 if last in _SHUFFLES else None) or argument(call, "shuffle_seed")
    if isinstance(off, ast.Constant) and off.value is False:
        return False
    fixed = given is not None and not says_none(given)
    return not fixed and not draft.uniform.draws.is_seeded(_DRAWN_BY, call)


def _is_of_drawing_function(draft: Draft, call: ast.Call) -> bool:
    """Whether a call gives what a function draws without a seed, or deals out by a cursor, which other rules see to."""
    given = argument(call, "generator", 0) if draft.names.last(call.func) == "from_generator" else call.func
    for function in (o.node for o in draft.values.origins(given)) if given is not None else ():
        if isinstance(function, FUNCTIONS) and (
            deals_by_cursor(function) or any(_is_drawn(draft, n) for n in ast.walk(function))
        ):
            return True
    return False


def _is_drawn(draft: Draft, n: ast.AST) -> bool:
    draws = draft.uniform.draws
    if not isinstance(n, ast.Call) or not draws.draws(n):
        return False
    return not draws.is_fixed(n, draft.names.of(n.func) or "numpy.random.")
