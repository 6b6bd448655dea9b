"""What a loop's variable is used for: to select the data of a step (`x[i : i + n]`), or to count (`if i % 100 == 0:`)."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from horovodize.python.augmented import added, moved_to_end
from horovodize.python.syntax import FUNCTIONS, Loop, arguments
from horovodize.python.variables import bound_names, is_number
from horovodize.source.nodes import names_in, walk
from horovodize.summary.schedules import feeds_rate, is_from_schedule

if TYPE_CHECKING:
    from horovodize.summary.feeding import Feeding


_TRAINING = {"apply_gradients", "minimize", "train_on_batch", "fit", "run"}
_FILLED = {f"{f}{of}" for f in ("zeros", "ones", "full", "empty") for of in ("", "_like")}
_EMPTY = {"list", "dict", "defaultdict", "OrderedDict"}
_TRAINED = (
    "tensorflow.Variable", "tensorflow.Module", "tensorflow.compat.v1.Variable", "tensorflow.compat.v1.get_variable",
    "tensorflow.keras.Model", "tensorflow.keras.Sequential", "tensorflow.keras.models.", "tensorflow.keras.layers.",
    "tensorflow.compat.v1.layers.", "tensorflow.keras.optimizers.",
)  # fmt: skip
_VARIABLES = (".Variable", ".get_variable")
_FAR = 3  # functions that a number is followed through
_READING = re.compile(r"batch|load(?!_weights|_model)|fetch|sample|slice|get_data|get_item|gather|^get$")


def picks_what_trains(feeding: Feeding, item: ast.Subscript, body: list[ast.AST]) -> bool:
    """Whether an index picks what is to be run, rather than what it is fed: `op, name = tasks[step % 2]`, `sess.run(op, …)`;
    or what batches are drawn of: `next(iterators[step % 2])`; or layers, variables, optimizers: `heads[step % 2]`."""
    if _holds_what_trains(feeding, item.value):
        return True
    statement = feeding.syntax.statement(item)
    if not isinstance(statement, ast.Assign) or statement.value is not item:
        return _is_run(feeding, item)
    targets = [n for t in statement.targets for n in walk(t) if isinstance(n, ast.Name)]
    names = {n.id for n in targets if isinstance(n.ctx, ast.Store)}  # not `net` of `feed[net.y] = …`
    reads = [n for n in body if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
    return any(_is_run(feeding, n) for n in reads)


def draws_what_trains(feeding: Feeding, drawn: ast.Call, body: list[ast.AST]) -> bool:
    """Whether a call that gives something else each time gives what is trained, or by what that is picked, and no batch:
    `net = next(cycle(nets))`, `net = nets[next(turn)]`."""
    item = feeding.syntax.parent[drawn]
    if isinstance(item, ast.Subscript) and item.slice is drawn:
        return picks_what_trains(feeding, item, body)
    statement = feeding.syntax.statement(drawn)
    if not isinstance(statement, ast.Assign) or statement.value is not drawn:
        return _is_run(feeding, drawn) and not _is_given_on(feeding, drawn)
    names = {n.id for t in statement.targets for n in walk(t) if isinstance(n, ast.Name)}
    reads = [n for n in body if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
    picked = (
        n
        for n in body
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and names_in(n.slice) & names
    )
    runs = (_is_run(feeding, n) for n in reads if not _is_given_on(feeding, n))
    return any(runs) or any(picks_what_trains(feeding, n, body) for n in picked)


def _is_given_on(feeding: Feeding, e: ast.expr) -> bool:
    """Whether something may be a batch that another function goes on with: `resample(rows)`, no iterator as in `next(rows)`."""
    parent = feeding.syntax.parent[e]
    return (
        isinstance(parent, ast.Call)
        and parent.func is not e
        and feeding.names.last(parent.func) not in ("next", "run")
    )


def _holds_what_trains(feeding: Feeding, e: ast.expr) -> bool:
    """Whether a list or a dictionary is written out of layers, models, variables or optimizers, or of such with something else:
    `tasks = [(head, rows), …]`."""
    held = list[list[ast.expr]]()
    for o in feeding.values.origins(e):
        match o.node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Dict(values=elements) if elements:
                held.append(elements)
            case ast.ListComp(elt=element) | ast.DictComp(value=element):
                held.append([element])
            case _:
                return False
    return bool(held) and all(_trains(feeding, element) for elements in held for element in elements)


def _trains(feeding: Feeding, e: ast.expr) -> bool:
    origins = [o.node for o in feeding.values.origins(e) if not o.path]
    for node in origins:
        if isinstance(node, (ast.Tuple, ast.List)) and any(_trains(feeding, part) for part in node.elts):
            return True
        if isinstance(node, ast.Dict) and any(_trains(feeding, part) for part in node.values):
            return True
    made = {name for n in origins if isinstance(n, ast.Call) for name in feeding.values.made_by(n)}
    return any(name.startswith(_TRAINED) for name in made)


def reads_what_is_kept(feeding: Feeding, item: ast.Subscript, body: list[ast.AST]) -> bool:
    """Whether an index reads what the body itself keeps of its turns, in what began empty or filled by a size: `losses[i]` of
    `losses = np.zeros(n)`, after `losses[i] = step(x)`."""
    made, kept = [o.node for o in feeding.values.origins(item.value)], ast.dump(item.value)
    if not made or not all(_begins_empty(feeding, e) for e in made):
        return False
    for n in body:
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and ast.dump(n.value) == kept:
            return True
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "append":
            if ast.dump(n.func.value) == kept:
                return True
    return False


def _begins_empty(feeding: Feeding, e: ast.AST) -> bool:
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):  # `[0] * n`
        return any(isinstance(side, ast.List) for side in (e.left, e.right))
    if isinstance(e, (ast.List, ast.Dict)):
        return not (e.elts if isinstance(e, ast.List) else e.keys)
    if not isinstance(e, ast.Call) or feeding.values.callee(e) is not None:
        return False
    name, last = feeding.names.of(e.func) or "", feeding.names.last(e.func)
    return last in _FILLED if name.startswith("numpy.") else not e.args and last in _EMPTY


def _is_run(feeding: Feeding, e: ast.expr) -> bool:
    """Whether an expression is called, trains, is what a session is to fetch, or what a batch is drawn of."""
    parent = feeding.syntax.parent[e]
    if isinstance(parent, ast.Attribute):
        above = feeding.syntax.parent[parent]
        if not isinstance(above, ast.Call) or above.func is not parent:
            return _is_run(feeding, parent)  # `sess.run(net.step)`
        return parent.attr in _TRAINING or feeding.is_drawn(above) or feeding.trains(above)
    if isinstance(parent, ast.Subscript) and parent.slice is e:  # `ops[order[step % 3]]`
        return _holds_what_trains(feeding, parent.value) or _is_run(feeding, parent)
    if isinstance(parent, (ast.List, ast.Tuple)):
        e, parent = parent, feeding.syntax.parent[parent]
    if not isinstance(parent, ast.Call):
        return False
    if feeding.is_drawn(parent):
        return parent.args[:1] == [e]
    runs = isinstance(parent.func, ast.Attribute) and parent.func.attr == "run"
    return parent.func is e or (runs and parent.args[:1] == [e])


def is_indexed(feeding: Feeding, loop: Loop) -> bool:
    """Whether a counting loop's variable selects data: `x[i * B : (i + 1) * B]`, `next_batch(i)`."""
    if isinstance(loop, ast.While):
        return False
    e = feeding.iterable(loop)
    if e is None or not feeding.kinds.is_range(e):
        return False
    bound = bound_names(loop.target)
    return not bound <= _set_again(feeding, loop) and _selects_by(feeding, loop, bound)


