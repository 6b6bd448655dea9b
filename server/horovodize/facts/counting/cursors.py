"""Cursors: variables that a program moves on by itself and selects data by.

`x[start : start + n]; start += n` in a loop, or in a method that deals out batches, gives the next batch each time. Unlike a
loop's own variable, nothing in the loop's head tells that it selects: on ranks that all start at 0, it selects the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from horovodize.facts.counting.cursor_moves import amount, amount_to_end, goes_round, is_fixed, moves_in
from horovodize.facts.counting.restarts import Restart, restart_of
from horovodize.facts.counting.turn_uses import Uses, uses_of_moved
from horovodize.python.augmented import added
from horovodize.python.syntax import LOOPS, Function, Loop, arguments, end, is_one, position
from horovodize.python.variables import Variables, is_number
from horovodize.source.nodes import names_in, walk
from horovodize.summary.feeding import Driver, Feeding, Kind
from horovodize.summary.schedules import is_from_schedule
from horovodize.summary.selecting import picks_what_trains, selects


@dataclass(frozen=True, eq=False)
class Cursor:
    """A variable by which a loop selects the data of its step, and which its body moves on.

    name       as it is written: `start`, `self.start`
    step       by how much each turn moves it on, where that is the same in every turn, and after all that it selects; else
               None. Then also:
    first      its value before the loop's first turn
    rows       the number at which it begins again at 0: `len(x)` of `start = (start + n) % len(x)`; None where it doesn't
    moves      the statement that moves it on
    restart    where it begins again at `first`; None where it doesn't, or by `rows`
    end        what `moves` sets it to, where that is the end of the turn's batch: `end` of `start = end`; else None
    uses       what it is used for in the loop's body
    ends       the reads of another variable that goes with it and is where its batch ends: `x[start:end]`
    held       whether an object or a dictionary holds it, `self.step`, `state["step"]`, or it begins at what is no number
               written out, `step = load()["step"]`, and every turn moves it on by one after all that it selects; then `step`
               is None: what else sets it can't be seen here"""

    name: str
    step: ast.expr | None = None
    first: ast.expr | None = None
    rows: ast.expr | None = None
    moves: ast.stmt | None = None
    restart: Restart | None = None
    end: ast.expr | None = None
    uses: Uses = field(default_factory=Uses)
    ends: tuple[ast.Name, ...] = ()
    held: bool = False


# In a function by itself, variables are known by their names.
_BY_NAME = Variables(None)
_known: WeakKeyDictionary[Driver, list[Cursor]] = WeakKeyDictionary()


def cursors_of(feeding: Feeding, driver: Driver) -> list[Cursor]:
    """The cursors of a loop that runs steps, in the order of their names."""
    if driver not in _known:
        _known[driver] = _find_cursors(feeding, driver)
    return _known[driver]


def deals(feeding: Feeding, driver: Driver) -> bool:
    """Whether a loop selects its rows by numbers that each turn moves on alike: ranks share the order of the rows."""
    return not driver.indexed and any(c.step is not None for c in cursors_of(feeding, driver))


def _find_cursors(feeding: Feeding, driver: Driver) -> list[Cursor]:
    loop, variables = driver.loop, feeding.variables
    body = [n for s in loop.body for n in walk(s)]
    moved = {ast.unparse(target) for target, _ in moves_in(body)}
    found = []
    fed: set[ast.AST] | None = None
    for name in sorted(moved - _own_names(loop)):
        selectors = _selectors(feeding, body, name)
        if driver.kind is not Kind.RANGE:  # what is given the loop's own batch, too, selects none
            own = _own_names(loop)
            selectors = {s for s in selectors if not variables.mentions(_selected_from(s), own)}
        if not selectors:
            continue
        if fed is None:
            fed = _fed(feeding, driver)
        if fed.isdisjoint(selectors) and not any(_leads_to_step(feeding, s, driver) for s in selectors):
            continue
        found.append(_steady(feeding, loop, name) or _held(feeding, loop, name) or Cursor(name))
    return found if isinstance(loop, ast.While) else _with_ends(feeding, loop, found)


def _selected_from(selector: ast.AST) -> ast.AST:
    """`y` of `y[:, column]`; of a call, all that it is given."""
    return selector.value if isinstance(selector, ast.Subscript) else selector


