"""Rows that a program makes at random before it trains on them: part of D3.

Each rank would make rows of its own, by other true weights and with other noise: the ranks would learn from different data
sets, and what each takes as its part of the rows would be no part of anything. All draw them from one stream, or take rank
0's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.sources import ESTIMATORS, Source
from horovodize.facts.feeds.steps import Feed
from horovodize.python.syntax import FUNCTIONS, argument, arguments, has_unpacking
from horovodize.rules.drafting.decisions import Agreed, Asked, Covered, Decided, How, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import SEED, feeding
from horovodize.rules.rows import chosen_rows
from horovodize.rules.together.any_rank_test import agree_order, agree_value, can_agree, draw_alike
from horovodize.rules.weights import drawn_constants
from horovodize.summary.feeding import Kind

_WHAT = "Make the same rows on all ranks"
_WHY = "Ranks that make rows of their own at random learn from different data sets."
_WHY_NUMBER = (
    "Ranks with different numbers of rows take different numbers of steps, and wait for each other forever."
)
_WHAT_NUMBER = "Draw the same on all ranks"
_TOO_MANY = "each rank makes another number of these rows, and would take another number of steps; make equally many on all"
_NUMBERING = (Source.GAME, Source.CLOCK, Source.INPUT, Source.HOST)
_WHY_ORDER = (
    "A set has another order in each process; by that, ranks would take each other's rows, or number the same words "
    "differently."
)
_OWN_ORDER = "this has another order on each rank; sort it"
# Functions that draw when they are called, in whatever program: they work on arrays and lists.
_OF_ARRAYS = ("tensorflow.keras.preprocessing.",)
_NUMBERED = ("enumerate", "list", "tuple", "zip")
_OWN = "each rank makes rows of its own here at random; seed it with the same number on all ranks"
_ORDERS = ("numpy.random.shuffle", "numpy.random.permutation", "random.shuffle", "random.sample")
# What a program draws as weights is broadcast.
_WEIGHTS = {"Variable", "get_variable", "assign", "set_weights", "add_weight"}


def apply(draft: Draft) -> None:
    """Makes the rows alike that training sees, where they are made once, before it."""
    uniform = draft.uniform
    for fed in feeding(draft).fits:
        if draft.facts.steps.game(fed.fit.call) is None:
            for e in (fed.x, fed.y, fed.weight):
                if e is not None and _differs_in_number(draft, e):
                    _agree_on_rows(draft, e)
                elif e is not None and any(draft.was(p, Shared) for p in feeding(draft).pipelines.trail(e)):
                    _give_equally_many(draft, e)
    found = dict.fromkeys(r for e in _fed(draft) for r in uniform.reasons(e))
    for reason in sorted(found, key=_is_name):
        # what is dealt out may be the draw itself: `for i in random.sample(numbers, n):`
        open_ = not draft.was(reason.where, Decided) or draft.was(reason.where, Shared)
        if isinstance(reason, Varies) and open_:
            if reason.kind is Source.ORDER:
                _keep_order(draft, reason.where)
            elif reason.kind is Source.CHANCE and isinstance(reason.where, ast.Call):
                _make_alike(draft, reason.where)
            elif reason.kind is Source.ROWS and reason.where in draft.sites.graph.all_runs:
                _agree_on_fetched(draft, reason.where)
    for call in drawn_constants.drawn(draft, lambda c: _is_before_training(draft, c)):
        _draw_constant(draft, call)
    for fed in feeding(draft).fits:
        if draft.facts.steps.game(fed.fit.call) is None:
            chosen_rows.agree(draft, fed)
    chosen_rows.agree_on_slices(draft)


def _is_name(reason: Varies | Unknown) -> bool:
    return isinstance(reason.where, ast.Name)


def _keep_order(draft: Draft, where: ast.AST) -> None:
    """`words = list(set(text))`, by which rows are numbered: rank 0's order, where it comes from."""
    if any(draft.was(n, Agreed) for n in draft.values.depends([where], 400)):
        draft.decide(where, Covered("D3"))
        return
    if not isinstance(where, ast.expr) or not agree_order(draft, where, "D3", _WHY_ORDER):
        draft.decide(where, Asked("D3"))
        draft.ask("D3", where, _WHAT, _WHY_ORDER, _OWN_ORDER)
        return
    for read in _numbered_again(draft, where):
        agree_order(draft, read, "D3", _WHY_ORDER)