def selects_as_it_goes_on(feeding: Feeding, loop: Loop) -> bool:
    """Whether each turn of a loop selects data by a number that it moves on: `while i < n: …x[i]…; i += 1`, where the number is
    one of its test, `for _ in range(n): …x[i]…; i += 1`."""
    moves = (added(s) or moved_to_end(s, loop.body) for s in loop.body)
    moved = {m.target.id for m in moves if m is not None and isinstance(m.target, ast.Name)}
    moved &= names_in(loop.test) if isinstance(loop, ast.While) else moved - bound_names(loop.target)
    return bool(moved) and _selects_by(feeding, loop, moved)


def _selects_by(feeding: Feeding, loop: Loop, bound: set[str]) -> bool:
    """Whether the body of a loop selects data by some variables, or by what it makes of them."""
    tainted, mentions = set(bound), feeding.variables.mentions
    body = [n for s in loop.body for n in walk(s)]
    for _ in range(3):
        for n in body:
            made = isinstance(n, ast.Assign) and (not isinstance(n.value, ast.Call) or is_number(n.value))
            if made and isinstance(n, ast.Assign) and mentions(n.value, tainted):
                for target in n.targets:
                    tainted |= feeding.variables.set_in(target)
            for numbers, targets in feeding.variables.numbered(n):
                tainted |= targets if mentions(numbers, tainted) else set()
    for n in body:
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and mentions(n.slice, tainted):
            if not picks_what_trains(feeding, n, body) and not reads_what_is_kept(feeding, n, body):
                return True
        if isinstance(n, ast.Call) and selects(feeding, n, tainted):
            return True
    return False


