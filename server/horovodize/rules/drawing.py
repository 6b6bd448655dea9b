"""Batches that a loop gets by a call (`data.next_batch(64)`, `next(batches)`): part of G4 and S5.

What deals out batches one after another deals out the same on every rank. So all ranks draw alike, size() batches a step, and
each trains on its own of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from horovodize.facts import drawn_yields
from horovodize.facts.cursors import deals_by_cursor, moved, passes
from horovodize.facts.dealt import DEALS, EVALUATES
from horovodize.facts.games import is_game
from horovodize.facts.sources import SEEDS
from horovodize.facts.steps import Feed
from horovodize.plan import Decision
from horovodize.rules import keras_flows, own_counts, preparing, strong
from horovodize.rules.decisions import Apart, Decided, Shared, Unit
from horovodize.rules.draft import RANK, SIZE, Draft
from horovodize.rules.measuring_draws import only_measures
from horovodize.rules.seeds_apart import is_order, seed_generator
from horovodize.rules.shares import copied, feeding
from horovodize.rules.target_networks import losses_of
from horovodize.source import Edit
from horovodize.source.nodes import names_in
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.selecting import draws_what_trains
from horovodize.summary.syntax import (
    FUNCTIONS,
    Function,
    arguments,
    has_unpacking,
    position,
)

_DRAWS = re.compile("rand|sample|draw|noise", re.I)
_DRAWING_METHODS = frozenset(
    "choice choices integers randint rand randn random random_sample normal uniform permutation permuted shuffle sample".split()
)
ORDER = (
    "it can't be seen in which order this gives its batches, of which each rank takes every size()-th: where it shuffles, it "
    "must do so alike on all ranks"
)
_UNSEEN = (
    "it can't be seen what gives these steps their data: unless that draws at random, every rank gets the same batches, or all "
    "of the data, with a rate for size() of them"
)
_FIRST = (
    "this begins the generator again in each step, and takes its first batch: if that is always the same, all ranks train on "
    "the same rows; begin it once, before the loop"
)
_NUMBERS = ("itertools.count", "itertools.repeat")
_YIELDS = (ast.Yield, ast.YieldFrom)
_QUEUES = ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue", "JoinableQueue")
_DEPTH = 3
_FAR = 2000  # nodes that what a step is taken on is made of
_WHY_UNSEEN = "Ranks that train on the same rows train something else at size() times the rate."
_WHY = "Dealt in the same order on every rank, the batches would be the same; so each rank takes its own."


def own_batches(draft: Draft, driver: Driver, rule: str, gives_rate: Callable[[ast.Call], bool]) -> None:
    """`next_batch(n)` in a loop that trains: all ranks draw alike, each keeps its own.

    gives_rate: whether a call gives a rate instead, of which all ranks train with the same"""
    if draft.drive.in_traced(driver.loop):
        return
    if feeding(draft).carries_state(driver):
        return
    if any(strong.scaling(draft, step) is not strong.Scaling.WEAK for step in driver.steps):
        return
    drawn = list(_drawn_in(draft, driver))
    if not drawn and not has_rows(driver) and _is_unseen(draft, driver):
        draft.ask(rule, driver.loop, "Check what gives these steps their data", _WHY_UNSEEN, _UNSEEN)
    for call in drawn:
        if draft.was(call, Decided) or gives_rate(call) or _is_given_batch(draft, driver, call):
            continue
        if draws_what_trains(feeding(draft), call, [n for s in driver.loop.body for n in ast.walk(s)]):
            continue  # all ranks train the same in a step
        if not _feeds_a_step(draft, driver, call):
            continue  # `print(evaluate(others))`, whichever batches that goes through
        if has_rows(driver) and not feeding(draft).may_train_on(driver, call):
            continue  # rows to show or to measure by
        draft.decide(call, Shared(rule, Unit.DRAWS))
        edits, doubt = (
            _dealt_out(draft, call, _end_of(draft, driver, call)),
            _FIRST if _begins_alike(draft, call) else "",
        )
        draft.change(rule, call, "Give every rank its own batches", _WHY, edits, doubt, Decision.SHARED)
        if not _is_seen(draft, call):
            draft.note(rule, call, ORDER)
        else:
            given = _asked(call)
            made_by = (
                feeding(draft).kinds.generator(given) if given is not None else draft.values.callee(call)
            )
            preparing.tell(draft, rule, call, [made_by])


def _feeds_a_step(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Whether a step may be taken on what a call gives. A graph's steps are fed by names."""
    if draft.in_graph:
        return not only_measures(draft, call)
    if not isinstance(draft.values.callee(call), FUNCTIONS):
        return True
    steps = set[ast.AST](draft_steps(draft))
    taken = (
        n
        for s in driver.loop.body
        for n in ast.walk(s)
        if isinstance(n, ast.Call) and n is not call and draft.drive.reaches(n, steps)
    )
    given = [e for c in taken for e in arguments(c)]
    made_of = list(draft.values.depends([*losses_of(draft), *given], 2 * _FAR))
    return call in made_of or len(made_of) > _FAR


