"""What the runs of a session give back: which fetched part `step` is of `_, step = session.run([train_op, global_step])`, and
of `run_values.results` in a session hook."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize import catalogue
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function, argument
from horovodize.summary.sites import Sites

_PLACEHOLDERS = ("tensorflow.compat.v1.placeholder", "tensorflow.compat.v1.placeholder_with_default")
# Libraries whose functions make no count of steps that isn't known.
_SEEN = ("tensorflow.", "numpy.")


class Fetched:
    """The fetched parts of one module."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites
        self.syntax, self.values, self.names = module.syntax, module.values, module.names

    def part(self, value: ast.expr, path: tuple[int, ...]) -> ast.expr | None:
        """The part of a value that a name is bound to: of a run's, what is fetched there."""
        if not path:
            return value
        fetches = self.fetches(value)
        if fetches is not None:
            value = next(
                (o.node for o in self.values.origins(fetches) if isinstance(o.node, (ast.List, ast.Tuple))),
                value,
            )
        parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
        return parts[path[0]] if len(path) == 1 and 0 <= path[0] < len(parts) else None

    def fed(self, made: Iterable[ast.AST]) -> Iterator[ast.expr]:
        """What sessions feed those placeholders that are among some nodes: `feed_dict={rate: 0.1 * step}`."""
        holders = {n for n in made if isinstance(n, ast.Call) and self.names.of(n.func) in _PLACEHOLDERS}
        for feed in self.syntax.every(ast.Dict) if holders else ():
            for key, value in zip(feed.keys, feed.values, strict=True):
                if key is not None and holders & set(self.values.calls(key)):
                    yield value
        for fed in self.syntax.every(ast.Assign) if holders else ():  # `feed[rate] = 0.1 * step`
            for target in fed.targets:
                if isinstance(target, ast.Subscript) and holders & set(self.values.calls(target.slice)):
                    yield fed.value

    def item(self, e: ast.Subscript) -> ast.expr | None:
        """What is fetched as `results[1]` or `results["step"]`, where all that `results` may be fetches it."""
        found = set[ast.expr | None]()
        for origin in self.values.origins(e.value):
            whole = origin.node if isinstance(origin.node, ast.expr) and not origin.path else None
            fetches = self.fetches(whole) if whole is not None else None
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

    def fetches(self, value: ast.expr) -> ast.expr | None:
        """What is fetched for a value: by the run that gives it, or by the hook that is told it."""
        if isinstance(value, ast.Attribute) and value.attr == "results":
            return self._of_hook(value)
        if not isinstance(value, ast.Call) or value not in self.sites.graph.all_runs:
            return None
        return argument(value, "fetches", 0)

    def is_told(self, results: ast.Attribute) -> bool:
        """Whether a hook is told this of a run: `run_values.results` in its `after_run`."""
        after = self.syntax.function(results)
        cls = self.syntax.method_class(after)
        if not isinstance(after, FUNCTIONS) or after.name != "after_run" or cls is None:
            return False
        told = [a.arg for a in after.args.args[2:3]]  # after `self` and the context of the run
        if not isinstance(results.value, ast.Name) or results.value.id not in told:
            return False
        return any(catalogue.is_hook(base) for base in self.values.ancestors(cls))

    def _of_hook(self, results: ast.Attribute) -> ast.expr | None:
        """What `before_run` asks for in the hook whose `after_run` is told it as `run_values.results`."""
        cls = self.syntax.method_class(self.syntax.function(results))
        if cls is None or not self.is_told(results):
            return None
        asked = [self._asked(e) for f in self._methods(cls, "before_run") for e in self.values.returned(f)]
        return asked[0] if len(asked) == 1 else None

    def _methods(self, cls: ast.ClassDef, name: str) -> list[Function]:
        """The methods of a name in a class and its bases in this module."""
        bodies = [s for c in self.values.family(cls) for s in c.body]
        return [s for s in bodies if isinstance(s, FUNCTIONS) and s.name == name]

    def _asked(self, returned: ast.expr) -> ast.expr | None:
        """The fetches of `SessionRunArgs(fetches, feed_dict=…)`."""
        is_asked = isinstance(returned, ast.Call) and self.names.last(returned.func) == "SessionRunArgs"
        return argument(returned, "fetches", 0) if is_asked and isinstance(returned, ast.Call) else None

    def run_of(self, e: ast.expr) -> tuple[ast.Call, ast.expr] | None:
        """The run that gives a name's value, and what it fetches for it; None where it may come from elsewhere, too."""
        if isinstance(e, ast.Subscript):
            calls, fetched = self.values.calls(e.value), self.item(e)
            return (calls[0], fetched) if len(calls) == 1 and fetched is not None else None
        found = set[tuple[ast.Call, ast.expr] | None]()
        for b in self.module.scopes.reaching(e) if isinstance(e, ast.Name) else ():
            run = b.value
            if b.kind == "assign" and b.path and run is not None and (taken := self._of_whole(run, b.path)):
                found.add(taken)
                continue
            if b.kind != "assign" or not isinstance(run, ast.Call) or self.fetches(run) is None:
                return None
            fetched = self.part(run, b.path) if b.path else argument(run, "fetches", 0)
            found.add((run, fetched) if fetched is not None else None)
        return found.pop() if len(found) == 1 else None

    def _of_whole(self, whole: ast.expr, path: tuple[int, ...]) -> tuple[ast.Call, ast.expr] | None:
        """The same for what is taken of all that a run gave, or of the first of it: `value, step = fetched[:2]`."""
        match whole:
            case ast.Subscript(value=ast.Name() as of, slice=ast.Slice(lower=None, step=None)):
                whole = of
        runs = self.values.calls(whole) if isinstance(whole, ast.Name) else []
        if len(runs) != 1 or len(path) != 1 or self.fetches(runs[0]) is None:
            return None
        part = self.part(runs[0], path)
        return (runs[0], part) if part is not None else None

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
