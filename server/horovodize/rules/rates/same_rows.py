"""Steps that would be given the same rows on every rank though their loop is divided: part of C5.

Fewer steps at a larger rate are right where ranks train on rows of their own. Where no rule has divided what a step is given,
and it is surely the same on every rank (it comes by a number that goes on, from arrays that all have), that is asked. Rows that
are selected by what a graph counts are divided (`rows_by_global_step`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.feeds.steps import Feed
from horovodize.plan import Decision
from horovodize.python.syntax import FUNCTIONS, argument, arguments
from horovodize.rules.beginning import graph_queues
from horovodize.rules.drafting.decisions import Agreed, Apart, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import dealing_calls
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.scaling import strong
from horovodize.summary.feeding import Driver
from horovodize.summary.gathered_in_turns import additions

_WHAT = "Check which rows each rank trains on"
_WHY = "Fewer steps at a larger rate see as much as before only if each rank has rows of its own."
_SAME = "all ranks are given the same rows here, and it can't be seen how to divide them: let each rank choose by `hvd.rank()`"
_THE_SAME = {
    Decision.DIVIDED,
    Decision.COUNTED,
    Decision.SCALED,
}  # numbers that are others, but the same on each rank
_OF_SESSIONS = ("S3", "S4")  # by which a count is fetched, the same on each rank
_LIMIT = 400


def ask(draft: Draft, rule: str) -> None:
    """Asks about each loop once."""
    for driver in feeding(draft).drivers if draft.options.split_data and draft.growth else ():
        if not _counts_only(draft, driver) or not counted.is_divided(draft, driver):
            continue
        for step in driver.steps:
            given = list(_given(draft, driver, step))
            weak = strong.scaling(draft, step) is strong.Scaling.WEAK
            if (
                weak
                and given
                and all(_is_same(draft, driver, e) for e in given)
                and not any(
                    _is_made_own(draft, set(draft.values.depends([b], _LIMIT))) for b in _batches(draft, step)
                )
                and draft.facts.steps.of(step).feed is not Feed.DRAW  # in the graph itself
                and not _draws_its_rows(draft, driver, step)
                and draft.once("same rows", driver.loop)
            ):
                draft.ask(rule, given[0], _WHAT, _WHY, _SAME)


def _counts_only(draft: Draft, driver: Driver) -> bool:
    """Whether a loop goes over numbers, rather than over data."""
    return driver.iterable is None or feeding(draft).kinds.is_range(driver.iterable)


def _given(draft: Draft, driver: Driver, step: ast.Call) -> Iterator[ast.expr]:
    """What a step is given in its loop: what a session is fed, or the arguments of what trains."""
    if draft.in_graph:
        if feeding(draft).graph_feeds or graph_queues.feed(draft, step):
            return  # data come from elsewhere, too
        fed = argument(step, "feed_dict", 1)
        for origin in draft.values.origins(fed) if fed is not None else ():
            if isinstance(origin.node, ast.Dict):
                yield from (v for v in origin.node.values if not isinstance(v, ast.Constant))
        return
    frames = [f for way in draft.drive.ways(step) for f in way if draft.syntax.inside(f.node, driver.loop)]
    for call in (f.node for f in frames if isinstance(f.node, ast.Call)):
        if call is step or draft.values.callee(call) is not None:
            yield from arguments(call)


def _batches(draft: Draft, step: ast.Call) -> list[ast.expr]:
    """The batches of a step: what is applied may be gradients that were summed up elsewhere, and tells nothing of rows."""
    return [b for b in draft.facts.steps.of(step).batches if isinstance(b, ast.expr)]


def _is_same(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """Whether a value is surely the same on every rank, and no rule has made it a rank's own; of a name that is set to what a
    function of the program gives (`rows = loader.next_batch()`), that. What only files tell, as where a run goes on, is the
    same where all ranks have them: no rank has rows of its own by that."""
    if isinstance(e, ast.Name) and (bound := draft.module.scopes.reaching(e)):
        given = [b.value for b in bound if b.kind == "assign" and isinstance(b.value, ast.Call)]
        if len(given) == len(bound) and all(draft.values.callee(v) is not None for v in given):
            return all(_is_same(draft, driver, v) for v in given)
    if not all(isinstance(r, Varies) and r.kind is Source.FILES for r in draft.uniform.of_values.reasons(e)):
        return False
    made_of = _made_of(draft, e)
    if len(made_of) >= _LIMIT:
        return False
    calls = [n for n in made_of if isinstance(n, ast.Call)]
    if any(_is_drawn_in(draft, driver, c) or _is_of_drawing_generator(draft, c) for c in calls):
        return False  # the rules for seeds see to it
    if any(_is_shuffled_in(draft, driver, n) for n in made_of if isinstance(n, ast.Name)):
        return False
    return not _is_made_own(draft, made_of)


def _is_shuffled_in(draft: Draft, driver: Driver, name: ast.Name) -> bool:
    """Whether each rank brings what a name stands for into an order of its own in each turn: `shuffle(order)`, `order[:32]`."""
    shuffled = [
        c
        for c in draft.module.calls_called("shuffle")
        if c.args and isinstance(c.args[0], ast.Name) and c.args[0].id == name.id and not draft.was(c, Agreed)
    ]
    return any(
        _is_drawn_in(draft, driver, c) and not draft.uniform.draws.is_seeded(draft.names.of(c.func) or "", c)
        for c in shuffled
    )


def _made_of(draft: Draft, e: ast.expr) -> set[ast.AST]:
    """What a value is made of; where it comes out of a list that begins empty, also what is added to that."""
    made_of = set(draft.values.depends([e], _LIMIT))
    lists = [n for n in made_of if isinstance(n, ast.Name)]
    added = [a for n in lists for call in additions(feeding(draft), n) for a in call.args]
    return made_of | set(draft.values.depends(added, _LIMIT)) if added else made_of


def _is_made_own(draft: Draft, made_of: set[ast.AST]) -> bool:
    """Whether a rule has made something a rank's own that a value is made of."""
    parts = [n for n in made_of if isinstance(n, ast.expr) and not draft.was(n, Agreed)]
    spans = {draft.module.span(n) for n in parts}
    changed = (c for c in draft.changes if c.decision not in _THE_SAME and c.rule not in _OF_SESSIONS)
    return any(draft.was(n, Shared, Apart) for n in made_of) or any(c.span in spans for c in changed)


