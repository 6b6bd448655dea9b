"""What a step reads, and whether that changes from one step to the next.

An expression is read as in one turn of the loops around a step. What was bound before those loops is the same in every turn;
what the loop's variable, a cursor, an iterator, a random draw or a call that deals gives is not.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from horovodize.facts.counting.one_turn import OneTurn
from horovodize.facts.differences.contexts import Context, home, in_turn, passed
from horovodize.facts.feeds import orders
from horovodize.facts.feeds.divided_once import DividedOnce
from horovodize.facts.feeds.fixed_values import FixedValues
from horovodize.facts.feeds.games import is_game
from horovodize.facts.feeds.graph_collections import collected, is_collection
from horovodize.facts.feeds.loop_changes import LoopChanges
from horovodize.facts.feeds.shapes import Shapes
from horovodize.facts.feeds.turn_calls import (
    ARRAY_METHODS,
    FILLED,
    LIBRARIES,
    MADE_VARIABLES,
    MEASURED,
    MEASURES,
    OF_DATA,
    ORDERS,
    READERS,
    SELECTING,
    SUMMARIES,
    WEIGHTS,
    gives_count,
    gives_next,
    is_object,
    is_random,
)
from horovodize.facts.feeds.turn_parts import DEPTH, MOST, Part, is_numbers
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.random_generators import makers
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument, arguments
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Feeding, Kind

_ITERATORS = ("zip", "map", "filter", "enumerate", "reversed", "iter")


class Turns:
    """Reads expressions as of one turn, and gathers what it meets.

    rows     the largest expressions that stand for the same array in each turn, where they meet what is computed
    vague    what is the same in each turn and may be an array, or a number: nothing is seen of it
    moving, drawn, played, unseen   where else the step's data come from; what is drawn, with where (in a graph: None)
    graph    whether the expression is part of a TF1 graph: then it runs again in each turn, and its Python values do not
    fed      what placeholders are fed with, in a graph
    filled   the arrays that are filled by a size, `tf.zeros((n, 1))`: whether they are made before the turn
    as_rows  which of these are rows, as there are as many of them as of others that the step sees"""

    def __init__(
        self,
        module: Module,
        feeding: Feeding,
        changes: LoopChanges,
        as_rows: frozenset[ast.AST],
        *,
        graph: bool = False,
    ) -> None:
        self.module, self.feeding, self.changes, self.graph = module, feeding, changes, graph
        self.fixed, self.as_rows = FixedValues(module, feeding, as_rows), as_rows
        self.vague, self.filled = self.fixed.vague, self.fixed.filled
        self.syntax, self.names, self.values = module.syntax, module.names, module.values
        self._one_turn = OneTurn(module, Shapes(module, feeding.kinds))
        self.rows: dict[ast.expr, None] = {}
        self.moving: dict[ast.AST, None] = {}
        self.drawn: dict[ast.AST, Context | None] = {}
        self.played: dict[ast.AST, None] = {}
        self.unseen: dict[ast.AST, None] = {}
        self.computed: dict[ast.expr, Part] = {}
        self.fed: dict[ast.AST, Part] = {}
        self.read_as: list[Part] = []
        self._depth = 0
        self._picking = (
            False  # within an index: what that is made of picks rows, and is none of those that are fed
        )
        self._once = DividedOnce()
        self._open: set[tuple[ast.AST, Context, bool]] = set()
        self._carried: dict[tuple[ast.AST, Context, bool], None] = {}
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
        self.rows = self._once.settled(self.rows)
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
            self._note(whole, [place for _, places in found for place in places])
            return part, (whole,) if part is Part.ROWS else ()
        for one, places in found:
            if one is Part.ROWS:
                self._meet(places)
        return (Part.COMPUTED if part is Part.ROWS else part), ()

    def _meet(self, rows: Iterable[ast.expr]) -> None:
        """Notes arrays where they meet what is computed."""
        if not self._picking:
            self.rows.update(dict.fromkeys(rows))

    def _note(self, whole: ast.expr, places: Iterable[ast.expr]) -> None:
        if not self.graph:
            self._once.note(whole, places)

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
            elif (
                self.graph
                or in_turn(self.module, b, place)
                or self.changes.run_function_of(b.statement, context)
            ):
                found.append(self._bound(b, e, place or self._elsewhere(b.statement, context)))
            else:
                found.append(self._fixed(e, context))
        if not bindings and not hasattr(builtins, e.id):
            self.vague[e] = None
        found += [(self._part(filled, context)[0], ()) for filled in self.feeding.sites.flow.appended(e)]
        elements = list(self.changes.set_in(e, context))
        found += [(self._part(filled, self._elsewhere(filled, context))[0], ()) for filled in elements]
        part = max((p for p, _ in found), default=Part.NUMBER)
        if elements and part is Part.NUMBER:
            self.vague[e] = None  # ones, set for each row of others: there may be as many of them
        if part is not Part.ROWS:
            for one, places in found:
                if one is Part.ROWS and part > Part.ROWS:
                    self.rows.update(dict.fromkeys(places))
            return part, ()
        where = {place for _, places in found for place in places}
        self._note(e, where)
        # in a graph, names stand for what is kept: dividing it where it is made would divide it for all
        return part, tuple(where) if len(where) == 1 and not self.graph else (e,)

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
        if self.graph and place is not None and place.call is None:
            given = [self._part(v, self._elsewhere(v, context)) for v in self.values.passed(b)]
            if given:
                return max(given, key=lambda g: g[0])
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
        if is_data and not name.startswith(LIBRARIES) and not e.id[:1].isupper() and not self._is_called(e):
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
        if self._one_turn.counts(b.statement):
            return Part.NUMBER, ()
        if b.kind == "augment":
            part, places = self._part(b.value, context)
            if part is Part.NUMBER and isinstance(b.statement, ast.stmt):
                return Part.TURN, ()
            return part, places
        if b.kind == "assign" and self._counts_on(b):
            return Part.TURN, ()
        value, path = b.value, b.path
        while path and isinstance(value, (ast.Tuple, ast.List)) and 0 <= path[0] < len(value.elts):
            value, path = value.elts[path[0]], path[1:]
        apart = self._returned(value, path[0], context) if len(path) == 1 else None
        part, places = apart or self._part(value, context)
        if path and part is Part.ROWS:
            self._note(e, places)
        return part, (places if not path else (e,)) if part is Part.ROWS else ()

    def _returned(
        self, e: ast.expr, number: int, context: Context
    ) -> tuple[Part, tuple[ast.expr, ...]] | None:
        """One of the values that a function of the program returns together, `x, y = shuffled(x, y)`: what it is by itself, for
        together they are no array of which a turn could select. None where they can't be told apart."""
        callee = self.values.callee(e) if isinstance(e, ast.Call) else None
        if not isinstance(e, ast.Call) or not isinstance(callee, FUNCTIONS) or context.is_running(callee):
            return None
        if is_game(self.syntax, callee) or gives_next(self.module, e, self.graph):
            return None
        if e in self.fed or e in self._runs or e in self._trainings:
            return None
        returned = self.values.returned(callee)
        given = [r for r in returned if isinstance(r, ast.Tuple) and number < len(r.elts)]
        if not given or len(given) < len(returned):
            return None
        if any(isinstance(part, ast.Starred) for r in given for part in r.elts):
            return None
        part, _ = self._all([r.elts[number] for r in given], context.calling(callee, e), e)
        return part, ((e,) if part is Part.ROWS else ())

    def _counts_on(self, b: Binding) -> bool:
        """`i = (i + n) % m`"""
        value, name = b.value, b.name
        calls = [n for n in walk(value or ast.Pass()) if isinstance(n, ast.Call)]
        arithmetic = isinstance(value, ast.BinOp) and all(self.names.last(c.func) in MEASURES for c in calls)
        return arithmetic and any(isinstance(n, ast.Name) and n.id == name for n in walk(value or ast.Pass()))

    def _item(self, b: Binding, e: ast.expr, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        loop, value, path = b.statement, b.value, b.path
        assert value is not None
        inside, counting = self.feeding.inside(value), self.feeding.without_bars(value)
        if isinstance(counting, ast.Call) and self.names.last(counting.func) == "enumerate" and path:
            if path[0] == 0:
                return Part.NUMBER if self.graph else Part.TURN, ()
            path = path[1:]
        if isinstance(inside, ast.Call) and self.names.last(inside.func) == "zip" and path:
            if path[0] < len(inside.args):
                inside, path = self.feeding.inside(inside.args[path[0]]), path[1:]
        kinds = self.feeding.kinds
        around = isinstance(loop, (ast.For, ast.AsyncFor)) and any(loop in c.loops for c in context.around())
        if self.graph:  # a loop that builds the graph takes no turns when that runs
            return (Part.NUMBER, ()) if kinds.is_range(inside) else self._part(inside, context)
        if self._one_turn.goes_through(inside):
            return Part.NUMBER, ()
        if kinds.is_range(inside):
            return (Part.TURN, ()) if around or self._goes_on(inside, context) else (Part.NUMBER, ())
        if around and kinds.is_literal(inside):
            return Part.NUMBER, ()
        if not around and kinds.of(inside) not in (Kind.DATASET, Kind.GENERATOR, Kind.SEQUENCE):
            if isinstance(inside, ast.Call) and self.names.last(inside.func) in _ITERATORS:
                self.unseen[inside] = (
                    None  # what of several things it gives: it may be layers, and has no rows itself
                )
                return Part.UNSEEN, ()
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
        if context is not None and self.changes.are_filling(e, context):
            self.unseen[e] = None
            return Part.UNSEEN, ()
        part = self.fixed.kind(e)
        return part, (e,) if part is Part.ROWS else ()

    # ------------------------------------------------------------------ parts of things

    def _attribute(self, e: ast.Attribute, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        if self.names.of(e) is not None or e.attr in MEASURED:
            return Part.NUMBER, ()
        if e.attr in WEIGHTS:
            return Part.COMPUTED, ()
        bindings = self.values.attribute_bindings(e)
        found = []
        for b in bindings:
            if self.graph or self.changes.bind_again(b.statement, context):
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
            drawn = orders.part_of_one(self.module, e, context)
            if drawn is not None and not self.graph:  # `np.random.permutation(n)[:32]`
                self.drawn[drawn] = context
                return Part.DRAWN, ()
            first = e.slice.elts[0] if isinstance(e.slice, ast.Tuple) and e.slice.elts else None
            if isinstance(first, ast.Slice) and first.lower is first.upper is first.step is None:
                self._note(e, places)  # columns: of all rows
            return Part.ROWS, (e,)
        return of, places

    # ------------------------------------------------------------------ calls

    def _call(self, e: ast.Call, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        name, last = self.names.of(e.func) or "", self.names.last(e.func)
        given = arguments(e)
        callee = self.values.callee(e)
        if is_random(name) or makers(self.module, e):
            return self._random(e, given, context, last)
        if callee is None and last in MEASURES and (not name or name.startswith(LIBRARIES)):
            return Part.NUMBER, ()
        if last in MADE_VARIABLES or e in self._trainings:
            return Part.COMPUTED, ()
        if e in self._runs and self.graph:
            return Part.ROWS, (e,)  # fetched once, while the graph is built, which holds it as it is
        if not self.graph and gives_count(self.module, e):
            return Part.TURN, ()
        if e in self._runs:
            self.moving[e] = None
            return Part.DEALT, ()
        if e in self.fed:
            return self.fed[e], ()
        if gives_next(self.module, e, self.graph):
            self.moving[e] = None
            return Part.DEALT, ()
        if isinstance(callee, CALLABLES):
            return self._run(e, callee, context)
        if is_collection(self.module, e):
            return self._collected(e, context)
        if isinstance(callee, ast.ClassDef):
            return Part.NUMBER, ()
        if self.graph and name.startswith(READERS):
            return Part.ROWS, (e,)  # what they read, the graph is built with
        if self.graph and name.startswith("tensorflow") and last == "constant":
            return self._held(e, given, context)
        if name.startswith(LIBRARIES) or self.module.scopes.is_builtin(e.func):
            return self._pure(e, given, context, last)
        return self._unknown(e, given, context, last)

    def _held(
        self, e: ast.Call, given: list[ast.expr], context: Context
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        """`tf.constant(rows)`, of what isn't seen: whatever it is, the graph holds it as it is."""
        unseen, vague = dict(self.unseen), set(self.vague)
        part, places = self._pure(e, given, context, "constant")
        loose = [v for v in self.vague if v not in vague]
        if part is not Part.UNSEEN and not loose:
            return part, places
        self.unseen = unseen
        for v in loose:
            del self.vague[v]  # what is fixed and this hold one dictionary
        return Part.ROWS, (e,)

    def _collected(self, e: ast.Call, context: Context) -> tuple[Part, tuple[ast.expr, ...]]:
        found = [self._part(v, context.elsewhere(v, self.syntax)) for v in collected(self.module, e)]
        if not found:
            self.unseen[e] = None
            return Part.UNSEEN, ()
        for part, places in found:
            if part is Part.ROWS:
                self._meet(places)
        return max(Part.COMPUTED if part is Part.ROWS else part for part, _ in found), ()

    def _pure(
        self, e: ast.Call, given: list[ast.expr], context: Context, last: str
    ) -> tuple[Part, tuple[ast.expr, ...]]:
        if last not in OF_DATA and ".losses." not in (self.names.of(e.func) or "") and "entropy" not in last:
            given = [a for a in given if not self._is_written(a)]
        part, places = self._all(given, context, e)
        if last in FILLED and part <= Part.ROWS:
            # as many rows as those it is shaped by: `tf.zeros_like(rows)` beside them
            if e in self.as_rows:
                return Part.ROWS, (e,)
            self.filled.setdefault(e, False)
            return (part, places) if last.endswith("_like") and places else (Part.NUMBER, ())
        if part is Part.ROWS and last in SUMMARIES and argument(e, "axis", 1) is None:
            return Part.NUMBER, ()
        if self.graph and part is Part.NUMBER and self.feeding.kinds.of(e, with_targets=True) is Kind.ARRAY:
            # what Python makes is part of the graph as it is; what TensorFlow makes of numbers is no data
            return (
                (Part.NUMBER, ())
                if (self.names.of(e.func) or "").startswith("tensorflow")
                else (Part.ROWS, (e,))
            )
        by = [self._part(a, context)[0] for a in given[1:]] if last in SELECTING else []
        if max(by, default=Part.NUMBER) in (Part.TURN, Part.DRAWN):
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
        if last in ORDERS:
            return part if part > Part.ROWS else Part.ROWS, places or (e,)
        if part in (Part.ROWS, Part.DEALT) or len(self.rows) > len(before):
            self.rows = before
            self.moving[e] = None
            return Part.DEALT, ()
        self.drawn[e] = context
        self.vague.clear()  # numbers, as sizes of what is drawn
        self.vague.update(vague)
        return Part.DRAWN, ()

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
        if isinstance(f, ast.Attribute) and f.attr in ARRAY_METHODS:
            part, places = self._all([f.value, *given], context, e)
            if part is Part.ROWS and f.attr in SUMMARIES and argument(e, "axis", 0) is None:
                return Part.NUMBER, ()
            return part, places
        inner = self._all(given, context, None)[0]
        if isinstance(f, ast.Call):  # `Dense(10)(x)`
            return max(inner, Part.COMPUTED), ()
        if is_object(self.module, f):
            return max(inner, Part.COMPUTED), ()
        if isinstance(f, ast.Attribute):
            of = self._part(f.value, context)[0]
            if of in (Part.COMPUTED, Part.DRAWN, Part.DEALT):
                return max(of, inner), ()
        if inner in (Part.COMPUTED, Part.DEALT, Part.DRAWN) and given:
            return max(inner, Part.COMPUTED), ()
        self.unseen[e] = None
        return Part.UNSEEN, ()
