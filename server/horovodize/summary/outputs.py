"""Which statements are output as a whole, so that one rank may run them alone.

A statement is, when it calls something that prints, shows or writes; a compound statement is, when nothing else happens in
it: what it binds is used in it only, and nothing inside is shared between ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, LOOPS, arguments, is_main_guard, position
from horovodize.source.nodes import walk
from horovodize.summary.beside import Beside
from horovodize.summary.effects import Effects
from horovodize.summary.hoist_arguments import TakingOut
from horovodize.summary.traced import makes_operations

_WRITING = {
    "write",
    "writelines",
    "writerow",
    "writerows",
    "writeheader",
    "flush",
    "close",
    "create_dataset",
    "writestr",
}
_AT_ONCE = {"write", "writelines", "close", "writerow", "writerows"}
_READING = {"read", "readline", "readlines"}
_LISTING = ("glob.glob", "os.listdir", "os.scandir", "os.walk")
_EXITS = ("exit", "quit", "sys.exit", "os._exit")


class Outputs:
    """Output statements of one module. `early` holds what runs before Horovod is initialised: no rank is known there. Where
    other ranks are `silenced`, what only speaks (`Effects.speaks`) is no output: all of them may run it."""

    def __init__(self, module: Module, effects: Effects, early: set[ast.AST], silenced: bool = False) -> None:
        self.module, self.effects, self.early, self.silenced = module, effects, early, silenced
        self.beside, self.opening = Beside(module, effects, early), effects.opening
        self._known: dict[ast.stmt, bool] = {}
        self._by_scope: dict[str, dict[ast.AST | None, list[ast.Name]]] = {}

    # ------------------------------------------------------------------ statements

    def is_output(self, statement: ast.stmt) -> bool:
        """Whether a statement is nothing but output that one rank may make alone."""
        if statement not in self._known:
            if statement not in self._around_output:
                self._known[statement] = False
            elif self.effects.may_be_traced(statement):
                self._known[statement] = self._prints_only(statement)
            else:
                self._known[statement] = self._whole(statement, statement)
        return self._known[statement]

    def _prints_only(self, statement: ast.stmt) -> bool:
        """In traced code: whether a statement is one output call that adds no other operations to the graph."""
        if self._call_of(statement) is None or not isinstance(statement, ast.Expr):
            return False
        return not makes_operations(statement) and not self._argument_shares(statement, statement)

    def on_root(self, node: ast.AST) -> bool:
        """Whether a node is a statement that goes to one rank."""
        return isinstance(node, ast.stmt) and self.is_output(node) and not self.must_stay(node)

    def hides(self, statement: ast.stmt) -> bool:
        """Whether an expression statement is output around something that every rank must run."""
        if (
            statement not in self._around_output
            or self._call_of(statement) is None
            or self.is_output(statement)
        ):
            return False
        return (
            self.effects.may_be_traced(statement) or self.effects.shares(statement)
        ) and not self.must_stay(statement)

    def must_stay(self, statement: ast.stmt) -> bool:
        """Whether every rank keeps its output: Horovod has not started yet, or it is the last word before the end."""
        if self.is_early(statement):
            return True
        block = self.module.syntax.block(statement)
        return _ends(self.module, block[-1]) and not self.writes_in(statement)

    def is_early(self, node: ast.AST) -> bool:
        """Whether a node runs before Horovod is initialised."""
        function = self.module.syntax.function(node)
        return (function if function is not None else self.module.syntax.statement(node)) in self.early

    def writes_in(self, statement: ast.stmt) -> list[ast.Call]:
        """The calls in an output statement that write files."""
        return [n for n in walk(statement) if isinstance(n, ast.Call) and self.writes(n)]

    def writes(self, call: ast.Call) -> bool:
        """Whether a call writes files, or opens one to write, where that is to be guarded."""
        if self.beside.is_guarded_outside(call):
            return False
        if self.beside.puts_out(call):
            return True
        output = self.effects.output_calls.of(call)
        return (output is not None and output.kind == "write") or self.opening.written(call) is not None

    def to_lift(self, statement: ast.Expr) -> list[ast.expr] | None:
        """The parts of an output statement that every rank must run; None where they can't be taken out."""
        return TakingOut(self.effects).parts(statement)

    def is_around_output(self, statement: ast.stmt) -> bool:
        """Whether something in a statement may be output; else none of the statements in it is, either."""
        return statement in self._around_output

    def may_join(self, statement: ast.stmt) -> bool:
        """Whether a statement that is no output may stand in one guard with what is: all ranks, or one, may run it."""
        if self.effects.plots(statement):
            return True
        call = statement.value if isinstance(statement, ast.Expr) else None
        speaks = self.silenced and isinstance(call, ast.Call) and self.effects.output_calls.speaks(call)
        return speaks and not self.effects.shares(statement)

    def _call_of(self, statement: ast.stmt) -> ast.Call | None:
        """The output call that an expression statement is."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Tuple) and len(call.elts) == 1:
            call = call.elts[0]  # `print(x),`
        if isinstance(call, ast.Call):
            if self.effects.output_calls.of(call) is not None or self.beside.puts_out(call):
                return call
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr in _AT_ONCE
                and isinstance(call.func.value, ast.Call)
                and self.opening.is_opened_here(call.func.value)
            ):
                return call  # open(path, "w").write(…)
        return None

    def _argument_shares(self, s: ast.Expr, root: ast.stmt) -> bool:
        """Whether something in an output call is shared: the call itself aside."""
        return any(self._shares(c, root) for c in ast.iter_child_nodes(s.value))

    def _shares(self, e: ast.AST, root: ast.stmt) -> bool:
        """Whether an expression in `root` is shared between ranks: reading a file that is opened in there, and drawing from a
        generator that is made in there, aside."""
        calls = (n for n in walk(e) if isinstance(n, ast.Call))
        made = {n: self.effects.generators(n) for n in calls}
        drawn = {n for n, m in made.items() if m and all(self.module.syntax.inside(c, root) for c in m)}
        own = drawn | {
            n
            for n in walk(e)
            if isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr in _READING
            and isinstance(n.func.value, ast.Name)
            and any(
                b.kind == "with" and self.module.syntax.inside(b.statement, root)
                for b in self.module.scopes.reaching(n.func.value)
            )
        }
        return self.effects.shares(e, own)

    @cached_property
    def _around_output(self) -> set[ast.AST]:
        """Every call that puts something out or opens a file for writing, and all that stands around one: few are, and only
        they need a closer look."""
        found: set[ast.AST] = set()
        for call in self.candidates:
            speaks = self.silenced and self.effects.output_calls.speaks(call)
            output = self.effects.output_calls.of(call) is not None and not speaks
            output = output or self.opening.written(call) is not None or self.beside.puts_out(call)
            if output and not self.beside.is_guarded_outside(call):
                found.add(call)
                for around in self.module.syntax.ancestors(call):
                    if around in found:
                        break
                    found.add(around)
        return found

    @cached_property
    def candidates(self) -> list[ast.Call]:
        """The calls that may put something out, in the order of the text."""
        calls = self.module.syntax.calls
        if self.beside.puts_anything_out:
            return calls
        found = {*self.effects.output_calls.candidates, *self.opening.calls}
        return [call for call in calls if call in found]

    # ------------------------------------------------------------------ compound statements

    def _whole(self, s: ast.stmt, root: ast.stmt) -> bool:
        """Whether a statement inside `root` does nothing but put out."""
        effects = self.effects
        match s:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case ast.Expr():
                if self._call_of(s) is not None and not self._argument_shares(s, root):
                    return True
                return s is not root and (
                    effects.plots(s)
                    or (s.value in effects.output_calls.of_all and bool(self.writes_in(root)))
                    or self._writes_own_file(s, root)
                )
            case ast.Continue() | ast.Break():
                return any(
                    isinstance(loop, LOOPS) and self.module.syntax.inside(loop, root)
                    for loop in self.module.syntax.loops(s)
                )
            case (
                ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List() as target], value=value)
                | ast.AugAssign(target=ast.Name() as target, value=value)
            ):
                return s is not root and not self._shares(value, root) and self.private(target, root)
            case ast.Assign(targets=[ast.Subscript(value=ast.Name() as base, slice=at)], value=value):
                own = s is not root and self._is_made_in(base, root)
                return own and not self._shares(value, root) and not self._shares(at, root)
            case ast.If():
                if is_main_guard(s) or effects.shares(s.test):
                    return False
                return all(self._whole(x, root) for x in (*s.body, *s.orelse))
            case ast.For():
                if (
                    not self._repeatable(s.iter)
                    or self._shares(s.iter, root)
                    or not self.private(s.target, root)
                ):
                    return False
                return all(self._whole(x, root) for x in (*s.body, *s.orelse))
            case ast.With():
                return all(self._own_context(i, root) for i in s.items) and all(
                    self._whole(x, root) for x in s.body
                )
            case ast.Try():
                inner = [*s.body, *s.orelse, *s.finalbody, *(x for h in s.handlers for x in h.body)]
                return all(self._whole(x, root) for x in inner)
            case _:
                return False

    def _own_context(self, item: ast.withitem, root: ast.stmt) -> bool:
        """A `with` may go to one rank when it opens a file, to write or to read, under a name used only in it."""
        e = item.context_expr
        if not isinstance(e, ast.Call) or self.effects.shares(e):
            return False
        if not self.opening.is_open(e):
            return False
        return item.optional_vars is None or self.private(item.optional_vars, root)

    def _writes_own_file(self, s: ast.stmt, root: ast.stmt) -> bool:
        """`f.write(…)` where `f` is opened for writing by a `with` inside `root` (or a csv writer on it)."""
        match s:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() as base, attr=method)) as call):
                pass
            case _:
                return False
        if any(self.effects.shares(a) for a in arguments(call)):
            return False
        bindings = [
            b for b in self.module.scopes.reaching(base) if self.module.syntax.inside(b.statement, root)
        ]
        if any(isinstance(b.value, ast.Call) and self.opening.written(b.value) is not None for b in bindings):
            return True
        return method in _WRITING and bool(bindings)

    def _is_made_in(self, base: ast.Name, root: ast.stmt) -> bool:
        """Whether what an item of is set is made, and used, in `root` only: by a call, no other name of something outside."""
        bindings = self.module.scopes.reaching(base)
        return all(
            self.module.syntax.inside(b.statement, root)
            and isinstance(b.value, (ast.Call, ast.List, ast.Dict, ast.ListComp, ast.DictComp))
            and isinstance(b.anchor, ast.Name)
            and self.private(b.anchor, root)
            for b in bindings
        )

    def private(self, target: ast.expr, root: ast.stmt) -> bool:
        """Whether the names of a target are used inside `root` only."""
        m = self.module
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(self.private(e, root) for e in target.elts)
        if not isinstance(target, ast.Name):
            return False
        scope = m.scopes.lookup(target.id, target)
        return scope is not None and not any(
            not m.syntax.inside(n, root)
            and any(m.syntax.inside(b.anchor, root) for b in m.scopes.reaching(n))
            for n in self._reads_of(target.id).get(scope, ())
        )

    def _reads_of(self, name: str) -> dict[ast.AST | None, list[ast.Name]]:
        """Where a name is read, by the scope that binds it."""
        if name not in self._by_scope:
            found = self._by_scope[name] = {}
            for n in self._reads.get(name, ()):
                found.setdefault(self.module.scopes.lookup(name, n), []).append(n)
        return self._by_scope[name]

    @cached_property
    def _reads(self) -> dict[str, list[ast.Name]]:
        found: dict[str, list[ast.Name]] = {}
        for n in self.module.syntax.nodes:
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                found.setdefault(n.id, []).append(n)
        return found

    def _repeatable(self, e: ast.expr) -> bool:
        """Whether iterating over an expression uses nothing up: not over an iterator or a dataset that others share."""
        m = self.module
        match e:
            case ast.Tuple() | ast.List() | ast.Dict() | ast.Set() | ast.Constant() | ast.ListComp():
                return True
            case ast.Call(func=ast.Name(id=name)) if not m.scopes.reaching(e.func):  # type: ignore[arg-type]
                if name in ("range", "sorted", "dir", "vars"):
                    return True
                return name in ("enumerate", "zip", "reversed", "list", "tuple", "set") and all(
                    self._repeatable(a) for a in e.args
                )
            case ast.Call() if m.names.of(e.func) in _LISTING:
                return True
            case ast.Call(
                func=ast.Attribute(
                    attr="glob"
                    | "rglob"
                    | "iterdir"
                    | "items"
                    | "keys"
                    | "values"
                    | "split"
                    | "splitlines"
                    | "readlines"
                    | "flatten"
                    | "tolist"
                    | "numpy"
                )
            ):
                return True
            case ast.Attribute(
                attr="layers"
                | "weights"
                | "variables"
                | "trainable_variables"
                | "trainable_weights"
                | "columns"
            ):
                return True
            case ast.Subscript(slice=ast.Slice() | ast.Constant(value=str())):
                return True
            case ast.Name() | ast.Attribute():
                origins = m.values.origins(e)
                return all(
                    not o.path and o.node is not e and isinstance(o.node, ast.expr)
                    and not isinstance(o.node, (ast.Name, ast.Attribute)) and self._repeatable(o.node)
                    for o in origins
                )  # fmt: skip
            case _:
                return False


def _ends(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement ends the program, or the call with an error."""
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        return module.names.of(func) in _EXITS or (isinstance(func, ast.Name) and func.id in _EXITS)
    return False


