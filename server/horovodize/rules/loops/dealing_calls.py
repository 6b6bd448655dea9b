"""Calls that deal out batches one after another: `data.next_batch(64)`, `next(batches)`, `queue.get()`. Part of G4 and S5."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.cursors import deals_by_cursor
from horovodize.facts.feeds.dealt import DEALS, EVALUATES
from horovodize.facts.feeds.games import is_game
from horovodize.python.syntax import (
    FUNCTIONS,
    Function,
    has_unpacking,
)
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops.draws_apart import draws_apart
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.numbers.training_steps import steps_of
from horovodize.rules.rows import keras_flows
from horovodize.summary.feeding import Driver
from horovodize.summary.passed_on import datasets_drawn
from horovodize.summary.taken_from_queues import is_taken

_NUMBERS = ("itertools.count", "itertools.repeat")
_YIELDS = (ast.Yield, ast.YieldFrom)
_DEPTH = 3


def asked_source(call: ast.Call) -> ast.expr | None:
    """What a call asks for its next item: `batches` of `next(batches)`, `batches.get_next()`; None for other calls."""
    if isinstance(call.func, ast.Name) and call.func.id == "next" and call.args:
        return call.args[0]
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "get_next" and not call.args
    return call.func.value if is_method and isinstance(call.func, ast.Attribute) else None


def drawn_in(draft: Draft, driver: Driver) -> Iterator[ast.Call]:
    """The calls by which a loop, or a function that takes its steps, gets the next batch: of calls in each other the
    outermost, for what is dealt out to the ranks must not be dealt out again."""
    steps = set[ast.AST](steps_of(draft))
    todo: list[ast.AST] = list(reversed(driver.loop.body))
    seen: set[ast.AST] = set()
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, ast.Call):
            callee = draft.values.callee(n)
            takes_steps = n in steps or (isinstance(callee, FUNCTIONS) and draft.drive.reaches(callee, steps))
            if not takes_steps and _deals_out(draft, n, _DEPTH):
                yield n
                continue
            if isinstance(callee, FUNCTIONS):
                todo += reversed(callee.body)
        todo += reversed(list(ast.iter_child_nodes(n)))


def _deals_out(draft: Draft, call: ast.Call, depth: int) -> bool:
    """Whether a call gets the next batch from something that keeps count of what it has dealt out."""
    if not isinstance(call.func, (ast.Name, ast.Attribute)) or has_unpacking(call):
        return False
    if (draft.names.of(call.func) or "").startswith("tensorflow.") or EVALUATES.search(
        draft.module.text(call.func)
    ):
        return False
    callee = draft.values.callee(call)
    if (
        callee is None
        and asked_source(call) is not None
        and not (draft.in_graph and isinstance(call.func, ast.Attribute))
    ):
        return _draws_from_generator(draft, call, depth)
    if isinstance(callee, FUNCTIONS) and is_game(draft.syntax, callee):
        return False  # each rank plays for itself
    if isinstance(callee, FUNCTIONS):
        return _function_deals(draft, callee, depth)
    if is_taken(draft.names, draft.values, call):
        return True
    if not DEALS.match(draft.names.last(call.func)):
        return False
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    return held is None or not (
        feeding(draft).pipelines.is_dataset(held)
        or (draft.names.last(call.func) == "next" and shuffles_for_itself(draft, held))
    )


def _function_deals(draft: Draft, function: Function, depth: int) -> bool:
    """Whether a function of the project gives the next batch: by a cursor of its own, or by calling what does."""
    if deals_by_cursor(function):
        return True
    if not depth or not any(
        isinstance(n, (ast.Return, ast.Yield))
        and n.value is not None
        and draft.syntax.function(n) is function
        for n in ast.walk(function)
    ):
        return False
    return any(_deals_out(draft, n, depth - 1) for n in ast.walk(function) if isinstance(n, ast.Call))


def _draws_from_generator(draft: Draft, call: ast.Call, depth: int) -> bool:
    """`next(batches)` of what yields the same on every rank: a generator of the project, or what is not known to be a data set
    (those are divided where they are made) or to shuffle for itself."""
    source = asked_source(call)
    if source is None or datasets_drawn(feeding(draft), source) or _is_begun_there(draft, source):
        return False
    generator = feeding(draft).kinds.generator(source)
    if any(draft.names.of(made.func) in _NUMBERS for made in draft.values.calls(source)):
        return False  # it counts: no rows, and the same number on all ranks
    if generator is not None and _begins(draft, source):
        # it is asked once, as a function is called
        return _function_deals(draft, generator, depth) or not _draws(draft, generator)
    if generator is None:
        return not any(keras_flows.shuffles_unseeded(draft, made) for made in _sources(draft, source))
    return not draws_apart(draft, "G4", generator)


def is_seen_through(draft: Draft, call: ast.Call) -> bool:
    """Whether what deals out batches is a function, a class or a list of the project, or TensorFlow's own."""
    asked = asked_source(call)
    held = asked or (call.func.value if isinstance(call.func, ast.Attribute) else None)
    if asked is None and draft.values.callee(call) is not None:
        return True
    if held is None or feeding(draft).kinds.generator(held) is not None:
        return held is not None
    made = list(_sources(draft, held))
    names = [draft.names.of(c.func) or "" for c in made]
    return bool(made) and all(
        name.startswith(("tensorflow.", "itertools."))
        or draft.module.scopes.is_builtin(c.func)
        or draft.values.callee(c) is not None
        for name, c in zip(names, made, strict=True)
    )


def _begins(draft: Draft, source: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression begins a generator of the project each time: `data.batches(64)`, not one that is kept."""
    function = draft.values.callee(source) if isinstance(source, ast.Call) and depth else None
    if not isinstance(function, FUNCTIONS):
        return False
    if any(isinstance(n, _YIELDS) and draft.syntax.function(n) is function for n in ast.walk(function)):
        return True
    returned = draft.values.returned(function)
    return bool(returned) and all(_begins(draft, e, depth - 1) for e in returned)


def begins_alike(draft: Draft, call: ast.Call) -> bool:
    """Whether a call takes the first batch of a generator that it begins, and nothing is seen that makes it another one."""
    source = asked_source(call)
    if source is None or not _begins(draft, source):
        return False
    generator = feeding(draft).kinds.generator(source)
    return generator is not None and not _function_deals(draft, generator, _DEPTH)


def _draws(draft: Draft, generator: Function) -> bool:
    """Whether a generator function draws at random: what seeds it is another rule's to see to (D3)."""
    return any(draft.uniform.draws.draws(c) for c in draft.facts.feeding.calls_in(generator))


def _is_begun_there(draft: Draft, source: ast.expr) -> bool:
    """`next(iter(batches))`: the first batch, again and again."""
    return isinstance(source, ast.Call) and draft.names.last(source.func) == "iter"


def _sources(draft: Draft, source: ast.expr) -> Iterator[ast.Call]:
    """The calls that make what an iterator goes through: of `iter(load(32))` `load(32)`, too."""
    for call in draft.values.calls(source):
        yield call
        if draft.names.last(call.func) == "iter" and call.args:
            yield from draft.values.calls(call.args[0])


def shuffles_for_itself(draft: Draft, source: ast.expr) -> bool:
    """Whether batches come from Keras' image generators in an order that each process draws for itself."""
    made = [m for m in _sources(draft, source) if draft.names.last(m.func) != "iter"]
    return bool(made) and all(
        keras_flows.shuffles_unseeded(draft, m) and keras_flows.is_of_keras(draft, m) for m in made
    )
