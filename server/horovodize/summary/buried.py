"""Training steps that stand where no statement can follow them, and what has to be taken apart for it.

A comprehension becomes a loop, a `map` that something goes through becomes one, a `lambda` becomes a function, and a step in
the header of a statement gets a statement of its own before it. Only where the program does the same afterwards: what else the
statement evaluates comes in the same order, and no name changes its meaning."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from horovodize.python.evaluation import acts, before, stays
from horovodize.python.module import Module
from horovodize.python.shared_line import goes_on, shared_line
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, position
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.lattice import LoopKind
from horovodize.summary.summary import ModuleSummary

_GOES_THROUGH = {"list", "tuple", "set", "frozenset", "sum", "max", "min", "sorted", "dict"}
_MAKES_ONLY = {"list", "tuple", "set", "frozenset"}
_METHODS = {"join", "extend", "update"}
_TAPE_AND_SESSIONS = (LoopKind.GRADIENT_TAPE, LoopKind.SESSION, LoopKind.MONITORED_SESSION)


class Form(Enum):
    """What an expression becomes.

    COLLECTED  a loop that collects its values
    DROPPED    a loop; nobody reads the values
    ANY, ALL   a loop that ends at the first value that is true, or false
    MERGED     one loop with the `for` that goes through it
    FOLDED     a loop that carries a value on (`functools.reduce`)
    FUNCTION   a function
    HOISTED    a statement before
    TESTED     a statement at the start of a `while` loop's body
    BRANCHED   the arm of an `if`
    PARTED     it stays; its statement gets a line of its own
    """

    COLLECTED = 0
    DROPPED = 1
    ANY = 2
    ALL = 3
    MERGED = 4
    FOLDED = 5
    FUNCTION = 6
    HOISTED = 7
    TESTED = 8
    BRANCHED = 9
    PARTED = 10


@dataclass(frozen=True, eq=False)
class Buried:
    """An expression that is to be taken out of its statement.

    expression  what runs the step: the comprehension, the call of `map`, the `lambda`, the step itself
    whole       what goes with it: the call of `any` around a generator; else the expression
    name        what its value is called; None where it has none
    is_target   whether the statement already assigns it to that name, and so goes
    renamed     names of a comprehension's own that mean something else around it, with what they become"""

    form: Form
    statement: ast.stmt
    expression: ast.expr
    whole: ast.expr
    name: str | None = None
    is_target: bool = False
    renamed: dict[str, str] = field(default_factory=dict)


