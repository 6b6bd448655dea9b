"""Draws that rank 0 tells the others: an order of rows, by which each rank takes its own, or what is drawn once and is small.

Their numbers are few beside the rows that are trained on, and no rank needs a stream of random numbers beside its own. So is
what each of several trials draws before its `fit`. What is drawn in each step, or may be large, all ranks draw alike instead
(`any_rank_test.alike`): that takes no communication.
"""

from __future__ import annotations

import ast
import itertools
import math

from horovodize.python.syntax import COMPREHENSIONS, argument
from horovodize.rules.drafting import told
from horovodize.rules.drafting.draft import CORE, SIZE, Draft
from horovodize.rules.drafting.guards import Guarded, outputs_of
from horovodize.rules.rows import drawn_orders
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame

_STATES = ("numpy.random.get_state", "random.getstate", "numpy.random.set_state", "random.setstate")
_FILES = ("glob.glob", "os.listdir")
_NUMBERS = ("numpy.arange", "range")
_LISTED = ("list", "sorted", "numpy.array", "numpy.asarray")
_DIMENSIONS = ("rand", "randn")  # each argument is one
_OF_RANGE = {"uniform": 2, "normal": 2, "randint": 2, "integers": 2, "choice": 1}  # where their size stands
_OF_SHAPE = (
    *_DIMENSIONS,
    "uniform",
    "normal",
    "randint",
    "integers",
    "random",
    "random_sample",
    "standard_normal",
)
_SMALL = 1_000_000  # numbers: a few milliseconds
_FEW_ROWS = 10_000  # of some columns
_DEPTH = 4


def edits(draft: Draft, call: ast.Call) -> list[Edit]:
    """What makes a draw rank 0's on all ranks; none where it takes a stream. All ranks have to come to it."""
    # (states that a run finds in a file are rank 0's, and so is what it draws then)
    states = draft.module.calls_of(*_STATES)
    if draft.options.elastic or not is_met_by_all(draft, call):
        return []
    if states and all(is_met_by_all(draft, state) for state in states):
        return []
    ways = draft.drive.ways(call)
    name = draft.names.last(call.func)
    first = argument(call, "x", 0)
    if (
        name in ("permutation", "permuted")
        and first is not None
        and (_is_number(draft, first) or _is_order(draft, first))
    ):
        return list(Edit.around(draft.module.span(call), *told.around(draft, call), level=1))
    chosen = argument(call, "population" if name == "sample" else "a", 0)
    of_rows = chosen is not None and (_is_number(draft, chosen) or _is_order(draft, chosen))
    if name in ("choice", "sample") and of_rows and drawn_orders.draws_order(draft, call):
        return list(Edit.around(draft.module.span(call), *told.around(draft, call), level=1))
    if name == "shuffle" and len(call.args) == 1 and first is not None:
        return _after_shuffle(draft, call, first)
    is_seldom = len(ways) == 1 and all(_trains_whole(draft, loop) for f in ways[0] for loop in f.loops)
    small = name in _OF_SHAPE and _is_small(draft, call, name)
    if name == "choice":
        small = _is_literal(draft, call) or (of_rows and _is_small(draft, call, name))
    if small and is_seldom:
        return list(Edit.around(draft.module.span(call), *told.around(draft, call), level=1))
    return []


def _trains_whole(draft: Draft, loop: ast.AST) -> bool:
    """Whether each turn of a loop is a training by itself, by Keras' `fit`: one of several trials, beside which a word of rank
    0's is nothing."""
    fits: set[ast.AST] = {fit.call for fit in draft.sites.fits if fit.method == "fit"}
    return draft.drive.reaches(loop, fits)


def own_seed(draft: Draft, call: ast.Call, number: int) -> str:
    """A seed that is the same on all ranks, for the draw with this number of its kind: what several draw by one seed comes out
    alike, so that rows to test with would be those to train with. Where a line draws again, another each time."""
    ways = draft.drive.ways(call)
    again = len(ways) > 1 or any(f.loops for way in ways for f in way)
    if again and not draft.options.elastic and not draft.drive.in_traced(call):
        if is_met_by_all(draft, call) and not draft.in_sessions and "shuffle_seed" not in draft.helpers:
            return f"{CORE}.broadcast_object({draft.needed_module('secrets')}.randbits(31))"
        if draft.uniform.reached_alike(call):
            return f"{draft.helper('shuffle_seed')}()"
    tf = draft.module.tensorflow_name()
    if tf is not None and _begins_again(draft, call):
        return f"{tf}.random.uniform([], 0, 2**31 - 1, {tf}.int64, seed={number}) if {SIZE} > 1 else None"
    return f"{number} if {SIZE} > 1 else None"