def deals_by_cursor(function: Function) -> bool:
    """Whether a function selects what it returns by something that outlives it, and moves that on: an attribute of an
    object, a global."""
    body = [n for s in function.body for n in walk(s)]
    for target in moved(function):
        derived = _derived(body, target, _BY_NAME)
        if any(
            isinstance(n, ast.Subscript)
            and isinstance(n.ctx, ast.Load)
            and _BY_NAME.mentions(n.slice, derived)
            for n in body
        ):
            return any(isinstance(n, (ast.Return, ast.Yield)) and n.value is not None for n in body)
    return False


def moved(function: Function) -> set[str]:
    """What outlives a function and is moved on by it, as it is written: `self.at` of `self.at += n`, and of
    `start, self.at = self.at, self.at + n`."""
    body = [n for s in function.body for n in walk(s)]
    outside = {name for n in body if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    found: list[ast.Name | ast.Attribute] = [t for t, _ in moves_in(body) if not isinstance(t, ast.Subscript)]
    for target, value in (pair for n in body if isinstance(n, ast.Assign) for pair in _paired(n)):
        if isinstance(target, (ast.Name, ast.Attribute)) and _BY_NAME.mentions(value, {ast.unparse(target)}):
            found.append(target)
    return {ast.unparse(t) for t in found if isinstance(t, ast.Attribute) or ast.unparse(t) in outside}


def passes(function: Function) -> Iterator[Loop]:
    """The loops in which a generator function goes through rows in an order: it yields in them what it selects by a number that
    they move on, an item that they go through, or the next of something else. What it draws beside that is noise."""
    for loop in [n for s in function.body for n in walk(s) if isinstance(n, LOOPS)]:
        body = [n for s in loop.body for n in walk(s)]
        if not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in body):
            continue
        inner = {n for nested in body if isinstance(nested, LOOPS) for s in nested.body for n in walk(s)}
        moved = {ast.unparse(target) for target, statement in moves_in(body) if statement not in inner}
        derived = {d for name in moved | _own_names(loop) for d in _derived(body, name, _BY_NAME)}
        if _gives_items(loop, body) or any(
            _takes_by(n, derived) or (n not in inner and _is_next(n)) for n in body
        ):
            yield loop


def _takes_by(n: ast.AST, names: set[str]) -> bool:
    """`x[i : i + 8]`; not a number of a list that is written out: `[0.1, 0.5][i]`."""
    return (
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and not isinstance(n.value, (ast.List, ast.Tuple, ast.Dict))
        and _BY_NAME.mentions(n.slice, names)
    )


def _is_next(n: ast.AST) -> bool:
    return isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "next"


def _gives_items(loop: Loop, body: list[ast.AST]) -> bool:
    """Whether a loop goes through something other than numbers, and reads what that gives: `for row in rows:`."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    called = ast.unparse(over.func).rsplit(".", 1)[-1] if isinstance(over, ast.Call) else ""
    names = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)}
    return called not in ("range", "count", "trange") and any(
        isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load) for n in body
    )


# ---------------------------------------------------------------------- what moves


def _paired(n: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, value) of each part of `a, b = c, d`."""
    for target in n.targets:
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(n.value, (ast.Tuple, ast.List)):
            if len(target.elts) == len(n.value.elts):
                yield from zip(target.elts, n.value.elts, strict=True)


def _own_names(loop: Loop) -> set[str]:
    return set() if isinstance(loop, ast.While) else {ast.unparse(n) for n in walk(loop.target)}


def _fed(feeding: Feeding, driver: Driver) -> set[ast.AST]:
    """All that the steps of a loop depend on; where they apply what other runs of a session have gathered, those."""
    graph, gathered = feeding.sites.graph, feeding.sites.flow.accumulators
    given = [a for step in driver.steps for a in arguments(step)]
    if any(gathered.are_applied_in(step, graph.train_ops) for step in driver.steps):
        inside = {n for s in driver.loop.body for n in walk(s)}
        runs = [run for run in graph.all_runs if run in inside and gathered.are_moved_in(run)]
        given += [a for run in runs for a in arguments(run)]
    return set(feeding.values.depends(given, 4000))


# ---------------------------------------------------------------------- what selects


def _selectors(feeding: Feeding, body: list[ast.AST], name: str) -> set[ast.AST]:
    """The subscripts and calls that select by a variable."""
    variables = feeding.variables
    derived = _derived(body, name, variables)
    selectors = set[ast.AST]()
    for n in body:
        if (
            isinstance(n, ast.Subscript)
            and isinstance(n.ctx, ast.Load)
            and ast.unparse(n.value) != name  # `x = x[order(len(x))]`: no number
            and variables.mentions(n.slice, derived)
            and not is_from_schedule(feeding, n, body)
            and not picks_what_trains(feeding, n, body)
        ):
            selectors.add(n)
        elif (
            isinstance(n, ast.Call)
            and not is_number(n)
            and any(variables.mentions(a, derived) for a in n.args)
            and selects(feeding, n, {d for d in derived if "." not in d})
        ):
            selectors.add(n)
    return selectors