def _numbered_again(draft: Draft, where: ast.expr) -> list[ast.Name]:
    """Where the same set is numbered once more: `dict(enumerate(vocab))` beside `{c: i for i, c in enumerate(vocab)}`, which
    is to lead back to what the numbers stand for."""
    if not isinstance(where, ast.Name):
        return []
    bound, scopes, home = (
        draft.module.scopes.reaching(where),
        draft.module.scopes,
        draft.syntax.function(where),
    )
    found = list[ast.Name]()
    for read in draft.module.loads.get(where.id):
        around, is_kept = draft.syntax.parent[read], isinstance(draft.syntax.statement(read), ast.Assign)
        if isinstance(read, ast.Name) and read is not where and scopes.reaching(read) == bound and is_kept:
            if (
                isinstance(around, ast.Call)
                and scopes.is_builtin(around.func)
                and draft.syntax.function(read) is home
            ):
                if draft.names.last(around.func) in _NUMBERED and not draft.was(read, Agreed):
                    found.append(read)
    return found


def _make_alike(draft: Draft, call: ast.Call) -> None:
    """Rows that are drawn: from one stream, by one seed, or rank 0's."""
    ordered = _ordered_by(draft, call)
    if ordered is not None and agree_value(draft, ordered, "D3", _WHAT, _WHY):
        draft.decide(call, Covered("D3"))
    if _is_made_once(draft, call):
        _draw_once(draft, call, _WHAT, _WHY)


def _draw_once(draft: Draft, call: ast.Call, what: str, why: str) -> None:
    """What is drawn before training."""
    if draft.facts.steps.shaped_by_rows(call) and not _go_around(draft):
        return  # noise, for each row by itself: a rank's part of the rows has as much of it
    name = draft.names.of(call.func) or ""
    if draft.in_graph and name.startswith("tensorflow.") and not name.startswith(_OF_ARRAYS):
        for run in draft.sites.graph.all_runs:
            if draft.syntax.inside(call, run):  # `tf.random.normal([9]).eval()`
                _agree_on_fetched(draft, run)
        return  # an operation, which draws when a session runs it
    if name in ESTIMATORS and not has_unpacking(call) and argument(call, "random_state") is None:
        if draft.decide(call, Agreed("D3", How.SEED)):
            edits = [draft.add_argument(call, f"random_state={SEED}")]
            draft.change("D3", call, what, why, edits)
    elif draft.uniform.draws.has_stream(call) and can_agree(draft, call):
        draw_alike(draft, call, "D3", what, why)
    elif name not in ESTIMATORS and agree_value(draft, _whole(draft, call), "D3", what, why):
        draft.decide(call, Covered("D3"))
    else:
        draft.decide(call, Asked("D3"))
        draft.ask("D3", call, what, why, _OWN)


def _draw_constant(draft: Draft, call: ast.Call) -> None:
    if drawn_constants.is_in_build(draft, call):
        draft.decide(call, Asked("D3"))
        draft.ask("D3", call, drawn_constants.WHAT, drawn_constants.WHY, drawn_constants.IN_BUILD)
    else:
        _draw_once(draft, call, drawn_constants.WHAT, drawn_constants.WHY)


def _agree_on_fetched(draft: Draft, run: ast.AST) -> None:
    """`x = session.run(noisy)`, once, before training: whatever draws in the graph, rank 0's."""
    if not isinstance(run, ast.Call) or not _is_made_once(draft, run):
        return
    if any(frame.loops for way in draft.drive.ways(run) for frame in way):
        return
    if not agree_value(draft, run, "D3", _WHAT, _WHY):
        draft.decide(run, Asked("D3"))
        draft.ask("D3", run, _WHAT, _WHY, _OWN)


