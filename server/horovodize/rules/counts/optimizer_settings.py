"""What optimizers are told besides their rates, where it goes by a count of steps: `optimizer.momentum = 0.95 - step / n`,
`setattr(optimizer, "beta_1", …)`, `optimizer._set_hyper("momentum", …)`, `K.set_value(optimizer.beta_1, …)`. Part of G5.

It isn't multiplied as rates are, but goes by how much has been seen, as these do; what can't be followed is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from horovodize.python.module import Module
from horovodize.rules.counts import tables_by_step
from horovodize.rules.drafting.decisions import Decided, OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.other_names import attributes_meant
from horovodize.rules.numbers import counted, decays, formulas_of_steps, rate_reads
from horovodize.rules.numbers.number_settings import Setting, going_on
from horovodize.rules.numbers.shares import counts_a_share

_NAMES = frozenset(
    "momentum beta_1 beta_2 rho epsilon weight_decay ema_momentum clipnorm clipvalue global_clipnorm beta "
    "l1_regularization_strength l2_regularization_strength".split()
)
_BY_NAME = ("__setattr__", "_set_hyper")
_TABLES = ("_hyper", "__dict__")
WHAT = "Let it change as fast for the rows that are seen"
WHY = "Each rank takes size() times fewer steps; this goes by how much has been seen."
_ASKED = (
    "the optimizer is told this by a count of a rank's steps, size() times fewer than before: check that it changes as fast "
    "for the rows that are seen"
)


def apply(draft: Draft) -> None:
    if draft.in_graph or not draft.options.split_data or not draft.divided:
        return
    for setting in list(_settings(draft)):
        value = setting.value
        if counts_a_share(draft, value):
            continue
        formulas_of_steps.tell(draft, value)
        for read in _looked_up(draft, value):
            formulas_of_steps.tell_all(draft, read, "G5")
        if isinstance(setting.place, ast.AugAssign) or not isinstance(setting.place, ast.Call):
            decays.follow(draft, value, setting, rule="G5")
        unseen = next((r for r in rate_reads.reads(draft, value) if _is_left(draft, r)), None)
        if unseen is not None and draft.once("optimizer's setting", value):
            draft.ask("G5", unseen, WHAT, WHY, _ASKED)


def _settings(draft: Draft) -> Iterator[Setting]:
    """Where something sets such an attribute of an optimizer. Variables of it (`beta_1.assign`) other rules know."""
    for node in draft.module.which(_may_set, ast.Assign, ast.AugAssign, ast.Call):
        match node:
            case ast.Assign(targets=[target], value=value) if _is_meant(draft, target):
                yield Setting(node, target, value)
            case ast.AugAssign(target=target, value=value) if _is_meant(draft, target):
                yield replace(going_on(node, target, value, node.op), is_scaled=False)
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, name, value]) if _is_named(
                draft, owner, name
            ):
                yield Setting(node, owner, value)
            case ast.Call(func=ast.Attribute(attr=method, value=owner), args=[name, value]) if (
                method in _BY_NAME and _is_named(draft, owner, name)
            ):
                yield Setting(node, owner, value)


def _may_set(module: Module, node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            return isinstance(target, (ast.Attribute, ast.Subscript))
        case ast.Call(func=ast.Name(id="setattr")):
            return True
        case ast.Call(func=ast.Attribute(attr=method)):
            return method in _BY_NAME
    return False


def _is_meant(draft: Draft, target: ast.expr) -> bool:
    """`optimizer.momentum`, `optimizer.__dict__["momentum"]`, `vars(optimizer)["momentum"]`"""
    match target:
        case ast.Attribute(attr=name, value=owner):
            return name.lstrip("_") in _NAMES and _is_optimizer(draft, owner)
        case ast.Subscript(value=ast.Attribute(attr=table, value=owner), slice=name) if table in _TABLES:
            return _is_named(draft, owner, name)
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), slice=name):
            return _is_named(draft, owner, name)
    return False


def _is_named(draft: Draft, owner: ast.expr, name: ast.expr) -> bool:
    text = name.value if isinstance(name, ast.Constant) else None
    return isinstance(text, str) and text.lstrip("_") in _NAMES and _is_optimizer(draft, owner)


def _is_optimizer(draft: Draft, e: ast.expr) -> bool:
    held = any(meant.attr == "optimizer" for meant in attributes_meant(draft, e))
    return held or any(draft.module.is_optimizer(c) for c in draft.values.calls(e))


def _looked_up(draft: Draft, value: ast.expr) -> Iterator[ast.expr]:
    """The counts by which a value is looked up in a list: `momenta[self.step]`."""
    for read in rate_reads.reads(draft, value):
        around = draft.syntax.parent.get(read)
        if isinstance(around, ast.Subscript) and around.slice is read and counted.of(draft, read) is not None:
            if not tables_by_step.is_table(draft, around.value):
                yield read


def _is_left(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is read that nothing was decided about, and no test compares it (of those G5 asks)."""
    around = [a for a in draft.syntax.ancestors(read) if isinstance(a, ast.expr)]
    if draft.was(read, OfAll) or any(draft.was(a, Decided) for a in (read, *around)):
        return False
    is_tested = any(isinstance(a, ast.Compare) for a in around)
    return not is_tested and counted.of(draft, read) is not None


__all__ = ["WHAT", "WHY", "apply"]