def _leads_to_step(feeding: Feeding, selector: ast.AST, driver: Driver) -> bool:
    """Whether a function that selects takes the step, too: `train_one(i)`."""
    return isinstance(selector, ast.Call) and feeding.drive.reaches(selector, {*driver.steps})


def _derived(body: list[ast.AST], name: str, variables: Variables) -> set[str]:
    """A variable, and the names that are set from it."""
    found = {name}
    for _ in range(3):
        for value, targets in _settings(body, variables):
            if variables.mentions(value, found) and (not isinstance(value, ast.Call) or is_number(value)):
                found |= targets - {name.partition("[")[0]}
    return found


def _settings(body: list[ast.AST], variables: Variables) -> Iterator[tuple[ast.expr, set[str]]]:
    """(value, the names that are set from it)."""
    for n in body:
        if isinstance(n, ast.Assign):
            for target in n.targets:
                if (
                    isinstance(target, (ast.Tuple, ast.List))
                    and isinstance(n.value, (ast.Tuple, ast.List))
                    and len(target.elts) == len(n.value.elts)
                ):
                    yield from (
                        (v, variables.set_in(t)) for t, v in zip(target.elts, n.value.elts, strict=True)
                    )
                else:
                    yield n.value, variables.set_in(target)
        else:
            yield from variables.numbered(n)


# ---------------------------------------------------------------------- the same in every turn


def _with_ends(feeding: Feeding, loop: Loop, cursors: list[Cursor]) -> list[Cursor]:
    """The cursors of a loop, those that are where the batch of another ends with that one."""
    found = {c.name: c for c in cursors}
    parts = [n for s in loop.body for n in walk(s) if isinstance(n, ast.Slice)]
    for name in list(found):
        ends = {
            n.upper.id
            for n in parts
            if n.lower is not None and ast.unparse(n.lower) == name and isinstance(n.upper, ast.Name)
        }
        both = _with_end(feeding, loop, name, min(ends)) if len(ends) == 1 and name in found else None
        if both is not None:
            found[name] = both
            found.pop(min(ends), None)
    return list(found.values())


def _with_end(feeding: Feeding, loop: Loop, name: str, end_name: str) -> Cursor | None:
    """`start` of `x[start:end]; start += n; end = min(start + n, m)`, which moves on alike in every turn, as `end` does."""
    body = [n for s in loop.body for n in walk(s)]
    named = [n for n in body if isinstance(n, ast.Name) and n.id == end_name]
    set_by = [
        s
        for s in loop.body
        if isinstance(s, (ast.Assign, ast.AugAssign)) and any(n in walk(s) for n in named)
    ]
    setting = next((s for s in set_by if _sets(s, end_name)), None)
    start = _steady(feeding, loop, name, setting) if setting is not None else None
    if start is None or start.step is None or setting is None:
        return None
    reads = [n for n in named if n not in walk(setting)]
    if not reads or any(not isinstance(n.ctx, ast.Load) for n in reads):
        return None
    for read in reads:
        part = feeding.syntax.parent[read]
        if not isinstance(part, ast.Slice) or part.upper is not read or part.lower is None:
            return None
        if ast.unparse(part.lower) != name:
            return None
    step, first = ast.unparse(start.step), ast.unparse(start.first) if start.first is not None else ""
    sums = {f"{name} + {step}", f"{step} + {name}"}
    moved = added(setting)
    if moved is not None:
        goes_with = ast.unparse(moved.value) == step
    else:
        moves = next(s for t, s in moves_in(body) if ast.unparse(t) == name)
        goes_with = _is_end(setting.value, sums) and position(setting) > position(moves)
    before = [b for b in feeding.module.scopes.reaching(reads[0]) if b.statement is not setting]
    begun = sums | {f"{first} + {step}", f"{step} + {first}"} | ({step} if first == "0" else set())
    begins = all(b.kind == "assign" and not b.path and _is_end(b.value, begun) for b in before)
    return replace(start, ends=tuple(reads)) if goes_with and before and begins else None


