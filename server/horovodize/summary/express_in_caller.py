"""Saying the same thing one call further out: an expression inside a function, as its caller would write it.

`self.model.trainable_variables` in `Trainer.step`, called as `trainer.step(x)`, is `trainer.model.trainable_variables` out
there; a parameter is what is passed for it; a local name is what it was assigned."""

from __future__ import annotations

import ast
import copy
import itertools

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.source.nodes import walk
from horovodize.summary import bound_methods
from horovodize.summary.call_paths import Frame


def lift(module: Module, expression: ast.expr, way: tuple[Frame, ...], to: int) -> ast.expr | None:
    """An expression of `way[0]`'s function in terms of `way[to]`'s scope; None when it can't be said there."""
    lifted: ast.expr | None = expression
    for inner, outer in itertools.pairwise(way[: to + 1]):
        if lifted is None or inner.function is None or not isinstance(outer.node, ast.Call):
            return None
        lifted = outwards(module, lifted, inner.function, outer.node)
    return lifted


def outwards(module: Module, expression: ast.expr, function: Function, call: ast.Call) -> ast.expr | None:
    """An expression of a function as it is said where that is called; None when it can't be said there. Nodes keep their
    identity where they are unchanged, so that names in them can still be looked up."""
    replaced: dict[ast.AST, ast.expr] = {}
    for node in walk(expression):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            meaning = _name(module, node, function, call)
            if meaning is None:
                return None
            if meaning is not node:
                replaced[node] = meaning
    return _substituted(expression, replaced)


def _name(module: Module, name: ast.Name, function: Function, call: ast.Call) -> ast.expr | None:
    scopes = module.scopes
    if name not in module.syntax.parent:  # made by an earlier step outwards
        return None
    scope = scopes.lookup(name.id, name)
    if scope is None:
        return name  # a builtin
    if scope is module.tree:
        return name if scopes.lookup(name.id, call) is scope else None
    if scope is not function:
        return name if scopes.lookup(name.id, call) is scope else _closed_over(module, name, scope, call)
    bindings = scopes.reaching(name)
    if len(bindings) != 1:
        return None
    binding = bindings[0]
    if binding.kind == "parameter":
        return _argument(module, binding, function, call)
    if (
        binding.kind == "assign"
        and binding.value is not None
        and not binding.path
        and is_plain(binding.value)
    ):
        return outwards(module, binding.value, function, call)
    return None


def _argument(module: Module, parameter: Binding, function: Function, call: ast.Call) -> ast.expr | None:
    """What a call passes for a parameter, if it can be said twice without harm."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    is_method = module.syntax.method_class(function) is not None and not module.values.graph.is_static(
        function
    )
    value: ast.expr | None = None
    if is_method and names and parameter.name == names[0]:
        value = call.func.value if isinstance(call.func, ast.Attribute) else None
        held = bound_methods.held(module, call.func, function)
        if held is not None:  # `step = tf.function(self.train_step)`, then `step(x)`
            value = held.value if _means_the_same(module, held.value, call) else None
        if isinstance(value, ast.Call):  # super().step(x): the same object
            called = value.func
            value = None
            if isinstance(called, ast.Name) and called.id == "super":
                value = ast.Name(parameter.name, ast.Load())
    else:
        i = names.index(parameter.name) - (1 if is_method else 0) if parameter.name in names else None
        value = module.values.graph.argument(call, function, parameter.name, i)
        if value is not None and not _means_the_same(module, value, call):
            value = None  # held ready by a `partial` made elsewhere
    return value if value is not None and is_plain(value) else None


def _closed_over(module: Module, name: ast.Name, scope: ast.AST, call: ast.Call) -> ast.expr | None:
    """What a parameter of the function that made the called one stands for: `step = make_step(model)`, then `step(x)`."""
    bindings = module.scopes.reaching(name)
    makers = [c for c in module.values.graph.passed_through(call) if module.values.callee(c) is scope]
    if (
        not isinstance(scope, FUNCTIONS)
        or len(bindings) != 1
        or bindings[0].kind != "parameter"
        or len(makers) != 1
    ):
        return None
    value = _argument(module, bindings[0], scope, makers[0])
    return value if value is not None and _means_the_same(module, value, call) else None


def _means_the_same(module: Module, value: ast.expr, call: ast.Call) -> bool:
    """Whether the names in an expression that is written elsewhere mean the same at a call."""
    scopes = module.scopes
    return all(
        scopes.lookup(n.id, n) is scopes.lookup(n.id, call) or _is_same_instance(module, n, call)
        for n in walk(value)
        if isinstance(n, ast.Name)
    )


def _is_same_instance(module: Module, name: ast.Name, call: ast.Call) -> bool:
    """Whether a name is `self` in one method, and the call `self.step(…)` in another of the same class."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name.id)):
            methods = [module.syntax.function(n) for n in (name, call)]
            owners = {module.syntax.method_class(m) for m in methods}
            return (
                len(owners) == 1
                and owners != {None}
                and all(m is not None and m.args.args and m.args.args[0].arg == name.id for m in methods)
            )
        case _:
            return False


def is_plain(e: ast.expr) -> bool:
    """Whether an expression may be evaluated once more without changing anything: names, attributes, sums and lists of
    them, `list(x.values())`."""
    match e:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute():
            return is_plain(e.value)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=step)):
            ends = [n for n in (lower, upper, step) if n is not None]
            return is_plain(e.value) and all(_is_number(n) for n in ends)
        case ast.Subscript():
            return is_plain(e.value) and isinstance(e.slice, (ast.Constant, ast.Name))
        case ast.List() | ast.Tuple():
            return all(is_plain(x) for x in e.elts)
        case ast.Starred():
            return is_plain(e.value)
        case ast.BinOp(op=ast.Add()):
            return is_plain(e.left) and is_plain(e.right)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner], keywords=[]):
            return is_plain(inner)
        case ast.Call(func=ast.Attribute(attr="values"), args=[], keywords=[]):
            return is_plain(e.func)
        case ast.Call(func=ast.Attribute(attr="get_layer"), args=[ast.Constant()], keywords=[]):
            return is_plain(e.func)  # of a model
        case _:
            return False


def _is_number(e: ast.expr) -> bool:
    return isinstance(e.operand if isinstance(e, ast.UnaryOp) else e, ast.Constant)


def _substituted(expression: ast.expr, replaced: dict[ast.AST, ast.expr]) -> ast.expr:
    if not replaced:
        return expression
    if expression in replaced:
        return replaced[expression]
    result = copy.copy(expression)
    for field in expression._fields:
        value = getattr(expression, field, None)
        if isinstance(value, ast.expr):
            setattr(result, field, _substituted(value, replaced))
        elif isinstance(value, list):
            setattr(
                result, field, [_substituted(v, replaced) if isinstance(v, ast.expr) else v for v in value]
            )
    return result
