"""Where optimizers come from: from an expression back to what makes them.

Names, branches, functions, optimizers around others, and what this file puts into a list or a dict are followed. What can't
be followed is where following ends: restrictions say so, and rules ask or refuse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument, arguments
from horovodize.python.values import ITEM, Origin

_AROUND = (
    "LossScaleOptimizer",
    "MovingAverage",
    "MovingAverageOptimizer",
    "SWA",
    "Lookahead",
    "enable_mixed_precision_graph_rewrite",
    "TFOptimizer",  # of Keras, around one of TensorFlow 1
)
_SEVERAL = ("tensorflow.keras.optimizers.MultiOptimizer", "tensorflow_addons.optimizers.MultiOptimizer")
_FAR = 200  # nodes that what is passed is made of
_INNER = ("inner_optimizer", "optimizer", "opt")  # what they call the optimizer inside
_ADDING = {"append": 0, "add": 0, "insert": 1, "setdefault": 1}  # methods, and which argument they add
_READING = (
    "len",
    "list",
    "tuple",
    "sorted",
    "enumerate",
    "zip",
    "iter",
    "print",
    "reversed",
    "isinstance",
    "id",
)


@dataclass(frozen=True, eq=False)
class Arrival:
    """Where following an optimizer ends.

    node       what makes it, or what can't be followed
    part       it is a part of the node's value, not all of it
    outermost  the optimizer that was met first on the way here, around others; None where there is none
    keys       what it is picked by, of several in a list or dict
    """

    node: ast.AST
    part: bool
    outermost: ast.Call | None
    keys: tuple[ast.expr, ...] = ()


class Optimizers:
    """The optimizers of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._arrivals: dict[ast.expr, tuple[Arrival, ...]] = {}

    def arrivals(self, expression: ast.expr) -> tuple[Arrival, ...]:
        """All that an optimizer may be; at least one."""
        if expression not in self._arrivals:
            self._arrivals[expression] = tuple(self._follow(expression))
        return self._arrivals[expression]

    def _follow(self, expression: ast.expr) -> Iterator[Arrival]:
        todo: list[tuple[ast.expr, ast.Call | None, tuple[ast.expr, ...]]] = [(expression, None, ())]
        seen: set[ast.AST] = set()
        ended: set[ast.AST] = set()
        while todo:
            e, outermost, keys = todo.pop()
            if e in seen:
                continue
            seen.add(e)
            for origin in self.module.values.origins(e):
                inner = self._inside(origin.call) if origin.call is not None else None
                if inner is not None:
                    todo.append((inner, outermost or origin.call, keys))
                    continue
                if origin.call is not None and self.module.names.of(origin.call.func) in _SEVERAL:
                    several = self._for_variables(origin.call)
                    todo += [(value, outermost or origin.call, keys) for value in reversed(several)]
                    if not several:
                        yield Arrival(origin.call, True, outermost, keys)
                    continue
                made = self._made_by_picked(origin.call) if origin.call is not None else None
                if made is not None:
                    todo += [(value, outermost, (*keys, made[0])) for value in reversed(made[1])]
                    continue
                held = self._held(origin)
                if held is not None:
                    key = _key(origin.node) if len(held) > 1 else None
                    by = (*keys, key) if key is not None else keys
                    todo += [(value, outermost, by) for value in reversed(held)]
                elif origin.node not in ended:
                    ended.add(origin.node)
                    yield Arrival(origin.node, bool(origin.path), outermost, keys)

    def _inside(self, call: ast.Call) -> ast.expr | None:
        """The optimizer in one that goes around it (loss scaling, moving averages, lookahead)."""
        if self.module.names.last(call.func) not in _AROUND:
            return None
        given = (argument(call, keyword, 0) for keyword in _INNER)
        return next((value for value in given if value is not None), None)

    def _for_variables(self, call: ast.Call) -> list[ast.expr]:
        """Optimizers that one keeps, each for some variables: of an `OptimizerMap`, of a function that is asked for each
        variable, of pairs with layers; none where not all can be seen."""
        given = argument(call, "optimizer_map", 0) or argument(call, "optimizers_and_layers")
        found = list[ast.expr]()
        for origin in self.module.values.origins(given) if given is not None else ():
            node = origin.node if not origin.path else None
            if isinstance(node, ast.Call) and self.module.names.last(node.func) == "OptimizerMap":
                kept = self._of_map(node)
            elif isinstance(node, CALLABLES):
                kept = list(self.module.values.returned(node))
            elif isinstance(node, (ast.List, ast.Tuple)):
                pairs = [e for e in node.elts if isinstance(e, ast.Tuple) and e.elts]
                kept = [e.elts[0] for e in pairs] if len(pairs) == len(node.elts) else []
            else:
                kept = []
            if not kept:
                return []
            found += kept
        return found

    def _of_map(self, made: ast.Call) -> list[ast.expr]:
        """`OptimizerMap(Adam(), {"body/.*": SGD()})`, and what is put into it later: `optimizers["body/.*"] = SGD()`"""
        default, mapped = argument(made, "default_optimizer", 0), argument(made, "optimizer_map", 1)
        held = self._content(mapped) if mapped is not None else []
        if default is None or held is None:
            return []
        put = [
            statement.value
            for statement in self.module.syntax.every(ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Subscript) and made in self.module.values.calls(target.value)
        ]
        return [default, *held, *put]

    def _made_by_picked(self, call: ast.Call) -> tuple[ast.expr, list[ast.expr]] | None:
        """(the key, what they give) of functions of this program of which one is picked by a key, and called:
        `factory[name](0.1)`; None where something else may be picked."""
        held = self._held(Origin(call.func)) if isinstance(call.func, (ast.Subscript, ast.Call)) else None
        key = _key(call.func)
        if not held or key is None or not self._is_given_numbers(call):
            return None
        picked = [o.node for e in held for o in self.module.values.origins(e) if not o.path]
        if not all(isinstance(f, ast.FunctionDef) for f in picked):
            return None
        return key, [value for f in picked for value in self.module.values.returned(f)]

    def _is_given_numbers(self, call: ast.Call) -> bool:
        """Whether nothing that TensorFlow or a class of the program makes is passed: a schedule, whose steps are to be divided
        where it is made, and which can't be multiplied where it is used."""
        made = (
            n
            for n in self.module.values.depends(arguments(call), _FAR)
            if isinstance(n, ast.Call) and n is not call
        )
        return not any(
            (self.module.names.of(n.func) or "").startswith("tensorflow.")
            or isinstance(self.module.values.callee(n), ast.ClassDef)
            for n in made
        )

    # ------------------------------------------------------------------ lists and dicts

    def _held(self, origin: Origin) -> list[ast.expr] | None:
        """What a value that is taken out of a container may be; None where it is not, or more may be in it than is seen."""
        match origin:
            case Origin(ast.Subscript(value=container, slice=key), ()) if not isinstance(key, ast.Slice):
                return self._content(container, key)
            case Origin(
                ast.Call(func=ast.Attribute(value=container, attr="get" | "pop"), args=[key, *default]), ()
            ):
                content = self._content(container, key)
                return [*content, *default] if content is not None else None
            case Origin(ast.Call(func=ast.Attribute(value=container, attr="values"), args=[]), (path,)) if (
                path == ITEM
            ):
                return self._content(container)
            case Origin(ast.Call(func=ast.Attribute(value=container, attr="items"), args=[]), (path, 1)) if (
                path == ITEM
            ):
                return self._content(container)
            case Origin(ast.List() | ast.Tuple() as container, (path,)) if path == ITEM:
                return self._content(container)
        return None

    def _content(self, container: ast.expr, key: ast.expr | None = None) -> list[ast.expr] | None:
        """What a list or dict of this file may hold, at a key where that is known."""
        made = self.module.values.origins(container)
        found: list[ast.expr] = []
        for origin in made:
            values = None if origin.path else self._written(origin.node, key)
            if values is None:
                return None
            found += values
        nodes = {origin.node for origin in made}
        for node in self.module.syntax.nodes:
            if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
                continue
            if nodes & {o.node for o in self.module.values.origins(node)}:
                added = self._added(node, key)
                if added is None:
                    return None
                found += added
        return found or None

    def _written(self, node: ast.AST, key: ast.expr | None) -> list[ast.expr] | None:
        match node:
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return [v for k, v in zip(keys, values, strict=True) if _may_be(k, key)]
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return None if any(isinstance(e, ast.Starred) for e in elements) else list(elements)
            case ast.DictComp(value=value) | ast.ListComp(elt=value):
                return [value]
            case ast.Call(func=ast.Name(id="dict" | "list" | "OrderedDict"), args=[], keywords=keywords):
                named = [k for k in keywords if k.arg is not None]
                return [k.value for k in named] if len(named) == len(keywords) else None
        return None

    def _added(self, container: ast.expr, key: ast.expr | None) -> list[ast.expr] | None:
        """What a use of a container puts into it; None where that can't be seen."""
        parent = self.module.syntax.parent.get(container)
        around = self.module.syntax.parent.get(parent) if parent is not None else None
        match parent:
            case ast.Subscript(value=value, slice=at) if value is container:
                if isinstance(parent.ctx, ast.Load):
                    return []
                stored = isinstance(around, ast.Assign) and parent in around.targets
                assert not stored or isinstance(around, ast.Assign)
                return [around.value] if stored and _may_be(at, key) else [] if stored else None  # type: ignore[union-attr]
            case ast.Attribute(attr=method) if isinstance(around, ast.Call) and around.func is parent:
                if method in _ADDING:
                    return around.args[_ADDING[method] :][:1]
                return None if method in ("update", "extend") else []
            case ast.Call(func=ast.Name(id=name)) if name in _READING:
                return []
            case ast.Call():
                return [] if isinstance(self.module.values.callee(parent), CALLABLES) else None
            case ast.keyword():
                known = isinstance(around, ast.Call) and isinstance(
                    self.module.values.callee(around), CALLABLES
                )
                return [] if known else None
            case ast.Dict() | ast.List() | ast.Set() | ast.Starred():
                return None  # somewhere else it may be given more
        return []


def _key(node: ast.AST) -> ast.expr | None:
    """What picks from a container: `name` of `opts[name]` and of `opts.get(name)`."""
    if isinstance(node, ast.Subscript):
        return node.slice
    return node.args[0] if isinstance(node, ast.Call) and node.args else None


def _may_be(known: ast.expr | None, wanted: ast.expr | None) -> bool:
    """Whether two keys may be equal."""
    both = isinstance(known, ast.Constant) and isinstance(wanted, ast.Constant)
    return not both or known.value == wanted.value  # type: ignore[union-attr]