def _ordered_by(draft: Draft, draw: ast.Call) -> ast.Call | None:
    """`sorted(rows, key=lambda row: random.random())`: what a draw for each row puts in order."""
    for a in draft.syntax.ancestors(draw):
        around = draft.syntax.parent[a] if isinstance(a, ast.Lambda) else None
        if isinstance(around, ast.keyword) and around.arg == "key":
            call = draft.syntax.parent[around]
            named = isinstance(call, ast.Call) and draft.names.last(call.func) == "sorted"
            return call if named and isinstance(call, ast.Call) else None
        if isinstance(a, ast.stmt):
            break
    return None


def _go_around(draft: Draft) -> bool:
    """Whether rows go from rank to rank, so that a row is to be the same on all: where each rank draws its batches from all
    rows, or where they are dealt out by an order that is drawn again and again."""
    known = feeding(draft)
    draws = (d for d in known.drivers if d.kind is Kind.RANGE and not d.indexed and not known.next_calls(d))
    dealt = any(d.indexed or d.kind is Kind.GENERATOR for d in known.drivers)
    ways = (
        (way for call in draft.module.calls_of(*_ORDERS) for way in draft.drive.ways(call)) if dealt else ()
    )
    return next(draws, None) is not None or any(frame.loops for way in ways for frame in way)


def _whole(draft: Draft, call: ast.Call) -> ast.expr:
    """What is drawn as a whole: of a draw for each of many rows, the call of the function that makes them all; not of one that
    trains, too, nor of one that makes operations of a graph of them, which no rank can send."""
    training: set[ast.AST] = {f.call for f in draft.sites.fits} | {d.loop for d in feeding(draft).drivers}
    if _is_of_weights(draft, call):
        return call  # what holds the variable can't be sent
    for way in draft.drive.ways(call):
        for i, frame in enumerate(way):
            if isinstance(frame.node, ast.expr) and not any(outer.loops for outer in way[i:]):
                if not draft.drive.reaches(frame.node, training) and not _gives_operations(draft, frame.node):
                    return frame.node
    return call


def _gives_operations(draft: Draft, call: ast.expr) -> bool:
    """Whether a function of the program gives operations of a graph, rather than rows: `return tf.train.batch([image], 32)`."""
    callee = draft.values.callee(call) if draft.in_graph and isinstance(call, ast.Call) else None
    if not isinstance(callee, FUNCTIONS):
        return False
    parts = [p for r in draft.values.returned(callee) for p in (r.elts if isinstance(r, ast.Tuple) else [r])]
    made = (o.node for part in parts for o in draft.values.origins(part))
    runs = draft.sites.graph.all_runs
    return any(
        isinstance(n, ast.Call) and n not in runs and (draft.names.of(n.func) or "").startswith("tensorflow.")
        for n in made
    )


def _differs_in_number(draft: Draft, e: ast.expr) -> bool:
    """Whether ranks make different numbers of rows: a game that each plays to its end, a draw for each of its moves."""
    for reason in draft.uniform.number_reasons(e):
        if not isinstance(reason, Varies) or draft.was(reason.where, Agreed):
            continue
        if reason.kind in _NUMBERING:
            return True
        if reason.kind is Source.CHANCE and not can_agree(draft, reason.where):
            return True  # else it is drawn alike below
    return False


def _give_equally_many(draft: Draft, dataset: ast.expr) -> None:
    """What decides how many elements a generator function gives to a data set: drawn from one stream."""
    for reason in draft.uniform.number_reasons(dataset):
        call = reason.where
        if (
            isinstance(reason, Varies)
            and reason.kind is Source.CHANCE
            and isinstance(call, ast.Call)
            and (function := draft.syntax.function(call)) is not None
            and _generates(draft, function)
            and draft.uniform.draws.has_stream(call)
        ):
            draw_alike(draft, call, "D3", _WHAT_NUMBER, _WHY_NUMBER)


