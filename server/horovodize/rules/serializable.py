"""Part of K1: a schedule class of the user's own must survive Horovod's wrapper.

`hvd.DistributedOptimizer` makes a new optimizer from the configuration of the one that it is given. A schedule class without
`get_config` raises NotImplementedError there, and one that Keras has not registered a TypeError (both measured with 2.15).
"""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.rules.optimizers import rate_argument
from horovodize.rules.schedule import SCHEDULE
from horovodize.source import Edit
from horovodize.summary.syntax import FUNCTIONS, Function

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
        kept = _kept_arguments(methods.get("__init__"))
        if kept is None:
            draft.refuse(
                "HVD006",
                cls,
                f"Horovod rebuilds the optimizer from its configuration: give `{cls.name}` a `get_config` that returns the "
                "arguments of its constructor",
            )
            return
        items = ", ".join(
            f"{draft.quoted(parameter)}: self.{attribute}" for parameter, attribute in kept.items()
        )
        edits.append(draft.after(cls.body[-1], ["", "def get_config(self):", f"    return {{{items}}}"]))
    if not any("register" in ast.unparse(d) for d in cls.decorator_list):
        edits.append(draft.before(cls, [f"@{draft.tensorflow()}.keras.utils.register_keras_serializable()"]))
    if edits:
        draft.change("K1", cls, "Let the schedule be rebuilt from its configuration", _WHY, edits)


def _kept_arguments(init: Function | None) -> dict[str, str] | None:
    """{parameter: attribute that holds it}; None where an argument is not kept as it is."""
    if init is None:
        return {}
    if init.args.vararg or init.args.kwarg:
        return None
    parameters = [a.arg for a in (*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs)][1:]
    kept: dict[str, str] = {}
    assigned: list[str] = []
    for node in ast.walk(init):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute):
                    assigned.append(target.attr)
                    if isinstance(node.value, ast.Name) and node.value.id in parameters:
                        kept[node.value.id] = target.attr
    if set(kept) != set(parameters) or any(assigned.count(a) > 1 for a in kept.values()):
        return None
    return kept