def _sets(statement: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [ast.unparse(t) for t in targets] == [name]


def _is_end(e: ast.expr | None, sums: set[str]) -> bool:
    """Whether it is one of some sums, or the lesser one of it and how many rows there are: `min(start + n, m)`."""
    if isinstance(e, ast.Call) and ast.unparse(e.func) in ("min", "np.minimum") and len(e.args) == 2:
        return any(_is_end(a, sums) for a in e.args)
    return e is not None and ast.unparse(e) in sums


def _steady(feeding: Feeding, loop: Loop, name: str, aside: ast.stmt | None = None) -> Cursor | None:
    """A cursor that every turn moves on by as much, after all that it selects. aside: a statement that selects nothing"""
    body = [n for s in loop.body if s is not aside for n in walk(s)]
    moves = [(t, s) for t, s in moves_in(body) if ast.unparse(t) == name]
    restart = restart_of(loop, name) if aside is None else None
    beside = restart.moves if restart is not None else None
    if len(moves) != 1 or (moves[0][1] not in loop.body and moves[0][1] is not beside):
        return None
    target, statement = moves[0]
    if any(isinstance(n, ast.Continue) for n in body) or not isinstance(target, ast.Name):
        return None
    moving = [statement, restart.statement, restart.begins] if restart is not None else [statement]
    uses = uses_of_moved(feeding, body, name, moving)
    reads = [*uses.selecting, *(t.call for t in uses.told)]
    if uses.mixed or not reads:
        return None
    to_end = amount_to_end(statement, loop.body)
    if to_end is not None and uses.made:
        return None  # the end is counted by, too: it is that of all ranks there
    step, rows = goes_round(statement) or (to_end or amount(statement), None)
    stored = [n for n in body if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    of = feeding.variables.of
    given = {name for e in (step, rows) if e is not None for name in names_in(e)}
    set_at = [n for n in stored if of(n) == name]
    expected = [target] if restart is None else [target, restart.begins.targets[0]]
    if step is None or {*set_at} != {*expected} or given & {n.id for n in stored}:
        return None
    if restart is not None:
        changing = {n.id for n in stored} - restart.also_sets() - {name}
        if rows is not None or names_in(restart.test) & changing:
            return None
        if not restart.is_beside(statement, [*reads, *(m.statement for m in uses.made)]):
            return None
    if rows is not None and (aside is not None or uses.counting):  # `if start == 0: shuffle(x)`
        return None
    if any(end(use) > position(statement) for use in reads) or _is_carried(feeding, body, name):
        return None
    loaded = (n for n in body if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    named = next((n for n in loaded if of(n) == name), None)
    scopes = feeding.module.scopes
    before = [b for b in scopes.reaching(named) if b.statement not in moving] if named is not None else []
    firsts = [b.value for b in before if b.kind == "assign" and not b.path and b.value is not None]
    begun = [*firsts, restart.first] if restart is not None else firsts
    if not firsts or len(firsts) != len(before) or len({ast.unparse(f) for f in begun}) != 1:
        return None
    first = firsts[0]
    end_of_turn = statement.value if to_end is not None and isinstance(statement, ast.Assign) else None
    return Cursor(name, step, first, rows, statement, restart, end_of_turn, uses) if is_fixed(first) else None


def _held(feeding: Feeding, loop: Loop, name: str) -> Cursor | None:
    """A number that every turn moves on by one, after all that it selects, wherever it is held and begins."""
    body = [n for s in loop.body for n in walk(s)]
    moves = [(t, s) for t, s in moves_in(body) if ast.unparse(t) == name]
    if len(moves) != 1 or moves[0][1] not in loop.body:
        return None
    statement = moves[0][1]
    moved_on = added(statement)
    if moved_on is None or not is_one(moved_on.value) or any(isinstance(n, ast.Continue) for n in body):
        return None
    uses = uses_of_moved(feeding, body, name, [statement])
    reads = [*uses.held, *uses.selecting, *(t.call for t in uses.told)]
    if uses.mixed or not reads or any(end(use) > position(statement) for use in reads):
        return None
    return None if _is_carried(feeding, body, name) else Cursor(name, moves=statement, uses=uses, held=True)


def _is_carried(feeding: Feeding, body: list[ast.AST], name: str) -> bool:
    """Whether what a turn makes of a cursor is read by the next: `x[start:end]; end = start + 2 * n; start += n`."""
    for other in _derived(body, name, feeding.variables) - {name}:
        named = [n for n in body if isinstance(n, ast.Name) and n.id == other]
        made = min((position(n) for n in named if isinstance(n.ctx, ast.Store)), default=None)
        if made is not None and any(isinstance(n.ctx, ast.Load) and position(n) < made for n in named):
            return True
    return False
