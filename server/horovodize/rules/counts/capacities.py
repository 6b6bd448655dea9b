"""Memories that are filled by a count, and that training waits for: one of 10,000 rows is full after 10,000 rows. Part of G5.

All ranks together fill theirs as soon as one process did where each rank's part is as large as its part of the rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import CounterKind
from horovodize.plan import Decision
from horovodize.python.syntax import argument, arguments
from horovodize.rules.counts.thresholds import WHAT, WHY
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import gathered_batches
from horovodize.rules.numbers import counted, guarded
from horovodize.rules.smoothing import kept_windows
from horovodize.source.nodes import walk

_KEPT = (
    "this is the size of what is filled here, so it is not divided: on each rank it is full after as many of its own steps, "
    "which are size() times as many rows; with fewer steps a rank never fills it, and what waits for that never happens"
)
_ASKED = (
    "training waits until this many rows are held, on each rank its own: it begins after size() times as many rows, and never "
    "where a rank sees fewer; divide the size of the memory by the number of ranks, or confirm that it may begin later"
)
_PARTS = (
    "training waits until this memory is full: with its size divided, all ranks together hold as many rows as one process, and "
    "training begins as soon; check that a rank never draws more rows at once than its part holds"
)
_SOONER = (
    "training waits until this many rows are held: with their number divided, it begins after as many rows of all ranks as "
    "before; check that a rank never draws more rows at once than it then holds"
)
_ADDING = ("append", "appendleft", "add", "extend")
_TEXTS = ("str", "repr", "format")
_TABLES = ("dict", "OrderedDict", "defaultdict")
_QUOTIENTS = (ast.Div, ast.FloorDiv)
_DRAWING = {"sample", "choice", "choices", "randint", "randrange", "permutation", "shuffle", "integers"}
_AT_ONCE = {"sample": "k", "choice": "size", "choices": "k"}
# What makes or draws as many rows as a number says, and where that number stands: the parameter and its place.
_SIZED: dict[str, tuple[tuple[str, int | None], ...]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "ndarray"), (("shape", 0),)),
    "deque": (("maxlen", 1),),
    "choice": (("a", 0), ("size", 1)),
    "randint": (("low", 0), ("high", 1), ("size", 2)),
    "permutation": (("x", 0),),
    "sample": (("k", 1),),
    "randrange": (("start", 0), ("stop", 1)),
}


def keeps(draft: Draft, test: ast.expr, count: ast.expr, bound: ast.expr) -> bool:
    """Whether a bound is how much something holds that is filled by the count, or drawn from: no number of steps that can be
    divided where it's compared."""
    if not draft.divided or not _is_capacity(draft, test, count, bound):
        return False
    size = _size_of_all(draft, bound)
    if size is not None and draft.was(size, Divided):
        return True
    if size is not None:
        edits = counted.over_ranks(draft, size, "G5")
        draft.change("G5", size, WHAT, WHY, edits, _PARTS, Decision.DIVIDED)
    elif guarded.trains(draft, test):
        draft.ask("G5", test, WHAT, WHY, _ASKED)
    else:
        draft.note("G5", test, _KEPT)
    return True


def is_drawn_at_once(draft: Draft, test: ast.expr, bound: ast.expr) -> bool:
    """Whether training waits for as many rows as its steps then draw: `if step >= 32: rows = random.sample(memory, 32)`."""
    loop = next(iter(draft.syntax.loops(test)), None)
    if loop is None or not guarded.trains(draft, test):
        return False
    number, made = draft.facts.feeding.kinds.constant(bound), _made_of(draft, bound)
    sizes = list[ast.expr]()
    for call in (n for s in loop.body for n in walk(s) if isinstance(n, ast.Call)):
        last, is_own = draft.names.last(call.func), draft.values.callee(call) is not None
        if last in _AT_ONCE and is_own:
            sizes += arguments(call)
        elif last in _AT_ONCE and (size := argument(call, _AT_ONCE[last], 1)) is not None:
            sizes.append(size)
    known = [draft.facts.feeding.kinds.constant(size) for size in sizes]
    return any(made & _made_of(draft, size) for size in sizes) or (number is not None and number in known)


