"""Which variable an expression stands for: one that is made at a place, or each of a collection."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from horovodize.ordering.places import Places
from horovodize.python.module import Module
from horovodize.python.syntax import COMPREHENSIONS, argument, arguments

_V1 = "tensorflow.compat.v1."
_MADE = ("tensorflow.Variable", f"{_V1}Variable", f"{_V1}get_variable")
_STEPS = tuple(
    f"{_V1}train.{name}" for name in ("get_or_create_global_step", "create_global_step", "get_global_step")
)
_COLLECTIONS = (f"{_V1}trainable_variables", f"{_V1}global_variables", f"{_V1}get_collection")
ALL_TRAINABLE = "all trainable variables"
GLOBAL_STEP = "the global step"


@dataclass(frozen=True)
class Variable:
    """A variable. `key` tells it from others, `text` is how the script calls it; `is_each`: each one of a collection;
    `is_trained`: an optimizer that is given no others trains it."""

    key: str
    text: str
    is_each: bool = False
    is_trained: bool = True


class Variables:
    """The variables of one module."""

    def __init__(self, module: Module, places: Places) -> None:
        self.module, self.places = module, places
        self.names, self.values = module.names, module.values

    def only(self, e: ast.expr) -> ast.AST | None:
        """What an expression surely is."""
        origins = self.values.origins(e)
        return origins[0].node if len(origins) == 1 and not origins[0].path else None

    def of(self, e: ast.expr) -> Variable | None:
        """The variable that an expression stands for, or each one of a collection where the expression is its loop's."""
        if not isinstance(e, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            return None
        if isinstance(e, ast.Name) and (each := self._item(e)) is not None:
            return each
        node = self.only(e)
        if not isinstance(node, ast.Call):
            return None
        name = self.names.of(node.func)
        if name in _STEPS:
            return Variable(GLOBAL_STEP, self._text(e), is_trained=False)
        if name not in _MADE or self.places.repeats(node) != []:
            return None
        if name == _MADE[-1] and self._is_shared(node):
            return None
        trainable = argument(node, "trainable", 1 if name != _MADE[-1] else 4)
        is_trained = not (isinstance(trainable, ast.Constant) and trainable.value is False)
        return Variable(_place(node), self._text(e), is_trained=is_trained)

    def _is_shared(self, made: ast.Call) -> bool:
        """Whether a `get_variable` may give one that another gave."""
        name = argument(made, "name", 0)
        return not (isinstance(name, ast.Constant) and isinstance(name.value, str))

    def _text(self, e: ast.expr) -> str:
        return " ".join(self.module.text(e).split())

    # ------------------------------------------------------------------ collections

    def _item(self, e: ast.Name) -> Variable | None:
        """`v` of `for v in tf.trainable_variables()`."""
        bindings = self.module.scopes.reaching(e)
        if len(bindings) != 1 or bindings[0].kind != "item" or bindings[0].value is None:
            return None
        source, path = bindings[0].value, bindings[0].path
        if isinstance(source, ast.Call) and self.names.last(source.func) == "zip":
            if len(path) != 1 or not 0 <= path[0] < len(source.args):
                return None
            source, path = source.args[path[0]], ()
        key = self.collection(source) if not path else None
        return Variable(key, f"each of `{self._text(source)}`", is_each=True) if key is not None else None

    def collection(self, e: ast.expr) -> str | None:
        """What tells a collection of variables from others."""
        node = self.only(e)
        if isinstance(node, ast.Call) and (name := self.names.of(node.func)) in _COLLECTIONS:
            given = arguments(node)
            if name == _COLLECTIONS[0] and not given:
                return ALL_TRAINABLE
            fixed = all(isinstance(g, ast.Constant) or self.names.of(g) is not None for g in given)
            return ast.unparse(node) if fixed else None
        is_list = isinstance(node, ast.List) and all(self.of(part) is not None for part in node.elts)
        if is_list or (isinstance(node, ast.ListComp) and self._picks(node)):
            assert isinstance(node, ast.expr)
            return _place(node) if self.places.repeats(node) == [] else None
        return None

    def _picks(self, node: ast.ListComp) -> bool:
        """`[v for v in variables if …]`"""
        (first, *more) = node.generators
        own = isinstance(first.target, ast.Name) and isinstance(node.elt, ast.Name)
        return not more and own and ast.unparse(first.target) == ast.unparse(node.elt)

    def goes_through(self, e: ast.expr) -> ast.AST | None:
        """The loop or comprehension whose own variable a name is."""
        if not isinstance(e, ast.Name) or self._item(e) is None:
            return None
        (binding,) = self.module.scopes.reaching(e)
        node: ast.AST = binding.statement
        for a in self.module.syntax.ancestors(e):
            if isinstance(a, COMPREHENSIONS) and any(g.iter is binding.value for g in a.generators):
                node = a
        return node


def _place(node: ast.expr) -> str:
    return f"{node.lineno}:{node.col_offset}"
