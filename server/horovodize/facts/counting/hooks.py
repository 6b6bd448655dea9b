"""What `fit` calls as methods of callbacks: those of callback classes, those that a `LambdaCallback` is given, and functions
that take the place of a method, `callback.on_epoch_end = save`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function
from horovodize.source.nodes import walk

CALLBACK = "tensorflow.keras.callbacks.Callback"
_LAMBDA = "tensorflow.keras.callbacks.LambdaCallback"
_GIVEN = (
    "on_epoch_begin",
    "on_epoch_end",
    "on_batch_begin",
    "on_batch_end",
    "on_train_begin",
    "on_train_end",
)
_OF_BATCHES = frozenset({"on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"})
_CALLED = _OF_BATCHES | frozenset(_GIVEN)
_KERAS_CALLBACKS = "tensorflow.keras.callbacks."


@dataclass(frozen=True)
class Hook:
    """A function that `fit` calls as a method of a callback.

    function  the method, or the function or lambda that a `LambdaCallback` is given, or that such a lambda hands on to
    name      as which method `fit` calls it: `on_batch_end`
    number    its parameter that gets the number of the batch or epoch, if it has one
    logs      its parameter that gets the logs
    home      the class whose methods it works with; the function itself where that is none"""

    function: Function | ast.Lambda
    name: str
    number: str | None
    logs: str | None
    home: ast.AST

    @property
    def is_of_batches(self) -> bool:
        """Whether it is called with every batch."""
        return self.name in _OF_BATCHES


class Hooks:
    """The functions of one module that `fit` calls as methods of callbacks."""

    def __init__(self, module: Module) -> None:
        self.module, self.syntax, self.values = module, module.syntax, module.values

    def of(self, function: ast.AST | None) -> Hook | None:
        """As what `fit` calls a function; None where it doesn't."""
        return self._by_function.get(function) if function is not None else None

    def around(self, node: ast.AST) -> Hook | None:
        """What `fit` calls that a node stands in, not in a function of its own in there."""
        return self.of(next((a for a in self.syntax.ancestors(node) if isinstance(a, CALLABLES)), None))

    def given_by(self, made: ast.Call) -> list[Hook]:
        """What `fit` calls of a callback that a call makes, as far as it is the script's own."""
        if self.module.names.of(made.func) == _LAMBDA:
            return list(self._of_lambda(made))
        owner = self.values.callee(made)
        family = self.values.family(owner) if isinstance(owner, ast.ClassDef) else set()
        classes = sorted(family, key=lambda c: (c is not owner, -c.lineno))
        found: dict[str, Hook] = {}
        for cls in classes:
            for method in cls.body:
                if isinstance(method, FUNCTIONS) and (hook := self.of(method)) is not None:
                    found.setdefault(hook.name, hook)
        return list(found.values())

    @cached_property
    def all(self) -> list[Hook]:
        """All of them, in the order of the text."""
        return sorted(self._by_function.values(), key=lambda h: (h.function.lineno, h.function.col_offset))

    @cached_property
    def _by_function(self) -> dict[ast.AST, Hook]:
        found: dict[ast.AST, Hook] = {}
        for hook in (*self._methods(), *self._given(), *self._in_place()):
            known = found.get(hook.function)
            if known is None or not known.is_of_batches:
                found[hook.function] = hook
        return found

    def _methods(self) -> Iterator[Hook]:
        for method in self.syntax.functions:
            owner = self.syntax.method_class(method) if method.name.startswith("on_") else None
            if owner is not None and CALLBACK in self.values.ancestors(owner):
                yield self._hook(method, method.name)

    def _given(self) -> Iterator[Hook]:
        """What each `LambdaCallback` is given, and the functions that lambdas among that hand on to."""
        for call in self.module.calls_of(_LAMBDA):
            for hook in self._of_lambda(call):
                yield hook
                if isinstance(hook.function, ast.Lambda):
                    yield from self._handed_on(hook)

    def _in_place(self) -> Iterator[Hook]:
        """Functions that are put in the place of a method of one callback: `callback.on_batch_end = save`."""
        for s in self.syntax.every(ast.Assign):
            for target in s.targets:
                if (
                    isinstance(target, ast.Attribute)
                    and target.attr in _CALLED
                    and self._is_callback(target.value)
                ):
                    yield from (self._hook(f, target.attr) for f in self._functions(s.value))

    def _is_callback(self, e: ast.expr) -> bool:
        """Whether a value is a callback: of Keras, or of a class of the script's own."""
        names = {self.module.names.of(call.func) or "" for call in self.values.calls(e)}
        owners = [self.values.callee(call) for call in self.values.calls(e)]
        return any(n.startswith(_KERAS_CALLBACKS) for n in names) or any(
            isinstance(c, ast.ClassDef) and CALLBACK in self.values.ancestors(c) for c in owners
        )

    def _of_lambda(self, call: ast.Call) -> Iterator[Hook]:
        """What one `LambdaCallback` is given."""
        given = [*zip(_GIVEN, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
        for name, value in given:
            for function in self._functions(value):
                yield self._hook(function, name)

    def _functions(self, value: ast.expr) -> list[Function | ast.Lambda]:
        """The functions that an expression may be: `f`, `lambda batch, logs: …`, `self.on_batch_end`."""
        return [o.node for o in self.values.origins(value) if isinstance(o.node, CALLABLES) and not o.path]

    def _hook(self, function: Function | ast.Lambda, name: str) -> Hook:
        owner = self.syntax.method_class(function)
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        given = [*parameters[1 if owner is not None else 0 :], None, None]
        return Hook(function, name, given[0], given[1], owner or function)

    def _handed_on(self, hook: Hook) -> Iterator[Hook]:
        """The functions that a lambda calls: `lambda batch, logs: self.on_batch_end(batch, logs)`."""
        for call in (n for n in walk(hook.function) if isinstance(n, ast.Call)):
            function = self.values.callee(call)
            if isinstance(function, FUNCTIONS):
                yield Hook(
                    function,
                    hook.name,
                    self._getting(call, function, hook.number),
                    self._getting(call, function, hook.logs),
                    self.syntax.method_class(function) or function,
                )

    def _getting(self, call: ast.Call, function: Function, name: str | None) -> str | None:
        """The parameter by which a function gets what its caller has under a name."""
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        offset = 1 if self.syntax.method_class(function) is not None else 0
        for at, parameter in enumerate(parameters[offset:]):
            value = self.values.graph.argument(call, function, parameter, at)
            if isinstance(value, ast.Name) and value.id == name:
                return parameter
        return None