def ends_loop(draft: Draft, driver: Driver, end: ast.expr) -> bool:
    """Whether a loop goes on by what its batches' source counts: `while train.epochs_done < n` of `train.next_batch(8)`. Where
    the batches of all ranks are drawn in each turn, it ends with a rank's share of the turns."""
    read = [n for n in ast.walk(end) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
    return not draft.drive.in_traced(driver.loop) and any(
        isinstance(call.func, ast.Attribute)
        and ast.unparse(n.value) == ast.unparse(call.func.value)
        and _counts(draft, call, n.attr)
        for call in _drawn_in(draft, driver)
        for n in read
    )


def _counts(draft: Draft, call: ast.Call, attribute: str) -> bool:
    """Whether the class of a method that deals out batches moves an attribute on there, or can't be seen."""
    callee = draft.values.callee(call)
    owner = draft.syntax.method_class(callee) if isinstance(callee, FUNCTIONS) else None
    if owner is None:
        return callee is None
    names = {attribute, *_returned(owner, attribute)}
    return isinstance(callee, FUNCTIONS) and any(kept.rsplit(".", 1)[-1] in names for kept in moved(callee))


def _returned(owner: ast.ClassDef, name: str) -> Iterator[str]:
    """The attributes that a property gives: `_epochs_completed` of `epochs_completed`."""
    for method in (s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == name):
        yield from (n.attr for n in ast.walk(method) if isinstance(n, ast.Attribute))


def _dealt_out(draft: Draft, call: ast.Call, more: str) -> list[Edit]:
    """`next_batch(n)` → `[next_batch(n) for _ in range(hvd.size())][hvd.rank()]`. `more`: a test whether there are more."""
    turn = "_" if all(n.id != "_" for n in ast.walk(call) if isinstance(n, ast.Name)) else draft.fresh("turn")
    opening, closing = copied(draft, call)
    if more:
        opening, closing = (
            f"{draft.helper('own_batch')}([{opening}",
            f"{closing} for {turn} in range({SIZE}) if {more}])",
        )
        return list(Edit.around(draft.module.span(call), opening, closing))
    return list(
        Edit.around(draft.module.span(call), f"[{opening}", f"{closing} for {turn} in range({SIZE})][{RANK}]")
    )


def _end_of(draft: Draft, driver: Driver, call: ast.Call) -> str:
    """The test of a loop that goes on as long as what deals out its batches has more, `while not data.end():`, as text: a
    draw for another rank beyond the end would fail, or give no rows. Nothing where the source begins again by itself."""
    loop = driver.loop
    if not isinstance(loop, ast.While) or not isinstance(call.func, ast.Attribute):
        return ""
    source = ast.unparse(call.func.value)
    reads = [
        n for n in ast.walk(loop.test) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == source
    ]
    calls = [n for n in ast.walk(loop.test) if isinstance(n, ast.Call)]
    if not reads or any(c.func not in reads for c in calls) or _begins_over(draft, call, bool(calls)):
        return ""
    is_here = draft.syntax.function(call) is draft.syntax.function(loop)
    return draft.module.text(loop.test) if is_here else ""


def _begins_over(draft: Draft, call: ast.Call, is_asked: bool) -> bool:
    """Whether a method that deals out batches goes on with the first ones behind the last: it sets what it moves on back under
    a condition, or counts round. Where it can't be seen, whether it isn't asked if there are more (`is_asked`)."""
    callee = draft.values.callee(call)
    if not isinstance(callee, FUNCTIONS):
        return not is_asked
    kept = moved(callee)
    return any(
        any(isinstance(t, ast.expr) and ast.unparse(t) in kept for t in _targets(s))
        and (draft.syntax.conditions(s) or any(isinstance(m, ast.Mod) for m in ast.walk(s)))
        for s in ast.walk(callee)
        if isinstance(s, ast.Assign)
    )


def _targets(statement: ast.Assign) -> Iterator[ast.AST]:
    return (n for target in statement.targets for n in ast.walk(target))


def _asked(call: ast.Call) -> ast.expr | None:
    """What a call asks for its next item: `batches` of `next(batches)`, `batches.get_next()`; None for other calls."""
    if isinstance(call.func, ast.Name) and call.func.id == "next" and call.args:
        return call.args[0]
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "get_next" and not call.args
    return call.func.value if is_method and isinstance(call.func, ast.Attribute) else None


def _is_unseen(draft: Draft, driver: Driver) -> bool:
    """Whether nothing is known of what feeds the steps of a loop: a function of a module that isn't read gives it."""
    steps = [draft.facts.steps.of(step) for step in driver.steps]
    feeds = {step.feed for step in steps}
    if feeding(draft).next_calls(driver):
        return False
    if feeds == {Feed.BATCH}:  # by its name: `helpers.make_batch(16)`
        batches = [b for step in steps for b in step.batches]
        return bool(batches) and all(_is_unread(draft, driver, b) for b in batches)
    if feeds != {Feed.UNSEEN}:
        return False
    fed = [a for step in driver.steps for a in arguments(step)]
    given = [o.node for a in fed for o in draft.values.origins(a)]
    if draft.in_graph:  # by names, in a dictionary
        given = [step.node for step in steps if step.node is not step.site]
    calls = [n for n in given if isinstance(n, ast.Call)]
    return any(draft.values.callee(c) is None and not _is_known(draft, c) for c in calls)


def _is_unread(draft: Draft, driver: Driver, batch: ast.AST) -> bool:
    """Whether a batch is given in a loop by a function of a module that isn't read, which is told nothing that is drawn
    there; not by a graph's queue or iterator, of which other rules ask."""
    if not isinstance(batch, ast.Call) or not draft.syntax.inside(batch, driver.loop):
        return False
    if batch in draft.sites.graph.all_runs:
        return False
    if draft.values.callee(batch) is not None or _is_known(draft, batch):
        return False
    if isinstance(batch.func, ast.Attribute) and shuffles_for_itself(draft, batch.func.value):
        return False
    told = list(draft.values.depends(arguments(batch), _FAR))
    calls = [n for n in told if isinstance(n, ast.Call) and draft.syntax.inside(n, driver.loop)]
    drawn = any(_draws_itself(draft, call) for call in calls)
    return len(told) < _FAR and not drawn and not draft.was(batch, Shared)


def _is_known(draft: Draft, call: ast.Call) -> bool:
    """Whether a call is of TensorFlow, NumPy or Python itself, or draws by its name, where the script gives no seed."""
    name = draft.names.of(call.func) or ""
    library = name.startswith(("tensorflow.", "numpy.", "random.")) or draft.module.scopes.is_builtin(
        call.func
    )
    if library or not _DRAWS.search(draft.names.last(call.func)):
        return library
    known = draft.uniform.draws
    return not any(known.gives_seed(c) and not known.is_undone(c) for c in draft.module.calls_of(*SEEDS))


def _is_given_batch(draft: Draft, driver: Driver, call: ast.Call) -> bool:
    """Whether a call makes something of the batch that the loop iterates, or selects: `get_batch(batch, model)`."""
    if isinstance(driver.loop, ast.While) or (driver.kind is Kind.RANGE and not driver.indexed):
        return False
    own = {n.id for n in ast.walk(driver.loop.target) if isinstance(n, ast.Name)}
    own |= draft.facts.dealt.names(driver)
    return any(isinstance(n, ast.Name) and n.id in own for n in ast.walk(call))


def has_rows(driver: Driver) -> bool:
    """Whether a loop goes through rows by itself, so that what it draws comes beside them."""
    return driver.indexed or driver.kind not in (Kind.RANGE, Kind.UNKNOWN)


def draws_apart(draft: Draft, rule: str, generator: Function) -> bool:
    """Whether a generator function draws other batches on each rank, and tells none of them a number: by a stream that no seed
    fixes, or by a seed of each rank's own, which it is then given. It then counts the batches of all ranks."""
    if not _draws_its_rows(draft, generator):
        return False
    if not drawn_yields.tells_no_turns(draft.syntax, generator, lambda call: _draws_itself(draft, call)):
        return False
    fixed = _fixed_draws(draft, generator)
    if fixed is None:
        return False
    makers = {draft.uniform.draws.maker(c) for c in fixed}
    apart = not fixed or (len(makers) == 1 and None not in makers and seed_generator(draft, generator))
    if apart:
        draft.decide(generator, Apart(rule))
        own_counts.count_all(draft, rule, generator)
    return apart


def _draws_its_rows(draft: Draft, generator: Function) -> bool:
    """Whether what a generator function draws decides which rows it yields. Of one that goes through rows in order and only
    turns or blurs them at random, every rank would get the same rows."""
    loops = list(passes(generator))
    inside = {n for loop in loops for s in loop.body for n in ast.walk(s)}
    return not loops or any(
        (n not in inside or (_orders(draft, n) and draft.syntax.conditions(n)))
        and _comes_before_rows(draft, generator, n)
        for n in ast.walk(generator)
        if isinstance(n, ast.Call) and _draws_itself(draft, n)
    )


def _comes_before_rows(draft: Draft, generator: Function, drawn: ast.Call) -> bool:
    """Whether something is drawn before the first rows are yielded. An order that is drawn for the second pass, after the first
    or where a cursor begins again (`if i + n > len(x): i = 0; shuffle(x)`), leaves all ranks the same rows until then."""
    yields = [n for n in ast.walk(generator) if isinstance(n, _YIELDS)]
    if any(position(n) < position(drawn) for n in yields):
        return False
    for decision, arm in draft.syntax.conditions(drawn):
        branch = getattr(decision, arm)
        stored = (n for s in branch for n in ast.walk(s)) if isinstance(branch, list) else iter(())
        set_ = {n.id for n in stored if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if set_ & names_in(decision.test):
            return False
    return True


def _draws_itself(draft: Draft, call: ast.Call) -> bool:
    """Whether a call draws, or runs a function of the program that does."""
    callee = draft.values.callee(call)
    return draft.uniform.draws.draws(call) or (
        isinstance(callee, FUNCTIONS)
        and any(isinstance(n, ast.Call) and draft.uniform.draws.draws(n) for n in ast.walk(callee))
    )


def draws_orders(draft: Draft, generator: Function) -> bool:
    """Whether a generator function draws an order of rows."""
    return any(isinstance(n, ast.Call) and _orders(draft, n) for n in ast.walk(generator))


def _orders(draft: Draft, call: ast.Call) -> bool:
    """Whether a call draws an order, or runs a function of the program that does."""
    callee = draft.values.callee(call)
    called = [n for n in ast.walk(callee) if isinstance(n, ast.Call)] if isinstance(callee, FUNCTIONS) else []
    return any(is_order(draft, c) for c in (call, *called))


def _fixed_draws(draft: Draft, generator: Function) -> list[ast.Call] | None:
    """What of that which a generator function draws a seed fixes; None where it draws nothing, or something that isn't seen."""
    known = draft.uniform.draws
    called = [draft.values.callee(c) for c in ast.walk(generator) if isinstance(c, ast.Call)]
    bodies = [generator, *(f for f in called if isinstance(f, FUNCTIONS))]
    calls = [n for body in bodies for n in ast.walk(body) if isinstance(n, ast.Call)]
    drawn = [c for c in calls if known.draws(c)]
    if not drawn or any(known.maker(c) is None and _is_method_that_draws(draft, c) for c in calls):
        return None
    # a seed counts, if only where an option says so: then all would draw the same
    seeds = [c for c in draft.module.calls_of(*SEEDS) if known.gives_seed(c) and not known.is_undone(c)]
    seeded = tuple(prefix for c in seeds for prefix in SEEDS[draft.names.of(c.func) or ""])
    return [c for c in drawn if _is_fixed(draft, c, seeded)]


def _is_fixed(draft: Draft, call: ast.Call, seeded: tuple[str, ...]) -> bool:
    """Whether a draw is of a generator that has a seed, or of a function whose name begins as those that are seeded."""
    maker = draft.uniform.draws.maker(call)
    if maker is not None:
        return draft.uniform.draws.gives_seed(maker)
    name = draft.names.of(call.func) or ""
    return name.startswith(seeded) or draft.uniform.draws.is_fixed(call, name)


def _is_method_that_draws(draft: Draft, call: ast.Call) -> bool:
    """`self.rng.choice(rows)` by its name alone."""
    if not isinstance(call.func, ast.Attribute) or draft.names.of(call.func) is not None:
        return False
    return call.func.attr in _DRAWING_METHODS and draft.values.callee(call) is None


def _drawn_in(draft: Draft, driver: Driver) -> Iterator[ast.Call]:
    """The calls by which a loop, or a function that takes its steps, gets the next batch: of calls in each other the
    outermost, for what is dealt out to the ranks must not be dealt out again."""
    steps = set[ast.AST](draft_steps(draft))
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


def draft_steps(draft: Draft) -> list[ast.Call]:
    """The places that train, in a loop of the program's own."""
    updates = [u.call for u in draft.sites.updates]
    return updates + [run.call for run in draft.sites.graph.trainings] + [f.call for f in draft.sites.fits]


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
        and _asked(call) is not None
        and not (draft.in_graph and isinstance(call.func, ast.Attribute))
    ):
        return _draws_from_generator(draft, call, depth)
    if isinstance(callee, FUNCTIONS) and is_game(draft.syntax, callee):
        return False  # each rank plays for itself
    if isinstance(callee, FUNCTIONS):
        return _function_deals(draft, callee, depth)
    if _is_of_queue(draft, call):
        return True
    if not DEALS.match(draft.names.last(call.func)):
        return False
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    return held is None or not (
        feeding(draft).pipelines.is_dataset(held)
        or (draft.names.last(call.func) == "next" and shuffles_for_itself(draft, held))
    )


def _is_of_queue(draft: Draft, call: ast.Call) -> bool:
    """`queue.get()`: the next of what another thread or process puts there, the same on every rank if that reads in order."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("get", "get_nowait"):
        return False
    made = list(draft.values.calls(call.func.value))
    return bool(made) and all(draft.names.last(c.func) in _QUEUES for c in made)


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
    source = _asked(call)
    if source is None or feeding(draft).pipelines.is_dataset(source) or _is_begun_there(draft, source):
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


def _is_seen(draft: Draft, call: ast.Call) -> bool:
    """Whether what deals out batches is a function, a class or a list of the project, or TensorFlow's own."""
    asked = _asked(call)
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


def _begins_alike(draft: Draft, call: ast.Call) -> bool:
    """Whether a call takes the first batch of a generator that it begins, and nothing is seen that makes it another one."""
    source = _asked(call)
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