def _begins_again(draft: Draft, call: ast.Call) -> bool:
    """Whether sessions may run an iterator's initializer for each epoch: a shuffle by a number would then come in one order in
    all of them. A tensor for a seed is drawn by each, on all ranks alike."""
    made = {draft.names.last(c.func) for c in draft.syntax.calls} if draft.in_graph else set()
    again = (
        made & {"make_initializer", "make_initializable_iterator"} and "make_one_shot_iterator" not in made
    )
    return bool(again) and draft.names.last(call.func) == "shuffle"


def is_met_by_all(draft: Draft, call: ast.Call) -> bool:
    """Whether all ranks surely come to a call, once whenever its statement runs, with Horovod there, and none from a thread:
    rank 0 can tell the others a value there."""
    if outputs_of(draft).is_early(call) or not Guarded(draft).collective(call) or _is_again(draft, call):
        return False
    return all(_is_seen(draft, way) for way in draft.drive.ways(call))


def _is_again(draft: Draft, call: ast.Call) -> bool:
    """Whether a draw is made again and again within one statement: in a comprehension, in the test of a `while`."""
    statement = draft.syntax.statement(call)
    around = itertools.takewhile(lambda a: a is not statement, draft.syntax.ancestors(call))
    return isinstance(statement, ast.While) or any(
        isinstance(a, (*COMPREHENSIONS, ast.Lambda)) for a in around
    )


def _is_seen(draft: Draft, way: tuple[Frame, ...]) -> bool:
    """Whether all that calls the functions on a way is written here. Keras calls methods of its classes, and datasets what they
    are given, some from a thread beside the steps."""
    if way[-1].function is not None:
        return False
    for frame, caller in itertools.pairwise(way):
        function = frame.function
        owner = draft.syntax.method_class(function)
        if owner is not None and not _is_of_the_program(draft, owner):
            return False
        if not isinstance(function, ast.FunctionDef) or _is_passed_on(draft, function, caller.node):
            return False
    return True


def _is_of_the_program(draft: Draft, owner: ast.ClassDef) -> bool:
    """Whether all bases of a class are written here, or `object`."""
    bases = [b for member in draft.values.family(owner) for b in member.bases]
    return all(
        (isinstance(b, ast.Name) and b.id == "object")
        or all(isinstance(o.node, ast.ClassDef) for o in draft.values.origins(b))
        for b in bases
    )


def _is_passed_on(draft: Draft, function: ast.FunctionDef, call: ast.AST) -> bool:
    """Whether a function is given to others than the call that the way goes through: `app.run(main)`."""
    named = (n for n in draft.syntax.every(ast.Name) if n.id == function.name and isinstance(n.ctx, ast.Load))
    names = (n for n in named if any(o.node is function for o in draft.values.origins(n)))
    attributes = (
        n
        for n in draft.syntax.every(ast.Attribute)
        if n.attr == function.name and isinstance(n.ctx, ast.Load) and not _is_of_a_library(draft, n.value)
    )
    called = {c.func for c in draft.syntax.calls}
    return any(
        n not in called and draft.syntax.parent[n] is not call for n in itertools.chain(names, attributes)
    )


def _is_of_a_library(draft: Draft, e: ast.expr) -> bool:
    """Whether something is surely no object of the program's: `FLAGS` of `FLAGS.train`."""
    if draft.names.of(e) is not None:
        return True
    origins = [o.node for o in draft.values.origins(e)]
    return all(isinstance(n, ast.expr) and draft.names.of(n) is not None for n in origins)


def _after_shuffle(draft: Draft, call: ast.Call, order: ast.expr) -> list[Edit]:
    """`shuffle(order)` → and then `order[:] = told(order)`: who else has the list has rank 0's order, too."""
    statement = draft.syntax.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call or not draft.can_insert(statement):
        return []
    if not isinstance(order, (ast.Name, ast.Attribute)) or not _is_order(draft, order):
        return []
    text = draft.module.text(order)
    before, after = told.around(draft, order)
    return [draft.after(statement, [f"{text}[:] = {before}{text}{after}"])]