def waits(draft: Draft, test: ast.expr, held: ast.expr, bound: ast.expr, operator: ast.cmpop) -> bool:
    """Divides the bound of `len(memory) > 500` where training waits for it. Whether it is such a test."""
    if not (isinstance(held, ast.Call) and draft.names.last(held.func) == "len" and len(held.args) == 1):
        return False
    memory = held.args[0]
    known = draft.facts.feeding.kinds.constant(bound)
    if not isinstance(memory, (ast.Name, ast.Attribute)):
        return False
    gathered_batches.tell_of_few(draft, test, memory, bound)
    if known is not None and known <= guarded.FEW:
        return False
    if not guarded.trains(draft, test) or not counted.is_whole(draft, bound):
        return False
    draws = _draws(draft, memory)
    if not _is_filled_by_a_share(draft, memory) or _is_emptied(draft, memory, drawn=bool(draws)):
        return False
    made = _made_of(draft, bound)
    if any(made & _made_of(draft, size) for call in draws for size in _sizes_of(draft, call)):
        return True  # as many as are drawn at once
    if draws and isinstance(operator, (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
        edits = counted.over_ranks(draft, bound, "G5")
        draft.change("G5", test, WHAT, WHY, edits, _SOONER, Decision.DIVIDED)
    else:  # it may be trained on whole; and that it's full stays true, that it holds a part of that doesn't
        draft.ask("G5", test, WHAT, WHY, _ASKED)
    return True


def is_full_for_long(draft: Draft, held: ast.expr, operator: ast.cmpop) -> bool:
    """Whether `len(window) == window.maxlen and loss > 9` asks for a window that is full, which it stays with every later step;
    it passes by a smaller number only once."""
    if not (isinstance(held, ast.Call) and draft.names.last(held.func) == "len" and len(held.args) == 1):
        return False
    made = draft.values.calls(held.args[0])
    is_capped = any(
        draft.names.last(c.func) == "deque" and argument(c, "maxlen", 1) is not None for c in made
    )
    compared = draft.syntax.parent[held]
    return (
        is_capped and isinstance(operator, ast.Eq) and isinstance(draft.syntax.parent[compared], ast.BoolOp)
    )


def _size_of_all(draft: Draft, bound: ast.expr) -> ast.expr | None:
    """The number that a memory's size comes from: written once, training waits for it, and it's known what all that reads it
    does with it. None for all others."""
    if not isinstance(bound, ast.Name):
        return None
    bindings = draft.module.scopes.reaching(bound)
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path:
        return None
    value, home = bindings[0].value, draft.module.scopes.lookup(bound.id, bound)
    known = draft.module.scopes.names.get(home, {}) if home is not None else {}
    written = [b for b in known.get(bound.id, ()) if b is not bindings[0]]
    if written or not (isinstance(value, ast.Constant) and type(value.value) is int):
        return None
    same = [n for n in draft.syntax.every(ast.Constant) if type(n.value) is int and n.value == value.value]
    names = [n for n in draft.syntax.every(ast.Name) if n.id == bound.id and isinstance(n.ctx, ast.Load)]
    names = [n for n in names if draft.module.scopes.lookup(n.id, n) == home]
    sizes = set(_sizes(draft))
    tests = [p for n in names if isinstance(p := draft.syntax.parent[n], ast.Compare)]
    if len(same) > 1 or not all(_is_understood(draft, n, sizes) for n in names):
        return None
    return value if any(guarded.trains(draft, t) for t in tests) else None


def _is_understood(draft: Draft, read: ast.Name, sizes: set[ast.expr]) -> bool:
    """Whether a size is read as a memory's: how many rows it has, which is written next, whether it is full."""
    parent = draft.syntax.parent[read]
    if isinstance(parent, ast.BinOp):
        return (
            isinstance(parent.op, ast.Mod)
            and parent.right is read
            and counted.of(draft, parent.left) is not None
        )
    if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        other = parent.comparators[0] if parent.left is read else parent.left
        return counted.of(draft, other) is not None
    return read in sizes


def _is_filled_by_a_share(draft: Draft, memory: ast.Name | ast.Attribute) -> bool:
    """Whether rows are added to it in loops only that are divided."""
    places = _calls_on(draft, memory, *_ADDING)
    found = [draft.facts.occasions.counted_at(place) for place in places]
    return bool(found) and all(
        at is not None and at[0] and not at[1] and all(counted.is_divided(draft, d) for d in at[0])
        for at in found
    )


def _is_emptied(draft: Draft, memory: ast.Name | ast.Attribute, drawn: bool) -> bool:
    """Whether it begins again while training goes on, as a batch that is gathered; or, where nothing is drawn from it, gives
    rows away, as a window that moves."""
    bound = draft.values.bindings(memory)
    again = any(draft.facts.occasions.counted_at(b.statement) is not None for b in bound)
    return again or bool(_calls_on(draft, memory, "clear", *(() if drawn else ("pop", "popleft"))))


def _draws(draft: Draft, memory: ast.Name | ast.Attribute) -> list[ast.Call]:
    """The calls that draw from it at random, or draw which of its rows to take."""
    return [
        call
        for call in draft.syntax.calls
        if draft.names.last(call.func) in _DRAWING
        and any(_is_same(draft, n, memory) for a in call.args for n in ast.walk(a))
    ]


def _calls_on(draft: Draft, memory: ast.Name | ast.Attribute, *methods: str) -> list[ast.Call]:
    return [
        call
        for call in draft.syntax.calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in methods
        and _is_same(draft, call.func.value, memory)
    ]


def _is_same(draft: Draft, n: ast.AST, memory: ast.Name | ast.Attribute) -> bool:
    if isinstance(n, ast.Name) and isinstance(memory, ast.Name):
        scopes = draft.module.scopes
        return n.id == memory.id and scopes.lookup(n.id, n) == scopes.lookup(memory.id, memory)
    if isinstance(n, ast.Attribute) and isinstance(memory, ast.Attribute) and n.attr == memory.attr:
        return bool(draft.values.receiver(n.value) & draft.values.receiver(memory.value))
    return False


def goes_through(draft: Draft, count: ast.expr, bound: ast.expr) -> bool:
    """`if pointer >= len(rows): pointer = 0` where `rows[pointer]` is read: the number says which row comes next. Less than all
    of them would leave the last rows out forever."""
    lengths = (o.call for o in draft.values.origins(bound) if o.call is not None and o.call.args)
    whole = {ast.unparse(c.args[0]) for c in lengths if draft.names.last(c.func) == "len"}
    read = (n for n in draft.syntax.every(ast.Subscript) if isinstance(n, ast.Subscript)) if whole else ()
    return any(
        isinstance(n.ctx, ast.Load)
        and ast.unparse(n.value) in whole
        and ast.unparse(n.slice) == ast.unparse(count)
        for n in read
    )


def _is_capacity(draft: Draft, test: ast.expr, count: ast.expr, bound: ast.expr) -> bool:
    plus = isinstance(count, ast.BinOp) and isinstance(count.right, ast.Constant)
    count = count.left if plus and isinstance(count, ast.BinOp) else count
    counter = counted.of(draft, count)
    if counter is None or counter.kind is not CounterKind.NUMBER or _leaves_a_loop(draft, test):
        return False
    made = _made_of(draft, bound)
    for driver in counter.drivers:  # how long training goes on is divided, whatever else is as long
        e = driver.iterable if driver.iterable is not None else getattr(driver.loop, "test", None)
        if e is not None and made & _made_of(draft, e):
            return False
    if _fills(draft, count):
        return True
    if _counts_batches(draft, bound):
        return False
    sizes = [size for size in _sizes(draft) if made & _made_of(draft, size)]
    return any(not kept_windows.is_length(draft, size) for size in sizes)


def _counts_batches(draft: Draft, bound: ast.expr) -> bool:
    """Whether a number is one of batches, `len(x) // batch_size`, `len(sequence)`: it comes from the same numbers as the rows
    of a batch do, and is no size of a memory."""
    return any(
        (isinstance(n, ast.Call) and draft.names.last(n.func) in ("len", "ceil", "cardinality"))
        or (
            isinstance(n, ast.BinOp)
            and isinstance(n.op, _QUOTIENTS)
            and not isinstance(n.right, ast.Constant)
        )
        for n in draft.values.depends([bound], 60)
    )


def _leaves_a_loop(draft: Draft, test: ast.expr) -> bool:
    statement = draft.syntax.statement(test)
    return isinstance(statement, ast.If) and any(isinstance(s, ast.Break) for s in statement.body)


def _made_of(draft: Draft, e: ast.expr) -> set[object]:
    """What tells whether two expressions give the same number: the numbers and parameters that they come from."""
    found: set[object] = {
        n
        for n in draft.values.depends([e], 60)
        if isinstance(n, ast.arg) or (isinstance(n, ast.Constant) and type(n.value) is int and n.value > 1)
    }
    return found | {ast.unparse(n) for n in ast.walk(e) if isinstance(n, ast.Attribute)}


def _sizes(draft: Draft) -> Iterator[ast.expr]:
    """The expressions that say how many rows something has."""
    for call in draft.syntax.calls:
        yield from _sizes_of(draft, call)


def _sizes_of(draft: Draft, call: ast.Call) -> Iterator[ast.expr]:
    for parameter, place in _SIZED.get(draft.names.last(call.func), ()):
        given = argument(call, parameter, place)
        if isinstance(given, (ast.Tuple, ast.List)):
            yield from given.elts[:1]
        elif given is not None:
            yield given


def _fills(draft: Draft, count: ast.expr) -> bool:
    """Whether a count says which row is written next: `memory[pointer % capacity] = row`. What a table keeps under the number
    of a step has no size: `scores[str(step)] = …`."""
    counter = draft.facts.counters.of(count)
    return any(
        any(c is counter for n in draft.values.depends([s.slice], 60) if isinstance(n, ast.expr)
            for _, c in draft.facts.counters.reads(n))
        for s in draft.syntax.every(ast.Subscript)
        if isinstance(s.ctx, ast.Store) and not _is_in_table(draft, s)
    )  # fmt: skip


def _is_in_table(draft: Draft, written: ast.Subscript) -> bool:
    """Whether an item is kept under a text, or in a dictionary under a number that doesn't come round."""
    key = written.slice
    is_text = isinstance(key, ast.JoinedStr) or (
        isinstance(key, ast.Call) and draft.names.last(key.func) in _TEXTS
    )
    if is_text or (isinstance(key, ast.BinOp) and isinstance(key.op, ast.Mod) and _is_string(key.left)):
        return True
    made = [o.node for o in draft.values.origins(written.value) if not o.path]
    are_tables = bool(made) and all(
        isinstance(n, ast.Dict) or (isinstance(n, ast.Call) and draft.names.last(n.func) in _TABLES)
        for n in made
    )
    parts = [*ast.walk(key), *draft.values.depends([key], 60)]
    comes_round = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in parts)
    return are_tables and not comes_round


def _is_string(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and isinstance(e.value, str)
