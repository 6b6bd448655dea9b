"""What attributes hang on: objects of which classes of a module an expression may be, for `Values.receiver`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.syntax import FUNCTIONS, Syntax

if TYPE_CHECKING:
    from horovodize.python.values import Values

_CALLBACK, _MODEL = "tensorflow.keras.callbacks.Callback", "tensorflow.keras.Model"


class Receivers:
    """The objects of one module that attributes hang on."""

    def __init__(self, values: Values) -> None:
        self.values, self.syntax = values, values.syntax

    def of(self, e: ast.expr) -> frozenset[object]:
        """The classes, functions or the text of one."""
        if isinstance(e, ast.Name):
            function = self.values.scopes.lookup(e.id, e)  # also from a function within the method
            owner = self.syntax.method_class(function)
            if (
                isinstance(function, FUNCTIONS)
                and owner is not None
                and function.args.args
                and function.args.args[0].arg == e.id
            ):
                return frozenset(self.values.family(owner))
        classes = [c for call in self.values.calls(e) for c in self.values.classes_made(call)]
        classes += self._handing_themselves(e)
        classes = classes or self._models_of_callback(e) or self._themselves(e)
        if classes:
            return frozenset(member for c in classes for member in self.values.family(c))
        return self._handed(e) or self._functions(e) or frozenset([ast.unparse(e)])

    def _themselves(self, e: ast.expr) -> list[ast.ClassDef]:
        """The class that an expression gives, whose attributes its objects and class methods read: `Noise.count += 1` by its
        name, `type(self).count`, `self.__class__.count`."""
        if isinstance(e, ast.Name):
            return [o.node for o in self.values.origins(e) if isinstance(o.node, ast.ClassDef) and not o.path]
        of_object: ast.expr | None = None
        if isinstance(e, ast.Attribute) and e.attr == "__class__":
            of_object = e.value
        elif isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "type":
            of_object = e.args[0] if len(e.args) == 1 else None
        if of_object is None:
            return []
        return [c for c in self.of(of_object) if isinstance(c, ast.ClassDef)]

    def _handing_themselves(self, e: ast.expr) -> list[ast.ClassDef]:
        """The classes whose objects hand themselves on to a field: `hook.trainer = self`, also by a name for that field; or
        give themselves, `trial = Trial().build()`, to whoever is passed that."""
        bound = self.values.scopes.reaching(e) if isinstance(e, ast.Name) else []
        named = bound and all(b.kind in ("assign", "parameter") for b in bound)
        if not isinstance(e, ast.Attribute) and not named:
            return []
        given = [o.node for o in self.values.origins(e) if isinstance(o.node, ast.arg) and not o.path]
        owners = [self._object_of(parameter) for parameter in given]
        return [cls for cls in dict.fromkeys(owners) if cls is not None]

    def _object_of(self, parameter: ast.arg) -> ast.ClassDef | None:
        """The class of whose methods' object a parameter is: that of `self`."""
        arguments = self.syntax.parent.get(parameter)
        function = self.syntax.parent.get(arguments) if arguments is not None else None
        if not isinstance(function, FUNCTIONS) or self.values.graph.is_static(function):
            return None
        positional = [*function.args.posonlyargs, *function.args.args]
        return self.syntax.method_class(function) if positional[:1] == [parameter] else None

    def _functions(self, e: ast.expr) -> frozenset[object]:
        """The functions that an attribute hangs on: `step.calls += 1` in a decorator's own, which others call `train`."""
        made = [o.node for o in self.values.origins(e) if not o.path] if isinstance(e, ast.Name) else []
        return frozenset(made) if made and all(isinstance(n, FUNCTIONS) for n in made) else frozenset()

    def _models_of_callback(self, e: ast.expr) -> list[ast.ClassDef]:
        """What Keras sets as `self.model` of a callback: a model of whatever class this module has."""
        if not (isinstance(e, ast.Attribute) and e.attr == "model" and _is_self(self.syntax, e.value)):
            return []
        owner = self.syntax.method_class(self.syntax.function(e))
        if owner is None or _CALLBACK not in self.values.ancestors(owner):
            return []
        return [c for c in self.values.definitions.classes() if _MODEL in self.values.ancestors(c)]

    def _handed(self, e: ast.expr) -> frozenset[object]:
        """What an object that a function is handed is an instance of, where that is the caller's `self`."""
        bound = self.values.scopes.reaching(e) if isinstance(e, ast.Name) else []
        passed = [value for b in bound if b.kind == "parameter" for value in self.values.passed(b)]
        owners = [
            self.syntax.method_class(self.syntax.function(v)) for v in passed if _is_self(self.syntax, v)
        ]
        if not passed or len(owners) < len(passed):
            return frozenset()
        return frozenset(member for c in owners if c is not None for member in self.values.family(c))


def _is_self(syntax: Syntax, e: ast.expr) -> bool:
    """Whether an expression is the object of the method that it stands in."""
    function = syntax.function(e)
    first = function.args.args[:1] if isinstance(function, FUNCTIONS) else []
    return (
        isinstance(e, ast.Name)
        and any(a.arg == e.id for a in first)
        and syntax.method_class(function) is not None
    )
