"""Which models and lists of variables have all their variables before anything is fed to them.

A model that is not told the shape of what comes in gets its weights in its first step; broadcast before, nothing would be sent,
without an error. So only what is seen to be built counts: a functional model, one that is told that shape, one that is built by
hand, a class that makes its weights as it is made, `tf.Variable`s. Keras 3 only notes that a class was built by hand: its
layers get their weights in the first step all the same."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, argument, position
from horovodize.summary.sites import Sites

_SHAPES = {"input_shape", "batch_input_shape", "batch_shape"}
_LAYER = "tensorflow.keras.layers.Layer"
_HOLDERS = {_LAYER, "tensorflow.keras.Model", "tensorflow.Module"}
_MAKES = ("add_weight", "add_variable", "Variable")
_VARIABLE = "tensorflow.Variable"


class Built:
    """What of one module is built early."""

    def __init__(self, module: Module, sites: Sites) -> None:
        self.module, self.sites = module, sites

    def is_model(self, model: ast.expr, before: ast.stmt | None = None, *, of_keras_3: bool = False) -> bool:
        """Whether a model has its variables: where it is made or, at the latest, right before a statement."""
        origins = self.module.values.origins(model)
        made = [o.call for o in origins if o.call is not None and not o.path]
        if not made or len(made) != len(origins):
            return False
        if all(self.at_once(call) for call in made):
            return True
        names = (self.module.names.of(call.func) or "" for call in made)
        if of_keras_3 and not all(name.endswith(".Sequential") for name in names):
            return False
        return before is not None and self._is_built_by_hand(set(made), before)

    def at_once(self, made: ast.Call) -> bool:
        """Whether a call makes a model that has its variables as soon as it is made."""
        name = self.module.names.of(made.func) or ""
        if ".applications." in name:
            return True
        if name.endswith(".clone_model"):
            copied = argument(made, "model", 0)
            return copied is not None and self.is_model(copied)
        if name.endswith(".Model"):
            return argument(made, "outputs", 1) is not None
        if name.endswith(".Sequential"):
            first = self._first_layer(made)
            return isinstance(first, ast.Call) and self._knows_its_input(first)
        cls = self.module.values.callee(made)
        return isinstance(cls, ast.ClassDef) and self._makes_all_at_once(cls)

    def is_late(self, made: ast.Call) -> bool:
        """Whether a call surely makes a model that has no variables yet: a `Sequential` of Keras' layers that is not told
        what comes in."""
        layers = argument(made, "layers", 0)
        if not (self.module.names.of(made.func) or "").endswith(".Sequential"):
            return False
        if not isinstance(layers, (ast.List, ast.Tuple)) or not layers.elts:
            return False
        first = layers.elts[0]
        name = self.module.names.of(first.func) or "" if isinstance(first, ast.Call) else ""
        is_layer = name.startswith("tensorflow.keras.layers.") and name.rsplit(".", 1)[-1][:1].isupper()
        return is_layer and isinstance(first, ast.Call) and not self._knows_its_input(first)

    def are_variables(self, e: ast.expr) -> bool:
        """Whether an expression is a `tf.Variable`, or a list of them, that is there before anything is fed."""
        if isinstance(e, (ast.List, ast.Tuple)):
            return bool(e.elts) and all(self.are_variables(one) for one in e.elts)
        origins = self.module.values.origins(e)
        if not origins or any(o.path for o in origins) or self._is_added_to_by_sign(e):
            return False
        return all(self._is_variable(o.node, e) for o in origins)

    def _is_added_to_by_sign(self, e: ast.expr) -> bool:
        """`held += more`, somewhere."""
        scopes = self.module.scopes
        if isinstance(e, ast.Attribute):
            return any(b.kind == "augment" for b in self.module.values.attribute_bindings(e))
        scope = scopes.lookup(e.id, e) if isinstance(e, ast.Name) else None
        found = scopes.names[scope].get(e.id, ()) if scope is not None and isinstance(e, ast.Name) else ()
        return any(b.kind == "augment" for b in found)

    def _is_variable(self, made: ast.AST, e: ast.expr) -> bool:
        if isinstance(made, (ast.List, ast.Tuple)) and made is not e:
            return self.are_variables(made) and all(self.are_variables(more) for more in self._added_to(made))
        one = made.elt if isinstance(made, ast.ListComp) else made
        return isinstance(one, ast.Call) and self.module.names.of(one.func) == _VARIABLE

    # ------------------------------------------------------------------ how

    def _added_to(self, items: ast.List | ast.Tuple) -> list[ast.expr]:
        """What is put into a list later."""
        calls = self.sites.method_calls("append", "extend", "insert")
        return [
            call.args[-1]
            for call in calls
            if isinstance(call.func, ast.Attribute)
            and call.args
            and any(o.node is items for o in self.module.values.origins(call.func.value))
        ]

    def _first_layer(self, made: ast.Call) -> ast.expr | None:
        """The first layer of a `Sequential`: in its list, or the first that is added right where it is made."""
        layers = argument(made, "layers", 0)
        if isinstance(layers, (ast.List, ast.Tuple)) and layers.elts:
            return layers.elts[0]
        if layers is not None and not isinstance(layers, (ast.List, ast.Tuple)):
            return None
        syntax = self.module.syntax
        block = syntax.block(syntax.statement(made))
        added = [
            call
            for call in self.sites.method_calls("add")
            if isinstance(call.func, ast.Attribute) and made in self.module.values.calls(call.func.value)
        ]
        first = min(added, key=position, default=None)
        beside = first is not None and syntax.block(syntax.statement(first)) is block
        return argument(first, "layer", 0) if beside and first is not None else None

    def _knows_its_input(self, layer: ast.Call) -> bool:
        last, given = self.module.names.last(layer.func), {k.arg for k in layer.keywords}
        if last in ("Input", "InputLayer"):
            return True
        return bool(given & _SHAPES) or (last != "Embedding" and "input_dim" in given)

    def _makes_all_at_once(self, cls: ast.ClassDef) -> bool:
        """Whether a class of the module makes all its weights in `__init__`, and holds no layers that make some later."""
        values, syntax = self.module.values, self.module.syntax
        if not any(base in values.ancestors(cls) for base in _HOLDERS):
            return False
        calls = [n for member in values.family(cls) for n in ast.walk(member) if isinstance(n, ast.Call)]
        weights = [c for c in calls if self.module.names.last(c.func) in _MAKES]
        early = (syntax.function(c) for c in weights)
        if not weights or not all(isinstance(f, FUNCTIONS) and f.name == "__init__" for f in early):
            return False
        return not any(values.made_by(c) & _HOLDERS for c in calls)

    def _is_built_by_hand(self, made: set[ast.Call], before: ast.stmt) -> bool:
        """Whether `model.build(…)` surely ran before a statement: it stands before it, or before what it stands in."""
        syntax, values = self.module.syntax, self.module.values
        around = [before, *(a for a in syntax.ancestors(before) if isinstance(a, ast.stmt))]
        for call in self.sites.method_calls("build"):
            if not isinstance(call.func, ast.Attribute) or set(values.calls(call.func.value)) != made:
                continue
            statement = syntax.statement(call)
            if not isinstance(statement, ast.Expr) or statement.value is not call or not self._is_keras(made):
                continue
            if any(_comes_before(syntax.block(s), statement, s) for s in around):
                return True
        return False

    def _is_keras(self, made: set[ast.Call]) -> bool:
        """Whether `build` is Keras' own: no class of the module has another."""
        classes = [cls for c in made if isinstance(cls := self.module.values.callee(c), ast.ClassDef)]
        own = (s for cls in classes for member in self.module.values.family(cls) for s in member.body)
        return not any(isinstance(s, FUNCTIONS) and s.name == "build" for s in own)


def _comes_before(block: Sequence[ast.stmt], first: ast.stmt, second: ast.stmt) -> bool:
    return first in block and second in block and block.index(first) < block.index(second)
