"""Where values come from: from an expression back to the calls, constants and parameters that can be its value.

Names, attributes, both arms of a conditional, returns of this module's functions and arguments of their calls are followed.
What can't be followed is given back as it is: a caller that needs a proof treats it as "unknown".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from horovodize import catalogue
from horovodize.python.attributes import Attributes
from horovodize.python.binding import Binding
from horovodize.python.calls import CALLED_FOR, CallGraph, is_property
from horovodize.python.definitions import Definitions
from horovodize.python.held_values import HeldValues
from horovodize.python.memo import CYCLE, Memo
from horovodize.python.names import Names
from horovodize.python.receivers import Receivers
from horovodize.python.scopes import Scopes
from horovodize.python.syntax import CALLABLES, Syntax, numbered
from horovodize.source.nodes import children

ITEM = -2  # in a path: an item of an iterable, rather than the n-th part of a tuple
_BUILTINS = ("enumerate", "zip", "iter", "list", "tuple", "next", "sorted", "reversed", "min", "max")
_LIMIT = 300
_INSIDE = "inner_optimizer"  # of an optimizer that scales losses: what is done with it is done with the whole


class Origin(NamedTuple):
    """A value, or a part of one: `path` () is the value of `node` itself, (0, 1) is `node`[0][1], (ITEM,) an item of it."""

    node: ast.AST
    path: tuple[int, ...] = ()

    @property
    def call(self) -> ast.Call | None:
        """The call whose result this is, whole."""
        return self.node if isinstance(self.node, ast.Call) and not self.path else None


class Values:
    """Data flow of one module. `before`: a reading of the same module that knows less of who calls whom, and is what callers
    are found by."""

    def __init__(self, syntax: Syntax, scopes: Scopes, names: Names, before: Values | None = None) -> None:
        self.syntax, self.scopes, self.names = syntax, scopes, names
        self.before = before
        self.reads = scopes.reads
        self.definitions: Definitions = before.definitions if before else Definitions(syntax, self.reads)
        self.graph: CallGraph = CallGraph(self, before.graph if before is not None else None)
        self.callee, self.callers = self.graph.callee, self.graph.callers
        self.passed, self.returned = self.graph.passed, self.graph.returned
        # a value that depends on itself is known to be itself
        self._origins: Memo[ast.expr, list[Origin] | None] = Memo(
            self.reads, self._find_origins, None, before._origins if before is not None else None
        )
        self._receivers: Memo[ast.expr, frozenset[object] | None] = Memo(
            self.reads, Receivers(self).of, None, before._receivers if before is not None else None
        )
        self.held = HeldValues(self)
        self.attributes: Attributes = Attributes(self, before.attributes if before is not None else None)
        self.attribute_bindings = self.attributes.bindings

    def bindings(self, e: ast.expr) -> list[Binding]:
        """What may give a name or an attribute its value here; nothing of another expression."""
        if isinstance(e, ast.Name):
            return self.scopes.reaching(e)
        return self.attribute_bindings(e) if isinstance(e, ast.Attribute) else []

    @classmethod
    def read(cls, syntax: Syntax, scopes: Scopes, names: Names) -> Values:
        """Reads a module. A call of a parameter (`def loop(step): step(x)`) can be followed only once the callers of its
        function are known, and what that call passes on only after that: so it is read three times."""
        return cls(syntax, scopes, names, cls(syntax, scopes, names, cls(syntax, scopes, names)))

    # ------------------------------------------------------------------ origins

    def origins(self, expression: ast.expr) -> list[Origin]:
        """What an expression's value may be; at least one origin (the expression itself, if nothing is known)."""
        return self._origins(expression) or [Origin(expression)]

    def given_back(self, e: ast.expr) -> list[ast.expr]:
        """What an expression is; of a function, `lambda: SGD(0.1)`, what that returns."""
        functions = [o.node for o in self.origins(e) if isinstance(o.node, CALLABLES) and not o.path]
        return [value for f in functions for value in self.returned(f)] or [e]

    def _find_origins(self, expression: ast.expr) -> list[Origin]:
        return list(dict.fromkeys(self._follow(expression, (), set())))

    def forget(self, changed: int, gone: Sequence[ast.AST]) -> int:
        """Forgets what changed entries of tables led to, and all about nodes that are gone. Gives all that has changed, for
        `Reads`: by that, who calls whom, and what is assigned to attributes of which classes."""
        if self.before is not None:
            changed |= self.before.forget(changed, gone)
        changed |= self.graph.bring_callers_up_to_date()
        expressions = [n for n in gone if isinstance(n, ast.expr)]
        more = changed | CYCLE
        while more:
            self._origins.forget(more, expressions)
            self._receivers.forget(more, expressions)
            self.graph.forget(more, gone)
            more = self.attributes.bring_up_to_date(more) & ~changed
            changed |= more
        return changed

    def calls(self, expression: ast.expr) -> list[ast.Call]:
        """The calls whose results the expression may be."""
        return [o.call for o in self.origins(expression) if o.call is not None]

    def _follow(
        self, e: ast.AST, path: tuple[int, ...], seen: set[tuple[ast.AST, tuple[int, ...]]]
    ) -> Iterator[Origin]:
        if (e, path) in seen or len(seen) > _LIMIT:
            return
        seen.add((e, path))
        found = False
        for next_node, next_path in self._steps(e, path):
            found = True
            yield from self._follow(next_node, next_path, seen)
        if not found:
            yield Origin(e, path)

    def _steps(self, e: ast.AST, path: tuple[int, ...]) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
        """One step back along the flow; nothing where the flow starts."""
        match e:
            case ast.Name():
                for binding in self.scopes.reaching(e):
                    yield from self._of_binding(binding, path)
            case ast.Attribute():
                bindings = self.attribute_bindings(e)
                for binding in bindings:
                    yield from self._of_binding(binding, path)
                kept = [] if bindings else [*self.held.kept_by(e), *self.attributes.made_in_class(e)]
                yield from ((value, path) for value in kept)
                unknown = not bindings and not kept and self.names.of(e) is None
                if unknown and not path and e.attr == _INSIDE:
                    yield e.value, path
                elif unknown and self.definitions.has_method(e.attr):
                    for m in self.definitions.methods_of(e.attr, self.receiver(e.value)):
                        if is_property(m):
                            yield from ((value, path) for value in self.returned(m))
                        elif not path:
                            yield m, path
            case ast.IfExp():
                yield e.body, path
                yield e.orelse, path
            case ast.BoolOp():
                for value in e.values:
                    yield value, path
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                yield e.value, path
            case ast.Tuple() | ast.List() if path and 0 <= path[0] < len(e.elts):
                if not any(isinstance(x, ast.Starred) for x in e.elts):
                    yield e.elts[path[0]], path[1:]
            case ast.Tuple() | ast.List() if path and path[0] == ITEM:
                for element in e.elts:
                    yield element, path[1:]
                for function in self.held.put_into(e):
                    yield function, path[1:]
            case ast.ListComp() | ast.GeneratorExp() if path and path[0] == ITEM:
                yield e.elt, path[1:]
            case ast.BinOp(op=ast.Add(), left=left, right=right) if path and path[0] == ITEM:
                if self._is_list(left) or self._is_list(right):
                    yield left, path
                    yield right, path
            case ast.Dict() if path and path[0] == ITEM:
                return
            case ast.Subscript(slice=ast.Constant(value=int() as i)) if i >= 0:
                inner = [
                    o
                    for o in self.origins(e.value)
                    if isinstance(o.node, (ast.Tuple, ast.List)) and not o.path
                ]
                for o in inner:
                    yield o.node, (i, *path)
                if not inner:
                    yield from ((made, path) for made in self.held.objects_in(e.value))
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                for value in self.held.begun_items(e, key):
                    yield value, path
                for binding in self.held.set_items(e, key):
                    yield from self._of_binding(binding, path)
            case ast.Subscript(slice=ast.Slice()):
                if path and path[0] == ITEM:
                    yield from ((made, path[1:]) for made in self.held.objects_in(e.value))
            case ast.Subscript():
                yield from ((made, path) for made in self.held.objects_in(e.value))
            case ast.Call():
                yield from self._of_call(e, path)
            case _:
                return

    def _is_list(self, e: ast.expr) -> bool:
        """Whether something is a list that is written out: `[Save()]` of `[Save()] + hooks`, to which no array is added."""
        return any(isinstance(o.node, (ast.List, ast.ListComp)) and not o.path for o in self.origins(e))

    def read_by(self, e: ast.Attribute) -> list[ast.expr]:
        """What reading an attribute gives where a property of this module's classes is read: what that returns."""
        unknown = not self.attribute_bindings(e) and self.names.of(e) is None
        if not unknown or not self.definitions.has_method(e.attr):
            return []
        methods = self.definitions.methods_of(e.attr, self.receiver(e.value))
        return [value for m in methods if is_property(m) for value in self.returned(m)]

    def _of_binding(self, b: Binding, path: tuple[int, ...]) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
        match b.kind:
            case "assign" if b.value is not None and -1 not in b.path:
                yield b.value, (*b.path, *path)
            case "with" if b.value is not None:
                yield b.value, (*b.path, *path)
            case "item" if b.value is not None and -1 not in b.path:
                yield b.value, (ITEM, *b.path, *path)
            case "parameter":
                passed = self.passed(b)
                unpacked = self.graph.unpacked(b)
                for value in passed:
                    yield value, path
                for value, place in unpacked:
                    yield value, (place, *path)
                if not passed and not unpacked:
                    yield b.anchor, path
            case "def" | "class":
                yield b.statement, path
            case "augment":
                return  # the value before is another binding that reaches
            case _:
                yield b.anchor, path

    def _of_call(self, call: ast.Call, path: tuple[int, ...]) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
        name = self.names.of(call.func)
        if name is None and isinstance(call.func, ast.Name) and call.func.id in _BUILTINS:
            yield from self._of_builtin(call, call.func.id, path)
            return
        if name in ("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm") and call.args:
            yield call.args[0], path
            return
        if name in CALLED_FOR and call.args:
            yield call.args[0], path
            return
        function = self.callee(call)
        if isinstance(function, CALLABLES):
            for value in self.returned(function):
                yield value, path

    def _of_builtin(
        self, call: ast.Call, name: str, path: tuple[int, ...]
    ) -> Iterator[tuple[ast.AST, tuple[int, ...]]]:
        if not call.args:
            return
        if name in ("iter", "list", "tuple"):
            yield call.args[0], path
        elif name == "next":
            yield call.args[0], (ITEM, *path)
        elif name in ("sorted", "reversed") and path and path[0] == ITEM:
            yield from ((made, path[1:]) for made in self.held.objects_in(call.args[0]))
        elif name in ("min", "max") and len(call.args) == 1:
            yield from ((made, path) for made in self.held.objects_in(call.args[0]))
        elif name == "enumerate" and len(path) >= 2 and path[0] == ITEM:
            if path[1] == 1:
                yield call.args[0], (ITEM, *path[2:])
        elif name == "zip" and len(path) >= 2 and path[0] == ITEM and 0 <= path[1] < len(call.args):
            yield call.args[path[1]], (ITEM, *path[2:])

    # ------------------------------------------------------------------ receivers

    def receiver(self, e: ast.expr) -> frozenset[object]:
        """What an attribute hangs on: the classes of this module it may be an instance of, else its text."""
        known = self._receivers(e)
        return known if known is not None else frozenset([ast.unparse(e)])

    def classes_made(self, call: ast.Call) -> list[ast.ClassDef]:
        """The classes of this module of which a call may make an object."""
        callee = self.callee(call)
        made = self.held.classes_in(call.func) if callee is None else [callee]
        return [cls for cls in made if isinstance(cls, ast.ClassDef)]

    def family(self, cls: ast.ClassDef) -> set[ast.ClassDef]:
        """A class with its bases in this module."""
        found, todo = {cls}, [cls]
        while todo:
            for base in todo.pop().bases:
                inner = self.base_class(base)
                if inner is not None and inner not in found:
                    found.add(inner)
                    todo.append(inner)
        return found

    def base_class(self, base: ast.expr) -> ast.ClassDef | None:
        """The class of this module that a base names."""
        if self.names.of(base) is not None:
            return None
        if self.scopes.links.targets and isinstance(base, (ast.Name, ast.Attribute)):
            return next(
                (b.statement for b in self.bindings(base) if isinstance(b.statement, ast.ClassDef)), None
            )
        return self.definitions.class_named(self.names.last(base))

    # ------------------------------------------------------------------ classes

    def class_names(self, expression: ast.expr) -> set[str]:
        """Canonical names of the classes (bases included) that an expression's value may be an instance of."""
        found: set[str] = set()
        for call in self.calls(expression):
            found |= self.made_by(call)
        return found

    def made_by(self, call: ast.Call) -> set[str]:
        """Canonical names of the classes, bases included, of what a constructor call makes."""
        name = self.names.of(call.func)
        if name is not None:
            known = catalogue.cls(name)
            return {name, *(known.ancestors if known else ())}
        callee = self.callee(call)
        if isinstance(callee, ast.ClassDef):
            return self.ancestors(callee)
        return self._made_by_value(call.func) if callee is None else set()

    def _made_by_value(self, func: ast.expr) -> set[str]:
        """The same where the class itself is a value: a parameter `optimizer=tf.train.AdamOptimizer`."""
        found: set[str] = set()
        for origin in [o for f in self.choices(func) for o in self.origins(f)]:
            name = self.names.of(origin.node) if not origin.path else None
            known = catalogue.cls(name) if name is not None else None
            if name is not None and known is not None:
                found |= {name, *known.ancestors}
        return found

    def choices(self, e: ast.expr) -> list[ast.expr]:
        """What an expression may be, where it picks from a dict by a key that is not seen: `classes[name]`; else itself."""
        picked = [e] if isinstance(e, ast.Subscript) else [o.node for o in self.origins(e) if not o.path]
        found = [
            value
            for p in picked
            if isinstance(p, ast.Subscript) and not isinstance(p.slice, ast.Constant)
            for o in self.origins(p.value)
            if isinstance(o.node, ast.Dict) and not o.path
            for value in o.node.values
        ]
        return found or [e]

    def ancestors(self, cls: ast.ClassDef) -> set[str]:
        """Canonical names of all bases of a class of this module."""
        found: set[str] = set()
        for member in self.family(cls):
            for base in member.bases:
                name = self.names.of(base)
                if name is not None:
                    known = catalogue.cls(name)
                    found |= {name, *(known.ancestors if known else ())}
        return found

    def is_a(self, expression: ast.expr, ancestor: str) -> bool:
        """Whether some value of an expression is an instance of a TensorFlow class."""
        return ancestor in self.class_names(expression)

    # ------------------------------------------------------------------ dependence

    def path_in(self, returned: ast.expr, path: tuple[int, ...]) -> tuple[int, ...]:
        """Where a part of a call's result is in what its function returns; what it yields, the call gives one after another."""
        return () if isinstance(self.syntax.parent[returned], ast.Yield) else path

    def _numbers_turn(self, name: ast.Name, b: Binding) -> bool:
        """Whether a name is the number of a turn, in the loop through an `enumerate`, also `tqdm(enumerate(rows))`."""
        counted: ast.expr | None = b.value
        while isinstance(counted, ast.Call) and self.names.last(counted.func) == "tqdm" and counted.args:
            counted = counted.args[0]
        if b.kind != "item" or b.path != (0,) or not isinstance(counted, ast.Call):
            return False
        return numbered(counted) is not None and self.syntax.inside(name, b.statement)

    def depends(
        self, expressions: Iterable[ast.AST], limit: int = 3000, rows_of_numbers: bool = True
    ) -> Iterator[ast.AST]:
        """Every node that contributes to expressions, over-approximated, each once. Of several things that a function returns
        together, only those that are taken. Without `rows_of_numbers`, not what `enumerate` numbers, of its numbers."""
        todo: list[tuple[ast.AST, tuple[int, ...]]] = [(e, ()) for e in expressions]
        passed, seen = set[tuple[ast.AST, tuple[int, ...]]](), set[ast.AST]()
        while todo and len(passed) < limit:
            n, path = todo.pop()
            if (n, path) in passed:
                continue
            passed.add((n, path))
            if n not in seen:
                seen.add(n)
                yield n
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                for b in self.scopes.reaching(n):
                    if b.kind == "parameter":
                        todo += [(value, ()) for value in self.passed(b)]
                    elif not rows_of_numbers and self._numbers_turn(n, b):
                        continue
                    elif b.value is not None:
                        todo.append((b.value, b.path if b.kind == "assign" else ()))
            elif isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
                found = self.attribute_bindings(n)
                todo += [
                    (b.value, b.path if b.kind == "assign" else ()) for b in found if b.value is not None
                ]
                todo += [(made, ()) for made in (() if found else self.attributes.made_in_class(n))]
            elif isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load):
                set_at = self.held.item_bindings(n)  # `settings["steps"] = 1000 // hvd.size()`
                todo += [(b.value, b.path) for b in set_at if b.value is not None]
            elif isinstance(n, ast.Call):
                callee = self.callee(n)
                if isinstance(callee, CALLABLES):
                    todo += [(value, self.path_in(value, path)) for value in self.returned(callee)]
                elif path and n.args and isinstance(n.func, ast.Attribute) and n.func.attr == "run":
                    todo += [(n.args[0], path), *((e, ()) for e in (n.func, *n.args[1:], *n.keywords))]
                    continue  # of what a session runs together, what is taken
            if path and isinstance(n, (ast.Tuple, ast.List)) and 0 <= path[0] < len(n.elts):
                if not any(isinstance(x, ast.Starred) for x in n.elts):
                    todo.append((n.elts[path[0]], path[1:]))
                    continue
            todo += [(c, ()) for c in children(n) if not isinstance(c, ast.stmt)]
