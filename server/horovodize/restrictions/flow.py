"""Where the optimizers that train come from, and where that can't be followed. Shared by HVD103, 105, 106 and 107."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from horovodize import catalogue
from horovodize.python.syntax import CALLABLES, argument
from horovodize.restrictions.context import Context

Sink = Literal["compile", "update"]
Source = Literal[
    "made",  # constructed in this module
    "string",  # a Keras name, written out
    "none",  # None: no optimizer yet
    "model",  # comes with a model: what `compile` was given
    "by-name",  # a Keras name or configuration that only the run knows
    "dynamic",  # made by a class that is taken from a container, an attribute, `getattr`
    "container",  # taken from a list or dict by a key that only the run knows
    "elsewhere",  # made by another module
    "parameter",  # passed in by a caller that is not in this module
    "attribute",  # an attribute or name that nothing in this module sets
    "own-class",  # made by a class of this module that derives from no Keras optimizer
    "unknown-class",  # made by a class of Keras that the catalogue does not know
    "several",  # a list or dict of them, whole
    "other",  # something that is no optimizer
]
FOLLOWED = frozenset({"made", "string", "none", "model"})

_FROM_CONFIG = ("tensorflow.keras.optimizers.get", "tensorflow.keras.optimizers.deserialize")
_SETTINGS = (
    "args",
    "flags",
    "config",
    "cfg",
    "opt",
    "opts",
    "options",
    "params",
    "hparams",
    "hp",
    "settings",
    "conf",
)
OPTIMIZER_MODULES = (
    "tensorflow.keras.optimizers",
    "tensorflow.keras.optimizers.legacy",
    "tensorflow.keras.optimizers.experimental",
    "tensorflow.keras.optimizers.schedules",
    "tensorflow.compat.v1.train",
    "tensorflow.train",
    "tensorflow_addons.optimizers",
    "sonnet.optimizers",
)


@dataclass(frozen=True, eq=False)
class Arrival:
    """One value that may be the optimizer at a place that trains: `node` is where following it ended."""

    used_at: ast.expr
    site: ast.Call
    sink: Sink
    node: ast.AST
    source: Source

    @property
    def followed(self) -> bool:
        return self.source in FOLLOWED


def optimizer_arrivals(context: Context) -> list[list[Arrival]]:
    """For every place that is given an optimizer to train with: all values that may arrive there."""
    if "optimizers" not in context.memo:
        context.memo["optimizers"] = [
            arrivals
            for site, uses in _by_site(context).items()
            for arrivals in _one_of_several(
                [list(_arrivals(context, used_at, site, sink)) for used_at, sink in uses]
            )
            if arrivals
        ]
    return cast("list[list[Arrival]]", context.memo["optimizers"])


def _by_site(context: Context) -> dict[ast.Call, list[tuple[ast.expr, Sink]]]:
    found: dict[ast.Call, list[tuple[ast.expr, Sink]]] = {}
    for used_at, site, sink in _uses(context):
        found.setdefault(site, []).append((used_at, sink))
    return found


def _one_of_several(given: list[list[Arrival]]) -> list[list[Arrival]]:
    """Of a trainer's `compile(model, optimizer)` only the arguments that are seen to be optimizers, if any is."""
    known = [arrivals for arrivals in given if any(a.source == "made" for a in arrivals)]
    return known or given


def _uses(context: Context) -> Iterator[tuple[ast.expr, ast.Call, Sink]]:
    for site in context.sites.compiles:
        if context.is_super(site.model):
            continue  # a `compile` of its own that passes on what it is given: judged where that is called
        for expression in site.optimizers:
            yield expression, site.call, "compile"
    for update in context.sites.updates:
        of_tensorflow = not isinstance(context.values.callee(update.call), CALLABLES)
        if update.step_of is None and update.optimizer is not None and of_tensorflow:
            yield update.optimizer, update.call, "update"


def _arrivals(context: Context, used_at: ast.expr, site: ast.Call, sink: Sink) -> Iterator[Arrival]:
    for end in context.facts.optimizers.arrivals(used_at):
        yield Arrival(used_at, site, sink, end.node, _source(context, end.node, end.part, sink))


def _source(context: Context, node: ast.AST, part: bool, sink: Sink) -> Source:
    match node:
        case ast.Call():
            return "elsewhere" if part else _source_of_call(context, node, sink)
        case ast.Constant(value=None):
            return "none"
        case ast.Constant(value=str()):
            return "string" if sink == "compile" else "other"
        case ast.arg():
            return "parameter"
        case ast.Attribute():
            if node.attr == "optimizer" and not _is_settings(node.value):
                return "model"
            return "by-name" if sink == "compile" and _is_settings(node.value) else "attribute"
        case ast.Subscript():
            holds = any(_is_optimizer_call(context, n) for n in context.values.depends([node.value], 400))
            return "by-name" if sink == "compile" and not holds else "container"
        case ast.JoinedStr():
            return "by-name" if sink == "compile" else "other"
        case ast.Name() if not context.scopes.star_imports:
            return "attribute"  # nothing binds it
        case ast.Name() | ast.alias():
            return "elsewhere"
        case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp():
            return "several"
        case ast.Constant() | ast.BinOp() | ast.Compare() | ast.UnaryOp() | ast.Lambda():
            return "other"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return "other"
        case _:
            return "elsewhere"


def _source_of_call(context: Context, call: ast.Call, sink: Sink) -> Source:
    if _is_optimizer_call(context, call):
        return "made"
    name = context.names.of(call.func)
    if name in _FROM_CONFIG:
        value = argument(call, "identifier", 0) or argument(call, "config", 0)
        known = value is not None and all(
            isinstance(o.node, (ast.Constant, ast.Dict)) for o in context.values.origins(value)
        )
        return "string" if known else "by-name"
    if name is not None and name.startswith("tensorflow.keras.optimizers."):
        return "unknown-class"
    if isinstance(call.func, ast.Attribute) and context.is_builtin(call.func.value, "dict"):
        return "container"
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "get"
        and sink == "compile"
        and name is None
    ):
        return "container" if _holds_optimizer(context, call.func.value) else "by-name"
    if isinstance(context.values.callee(call), ast.ClassDef):
        return "own-class"
    if name is None and class_references(context, call.func):
        return "dynamic"
    if context.is_builtin(call.func, "getattr") and call.args:
        return "attribute"
    return "elsewhere"


def _holds_optimizer(context: Context, expression: ast.expr) -> bool:
    return any(_is_optimizer_call(context, n) for n in context.values.depends([expression], 400))


def _is_optimizer_call(context: Context, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and context.module.is_optimizer(node)


def class_references(context: Context, function: ast.expr) -> list[ast.AST]:
    """The optimizer classes (or modules full of them) that an expression's value may be taken from."""
    found: list[ast.AST] = []
    for node in context.values.depends([function], 400):
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = context.names.of(node)
            if name in OPTIMIZER_MODULES or (name is not None and catalogue.is_optimizer(name)):
                found.append(node)
    outermost = [n for n in found if context.syntax.parent.get(n) not in found]
    return sorted(outermost, key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]


def made_in(context: Context, expression: ast.AST) -> list[ast.Call]:
    """The optimizers made in what an expression depends on."""
    found = [n for n in context.values.depends([expression], 400) if isinstance(n, ast.Call)]
    return sorted(
        (n for n in found if context.module.is_optimizer(n)), key=lambda n: (n.lineno, n.col_offset)
    )


def _is_settings(expression: ast.expr) -> bool:
    """`args`, `FLAGS`, `self.config`: what holds settings of a run."""
    last = expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")
    return last.lower() in _SETTINGS
