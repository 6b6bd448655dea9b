"""Where a value goes: whether a dataset is only trained on, or also split, evaluated or handed to someone else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python import fields
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, LOOPS, Function, argument
from horovodize.source.nodes import walk
from horovodize.summary.dataset_methods import LOOKED_THROUGH, METHODS, PEEKS

if TYPE_CHECKING:
    from horovodize.summary.pipeline import Pipelines

_HARMLESS = {
    "len",
    "print",
    "type",
    "isinstance",
    "id",
    "repr",
    "str",
    "hasattr",
    *(f"get_{peek}" for peek in PEEKS),
}
_PEEK_AT_MOST = 10  # `take(n)` of up to so many elements is a look at the data, not training on it


class Destinations:
    """Where the values of one module go. `feeds` are the expressions that training consumes."""

    def __init__(self, pipelines: Pipelines, feeds: set[ast.AST]) -> None:
        self.p, self.feeds = pipelines, feeds

    def only_trains(self, e: ast.AST, seen: set[ast.AST] | None = None, peek: bool = False) -> bool:
        """Whether a value goes to training, or is only looked at (its specification, a first element), and nowhere else."""
        seen = set() if seen is None else seen
        if e in self.feeds or e in seen or len(seen) > 200:
            return len(seen) <= 200
        seen.add(e)
        p, parent = self.p, self.p.syntax.parent.get(e)
        field = None if parent is None else p.syntax.field[e]
        match parent:
            case ast.Attribute():
                call = p.syntax.parent.get(parent)
                if parent.attr in PEEKS or (parent.attr == "next" and isinstance(call, ast.Call)):
                    return True  # its specification; one element, `ds.as_numpy_iterator().next()`, as by `next(…)`
                if parent.attr in METHODS and isinstance(call, ast.Call) and call.func is parent:
                    return self.only_trains(call, seen, peek or _is_peek(call))
                return False
            case ast.Call():
                return self._through_argument(e, parent, seen, peek)
            case ast.keyword():
                call = p.syntax.parent[parent]
                assert isinstance(call, ast.Call)
                return self._through_argument(e, call, seen, peek, parent.arg)
            case ast.Tuple() | ast.List():
                holder = p.syntax.parent.get(parent)
                if isinstance(holder, ast.Call) and (p.names.of(holder.func) or "").startswith(
                    "tensorflow.data."
                ):
                    return self.only_trains(holder, seen, peek)
                if isinstance(holder, ast.Return):
                    return self._through_return(
                        holder, seen, peek, parent.elts.index(e) if isinstance(e, ast.expr) else 0
                    )
                return isinstance(holder, ast.Assign) and self._bound(holder, e, seen, peek)
            case ast.Dict():
                keys = [k for k, v in zip(parent.keys, parent.values, strict=True) if v is e]
                key = keys[0].value if keys and isinstance(keys[0], ast.Constant) else None
                return key is not None and self._through_item(parent, key, seen, peek)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                return self._bound(parent, e, seen, peek)
            case ast.Return():
                return self._through_return(parent, seen, peek, None)
            case ast.For() | ast.AsyncFor() if field == "iter":
                return peek or _looks_once(parent)
            case ast.comprehension():
                return peek
            case ast.Expr():
                return True
            case ast.IfExp():
                return self.only_trains(parent, seen, peek)
            case _:
                return peek

    def _through_argument(
        self, e: ast.AST, call: ast.Call, seen: set[ast.AST], peek: bool, keyword: str | None = None
    ) -> bool:
        p = self.p
        name = p.names.last(call.func)
        if name in _HARMLESS:
            return True
        if name == "next":
            return True  # one element; steps that train on `next(iterator)` are feeds
        if name in LOOKED_THROUGH or (p.names.of(call.func) or "").startswith("tensorflow.data."):
            return self.only_trains(call, seen, peek)
        if name == "zip":
            return self.only_trains(call, seen, peek)
        field = next(
            (n for n in fields.names(p.module, call) if e in [*fields.given_as(p.module, call, n)]), None
        )
        if field is not None:
            return self._through_item(call, field, seen, peek)
        callee = self._runs(call)
        if callee is not None:
            parameter = self._parameter(callee, call, e, keyword)
            return parameter is not None and all(self.only_trains(u, seen, peek) for u in p.uses(parameter))
        return peek

    def _runs(self, call: ast.Call) -> Function | None:
        """The function of this module that gets what a call passes: of a class, the `__init__` that it or a base of it has."""
        callee = self.p.values.callee(call)
        if isinstance(callee, FUNCTIONS):
            return callee
        family = [callee, *self.p.values.family(callee)] if isinstance(callee, ast.ClassDef) else []
        made = (s for c in family for s in c.body if isinstance(s, FUNCTIONS) and s.name == "__init__")
        return next((f for f in made if call in self.p.values.callers(f)), None)

    def _parameter(
        self, function: Function, call: ast.Call, e: ast.AST, keyword: str | None
    ) -> Binding | None:
        for bindings in self.p.scopes.names[function].values():
            for b in bindings:
                if b.kind == "parameter" and (
                    b.name == keyword or (keyword is None and e in self._passed_by(b, call))
                ):
                    return b
        return None

    def _passed_by(self, b: Binding, call: ast.Call) -> list[ast.expr]:
        return [v for v in self.p.values.passed(b) if v in call.args]

    def _through_item(self, made: ast.expr, key: object, seen: set[ast.AST], peek: bool) -> bool:
        """What is read of a dict by a key, or of a record by a field: `data["train"]` of `data = {"train": …}`, `data.train` of
        `data = Data(train, test)`, also where a function makes it."""
        kept = self._kept(made)
        reads = [self.p.syntax.parent.get(use) for b in kept for use in self.p.uses(b)]
        return bool(kept) and all(
            read is not None
            and (name := _key_of(read, made)) is not None
            and (name != key or self.only_trains(read, seen, peek))
            for read in reads
        )

    def _kept(self, made: ast.expr) -> list[Binding]:
        """The names that a dict or a record has: where it is made, or where its function is called. None where it goes
        elsewhere, too."""
        p, parent = self.p, self.p.syntax.parent.get(made)
        function = p.syntax.function(made) if isinstance(parent, ast.Return) else None
        values = p.values.callers(function) if function is not None else [made]
        kept = [b for value in values for b in p.given_to(value)]
        return kept if len(kept) == len(values) else []

    def _bound(self, statement: ast.AST, value: ast.AST, seen: set[ast.AST], peek: bool) -> bool:
        p = self.p
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]  # type: ignore[attr-defined]
        every = [
            b
            for table in (*p.scopes.names.values(), p.scopes.attributes)
            for bindings in table.values()
            for b in bindings
            if not isinstance(b.anchor, ast.Subscript)
            and any(b.anchor is t or b.anchor in walk(t) for t in targets)
            and (b.value is value or b.path)
        ]
        return bool(every) and all(self.only_trains(use, seen, peek) for b in every for use in p.uses(b))

    def _through_return(
        self, statement: ast.Return, seen: set[ast.AST], peek: bool, part: int | None
    ) -> bool:
        p = self.p
        function = p.syntax.function(statement)
        if function is None:
            return False
        callers = p.values.callers(function)
        if part is None:
            return bool(callers) and all(self.only_trains(c, seen, peek) for c in callers)
        for call in callers:
            holder = p.syntax.parent.get(call)
            if isinstance(holder, ast.Starred):
                bound = self._unpacked_into(holder, part)
                if not bound or not all(self.only_trains(u, seen, peek) for b in bound for u in p.uses(b)):
                    return False
                continue
            if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
                return False
            target = holder.targets[0]
            if not isinstance(target, (ast.Tuple, ast.List)) or part >= len(target.elts):
                return False
            bound = [
                b for table in (*p.scopes.names.values(), p.scopes.attributes) for found in table.values() for b in found
                if b.anchor is target.elts[part] and not isinstance(b.anchor, ast.Subscript)
            ]  # fmt: skip
            if not all(self.only_trains(use, seen, peek) for b in bound for use in p.uses(b)):
                return False
        return bool(callers)

    def _unpacked_into(self, starred: ast.Starred, part: int) -> list[Binding]:
        """The parameter that gets a part of what a call unpacks: `train(*data())`."""
        call = self.p.syntax.parent.get(starred)
        function = self.p.values.callee(call) if isinstance(call, ast.Call) else None
        tables = self.p.scopes.names[function].values() if isinstance(function, FUNCTIONS) else ()
        parameters = [b for bound in tables for b in bound if b.kind == "parameter"]
        return [b for b in parameters if (starred.value, part) in self.p.values.graph.unpacked(b)]


def _key_of(read: ast.AST, made: ast.expr) -> object:
    """By which key a dict is read, or by which field a record; None where it is done otherwise."""
    if isinstance(made, ast.Dict):
        return (
            read.slice.value
            if isinstance(read, ast.Subscript) and isinstance(read.slice, ast.Constant)
            else None
        )
    return read.attr if isinstance(read, ast.Attribute) else None


def _is_peek(call: ast.Call) -> bool:
    count = argument(call, "count", 0)
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "take"
        and isinstance(count, ast.Constant)
        and isinstance(count.value, int)
        and 0 <= count.value <= _PEEK_AT_MOST
    )


def _looks_once(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop leaves at its first element."""
    inside = [n for s in loop.body for n in walk(s)]
    return isinstance(loop.body[-1], ast.Break) and not any(
        isinstance(n, (ast.Continue, *LOOPS)) for n in inside
    )
