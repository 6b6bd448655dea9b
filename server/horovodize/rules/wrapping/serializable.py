"""Part of K1: a schedule class of the user's own must survive Horovod's wrapper.

`hvd.DistributedOptimizer` makes a new optimizer from the configuration of the one that it is given. A schedule class without
`get_config` raises NotImplementedError there, and one that Keras has not registered a TypeError (both measured with 2.15).
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS, Function
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.rates.schedule import SCHEDULE
from horovodize.rules.wrapping.optimizers import rate_argument
from horovodize.source import Edit

_WHY = "Horovod's wrapper rebuilds the optimizer from its configuration, schedule included."


def make_serializable(draft: Draft, call: ast.Call, class_name: str | None) -> None:
    """Makes the schedule of an optimizer that gets wrapped one that can be rebuilt; refuses where that can't be done."""
    rate = rate_argument(call, class_name)
    if rate is None:
        return
    for origin in draft.values.origins(rate):
        cls = draft.values.callee(origin.call) if origin.call is not None else None
        if (
            isinstance(cls, ast.ClassDef)
            and SCHEDULE in draft.values.ancestors(cls)
            and draft.once("serializable", cls)
        ):
            _register(draft, cls)


def _register(draft: Draft, cls: ast.ClassDef) -> None:
    methods = {s.name: s for s in cls.body if isinstance(s, FUNCTIONS)}
    edits: list[Edit] = []
    if "get_config" not in methods:
        init = methods.get("__init__")
        if init is not None and (init.args.vararg or init.args.kwarg):
            draft.refuse(
                "HVD006",
                cls,
                f"Horovod rebuilds the optimizer from its configuration: give `{cls.name}` a `get_config` that returns the "
                "arguments of its constructor",
            )
            return
        edits += _get_config(draft, cls, init)
    if not any("register" in ast.unparse(d) for d in cls.decorator_list):
        edits.append(draft.before(cls, [f"@{draft.tensorflow()}.keras.utils.register_keras_serializable()"]))
    if edits:
        draft.change("K1", cls, "Let the schedule be rebuilt from its configuration", _WHY, edits)


def _get_config(draft: Draft, cls: ast.ClassDef, init: Function | None) -> list[Edit]:
    """A method that gives the arguments of the constructor: from the attributes that hold them, or else from a dict of them."""
    given = init.args if init is not None else None
    parameters = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)][1:] if given else []
    kept = _kept(init, parameters) if init is not None else {}
    if init is None or set(kept) == set(parameters):
        items = (f"{draft.quoted(parameter)}: self.{kept[parameter]}" for parameter in parameters)
        return [
            draft.after(cls.body[-1], ["", "def get_config(self):", f"    return {{{', '.join(items)}}}"])
        ]
    items = (f"{draft.quoted(parameter)}: {parameter}" for parameter in parameters)
    own = init.args.args[0].arg if init.args.args else "self"
    first = init.body[1] if ast.get_docstring(init) is not None and len(init.body) > 1 else init.body[0]
    given_ones = f"{own}.arguments_given = {{{', '.join(items)}}}"
    if draft.document.starts_line(first):
        keeping = draft.before(first, [given_ones])
    else:  # `def __init__(self, peak): self.peak = …`: a line before it would stand in the class
        span = draft.module.span(first)
        keeping = Edit.insert(span.start, f"{given_ones}; ", span, -5)
    return [
        keeping,
        draft.after(cls.body[-1], ["", "def get_config(self):", "    return self.arguments_given"]),
    ]


def _kept(init: Function, parameters: list[str]) -> dict[str, str]:
    """{parameter: the attribute that holds it as it is}"""
    kept: dict[str, str] = {}
    assigned: list[str] = []
    for node in ast.walk(init):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one, value in _pairs(target, node.value):
                    if isinstance(one, ast.Attribute):
                        assigned.append(one.attr)
                        if isinstance(value, ast.Name) and value.id in parameters:
                            kept[value.id] = one.attr
    return {parameter: name for parameter, name in kept.items() if assigned.count(name) == 1}


def _pairs(target: ast.expr, value: ast.expr | None) -> list[tuple[ast.expr, ast.expr | None]]:
    """What an assignment gives what: `self.a, self.b = a, b` is two."""
    if isinstance(target, ast.Tuple):
        values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
        return [(t, values[i] if values is not None else None) for i, t in enumerate(target.elts)]
    return [(target, value)]
