"""What the runs of a session give back: which fetched part `step` is of `_, step = session.run([train_op, global_step])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.summary.module import Module
from horovodize.summary.sites import Sites
from horovodize.summary.syntax import argument

# Libraries whose functions make no count of steps that isn't known.
_SEEN = ("tensorflow.", "numpy.")


class Fetched:
    """The fetched parts of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites
        self.values, self.names = module.values, module.names

    def part(self, value: ast.expr, path: tuple[int, ...]) -> ast.expr | None:
        """The part of a value that a name is bound to: of a run's, what is fetched there."""
        if not path:
            return value
        fetches = self._fetches(value)
        if fetches is not None:
            value = next(
                (o.node for o in self.values.origins(fetches) if isinstance(o.node, (ast.List, ast.Tuple))),
                value,
            )
        parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
        return parts[path[0]] if len(path) == 1 and 0 <= path[0] < len(parts) else None

    def item(self, e: ast.Subscript) -> ast.expr | None:
        """What is fetched as `results[1]` or `results["step"]`, where all that `results` may be fetches it."""
        found = set[ast.expr | None]()
        for origin in self.values.origins(e.value):
            run = origin.call
            fetches = self._fetches(run) if run is not None else None
            found |= set(self._entries(fetches, e.slice)) if fetches is not None else {None}
        return found.pop() if len(found) == 1 else None

    def _entries(self, fetches: ast.expr, at: ast.expr) -> Iterator[ast.expr | None]:
        key = at.value if isinstance(at, ast.Constant) else None
        for origin in self.values.origins(fetches):
            node = origin.node
            if isinstance(node, ast.Dict) and isinstance(key, str):
                keys = [k.value if isinstance(k, ast.Constant) else None for k in node.keys]
                yield node.values[keys.index(key)] if key in keys else None
            elif (
                isinstance(node, (ast.List, ast.Tuple)) and isinstance(key, int) and not isinstance(key, bool)
            ):
                yield self.part(node, (key,))
            else:
                yield None

    def _fetches(self, value: ast.expr) -> ast.expr | None:
        if not isinstance(value, ast.Call) or value not in self.sites.graph.all_runs:
            return None
        return argument(value, "fetches", 0)

    def run_of(self, e: ast.expr) -> tuple[ast.Call, ast.expr] | None:
        """The run that gives a name's value, and what it fetches for it; None where it may come from elsewhere, too."""
        if isinstance(e, ast.Subscript):
            calls, fetched = self.values.calls(e.value), self.item(e)
            return (calls[0], fetched) if len(calls) == 1 and fetched is not None else None
        found = set[tuple[ast.Call, ast.expr] | None]()
        for b in self.module.scopes.reaching(e) if isinstance(e, ast.Name) else ():
            run = b.value
            if b.kind != "assign" or not isinstance(run, ast.Call) or self._fetches(run) is None:
                return None
            fetched = self.part(run, b.path) if b.path else argument(run, "fetches", 0)
            found.add((run, fetched) if fetched is not None else None)
        return found.pop() if len(found) == 1 else None

    def is_unseen(self, fetched: ast.expr) -> bool:
        """Whether what is fetched is made where this program doesn't show it: `model.global_step` of an imported class."""
        return all(self._is_unseen(o.node) for o in self.values.origins(fetched))

    def _is_unseen(self, node: ast.AST) -> bool:
        match node:
            case ast.Call():
                return self.values.callee(node) is None and self._is_unseen(node.func)
            case ast.Attribute() | ast.Name():
                name = self.names.of(node)
                if name is not None:
                    return not name.startswith(_SEEN)
                return isinstance(node, ast.Name) or self.is_unseen(node.value)
            case _:
                return isinstance(node, (ast.arg, ast.alias))

    def same(self, a: ast.expr, b: ast.expr) -> bool:
        """Whether two expressions are the same attribute of the same thing, though it isn't seen: `model.global_step`."""
        return any(
            isinstance(x.node, ast.Attribute)
            and isinstance(y.node, ast.Attribute)
            and x.path == y.path
            and x.node.attr == y.node.attr
            and set(self.values.origins(x.node.value)) == set(self.values.origins(y.node.value))
            for x in self.values.origins(a)
            for y in self.values.origins(b)
        )
