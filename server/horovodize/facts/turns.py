"""What a step reads, and whether that changes from one step to the next.

An expression is read as in one turn of the loops around a step. What was bound before those loops is the same in every turn;
what the loop's variable, a cursor, an iterator, a random draw or a call that deals gives is not.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum

from horovodize.facts.contexts import Context, home, in_turn, passed
from horovodize.facts.games import is_game
from horovodize.source.nodes import walk
from horovodize.summary.binding import Binding
from horovodize.summary.call_paths import Drive
from horovodize.summary.cursors import deals_by_cursor
from horovodize.summary.feeding import Feeding, Kind
from horovodize.summary.module import Module
from horovodize.summary.random_generators import makers
from horovodize.summary.syntax import CALLABLES, FUNCTIONS, Loop, argument

DEALING = re.compile(
    r"^next$|get_next|(next|get|sample|draw|load|make|gen\w*|fetch|random|read|feed)_?\w*batch|batch\w*(gen|sampl|iter)"
    r"|^sample|sampler?$|^fetch|next_?\w*(data|example|minibatch)"
)
# What gives the next rows in a graph: of an iterator, of a queue.
GRAPH_SOURCES = (
    "get_next", "batch", "shuffle_batch", "batch_join", "shuffle_batch_join", "dequeue", "dequeue_many", "dequeue_up_to",
)  # fmt: skip
_RANDOM = (
    "numpy.random.",
    "random.",
    "tensorflow.random.",
    "tensorflow.compat.v1.random.",
    "tensorflow.keras.backend.random",
)
_RANDOM_V1 = re.compile(r"^tensorflow\.(compat\.v1\.)?(random_\w+|truncated_normal|multinomial)$")
_ORDERS = {"permutation", "shuffle"}
_MEASURES = {"len", "shape", "size", "ndim", "rank", "count_nonzero", "get_shape", "type", "isinstance", "str",
             "print", "format", "time"}  # fmt: skip
_MEASURED = {"shape", "size", "ndim", "dtype", "name", "graph", "__name__"}
_WEIGHTS = {"trainable_variables", "trainable_weights", "variables", "weights", "losses", "trainable_params"}
_SUMMARIES = {"mean", "sum", "max", "min", "std", "var", "median", "prod", "average", "norm", "reduce_mean",
              "reduce_sum", "reduce_max", "reduce_min", "reduce_std", "reduce_variance", "reduce_prod", "item",
              "amax", "amin", "argmax_all"}  # fmt: skip
_FILLED = {"ones", "zeros", "full", "fill", "eye", "ones_like", "zeros_like", "empty"}
# Calls to which a list of numbers is data, rather than a shape, strides or axes.
_OF_DATA = {"array", "asarray", "constant", "convert_to_tensor", "float32", "cast", "matmul", "add", "subtract",
            "multiply", "divide", "squared_difference", "square", "pow", "Variable"}  # fmt: skip
_MADE_VARIABLES = {"Variable", "get_variable", "add_weight", "add_variable", "variable"}
_ARRAY_METHODS = {"reshape", "astype", "transpose", "flatten", "ravel", "squeeze", "copy", "numpy", "tolist",
                  "to_numpy", "toarray", "todense", "dot", "swapaxes", "mean", "sum", "max", "min", "std", "clip",
                  "round", "eval"}  # fmt: skip
_SELECTING = {"gather", "gather_nd", "take", "boolean_mask", "dynamic_slice", "slice", "choice"}
_FILLING = (
    "append",
    "appendleft",
    "extend",
    "insert",
    "add",
    "push",
    "put",
    "remember",
    "store",
    "update",
    "pop",
    "popleft",
)
_LIBRARIES = ("tensorflow", "numpy", "math", "keras", "tf_keras", "sklearn", "scipy", "pandas", "tensorflow_probability",
              "tensorflow_addons", "operator", "builtins")  # fmt: skip
_WRITES_INTO = {"copyto", "put", "place", "putmask", "fill_diagonal"}
DEPTH = 80  # of expressions in each other: Python's own stack has an end
MOST = 10_000  # expressions, each in its contexts: what is not followed further is unseen


class Part(IntEnum):
    """What an expression is within a turn; of several parts the last one counts."""

    NUMBER = 0  # the same in every turn, and no rows: a number, a name, a function
    ROWS = 1  # the same in every turn: an array
    UNSEEN = 2
    TURN = 3  # counts turns
    COMPUTED = 4  # from weights or from what else the step computes
    DRAWN = 5  # drawn at random in the turn
    DEALT = 6  # selected, dealt out or iterated in the turn


class Turns:
    """Reads expressions as of one turn, and gathers what it meets.

    rows     the largest expressions that stand for the same array in each turn, where they meet what is computed
    vague    what is the same in each turn and may be an array, or a number: nothing is seen of it
    moving, drawn, played, unseen   where else the step's data come from; what is drawn, with where (in a graph: None)
    graph    whether the expression is part of a TF1 graph: then it runs again in each turn, and its Python values do not
    fed      what placeholders are fed with, in a graph
    filled   the arrays that are filled by a size, `tf.zeros((n, 1))`: whether they are made before the turn
    as_rows  which of these are rows, as there are as many of them as of others that the step sees"""

    def __init__(self, module: Module, drive: Drive, feeding: Feeding, *, graph: bool = False) -> None:
        self.module, self.drive, self.feeding, self.graph = module, drive, feeding, graph
        self.syntax, self.names, self.values = module.syntax, module.names, module.values
        self.rows: dict[ast.expr, None] = {}
        self.vague: dict[ast.expr, None] = {}
        self.moving: dict[ast.AST, None] = {}
        self.drawn: dict[ast.AST, Context | None] = {}
        self.played: dict[ast.AST, None] = {}
        self.unseen: dict[ast.AST, None] = {}
        self.computed: dict[ast.expr, Part] = {}
        self.fed: dict[ast.AST, Part] = {}
        self.filled: dict[ast.Call, bool] = {}
        self.as_rows: frozenset[ast.AST] = frozenset()
        self.read_as: list[Part] = []
        self._depth = 0
        self._picking = (
            False  # within an index: what that is made of picks rows, and is none of those that are fed
        )
        self._open: set[tuple[ast.AST, Context, bool]] = set()
        self._carried: dict[tuple[ast.AST, Context, bool], None] = {}
        self._kinds: dict[ast.expr, Part] = {}
        runs = feeding.sites.graph
        self._trainings = {run.call for run in runs.trainings} if feeding.sites.builds_graph else set()
        self._runs = set(runs.all_runs) if feeding.sites.builds_graph else set()
        self._known: dict[tuple[ast.AST, Context, bool], tuple[Part, tuple[ast.expr, ...]]] = {}

    # ------------------------------------------------------------------ reading

    def read(self, e: ast.expr, context: Context) -> Part:
        """What an expression is, as a whole: an array by itself counts among the rows."""
        part, places = self._part(e, context)
        self.read_as.append(part)
        if part is Part.ROWS:
            self.rows.update(dict.fromkeys(places))
        return part

    def _part(self, e: ast.AST, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        """(what an expression is, where its rows could be divided if it is ROWS)."""
        key = (e, context, self._picking)
        if key in self._known:
            if key in self._open and not self.graph:  # it goes by what it was in the turn before
                self._carried[key] = None
                return Part.TURN, ()
            return self._known[key]
        if self._depth > DEPTH or len(self._known) > MOST:
            self.unseen[e] = None
            return Part.UNSEEN, ()
        self._known[key] = Part.NUMBER, ()
        self._depth += 1
        self._open.add(key)
        found = self._find(e, context)
        self._open.discard(key)
        self._depth -= 1
        if key in self._carried and found[0] is not Part.DEALT:
            self.unseen[e] = None
        self._known[key] = found
        if isinstance(e, ast.expr):
            self.computed[e] = max(found[0], self.computed.get(e, Part.NUMBER))
        return found

    def _find(self, e: ast.AST, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        match e:
            case ast.Constant() | ast.JoinedStr():
                return Part.NUMBER, ()
            case ast.Name():
                return self._name(e, context)
            case ast.Attribute():
                return self._attribute(e, context)
            case ast.Subscript():
                return self._subscript(e, context)
            case ast.Call():
                return self._call(e, context)
            case ast.Lambda():
                return self._part(e.body, context)
            case ast.List() | ast.Tuple() if is_numbers(e):
                return (Part.ROWS, (e,)) if len(e.elts) > 1 else (Part.NUMBER, ())
            case ast.List() | ast.Tuple() | ast.Dict():
                parts = [*e.keys, *e.values] if isinstance(e, ast.Dict) else e.elts
                return self._all([p for p in parts if p is not None], context, None)
            case ast.Compare() if any(isinstance(o, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for o in e.ops):
                return Part.NUMBER, ()
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return self._all([e.elt], context, e)
            case ast.expr():
                children = [c for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr)]
                return self._all(children, context, e)
            case _:
                return Part.NUMBER, ()

    def _all(
        self, parts: Iterable[ast.AST], context: Context, whole: ast.expr | None
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        """What several parts are together: `whole`, if all of them stay the same in each turn."""
        found = [self._part(p, context) for p in parts]
        part = max((p for p, _ in found), default=Part.NUMBER)
        if part <= Part.ROWS and whole is not None:
            return part, (whole,) if part is Part.ROWS else ()
        for one, places in found:
            if one is Part.ROWS:
                self._meet(places)
        return (Part.COMPUTED if part is Part.ROWS else part), ()

    def _meet(self, rows: Iterable[ast.expr]) -> None:
        """Notes arrays where they meet what is computed."""
        if not self._picking:
            self.rows.update(dict.fromkeys(rows))

    # ------------------------------------------------------------------ names

    def _name(self, e: ast.Name, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        bindings = self.module.scopes.reaching(e)
        found: list[tuple[Part, tuple[ast.expr, ...]]] = []
        for b in bindings:
            place = home(self.module, b, e, context)
            if b.kind == "parameter":
                found.append(self._parameter(b, e, place, context))
            elif b.kind in ("import", "def", "class"):
                found.append(self._imported(b, e))
            elif self.graph or in_turn(self.module, b, place) or self._runs_in_turn(b.statement, context):
                found.append(self._bound(b, e, place or self._elsewhere(b.statement, context)))
            else:
                found.append(self._fixed(e, context))
        if not bindings and not hasattr(builtins, e.id):
            self.vague[e] = None
        found += [(self._part(filled, context)[0], ()) for filled in self._put_in(e)]
        found += [
            (self._part(filled, self._elsewhere(filled, context))[0], ())
            for filled in self._set_in(e, context)
        ]
        part = max((p for p, _ in found), default=Part.NUMBER)
        if part is not Part.ROWS:
            for one, places in found:
                if one is Part.ROWS and part > Part.ROWS:
                    self.rows.update(dict.fromkeys(places))
            return part, ()
        where = {place for _, places in found for place in places}
        # in a graph, names stand for what is kept: dividing it where it is made would divide it for all
        return part, tuple(where) if len(where) == 1 and not self.graph else (e,)

    def _put_in(self, e: ast.Name) -> list[ast.expr]:
        """What is put into the list that a name stands for."""
        return self.feeding.sites.appended(e)

    def _set_in(self, e: ast.Name, context: Context) -> Iterator[ast.expr]:
        """What the elements of an array are set to in the loops around a step: `batch[j] = rows[k]`. (What is set by a list of
        such, `a[j], b[j] = pair`, is that of the whole.)"""
        loops = [loop for c in context.around() for loop in c.loops]
        for statement in self.feeding.sites.set_elements(e) if loops else ():
            if any(self.syntax.inside(statement, loop) for loop in loops):
                yield statement.value

    def _elsewhere(self, node: ast.AST, context: Context) -> Context:
        return context.elsewhere(node, self.syntax)

    def _parameter(
        self, b: Binding, e: ast.Name, place: Context | None, context: Context
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        value = passed(self.module, b, place) if place is not None else None
        if value is not None and place is not None and place.outer is not None:
            if self.graph or self.is_in_turn(value, place.outer) or isinstance(value, ast.Name):
                return self._part(value, place.outer)
            return self._fixed(e, context)
        if self._is_self(b):
            return Part.NUMBER, ()
        if place is not None and place.call is None and place.function in self.feeding.sites.own_steps:
            self.moving[e] = None  # `fit` calls it with a batch
            return Part.DEALT, ()
        if place is not None and place.call is not None and place.outer is not None:
            unpacked = [a.value for a in place.call.args if isinstance(a, ast.Starred)]
            unpacked += [k.value for k in place.call.keywords if k.arg is None]
            part = self._all(unpacked, place.outer, None)[0]
            if unpacked and part is not Part.NUMBER:
                return part, ()
        if isinstance(b.statement, ast.Lambda):
            beside = self._beside(b.statement)
            if beside:
                return self._all(beside, context, e)
        return self._fixed(e, place)

    def _beside(self, function: ast.Lambda) -> list[ast.expr]:
        """What a call is given beside a function, of which that gets the items: `map(lambda i: x[i], chosen)`."""
        call = self.syntax.parent[function]
        given = call.args if isinstance(call, ast.Call) else []
        return [a for a in given if a is not function]

    def is_in_turn(self, node: ast.AST, context: Context) -> bool:
        return context.repeated or any(self.syntax.inside(node, loop) for loop in context.loops)

    def _is_self(self, b: Binding) -> bool:
        function = b.statement
        if not isinstance(function, FUNCTIONS) or self.syntax.method_class(function) is None:
            return False
        first = [*function.args.posonlyargs, *function.args.args][:1]
        return bool(first) and first[0] is b.anchor

    def _imported(self, b: Binding, e: ast.Name) -> tuple[Part, tuple[ast.expr, ...]]:
        is_data = (
            b.kind == "import" and self.names.of(e) is not None and isinstance(b.statement, ast.ImportFrom)
        )
        name = self.names.of(e) or ""
        if is_data and not name.startswith(_LIBRARIES) and not e.id[:1].isupper() and not self._is_called(e):
            self.vague[e] = None
        return Part.NUMBER, ()

    def _is_called(self, e: ast.Name) -> bool:
        parent = self.syntax.parent[e]
        return isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is e)

    def _bound(self, b: Binding, e: ast.expr, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        """What a binding of the turn gives."""
        if b.value is None:
            return Part.NUMBER, ()
        if b.kind == "item":
            return self._item(b, e, context)
        if b.kind == "augment":
            part, places = self._part(b.value, context)
            if part is Part.NUMBER and isinstance(b.statement, ast.AugAssign):
                return Part.TURN, ()
            return part, places
        if b.kind == "assign" and self._counts_on(b):
            return Part.TURN, ()
        value, path = b.value, b.path
        while path and isinstance(value, (ast.Tuple, ast.List)) and 0 <= path[0] < len(value.elts):
            value, path = value.elts[path[0]], path[1:]
        part, places = self._part(value, context)
        return part, (places if not path else (e,)) if part is Part.ROWS else ()

    def _counts_on(self, b: Binding) -> bool:
        """`i = (i + n) % m`"""
        value, name = b.value, b.name
        calls = [n for n in walk(value or ast.Pass()) if isinstance(n, ast.Call)]
        arithmetic = isinstance(value, ast.BinOp) and all(self.names.last(c.func) in _MEASURES for c in calls)
        return arithmetic and any(isinstance(n, ast.Name) and n.id == name for n in walk(value or ast.Pass()))

    def _item(self, b: Binding, e: ast.expr, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        loop, value, path = b.statement, b.value, b.path
        assert value is not None
        inside, bar = (
            self.feeding.inside(value),
            self.feeding._bar(value) if isinstance(value, ast.Name) else value,
        )
        if isinstance(bar, ast.Call) and self.names.last(bar.func) == "enumerate" and path:
            if path[0] == 0:
                return Part.TURN, ()
            path = path[1:]
        if isinstance(inside, ast.Call) and self.names.last(inside.func) == "zip" and path:
            if path[0] < len(inside.args):
                inside, path = self.feeding.inside(inside.args[path[0]]), path[1:]
        kinds = self.feeding.kinds
        around = isinstance(loop, (ast.For, ast.AsyncFor)) and any(loop in c.loops for c in context.around())
        if kinds.is_range(inside):
            return (Part.TURN, ()) if around or self._goes_on(inside, context) else (Part.NUMBER, ())
        if around and kinds.is_literal(inside):
            return Part.NUMBER, ()
        if not around and kinds.of(inside) not in (Kind.DATASET, Kind.GENERATOR, Kind.SEQUENCE):
            part, places = self._part(inside, context)
            return part, places
        self.moving[loop] = None
        return Part.DEALT, ()

    def _goes_on(self, numbers: ast.expr, context: Context) -> bool:
        """Whether a range begins or ends elsewhere in each turn: `range(i * n, (i + 1) * n)`."""
        ends = numbers.args if isinstance(numbers, ast.Call) else []
        return any(self._part(end, context)[0] in (Part.TURN, Part.DRAWN) for end in ends)

    # ------------------------------------------------------------------ what is the same in each turn

    def _fixed(self, e: ast.expr, context: Context | None) -> tuple[Part, tuple[ast.expr, ...]]:
        """What was bound before the loops around a step: rows, if it can be seen that it is an array."""
        if context is not None and self._is_filled(e, context):
            self.unseen[e] = None
            return Part.UNSEEN, ()
        part = self._kind(e)
        return part, (e,) if part is Part.ROWS else ()

    def _kind(self, e: ast.expr) -> Part:
        """What an expression is that is made once."""
        if e not in self._kinds:
            self._kinds[e] = Part.NUMBER
            self._kinds[e] = self._find_kind(e)
        return self._kinds[e]

    def _find_kind(self, e: ast.expr) -> Part:
        origins = self.values.origins(e)
        parts = {self._made(o.node, o.path) for o in origins}
        if None in parts:
            known = parts - {None}
            if not known or known == {Part.NUMBER}:
                self.vague[e] = None
                return Part.NUMBER
        return max((p for p in parts if p is not None), default=Part.NUMBER)

    def _made(self, node: ast.AST, path: tuple[int, ...]) -> Part | None:
        """What a value is that is made once; None where that can't be seen."""
        match node:
            case ast.Call():
                return self._made_by(node, path)
            case ast.List() | ast.Tuple():
                return Part.ROWS if not path and len(node.elts) > 1 and is_numbers(node) else Part.NUMBER
            case ast.Subscript():
                if isinstance(node.slice, (ast.Slice, ast.Tuple)):
                    return Part.ROWS
                kept = self._kind(node.value)
                return kept if kept is not Part.ROWS or not isinstance(node.slice, ast.Constant) else None
            case ast.BinOp() | ast.UnaryOp():
                sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
                return max(self._kind(side) for side in sides)
            case ast.ListComp():
                return Part.ROWS
            case ast.Attribute():
                if node.attr in _MEASURED or self.names.of(node) is not None:
                    return Part.NUMBER
                return self._kind(node.value) if node.attr in ("T", "values") else None
            case ast.arg() | ast.alias() | ast.Name():
                return (
                    None
                    if not isinstance(node, ast.Name) or self.module.scopes.reaching(node)
                    else Part.NUMBER
                )
            case _:
                return Part.NUMBER

    def _made_by(self, call: ast.Call, path: tuple[int, ...]) -> Part | None:
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        if last in _MADE_VARIABLES:
            return Part.COMPUTED
        if call in self.as_rows:
            return Part.ROWS
        if last in _FILLED:
            self.filled[call] = True
        if (
            last in _MEASURES
            or last in _FILLED
            or (isinstance(call.func, ast.Name) and call.func.id in ("int", "float", "bool"))
            or (
                last in _SUMMARIES and argument(call, "axis", int(bool(name))) is None
            )  # of a function, or of an array's method
        ):
            return Part.NUMBER
        if name.startswith("tensorflow") and last == "convert_to_tensor" or last == "constant":
            return self._kind(call.args[0]) if call.args else Part.NUMBER
        if isinstance(self.values.callee(call), ast.ClassDef):
            return Part.NUMBER
        kind = self.feeding.kinds.of(call, with_targets=True)
        if kind in (Kind.ARRAY, Kind.ARRAYS):
            return Part.ROWS
        if name.startswith(_LIBRARIES):
            return Part.ROWS if "load_data" in last else Part.NUMBER
        if last in _ARRAY_METHODS and isinstance(call.func, ast.Attribute):
            return self._kind(call.func.value)
        if last[:1].isupper():
            return Part.NUMBER  # an object
        return None

    def _is_filled(self, e: ast.expr, context: Context) -> bool:
        """Whether something is put into what a name stands for in the turns of the loops around a step."""
        text = ast.unparse(e)
        return any(text in self._filled(loop) for c in context.around() for loop in c.loops)

    def is_made(self, e: ast.expr) -> bool:
        """Whether a name stands for what the program makes, rather than for what it is given. (That it is made before the loops
        around a step, and nothing is put into it there, `read` has seen.)"""
        made = [o.node for o in self.values.origins(e)] if isinstance(e, ast.Name) else []
        return bool(made) and not any(isinstance(m, (ast.arg, ast.alias)) for m in made)

    def may_change(self, e: ast.expr, context: Context) -> bool:
        """Whether, in the loops around a step, what a name stands for is given to something that may change it."""
        calls = (c for at in context.around() for loop in at.loops for c in self.feeding.calls_in(loop))
        return isinstance(e, ast.Name) and any(
            isinstance(given, ast.Name) and given.id == e.id and not self._only_reads(call)
            for call in calls
            for given in (*call.args, *(k.value for k in call.keywords))
        )

    def _only_reads(self, call: ast.Call) -> bool:
        """Whether a call leaves its arguments as they are, or only in another order."""
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        is_builtin = self.module.scopes.is_builtin(call.func)
        return (name.startswith(_LIBRARIES) and last not in _WRITES_INTO) or is_builtin or last == "shuffle"

    def _filled(self, loop: Loop) -> set[str]:
        found = self.__dict__.setdefault("_filled_in", {})
        if loop not in found:
            called = self.feeding.calls_in(loop)
            found[loop] = {
                ast.unparse(c.func.value)
                for c in called
                if isinstance(c.func, ast.Attribute) and c.func.attr in _FILLING
            } | {
                ast.unparse(n.value)
                for s in loop.body
                for n in walk(s)
                if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
            }
        names: set[str] = found[loop]
        return names

    def _runs_in_turn(self, statement: ast.AST, context: Context) -> bool:
        """Whether the loops around a step run a statement that stands in another function, in each turn."""
        function = self.syntax.function(statement)
        if function is None or context.is_running(function):
            return False
        found = self.__dict__.setdefault("_run_by", {})
        for loop in (loop for c in context.around() for loop in c.loops):
            if (loop, function) not in found:
                called = {self.values.callee(c) for c in self.feeding.calls_in(loop)}
                found[loop, function] = function in called
            if found[loop, function]:
                return True
        return False

    # ------------------------------------------------------------------ parts of things

    def _attribute(self, e: ast.Attribute, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        if self.names.of(e) is not None or e.attr in _MEASURED:
            return Part.NUMBER, ()
        if e.attr in _WEIGHTS:
            return Part.COMPUTED, ()
        bindings = self.values.attribute_bindings(e)
        found = []
        for b in bindings:
            if self.graph or self._runs_in_turn(b.statement, context) or self._in_loop(b.statement, context):
                found.append(self._bound(b, e, self._elsewhere(b.statement, context)))
            else:
                found.append(self._fixed(e, context))
        if not bindings:
            of, _ = self._part(e.value, context)
            if of > Part.ROWS:
                return of, ()
            return (Part.ROWS, (e,)) if of is Part.ROWS else self._fixed(e, context)
        part = max(p for p, _ in found)
        places_found = {place for _, places in found for place in places}
        return part, (tuple(places_found) if len(places_found) == 1 else (e,)) if part is Part.ROWS else ()

    def _in_loop(self, statement: ast.AST, context: Context) -> bool:
        return any(self.syntax.inside(statement, loop) for c in context.around() for loop in c.loops) or (
            context.repeated
            and self.syntax.function(statement) in {c.function for c in context.around() if c.repeated}
        )

    def _subscript(self, e: ast.Subscript, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        picking, self._picking = self._picking, True
        by, _ = self._part(e.slice, context)
        self._picking = picking
        of, places = self._part(e.value, context)
        if by in (Part.TURN, Part.DRAWN, Part.DEALT) and (of is not Part.COMPUTED or picking):
            self.moving[e] = None
            return Part.DEALT, ()
        if by is Part.COMPUTED and of is Part.ROWS:
            self.unseen[e] = None  # which rows these are goes by the weights
        if by is Part.UNSEEN or (by is Part.COMPUTED and of is Part.ROWS):
            return Part.UNSEEN, ()
        if of is Part.ROWS:
            return Part.ROWS, (e,)
        return of, places

    # ------------------------------------------------------------------ calls

    def _call(self, e: ast.Call, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        name, last = self.names.of(e.func) or "", self.names.last(e.func)
        given = [*(a for a in e.args), *(k.value for k in e.keywords)]
        callee = self.values.callee(e)
        if is_random(name) or makers(self.module, e):
            return self._random(e, given, context, last)
        if callee is None and last in _MEASURES and (not name or name.startswith(_LIBRARIES)):
            return Part.NUMBER, ()
        if last in _MADE_VARIABLES or e in self._trainings:
            return Part.COMPUTED, ()
        if e in self._runs:
            self.moving[e] = None
            return Part.DEALT, ()
        if e in self.fed:
            return self.fed[e], ()
        if self._is_source(e, name, last):
            self.moving[e] = None
            return Part.DEALT, ()
        if isinstance(callee, CALLABLES):
            return self._run(e, callee, context)
        if isinstance(callee, ast.ClassDef):
            return Part.NUMBER, ()
        if name.startswith(_LIBRARIES) or self.module.scopes.is_builtin(e.func):
            return self._pure(e, given, context, last)
        return self._unknown(e, given, context, last)

    def _pure(
        self, e: ast.Call, given: list[ast.expr], context: Context, last: str
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        if last not in _OF_DATA and ".losses." not in (self.names.of(e.func) or "") and "entropy" not in last:
            given = [a for a in given if not self._is_written(a)]
        part, places = self._all(given, context, e)
        if last in _FILLED and part <= Part.ROWS:
            # as many rows as those it is shaped by: `tf.zeros_like(rows)` beside them
            if e in self.as_rows:
                return Part.ROWS, (e,)
            self.filled.setdefault(e, False)
            return (part, places) if last.endswith("_like") and places else (Part.NUMBER, ())
        if part is Part.ROWS and last in _SUMMARIES and argument(e, "axis", 1) is None:
            return Part.NUMBER, ()
        if self.graph and part is Part.NUMBER and self.feeding.kinds.of(e, with_targets=True) is Kind.ARRAY:
            # what Python makes is part of the graph as it is; what TensorFlow makes of numbers is no data
            return (
                (Part.NUMBER, ())
                if (self.names.of(e.func) or "").startswith("tensorflow")
                else (Part.ROWS, (e,))
            )
        selects = last in _SELECTING and len(given) > 1
        if selects and part in (Part.TURN, Part.DRAWN):
            self.moving[e] = None
            return Part.DEALT, ()
        return part, places

    def _is_written(self, e: ast.expr) -> bool:
        """Whether an argument is a list of numbers that is written out; not one that is empty, to be filled."""
        origins = self.values.origins(e)
        return all(
            isinstance(o.node, (ast.List, ast.Tuple)) and o.node.elts and is_numbers(o.node) and not o.path
            for o in origins
        )

    def _random(
        self, e: ast.Call, given: list[ast.expr], context: Context, last: str
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        if self.graph and not (self.names.of(e.func) or "").startswith("tensorflow"):
            return (Part.ROWS, (e,)) if given else (Part.NUMBER, ())  # drawn once, while the graph is built
        before, vague = dict(self.rows), dict(self.vague)
        part, places = self._all([a for a in given if not self._is_written(a)], context, e)
        if last in _ORDERS:
            return part if part > Part.ROWS else Part.ROWS, places or (e,)
        if part in (Part.ROWS, Part.DEALT) or len(self.rows) > len(before):
            self.rows = before
            self.moving[e] = None
            return Part.DEALT, ()
        self.drawn[e], self.vague = context, vague  # numbers, as sizes of what is drawn
        return Part.DRAWN, ()

    def _is_source(self, e: ast.Call, name: str, last: str) -> bool:
        """Whether a call gives the next data: of an iterator, a queue, something that deals out."""
        if isinstance(e.func, ast.Name) and e.func.id == "next":
            return True
        if name.startswith("tensorflow"):
            return last in (*GRAPH_SOURCES, "slice_input_producer") or ".data." in name
        if self.graph and last.startswith("dequeue"):
            return True
        callee = self.values.callee(e)
        if isinstance(callee, FUNCTIONS):
            if deals_by_cursor(callee) and not is_game(self.syntax, callee):
                return True
            return any(
                isinstance(n, (ast.Yield, ast.YieldFrom)) and self.syntax.function(n) is callee
                for n in walk(callee)
            )
        return not name.startswith(_LIBRARIES) and bool(DEALING.search(last)) and "on_batch" not in last

    def _run(self, e: ast.Call, callee: ast.AST, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        assert isinstance(callee, CALLABLES)
        if context.is_running(callee):
            return Part.NUMBER, ()
        if (
            is_game(self.syntax, callee)
            and isinstance(callee, FUNCTIONS)
            and callee.name in ("step", "reset", "play")
        ):
            self.played[e] = None
            return Part.DEALT, ()
        within = context.calling(callee, e)
        part, _ = self._all(self.values.returned(callee), within, e)
        if part is Part.ROWS:
            return part, (e,)
        return part, ()

    def _unknown(
        self, e: ast.Call, given: list[ast.expr], context: Context, last: str
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        """A call that can't be seen into: of an array's method, of a model, or of anything."""
        f = e.func
        if isinstance(f, ast.Attribute) and f.attr == "step" and e.args:
            self.played[e] = None
            return Part.DEALT, ()
        if isinstance(f, ast.Attribute) and f.attr in _ARRAY_METHODS:
            part, places = self._all([f.value, *given], context, e)
            if part is Part.ROWS and f.attr in _SUMMARIES and argument(e, "axis", 0) is None:
                return Part.NUMBER, ()
            return part, places
        inner = self._all(given, context, None)[0]
        if isinstance(f, ast.Call):  # `Dense(10)(x)`
            return max(inner, Part.COMPUTED), ()
        if self._is_object(f):
            return max(inner, Part.COMPUTED), ()
        if isinstance(f, ast.Attribute):
            of = self._part(f.value, context)[0]
            if of in (Part.COMPUTED, Part.DRAWN, Part.DEALT):
                return max(of, inner), ()
        if inner in (Part.COMPUTED, Part.DEALT, Part.DRAWN) and given:
            return max(inner, Part.COMPUTED), ()
        self.unseen[e] = None
        return Part.UNSEEN, ()

    def _is_object(self, f: ast.expr) -> bool:
        """Whether what is called is an object that was made: a model, a layer, a loss, or a method of one."""
        held = f.value if isinstance(f, ast.Attribute) and not self.values.attribute_bindings(f) else f
        made = self.values.calls(held)
        if any((self.names.of(c.func) or "").startswith(_LIBRARIES) for c in made):
            return True
        if any(isinstance(self.values.callee(c), ast.ClassDef) for c in made):
            return True
        called = f is held
        return called and bool(made)


def is_numbers(e: ast.expr) -> bool:
    """Whether a literal is made of numbers only, through all its lists."""
    if isinstance(e, (ast.List, ast.Tuple)):
        return all(is_numbers(x) for x in e.elts)
    if isinstance(e, ast.UnaryOp):
        return is_numbers(e.operand)
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float)) and not isinstance(e.value, str)


def is_random(name: str) -> bool:
    """Whether a canonical name is that of a function that draws at random."""
    if name.rsplit(".", 1)[-1] in ("seed", "set_seed", "default_rng", "RandomState", "Generator"):
        return False
    return name.startswith(_RANDOM) or _RANDOM_V1.match(name) is not None