def _set_again(feeding: Feeding, loop: ast.For | ast.AsyncFor) -> set[str]:
    """The variables of a loop that its body never reads before it sets them to something else."""
    bound = bound_names(loop.target)
    inside = (n for s in loop.body for n in walk(s) if isinstance(n, ast.Name) and n.id in bound)
    own = [n for n in inside if feeding.variables.of(n) in bound]
    read = {
        n.id
        for n in own
        if isinstance(n.ctx, ast.Load) and any(b.statement is loop for b in feeding.module.scopes.reaching(n))
    }
    return {n.id for n in own if not isinstance(n.ctx, ast.Load)} - read


def selects(feeding: Feeding, call: ast.Call, variables: set[str]) -> bool:
    """Whether a call selects data by one of some variables: it reads a batch, or its function subscripts with it."""
    given = arguments(call)
    if not any(feeding.variables.mentions(a, variables) for a in given):
        return bool(selected_inside(feeding, call, variables))
    if feeds_rate(feeding, call) or _looks_up_number(feeding, call):
        return False
    last = feeding.names.last(call.func)
    if _READING.search(last) and not re.search(r"on_batch|save|summary|scalar", last):
        if not _hands_nothing_over(feeding, call) and not _sets_variable(feeding, call):
            return True
    return _indexes_with(feeding, call, variables)


def _looks_up_number(feeding: Feeding, call: ast.Call) -> bool:
    """Whether a call looks up a number in a table that is written out, `rates.get(step, rate)` of `{0: 0.1, 300: 0.01}`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "get":
        return False
    tables = [o.node for o in feeding.values.origins(call.func.value)]
    return bool(tables) and all(
        isinstance(t, ast.Dict)
        and t.keys
        and all(isinstance(k, ast.Constant) and type(k.value) is int for k in t.keys)
        and all(isinstance(v, ast.Constant) and type(v.value) in (int, float) for v in t.values)
        for t in tables
    )


def _sets_variable(feeding: Feeding, call: ast.Call) -> bool:
    """Whether a call gives a variable of a graph its value: `rate.load(0.1 * 0.9 ** epoch, session)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load":
        return False
    made = feeding.values.calls(call.func.value)
    names = [feeding.names.of(c.func) or "" for c in made]
    return bool(made) and all(n.startswith("tensorflow.") and n.endswith(_VARIABLES) for n in names)


def _hands_nothing_over(feeding: Feeding, call: ast.Call) -> bool:
    """Whether a call's result is dropped, and its function, one of this module, keeps nothing either:
    `sample_images(epoch)` draws a picture."""
    callee = feeding.values.callee(call)
    if not isinstance(callee, FUNCTIONS) or not isinstance(feeding.syntax.parent[call], ast.Expr):
        return False
    return not any(
        isinstance(n, (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom))
        or (isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store))
        for n in walk(callee)
    )


def _indexes_with(feeding: Feeding, call: ast.Call, tainted: set[str], far: int = _FAR) -> bool:
    """Whether a function of this module subscripts with what a call passes it from the loop's variable, or one that it hands
    that on to."""
    callee = feeding.values.callee(call) if far else None
    if not isinstance(callee, FUNCTIONS):
        return False
    given = arguments(call)
    parameters = {
        b.name
        for bindings in feeding.module.scopes.names[callee].values()
        for b in bindings
        if b.kind == "parameter"
        and any(feeding.variables.mentions(v, tainted) for v in feeding.values.passed(b) if v in given)
    }
    if not parameters:
        return False
    body = [n for s in callee.body for n in walk(s)]
    for _ in range(3):  # `start = step * n`
        for n in body:
            number = isinstance(n, ast.Assign) and (isinstance(n.value, ast.BinOp) or is_number(n.value))
            if isinstance(n, ast.Assign) and number and names_in(n.value) & parameters:
                parameters |= {name for target in n.targets for name in bound_names(target)}
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Load)
        and not parameters.isdisjoint(names_in(n.slice))
        and not is_from_schedule(feeding, n, body)
        for n in body
    ) or any(isinstance(n, ast.Call) and _indexes_with(feeding, n, parameters, far - 1) for n in body)


def selected_inside(feeding: Feeding, call: ast.Call, tainted: set[str]) -> set[str]:
    """The attributes by which a method of the same object selects data, of those that a loop sets from its variable:
    `self.start = i * n`, then `self.get()`."""
    if not isinstance(call.func, ast.Attribute):
        return set()
    receiver = ast.unparse(call.func.value)
    own = {t for t in tainted if t.startswith(f"{receiver}.")}
    callee = feeding.values.callee(call) if own else None
    if not isinstance(callee, FUNCTIONS):
        return set()
    read = [n.slice for n in walk(callee) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)]
    return {t for t in own if any(feeding.variables.mentions(s, {t}) for s in read)}