def _agree_on_rows(draft: Draft, e: ast.expr) -> None:
    if feeding(draft).pipelines.is_dataset(e):  # which rank 0 can't send
        if not all(_agree_on_number(draft, r) for r in draft.uniform.number_reasons(e)):
            draft.refuse("HVD205", e, _TOO_MANY)
        return
    if agree_value(draft, e, "D3", _WHAT, _WHY_NUMBER):
        for reason in draft.uniform.reasons(e):
            if isinstance(reason, Varies):
                draft.decide(reason.where, Covered("D3"))
    else:
        draft.refuse("HVD205", e, _TOO_MANY)


def _agree_on_number(draft: Draft, reason: Varies | Unknown) -> bool:
    """Whether ranks take rank 0's of what says how many elements a data set has: `dataset.take(os.cpu_count())`."""
    if not isinstance(reason, Varies) or draft.was(reason.where, Agreed):
        return True
    if reason.kind is Source.CHANCE:
        return can_agree(draft, reason.where)  # it is drawn alike below
    if reason.kind not in _NUMBERING:
        return True
    return isinstance(reason.where, ast.expr) and agree_value(
        draft, reason.where, "D3", _WHAT_NUMBER, _WHY_NUMBER
    )


def _fed(draft: Draft) -> Iterator[ast.AST]:
    """What training sees: what `fit` is given, what loops iterate, the rows of each step, what they are taken from."""
    known = feeding(draft)
    for fed in known.fits:
        if draft.facts.steps.game(fed.fit.call) is None:
            for e in (fed.x, fed.y, fed.weight):
                yield from _held(draft, e) if e is not None else ()
    for driver in known.drivers:
        played = any(draft.facts.steps.game(step) is not None for step in driver.steps)
        if driver.iterable is not None and not played and not known.kinds.is_range(driver.iterable):
            yield from _held(draft, driver.iterable)
        for step in map(draft.facts.steps.of, driver.steps):
            if draft.facts.steps.game(step.site) is not None:
                continue  # each rank plays its own
            yield from step.rows if step.feed is Feed.WHOLE else ()
            for batch in step.batches:
                yield batch.value if isinstance(batch, ast.Subscript) else batch


def _held(draft: Draft, e: ast.expr) -> Iterator[ast.AST]:
    """What is fed, and, where it is an object of the program that gives batches, what that is made of and holds:
    `Batches(x, y, 32)`, `self.x = load()` in its class."""
    yield e
    for call in draft.values.calls(e):
        made = draft.values.callee(call)
        if not isinstance(made, ast.ClassDef):
            continue
        yield from arguments(call)
        for method in (s for s in made.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"):
            sets = (n for n in ast.walk(method) if isinstance(n, ast.Assign))
            yield from (n.value for n in sets if any(isinstance(t, ast.Attribute) for t in n.targets))


def _is_made_once(draft: Draft, call: ast.Call) -> bool:
    """Whether a draw comes before training, rather than in it, in what feeds it, or in what makes weights."""
    return not _is_of_weights(draft, call) and _is_before_training(draft, call)


def _is_of_weights(draft: Draft, call: ast.Call) -> bool:
    return any(
        isinstance(a, ast.Call) and a is not call and draft.names.last(a.func) in _WEIGHTS
        for a in draft.syntax.ancestors(call)
    )


def _is_before_training(draft: Draft, call: ast.Call) -> bool:
    training = {driver.loop for driver in feeding(draft).drivers}
    ways = (way for fit in draft.sites.fits for way in draft.drive.ways(fit.call))
    training |= {loop for way in ways for frame in way for loop in frame.loops}
    if draft.drive.in_traced(call) or any(isinstance(a, ast.Lambda) for a in draft.syntax.ancestors(call)):
        return False
    for way in draft.drive.ways(call):
        if way[-1].function is not None or training & {loop for frame in way for loop in frame.loops}:
            return False  # called by what is not seen, or in the steps
        if draft.drive.runs_traced(way) >= 0:
            return False  # an operation, which draws whenever the traced function runs
        if any(frame.function is not None and _generates(draft, frame.function) for frame in way):
            return False
    return True


def _generates(draft: Draft, function: ast.AST) -> bool:
    """Whether a function is a generator: it draws while others train."""
    return any(
        isinstance(n, (ast.Yield, ast.YieldFrom)) and draft.syntax.function(n) is function
        for n in ast.walk(function)
    )
