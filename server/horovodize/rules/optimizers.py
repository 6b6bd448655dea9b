"""The optimizers that train: from the places that use one back to where it is made. Shared by C5, K1 and K2."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from horovodize import catalogue
from horovodize.rules.draft import HVD, Draft
from horovodize.source import Edit
from horovodize.summary.syntax import argument

Sink = Literal["compile", "update", "graph"]

# Optimizers around another one: argument that holds the inner optimizer.
_AROUND = ("inner_optimizer", "optimizer", "opt")


@dataclass(frozen=True, eq=False)
class Trained:
    """One origin of an optimizer that trains.

    used_at      the expression at the place that trains (argument of `compile`, receiver of `apply_gradients`)
    origin       what it was followed to: a constructor call, a string constant, or something that can't be followed
    class_name   canonical name of the class, where known
    sink         how it is used
    outermost    the wrapping optimizer's construction, where one is around this one (LossScaleOptimizer), else `call`
    """

    used_at: ast.expr
    origin: ast.AST
    class_name: str | None
    sink: Sink
    outermost: ast.Call | None

    @property
    def call(self) -> ast.Call | None:
        """The constructor call."""
        return self.origin if isinstance(self.origin, ast.Call) and self.class_name is not None else None

    @property
    def string(self) -> str | None:
        """The Keras name ("adam"), where the optimizer is given by one."""
        if isinstance(self.origin, ast.Constant) and isinstance(self.origin.value, str):
            return self.origin.value
        return None


def trained_optimizers(draft: Draft) -> list[Trained]:
    """Every optimizer origin that reaches a place that trains, in the order of those places."""
    found: list[Trained] = []
    seen: set[tuple[ast.AST, Sink]] = set()
    uses: list[tuple[ast.expr, Sink]] = [(o, "compile") for c in draft.sites.compiles for o in c.optimizers]
    uses += [(u.optimizer, "update") for u in draft.sites.updates if u.optimizer is not None]
    uses += [(o, "graph") for o in draft.sites.graph_optimizers]
    uses += [(o, "graph") for o in draft.sites.read_estimators.optimizers]
    for expression, sink in uses:
        for trained in _followed(draft, expression, sink):
            if (trained.origin, sink) not in seen:
                seen.add((trained.origin, sink))
                found.append(trained)
    return found


def _followed(draft: Draft, used_at: ast.expr, sink: Sink) -> list[Trained]:
    found: list[Trained] = []
    todo: list[tuple[ast.expr, ast.Call | None]] = [(used_at, None)]
    seen: set[ast.AST] = set()
    while todo:
        expression, outermost = todo.pop()
        if expression in seen:
            continue
        seen.add(expression)
        for origin in draft.values.origins(expression):
            node = origin.node
            if isinstance(node, ast.Call) and not origin.path:
                inner = _inner(draft, node)
                if inner is not None:
                    todo.append((inner, outermost or node))
                    continue
                if draft.module.is_optimizer(node):
                    found.append(Trained(used_at, node, _class_name(draft, node), sink, outermost or node))
                    continue
                name = draft.names.of(node.func)
                if (
                    name in ("tensorflow.keras.optimizers.get", "tensorflow.keras.optimizers.deserialize")
                    and node.args
                ):
                    value = node.args[0]
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        found.append(Trained(used_at, node, None, sink, node))
                        continue
            if isinstance(node, ast.Constant) and node.value is None:
                continue
            if isinstance(node, ast.Subscript) and (chosen := draft.values.choices(node)) != [node]:
                todo += [(value, outermost) for value in chosen]
                continue
            found.append(Trained(used_at, node, None, sink, None))
    return found


def _class_name(draft: Draft, call: ast.Call) -> str:
    """The TensorFlow class that is constructed: the nearest base for a class of this module."""
    name = draft.names.of(call.func)
    if name is not None:
        return name
    made = draft.values.made_by(call)
    if draft.values.callee(call) is None and rate_argument(call, None) is None:
        made = {n for n in made if catalogue.default_rate(n) is None}  # which class it is decides the default
    known = sorted(n for n in made if catalogue.default_rate(n) is not None)
    of_tf1 = any(n.startswith(("tensorflow.compat.v1.", "tensorflow.contrib.")) for n in made)
    base = "tensorflow.compat.v1.train.Optimizer" if of_tf1 else "tensorflow.keras.optimizers.Optimizer"
    return known[0] if known else base


def _inner(draft: Draft, call: ast.Call) -> ast.expr | None:
    """The optimizer inside a wrapping one (loss scaling, moving averages, lookahead), or None."""
    name = draft.names.of(call.func) or ""
    last = name.rsplit(".", 1)[-1]
    if last not in (
        "LossScaleOptimizer",
        "MovingAverage",
        "MovingAverageOptimizer",
        "SWA",
        "Lookahead",
        "enable_mixed_precision_graph_rewrite",
    ):
        return None
    for keyword in _AROUND:
        value = argument(call, keyword, 0)
        if value is not None:
            return value
    return None


def rate_argument(call: ast.Call, class_name: str | None) -> ast.expr | None:
    """The learning rate that a construction is given."""
    value = argument(call, "learning_rate") or argument(call, "lr")
    if value is not None:
        return value
    known = catalogue.cls(class_name) if class_name else None
    index = 0
    if known is not None:
        names = [p for p in known.parameters if p in ("learning_rate", "lr")]
        index = known.parameters.index(names[0]) if names else 0
    elif class_name is not None and class_name.rsplit(".", 1)[-1] in ("AdamW", "SGDW"):
        index = 1  # the add-ons' weight decay comes first
    return argument(call, "learning_rate", index)


def wrap(draft: Draft, rule: str, call: ast.Call, why: str, op: str = "") -> None:
    """Wraps an optimizer where it is made, once: by a statement of its own after a plain assignment, else in place. `op`: what
    Horovod is told besides, after a comma."""
    if not draft.once("wrapped", call):
        return
    what = "Wrap the optimizer in Horovod's"
    statement = draft.syntax.statement(call)
    if (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], (ast.Name, ast.Attribute))
        and not draft.syntax.conditions(call)  # one arm of several: a statement in each would say it twice
        and draft.can_insert(statement)
    ):
        name = draft.module.text(statement.targets[0])
        draft.change(
            rule,
            call,
            what,
            why,
            [draft.after(statement, [f"{name} = {HVD}.DistributedOptimizer({name}{op})"])],
        )
    else:
        draft.change(
            rule,
            call,
            what,
            why,
            Edit.around(draft.module.span(call), f"{HVD}.DistributedOptimizer(", f"{op})"),
        )
