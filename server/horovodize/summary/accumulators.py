"""Variables that gather the gradients of several batches until an optimizer applies them: gradient accumulation.

for a, g in zip(gathered, tape.gradient(loss, weights)):
    a.assign_add(g)
…
optimizer.apply_gradients(zip(gathered, weights))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.python.values import ITEM

_FETCHED = 400  # nodes that are looked at behind what a session is to fetch


class Accumulators:
    """The accumulators of one module. `method_calls` gives the calls of methods of some names."""

    def __init__(self, module: Module, method_calls: Callable[..., Iterable[ast.Call]]) -> None:
        self.module, self.method_calls = module, method_calls
        self._applied: set[ast.AST] = set()

    def through(self, made: ast.Call) -> list[ast.expr]:
        """What is assigned to the variable that a call makes, on the way back from an optimizer to its gradients."""
        if made not in self._gathered:
            return []
        self._applied.add(made)
        return self._gathered[made]

    def is_applied(self, variable: ast.expr) -> bool:
        """Whether an optimizer's gradients were followed through a variable; all of them have been looked at by now."""
        made = self._makers(variable)
        return bool(made) and all(call in self._applied for call in made)

    def are_applied_by(self, update: ast.Call) -> bool:
        """Whether an operation of a graph is `apply_gradients`, and what it applies is what such variables hold."""
        if not isinstance(update.func, ast.Attribute) or update.func.attr != "apply_gradients":
            return False
        pairs = argument(update, "grads_and_vars", 0)
        origins = [o.node for o in self.module.values.origins(pairs)] if pairs is not None else []
        firsts = [first for origin in origins for first in self._firsts(origin)]
        return bool(firsts) and all(self._hold(first) for first in firsts)

    def are_applied_in(self, run: ast.Call, train_ops: set[ast.AST]) -> bool:
        """Whether a session's run applies what variables have gathered in runs before, and no other gradients. train_ops: the
        operations of the graph that train."""
        fetched = train_ops & set(self.module.values.depends(run.args[:1], _FETCHED))
        calls = [n for n in fetched if isinstance(n, ast.Call)]
        return bool(calls) and all(self.are_applied_by(call) for call in calls)

    def are_moved_in(self, run: ast.Call) -> bool:
        """Whether a session's run adds to such variables, or clears them."""
        fetched = self.module.values.depends(run.args[:1], _FETCHED)
        calls = (n for n in fetched if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
        return any(
            made in self._gathered
            for n in calls
            if isinstance(n.func, ast.Attribute) and n.func.attr in ("assign_add", "assign")
            for made in self._makers(n.func.value)
        )

    def _firsts(self, pairs: ast.AST) -> list[tuple[ast.expr, bool]]:
        """The first of each of some pairs; or what all of them are the items of, and then True."""
        match pairs:
            case (
                ast.ListComp(elt=ast.Tuple(elts=[first, _]))
                | ast.GeneratorExp(elt=ast.Tuple(elts=[first, _]))
            ):
                return [(first, False)]
            case ast.List(elts=items):
                return [(item.elts[0], False) for item in items if isinstance(item, ast.Tuple)]
            case ast.Call(func=ast.Name(id="zip"), args=[first, _]):
                return [(first, True)]
            case ast.Call(func=ast.Name(id="list"), args=[inner]):
                return self._firsts(inner)
        return []

    def _hold(self, first: tuple[ast.expr, bool]) -> bool:
        e, is_list = first
        items = self.module.values._follow(e, (ITEM,), set()) if is_list else []
        made = [o.call for o in items if o.call is not None] if is_list else self._makers(e)
        return bool(made) and all(call in self._gathered for call in made)

    @cached_property
    def _gathered(self) -> dict[ast.AST, list[ast.expr]]:
        """What is assigned to variables that are not trained themselves, by the calls that make them."""
        found: dict[ast.AST, list[ast.expr]] = {}
        for call in self.method_calls("assign_add", "assign"):
            value = argument(call, "delta", 0) or argument(call, "value", 0)
            assert isinstance(call.func, ast.Attribute)
            if value is None:
                continue
            for made in self._makers(call.func.value):
                if self.module.names.of(made.func) == "tensorflow.Variable":
                    found.setdefault(made, []).append(value)
        for node in self._trained() if found else ():
            found.pop(node, None)
        return found

    def _trained(self) -> Iterable[ast.AST]:
        """What the variables are made of with respect to which gradients are taken."""
        for call in self.method_calls("gradient", "jacobian"):
            sources = argument(call, "sources", 1)
            if sources is not None:
                yield from self.module.values.depends([sources], 200)

    def _makers(self, variable: ast.expr) -> list[ast.Call]:
        """The calls that make a variable, or an item of a list of variables."""
        values = self.module.values
        items = values.origins(variable)
        if isinstance(variable, ast.Subscript):
            items = list(values._follow(variable.value, (ITEM,), set()))
        found = [o.call for o in items if o.call is not None]
        return found + [c for o in items if o.path == (ITEM,) for c in self._put_into(o.node)]

    def _put_into(self, listed: ast.AST) -> list[ast.Call]:
        """The calls that make what is put into a list: `kept = []`, `kept.extend([tf.Variable(g) for g in gradients])`."""
        values, found = self.module.values, list[ast.Call]()
        for put in self.method_calls("append", "extend") if isinstance(listed, ast.List) else ():
            assert isinstance(put.func, ast.Attribute)
            if put.args and any(o.node is listed and not o.path for o in values.origins(put.func.value)):
                path = (ITEM,) if put.func.attr == "extend" else ()
                found += [o.call for o in values._follow(put.args[-1], path, set()) if o.call is not None]
        return found
