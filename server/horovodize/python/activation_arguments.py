"""What a parameter gets in one activation of its function: from the call, from `functools.partial`, or its default."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.activation import Activation, Unseen, Value
from horovodize.python.syntax import CALLABLES

if TYPE_CHECKING:
    from horovodize.python.activations import Activations


def passed(activations: Activations, parameter: ast.arg, home: Activation) -> list[Value]:
    """What a parameter gets."""
    function = home.function
    assert isinstance(function, CALLABLES)
    a, name = function.args, parameter.arg
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    is_method = activations.syntax.method_class(function) is not None and not activations.graph.is_static(
        function
    )
    if is_method and names[:1] == [name]:
        if home.of is None:
            raise Unseen
        return [home.of]
    if home.call is None or home.outer is None or parameter in (a.vararg, a.kwarg):
        raise Unseen
    held = [(v.node, v.within) for v in home.held if isinstance(v.node, ast.Call)]
    for call, at in ((home.call, home.outer), *held):
        for keyword in call.keywords:
            if keyword.arg == name:
                return activations.all_of(keyword.value, at)
    given = [(e, at) for call, at in reversed(held) for e in call.args[1:]]
    given += [(e, home.outer) for e in home.call.args]
    index = names.index(name) - is_method if name in names else len(given)
    if any(isinstance(e, ast.Starred) for e, _ in given[: index + 1]):
        raise Unseen
    if index < len(given):
        return activations.all_of(*given[index])
    if any(k.arg is None for call, _ in ((home.call, home.outer), *held) for k in call.keywords):
        raise Unseen
    defaults = dict(zip(reversed(names), reversed(a.defaults), strict=False))
    defaults |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
    default = defaults.get(name)
    if default is None:
        raise Unseen
    return activations.all_of(default, home.closure or activations.top)


__all__ = ["passed"]