def _draws_its_rows(draft: Draft, driver: Driver, step: ast.Call) -> bool:
    """Whether a step that is given numbers only draws all of its rows itself: `train_one(32, length)`. Noise that is drawn
    beside rows doesn't make those another rank's."""
    batches = draft.facts.steps.of(step).batches
    return bool(batches) and all(_is_drawn_behind(draft, driver, b) for b in batches)


def _is_drawn_behind(draft: Draft, driver: Driver, batch: ast.AST) -> bool:
    made_of = draft.values.depends([batch], _LIMIT) if isinstance(batch, ast.expr) else ()
    return any(_is_drawn_in(draft, driver, n) for n in made_of if isinstance(n, ast.Call))


def _is_drawn_in(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Whether something is drawn at random in each turn of a loop, there or in a function that is called there."""
    callee = draft.values.callee(call)
    inner = [n for n in ast.walk(callee) if isinstance(n, ast.Call)] if isinstance(callee, FUNCTIONS) else []
    if not any(_is_drawn(draft, c) for c in (call, *inner)):
        return False
    return any(loop is driver.loop for way in draft.drive.ways(call) for frame in way for loop in frame.loops)


def _is_of_drawing_generator(draft: Draft, call: ast.Call) -> bool:
    """`next(batches)` of a generator function that draws, an order of its rows too, or of Keras' image generators."""
    source = call.args[0] if draft.names.last(call.func) == "next" and call.args else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "next" and not call.args:
        source = call.func.value
    if source is not None and dealing_calls.shuffles_for_itself(draft, source):
        return True
    generator = feeding(draft).kinds.generator(source) if source is not None else None
    return generator is not None and any(
        _is_drawn(draft, n) for n in ast.walk(generator) if isinstance(n, ast.Call)
    )


def _is_drawn(draft: Draft, call: ast.Call) -> bool:
    draws = draft.uniform.draws
    return draws.has_stream(call) or draws.is_drawn(draft.names.of(call.func) or "")