def _is_order(draft: Draft, e: ast.expr, depth: int = 0) -> bool:
    """Whether something is a list of numbers of rows, or of names of files: small beside the rows."""
    origins = draft.values.origins(e)
    return depth < _DEPTH and all(
        not o.path and isinstance(o.node, ast.Call) and _gives_order(draft, o.node, depth) for o in origins
    )


def _gives_order(draft: Draft, made: ast.Call, depth: int) -> bool:
    name = draft.names.of(made.func) or (made.func.id if isinstance(made.func, ast.Name) else "")
    if name in (*_NUMBERS, *_FILES):
        return True
    if name == "numpy.random.permutation":
        return bool(made.args) and _is_number(draft, made.args[0])
    return name in _LISTED and len(made.args) >= 1 and _is_order(draft, made.args[0], depth + 1)


def _is_number(draft: Draft, e: ast.expr) -> bool:
    """Whether something is surely a number, not an array: `len(x)`, `x.shape[0]`."""
    if isinstance(e, ast.Constant):
        return isinstance(e.value, int)
    if isinstance(e, ast.BinOp):
        return _is_number(draft, e.left) and _is_number(draft, e.right)
    if isinstance(e, ast.Subscript):
        return (
            isinstance(e.value, ast.Attribute)
            and e.value.attr == "shape"
            and not isinstance(e.slice, ast.Slice)
        )
    if isinstance(e, ast.Call):
        return isinstance(e.func, ast.Name) and e.func.id in ("len", "int") and draft.values.callee(e) is None
    if not isinstance(e, (ast.Name, ast.Attribute)):
        return False
    return all(
        not o.path and o.node is not e and isinstance(o.node, ast.expr) and _is_number(draft, o.node)
        for o in draft.values.origins(e)
    )


def _is_literal(draft: Draft, call: ast.Call) -> bool:
    """`choice([0.1, 0.01])`, `choice(RATES)`, `choice(9, 5)`: of what is chosen, any rank can be told."""
    given = [_written_out(draft, a) for a in call.args]
    parts = [e for a in given for e in (a.elts if isinstance(a, (ast.Tuple, ast.List)) else [a])]
    values = [e.value for e in parts if isinstance(e, ast.Constant)]
    few = all(not isinstance(v, int) or v <= _SMALL for v in values)
    return len(values) == len(parts) and few and not call.keywords


def _written_out(draft: Draft, e: ast.expr) -> ast.expr:
    """The list that a name stands for which nothing is added to; else what is given itself."""
    origins = [o.node for o in draft.values.origins(e) if not o.path] if isinstance(e, ast.Name) else []
    if len(origins) != 1 or not isinstance(origins[0], (ast.Tuple, ast.List)) or not isinstance(e, ast.Name):
        return e
    loads = (n for n in draft.syntax.every(ast.Name) if n.id == e.id and isinstance(n.ctx, ast.Load))
    changed = any(isinstance(draft.syntax.parent[n], (ast.Attribute, ast.Starred)) for n in loads)
    return e if changed else origins[0]


def _is_small(draft: Draft, call: ast.Call, name: str) -> bool:
    """Whether literal numbers say how much is drawn, and that is little; as much as one number for each row is."""
    given = argument(call, "size", _OF_RANGE.get(name, 0))
    dimensions = call.args if name in _DIMENSIONS else [given] if given is not None else []
    match dimensions:
        case [ast.Attribute(attr="shape", value=array)]:
            rows = draft.facts.steps.shapes.rows(array)
            return rows is not None and rows <= _FEW_ROWS
        case [ast.Call(func=ast.Name(id="len")) | ast.Subscript(value=ast.Attribute(attr="shape")) as number]:
            return _is_number(draft, number)
    parts = [e for d in dimensions for e in (d.elts if isinstance(d, (ast.Tuple, ast.List)) else [d])]
    known = [o.node for e in parts for o in draft.values.origins(e) if not o.path]
    numbers = [n.value for n in known if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    return len(numbers) == len(parts) == len(known) and math.prod(numbers) <= _SMALL