def early_nodes(module: Module, last: ast.stmt | None) -> set[ast.AST]:
    """What runs before the statements after `last` (a statement at module level): statements outside functions, and the
    functions that they call."""
    if last is None:
        return set()
    end = (last.end_lineno or last.lineno, last.end_col_offset or 0)
    return run_by(module, [s for s in module.scopes.root(last).body if position(s) < end])


def run_by(module: Module, statements: Iterable[ast.stmt]) -> set[ast.AST]:
    """What runs when statements at module level do: they themselves, those in them, and the functions that they call."""
    nodes = [n for statement in statements for n in _outside_functions(statement)]
    found: set[ast.AST] = {n for n in nodes if isinstance(n, ast.stmt)}
    todo = [n for n in nodes if isinstance(n, ast.Call)]
    while todo:
        callee = module.values.callee(todo.pop())
        if callee is not None and callee not in found:
            found.add(callee)
            todo += [n for n in walk(callee) if isinstance(n, ast.Call)]
    return found


def _outside_functions(statement: ast.stmt) -> list[ast.AST]:
    found: list[ast.AST] = []
    todo: list[ast.AST] = [statement]
    while todo:
        n = todo.pop()
        if not isinstance(n, FUNCTIONS):
            found.append(n)
            todo += ast.iter_child_nodes(n)
    return found