class Buries:
    """Finds them in what is known of a script."""

    def __init__(self, summary: ModuleSummary) -> None:
        module, drive = summary.module, summary.drive
        assert module is not None
        assert drive is not None
        self.module: Module = module
        self.drive: Drive = drive
        self.syntax, self.scopes = module.syntax, module.scopes
        self.summary = summary
        self._taken: set[str] | None = None

    @property
    def all(self) -> list[Buried]:
        """Those that can be taken out, each once, in the order of the text."""
        found = {
            node
            for loop in self.summary.loops
            if self._counts(loop.kind, loop.node)
            for way in self.drive.ways(loop.node)
            for node in self._buried_in(loop.kind, way)
        }
        dug = (self.dig(node) for node in sorted(found, key=position))
        return [buried for buried in dug if buried is not None]

    def _counts(self, kind: LoopKind, node: ast.Call) -> bool:
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if kind is LoopKind.KERAS:
            return method == "train_on_batch"
        return kind in _TAPE_AND_SESSIONS

    def comes_out(self, node: ast.expr) -> bool:
        """Whether an expression that runs a step, or what buries it, can be taken out of its statement."""
        return self.dig(self.around(node) or node) is not None

    @cached_property
    def _by_hand(self) -> set[ast.AST]:
        """The calls with which updates end that need no optimizer."""
        sites = self.summary.sites
        assert sites is not None
        return {update.call for update in sites.updates if update.method == "assign"}

    # ------------------------------------------------------------------ where steps are buried

    def _buried_in(self, kind: LoopKind, way: tuple[Frame, ...]) -> Iterator[ast.expr]:
        """The outermost expressions on a way that run a step many times or later; and the step in a header."""
        first = self.drive.runs_traced(way) + 1
        if way[0].node in self._by_hand:
            first = max(first, 1)  # one variable's part of a step
        for frame in way[first:]:
            node = self.around(frame.node)
            if node is not None:
                yield node
        if first < len(way) and way[-1].function is not None:
            yield from self._handed_to_map(way[-1].function)
        driver = self._driver(way, first) if kind is LoopKind.GRADIENT_TAPE else None
        if isinstance(driver, ast.expr) and self.around(driver) is None and not self._can_be_followed(driver):
            yield driver

    def _driver(self, way: tuple[Frame, ...], first: int) -> ast.AST | None:
        """The call after which the first broadcast goes: in the function that holds the loop, or where the way begins."""
        driver = next((f for f in way[first:] if f.loops or self._is_tested(f.node)), None)
        if driver is not None or first >= len(way):
            return driver.node if driver is not None else None
        only = isinstance(self.syntax.statement(way[-1].node), ast.Return)
        return way[first].node if only else way[-1].node

    def _is_tested(self, node: ast.AST) -> bool:
        statement = self.syntax.statement(node)
        return isinstance(statement, ast.While) and self.syntax.inside(node, statement.test)

    def _can_be_followed(self, node: ast.expr) -> bool:
        """Whether a statement right after that of a step runs each time that the step does, and never else."""
        statement = self.syntax.statement(node)
        if self._is_in_header(node) or self._arm(statement, node) is not None:
            return False
        return self._starts_and_ends_lines(statement) or shared_line(self.module, statement) is not None

    def _starts_and_ends_lines(self, statement: ast.stmt) -> bool:
        block = self.syntax.block(statement)
        i = block.index(statement)
        follows = i + 1 < len(block) and block[i + 1].lineno == statement.end_lineno
        starts = self.module.document.starts_line(statement)
        return starts and not follows and not goes_on(self.module, statement)

    def _arm(self, statement: ast.stmt, node: ast.expr) -> ast.expr | None:
        """The conditional expression of which a node is in an arm, where that is all that a statement does."""
        value = statement.value if isinstance(statement, (ast.Expr, ast.Assign, ast.Return)) else None
        match value:
            case ast.IfExp(test=test) if not self.syntax.inside(node, test):
                return value
            case ast.BoolOp(values=[*_, last]) if isinstance(statement, ast.Expr) and self.syntax.inside(
                node, last
            ):
                return value
            case _:
                return None

    def around(self, node: ast.AST) -> ast.expr | None:
        """The outermost comprehension, `lambda` or use of one that runs a node later or more than once in its statement."""
        found: ast.expr | None = None
        child = node
        for a in self.syntax.ancestors(node):
            if isinstance(a, ast.stmt):
                break
            if isinstance(a, COMPREHENSIONS):
                inner = child is not a.generators[0] or not self.syntax.inside(node, a.generators[0].iter)
                found = a if inner else found
            elif isinstance(a, ast.Lambda) and child is a.body:
                found = self.mapping(a) or a
            child = a
        return found

    def mapping(self, function: ast.expr) -> ast.Call | None:
        """The call of `map` or `reduce` that is given a function."""
        call = self.syntax.parent.get(function)
        if not isinstance(call, ast.Call) or not call.args or call.args[0] is not function:
            return None
        if any(isinstance(a, ast.Starred) for a in call.args) or call.keywords:
            return None
        is_map = isinstance(call.func, ast.Name) and call.func.id == "map" and self._builtin(call.func)
        return call if (is_map and len(call.args) > 1) or self._is_reduce(call) else None

    def _is_reduce(self, call: ast.Call) -> bool:
        return self.module.names.last(call.func) == "reduce" and len(call.args) == 3

    def _handed_to_map(self, function: ast.AST) -> Iterator[ast.expr]:
        """The calls of `map` and `reduce` that are given a function by its name."""
        name = getattr(function, "name", "")
        for load in self.module.loads.get(name):
            call = self.mapping(load) if isinstance(load, ast.expr) else None
            if call is not None and any(
                o.node is function and not o.path for o in self.module.values.origins(call.args[0])
            ):
                yield self.around(call) or call

    def _is_in_header(self, node: ast.expr) -> bool:
        statement = self.syntax.statement(node)
        headers = (ast.If, ast.While, ast.For, ast.With, ast.Return, ast.Match, ast.Assert)
        return isinstance(statement, headers)

    # ------------------------------------------------------------------ how they are taken out

    def dig(self, node: ast.expr) -> Buried | None:
        """How an expression that buries a step is taken out of its statement; None where that can't be done."""
        statement = self.syntax.statement(node)
        if not self._can_be_taken_apart(statement) or any(
            isinstance(a, ast.JoinedStr) for a in self._inside_statement(node)
        ):
            return None  # before Python 3.12 it isn't known where the parts of an f-string are
        self._taken = self._taken or self.scopes.all_names()
        if isinstance(node, ast.Lambda):
            return self._function(statement, node)
        if isinstance(node, COMPREHENSIONS) or (
            isinstance(node, ast.Call) and self.mapping(node.args[0] if node.args else node) is node
        ):
            return self._loop(statement, node)
        arm = self._arm(statement, node)
        if arm is not None:
            return Buried(Form.BRANCHED, statement, node, arm)
        if not self._is_in_header(node):
            return Buried(Form.PARTED, statement, node, node)
        return self._hoisted(statement, node)

    def _can_be_taken_apart(self, statement: ast.stmt) -> bool:
        """Whether lines can stand before a statement, at least when what shares its line has lines of its own."""
        if isinstance(self.syntax.parent.get(statement), ast.ClassDef):
            return False
        return not isinstance(statement, (*CALLABLES, ast.ClassDef))

    def _function(self, statement: ast.stmt, node: ast.Lambda) -> Buried | None:
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        if any(acts(d) for d in defaults) or isinstance(statement, (ast.While, *CALLABLES)):
            return None
        if any(isinstance(a, (*CALLABLES, *COMPREHENSIONS)) for a in self._inside_statement(node)):
            return None
        if self._is_value(statement, node):
            return Buried(Form.FUNCTION, statement, node, node, self._target(statement), True)
        return Buried(Form.FUNCTION, statement, node, node, self._fresh("take_step"))

    def _hoisted(self, statement: ast.stmt, node: ast.expr) -> Buried | None:
        if isinstance(statement, ast.While):
            first = statement.test
            rest = (
                first.values if isinstance(first, ast.BoolOp) and isinstance(first.op, ast.And) else [first]
            )
            own = next((v for v in rest if self.syntax.inside(node, v)), None)
            if own is None or statement.orelse or not self._first(node, own):
                return None
            return Buried(Form.TESTED, statement, node, node, self._fresh("result"))
        if not self._first(node, statement):
            return None
        return Buried(Form.HOISTED, statement, node, node, self._fresh("result"))

    def _first(self, node: ast.expr, place: ast.AST) -> bool:
        """Whether a statement (or a part of it) evaluates an expression once, and nothing before it that it may change."""
        if node is place:
            return True
        found = before(self.module, node, place)
        return found is not None and all(stays(self.module, part) for part in found)

    def _loop(self, statement: ast.stmt, node: ast.expr) -> Buried | None:
        renamed = self._renamed(statement, node)
        if renamed is None:
            return None
        form, whole = self._consumed(statement, node)
        if form is None:
            return None
        if form is Form.MERGED:
            return Buried(form, statement, node, node, renamed=renamed)
        if isinstance(statement, ast.While) or not self._first(whole, statement):
            return None
        if form is Form.DROPPED:
            return Buried(form, statement, node, whole, renamed=renamed)
        target = self._target(statement) if self._is_value(statement, whole) else None
        if target is not None and self._is_free_in(target, node, statement):
            return Buried(form, statement, node, whole, target, True, renamed)
        return Buried(form, statement, node, whole, self._fresh(_NAMES.get(form, "results")), False, renamed)

    def _consumed(self, statement: ast.stmt, node: ast.expr) -> tuple[Form | None, ast.expr]:
        """What becomes of a comprehension or a mapping by what is done with its values."""
        if any(isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            return None, node
        clauses = getattr(node, "generators", ())
        if any(c.is_async or not _binds_names(c.target) for c in clauses):
            return None, node
        if isinstance(node, ast.Call) and self._is_reduce(node):
            plain = stays(self.module, node.args[2])
            return (Form.FOLDED if plain else None), node
        lazy = isinstance(node, (ast.GeneratorExp, ast.Call))
        parent = self.syntax.parent[node]
        if not lazy:
            dropped = self._is_dropped(statement, node) and not isinstance(node, ast.DictComp)
            return (Form.DROPPED if dropped else Form.COLLECTED), node
        if isinstance(parent, ast.For) and parent.iter is node:
            return (Form.MERGED if len(clauses) < 2 else None), node
        if isinstance(parent, ast.Starred):
            return Form.COLLECTED, node
        if not isinstance(parent, ast.Call) or node not in parent.args:
            return None, node
        name = parent.func.id if isinstance(parent.func, ast.Name) and self._builtin(parent.func) else ""
        if name in ("any", "all") and len(parent.args) == 1:
            return (Form.ANY if name == "any" else Form.ALL), parent
        all_of_it = self.module.names.of(parent.func) == "collections.deque" or name in _MAKES_ONLY
        if all_of_it and self._is_dropped(statement, parent):
            return Form.DROPPED, parent
        if name == "list" and len(parent.args) == 1 and not parent.keywords:
            return Form.COLLECTED, parent
        method = parent.func.attr if isinstance(parent.func, ast.Attribute) else ""
        reads = name in _GOES_THROUGH or all_of_it or method in _METHODS
        return (Form.COLLECTED if reads and len(parent.args) == 1 or name == "sum" else None), node

    def _is_dropped(self, statement: ast.stmt, whole: ast.expr) -> bool:
        """Whether nobody reads a value: it is a statement, or goes to `_`, which is read nowhere."""
        if isinstance(statement, ast.Expr):
            return statement.value is whole
        return (
            self._is_value(statement, whole)
            and self._target(statement) == "_"
            and not self.module.loads.get("_")
        )

    # ------------------------------------------------------------------ names

    def _is_value(self, statement: ast.stmt, node: ast.expr) -> bool:
        """Whether a statement only gives a value a name."""
        return isinstance(statement, ast.Assign) and statement.value is node and self._target(statement) != ""

    def _target(self, statement: ast.stmt) -> str:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name
            case _:
                return ""

    def _is_free_in(self, name: str, node: ast.expr, statement: ast.stmt) -> bool:
        """Whether nothing can tell that a name stands for a list that isn't full yet: nothing reads it meanwhile."""
        scope = self.scopes.scope(statement)
        if any(isinstance(a, ast.Try) for a in self.syntax.ancestors(statement)):
            return False
        return not any(
            isinstance(n, ast.Name)
            and (self.syntax.inside(n, node) or self.scopes.scope(n) is not scope)
            and self.scopes.lookup(name, n) is scope
            for n in self.module.loads.get(name)
        )

    def _renamed(self, statement: ast.stmt, node: ast.expr) -> dict[str, str] | None:
        """The names of a comprehension's own (or of a function that `map` is given in place) that mean something around it,
        and other names for them; None where that can't be said."""
        own: list[ast.AST] = []
        if isinstance(node, COMPREHENSIONS):
            own = [node]
        elif isinstance(node, ast.Call) and isinstance(node.args[0], ast.Lambda):
            a = node.args[0].args
            if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs or a.defaults:
                return None
            wanted = 2 if self._is_reduce(node) else len(node.args) - 1
            if len(a.args) != wanted:
                return None
            own = [node.args[0]]
        elif isinstance(node, ast.Call) and self._is_reduce(node):
            return None
        elif isinstance(node, ast.Call):  # what it is given has no name yet: by its number
            return {str(i): self._fresh("item") for i in range(len(node.args) - 1)}
        names = {name for o in own for name in self.scopes.names[o]}
        return {name: self._fresh(name) for name in sorted(names) if self._is_used(name, statement, node)}

    def _is_used(self, name: str, statement: ast.stmt, node: ast.expr) -> bool:
        """Whether a name means something in the scope of a statement, or of what is in it, outside an expression."""
        scope = self.scopes.scope(statement)
        bound = self.scopes.names[scope].get(name)
        if bound and self._is_of_other_loops(name, [b.statement for b in bound], statement):
            return False
        if bound:
            return True
        inner = (n for n in self.syntax.every(ast.Name) if n.id == name and not self.syntax.inside(n, node))
        around = {scope, *self._scopes_around(scope)}
        for n in inner:
            found = self.scopes.lookup(name, n)
            if (found is None or found in around) and (
                scope is self.scopes.root(n) or self.syntax.inside(n, scope)
            ):
                return True
        return False

    def _is_of_other_loops(self, name: str, bound: Sequence[ast.AST], statement: ast.stmt) -> bool:
        """Whether a name is only that of loops beside a statement, and read nowhere else."""
        loops = [s for s in bound if isinstance(s, ast.For)]
        inside = self.syntax.inside
        scope = self.scopes.scope(statement)
        reads = [
            n
            for n in self.module.loads.get(name)
            if isinstance(n, ast.Name) and self.scopes.lookup(name, n) is scope
        ]
        return (
            len(loops) == len(bound)
            and not any(inside(statement, loop) for loop in loops)
            and all(any(inside(n, loop) for loop in loops) for n in reads)
        )

    def _scopes_around(self, scope: ast.AST) -> Iterator[ast.AST]:
        while not isinstance(scope, ast.Module):
            scope = self.scopes.scope(scope)
            yield scope

    def _fresh(self, wanted: str) -> str:
        assert self._taken is not None
        numbered = (f"{wanted}_{n}" if n > 1 else wanted for n in itertools.count(1))
        name = next(n for n in numbered if n not in self._taken)
        self._taken.add(name)
        return name

    def _inside_statement(self, node: ast.AST) -> Iterator[ast.AST]:
        return itertools.takewhile(lambda a: not isinstance(a, ast.stmt), self.syntax.ancestors(node))

    def _builtin(self, name: ast.expr) -> bool:
        return self.scopes.is_builtin(name)


def _binds_names(target: ast.expr) -> bool:
    return all(
        isinstance(n, (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context))
        for n in ast.walk(target)
    )


_NAMES = {Form.ANY: "found", Form.ALL: "all_hold", Form.FOLDED: "total"}
